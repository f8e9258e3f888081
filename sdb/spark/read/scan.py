"""Blocks to Arrow record batches, on an executor."""

from __future__ import annotations

import logging
from contextlib import closing

from pyspark.errors import PySparkException
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import LongType, StringType, StructField, StructType

from sdb import sizes
from sdb.errors import (
    ConflictError,
    CorruptError,
    NotFoundError,
    UnsupportedError,
    UsageError,
)
from sdb.spark.options.settings import ReadOptions
from sdb.spark.read.cache import BlockCache
from sdb.spark.read.partitions import BlockRef, FilePart
from sdb.spark.read.placement import block_etag
from sdb.spark.session.hangup import end_quietly
from sdb.spark.session.hinted import hinted_each
from sdb.store import url
from sdb.table.packfiles.lazy import check_same_object, missing_packfile_error

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import pyarrow as pa
    from pyspark.sql.types import DataType

    from sdb._core import ArrowBatch, ArrowTypes
    from sdb.packfile.read.reader import Packfile
    from sdb.spark.read.rowranges import RowRange
    from sdb.store.base import Reader

METADATA = StructField(
    "_metadata",
    StructType(
        [
            StructField("file_path", StringType()),
            StructField("file_name", StringType()),
            StructField("file_size", LongType()),
        ]
    ),
)
"""The column that says in which packfile a row is."""
_log = logging.getLogger("sdb.spark")


def columns(schema: StructType, options: ReadOptions) -> ArrowTypes:
    """Return the columns that the core makes for a schema.

    Raises `UsageError` for a column of a type that rows do not have, such as MAP.
    """
    from sdb import _core

    stored = StructType([field for field in schema if field.name in _stored(schema, options)])
    wanted = to_arrow_schema(stored, timezone="UTC")
    try:
        return _core.ArrowTypes.wanted(wanted, lenient=options.lenient, casts=True)
    except UnsupportedError as error:
        raise UsageError(error.message, hint="choose STRUCT, ARRAY, STRING or VARIANT") from None


def is_possible(kind: DataType) -> bool:
    """Return whether rows become columns of a type."""
    try:
        columns(StructType([StructField("column", kind)]), ReadOptions(()))
    except (UsageError, PySparkException):
        return False
    return True


def _stored(schema: StructType, options: ReadOptions) -> list[str]:
    """Return the names of the columns that are fields of rows."""
    return [name for name in schema.names if not (options.has_metadata and name == METADATA.name)]


class _Rows:
    """Makes the columns of a schema from those that the core makes."""

    def __init__(self, schema: StructType, options: ReadOptions) -> None:
        end_quietly()
        self.types = columns(schema, options)
        self.names = _stored(schema, options)
        self._at = schema.names.index(METADATA.name) if self.names != schema.names else None

    def made(self, batch: pa.RecordBatch, path: str, size_bytes: int) -> pa.RecordBatch:
        """Return a batch with all columns, in their order."""
        if self._at is None:
            return batch
        import pyarrow as pa

        facts = {"file_path": path, "file_name": path.rpartition("/")[2], "file_size": size_bytes}
        columns = [pa.repeat(pa.scalar(fact), batch.num_rows) for fact in facts.values()]
        return batch.add_column(
            self._at, METADATA.name, pa.StructArray.from_arrays(columns, list(facts))
        )

    def tell(self, path: str) -> None:
        """Say which values became null since it was said last."""
        for name, count in self.types.take_nulled():
            values = sizes.counted(count, "value")
            _log.warning("%s: %s that column %s cannot hold: NULL", path, values, name)


@hinted_each
def batches(
    parts: Iterable[FilePart], schema: StructType, options: ReadOptions
) -> Iterator[pa.RecordBatch]:
    """Read the rows of blocks.

    * ``schema``: The columns; only the buckets of these fields are decompressed.
    * ``options``: Cache, and what becomes of values that do not fit.

    Raises `ConflictError` if a file is not the version any more that the blocks were chosen in;
    `CorruptError` for a block that cannot be decoded, or if a packfile of a table is missing;
    `UnsupportedError` for a value that does not fit its column.
    """
    import pyarrow as pa

    made = _Rows(schema, options)
    cache = BlockCache(options.cache, options.cache_bytes) if options.cache else None
    for part in parts:
        part_cache = cache if url.store_of(part.path).is_remote else None
        try:
            with closing(_opened(part, ahead=part_cache is None)) as reader:
                blocks = _Blocks(part, reader, part_cache)
                for batch in blocks.stream(made.types, made.names):
                    yield made.made(pa.record_batch(batch), part.path, reader.size_bytes)
        except options.files.left_out as error:
            said = "left out from here on, as ignoreMissingFiles and ignoreCorruptFiles say: %s"
            _log.warning(said, error)
            made.tell(part.path)
            continue
        made.tell(part.path)
        hits = cache.hits if cache else 0
        _log.info(
            "%s: %d blocks, %d bytes, %d blocks of this task from the cache",
            part.path,
            len(part.blocks),
            part.compressed_bytes,
            hits,
        )


