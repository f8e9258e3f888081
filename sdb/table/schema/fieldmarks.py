"""Fields of stored rows under a schema: their columns, and what departs by its type."""

from __future__ import annotations

from sdb.records import record
from sdb.table.schema.columns import ITEMS, VALUES, shown, walk
from sdb.table.schema.conform import UNKNOWN_FIELD
from sdb.table.schema.types import (
    BINARY,
    BOOLEAN,
    DOUBLE,
    INTEGER,
    STRING,
    VARIANT,
    DecimalType,
    ListType,
    MapType,
    StructType,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from sdb.packfile.read.fields import FieldDescription
    from sdb.packfile.trailer.fieldcounts import FieldPath
    from sdb.table.schema.columns import Path, TableSchema
    from sdb.table.schema.types import ColumnType, TableColumn

_TYPES: dict[ColumnType, set[str]] = {
    BOOLEAN: {"bool"},
    INTEGER: {"int"},
    DOUBLE: {"int", "float"},
    STRING: {"string"},
    BINARY: {"blob"},
}


@record
class FieldMark:
    """A field of stored rows under a schema."""

    column: str  # the names of the column; empty where no column is there
    departs: str  # how its types show that rows depart; empty where they do not


def field_marks(
    schema: TableSchema, fields: Iterable[FieldDescription]
) -> dict[FieldPath, FieldMark]:
    """Return what a schema says of fields."""
    columns: dict[Path, tuple[Path, TableColumn]] = {
        path: (names, column) for names, path, column in walk(schema.columns)
    }
    return {field.path: _mark(field, columns, schema) for field in fields}


def _mark(
    field: FieldDescription, columns: dict[Path, tuple[Path, TableColumn]], schema: TableSchema
) -> FieldMark:
    at: list[Path] = [()]
    kind: ColumnType | None = None
    names: Path = ()
    for step in field.path:
        if kind == VARIANT:
            return FieldMark(shown(names), "")
        steps = [ITEMS] if step is None else [step, VALUES]
        at = [(*path, each) for path in at for each in steps]
        known = next((columns[path] for path in at if path in columns), None)
        if known is not None:
            names, kind = known[0], known[1].type
        elif step is None and isinstance(kind, ListType):
            kind = kind.item
        elif isinstance(kind, MapType):
            kind = kind.value
        elif any(path[: len(way)] == way for path in columns for way in at):
            kind = StructType(())  # it leads to a column
        elif any(way in schema.dropped for way in at):
            return FieldMark("", "")
        else:
            return FieldMark("", UNKNOWN_FIELD)
    others: list[str] = []
    if kind is not None and kind != VARIANT:
        others = sorted(set(field.types) - _types(kind) - {"null"})
    departs = f"expected {kind}, there is {' and '.join(others)}" if others else ""
    return FieldMark(shown(names), departs)


def _types(kind: ColumnType) -> set[str]:
    """Return the types of fields that values of a column have."""
    if isinstance(kind, ListType):
        return {"list"}
    if isinstance(kind, StructType | MapType):
        return {"struct"}
    if isinstance(kind, DecimalType):
        return {"int", "float"}
    return _TYPES.get(kind, {"timestamp"})
