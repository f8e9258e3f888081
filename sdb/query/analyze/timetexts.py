"""Texts that are compared with times.

A time is often written as text, as in ``created_at > '2015-01-01'``. Such a text compares as a time
with the rows that have a timestamp there, and as the text that it is with those that have a string;
so does one that COALESCE, CASE, LEAST and the like give. Where only a time can stand, it is one.
"""

from __future__ import annotations

from sdb import instants
from sdb.query.analyze.signatures import FUNCTIONS
from sdb.query.analyze.types import TIME
from sdb.query.syntax import ast, literals, visitor
from sdb.query.syntax.operators import MIRRORED
from sdb.records import replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypeVar

    T = TypeVar("T", bound=ast.Node)

_TIMES = frozenset(
    {name for name, known in FUNCTIONS.items() if TIME in known.args and known.least == known.most}
)
"""Functions of times."""


def timed(node: T, now_us: int | None = None) -> T:
    """Compare texts as times as well, where they have the form of one.

    * ``node``: An expression, or any other tree, up to a whole statement.
    * ``now_us``: The present that ``CAST('30m' AS TIMESTAMP)`` counts from; that of the system if
      not given.

    Returns: The same with :class:`~sdb.query.syntax.ast.TimeText` in the place of such texts, and
    with a timestamp in that of ``CAST('...' AS TIMESTAMP)``.

    Examples
    --------
    >>> from sdb.query.syntax.parser import parse
    >>> timed(parse("SELECT t > '1970-01-02'")).select.items[0].expr.right.value.us
    86400000000
    """
    return visitor.rewrite(node, lambda part: _changed(part, now_us))


def _changed(node: ast.Node, now_us: int | None) -> ast.Node:  # noqa: PLR0911 - a table
    match node:
        case ast.Binary(op) if op in MIRRORED:
            return replace(node, left=_text(node.left), right=_text(node.right))
        case ast.Between():
            low, high = _text(node.low), _text(node.high)
            return replace(node, operand=_text(node.operand), low=low, high=high)
        case ast.In(items=tuple() as items):
            return replace(node, operand=_text(node.operand), items=tuple(map(_text, items)))
        case ast.Case(operand=ast.Node()):
            limbs = tuple((_text(when), then) for when, then in node.limbs)
            return replace(node, limbs=limbs)
        case ast.Call("NULLIF"):
            return replace(node, args=(node.args[0], *map(_text, node.args[1:])))
        case ast.Call("LEAST" | "GREATEST", args) if not all(map(_is_text, args)):
            return replace(node, args=tuple(map(_text, args)))
        case ast.Call(name, args) if name in _TIMES:
            return replace(node, args=tuple(map(_time, args)))
        case ast.Binary("-"):
            return replace(node, left=_time(node.left), right=_time(node.right))
        case ast.Cast(ast.Literal(str() as text), "TIMESTAMP"):
            moment = literals.moment(text) or _counted(text, now_us)
            return node if moment is None else ast.Literal(moment, span=node.span)
    return node


def _counted(text: str, now_us: int | None) -> ast.Instant | None:
    us = instants.relative(text, now_us)
    return None if us is None else ast.Instant(us)


def _is_text(expr: ast.Expr) -> bool:
    return isinstance(expr, ast.Literal) and isinstance(expr.value, str)


def _text(expr: ast.Expr) -> ast.Expr:
    """Return what gives values that are compared, with texts that are times as well."""
    match expr:
        case ast.Literal(str() as text) if type(text) is str:
            moment = literals.moment(text)
            if moment is not None:
                return ast.Literal(ast.TimeText(text, moment.us), span=expr.span)
        case ast.Call("COALESCE" | "LEAST" | "GREATEST", args):
            return replace(expr, args=tuple(map(_text, args)))
        case ast.Call("NULLIF", (first, other)):
            return replace(expr, args=(_text(first), other))
        case ast.Case():
            limbs = tuple([(when, _text(then)) for when, then in expr.limbs])
            otherwise = None if expr.otherwise is None else _text(expr.otherwise)
            return replace(expr, limbs=limbs, otherwise=otherwise)
    return expr


def _time(expr: ast.Expr) -> ast.Expr:
    """Return what stands where only a time can: a text that is one is a constant time."""
    timed_text = _text(expr)
    match timed_text:
        case ast.Literal(ast.TimeText() as text):
            return ast.Literal(ast.Instant(text.us), span=expr.span)
    return timed_text
