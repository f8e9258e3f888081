"""Parts of statements that requests name: conditions, fields, tables; what they make is SQL."""

from __future__ import annotations

from sdb.errors import QueryError, UsageError
from sdb.query.syntax import ast, printer, visitor, writes
from sdb.statements.execute import bound_statements

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sdb.table.catalog.handle import TableHandle

_MOST_BYTES = 64 << 10


def condition(text: str) -> str:
    """Return a condition as a query may have it, in parentheses.

    Raises `QueryError` if the text is no condition, or several, or it reads tables.
    """
    node = _parsed(text, "where", "a condition")
    if any(isinstance(each, ast.Select) for each in visitor.nodes(node)):
        raise QueryError("where: the condition reads a table", hint="/v1/query takes whole queries")
    return f"({printer.text(node)})"


def field(text: str, member: str) -> str:
    """Return the path of a field as a query has it. Raises `QueryError` if the text is no field."""
    node = _parsed(text, member, "a field")
    inner: ast.Expr = node
    while isinstance(inner, ast.Dot | ast.Index):
        inner = inner.base
    if not isinstance(inner, ast.Name):
        raise QueryError(f"{member}: {text[:80]!r} is no field", expected='as in type or a."b c"')
    return printer.text(node)


def quoted(path: tuple[str, ...]) -> str:
    """Return the path of a field, by its parts, as a query has it."""
    node: ast.Expr = ast.Name(path[0])
    for part in path[1:]:
        node = ast.Dot(node, part)
    return printer.text(node)


def table_text(handle: TableHandle) -> str:
    """Return the name of a table as a query has it."""
    keys = handle.keys
    return ".".join(map(_in_quotes, (keys.database, keys.table)))


def text_literal(text: str) -> str:
    """Return a text as a query has it."""
    return printer.text(ast.Literal(text))


def _in_quotes(name: str) -> str:
    escaped = name.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _parsed(text: str, member: str, what: str) -> ast.Expr:
    if len(text.encode("utf-8", "replace")) > _MOST_BYTES:
        raise UsageError(f"{member}: it is longer than {_MOST_BYTES:,} bytes")
    flaw = QueryError(f"{member}: {text[:80]!r} is not {what}")
    try:
        statements = bound_statements(f"DELETE FROM a.b WHERE {text}", {})  # noqa: S608 - never run
    except QueryError as error:
        flaw.hint = f"{error.message}; {error.hint}" if error.hint else error.message
        raise flaw from None
    write = statements[0].write
    if len(statements) != 1 or not isinstance(write, writes.Delete) or write.where is None:
        raise flaw
    return write.where
