"""Structured Streaming: the rows that packfiles get, each one once.

The offset of a stream says for each packfile how many of its rows have been read. A micro-batch is
the rows between two offsets, and they are the same whenever it is run, however much the files have
grown meanwhile; with the checkpoint of Spark, that is exactly once.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass

from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    ReadMaxRows,
    SupportsTriggerAvailableNow,
)

from sdb.errors import NotFoundError, UsageError
from sdb.packfile.read.reader import open_packfile
from sdb.spark.read import scan
from sdb.spark.read.listing import listed
from sdb.spark.read.rowranges import RowRange, RowsRead, row_count

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

    import pyarrow as pa
    from pyspark.sql.types import StructType

    from sdb.packfile.read.reader import Packfile
    from sdb.spark.options.settings import ReadOptions

_FILES = "files"
_log = logging.getLogger("sdb.spark")


@dataclass(frozen=True)
class RowsPartition(InputPartition):
    """Rows that one task reads."""

    rows: RowRange  # the rows


class ZionStreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Follows packfiles that grow, and new ones."""

    def __init__(self, schema: StructType, options: ReadOptions) -> None:
        if options.since or options.until or options.time_field:
            raise UsageError("a stream has no since, until or timeField", hint="filter its rows")
        self._schema = schema
        self._options = options
        self._last: dict[str, RowsRead] | None = None
        scan.columns(schema, options)

    def initialOffset(self) -> dict[str, Any]:  # noqa: N802 - Spark's name
        """Begin before the first row."""
        return _encoded({})

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802 - Spark's name
        """Return the limit of the options."""
        most = self._options.max_rows
        return ReadAllAvailable() if most is None else ReadMaxRows(most)

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802 - Spark's name
        """Record the rows that there are now: later ones are not read."""
        self._last = {path: RowsRead.of(pack, row_count(pack)) for path, pack in self._packs()}

    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:  # noqa: N802
        """Count the rows that there are, up to a maximum above those at the start."""
        read = _decoded(start)
        latest: dict[str, RowsRead] = {}
        for path, pack in self._packs():
            if path in read:
                read[path].check(pack)
            if self._last is None:
                before = read[path].rows if path in read else 0
                if (total := row_count(pack)) > before:
                    latest[path] = RowsRead.of(pack, total)
            elif path in self._last:
                latest[path] = self._last[path]
        return _encoded(_advanced(read, latest, limit))

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:
        """Find the rows between two offsets."""
        read = _decoded(start)
        partitions: list[InputPartition] = []
        for path, progress in _decoded(end).items():
            first = read[path].rows if path in read else 0
            if progress.rows > first:
                rows = RowRange(path, first, progress.rows, progress)
                with rows.open() as pack:
                    parts = rows.split(pack, self._options.partition_bytes)
                    partitions += [RowsPartition(part) for part in parts]
        _log.info("%d partitions", len(partitions))
        return partitions

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Read the rows of a partition."""
        if not isinstance(partition, RowsPartition):
            return iter(())
        return scan.rows(partition.rows, self._schema, self._options)

    def _packs(self) -> Iterator[tuple[str, Packfile]]:
        """Open the packfiles that there are, one after the other."""
        try:
            paths = listed(self._options.paths, self._options.files)
        except NotFoundError:
            return
        for path in paths:
            with open_packfile(path) as pack:
                yield path, pack


def _advanced(
    read: dict[str, RowsRead], latest: dict[str, RowsRead], limit: ReadLimit
) -> dict[str, RowsRead]:
    """Go on from an offset towards another, by a maximum number of rows."""
    offset = dict(read)
    most = limit.max_rows if isinstance(limit, ReadMaxRows) else None
    for path, progress in latest.items():
        before = read[path].rows if path in read else 0
        new = progress.rows - before
        if most is not None:
            new = min(new, most)
            most -= max(new, 0)
        if new > 0:
            offset[path] = RowsRead(before + new, progress.blocks, progress.mark)
    return offset


def _encoded(offset: dict[str, RowsRead]) -> dict[str, Any]:
    """Return an offset as Spark stores it: equal ones are equal texts."""
    return {_FILES: {path: offset[path].encode() for path in sorted(offset)}}


def _decoded(offset: dict[str, Any]) -> dict[str, RowsRead]:
    return {path: RowsRead.decode(value) for path, value in offset[_FILES].items()}
