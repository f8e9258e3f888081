"""`DESCRIBE t` and `SUMMARIZE t`: the fields of a table as rows."""

from __future__ import annotations

from sdb import ion
from sdb.errors import UnsupportedError
from sdb.packfile.inspect.fieldreport import plain_value
from sdb.query.analyze.refusals import rejected
from sdb.query.analyze.types import BOOL, INTEGER, NULL, NUMBER, STRING, TIME
from sdb.query.catalog.dataset import table_name
from sdb.query.exec.execution import Execution
from sdb.query.plan.scans import Column

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from sdb.packfile.read.fields import FieldDescription, Inventory
    from sdb.packfile.read.fieldstats import FieldStatistics, SeenValue
    from sdb.progress import Progress
    from sdb.query.catalog.catalog import Catalog
    from sdb.query.catalog.dataset import TableName
    from sdb.query.syntax import ast
    from sdb.table.schema.columns import TableSchema

_COLUMNS = (
    Column("field", {"s": 0}, STRING),
    Column("types", {"s": 1}, STRING),
    Column("rows", {"x": 2}, INTEGER),
)
_DESCRIBED = (*_COLUMNS, Column("description", {"s": 3}, STRING))
_MIXED = "tbnxsu"
"""The lanes of a value of any type that has an order, or NULL."""


def _mixed(name: str, start: int) -> Column:
    lanes = {letter: start + number for number, letter in enumerate(_MIXED)}
    return Column(name, lanes, NULL | BOOL | NUMBER | TIME | STRING)


_SUMMARY = (
    *_COLUMNS,
    Column("values", {"x": 3}, INTEGER),
    Column("null_share", {"n": 4}, NUMBER),
    Column("distinct", {"x": 5}, INTEGER),
    Column("distinct_exact", {"b": 6}, BOOL),
    _mixed("min", 7),
    _mixed("max", 13),
    _mixed("most_frequent", 19),
    Column("frequency", {"t": 25, "x": 26}, INTEGER),
    Column("uncounted", {"x": 27}, INTEGER),
    Column("decompressed_bytes", {"x": 28}, INTEGER),
    Column("compressed_bytes", {"x": 29}, INTEGER),
)


def described(table: ast.Table, catalog: Catalog) -> Execution:
    """List the fields of a table, as `sdb fields` does.

    * ``table``: The table; its packfiles are taken together.

    Returns: A row for each field: its path, its types, and in how many rows it is, where that is
    known.
    Raises `QueryError` if it is no table of packfiles.
    """
    name = _name(table, "DESCRIBE")
    inventory = catalog.fields((name,))
    schema = catalog.schema((name,))
    if schema is not None:
        listed = _of_schema(schema, inventory)
        is_told = any(description for *_, description in listed)
        columns = _DESCRIBED if is_told else _COLUMNS
        return Execution(columns, None, tuple([row[: len(columns)] for row in listed]))
    rows = tuple((field.name, ", ".join(field.types), field.rows) for field in inventory.fields)
    result = Execution(_COLUMNS, None, rows)
    if inventory.silent:
        line = f"note: {', '.join(inventory.silent)} does not tell its fields"
        result.notes = lambda: [line]
    return result


def named_fields(inventory: Inventory, schema: TableSchema | None) -> tuple[FieldDescription, ...]:
    """Return the fields of a table under the names that queries have for them.

    * ``schema``: The schema of the table; None: names are those of the rows.
    """
    from sdb.packfile.read.fields import FieldDescription
    from sdb.table.schema.columns import ITEMS, walk

    if schema is None:
        return inventory.fields
    known = {field.path: field for field in inventory.fields}
    none = FieldDescription((), (), 0 if inventory.complete else None)
    return tuple(
        FieldDescription(names, field.types, field.rows)
        for names, path, _ in walk(schema.columns)
        for field in [known.get(tuple([None if step == ITEMS else step for step in path]), none)]
    )


def _of_schema(schema: TableSchema, inventory: Inventory) -> tuple[tuple[Any, ...], ...]:
    """Return a row for each column: its name, type, number of rows that have it, description."""
    from sdb.table.schema.columns import ITEMS, shown, walk

    counts = {field.path: field.rows for field in inventory.fields}
    return tuple(
        (
            shown(names),
            str(column.type),
            counts.get(tuple([None if step == ITEMS else step for step in path]), 0),
            column.description,
        )
        for names, path, column in walk(schema.columns)
    )


