"""Which packfiles have statistics: those that somebody asks, and none that nobody gains from."""

from __future__ import annotations

import random
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import sdb
from sdb.packfile.build.newstats import FEW_BLOCKS, SMALL_BYTES
from sdb.packfile.rewrite import merge
from sdb.packfile.trailer.blockstats import TEXTS, ZONES
from sdb.table.catalog.root import table_root
from sdb.table.maintenance.compact import compact_table
from sdb.table.packfiles import lazy

if TYPE_CHECKING:
    from sdb.packfile.trailer.blockstats import BlockStatistics

TESTDATA = Path(__file__).parents[2] / "testdata"
ORIGINAL = {
    "parking2": 8_312,
    "cloudtrail_stratus": 264_745,
    "winevents_sample": 231_955,
    "cloudtrail_sneller": 82_530,
    "nginxplus": 57_889,
    "gh2021_800": 319_775,
    "wikiticker_20k": 892_094,
    "nyc_taxi": 306_181,
    "gh2015_1k": None,
}
"""Bytes of the original's packfiles of the same rows, as `benchmarks/size.py` has them."""

MOST = 1.02
"""Of small packfiles the extension and the digests of blocks count."""

PART = 3_500
"""How many rows take about 300 KB."""


def rows(first: int, count: int = PART) -> list[dict[str, Any]]:
    """Make rows with random ids, so many that nothing makes them much smaller."""
    dice = random.Random(first)
    return [
        {"n": item, "id": dice.randbytes(12).hex(), "pad": dice.randbytes(60).hex()}
        for item in range(first, first + count)
    ]


def packed(path: Path, *options: Any, **named: Any) -> Path:
    sdb.pack(*options, path, **named)
    return path


def statistics(path: Path) -> BlockStatistics | None:
    with sdb.open(path) as pack:
        return pack.trailer.sparse.statistics()


def blocks_read(path: Path, condition: str) -> tuple[int, int]:
    """Count the rows of an answer and the blocks that were read for it."""
    with sdb.sql(f"SELECT n FROM read_file('{path}') WHERE {condition}") as result:
        return len(list(result)), result.reading.blocks


@pytest.mark.filterwarnings("ignore:3 times have digits beyond microseconds")
@pytest.mark.parametrize("name", ORIGINAL)
def test_samples_have_no_statistics_that_nobody_gains_from(tmp_path: Path, name: str) -> None:
    (source,) = TESTDATA.glob(f"{name}.json.*")
    auto = packed(tmp_path / "auto.zion", source)
    assert statistics(auto) is None
    size = auto.stat().st_size
    assert size == packed(tmp_path / "off.zion", source, stats="off").stat().st_size
    assert size <= MOST * (ORIGINAL[name] or size)
    assert blocks_read(auto, "nowhere = 1")[0] == 0


def test_who_asks_and_who_writes_agree_on_what_is_small() -> None:
    assert SMALL_BYTES == lazy.MOST_PLAIN_BYTES


def test_one_block_that_is_not_small_can_be_left_out(tmp_path: Path) -> None:
    path = packed(tmp_path / "a.zion", rows(0, 6 * PART), block_bytes=50 << 20)
    with sdb.open(path) as pack:
        assert len(pack.blocks) == 1
        assert pack.trailer.offset > SMALL_BYTES
    assert blocks_read(path, "id = 'ffff'") == (0, 0)
    assert blocks_read(path, f"n = {7 * PART}") == (0, 0)


@pytest.mark.parametrize(("value", "is_known"), [("n", True), ("7", False)])
def test_few_blocks_have_statistics_that_tell_them_apart(
    tmp_path: Path, value: str, is_known: bool
) -> None:
    """Floats are alike in all blocks, and have no filters."""
    dice = random.Random(1)
    made = [
        {"n": n if value == "n" else int(value), "pad": [dice.random() for _ in range(20)]}
        for n in range(1000)
    ]
    path = packed(tmp_path / "a.zion", made, align_bytes=1 << 14, block_bytes=1 << 16)
    with sdb.open(path) as pack:
        assert 1 < len(pack.blocks) < FEW_BLOCKS
        assert pack.trailer.offset < SMALL_BYTES
    assert (statistics(path) is not None) is is_known
    assert blocks_read(path, f"n = {999 if is_known else 7}")[1] == (
        1 if is_known else len(pack.blocks)
    )


