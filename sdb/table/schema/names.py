"""Columns by their names, and what was probably meant by a name that no column has."""

from __future__ import annotations

from sdb.errors import UsageError
from sdb.table.schema.columns import shown, walk
from sdb.table.schema.types import VARIANT, ListType, MapType, StructType

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from sdb.table.schema.columns import Path, TableSchema
    from sdb.table.schema.types import ColumnType, TableColumn

_SHOWN = 12


def column_at(schema: TableSchema, names: Path) -> TableColumn:
    """Find a column by the names that lead to it; lists and maps of structs are stepped into.

    Raises `UsageError` if there is no such column; the hint has a similar name.
    """
    columns, column = schema.columns, None
    for at, name in enumerate(names):
        column = named(columns, name)
        if column is None:
            raise absent(columns, names[: at + 1])
        columns = column.columns
    if column is None:
        raise UsageError("no column is named")
    return column


def stored_path(schema: TableSchema, names: Path) -> Path:
    """Return where the values of a column lie in rows; behind it may be fields of a variant or map.

    Raises `UsageError` if there is no such column; the hint has a similar name.
    """
    path: Path = ()
    columns = schema.columns
    for at, name in enumerate(names):
        column = named(columns, name)
        if column is None:
            raise absent(columns, names[: at + 1])
        path = (*path, *column.path)
        columns = column.columns
        if not columns:
            rest = names[at + 1 :]
            if rest and not isinstance(column.type, MapType) and column.type != VARIANT:
                raise UsageError(f"the column {shown(names[: at + 1])} is {column.type}")
            return (*path, *rest)
    return path


def names_of(schema: TableSchema, path: Path) -> Path:
    """Return the names of the column whose values lie at a path; the path itself if none do."""
    return next((names for names, its_path, _ in walk(schema.columns) if its_path == path), path)


def named(columns: Sequence[TableColumn], name: str) -> TableColumn | None:
    """Find the column of a name or an alias among those of a row, or of a struct."""
    for column in columns:
        if column.name == name or name in column.aliases:
            return column
    return None


def absent(columns: Sequence[TableColumn], names: Path) -> UsageError:
    """Make the error for a name that the schema does not have.

    * ``columns``: Those of the row or struct where it was looked for.
    """
    return UsageError(
        f"the schema has no column {shown(names)}",
        hint=meant(columns, names[-1]),
    )


def meant(columns: Sequence[TableColumn], name: str) -> str | None:
    """Suggest a column that is there: one that differs little, or all of a few."""
    from difflib import get_close_matches

    known = [column.name for column in columns]
    same = [other for other in known if other.lower() == name.lower()]
    if near := same or get_close_matches(name, sorted(known), 1, 0.7):
        return f"did you mean {near[0]}?"
    if 0 < len(known) <= _SHOWN:
        return f"the columns are {', '.join(known)}"
    return None


def stored_row(columns: Sequence[TableColumn], row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a row, or a struct, whose members are columns as it is stored.

    Raises `UsageError` if it has a name that no column has, and that is the field of a renamed one.
    """
    stored: dict[str, Any] = {}
    for name, value in row.items():
        column = named(columns, name)
        if column is None:
            if any(other.path[0] == name for other in columns):
                raise absent(columns, (name,))
            stored[name] = value
            continue
        inner = stored
        for step in column.path[:-1]:
            inner = inner.setdefault(step, {})
        inner[column.path[-1]] = _stored_value(column.type, value)
    return stored


def _stored_value(kind: ColumnType, value: Any) -> Any:  # noqa: ANN401 - of any type
    if isinstance(kind, StructType) and isinstance(value, dict):
        return stored_row(kind.columns, value)
    if isinstance(kind, ListType) and isinstance(value, list):
        return [_stored_value(kind.item, item) for item in value]
    if isinstance(kind, MapType) and isinstance(value, dict):
        return {name: _stored_value(kind.value, item) for name, item in value.items()}
    return value
