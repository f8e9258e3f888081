"""Checks what rows of DISTINCT are sorted by: one row stands for several."""

from __future__ import annotations

from sdb.query.analyze.refusals import refuse
from sdb.query.syntax import ast, printer, visitor

_HINT = (
    "one row stands for several, and each of them may have another value: "
    "sort by items, or take DISTINCT ON (keys), the first row of each key in the order"
)


def check_order(select: ast.Select) -> None:
    """Check that DISTINCT is sorted by its items, or by what is made of them.

    Raises
    ------
    QueryError
        A key of ORDER BY is about something else.
    """
    if select.star:
        return  # its rows are whole, and whatever is made of a row is the same in equal ones
    items = {item.expr for item in select.items}
    for sort in select.order_by:
        if beside := _beside(sort.expr, items):
            text = printer.text(beside)
            refuse(
                f"planning query: DISTINCT cannot be sorted by {text}, which is no item",
                beside,
                _HINT,
            )


def _beside(node: ast.Node, items: set[ast.Expr]) -> ast.Expr | None:
    """Find what is neither an item nor made of items and constants."""
    if node in items:
        return None
    if isinstance(node, ast.Dot | ast.Index):
        return node if _beside(node.base, items) else None
    if isinstance(node, ast.Name | ast.Aggregate | ast.Subquery | ast.Exists):
        return node
    for child in visitor.children(node):
        if beside := _beside(child, items):
            return beside
    return None
