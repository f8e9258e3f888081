"""Tables about tables by the names of others: ``information_schema.tables`` and its like.

They are queries of ``sdb.tables()``, ``sdb.columns()`` and the like.
"""

from __future__ import annotations

from sdb.query.syntax import ast
from sdb.records import record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sdb.query.syntax.tableparser import TableParser

_CATALOG = "table_catalog"
_NAMES = ((_CATALOG, ""), ("table_schema", "database"), ("table_name", "table"))
_VERSION = (*_NAMES[1:], ("table_version_id", "id"), ("version", "version"))


@record
class _StandardTable:
    """A table of the standard, or of Seafowl."""

    kind: str  # the system table that it is a query of
    columns: tuple[tuple[str, str], ...]  # its columns, each with the one that it is
    only: str = ""  # the kind of the rows that count; empty: all do
    distinct: bool = False


_TABLES = {
    "information_schema.schemata": _StandardTable(
        "tables", (("catalog_name", ""), ("schema_name", "database")), distinct=True
    ),
    "information_schema.tables": _StandardTable(
        "tables", (*_NAMES, ("table_type", "kind"), ("table_comment", "description"))
    ),
    "information_schema.views": _StandardTable(
        "tables", (*_NAMES, ("view_definition", "query")), only="view"
    ),
    "information_schema.columns": _StandardTable(
        "columns",
        (
            *_NAMES,
            ("column_name", "column"),
            ("ordinal_position", "position"),
            ("column_default", "default"),
            ("is_nullable", "required"),
            ("data_type", "type"),
            ("column_comment", "description"),
        ),
    ),
    "system.table_versions": _StandardTable("table_versions", (*_VERSION, ("creation_time", "at"))),
    "system.table_partitions": _StandardTable(
        "table_packfiles",
        (
            *_VERSION,
            ("table_partition_id", "path"),
            ("object_storage_id", "etag"),
            ("row_count", "rows"),
            ("size", "bytes"),
        ),
    ),
}
_TYPES = (("table", "BASE TABLE"), ("view", "VIEW"))


def coming(parser: TableParser, name: ast.Expr) -> bool:
    """Return whether a name in FROM is that of a table about tables elsewhere.

    Raises `QueryError` if it is one of ``information_schema`` that is not there.
    """
    text = _text(name)
    schema = text.partition(".")[0]
    if schema in parser.with_names:
        return False
    if schema == "information_schema" and text not in _TABLES:
        known = [table for table in _TABLES if table.startswith(schema)]
        hint = f"there are {', '.join(known)}"
        raise parser.fault(f"there is no {text}", name.span[0], hint=hint)
    return text in _TABLES


def table(name: ast.Expr) -> ast.QueryTable:
    """Return the table about tables that a name means elsewhere."""
    about = _TABLES[_text(name)]
    span = name.span
    rows = ast.CallTable("TABLE_OF", (ast.Literal(about.kind, span=span),), span=span)
    where = ast.Binary("=", ast.Name("kind"), ast.Literal(about.only)) if about.only else None
    select = ast.Select(
        tuple([ast.Item(_value(label, column), label) for label, column in about.columns]),
        distinct=about.distinct,
        sources=(ast.Source(rows, None, span=span),),
        where=where,
        span=span,
    )
    return ast.QueryTable(select, span=span)


def _text(name: ast.Expr) -> str:
    if isinstance(name, ast.Dot) and isinstance(name.base, ast.Name):
        return f"{name.base.name}.{name.name}".lower()
    return ""


def _value(label: str, column: str) -> ast.Expr:
    """Return a column as the standard writes it."""
    if not column:
        return ast.Literal("sdb")
    value = ast.Name(column)
    if label == "table_type":
        limbs = [(ast.Literal(kind), ast.Literal(text)) for kind, text in _TYPES]
        return ast.Case(value, tuple(limbs), None)
    if label == "is_nullable":
        return ast.Case(None, ((value, ast.Literal("NO")),), ast.Literal("YES"))
    return value
