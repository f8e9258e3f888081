"""Tables of FROM: how a query names them."""

from __future__ import annotations

from sdb.packfile.inputs.rawreading import of_options
from sdb.query.analyze.refusals import rejected
from sdb.query.catalog.dataset import TableName
from sdb.query.syntax import ast, versions
from sdb.records import replace


def table_name(table: ast.Table) -> TableName | None:  # noqa: PLR0911 - a case each
    """Return the name of a table that is read as it is; ``None`` for other sources.

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
    if table.name == "READ_FILE_WITH":
        texts = [str(getattr(arg, "value", "")) for arg in table.args[1:]]
        reading = of_options(zip(texts[::2], texts[1::2], strict=True))
        return replace(_file(table.args[0], table), reading=reading)
    if table.name == versions.AT:
        path, word, value = table.args
        is_file = isinstance(path, ast.Literal)
        name = _file(path, table) if is_file else TableName("path", _parts(path), table.span)
        return replace(name, at=_version(word, value))
    if table.name == versions.THROUGH:
        return _read_through(table)
    if table.name == versions.OF:
        words = tuple([str(arg.value) for arg in table.args if isinstance(arg, ast.Literal)])
        return TableName("system", words, table.span)
    kind = {"TABLE_GLOB": "glob", "TABLE_PATTERN": "pattern"}[table.name]
    return TableName(kind, _parts(table.args[0]), table.span)


def _read_through(table: ast.CallTable) -> TableName:
    path, view, *at = table.args
    name = TableName("path", _parts(path), table.span, through=str(view.value))  # type: ignore[union-attr]
    return replace(name, at=_version(*at)) if at else name


def _file(arg: ast.Expr, table: ast.Table) -> TableName:
    if not isinstance(arg, ast.Literal):
        raise rejected("read_file() takes a path in quotes", arg)
    return TableName("file", (str(arg.value),), table.span)


def _version(word: ast.Expr, value: ast.Expr) -> tuple[str, str | int]:
    """Return the kind of a reference, and a time in microseconds since 1970, or its text."""
    kind = str(word.value)  # type: ignore[union-attr]
    version = value.value if isinstance(value, ast.Literal) else None
    if isinstance(value, ast.Unary) and value.op == "-" and isinstance(value.operand, ast.Literal):
        version = -value.operand.value  # type: ignore[operator]
    if kind == "TIMESTAMP" and isinstance(version, ast.Instant):
        return kind, version.us
    is_number = type(version) is int and kind == "VERSION"
    if isinstance(version, str) or is_number:
        return kind, version  # type: ignore[return-value]
    wanted = {"VERSION": "a number", "TIMESTAMP": "a time"}.get(kind, "a name")
    raise rejected(f"{kind} of a table takes {wanted}", value)


def _parts(node: ast.Expr) -> tuple[str, ...]:
    if isinstance(node, ast.Dot):
        return (*_parts(node.base), node.name)
    if isinstance(node, ast.Name):
        return (node.name,)
    raise rejected("a table is named by a path", node)


def last_name(node: ast.Expr) -> str:
    """Return the name that a path ends with; empty for an element of a list."""
    return node.name if isinstance(node, (ast.Name, ast.Dot)) else ""
