"""Tables of FROM: how a query names them."""

from __future__ import annotations

from sdb.query.analyze.refusals import rejected
from sdb.query.plan.dataset import TableName
from sdb.query.syntax import ast


def table_name(table: ast.Table) -> TableName | None:
    """Give the name of a table that is read as it is; ``None`` for other sources.

    Parameters
    ----------
    table : Table
        What stands in FROM.

    Raises
    ------
    QueryError
        It is no path, or more than one file.
    """
    if isinstance(table, ast.PathTable):
        return TableName("path", _parts(table.expr), table.span)
    if not isinstance(table, ast.CallTable):
        return None
    if table.name == "READ_FILE":
        if len(table.args) != 1:
            raise rejected("read_file() should have 1 argument", table)
        (arg,) = table.args
        return TableName("file", (str(arg.value),), table.span)  # type: ignore[union-attr]
    kind = {"TABLE_GLOB": "glob", "TABLE_PATTERN": "pattern"}[table.name]
    return TableName(kind, _parts(table.args[0]), table.span)


def _parts(node: ast.Expr) -> tuple[str, ...]:
    if isinstance(node, ast.Dot):
        return (*_parts(node.base), node.name)
    if isinstance(node, ast.Name):
        return (node.name,)
    raise rejected("a table is named by a path", node)


def last_name(node: ast.Expr) -> str:
    """Give the name that a path ends with; empty for an element of a list."""
    return node.name if isinstance(node, (ast.Name, ast.Dot)) else ""
