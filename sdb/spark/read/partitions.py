"""Pruning for Spark: which blocks are read, and how they are put together to partitions."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain, islice, zip_longest

from sdb.spark.read import placement
from sdb.table.packfiles.lazy import TablePackfile

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from typing import Self, TypeAlias

    from sdb.packfile.read.reader import Packfile
    from sdb.packfile.trailer.trailer import Trailer
    from sdb.spark.options.settings import ReadOptions


_OPENERS = 16
_AT_ONCE = 256
TimeFilter: TypeAlias = tuple[tuple[str, ...], int | None, int | None]


@dataclass(frozen=True, slots=True)
class BlockRef:
    """A block of a packfile."""

    number: int  # its place among the blocks of the file, counted from 0
    # Where it is in the file, in bytes
    start: int
    stop: int
    chunks: int  # number of its chunks
    digest: bytes = b""  # its digest; empty when it is not known

    @classmethod
    def of(cls, trailer: Trailer, number: int) -> Self:
        """Find a block of a file."""
        start, stop = trailer.block_range(number)
        chunks, digest = trailer.blocks[number].chunks, trailer.sparse.digest(number)
        return cls(number, start, stop, chunks, digest)


@dataclass(frozen=True, slots=True)
class FilePart:
    """Blocks of one version of a packfile."""

    path: str  # path or URL of the file
    version: str  # see :meth:`sdb.store.base.Store.version`
    algorithm: str  # compression of its chunks
    align_bytes: int  # decompressed size of a chunk
    # Path of a time, the first that rows must have, and the first that they must not have
    time_filter: TimeFilter | None = None
    # Size of a packfile of a table, of which `version` is the ETag; 0: it is no table's
    size_bytes: int = 0
    blocks: tuple[BlockRef, ...] = ()  # the blocks, ascending

    @property
    def compressed_bytes(self) -> int:
        """Size of the blocks, as they are stored."""
        return sum(block.stop - block.start for block in self.blocks)


Blocks: TypeAlias = "list[tuple[FilePart, BlockRef]]"


def chosen(packs: Iterable[Packfile], options: ReadOptions) -> Blocks:
    """Return the blocks that can hold a row which is wanted.

    Returns: The blocks, in the order of the files, each with the part of its file.
    Raises `UsageError` if times are wanted, and it is not clear where they are.
    """
    blocks: Blocks = []
    left = iter(packs)
    with ThreadPoolExecutor(_OPENERS) as pool:
        # What is known of their blocks is read over a network of several files at a time.
        while batch := list(islice(left, _AT_ONCE)):
            is_far = len(batch) > 1 and any(pack.is_remote for pack in batch)
            choose = partial(_blocks, options=options)
            blocks += chain.from_iterable(pool.map(choose, batch) if is_far else map(choose, batch))
    return blocks


def _blocks(pack: Packfile, options: ReadOptions) -> Blocks:
    trailer = pack.trailer
    wanted = pack.select(since=options.since, until=options.until, time_field=options.time_field)
    times = (wanted.path, wanted.start_us, wanted.stop_us) if wanted.path else None
    version = pack.reader.version
    size_bytes = pack.size_bytes if isinstance(pack, TablePackfile) else 0
    file = FilePart(pack.path, version, trailer.algorithm, trailer.align_bytes, times, size_bytes)
    return [(file, BlockRef.of(trailer, number)) for number in wanted.blocks]


def grouped(blocks: Blocks, partition_bytes: int, workers: int = 0) -> list[tuple[FilePart, ...]]:
    """Put blocks together to partitions.

    * ``partition_bytes``: Decompressed size that a partition should not exceed; a block is never
      split.
    * ``workers``: Number of workers that blocks are assigned to; a partition then has blocks of one
      worker only, and partition i is one of worker ``i % workers`` as long as each has some left.
    """
    if workers < 1:
        return list(_cut(blocks, partition_bytes))
    names = placement.slots(workers)
    queues: dict[str, Blocks] = {name: [] for name in names}
    for file, block in blocks:
        etag = placement.block_etag(file.version, block.start)
        queues[placement.owner(etag, names)].append((file, block))
    turns = zip_longest(*(_cut(queue, partition_bytes) for queue in queues.values()))
    return [partition for turn in turns for partition in turn if partition is not None]


def _cut(blocks: Blocks, partition_bytes: int) -> Iterator[tuple[FilePart, ...]]:
    group: Blocks = []
    size_bytes = 0
    for file, block in blocks:
        block_bytes = block.chunks * file.align_bytes
        if group and size_bytes + block_bytes > partition_bytes:
            yield _parts(group)
            group, size_bytes = [], 0
        group.append((file, block))
        size_bytes += block_bytes
    if group:
        yield _parts(group)


def _parts(group: Sequence[tuple[FilePart, BlockRef]]) -> tuple[FilePart, ...]:
    """Join the blocks of each file."""
    files: dict[FilePart, list[BlockRef]] = {}
    for file, block in group:
        files.setdefault(file, []).append(block)
    return tuple(replace(file, blocks=tuple(numbers)) for file, numbers in files.items())