@hinted_each
def rows(wanted: RowRange, schema: StructType, options: ReadOptions) -> Iterator[pa.RecordBatch]:
    """Read rows of a packfile that may have grown since.

    Raises `ConflictError` if the file was replaced by another one; `CorruptError` for a block that
    cannot be decoded, or that has another number of rows than the file says; `UnsupportedError` for
    a value that does not fit its column.
    """
    import pyarrow as pa

    made = _Rows(schema, options)
    left = wanted.stop - wanted.start
    with wanted.open() as pack:
        part, before = part_of(pack, wanted)
        for exported in _Blocks(part, pack.reader, None).stream(made.types, made.names):
            batch = pa.record_batch(exported).slice(before, left)
            before = max(0, before - len(exported))
            left -= batch.num_rows
            if batch.num_rows:
                yield made.made(batch, part.path, pack.reader.size_bytes)
            if not left:
                made.tell(wanted.path)
                return
    path = wanted.path
    raise CorruptError(f"{path}: {left:,} rows less than it should have", path=path)


def part_of(pack: Packfile, wanted: RowRange) -> tuple[FilePart, int]:
    """Return the blocks that hold rows, and how many rows of the first one come before."""
    trailer = pack.trailer
    numbers, before = wanted.blocks(pack)
    blocks = tuple(BlockRef.of(trailer, number) for number in numbers)
    part = FilePart(pack.path, "", trailer.algorithm, trailer.align_bytes, blocks=blocks)
    return part, before


def _opened(part: FilePart, *, ahead: bool) -> Reader:
    """Open the file; the first block may come with the same request."""
    first = part.blocks[0]
    head_bytes = first.stop if ahead and first.start == 0 else 1
    if part.size_bytes:
        return _opened_listed(part, head_bytes)
    reader = url.open_read(part.path, head_bytes=head_bytes)
    if reader.version != part.version:
        reader.close()
        raise ConflictError(
            f"{part.path} was changed since this was loaded",
            path=part.path,
            hint="load it again: Spark keeps the plan of what was loaded",
        )
    return reader


def _opened_listed(part: FilePart, head_bytes: int) -> Reader:
    """Open a packfile of a table, and check that it is the one that the index lists."""
    try:
        reader = url.open_read(part.path, head_bytes=head_bytes)
    except NotFoundError:
        raise missing_packfile_error(part.path) from None
    check_same_object(reader, part.path, part.size_bytes, part.version)
    return reader


class _Blocks:
    """The blocks of one file, numbered from 0, for `_core`."""

    def __init__(self, part: FilePart, reader: Reader, cache: BlockCache | None) -> None:
        self._part = part
        self._reader = reader
        self._cache = cache

    def _read(self, block: BlockRef) -> bytes:
        if self._cache is None:
            return self._fetch(block)
        return self._cache.get(
            block_etag(self._part.version, block.start),
            block.stop - block.start,
            lambda: self._fetch(block),
        )

    def _fetch(self, block: BlockRef) -> bytes:
        """Read a block from where it belongs, and compare it with its digest."""
        from sdb.packfile.read.blocks import check

        data = self._reader.read(block.start, block.stop)
        try:
            check(data, block.digest)
        except CorruptError as error:
            raise self.blame(error, self._part.blocks.index(block)) from None
        return data

    def blame(self, error: Exception, number: int) -> Exception:
        """Say in which block of which file an error happened."""
        path, block = self._part.path, self._part.blocks[number]
        where = f"{path}: block {block.number}"
        if isinstance(error, UnsupportedError):
            hint = "give the column another type, VARIANT holds any value, or set mode PERMISSIVE"
            return error.within(where, path=path, hint=hint)
        if isinstance(error, CorruptError):
            offset = block.start + (error.offset or 0)
            message = f"{where} at byte {offset:,}: {error.message}"
            hint = f"sdb validate {path}"
            return CorruptError(message, path=path, offset=offset, hint=hint)
        return error

    def stream(self, types: ArrowTypes, fields: list[str]) -> Iterator[ArrowBatch]:
        from sdb import _core
        from sdb.packfile.read.ahead import ReadAhead

        times = self._part.time_filter
        blocks = self._part.blocks
        is_remote = self._reader.descriptor is None
        read = ReadAhead(self._read, blocks, lambda block: block.stop - block.start)
        scan = _core.ArrowScan(
            read if is_remote else (lambda number: self._read(blocks[number])),
            [block.chunks for block in blocks],
            self._part.algorithm,
            self._part.align_bytes,
            threads=1,
            fields=fields,
            time_filter=(list(times[0]), *times[1:]) if times else None,
            blame=self.blame,
        )
        return iter(scan.stream(types))
