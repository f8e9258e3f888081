"""Structured Streaming of a table: the rows that its versions add, each one once.

The offset of a stream names the version up to which all rows were read, by number and commit. What
came in since are the packfiles of a later version that the first one does not have. Only where
packfiles were removed in between, each version in between is looked at.
"""

from __future__ import annotations

import logging

from pyspark.sql.datasource import DataSourceStreamReader
from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    ReadMaxRows,
    SupportsTriggerAvailableNow,
)

from sdb.errors import UsageError
from sdb.spark.read import scan
from sdb.spark.read.partitions import chosen, grouped
from sdb.spark.read.reader import BlockPartition
from sdb.spark.session.hinted import hinted
from sdb.spark.stream.offset import StreamOffset
from sdb.spark.stream.versionchain import StreamedVersions
from sdb.table.packfiles.lazy import OpenObjects, TablePackfile

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

    import pyarrow as pa
    from pyspark.sql.datasource import InputPartition
    from pyspark.sql.types import StructType

    from sdb.spark.options.namedtable import NamedTable
    from sdb.spark.options.settings import ReadOptions
    from sdb.spark.stream.offset import VersionMark
    from sdb.table.format.descriptor import Descriptor

_log = logging.getLogger("sdb.spark")


class TableStreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Follows the versions of a table.

    * ``options``: How packfiles are read, and where the stream starts.

    Raises `UsageError` for an option that streams do not have.
    """

    def __init__(self, schema: StructType, options: ReadOptions, named: NamedTable) -> None:
        if options.since or options.until or options.time_field:
            raise UsageError("a stream has no since, until or timeField", hint="filter its rows")
        self._schema = schema
        self._options = options
        self._chain = StreamedVersions(named, skip_changes=options.skip_changes)
        self._last: VersionMark | None = None
        scan.columns(schema, options)

    @hinted
    def initialOffset(self) -> dict[str, Any]:  # noqa: N802 - Spark's name
        """Begin before the first row, or where the options say."""
        return self._chain.start(self._options.starting_version).encode()

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802 - Spark's name
        """Return the limit of the options."""
        most = self._options.max_rows
        return ReadAllAvailable() if most is None else ReadMaxRows(most)

    @hinted
    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802 - Spark's name
        """Record the version that is the newest now: later ones are not read."""
        self._last = self._chain.newest()

    @hinted
    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:  # noqa: N802
        """Go on to the newest version, by whole packfiles with a maximum number of rows, or one."""
        offset = StreamOffset.decode(start)
        most = limit.max_rows if isinstance(limit, ReadMaxRows) else None
        newest = self._last or self._chain.newest()
        self._chain.check(offset.table)
        # Another program may have overwritten versions that the next commit brings back.
        while newest.number > offset.done.number:
            target = offset.next or newest
            added = self._chain.added(offset.done, target)
            count = _fitting(added[offset.packfiles :], most)
            offset = offset.advanced(target, offset.packfiles + count, len(added))
            if most is not None:
                break
        return offset.of(self._chain.table).encode()

    @hinted
    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:
        """Find the blocks between two offsets."""
        if not self._chain.table:
            self._chain.newest()
        added = self._between(StreamOffset.decode(start), StreamOffset.decode(end))
        objects, root = OpenObjects(), self._chain.root
        packs = [TablePackfile(root, descriptor.checked(), objects) for descriptor in added]
        blocks = chosen(packs, self._options)
        groups = grouped(blocks, self._options.partition_bytes, self._options.workers)
        _log.info("%d packfiles in %d partitions", len(packs), len(groups))
        return [BlockPartition(group, len(packs), len(blocks)) for group in groups]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Read the rows of a partition."""
        parts = partition.parts if isinstance(partition, BlockPartition) else ()
        return scan.batches(parts, self._schema, self._options)

    def _between(self, start: StreamOffset, end: StreamOffset) -> list[Descriptor]:
        """Return the packfiles between two offsets, as :meth:`latestOffset` counts them."""
        start = start.begun_as(end)
        self._chain.check(end.table)
        if start.next is not None and (start.done, start.next) == (end.done, end.next):
            both = self._chain.added(start.done, start.next)
            return list(both[start.packfiles : end.packfiles])
        descriptors: list[Descriptor] = []
        done = start.done
        if start.next is not None:
            descriptors += self._chain.added(done, start.next)[start.packfiles :]
            done = start.next
        descriptors += self._chain.added(done, end.done)
        if end.next is not None:
            descriptors += self._chain.added(end.done, end.next)[: end.packfiles]
        return descriptors


def _fitting(added: Sequence[Descriptor], most: int | None) -> int:
    """Count the packfiles that fit into a batch, at least one."""
    left = most
    for count, descriptor in enumerate(added):
        if left is None or most is None:
            break
        rows = most if descriptor.rows is None else descriptor.rows
        if rows > left and count:
            return count
        left -= rows
    return len(added)
