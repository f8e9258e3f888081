"""The reader of the data source: from files and times to partitions."""

from __future__ import annotations

import logging
from dataclasses import dataclass

from pyspark.sql.datasource import DataSourceReader, InputPartition

from sdb.spark.read import scan
from sdb.spark.read.listing import listed, looked_at
from sdb.spark.read.partitions import FilePart, chosen, grouped
from sdb.spark.read.tablelisting import packs_of
from sdb.spark.session.hinted import hinted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    import pyarrow as pa
    from pyspark.sql.types import StructType

    from sdb.packfile.read.reader import Packfile
    from sdb.spark.options.namedtable import LoadedTable
    from sdb.spark.options.settings import ReadOptions

_log = logging.getLogger("sdb.spark")


@dataclass(frozen=True)
class BlockPartition(InputPartition):
    """Blocks that one task reads."""

    parts: tuple[FilePart, ...]  # the blocks, file by file
    # How many files there are, and how many blocks the query looked at, read or not
    files: int
    blocks: int


class ZionReader(DataSourceReader):
    """Reads packfiles."""

    def __init__(
        self, schema: StructType, options: ReadOptions, loaded: LoadedTable | None = None
    ) -> None:
        self._schema = schema
        self._options = options
        self._loaded = loaded
        # A column that cannot be is an error on the driver, not in each task.
        scan.columns(schema, options)

    @hinted
    def partitions(self) -> Sequence[InputPartition]:
        """Choose blocks and put them together."""
        options = self._options
        packs: Iterable[Packfile]
        if self._loaded is None:
            packs = looked_at(listed(options.paths, options.files), options.files.left_out)
            files = len(packs)
        else:
            packs, files, options = packs_of(self._loaded.handle(), options)
        counts: list[int] = []
        blocks = chosen(_counted(packs, counts), options)
        total = sum(counts)
        groups = grouped(blocks, self._options.partition_bytes, self._options.workers)
        _log.info(
            "%d of %d blocks of %d packfiles in %d partitions",
            len(blocks),
            total,
            files,
            len(groups),
        )
        return [BlockPartition(group, files, total) for group in groups] or [
            BlockPartition((), files, total)
        ]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Read the rows of a partition."""
        parts = partition.parts if isinstance(partition, BlockPartition) else ()
        return scan.batches(parts, self._schema, self._options)


def _counted(packs: Iterable[Packfile], counts: list[int]) -> Iterator[Packfile]:
    """Iterate over packfiles, and note how many blocks each has."""
    for pack in packs:
        counts.append(len(pack.blocks))
        yield pack
