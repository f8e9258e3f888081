"""Files of columns: Arrow IPC streams and Parquet."""

from __future__ import annotations

from sdb.errors import UsageError
from sdb.packfile.read.arrow import Scan
from sdb.records import changing_record, field
from sdb.typed import Protocol

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from typing import BinaryIO

    import pyarrow as pa

    from sdb.packfile.read.arrow import Meter, Selected

_ROW_GROUP_BYTES = 64 << 20
_ROW_GROUP_ROWS = 1 << 20


@changing_record
class RowGroup:
    """Batches that become a row group of a Parquet file."""

    batches: list[pa.RecordBatch] = field(default_factory=list, repr=False)
    rows: int = 0
    size_bytes: int = 0

    def add(self, batch: pa.RecordBatch) -> None:
        """Add rows."""
        self.batches.append(batch)
        self.rows += batch.num_rows
        self.size_bytes += batch.nbytes

    @property
    def is_full(self) -> bool:
        """True if it is large enough."""
        return self.rows >= _ROW_GROUP_ROWS or self.size_bytes >= _ROW_GROUP_BYTES


class Batches(Protocol):
    """Rows with a schema, which can be gone over."""

    @property
    def schema(self) -> pa.Schema:
        """The schema of all batches."""

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Iterate over the rows."""


def write(
    selected: Iterable[Selected],
    output: BinaryIO,
    *,
    fmt: str,
    fields: Sequence[str] | None = None,
    limit: int | None = None,
    threads: int | None = None,
    meter: Meter | None = None,
) -> None:
    """Write rows as an Arrow IPC stream or a Parquet file.

    * ``output``: Where the bytes go; it is not closed.
    * ``fields``: Names of the top-level fields; the others are left out.
    * ``threads``: How many threads decode; without it one for each processor.
    * ``meter``: Called with numbers of bytes whose sum is, at the end, that of the selected blocks.

    Raises `UsageError` for another format, or a Parquet file without a column; `CorruptError` for a
    block that cannot be decoded; `UnsupportedError` for rows with too many different fields to make
    columns of them.
    """
    writers = {"arrow": write_arrow, "parquet": write_parquet}
    if fmt not in writers:
        raise UsageError(f"unknown format {fmt!r}", expected=", ".join(writers))
    scan = Scan(selected, fields=fields, limit=limit, threads=threads, meter=meter)
    writers[fmt](scan, output)


def write_arrow(scan: Batches, output: BinaryIO) -> None:
    """Write an Arrow IPC stream.

    * ``output``: Where the bytes go; it is not closed.
    """
    import pyarrow as pa

    with pa.ipc.new_stream(output, scan.schema) as writer:
        for batch in scan.batches():
            writer.write_batch(batch)


def write_parquet(scan: Batches, output: BinaryIO) -> None:
    """Write a Parquet file, compressed with zstd, a row group at a time.

    * ``output``: Where the bytes go; it is not closed.

    Raises `UsageError` if there is no column, since Parquet cannot count rows then.
    """
    import pyarrow as pa
    from pyarrow import parquet

    schema = scan.schema
    if not len(schema):
        raise UsageError("a Parquet file needs at least one column, and the rows have no field")
    with parquet.ParquetWriter(output, schema, compression="zstd") as writer:
        for group in grouped(scan.batches()):
            writer.write_table(pa.Table.from_batches(group, schema), row_group_size=None)


def grouped(batches: Iterable[pa.RecordBatch]) -> Iterator[list[pa.RecordBatch]]:
    """Collect batches until they are large enough for a row group."""
    group = RowGroup()
    for batch in batches:
        group.add(batch)
        if group.is_full:
            yield group.batches
            group = RowGroup()
    if group.batches:
        yield group.batches
