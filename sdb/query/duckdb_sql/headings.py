"""Names of output members that a query does not give itself."""

from __future__ import annotations

from sdb.query.syntax import ast

_AGGREGATES = {
    "COUNT": "count",
    "SUM": "sum",
    "MIN": "min",
    "MAX": "max",
    "AVG": "avg",
    "EARLIEST": "min",
    "LATEST": "max",
    "APPROX_COUNT_DISTINCT": "count",
}


def automatic(node: ast.Expr) -> str:
    """Give name of an item without an alias; empty for most expressions."""
    if isinstance(node, (ast.Name, ast.Dot)):
        return node.name
    if isinstance(node, ast.Index):
        return f"{automatic(node.base)}_{node.index}"
    if isinstance(node, ast.Aggregate):
        return _AGGREGATES.get(node.name, "")
    return ""
