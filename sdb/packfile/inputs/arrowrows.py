"""Record batches of Arrow as rows of Ion, made by the core.

Numbers, booleans, strings, lists and structs stay what they are. Timestamps and dates become
timestamps in UTC, cut to microseconds; times of day become text, durations numbers of seconds,
decimals the nearest number, maps structs. Binary values are blobs, which packers store as text in
base64. The variants of Spark become what they hold.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Generator, Iterable

    import pyarrow as pa

_PART_BYTES = 1 << 20


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
        step = max(1, batch.num_rows * _PART_BYTES // max(1, batch.nbytes))
        for start in range(0, batch.num_rows, step):
            yield dump_batch(batch.slice(start, step), keep_nulls=keep_nulls)
