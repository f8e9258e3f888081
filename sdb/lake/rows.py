"""Rows of a data file of a table, as record batches: renamed, without the deleted ones."""

from __future__ import annotations

from contextlib import closing

from sdb.errors import CorruptError, InputError, SdbError, UnsupportedError
from sdb.lake.columns import reshaped
from sdb.lake.partitions import partition_value
from sdb.records import record
from sdb.store.parquetpages import BoundedParquet

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Any

    import numpy as np
    import pyarrow as pa

    from sdb.lake.access import LakeFolder
    from sdb.lake.columns import LakeColumn, LakeColumns
    from sdb.lake.model import LakeFile


@record
class LakeRows:
    """The rows of a data file, which are read when they are asked for."""

    folder: LakeFolder
    file: LakeFile
    columns: LakeColumns
    left_out: frozenset[str] = frozenset()  # names of columns that rows do not get

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Yield the rows.

        Raises `NotFoundError` or `AccessError` if a file is missing, or must not be read;
        `CorruptError` if the file, or the list of its deleted rows, is damaged or another one;
        `UnsupportedError` for a value that cannot be read yet.
        """
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

    def _read(self, file: BoundedParquet, deleted: np.ndarray | None) -> Iterator[pa.RecordBatch]:
        count = file.metadata.num_rows
        if deleted is not None and len(deleted) and int(deleted[-1]) >= count:
            message = f"row {int(deleted[-1]):,} of {count:,} is deleted"
            raise CorruptError(f"{self.file.location}: {message}", path=self.file.location)
        shape = self._shape(file.schema)
        names = [source.name for _, source in shape if source is not None]
        at = 0
        # A file may have none of the columns, and rows all the same.
        wanted = names or [field.name for field in file.schema][:1]
        for batch in file.batches(wanted):
            left = batch
            if deleted is not None:
                left = batch.filter(_mask(deleted, at, batch.num_rows))
            at += batch.num_rows
            if left.num_rows:
                yield self._shaped(left, shape)

    def _shape(self, schema: pa.Schema) -> list[tuple[LakeColumn, pa.Field | None]]:
        """Return the columns that rows get, each with its field in the file if it has one."""
        fields = list(schema)
        values = dict(self.file.values)
        shape: list[tuple[LakeColumn, pa.Field | None]] = []
        for column in self.columns.columns:
            if column.name in self.left_out:
                continue
            is_partition = column.stored in self.columns.partitions
            number = None if is_partition else column.find_in(fields)
            if number is not None:
                shape.append((column, fields[number]))
            elif is_partition or column.stored in values:
                shape.append((column, None))
        return shape

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
            empty = pa.array([{}] * batch.num_rows, pa.struct([]))
            return pa.RecordBatch.from_struct_array(empty)
        return pa.RecordBatch.from_arrays(arrays, schema=pa.schema(fields))

    def _values(self, shape: Sequence[tuple[LakeColumn, pa.Field | None]]) -> Mapping[str, Any]:
        """Return the values of the columns that the metadata have, by their names."""
        texts = dict(self.file.values)
        values = {}
        for column, source in shape:
            if source is None:
                try:
                    values[column.name] = partition_value(
                        column.type.name, texts.get(column.stored)
                    )
                except InputError as error:
                    message = f"{self.file.location}: column {column.name}: {error.message}"
                    raise CorruptError(message, path=self.file.location) from None
        return values


def _mask(deleted: np.ndarray, start: int, count: int) -> pa.Array:
    """Return which rows of a batch stay."""
    import numpy as np
    import pyarrow as pa

    first, last = np.searchsorted(deleted, (start, start + count))
    keep = np.ones(count, bool)
    keep[deleted[first:last] - start] = False
    return pa.array(keep)
