"""Rows that a negative condition leaves out because its path is MISSING there, by trailers."""

from __future__ import annotations

from sdb.query.plan.hints.dropped_rows import counted, path_of, stored_path, table_packs
from sdb.query.plan.rewrite import conjuncts
from sdb.query.syntax import ast, printer, visitor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from sdb.query.plan.hints.dropped_rows import Packs

_PATHS = (ast.Name, ast.Dot, ast.Index)
_MOST = 8
"""So many lines are enough."""


def denied(statement: ast.Statement, packs: Packs) -> list[str]:
    """Report conditions such as ``x <> 1`` and ``x NOT IN (...)`` of paths that some rows lack.

    * ``packs``: Returns the packfiles of a table, which are open.

    Returns: A line for each such condition of WHERE and FILTER over a single table, unless another
    part of it asks about the path, too; none where rows without a value are kept, as it is meant
    as in standard SQL then.
    """
    if statement.dialect != "sneller":
        return []
    lines: dict[str, None] = {}
    withs = {name for name, _ in statement.with_}
    for select in (node for node in visitor.nodes(statement) if isinstance(node, ast.Select)):
        negative = [pair for where in _conditions(select) for pair in _negative(where)]
        opened = table_packs(select, packs, withs) if negative else []
        for path, condition in negative if opened else ():
            names = path_of(path, select)
            stored = None if names is None else stored_path(opened, names)
            lacking = None if stored is None else counted(opened, stored)
            if lacking is not None and 0 < lacking[0] < lacking[1]:
                text = printer.text(path)
                by = _shown(condition, statement.text)
                count = f"{lacking[0]:,} of {lacking[1]:,}"
                line = f"note: rows that have no {text} are left out by {by}, {count} in all"
                lines[f"{line} (OR {text} IS MISSING keeps them)"] = None
    return list(lines)[:_MOST]


def _shown(condition: ast.Expr, text: str) -> str:
    """Return a condition in the words of the query."""
    start, stop = condition.span
    words = " ".join(text.encode()[start:stop].decode(errors="replace").split())
    return words or printer.text(condition)


def _conditions(select: ast.Select) -> Iterator[ast.Expr]:
    """Yield WHERE, and FILTER of aggregates."""
    if select.where is not None:
        yield select.where
    for node in visitor.nodes(select, into_selects=False):
        if isinstance(node, ast.Aggregate) and node.where is not None:
            yield node.where


def _negative(where: ast.Expr) -> Iterator[tuple[ast.Expr, ast.Expr]]:
    """Yield the negative parts of a condition, and the path that each alone is about."""
    parts = conjuncts(where)
    for part in parts:
        path = _denied(part)
        others = (node for other in parts if other is not part for node in visitor.nodes(other))
        if path is not None and path not in others:
            yield path, part


def _denied(part: ast.Expr) -> ast.Expr | None:
    """Return the path that a negative condition is about; None: it is another one."""
    match part:
        case ast.Binary("<>", left, right):
            return _compared(left, right)
        case ast.Match(operand=operand, negated=True) if isinstance(operand, _PATHS):
            return operand
        case ast.Unary("NOT", ast.Binary("=", left, right)):
            return _compared(left, right)
        case ast.Unary("NOT", ast.In(operand) | ast.Between(operand) | ast.Match(operand=operand)):
            return operand if isinstance(operand, _PATHS) else None
    return None


def _compared(left: ast.Expr, right: ast.Expr) -> ast.Expr | None:
    """Return the path that is compared with a constant, if it is one."""
    for path, other in ((left, right), (right, left)):
        if isinstance(path, _PATHS) and isinstance(other, ast.Literal):
            return path
    return None
