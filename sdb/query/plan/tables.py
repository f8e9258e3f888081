"""Tables of FROM: how a query names them."""

from __future__ import annotations

from sdb.query.analyze.refusals import rejected
from sdb.query.plan.dataset import TableName
from sdb.query.syntax import ast, versions
from sdb.records import replace


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
        return _file(table.args[0], table)
    if table.name == versions.AT:
        path, word, value = table.args
        is_file = isinstance(path, ast.Literal)
        name = _file(path, table) if is_file else TableName("path", _parts(path), table.span)
        return replace(name, at=_version(word, value))
    if table.name == versions.OF:
        words = tuple([str(one.value) for one in table.args if isinstance(one, ast.Literal)])
        return TableName("system", words, table.span)
    kind = {"TABLE_GLOB": "glob", "TABLE_PATTERN": "pattern"}[table.name]
    return TableName(kind, _parts(table.args[0]), table.span)


def _file(arg: ast.Expr, table: ast.Table) -> TableName:
    return TableName("file", (str(arg.value),), table.span)  # type: ignore[union-attr]


def _version(word: ast.Expr, value: ast.Expr) -> tuple[str, str | int]:
    """Give how a version is told, and what: a time in microseconds since 1970, or as text."""
    kind = str(word.value)  # type: ignore[union-attr]
    found = value.value if isinstance(value, ast.Literal) else None
    if isinstance(value, ast.Unary) and value.op == "-" and isinstance(value.operand, ast.Literal):
        found = -value.operand.value  # type: ignore[operator]
    if kind == "TIMESTAMP" and isinstance(found, ast.Instant):
        return kind, found.us
    is_number = type(found) is int and kind == "VERSION"
    if isinstance(found, str) or is_number:
        return kind, found  # type: ignore[return-value]
    wanted = {"VERSION": "a number", "TIMESTAMP": "a time"}.get(kind, "a name")
    raise rejected(f"{kind} of a table takes {wanted}", value)


def _parts(node: ast.Expr) -> tuple[str, ...]:
    if isinstance(node, ast.Dot):
        return (*_parts(node.base), node.name)
    if isinstance(node, ast.Name):
        return (node.name,)
    raise rejected("a table is named by a path", node)


def last_name(node: ast.Expr) -> str:
    """Give the name that a path ends with; empty for an element of a list."""
    return node.name if isinstance(node, (ast.Name, ast.Dot)) else ""
