"""Schemas that fit all rows of a table, and rows that depart from one."""

from __future__ import annotations

from contextlib import closing

from sdb.packfile.read.arrow import Scan
from sdb.progress import silent
from sdb.records import changing_record
from sdb.table.format.keys import era_of
from sdb.table.packfiles.conformance import departing_rows
from sdb.table.packfiles.lazy import OpenObjects, whole_packfile
from sdb.table.schema import adopt
from sdb.table.schema.columns import TableSchema
from sdb.table.schema.types import (
    BINARY,
    BOOLEAN,
    DOUBLE,
    INTEGER,
    STRING,
    TIMESTAMP,
    VARIANT,
    DecimalType,
    ListType,
    StructType,
    TableColumn,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    import pyarrow as pa

    from sdb.progress import Progress
    from sdb.table.catalog.handle import TableHandle
    from sdb.table.schema.types import ColumnType

_MOST_SHOWN = 80


@changing_record
class DepartureCount:
    """Rows that depart from a schema in one way.

    Attributes
    ----------
    column : str
        The names that lead to the column, or to the field that no column has.
    reason : str
        How they depart.
    rows : int
        Number of rows.
    example : str
        Such a value, as JSON; empty where it is the lack of one.
    packfile : str
        The key of a packfile that has such a row.
    row : int
        Its number there.
    """

    column: str
    reason: str
    rows: int
    example: str
    packfile: str
    row: int

    def as_dict(self) -> dict[str, object]:
        """Return it as plain values with stable names, for JSON."""
        return {
            "column": self.column,
            "reason": self.reason,
            "rows": self.rows,
            "example": self.example or None,
            "packfile": self.packfile,
            "row": self.row,
        }


def inferred(handle: TableHandle) -> TableSchema:
    """Return a schema that all rows of a version conform to, with columns of their types.

    Raises `CorruptError` if a packfile is missing or damaged and `UnsupportedError` if rows have
    too many different fields.
    """
    with closing(OpenObjects()) as objects:
        packs = [
            whole_packfile(handle.root, descriptor, objects) for descriptor in handle.descriptors()
        ]
        fields = Scan([(pack, pack.select()) for pack in packs]).schema if packs else ()
    return adopt.first(TableSchema(_columns(fields)))


def _columns(fields: Iterable[pa.Field]) -> tuple[TableColumn, ...]:
    return tuple([TableColumn(0, each.name, _type(each), (each.name,)) for each in fields])


def _type(field: pa.Field) -> ColumnType:
    """Return the type of a column of :mod:`sdb.packfile.read.arrow`."""
    import pyarrow as pa

    of = field.type
    if (field.metadata or {}).get(b"sdb.encoding") == b"json" or pa.types.is_null(of):
        return VARIANT
    if pa.types.is_struct(of):
        return StructType(_columns(of)) if of.num_fields else VARIANT
    if pa.types.is_list(of):
        return ListType(_type(of.value_field))
    if pa.types.is_uint64(of) or pa.types.is_decimal(of):
        return DecimalType(20, 0)
    tests = (
        (pa.types.is_boolean, BOOLEAN),
        (pa.types.is_int64, INTEGER),
        (pa.types.is_floating, DOUBLE),
        (pa.types.is_string, STRING),
        (pa.types.is_timestamp, TIMESTAMP),
        (pa.types.is_binary, BINARY),
    )
    return next((kind for test, kind in tests if test(of)), VARIANT)


def departures_of(
    handle: TableHandle, schema: TableSchema, *, progress: Progress = silent
) -> list[DepartureCount]:
    """Count the rows of a version that depart from a schema, by column and reason.

    * ``progress``: Called with the number of bytes that were read.

    Raises `CorruptError` if a packfile is missing or damaged.
    """
    counts: dict[tuple[str, str], DepartureCount] = {}
    listed = tuple(handle.descriptors())
    total, done = sum(descriptor.size_bytes for descriptor in listed), 0
    for descriptor in listed:
        with closing(OpenObjects()) as objects:
            pack = whole_packfile(handle.root, descriptor, objects)
            for departing in departing_rows(pack, schema, era_of(descriptor.key), is_new=False):
                ways = {(each.column, each.reason): each for each in departing.departures}
                for way, each in ways.items():
                    if way in counts:
                        counts[way].rows += 1
                    else:
                        example = shown_value(each.value)
                        counts[way] = DepartureCount(
                            *way, 1, example, descriptor.key, departing.number
                        )
        done += descriptor.size_bytes
        progress(done, total)
    return sorted(counts.values(), key=lambda count: (-count.rows, count.column))


def shown_value(value: object) -> str:
    """Return a value as messages show it: JSON, cut where it is long; empty for none."""
    import json

    if value is None:
        return ""
    text = json.dumps(value, default=str, ensure_ascii=False)
    return text if len(text) <= _MOST_SHOWN else f"{text[:_MOST_SHOWN]}..."
