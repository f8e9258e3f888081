"""A packfile as a Parquet file."""

from __future__ import annotations

import json

from sdb.errors import CorruptError, ExistsError
from sdb.lake.columntypes import arrow_schema
from sdb.lake.footer import LAYOUT, NAN, described
from sdb.packfile.export.arrowfiles import grouped
from sdb.packfile.read.arrow import FittedScan
from sdb.store.url import store_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from contextlib import AbstractContextManager
    from typing import BinaryIO, TypeAlias

    import pyarrow as pa

    from sdb.lake.columntypes import Columns
    from sdb.lake.footer import ParquetFile
    from sdb.packfile.read.reader import Packfile

    RowsToWrite: TypeAlias = "tuple[Iterator[pa.RecordBatch], int | None, str]"
    OpenedRows: TypeAlias = "Callable[[], AbstractContextManager[RowsToWrite]]"


def write_packfile(
    pack: Packfile,
    columns: Columns,
    names: Mapping[str, str],
    location: str,
    *,
    threads: int | None = None,
) -> ParquetFile:
    """Write the rows of a packfile as a Parquet file, unless it is there.

    * ``columns``: The columns of the file, by the fields of rows.
    * ``names``: The name of the column of each field.
    * ``location``: Where it shall be. It appears when it is complete.

    Raises `CorruptError` if a block cannot be decoded, or the packfile has another number of rows
    than its trailer says; `UnsupportedError` if a value does not fit its column.
    """
    scan = FittedScan(pack, arrow_schema(columns), threads)
    named = [field.with_name(names[name]) for field, name in zip(scan.schema, columns, strict=True)]

    def write(output: BinaryIO) -> None:
        rows = _write(scan.batches(), named, output)
        _check_rows(rows, pack.trailer.rows, pack.path)

    return _created(location, write)


def write_columns(
    opened: OpenedRows, schema: pa.Schema, layout: object, location: str
) -> ParquetFile:
    """Write columns of a packfile as a Parquet file, unless it is there.

    * ``opened``: Called once, for the rows and how many there must be.
    * ``layout``: Kept in the file: what :func:`read_layout` returns.

    Raises `CorruptError` if a block cannot be decoded, or the packfile has another number of rows
    than its trailer says.
    """

    def write(output: BinaryIO) -> None:
        with opened() as (batches, expected, path):
            rows = _write(batches, list(schema), output, {LAYOUT: json.dumps(layout)})
            _check_rows(rows, expected, path)

    return _created(location, write)


def _created(location: str, write: Callable[[BinaryIO], None]) -> ParquetFile:
    store = store_of(location)
    if store.head(location) is None:
        try:
            with store.create(location) as output:
                write(output)
        except ExistsError:
            return described(location, is_new=False)
        return described(location, is_new=True)
    return described(location, is_new=False)


def _check_rows(rows: int, expected: int | None, path: str) -> None:
    if expected is not None and rows != expected:
        what = f"{rows:,} rows, its trailer says {expected:,}"
        raise CorruptError(f"{path}: {what}", path=path)


def _write(
    rows_of: Iterable[pa.RecordBatch],
    fields: list[pa.Field],
    output: BinaryIO,
    metadata: Mapping[str, str] | None = None,
) -> int:
    import pyarrow as pa
    from pyarrow import parquet

    schema = pa.schema(fields)
    nan = _NanColumns(schema)
    rows = 0
    batches = (pa.record_batch(batch.columns, schema=schema) for batch in rows_of)
    with parquet.ParquetWriter(output, schema, compression="zstd") as writer:
        for group in grouped(nan.seen(batches)):
            rows += sum(batch.num_rows for batch in group)
            writer.write_table(pa.Table.from_batches(group, schema), row_group_size=None)
        writer.add_key_value_metadata({NAN: json.dumps(sorted(nan.names))})
        writer.add_key_value_metadata(metadata or {})
    return rows


class _NanColumns:
    """The top-level columns that have a value that is no number: its footer passes over these."""

    def __init__(self, schema: pa.Schema) -> None:
        self._doubles = [field.name for field in schema if _has_doubles(field.type)]
        self.names: set[str] = set()

    def seen(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for name in self._doubles:
                if name not in self.names and _has_nan(batch.column(name)):
                    self.names.add(name)
            yield batch


def _has_doubles(kind: pa.DataType) -> bool:
    from pyarrow import types

    if types.is_struct(kind):
        return any(_has_doubles(field.type) for field in kind)
    return bool(types.is_floating(kind))


def _has_nan(array: pa.Array) -> bool:
    import numpy as np
    from pyarrow import types

    if types.is_struct(array.type):
        return any(_has_nan(inner) for inner in array.flatten() if _has_doubles(inner.type))
    stored = array.buffers()[1]
    if stored is None or not np.isnan(np.frombuffer(stored, np.float64)).any():
        return False
    import pyarrow.compute as pc  # 60 ms, and rarely needed

    return bool(pc.any(pc.is_nan(array)).as_py())
