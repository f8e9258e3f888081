"""Texts that are compared with times.

A time is often written as text, as in ``created_at > '2015-01-01'``. Such a text compares as a time
with the rows that have a timestamp there, and as the text that it is with those that have a string.
"""

from __future__ import annotations

from sdb import instants
from sdb.query.syntax import ast, literals, visitor
from sdb.query.syntax.operators import MIRRORED
from sdb.records import replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypeVar

    T = TypeVar("T", bound=ast.Node)


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
        case ast.Cast(ast.Literal(str() as text), "TIMESTAMP"):
            moment = literals.moment(text) or _counted(text, now_us)
            return node if moment is None else ast.Literal(moment, span=node.span)
    return node


def _counted(text: str, now_us: int | None) -> ast.Instant | None:
    us = instants.relative(text, now_us)
    return None if us is None else ast.Instant(us)


def _text(expr: ast.Expr) -> ast.Expr:
    if not isinstance(expr, ast.Literal) or type(expr.value) is not str:
        return expr
    moment = literals.moment(expr.value)
    if moment is None:
        return expr
    return ast.Literal(ast.TimeText(expr.value, moment.us), span=expr.span)
