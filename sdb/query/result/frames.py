"""A result as Arrow data: columns with types, made of lanes.

A column whose values (nulls aside) are all booleans, all numbers, all timestamps or all strings is
made of its lane. Lists, structures and mixed values, and the members of whole rows, get the types
that :mod:`sdb.packfile.read.arrow` gives them: they take the way through a temporary packfile.
"""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

from sdb.query.analyze.types import (
    BOOL,
    HOLDS,
    LETTERS,
    LIST,
    NULL,
    NUMBER,
    STRING,
    STRUCT,
    TIME,
    loose,
)
from sdb.query.result.lines import effective
from sdb.query.result.outputs import structs
from sdb.query.syntax.literals import INT64_MAX, INT64_MIN, UINT64_MAX
from sdb.records import changing_record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import Any, BinaryIO

    import pyarrow as pa

    from sdb.packfile.read.arrow import Scan
    from sdb.query.plan.scans import Column
    from sdb.query.result.replay import Replay
    from sdb.table.schema.types import ColumnType

_NESTED = LIST | STRUCT


class Frame:
    """Columns with types.

    * ``arrange``: Puts the names of the members of whole rows in order.
    """

    def __init__(
        self,
        columns: Sequence[Column],
        replay: Replay,
        arrange: Callable[[list[str]], list[str]] = list,
    ) -> None:
        import pyarrow as pa

        self._arrange = arrange

        self._columns = effective(columns)
        self._replay = replay
        self._stack = ExitStack()
        # How many values of columns are not of the type that a schema says
        self.misfits: dict[str, int] = {}
        self._types = self._direct_types()
        self._packed: Scan | None = None
        indirect = [column for column in self._columns if column.name not in self._types]
        if indirect or any(column.is_row for column in self._columns):
            self._packed = self._pack([c for c in self._columns if not self._is_direct(c)])
        self._drafts = {
            column.name: column.declared
            for column in self._columns
            if column.declared is not None and not self._is_direct(column)
        }
        if self._packed is not None and self._drafts:
            self._packed = self._drafted(self._packed)
        self._schema = pa.schema(self._fields())
        self._warn()

    def _drafted(self, packed: Scan) -> Scan:
        """Return the same rows in the types of a schema, and count the values that do not fit."""
        from sdb.table.schema.arrowtypes import surely_fits
        from sdb.table.schema.fitting import draft_field

        fields = {field.name: field for field in packed.schema}
        for column in self._columns:
            kind = self._drafts.get(column.name)
            if kind is None:
                continue
            if column.name in fields and not surely_fits(fields[column.name], kind):
                self.misfits[column.name] = self._departing(column, kind)
            fields[column.name] = draft_field(column.name, kind, has_texts=True)
        return packed.fitted(list(fields.values()))

    def _departing(self, column: Column, kind: ColumnType) -> int:
        """Count the rows whose value of a column, or a part of it, is not of its type."""
        from sdb.query.result.replay import rows
        from sdb.table.schema.columns import TableSchema
        from sdb.table.schema.conform import UNKNOWN_FIELD, departures
        from sdb.table.schema.fitting import as_texts, bytes_of
        from sdb.table.schema.types import BINARY, TableColumn

        schema = TableSchema((TableColumn(0, column.name, as_texts(kind), (column.name,)),))
        return sum(
            any(each.reason != UNKNOWN_FIELD for each in departures(schema, row, 0))
            or (kind == BINARY and bytes_of(row.get(column.name, "")) is None)
            for row in rows(self._replay, [column])
        )

    def _warn(self) -> None:
        """Warn of values that are null here and are not in rows."""
        from sdb import notes

        for column in self._columns:
            if count := self.misfits.get(column.name, 0):
                values = "value is" if count == 1 else "values are"
                notes.warn(
                    f"{count:,} {values} no {column.declared}, as the schema says of"
                    f" {column.name}: null here (sdb schema check)"
                )

    @property
    def schema(self) -> pa.Schema:
        """The schema of all batches."""
        return self._schema

    def _is_direct(self, column: Column) -> bool:
        return not column.is_row and column.name in self._types

    def _direct_types(self) -> dict[str, pa.DataType]:
        """Return the columns that are made of lanes, and their types."""
        candidates = [column for column in self._columns if not column.is_row]
        seen = {column.name: _Seen() for column in candidates}
        typed = {c.name: of for c in candidates if (of := _declared_type(c)) is not None}
        for batch in self._replay:
            for column in candidates:
                if column.name in typed:
                    count = _misfits(batch, column, typed[column.name])
                    self.misfits[column.name] = self.misfits.get(column.name, 0) + count
                elif column.declared is None:
                    seen[column.name].look(batch, column)
        types = dict(typed)
        for column in candidates:
            if column.declared is not None:
                continue
            seen_types = seen[column.name]
            static = loose(column.types)
            kinds = seen_types.kinds or (static if static in LETTERS else 0)
            if kinds & _NESTED or kinds & (kinds - 1):
                continue
            if kinds == NUMBER and "x" in column.lanes and not seen_types.fractions:
                types[column.name] = _integer_type(seen_types.least, seen_types.most)
            else:
                types[column.name] = _arrow_type(kinds)
        return types

    def _pack(self, columns: Sequence[Column]) -> Scan:
        """Have the types of other columns found out."""
        from sdb.packfile.inputs.inputs import Input
        from sdb.packfile.read.arrow import Scan
        from sdb.packfile.read.reader import open_packfile
        from sdb.packfile.write.pack import LARGEST_ROW_BYTES, pack

        as_ion = Input("the result", "ion", source=lambda: structs(self._replay, columns))
        from sdb.store.local.scratch import Scratch

        with Scratch() as folder:
            path = Path(folder.path) / "rows.zion"
            pack([as_ion], path, level=1, max_row_bytes=LARGEST_ROW_BYTES)
            # The file is gone with the folder; what is open stays.
            packfile = self._stack.enter_context(open_packfile(path))
        return Scan([(packfile, packfile.select())])

    def _fields(self) -> list[pa.Field]:
        import pyarrow as pa

        packed = {} if self._packed is None else {f.name: f for f in self._packed.schema}
        others = {column.name for column in self._columns if not column.is_row}
        fields: dict[str, pa.Field] = {}
        for column in self._columns:
            if column.is_row:
                names = self._arrange([name for name in packed if name not in others])
                fields |= {name: packed[name] for name in names}
            elif column.name in self._types:
                fields[column.name] = pa.field(column.name, self._types[column.name])
            elif column.name in self._drafts:
                from sdb.table.schema.arrowtypes import arrow_field

                fields[column.name] = arrow_field(column.name, self._drafts[column.name])
            else:
                null = pa.field(column.name, pa.null())
                fields[column.name] = packed.get(column.name, null)
        return list(fields.values())

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Iterate over the rows."""
        import pyarrow as pa

        direct = {column.name: column for column in self._columns if self._is_direct(column)}
        packed = iter(()) if self._packed is None else self._packed.batches()
        have: Any = None
        for lanes in self._replay:
            start = 0
            while start < lanes.num_rows:
                count = lanes.num_rows - start
                if self._packed is not None:
                    have = have if have is not None and have.num_rows else next(packed)
                    count = min(count, have.num_rows)
                part = lanes.slice(start, count)
                arrays = []
                for field in self.schema:
                    if field.name in direct:
                        arrays.append(_array(part, direct[field.name], field.type))
                    elif have is not None and field.name in have.schema.names:
                        array = have.column(field.name).slice(0, count)
                        arrays.append(self._finished(field.name, array))
                    else:
                        arrays.append(pa.nulls(count, field.type))
                yield _batch(arrays, self.schema, count)
                have = None if have is None else have.slice(count)
                start += count

    def _finished(self, name: str, array: pa.Array) -> pa.Array:
        """Return an array in the type that a schema says its column has."""
        if name not in self._drafts:
            return array
        from sdb.table.schema.fitting import finished

        return finished(array, self._drafts[name])

    def table(self) -> pa.Table:
        """Return all rows at once."""
        import pyarrow as pa

        return pa.Table.from_batches(self.batches(), self.schema)

    def write(self, output: BinaryIO, fmt: str) -> None:
        """Write an Arrow IPC stream or a Parquet file.

        * ``output``: Where the bytes go; it is not closed.

        Raises `UsageError` for a Parquet file without a column.
        """
        from sdb.packfile.export.arrowfiles import write_arrow, write_parquet

        {"arrow": write_arrow, "parquet": write_parquet}[fmt](self, output)

    def close(self) -> None:
        """Remove the temporary packfile."""
        self._stack.close()


def _batch(arrays: list[pa.Array], schema: pa.Schema, count: int) -> pa.RecordBatch:
    import pyarrow as pa

    if arrays:
        return pa.RecordBatch.from_arrays(arrays, schema=schema)
    return pa.RecordBatch.from_struct_array(pa.array([{}] * count, pa.struct([])))


@changing_record
class _Seen:
    """The types and values seen in a column."""

    kinds: int = 0  # types of values
    fractions: bool = False  # whether there are numbers that are not whole
    # Bounds of the whole numbers, and 0
    least: int = 0
    most: int = 0

    def look(self, batch: pa.RecordBatch, column: Column) -> None:
        """Take in the rows of a batch."""
        import pyarrow.compute as pc

        lanes = {letter: batch.column(at) for letter, at in column.lanes.items()}
        filled = {letter for letter, lane in lanes.items() if lane.null_count < batch.num_rows}
        if "t" in lanes:
            for tag in pc.unique(lanes["t"]).to_pylist():
                self.kinds |= (tag or 0) & ~NULL
        else:
            for letter in filled:
                self.kinds |= HOLDS[letter]
        if "x" in filled:
            bounds = pc.min_max(lanes["x"]).as_py()
            self.least = min(self.least, int(bounds["min"]))
            self.most = max(self.most, int(bounds["max"]))
        if "n" in filled and "x" in lanes:
            inexact = pc.and_(pc.is_valid(lanes["n"]), pc.is_null(lanes["x"]))
            self.fractions = self.fractions or pc.any(inexact).as_py()


def _integer_type(least: int, most: int) -> pa.DataType:
    """Return the type of whole numbers; only doubles are beyond 64 bits."""
    import pyarrow as pa

    if least >= INT64_MIN and most <= INT64_MAX:
        return pa.int64()
    if most > UINT64_MAX or least < -UINT64_MAX:
        return pa.float64()
    return pa.decimal128(20, 0) if least < 0 else pa.uint64()


def _arrow_type(kind: int) -> pa.DataType:
    import pyarrow as pa

    types = {
        NUMBER: pa.float64(),
        STRING: pa.utf8(),
        BOOL: pa.bool_(),
        TIME: pa.timestamp("us", "UTC"),
    }
    return types.get(kind, pa.null())


def _declared_type(column: Column) -> pa.DataType | None:
    """Return the type of a column of a schema that is made of a lane; None: it is made otherwise.

    A column without a lane of its type has no such value.
    """
    import pyarrow as pa

    if column.declared is None or not set(column.lanes) <= set("txnsbui"):
        return None
    from sdb.table.schema.arrowtypes import arrow_field

    field = arrow_field("", column.declared)
    return None if field.metadata or pa.types.is_nested(field.type) else field.type


def _misfits(batch: pa.RecordBatch, column: Column, of: pa.DataType) -> int:
    """Count the values of a batch that are not of a type."""
    import pyarrow.compute as pc

    present = [batch.column(at) for letter, at in column.lanes.items() if letter != "t"]
    if "t" in column.lanes:
        tags = batch.column(column.lanes["t"])
        filled = pc.sum(pc.greater(tags, NULL)).as_py() or 0
    elif present:
        filled = batch.num_rows - (pc.sum(_all_null(present)).as_py() or 0)
    else:
        filled = 0
    array = _array(batch, column, of)
    return int(filled - (len(array) - array.null_count))


def _all_null(lanes: list[pa.Array]) -> pa.Array:
    import pyarrow.compute as pc

    nulls = pc.is_null(lanes[0])
    for lane in lanes[1:]:
        nulls = pc.and_(nulls, pc.is_null(lane))
    return nulls


def _array(batch: pa.RecordBatch, column: Column, of: pa.DataType) -> pa.Array:
    import pyarrow as pa
    import pyarrow.compute as pc

    if column.declared is not None and (
        pa.types.is_decimal(of) or of in {pa.binary(), pa.date32()}
    ):
        from sdb.table.schema.fitting import of_lanes

        by_letter = {letter: batch.column(at) for letter, at in column.lanes.items()}
        return of_lanes(column.declared, by_letter, batch.num_rows)
    letters = {pa.utf8(): "s", pa.bool_(): "b", pa.float64(): "n", pa.null(): ""}
    letters |= dict.fromkeys([pa.int64(), pa.uint64(), pa.decimal128(20, 0)], "x")
    letter = letters.get(of, "u")
    lanes = [batch.column(column.lanes[letter])] if letter in column.lanes else []
    if letter == "n" and "x" in column.lanes:
        lanes.append(batch.column(column.lanes["x"]).cast(pa.float64(), safe=False))
    if not lanes:
        return pa.nulls(batch.num_rows, of)
    array = lanes[0] if len(lanes) == 1 else pc.coalesce(*lanes)
    try:
        return array.cast(of)
    except pa.ArrowInvalid:
        if column.declared is None:
            raise
    # Whole numbers beyond 64 bits, which a schema does not have
    least, most = pa.scalar(INT64_MIN, array.type), pa.scalar(INT64_MAX, array.type)
    fits = pc.and_(pc.greater_equal(array, least), pc.less_equal(array, most))
    return pc.if_else(fits, array, None).cast(of)
