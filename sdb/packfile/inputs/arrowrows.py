"""Record batches of Arrow as rows of Ion, made by the core.

Numbers, booleans, strings, lists and structs stay what they are. Timestamps and dates become
timestamps in UTC, cut to microseconds; times of day become text, durations numbers of seconds,
decimals the nearest number, maps structs. Binary values are blobs, which packers store as text in
base64. The variants of Spark become what they hold.
"""

from __future__ import annotations

from sdb.errors import InputError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Iterator

    import pyarrow as pa

_PART_BYTES = 1 << 20
_ROW_BYTES = 64 << 20  # the largest chunk


def encoded(batches: Iterable[pa.RecordBatch], *, keep_nulls: bool) -> Generator[bytes]:
    """Encode rows for a packer, see "Parquet" in docs/inputs.md.

    * ``keep_nulls``: Whether fields that are null are written as such, or left out, at any depth.

    Yields: An Ion stream of some rows, made of about a mebibyte of columns.

    Raises
    ------
    InputError
        A value has no place in a row, or two fields have the same name.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from sdb import ion
    >>> batch = pa.record_batch({"a": [1, None]})
    >>> [ion.loads(piece) for piece in encoded([batch], keep_nulls=True)]
    [[{'a': 1}, {'a': None}]]
    """
    from sdb._core import dump_batch

    for batch in batches:
        for part in _parts(batch):
            yield dump_batch(part, keep_nulls=keep_nulls)


def _parts(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    """Cut a batch into parts that become about a mebibyte, or a single row.

    Raises
    ------
    InputError
        A row becomes more than any chunk can hold.
    """
    size = sum(map(_size_of, batch.columns))
    if batch.num_rows == 1 and size > _ROW_BYTES:
        raise InputError(f"a row of {size:,} bytes, and the limit is {_ROW_BYTES:,}")
    step = max(1, batch.num_rows * _PART_BYTES // max(1, size))
    if step >= batch.num_rows:
        yield batch
        return
    for start in range(0, batch.num_rows, step):
        part = batch.slice(start, step)
        # Texts of dictionaries may all be in a few rows.
        yield from _parts(part) if size > batch.nbytes else (part,)


def _size_of(array: pa.Array) -> int:
    """Return what a column becomes: the texts of dictionaries as often as rows have them."""
    import pyarrow as pa
    import pyarrow.compute as pc

    kind = array.type
    if pa.types.is_dictionary(kind) and pa.types.is_large_unicode(kind.value_type) | (
        pa.types.is_unicode(kind.value_type) | pa.types.is_binary(kind.value_type)
    ):
        lengths = pc.binary_length(array.dictionary).take(array.indices)
        return int(array.indices.nbytes + (pc.sum(lengths).as_py() or 0))
    if pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_struct(kind):
        inner = array.flatten()
        parts = inner if isinstance(inner, list) else [inner]
        return 8 * len(array) + sum(map(_size_of, parts))
    return int(array.nbytes)
