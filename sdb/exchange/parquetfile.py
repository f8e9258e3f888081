"""A packfile as a Parquet file, with what its footer says of the values."""

from __future__ import annotations

import json

from sdb.errors import CorruptError, ExistsError, NotFoundError
from sdb.exchange import columntypes
from sdb.packfile.export.arrowfiles import grouped
from sdb.packfile.read.arrow import FittedScan
from sdb.records import record
from sdb.store.readerfile import ReaderFile
from sdb.store.url import store_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from contextlib import AbstractContextManager
    from typing import Any, BinaryIO, TypeAlias

    import pyarrow as pa

    from sdb.exchange.columntypes import Columns
    from sdb.packfile.read.reader import Packfile

    RowsToWrite: TypeAlias = "tuple[Iterator[pa.RecordBatch], int | None, str]"
    OpenedRows: TypeAlias = "Callable[[], AbstractContextManager[RowsToWrite]]"

MOST_TEXT = 32
"""Most characters of a bound of texts."""

_NAN = b"sdb.nan"
_LAYOUT = "sdb.layout"


@record
class ColumnRange:
    """Bounds of the values of a column, as the footer of a Parquet file has them.

    Attributes
    ----------
    path : tuple of str
        Names of the fields, from the row to the value.
    least, most : object
        Bounds of the values; None: not known, or all are null.
    nulls : int or None
        Number of rows without a value.
    """

    path: tuple[str, ...]
    least: Any
    most: Any
    nulls: int | None


@record
class ParquetFile:
    """A Parquet file that was written, or was there.

    Attributes
    ----------
    location : str
        Its path or URL.
    size_bytes, rows : int
        Size, and number of rows.
    ranges : tuple of ColumnRange
        Bounds of the columns that are not in lists.
    is_new : bool
        Whether it was written now.
    """

    location: str
    size_bytes: int
    rows: int
    ranges: tuple[ColumnRange, ...]
    is_new: bool


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

    Raises
    ------
    CorruptError
        A block cannot be decoded; or the packfile has another number of rows than its trailer says.
    UnsupportedError
        A value does not fit its column.
    """
    scan = FittedScan(pack, columntypes.arrow_schema(columns), threads)
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

    Raises
    ------
    CorruptError
        A block cannot be decoded; or the packfile has another number of rows than its trailer says.
    """

    def write(output: BinaryIO) -> None:
        with opened() as (batches, expected, path):
            rows = _write(batches, list(schema), output, {_LAYOUT: json.dumps(layout)})
            _check_rows(rows, expected, path)

    return _created(location, write)


def read_layout(location: str) -> Any:  # noqa: ANN401 - as it was given
    """Return the layout that a file keeps; None: it has none, or is not there."""
    import pyarrow as pa
    from pyarrow import parquet

    try:
        reader = store_of(location).open(location)
    except NotFoundError:
        return None
    try:
        metadata = parquet.read_metadata(ReaderFile(reader)).metadata or {}
    except pa.ArrowInvalid:
        return None
    finally:
        reader.close()
    text = metadata.get(_LAYOUT.encode())
    return None if text is None else json.loads(text)


def _created(location: str, write: Callable[[BinaryIO], None]) -> ParquetFile:
    store = store_of(location)
    if store.head(location) is None:
        try:
            with store.create(location) as output:
                write(output)
        except ExistsError:
            return _described(location, is_new=False)
        return _described(location, is_new=True)
    return _described(location, is_new=False)


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
        writer.add_key_value_metadata({_NAN: json.dumps(sorted(nan.names))})
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
    import pyarrow.compute as pc
    from pyarrow import types

    if types.is_struct(array.type):
        return any(_has_nan(inner) for inner in array.flatten() if _has_doubles(inner.type))
    return bool(pc.any(pc.is_nan(array)).as_py())


def _described(location: str, *, is_new: bool) -> ParquetFile:
    """Describe a Parquet file by its footer."""
    import pyarrow as pa
    from pyarrow import parquet

    reader = store_of(location).open(location)
    try:
        metadata = parquet.read_metadata(ReaderFile(reader))
        size = reader.size_bytes
    except pa.ArrowInvalid as error:
        hint = "delete it, and run it again"
        raise CorruptError(f"{location}: {error}", path=location, hint=hint) from None
    finally:
        reader.close()
    return ParquetFile(location, size, metadata.num_rows, tuple(_ranges(metadata)), is_new)


def _ranges(metadata: Any) -> Iterator[ColumnRange]:  # noqa: ANN401 - of pyarrow
    nan = set(json.loads((metadata.metadata or {}).get(_NAN, b"[]")))
    schema = metadata.schema.to_arrow_schema()
    paths = list(_leaves(schema, ()))
    for number, (path, is_listed) in enumerate(paths):
        if is_listed:
            continue
        chunks = [
            metadata.row_group(group).column(number).statistics
            for group in range(metadata.num_row_groups)
        ]
        known = [chunk for chunk in chunks if chunk is not None]
        if len(known) < len(chunks):
            continue
        nulls = sum(chunk.null_count for chunk in known if chunk.has_null_count)
        all_counted = all(chunk.has_null_count for chunk in known)
        filled = [
            chunk for chunk in known if chunk.null_count < chunk.null_count + chunk.num_values
        ]
        is_bounded = all(chunk.has_min_max for chunk in filled) and path[0] not in nan and filled
        least = min(chunk.min for chunk in filled) if is_bounded else None
        most = max(chunk.max for chunk in filled) if is_bounded else None
        yield ColumnRange(path, least, most, nulls if all_counted else None)


def _leaves(
    fields: Any,  # noqa: ANN401 - a schema, or a type
    above: tuple[str, ...],
    *,
    is_listed: bool = False,
) -> Iterator[tuple[tuple[str, ...], bool]]:
    """Yield the leaves of columns in the order of the file, and whether each is in a list."""
    from pyarrow import types

    for field in fields:
        yield from _leaf(field.type, (*above, field.name), types, is_listed=is_listed)


def _leaf(
    kind: Any,  # noqa: ANN401 - of pyarrow
    path: tuple[str, ...],
    types: Any,  # noqa: ANN401 - of pyarrow
    *,
    is_listed: bool,
) -> Iterator[tuple[tuple[str, ...], bool]]:
    if types.is_struct(kind):
        yield from _leaves(kind, path, is_listed=is_listed)
    elif types.is_list(kind):
        yield from _leaf(kind.value_type, path, types, is_listed=True)
    else:
        yield path, is_listed
