"""Hot paths of the metadata, in Python: ``pytest benchmarks``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sdb.packfile.trailer.sparseindex import SparseIndex
from sdb.packfile.trailer.timeindex import TimeIndex
from sdb.packfile.trailer.trailer import Block, Trailer

if TYPE_CHECKING:
    from pytest_benchmark.fixture import BenchmarkFixture

BLOCKS = 20_000
SECOND = 1_000_000


def jittered() -> TimeIndex:
    """An index of blocks that overlap their neighbours."""
    index = TimeIndex()
    for i in range(BLOCKS):
        index.push((i - i * 7919 % 7) * SECOND, (i + i * 104_729 % 11) * SECOND)
    return index


def trailer() -> Trailer:
    blocks = tuple(Block(i * 7_000_000 + i * 31 % 1009, 50) for i in range(BLOCKS))
    sparse = SparseIndex(blocks=BLOCKS, constants={}, indices={("created_at",): jittered()})
    offset = blocks[-1].offset + 7_000_000
    return Trailer(
        version=1,
        offset=offset,
        algorithm="zion+zstd",
        block_shift=20,
        blocks=blocks,
        sparse=sparse,
    )


def test_push(benchmark: BenchmarkFixture) -> None:
    assert benchmark(jittered).blocks == BLOCKS


def test_lookup(benchmark: BenchmarkFixture) -> None:
    index = jittered()
    times = range(0, BLOCKS * SECOND, 10 * SECOND)
    benchmark(lambda: [(index.start(time), index.end(time)) for time in times])


def test_trailer_encode(benchmark: BenchmarkFixture) -> None:
    benchmark(trailer().encode)


def test_trailer_decode(benchmark: BenchmarkFixture) -> None:
    encoded = trailer().encode()[:-4]
    assert len(benchmark(Trailer.decode, encoded).blocks) == BLOCKS
