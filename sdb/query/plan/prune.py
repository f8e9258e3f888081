"""What of a condition an index can answer.

A condition is first reduced to comparisons of paths with constants, joined by AND and OR; whatever
cannot be expressed so may be TRUE anywhere. NOT goes down to the comparisons, each of which turns
into its opposite: a comparison with MISSING is neither true nor false, and so is its opposite. The
blocks of a condition can not be complemented instead, since a block may hold rows of both kinds.

What is left is asked of the sparse index of each file, see :mod:`sdb.query.plan.blocks`.
"""

from __future__ import annotations

import math

from sdb import instants
from sdb.query.syntax import ast
from sdb.records import record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypeAlias

    from sdb.packfile.sparseindex import Path

MOST_COMPARISONS = 20_000
"""A condition with more of them is not worth looking at."""

_SECOND_US = instants.SECOND_US
_OPPOSITE = {"=": "<>", "<>": "=", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}
_MIRRORED = {"=": "=", "<>": "<>", "<": ">", ">": "<", "<=": ">=", ">=": "<="}


@record
class Anywhere:
    """What may be TRUE in any row.

    Attributes
    ----------
    expr : Expr or None
        The part of the condition that nothing is known about, to tell users.
    """

    expr: ast.Expr | None = None


@record
class Nowhere:
    """What is never TRUE."""


@record
class Compare:
    """A comparison of a path with a constant.

    Attributes
    ----------
    path : tuple of str
        Field names from the row on.
    op : str
        One of ``= <> < <= > >=``.
    value : Constant
        The right side.
    """

    path: Path
    op: str
    value: ast.Constant

    def __str__(self) -> str:
        """Show the comparison as a query would."""
        value = self.value
        if isinstance(value, ast.Instant):
            shown = f"`{instants.text(value.us)}`"
        elif isinstance(value, str):
            shown = f"'{value}'"
        else:
            shown = str(value).upper() if value is None or isinstance(value, bool) else str(value)
        return f"{'.'.join(self.path)} {self.op} {shown}"


@record
class Both:
    """AND."""

    parts: tuple[Test, ...]


@record
class Either:
    """OR."""

    parts: tuple[Test, ...]


Test: TypeAlias = Anywhere | Nowhere | Compare | Both | Either


def reduce(condition: ast.Expr | None) -> Test:
    """Reduce a condition to what an index can answer.

    Parameters
    ----------
    condition : Expr or None
        The condition, with constants folded; its paths start at the row.

    Returns
    -------
    Test
        Something that is TRUE for a row whenever the condition is.
    """
    if condition is None:
        return Anywhere()
    test = _reduce(condition, negated=False)
    return Anywhere() if _size(test) > MOST_COMPARISONS else test


def _reduce(expr: ast.Expr, *, negated: bool) -> Test:  # noqa: PLR0911 - a table
    match expr:
        case ast.Binary("AND" | "OR" as op):
            parts = tuple(_reduce(part, negated=negated) for part in _chain(expr, op))
            return Both(parts) if (op == "AND") is not negated else Either(parts)
        case ast.Unary("NOT", operand):
            return _reduce(operand, negated=not negated)
        case ast.Is(operand, "TRUE" | "FALSE" as what, negated=False) if not negated:
            return _reduce(operand, negated=what == "FALSE")
        case ast.Binary(op, left, right) if op in _OPPOSITE:
            return _comparison(expr, _OPPOSITE[op] if negated else op, left, right)
        case ast.Between(operand, low, high):
            ends = ("<", ">") if negated else (">=", "<=")
            parts = tuple(
                _comparison(expr, op, operand, end)
                for op, end in zip(ends, (low, high), strict=True)
            )
            return Either(parts) if negated else Both(parts)
        case ast.In(operand, tuple() as items):
            op = "<>" if negated else "="
            parts = tuple(_comparison(expr, op, operand, item) for item in items)
            return Both(parts) if negated else Either(parts)
        case ast.Literal(bool() as value):
            return Nowhere() if value is negated else Anywhere()
        case ast.Missing():
            return Nowhere()
        case _:
            return Anywhere(expr)


def _chain(expr: ast.Expr, op: str) -> list[ast.Expr]:
    """Give the operands of a run of the same operator, however long it is."""
    parts = []
    left = expr
    while isinstance(left, ast.Binary) and left.op == op:
        parts.append(left.right)
        left = left.left
    return [left, *reversed(parts)]


def _size(test: Test) -> int:
    if isinstance(test, Both | Either):
        return sum(map(_size, test.parts))
    return 1


def _comparison(expr: ast.Expr, op: str, left: ast.Expr, right: ast.Expr) -> Test:
    constant = _constant(right)
    if constant is None:
        op, left, constant = _MIRRORED[op], right, _constant(left)
    if constant is None:
        return Anywhere(expr)
    if (path := _path(left)) is not None:
        return Compare(path, op, constant.value)
    match left, constant.value:
        case ast.Call("TO_UNIX_EPOCH" | "TO_UNIX_MICRO" as name, (operand,)), int() | float():
            path = _path(operand)
            unit_us = _SECOND_US if name == "TO_UNIX_EPOCH" else 1
            if path is not None and not isinstance(constant.value, bool):
                return _epoch(path, op, constant.value, unit_us, expr)
    return Anywhere(expr)


def _epoch(path: Path, op: str, number: float, unit_us: int, expr: ast.Expr) -> Test:
    """Compare the number of whole units since 1970, rounded down, by comparing the time itself."""
    if not math.isfinite(number):
        return Anywhere(expr)
    first, last = math.ceil(number), math.floor(number)
    at = {"<": first, ">=": first, "<=": last + 1, ">": last + 1}
    inner = {"<": "<", ">=": ">=", "<=": "<", ">": ">="}
    if op in at:
        return Compare(path, inner[op], ast.Instant(at[op] * unit_us))
    if op == "<>":
        return Anywhere(expr)
    if first != last:
        return Nowhere()
    start, stop = ast.Instant(first * unit_us), ast.Instant((first + 1) * unit_us)
    return Both((Compare(path, ">=", start), Compare(path, "<", stop)))


def _constant(expr: ast.Expr) -> ast.Literal | None:
    match expr:
        case ast.Literal():
            return expr
        case ast.Unary("-", ast.Literal(int() | float() as value)) if type(value) is not bool:
            return ast.Literal(-value)
        case _:
            return None


def _path(expr: ast.Expr) -> Path | None:
    """Give the field names of a path through structures only."""
    names = []
    while isinstance(expr, ast.Dot):
        names.append(expr.name)
        expr = expr.base
    return (expr.name, *reversed(names)) if isinstance(expr, ast.Name) else None
