"""Tables about tables by the names of others: ``information_schema.tables`` and its like.

They are queries of ``sdb.tables()``, ``sdb.columns()`` and the like.
"""

from __future__ import annotations

from sdb.query.syntax import ast

_NAMES = (("table_schema", "database"), ("table_name", "table"))
_COLUMNS: dict[tuple[str, str], tuple[str, tuple[tuple[str, str], ...]]] = {
    ("information_schema", "tables"): ("tables", (*_NAMES, ("table_type", "kind"))),
    ("information_schema", "columns"): (
        "columns",
        (
            *_NAMES,
            ("column_name", "column"),
            ("ordinal_position", "position"),
            ("data_type", "type"),
            ("is_nullable", "required"),
        ),
    ),
    ("information_schema", "schemata"): ("tables", (("schema_name", "database"),)),
    ("system", "table_versions"): (
        "table_versions",
        (*_NAMES, ("table_version_id", "id"), ("version", "version"), ("creation_time", "at")),
    ),
    ("system", "table_partitions"): (
        "table_packfiles",
        (
            *_NAMES,
            ("version", "version"),
            ("table_partition_id", "path"),
            ("object_storage_id", "etag"),
            ("row_count", "rows"),
            ("size", "bytes"),
        ),
    ),
}
_TYPES = (("table", "BASE TABLE"), ("view", "VIEW"))


def table(name: ast.Dot) -> ast.QueryTable | None:
    """Return the table about tables that a name means elsewhere; None: it is of a table here."""
    if not isinstance(name.base, ast.Name):
        return None
    known = _COLUMNS.get((name.base.name.lower(), name.name.lower()))
    if known is None:
        return None
    kind, columns = known
    span = name.span
    about = ast.CallTable("TABLE_OF", (ast.Literal(kind, span=span),), span=span)
    items = [ast.Item(_value(label, column), label) for label, column in columns]
    select = ast.Select(
        tuple(items),
        distinct=name.name.lower() == "schemata",
        sources=(ast.Source(about, None, span=span),),
        span=span,
    )
    return ast.QueryTable(select, span=span)


def _value(label: str, column: str) -> ast.Expr:
    """Return a column as the standard writes it."""
    value = ast.Name(column)
    if label == "table_type":
        limbs = [(ast.Literal(kind), ast.Literal(text)) for kind, text in _TYPES]
        return ast.Case(value, tuple(limbs), None)
    if label == "is_nullable":
        return ast.Case(None, ((value, ast.Literal("NO")),), ast.Literal("YES"))
    return value
