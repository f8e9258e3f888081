"""Parquet files as input: their rows as Ion, batch by batch.

Numbers, booleans, strings, lists and structs stay what they are, and nulls stay. Timestamps and
dates become timestamps in UTC, cut to microseconds; times of day become text, durations numbers of
seconds, decimals the nearest number, binary values text in base64, maps structs.
"""

from __future__ import annotations

import datetime as dt
import io
from collections import Counter
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from sdb import ion
from sdb.errors import InputError, SdbError

if TYPE_CHECKING:
    from collections.abc import Generator

    import pyarrow as pa

    from sdb.store.url import Reader

_BATCH_ROWS = 4096
_BATCH_BYTES = 1 << 20
_BUFFER_BYTES = 1 << 20
_INTEGERS = range(-(1 << 63), 1 << 64)


def rows(reader: Reader, name: str) -> Generator[bytes]:
    """Give the rows of a Parquet file as Ion streams of lists of structs.

    Parameters
    ----------
    reader : Reader
        The file; it is closed in the end.
    name : str
        Its name in messages.

    Yields
    ------
    bytes
        An Ion stream of some rows, about a mebibyte.

    Raises
    ------
    InputError
        The file is malformed, or holds a value that has no place in a row.

    Examples
    --------
    >>> from sdb.store.url import open_read
    >>> pieces = rows(open_read("events.parquet"), "events.parquet")    # doctest: +SKIP
    """
    import pyarrow as pa
    from pyarrow import parquet

    try:
        # Batches come one after the other, column pages as they are needed.
        with parquet.ParquetFile(
            _File(reader), buffer_size=_BUFFER_BYTES, pre_buffer=False
        ) as file:
            schema = file.schema_arrow
            _check_names(schema, name)
            targets = [_stored(column.type) for column in schema]
            foreign = [_is_foreign(target) for target in targets]
            for batch in file.iter_batches(_BATCH_ROWS, use_threads=False):
                yield from _encoded(_cast(batch, targets), foreign)
    except (pa.ArrowException, OverflowError, TypeError, ValueError) as error:
        if isinstance(error, SdbError):
            raise
        message = str(error).split("\n", 1)[0]
        raise InputError(f"{name}: cannot read Parquet: {message}", path=name) from error
    finally:
        reader.close()


def _check_names(schema: pa.Schema, name: str) -> None:
    for column, count in Counter(schema.names).items():
        if count > 1:
            raise InputError(f"{name}: {count} columns are called {column!r}", path=name)


def _encoded(batch: pa.RecordBatch, foreign: list[bool]) -> Generator[bytes]:
    for part in parts(batch):
        columns = [
            _plain_values(column) if is_foreign else _values(column)
            for column, is_foreign in zip(part.columns, foreign, strict=True)
        ]
        yield ion.dumps(_records(part.schema.names, columns, part.num_rows))


