"""Columns by their names, and what was probably meant by a name that no column has."""

from __future__ import annotations

from sdb.errors import UsageError
from sdb.table.schema.columns import shown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from sdb.table.schema.columns import Path, TableColumn, TableSchema

_SHOWN = 12


def column_at(schema: TableSchema, names: Path) -> TableColumn:
    """Find a column by the names that lead to it; lists and maps of structs are stepped into.

    Raises
    ------
    UsageError
        There is no such column; the hint has a similar name.
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
