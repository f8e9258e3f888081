"""Rows of packfiles under a schema: whether all conform, and which do not.

Rust makes columns of all rows, whose types mostly tell that every value is of its column. Rows are
looked at one by one only where they do not.
"""

from __future__ import annotations

from sdb.errors import UnsupportedError
from sdb.packfile.read.arrow import Scan
from sdb.records import record, replace
from sdb.table.schema import eras
from sdb.table.schema.columns import OBSERVE, walk
from sdb.table.schema.conform import departures, mended, sources_of, takes_ordinary
from sdb.table.schema.types import (
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    INTEGER,
    STRING,
    TIMESTAMP,
    VARIANT,
    DecimalType,
    ListType,
    MapType,
    StructType,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Any

    import pyarrow as pa

    from sdb.packfile.read.reader import Packfile
    from sdb.packfile.trailer.fieldcounts import FieldPath
    from sdb.table.schema.columns import Path, TableSchema
    from sdb.table.schema.conform import Departure
    from sdb.table.schema.types import ColumnType, TableColumn

_MOST_EXACT = 1 << 53


@record
class DepartingRow:
    """A row that departs from a schema."""

    number: int  # its number in the packfile, from 0 on
    departures: tuple[Departure, ...]
    row: Mapping[str, Any]  # the fields that were looked at

    @property
    def is_mendable(self) -> bool:
        """True if each value that departs means one of the type of its column."""
        return all(each.is_mendable for each in self.departures)

    def mended(self, columns: tuple[TableColumn, ...], fields: Sequence[str]) -> dict[str, Any]:
        """Return the values that fields of the row get, by their places, as `RowChanges` has them.

        * ``columns``: Those whose values may come as others.
        """
        row = mended(StructType(columns), self.row)
        return {str(number): row[name] for number, name in enumerate(fields) if name in row}


def departing_rows(
    pack: Packfile, schema: TableSchema, era: int, *, is_new: bool = True
) -> Iterator[DepartingRow]:
    """Find the rows of a packfile that depart from a schema.

    * ``era``: That of the packfile.
    * ``is_new``: See :func:`sdb.table.schema.conform.departures`.

    Raises `CorruptError` for a block that cannot be decoded.
    """
    fields = _suspects(pack, schema, era, is_new=is_new)
    if fields is not None:
        if not fields:
            return
        # Rows whose values are mended get all of these anew.
        fields |= {column.path[0] for column in mended_columns(schema)}
    columns = [each for each in schema.columns if fields is None or each.path[0] in fields]
    part = replace(schema, columns=tuple(columns))
    names = None if fields is None else sorted(fields)
    for number, row in enumerate(pack.selected_rows(pack.select(), names)):
        if listed := departures(part, row, era, is_new=is_new):
            yield DepartingRow(number, tuple(listed), row)


def mended_columns(schema: TableSchema) -> tuple[TableColumn, ...]:
    """Return the columns whose values may come as others."""
    return tuple([column for column in schema.columns if takes_ordinary(column.type)])


def mendable_rows(pack: Packfile, schema: TableSchema, era: int) -> Iterator[DepartingRow]:
    """Find the rows of a new packfile with values that mean one of the type of their column.

    No row is read where the counts of types in the packfile tell that no value is such a one.
    Raises `CorruptError` for a block that cannot be decoded.
    """
    presence, columns = pack.trailer.sparse.presence(), mended_columns(schema)
    if presence is not None and presence.complete:
        masks = {path: count.types for path, count in presence.fields.items()}
        if not any(_may_mean(each.type, each.path, masks) for each in columns):
            return
    part = replace(schema, columns=columns)
    names = sorted({column.path[0] for column in columns})
    for number, row in enumerate(pack.selected_rows(pack.select(), names)):
        listed = departures(part, row, era)
        if any(each.is_mendable for each in listed):
            yield DepartingRow(number, tuple(listed), row)


def _may_mean(kind: ColumnType, path: FieldPath, masks: Mapping[FieldPath, int]) -> bool:
    """Return whether a value at a path may mean one of a type, by the types that are there."""
    if isinstance(kind, ListType):
        return _may_mean(kind.item, (*path, None), masks)
    if isinstance(kind, MapType):
        depth = len(path)
        inner = {each[: depth + 1] for each in masks if each[:depth] == path and each[depth:]}
        return any(_may_mean(kind.value, each, masks) for each in inner)
    if isinstance(kind, StructType):
        return any(_may_mean(each.type, (*path, *each.path), masks) for each in kind.columns)
    return bool(masks.get(path, 0) & sources_of(kind))


def numbered_rows(pack: Packfile, numbers: Sequence[int]) -> list[dict[str, Any]]:
    """Return rows of a packfile by their numbers, which ascend; only their blocks are read.

    Raises `CorruptError` for a block that cannot be decoded.
    """
    from sdb.packfile.rewrite.rewrite import rows_of_blocks

    rows, wanted, first = [], set(numbers), 0
    for block, count in enumerate(rows_of_blocks(pack)):
        own = {number - first for number in wanted if first <= number < first + count}
        if own:
            selection = replace(pack.select(), blocks=(block,))
            listed = enumerate(pack.selected_rows(selection))
            rows += [row for number, row in listed if number in own]
        first += count
    return rows


def is_checked(schema: TableSchema | None) -> bool:
    """Return whether new rows have to conform to a schema."""
    return schema is not None and schema.mode != OBSERVE


def is_applied(schema: TableSchema | None) -> bool:
    """Return whether new rows may be others under a schema: refused, or with other values."""
    return schema is not None and (is_checked(schema) or bool(mended_columns(schema)))


def _suspects(pack: Packfile, schema: TableSchema, era: int, *, is_new: bool) -> set[str] | None:
    """Return the fields of rows in which a value may depart; None: any may."""
    try:
        scan = Scan([(pack, pack.select())])
    except UnsupportedError:  # more fields than columns are made of
        return None
    fields = list(scan.schema)
    known = {column.path[0] for column in schema.columns}
    suspects = {field.name for field in fields if field.name not in known}
    if not is_new:
        suspects -= {path[0] for path in schema.dropped if len(path) == 1}
    judged = []
    for column in schema.columns:
        inner = [each for _, _, each in walk((column,))]
        siblings = [each for each in schema.columns if each.path[0] == column.path[0]]
        is_plain = all(eras.has_rows(schema, each, era) for each in inner)
        paths = [each.path for each in siblings]
        own = [field for field in fields if field.name == column.path[0]]
        if is_plain and _may_conform(column, fields) and not _has_unknown(own, paths):
            judged.append(column)
        else:
            suspects.add(column.path[0])
    for batch in scan.batches() if judged else ():
        for column in judged:
            if column.path[0] not in suspects and not _conforms(column, _value(column.path, batch)):
                suspects.add(column.path[0])
    return suspects


def _has_unknown(fields: list[pa.Field], paths: list[Path]) -> bool:
    import pyarrow as pa

    for field in fields:
        inner = [path[1:] for path in paths if path[0] == field.name]
        if not inner:
            return True
        is_struct = pa.types.is_struct(field.type)
        if all(inner) and (not is_struct or _has_unknown(list(field.type), inner)):
            return True
    return False


def _may_conform(column: TableColumn, fields: list[pa.Field]) -> bool:
    """Return whether the type of the values of a column is one that can conform."""
    import pyarrow as pa

    field = None
    for name in column.path:
        field = next((field for field in fields if field.name == name), None)
        if field is None:
            return not column.required or column.default is not None
        fields = list(field.type) if pa.types.is_struct(field.type) else []
    return field is None or _fits(column.type, field)


def _fits(kind: ColumnType, field: pa.Field) -> bool:  # noqa: PLR0911 - a type each
    """Return whether all values of a type of Arrow may be of a type."""
    import pyarrow as pa

    of = field.type
    if kind == VARIANT or pa.types.is_null(of):
        return True
    if (field.metadata or {}).get(b"sdb.encoding") == b"json":
        return False
    if isinstance(kind, StructType):
        if not pa.types.is_struct(of) or _has_unknown(list(of), [c.path for c in kind.columns]):
            return False
        return all(_may_conform(column, list(of)) for column in kind.columns)
    if isinstance(kind, ListType):
        return bool(pa.types.is_list(of)) and _fits(kind.item, of.value_field)
    if isinstance(kind, MapType):
        return bool(pa.types.is_struct(of)) and all(_fits(kind.value, inner) for inner in of)
    if kind == DOUBLE:
        return bool(pa.types.is_floating(of) or pa.types.is_int64(of))
    if isinstance(kind, DecimalType):
        return False
    types = {
        BOOLEAN: pa.types.is_boolean,
        INTEGER: pa.types.is_int64,
        STRING: pa.types.is_string,
        BINARY: pa.types.is_binary,
        TIMESTAMP: pa.types.is_timestamp,
        DATE: pa.types.is_timestamp,
    }
    return bool(types[kind](of))


def _value(path: Path, values: Any) -> Any:  # noqa: ANN401 - a batch, or an array of structs
    """Return the values of a path; None: no row has the field."""
    for name in path:
        if values is None or name not in _names(values):
            return None
        values = values.column(name) if hasattr(values, "schema") else values.field(name)
    return values


def _names(values: Any) -> list[str]:  # noqa: ANN401 - a batch, or an array of structs
    if hasattr(values, "schema"):
        return list(values.schema.names)
    return [field.name for field in values.type]


def _conforms(column: TableColumn, values: Any) -> bool:  # noqa: ANN401 - an array, or None
    """Return whether all values of a column are surely of its type, and there if required."""
    if values is None:
        return True  # the types have told that it is not required, or has a default
    if column.required and values.null_count:
        return False
    return _all_of(column.type, values)


def _all_of(kind: ColumnType, values: Any) -> bool:  # noqa: ANN401, PLR0911 - an array; a type each
    import pyarrow as pa
    import pyarrow.compute as pc

    if isinstance(kind, StructType):
        inner = [(column, _value(column.path, values)) for column in kind.columns]
        return all(_conforms(column, array) for column, array in inner)
    if isinstance(kind, ListType):
        return _all_of(kind.item, values.flatten()) if pa.types.is_list(values.type) else True
    if isinstance(kind, MapType):
        inner_fields = list(values.type) if pa.types.is_struct(values.type) else []
        return all(_all_of(kind.value, values.field(field.name)) for field in inner_fields)
    if pa.types.is_null(values.type) or len(values) == values.null_count:
        return True
    if kind == DOUBLE:
        return bool(pc.max(pc.abs(values)).as_py() <= _MOST_EXACT)
    if kind == DATE:
        days = pc.floor_temporal(values, unit="day")
        return bool(pc.all(pc.equal(days, values)).as_py())
    return True
