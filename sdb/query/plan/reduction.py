"""Reduce conditions of SQL to predicates, which blocks are chosen by.

NOT goes down to the comparisons, each of which turns
into its opposite: a comparison with MISSING is neither true nor false, and so is its opposite. The
blocks of a condition can not be complemented instead, since a block may hold rows of both kinds.

What is left is asked of the sparse index of each file, see :mod:`sdb.packfile.prune`.
"""

from __future__ import annotations

import math

from sdb import instants
from sdb.packfile.predicate import Anywhere, Both, Compare, Either, Nowhere
from sdb.query.plan.pseudo import is_pseudo
from sdb.query.syntax import ast

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sdb.packfile.predicate import Predicate
    from sdb.packfile.sparseindex import Path

MOST_COMPARISONS = 20_000
"""A condition with more of them is not worth looking at."""

_SECOND_US = instants.SECOND_US
_OPPOSITE = {"=": "<>", "<>": "=", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}
_MIRRORED = {"=": "=", "<>": "<>", "<": ">", ">": "<", "<=": ">=", ">=": "<="}


def reduce(condition: ast.Expr | None) -> Predicate:
    """Reduce a condition to what an index can answer.

    Parameters
    ----------
    condition : Expr or None
        The condition, with constants folded; its paths start at the row.

    Returns
    -------
    Predicate
        Something that is TRUE for a row whenever the condition is.
    """
    if condition is None:
        return Anywhere()
    test = _reduce(condition, negated=False)
    return Anywhere() if _size(test) > MOST_COMPARISONS else test


def _reduce(expr: ast.Expr, *, negated: bool) -> Predicate:  # noqa: PLR0911 - a table
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
            return Anywhere(expr.span)


def _chain(expr: ast.Expr, op: str) -> list[ast.Expr]:
    """Give the operands of a run of the same operator, however long it is."""
    parts = []
    left = expr
    while isinstance(left, ast.Binary) and left.op == op:
        parts.append(left.right)
        left = left.left
    return [left, *reversed(parts)]


def _size(test: Predicate) -> int:
    if isinstance(test, Both | Either):
        return sum(map(_size, test.parts))
    return 1


def _comparison(expr: ast.Expr, op: str, left: ast.Expr, right: ast.Expr) -> Predicate:
    constant = _constant(right)
    if constant is None:
        op, left, constant = _MIRRORED[op], right, _constant(left)
    if constant is None:
        return Anywhere(expr.span)
    if (path := _path(left)) is not None:
        if not isinstance(constant.value, ast.TimeText):
            return Compare(path, op, constant.value)
        parts = tuple(
            Compare(path, op, value)
            for value in (ast.Instant(constant.value.us), str(constant.value))
        )
        return Both(parts) if op == "<>" else Either(parts)
    match left, constant.value:
        case ast.Call("TO_UNIX_EPOCH" | "TO_UNIX_MICRO" as name, (operand,)), int() | float():
            path = _path(operand)
            unit_us = _SECOND_US if name == "TO_UNIX_EPOCH" else 1
            if path is not None and not isinstance(constant.value, bool):
                return _epoch(path, op, constant.value, unit_us, expr)
    return Anywhere(expr.span)


def _epoch(path: Path, op: str, number: float, unit_us: int, expr: ast.Expr) -> Predicate:
    """Compare the number of whole units since 1970, rounded down, by comparing the time itself."""
    if not math.isfinite(number):
        return Anywhere(expr.span)
    first, last = math.ceil(number), math.floor(number)
    at = {"<": first, ">=": first, "<=": last + 1, ">": last + 1}
    inner = {"<": "<", ">=": ">=", "<=": "<", ">": ">="}
    if op in at:
        return Compare(path, inner[op], ast.Instant(at[op] * unit_us))
    if op == "<>":
        return Anywhere(expr.span)
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
    if not isinstance(expr, ast.Name):
        return None
    path = (expr.name, *reversed(names))
    # Where no field has the name it is there nevertheless.
    return None if is_pseudo(path) else path
