"""The footer of a Parquet file of ours: rows, bounds of values, and the layout that it keeps."""

from __future__ import annotations

import json

from sdb import instants
from sdb.errors import CorruptError, NotFoundError
from sdb.records import record
from sdb.store.readerfile import ReaderFile
from sdb.store.url import store_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

MOST_TEXT = 32
"""Most characters of a bound of texts."""

NAN = b"sdb.nan"
"""Key of the columns that have a value that is no number: footers pass over these."""
LAYOUT = "sdb.layout"
"""Key of the layout that a file keeps."""


@record
class ColumnRange:
    """Bounds of the values of a column, as the footer of a Parquet file has them."""

    path: tuple[str, ...]  # names of the fields, from the row to the value
    # Bounds of the values; None: not known, or all are null.
    least: Any
    most: Any
    nulls: int | None  # number of rows without a value


@record
class ParquetFile:
    """A Parquet file that was written, or was there."""

    location: str  # its path or URL
    # Size, and number of rows.
    size_bytes: int
    rows: int
    ranges: tuple[ColumnRange, ...]  # bounds of the columns that are not in lists
    is_new: bool  # whether it was written now


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
    text = metadata.get(LAYOUT.encode())
    return None if text is None else json.loads(text)


def described(location: str, *, is_new: bool) -> ParquetFile:
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
    nan = set(json.loads((metadata.metadata or {}).get(NAN, b"[]")))
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
        bounds = [_bounds(chunk) for chunk in filled] if is_bounded else []
        least = min((low for low, _ in bounds), default=None)
        most = max((high for _, high in bounds), default=None)
        yield ColumnRange(path, least, most, nulls if all_counted else None)


def _bounds(statistics: Any) -> tuple[Any, Any]:  # noqa: ANN401 - of pyarrow
    if statistics.logical_type.type != "TIMESTAMP":
        return statistics.min, statistics.max
    # Their `min` loads pandas where that is installed, which takes 0.3 s.
    return instants.from_us(statistics.min_raw), instants.from_us(statistics.max_raw)


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