@pytest.mark.parametrize("stats", ["id", "auto,id", "n", "words:id", "prefixes:id"])
def test_what_is_asked_for_is_written(tmp_path: Path, stats: str) -> None:
    path = packed(tmp_path / "a.zion", rows(0, 100), stats=stats)
    assert statistics(path) is not None
    if "words" not in stats and "prefixes" not in stats:
        assert blocks_read(path, "id = 'ffff'")[1] == (1 if stats == "n" else 0)
    # It goes on, however small the packfile is.
    sdb.append(path, rows(100, 100))
    actual = statistics(path)
    assert actual is not None
    assert actual.paths
    sdb.concat([path], tmp_path / "b.zion")
    assert statistics(tmp_path / "b.zion") is not None


def check_large(path: Path, count: int) -> None:
    """Look for ids of each part, and for one that is not there."""
    assert sdb.validate(path).ok
    actual = statistics(path)
    assert actual is not None
    assert {(("id",), TEXTS), (("n",), ZONES)} <= actual.sizes.keys()
    with sdb.open(path) as pack:
        blocks = len(pack.blocks)
    for part in range(count):
        wanted = rows(part * PART)[5]["id"]
        assert blocks_read(path, f"id = '{wanted}'")[0] == 1
    assert blocks_read(path, "id = 'ffff'") == (0, 0)
    assert blocks_read(path, f"n = {count * PART}") == (0, 0)
    assert blocks_read(path, f"n = {count * PART - 1}") == (1, 1)
    assert blocks >= 1


@pytest.mark.parametrize("block_bytes", [1 << 20, 100 << 20])
def test_a_packfile_that_grows_knows_its_first_rows_too(tmp_path: Path, block_bytes: int) -> None:
    path = packed(tmp_path / "a.zion", rows(0), block_bytes=block_bytes, align_bytes=1 << 17)
    assert statistics(path) is None
    for part in range(1, 5):
        sdb.append(path, rows(part * PART), block_bytes=block_bytes)
    check_large(path, 5)


def test_packfiles_that_are_joined_know_all_rows(tmp_path: Path) -> None:
    parts = [packed(tmp_path / f"{part}.zion", rows(part * PART)) for part in range(5)]
    assert [statistics(part) for part in parts] == [None] * 5
    sdb.concat(parts, tmp_path / "all.zion")
    check_large(tmp_path / "all.zion", 5)
    with sdb.open(tmp_path / "all.zion") as pack:
        assert len(pack.blocks) == 5
    wanted = rows(3 * PART)[5]["id"]
    assert blocks_read(tmp_path / "all.zion", f"id = '{wanted}'") == (1, 1)
    sdb.concat(parts[:2], tmp_path / "two.zion")
    # Where statistics tell the blocks of a small packfile apart, they are worth their bytes.
    wanted = rows(PART)[5]["id"]
    assert blocks_read(tmp_path / "two.zion", f"id = '{wanted}'") == (1, 1)


@pytest.mark.parametrize("few_chunks", [merge.FEW_CHUNKS, 1])
def test_tables_that_are_compacted_know_all_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, few_chunks: int
) -> None:
    """Blocks with more chunks are joined without being packed again."""
    monkeypatch.setattr(merge, "FEW_CHUNKS", few_chunks)
    db = sdb.connect(tmp_path)
    db.create("d.t", "in/*.json")
    parts = 10
    for part in range(parts):
        db.append("d.t", rows(part * PART))
    compact_table(table_root(tmp_path), "d", "t")
    (path,) = [item for item in (tmp_path / "db/d/t").rglob("*.zion") if is_whole(item, parts)]
    check_large(path, parts)


def is_whole(path: Path, parts: int) -> bool:
    with sdb.open(path) as pack:
        return pack.trailer.rows == parts * PART
