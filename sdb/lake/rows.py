"""Rows of a data file of a table, as record batches: renamed, without the deleted ones."""

from __future__ import annotations

from contextlib import closing

from sdb.errors import CorruptError, InputError, SdbError, UnsupportedError
from sdb.lake.columns import reshaped
from sdb.lake.partitions import partition_value
from sdb.lake.rowtests import PassingRows, dotted
from sdb.records import field, record
from sdb.store.parquetpages import BoundedParquet
from sdb.store.readerfile import ReaderFile

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Any

    import numpy as np
    import pyarrow as pa

    from sdb.lake.access import LakeFolder
    from sdb.lake.columns import LakeColumn, LakeColumns, Way
    from sdb.lake.model import LakeFile
    from sdb.lake.rowtests import RowTest

_ROWS = 1 << 16


@record
class LakeRows:
    """The rows of a data file, which are read when they are asked for."""

    folder: LakeFolder
    file: LakeFile
    columns: LakeColumns
    left_out: frozenset[str] = frozenset()  # names of columns that rows do not get
    # Paths of the fields that rows get, perhaps among others; None: all
    paths: frozenset[tuple[str, ...]] | None = None
    tests: tuple[RowTest, ...] = ()  # rows that do not pass may be left out
    # Columns that rows have which passed already: a file with others has its first row pass
    shown: set[str] = field(default_factory=set)

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Yield the rows.

        Raises `NotFoundError` or `AccessError` if a file is missing, or must not be read;
        `CorruptError` if the file, or the list of its deleted rows, is damaged or another one;
        `UnsupportedError` for a value that cannot be read yet.
        """
        if self.shown and not self._may_pass():
            return
        deleted = None if self.file.deleted is None else self.file.deleted.rows(self.folder)
        with closing(self.folder.open(self.file.location)) as reader:
            if reader.size_bytes != self.file.size_bytes:
                sizes = f"{reader.size_bytes:,} bytes, and not {self.file.size_bytes:,}"
                message = f"{self.file.location}: it is another file than the table says: {sizes}"
                raise CorruptError(message, path=self.file.location)
            import pyarrow as pa

            try:
                with BoundedParquet(reader) as file:
                    yield from self._read(file, deleted)
            except InputError as error:
                raise error.within(self.file.location, path=self.file.location) from None
            except SdbError:
                raise
            except (pa.ArrowException, OSError, ValueError, TypeError, OverflowError) as error:
                if isinstance(error, OSError) and error.errno:
                    raise
                text = str(error).split("\n", 1)[0]
                message = f"{self.file.location}: cannot read Parquet: {text}"
                raise CorruptError(message, path=self.file.location) from error

    def share(self) -> float:
        """Return which share of the file the chosen fields take; 1: that is not known."""
        from pyarrow import ArrowException, parquet

        try:
            with closing(self.folder.open(self.file.location)) as reader:
                metadata = parquet.read_metadata(ReaderFile(reader))
            shape = self._shape(metadata.schema.to_arrow_schema())
        except (ArrowException, OSError, SdbError):
            return 1.0  # reading it raises that again
        names = tuple({name for column, source in shape for name in self._stored(column, source)})
        groups = map(metadata.row_group, range(min(1, metadata.num_row_groups)))
        chunks = [group.column(at) for group in groups for at in range(group.num_columns)]
        read: list[int] = [
            chunk.total_compressed_size
            for chunk in chunks
            if chunk.path_in_schema in names
            or chunk.path_in_schema.startswith(tuple(f"{name}." for name in names))
        ]
        every: int = sum(chunk.total_compressed_size for chunk in chunks)
        return sum(read) / every if every else 1.0

    def _read(self, file: BoundedParquet, deleted: np.ndarray | None) -> Iterator[pa.RecordBatch]:
        count = file.metadata.num_rows
        if deleted is not None and len(deleted) and int(deleted[-1]) >= count:
            message = f"row {int(deleted[-1]):,} of {count:,} is deleted"
            raise CorruptError(f"{self.file.location}: {message}", path=self.file.location)
        shape = self._shape(file.schema)
        names = [name for column, source in shape for name in self._stored(column, source)]
        shown = {column.name for column, _ in shape}
        has_first = not shown <= self.shown
        self.shown.update(shown)
        if not names:
            yield from self._counted(count - (0 if deleted is None else len(deleted)), shape)
            return
        passing = PassingRows(file, self._tested(file.schema), are_wide=self.paths is None)
        start = 0
        for group in range(file.metadata.num_row_groups):
            stop = start + file.metadata.row_group(group).num_rows
            first = _first_left(deleted, start, stop) if has_first else None
            has_first = has_first and first is None
            keep = passing.of_group(group, first)
            if keep is None or keep.any():
                yield from self._group(file.batches(names, group), shape, start, deleted, keep)
            start = stop

    def _group(
        self,
        batches: Iterator[pa.RecordBatch],
        shape: Sequence[tuple[LakeColumn, pa.Field | None]],
        start: int,
        deleted: np.ndarray | None,
        keep: np.ndarray | None,
    ) -> Iterator[pa.RecordBatch]:
        """Yield those rows of a row group that are not deleted and, if that is known, may pass.

        * ``start``: The number of its first row in the file.
        """
        at = 0
        for batch in batches:
            left = batch
            mask = None if keep is None else keep[at : at + batch.num_rows]
            if deleted is not None:
                there = _mask(deleted, start + at, batch.num_rows)
                mask = there if mask is None else mask & there
            if mask is not None:
                left = batch.filter(_array(mask))
            at += batch.num_rows
            if left.num_rows:
                yield self._shaped(left, shape)

    def _counted(
        self, count: int, shape: Sequence[tuple[LakeColumn, pa.Field | None]]
    ) -> Iterator[pa.RecordBatch]:
        """Yield rows that have nothing of the file."""
        for start in range(0, count, _ROWS):
            yield self._shaped(_empty_rows(min(_ROWS, count - start)), shape)

    def _stored(self, column: LakeColumn, source: pa.Field | None) -> list[str]:
        """Return the paths of what is read of a column in the file, with dots in between."""
        if source is None:
            return []
        if self.paths is None:
            return [source.name]
        paths = [path for path in self.paths if path[0] == column.name]
        return [dotted(column.way_in(source, path[1:])) for path in paths]

    def _tested(self, schema: pa.Schema) -> list[tuple[Way, RowTest]]:
        """Return the tests of values in the file, with the ways to these."""
        tested = []
        for column, source in self._shape(schema):
            for test in self.tests if source is not None else ():
                if test.path[0] != column.name:
                    continue
                way = column.way_in(source, test.path[1:])
                if len(way) == len(test.path):
                    tested.append((way, test))
        return tested

    def _may_pass(self) -> bool:
        """Return whether values that the metadata have leave a row that passes."""
        values = dict(self.file.values)
        for column in self.columns.columns:
            if column.stored not in self.columns.partitions:
                continue
            for test in self.tests:
                if test.path == (column.name,):
                    value = self._value(column, values.get(column.stored))
                    if not test.may_be(value):
                        return False
        return True

    def _shape(self, schema: pa.Schema) -> list[tuple[LakeColumn, pa.Field | None]]:
        """Return the columns that rows get, each with its field in the file if it has one."""
        fields = list(schema)
        values = dict(self.file.values)
        shape: list[tuple[LakeColumn, pa.Field | None]] = []
        for column in self.columns.columns:
            if column.name in self.left_out or not self._is_wanted(column):
                continue
            is_partition = column.stored in self.columns.partitions
            number = None if is_partition else column.find_in(fields)
            if number is not None:
                shape.append((column, fields[number]))
            elif is_partition or column.stored in values:
                shape.append((column, None))
        return shape

    def _is_wanted(self, column: LakeColumn) -> bool:
        return self.paths is None or any(path[0] == column.name for path in self.paths)

    def _shaped(
        self, batch: pa.RecordBatch, shape: Sequence[tuple[LakeColumn, pa.Field | None]]
    ) -> pa.RecordBatch:
        import pyarrow as pa

        values = self._values(shape)
        arrays, fields = [], []
        for column, source in shape:
            if source is None:
                array = pa.repeat(values[column.name], batch.num_rows)
            else:
                number = batch.schema.get_field_index(source.name)
                if number < 0:
                    message = f"{self.file.location}: two columns {source.name!r}"
                    raise UnsupportedError(message)
                array = reshaped(batch.column(number), column.type, column.name)
            arrays.append(array)
            fields.append(pa.field(column.name, array.type))
        if not arrays:
            return _empty_rows(batch.num_rows)
        return pa.RecordBatch.from_arrays(arrays, schema=pa.schema(fields))

    def _values(self, shape: Sequence[tuple[LakeColumn, pa.Field | None]]) -> Mapping[str, Any]:
        """Return the values of the columns that the metadata have, by their names."""
        texts = dict(self.file.values)
        return {
            column.name: self._value(column, texts.get(column.stored))
            for column, source in shape
            if source is None
        }

    def _value(self, column: LakeColumn, text: str | None) -> pa.Scalar:
        try:
            return partition_value(column.type.name, text)
        except InputError as error:
            message = f"{self.file.location}: column {column.name}: {error.message}"
            raise CorruptError(message, path=self.file.location) from None


def _mask(deleted: np.ndarray, start: int, count: int) -> np.ndarray:
    """Return which rows of a batch stay."""
    import numpy as np

    first, last = np.searchsorted(deleted, (start, start + count))
    keep = np.ones(count, bool)
    keep[deleted[first:last] - start] = False
    return keep


def _first_left(deleted: np.ndarray | None, start: int, stop: int) -> int | None:
    """Return the place among some rows of the first one that is not deleted; None: all are."""
    if deleted is None:
        return 0 if stop > start else None
    there = _mask(deleted, start, stop - start)
    return int(there.argmax()) if there.any() else None


# `pa.array` loads pandas where that is installed, which takes longer than to read many a file.


def _array(mask: np.ndarray) -> pa.Array:
    import numpy as np
    import pyarrow as pa

    bits = pa.py_buffer(np.packbits(mask, bitorder="little"))
    return pa.Array.from_buffers(pa.bool_(), len(mask), [None, bits])


def _empty_rows(count: int) -> pa.RecordBatch:
    import pyarrow as pa

    rows = pa.Array.from_buffers(pa.struct([]), count, [None])
    return pa.RecordBatch.from_struct_array(rows)