def summarized(table: ast.Table, catalog: Catalog) -> Execution:
    """Report what is in the fields of a table, as `sdb fields --stats` does.

    * ``table``: The table; its packfiles are taken together.

    Returns: A row for each field. All rows of the table are read when the first one is asked for.
    Raises `QueryError` if it is no table of packfiles.
    """
    name = _name(table, "SUMMARIZE")
    if catalog.schema((name,)) is not None:
        raise UnsupportedError(
            f"SUMMARIZE takes no table with a schema: {name.text}",
            hint="sdb fields --stats tells of the fields as they are stored",
        )
    opened = catalog((name,), None)  # what cannot be opened is an error now
    summary = _Summary(lambda progress: catalog.statistics(opened, progress).fields)
    return Execution(_SUMMARY, summary, None, (summary,), summary.interrupt)


def _name(table: ast.Table, word: str) -> TableName:
    name = table_name(table)
    if name is None:
        raise rejected(f"{word} takes a table", table)
    return name


class _Summary:
    """Rows of SUMMARIZE, made when they are asked for; tells what it has read, as `LaneScan`."""

    failure = None

    def __init__(self, fields: Callable[[Progress], tuple[FieldStatistics, ...]]) -> None:
        self._fields = fields
        self._blocks = self._bytes = 0
        self._is_stopped = False

    @property
    def stats(self) -> tuple[int, int, int]:
        """Blocks read, bytes read; rows are not counted."""
        return self._blocks, self._bytes, 0

    def interrupt(self) -> None:
        """Make it stop at the next block; Ctrl-C in the main thread does so at once."""
        self._is_stopped = True

    def _count(self, consumed_bytes: int, _: int | None) -> None:
        if self._is_stopped:
            raise KeyboardInterrupt
        self._blocks += 1
        self._bytes = consumed_bytes

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        from sdb.query.exec.execution import lanes_of

        rows = [_row(field) for field in self._fields(self._count)]
        return lanes_of(rows, _SUMMARY).__arrow_c_stream__(requested_schema)


def _row(field: FieldStatistics) -> tuple[object, ...]:
    low, high = _bounds(field)
    top, frequency = field.frequent[0] if field.frequent else (None, None)
    return (
        field.name,
        ", ".join(field.types),
        field.rows,
        field.values,
        field.nulls / field.values if field.values else None,
        field.distinct,
        field.is_distinct_exact,
        *_cells(low),
        *_cells(high),
        *_cells(top),
        *((NULL, None) if frequency is None else (NUMBER, frequency)),
        field.uncounted,
        field.decompressed_bytes,
        field.compressed_bytes,
    )


def _bounds(field: FieldStatistics) -> tuple[SeenValue | None, SeenValue | None]:
    """Return the least and the greatest value: numbers, then times, then texts, as in ORDER BY."""
    if not field.ranges:
        return None, None
    # Integers and other numbers have a range each.
    numbers = [both for both in field.ranges if both[0].type in {"int", "float"}] or field.ranges[
        :1
    ]
    low = min((low for low, _ in numbers), key=lambda seen: seen.value)
    if len(field.ranges) > len(numbers):
        return low, field.ranges[-1][1]
    return low, max((high for _, high in numbers), key=lambda seen: seen.value)


def _cells(value: SeenValue | None) -> tuple[object, ...]:
    """Return a value for each of its lanes."""
    return tuple(map(_lanes(value).get, _MIXED))


def _lanes(seen: SeenValue | None) -> dict[str, object]:
    value = None if seen is None else seen.value
    if seen is None or value is None:
        return {"t": NULL}
    if (us := ion.instant_to_us(value)) is not None:
        return {"t": TIME, "u": us}
    for of, kind, letter in ((bool, BOOL, "b"), (int, NUMBER, "x"), (float, NUMBER, "n")):
        if isinstance(value, of):
            return {"t": kind, letter: value}
    return {"t": STRING, "s": str(plain_value(seen))}
