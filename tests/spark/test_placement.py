from __future__ import annotations

from collections import Counter
from itertools import pairwise

import pytest

from sdb.spark.read.partitions import BlockRef, FilePart, grouped
from sdb.spark.read.placement import block_etag, owner, slots

BLOCKS = [block_etag('"9b2cf535f27731c974343645a3985328-4"', at << 20) for at in range(5000)]


def test_each_worker_gets_its_share() -> None:
    shares = Counter(owner(block, slots(8)) for block in BLOCKS)
    assert set(shares) == set(slots(8))
    assert all(0.8 < share / (len(BLOCKS) / 8) < 1.2 for share in shares.values())


@pytest.mark.parametrize("count", [2, 3, 8, 20])
def test_a_new_worker_takes_its_share_and_nothing_else_moves(count: int) -> None:
    before = [owner(block, slots(count - 1)) for block in BLOCKS]
    after = [owner(block, slots(count)) for block in BLOCKS]
    moved = [new for old, new in zip(before, after, strict=True) if old != new]
    assert set(moved) == {slots(count)[-1]}
    assert 0.8 < len(moved) / (len(BLOCKS) / count) < 1.2


def test_the_order_of_workers_does_not_matter() -> None:
    names = ["b.example", "a.example", "c.example"]
    for block in BLOCKS[:100]:
        assert owner(block, names) == owner(block, sorted(names))


def test_blocks_of_another_version_have_other_names() -> None:
    assert len({block_etag(etag, at) for etag in ('"a"', '"b"') for at in (0, 1)}) == 4
    assert block_etag('"a"', 11) != block_etag('1-"a"', 1)


def test_without_workers_there_is_no_owner() -> None:
    with pytest.raises(ValueError, match="empty"):
        owner(BLOCKS[0], [])


def found(count: int) -> list[tuple[FilePart, BlockRef]]:
    files = [FilePart(f"{name}.zion", name, "zion+zstd", 1 << 20) for name in "ab"]
    return [
        (file, BlockRef(number, number * 1000, number * 1000 + 1000, 50))
        for file in files
        for number in range(count)
    ]


@pytest.mark.parametrize("workers", [0, 1, 3])
def test_partitions_have_each_block_once(workers: int) -> None:
    blocks = found(40)
    groups = grouped(blocks, 128 << 20, workers)
    flat = [(part.path, block) for group in groups for part in group for block in part.blocks]
    assert len(flat) == len(blocks)
    assert set(flat) == {(file.path, block) for file, block in blocks}
    for group in groups:
        assert sum(len(part.blocks) for part in group) <= 2
        for part in group:
            assert all(item.number < other.number for item, other in pairwise(part.blocks))
    assert groups == grouped(blocks, 128 << 20, workers)


def test_a_partition_is_of_one_worker_and_workers_take_turns() -> None:
    names = slots(3)
    groups = grouped(found(40), 128 << 20, 3)
    owners = []
    for group in groups:
        owned = {
            owner(block_etag(part.version, block.start), names)
            for part in group
            for block in part.blocks
        }
        assert len(owned) == 1
        owners += owned
    assert owners[:9] == names * 3


def test_a_block_above_the_limit_is_a_partition() -> None:
    assert len(grouped(found(3), 1)) == 6