def parts(batch: pa.RecordBatch) -> Generator[pa.RecordBatch]:
    """Cut a batch into parts of about a mebibyte."""
    step = max(1, batch.num_rows * _BATCH_BYTES // max(1, batch.nbytes))
    for start in range(0, batch.num_rows, step):
        yield batch.slice(start, step)


def column_values(column: pa.Array) -> list[Any]:
    """Give the values of a column as rows hold them.

    Parameters
    ----------
    column : pyarrow.Array
        The column.

    Returns
    -------
    list
        A value that :func:`sdb.ion.dumps` takes for each of the column; None for null.

    Raises
    ------
    pyarrow.ArrowException, OverflowError, TypeError, ValueError
        A value that has no place in a row.
    """
    import pyarrow as pa

    target = _stored(column.type)
    batch = _cast(pa.record_batch([column], names=[""]), [target])
    return _plain_values(batch.column(0)) if _is_foreign(target) else _values(batch.column(0))


def _plain_values(column: pa.Array) -> list[Any]:
    return [_plain(value) for value in column.to_pylist(maps_as_pydicts="lossy")]


def _records(names: list[str], columns: list[list[Any]], count: int) -> list[dict[str, Any]]:
    if not columns:
        return [{} for _ in range(count)]
    return [dict(zip(names, values, strict=True)) for values in zip(*columns, strict=True)]


def _values(column: pa.Array) -> list[Any]:
    """Give the values of a column; whole columns at a time are many times faster than values."""
    import pyarrow as pa
    from pyarrow import types

    values: list[Any]
    kind, filled = column.type, column
    if types.is_struct(kind):
        names = [field.name for field in kind]
        values = _records(names, [_values(part) for part in column.flatten()], len(column))
    elif types.is_timestamp(kind):
        numbers = column.cast(pa.int64()).fill_null(0).to_numpy().tolist()
        values = [ion.Timestamp(us) for us in numbers]
    elif types.is_boolean(kind) or types.is_integer(kind) or types.is_floating(kind):
        if column.null_count:
            filled = column.fill_null(pa.scalar(0, pa.int8()).cast(kind))
        values = filled.to_numpy(zero_copy_only=False).tolist()
    elif types.is_string(kind) or types.is_large_string(kind):
        values = column.to_numpy(zero_copy_only=False).tolist()
    else:
        return list(column.to_pylist(maps_as_pydicts="lossy"))
    if not column.null_count:
        return values
    valid = column.is_valid().to_numpy(zero_copy_only=False)
    return [value if there else None for value, there in zip(values, valid, strict=True)]


def _cast(batch: pa.RecordBatch, targets: list[pa.DataType]) -> pa.RecordBatch:
    from pyarrow import compute, types

    for index, (column, target) in enumerate(zip(batch.schema, targets, strict=True)):
        values = batch.column(index)
        if types.is_timestamp(column.type) and column.type.unit == "ns":
            values = compute.floor_temporal(values, unit="microsecond")
        if values.type != target:
            # Finer parts than microseconds are cut off.
            values = values.cast(target, safe="[ns" not in str(column.type))
            batch = batch.set_column(index, column.name, values)
    return batch


def _stored(kind: pa.DataType) -> pa.DataType:
    """Give the type that Python can hold in place of another."""
    import pyarrow as pa
    from pyarrow import types

    inner: pa.DataType | None = None
    if types.is_timestamp(kind) or types.is_date(kind):
        kind = pa.timestamp("us", "UTC")
    elif types.is_time(kind):
        kind = pa.time64("us")
    elif types.is_duration(kind):
        kind = pa.duration("us")
    elif types.is_dictionary(kind):
        inner = kind.value_type
    elif isinstance(kind, pa.BaseExtensionType):
        inner = kind.storage_type
    elif types.is_nested(kind):
        kind = _stored_nested(kind)
    return kind if inner is None else _stored(inner)


def _stored_nested(kind: pa.DataType) -> pa.DataType:
    import pyarrow as pa
    from pyarrow import types

    if types.is_struct(kind):
        kind = pa.struct([field.with_type(_stored(field.type)) for field in kind])
    elif types.is_map(kind):
        kind = pa.map_(_stored(kind.key_type), _stored(kind.item_type))
    elif types.is_fixed_size_list(kind):
        kind = pa.list_(_stored(kind.value_type), kind.list_size)
    elif types.is_large_list(kind):
        kind = pa.large_list(_stored(kind.value_type))
    elif types.is_list(kind):
        kind = pa.list_(_stored(kind.value_type))
    return kind


def _is_foreign(kind: pa.DataType) -> bool:
    """Tell whether values of a type have no Ion form as they come from Arrow."""
    from pyarrow import types

    if types.is_nested(kind):
        inner = [kind.field(index).type for index in range(kind.num_fields)]
        return bool(types.is_map(kind)) or any(map(_is_foreign, inner))
    return any(test(kind) for test in (types.is_decimal, types.is_time, types.is_duration))


def _plain(value: Any) -> Any:  # noqa: ANN401 - any value of Arrow
    """Give a value that has an Ion form."""
    match value:
        case dict():
            return {str(name): _plain(content) for name, content in value.items()}
        case list():
            return [_plain(content) for content in value]
        case Decimal():
            whole = value == value.to_integral_value() and int(value) in _INTEGERS
            return int(value) if whole else float(value)
        case dt.time():
            return value.isoformat()
        case dt.timedelta():
            return value.total_seconds()
        case _:
            return value


class _File(io.RawIOBase):
    """A reader as a file at whose positions pyarrow can read."""

    def __init__(self, reader: Reader) -> None:
        super().__init__()
        self._reader = reader
        self._position = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._position

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._position, io.SEEK_END: self._reader.size_bytes}
        self._position = max(0, base[whence] + offset)
        return self._position

    def read(self, size: int | None = -1) -> bytes:
        rest = max(0, self._reader.size_bytes - self._position)
        count = rest if size is None or size < 0 else min(size, rest)
        data = self._reader.read(self._position, self._position + count)
        self._position += count
        return data
