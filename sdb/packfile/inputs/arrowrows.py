"""Record batches of Arrow as rows of Ion, made by the core.

Numbers, booleans, strings, lists and structs stay what they are. Timestamps and dates become
timestamps in UTC, cut to microseconds; times of day and UUIDs become text, durations numbers of
seconds, decimals numbers, maps structs. Binary values are blobs, which packers store as text in
base64. The variants of Spark become what they hold. What no number or timestamp holds exactly, of
decimals and times, becomes text, of which a warning tells.
"""

from __future__ import annotations

from sdb import notes
from sdb.packfile.inputs.rowvalues import DECIMALS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Generator, Iterable

    import pyarrow as pa

_PART_BYTES = 1 << 20
_TIMES = "times outside the years 0 to 16383 are kept as text"


def encoded(batches: Iterable[pa.RecordBatch], *, keep_nulls: bool) -> Generator[bytes]:
    """Encode rows for a packer, see "Parquet" in docs/inputs.md.

    * ``keep_nulls``: Whether fields that are null are written as such, or left out, at any depth.
      Entries of maps stay.

    Yields: An Ion stream of some rows, made of about a mebibyte of columns.
    Raises `InputError` if a value has no place in a row, or two fields have the same name.

    >>> import pyarrow as pa
    >>> from sdb import ion
    >>> batch = pa.record_batch({"a": [1, None]})
    >>> [ion.loads(piece) for piece in encoded([batch], keep_nulls=True)]
    [[{'a': 1}, {'a': None}]]
    """
    from sdb._core import dump_batch

    warned: set[tuple[str, str]] = set()
    for batch in batches:
        step = max(1, batch.num_rows * _PART_BYTES // max(1, _size_of(batch)))
        start = 0
        while start < batch.num_rows:
            part = batch.slice(start, step)
            data, rows, decimals, times = dump_batch(part, keep_nulls=keep_nulls)
            for texts, columns in ((DECIMALS, decimals), (_TIMES, times)):
                for column in columns:
                    if (column, texts) not in warned:
                        warned.add((column, texts))
                        notes.warn(f"column {column}: {texts}")
            yield data
            start += rows


def _size_of(batch: pa.RecordBatch) -> int:
    """Return the size of the columns, but for texts that dictionaries have once."""
    import pyarrow as pa

    return sum(
        column.indices.nbytes if isinstance(column, pa.DictionaryArray) else column.nbytes
        for column in batch.columns
    )
