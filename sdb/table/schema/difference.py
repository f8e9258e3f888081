"""Differences between the schemas of two versions, column by column."""

from __future__ import annotations

from sdb.records import record
from sdb.table.schema.columns import shown, walk, with_columns

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sdb.table.schema.columns import Path, TableSchema
    from sdb.table.schema.types import TableColumn

_MEMBERS = ("required", "default", "description", "aliases")


@record
class ColumnChange:
    """One difference of a column.

    Attributes
    ----------
    change : str
        ``added``, ``dropped``, ``renamed``, ``retyped``, ``moved``, the name of a member that is
        another one, or ``mode``, which is that of the schema.
    column : str
        The names that lead to the column, after the change; before it where it was dropped.
    before, after : object
        What it was, and is.
    """

    change: str
    column: str
    before: object = None
    after: object = None

    def as_dict(self) -> dict[str, object]:
        """Return it as plain values with stable names, for JSON."""
        return {
            "change": self.change,
            "column": self.column,
            "before": self.before,
            "after": self.after,
        }


def differences(before: TableSchema | None, after: TableSchema | None) -> list[ColumnChange]:
    """Return the differences between two schemas, in the order of the later one."""
    old, new = _by_id(before), _by_id(after)
    changes = []
    modes = [None if schema is None else schema.mode for schema in (before, after)]
    if modes[0] != modes[1]:
        changes.append(ColumnChange("mode", "", *modes))
    for number, (names, column) in new.items():
        if number not in old:
            changes.append(ColumnChange("added", shown(names), None, str(column.type)))
        else:
            changes += _of_column(*old[number], names, column)
    for number, (names, column) in old.items():
        if number not in new:
            changes.append(ColumnChange("dropped", shown(names), str(column.type), None))
    moved = _order(after, old.keys()) != _order(before, new.keys())
    if moved:
        orders = [_order(schema, old.keys() & new.keys()) for schema in (before, after)]
        texts = [", ".join(shown(new[number][0]) for number in order) for order in orders]
        changes.append(ColumnChange("moved", "", *texts))
    return changes


def _of_column(
    old_names: Path, old: TableColumn, names: Path, column: TableColumn
) -> list[ColumnChange]:
    own = shown(names)
    changes = []
    if old.name != column.name:
        changes.append(ColumnChange("renamed", own, shown(old_names), own))
    if with_columns(old.type, ()) != with_columns(column.type, ()):
        changes.append(ColumnChange("retyped", own, str(old.type), str(column.type)))
    for member in _MEMBERS:
        values = [getattr(each, member) for each in (old, column)]
        if values[0] != values[1]:
            listed = [list(value) if isinstance(value, tuple) else value for value in values]
            changes.append(ColumnChange(member, own, *listed))
    return changes


def _by_id(schema: TableSchema | None) -> dict[int, tuple[Path, TableColumn]]:
    if schema is None:
        return {}
    return {column.id: (names, column) for names, _, column in walk(schema.columns)}


def _order(schema: TableSchema | None, common: object) -> list[int]:
    """Return the ids of the columns of rows that both schemas have."""
    listed = [] if schema is None else [column.id for column in schema.columns]
    return [number for number in listed if number in common]  # type: ignore[operator]
