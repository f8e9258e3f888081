"""Scans of local files read the parts of blocks that they need, on the threads that need them."""

from __future__ import annotations

import json
import os
import random
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import sdb
from sdb import _core
from sdb.errors import CorruptError
from sdb.query.catalog.tablescan import PackfileScan

if TYPE_CHECKING:
    from pathlib import Path

    from sdb.packfile.read.reader import Packfile

ALGORITHMS = ["zion+zstd", "zion+iguana_v0", "zion+iguana_v0/specialized", "zstd"]
LANES: list[Any] = [(0, ["n"], "x"), (0, ["deep", "name"], "s"), (0, [], "j"), (0, [], "r")]
SMALL: list[Any] = [(0, ["n"], "x")]
ROWS = 3000


def packed(folder: Path, algorithm: str = "zion+zstd", *, align_bytes: int = 4096) -> Path:
    """Rows whose names change all the time, most of them in one field of noise."""
    source, target = folder / "rows.json", folder / "rows.zion"
    noise = random.Random(7)
    with source.open("w") as file:
        for n in range(ROWS):
            row = {"n": n, "deep": {"name": f"v{n % 50}"}, f"only{n // 9}": n, "more": [n, None]}
            file.write(json.dumps(row | {"noise": noise.randbytes(60).hex()}) + "\n")
    sdb.pack([source], target, algorithm=algorithm, block_bytes=64 << 10, align_bytes=align_bytes)
    return target


def held(pack: Packfile) -> list[Any]:
    """The same source with blocks in memory."""
    chunks = [block.chunks for block in pack.blocks]
    trailer = pack.trailer
    return [(pack.read_block, chunks, trailer.algorithm, trailer.align_bytes, pack.blame)]


def stored(pack: Packfile) -> list[Any]:
    return [PackfileScan(pack, ((0, len(pack.blocks)),)).source()]


def outcome(sources: list[Any], lanes: list[Any], **more: Any) -> pa.Table | str:
    """Return the rows, or what is wrong with them."""
    scan = _core.LaneScan(sources, lanes, threads=4, **more)
    try:
        return pa.table(scan)
    except OSError:
        assert isinstance(scan.failure, CorruptError)
        return str(scan.failure)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_files_and_memory_give_the_same(tmp_path: Path, algorithm: str) -> None:
    with sdb.open(packed(tmp_path, algorithm)) as pack:
        assert len(pack.blocks) > 2
        assert pack.blocks[0].chunks > 8
        for lanes in (LANES, SMALL):
            for more in ({}, {"limit": 700}, {"predicate": ("cmp", ["n"], ">", ("x", 2500))}):
                assert outcome(stored(pack), lanes, **more) == outcome(held(pack), lanes, **more)
        assert _core.LaneScan(stored(pack), []).count() == ROWS


def test_only_needed_bytes_are_read(tmp_path: Path) -> None:
    with sdb.open(packed(tmp_path, align_bytes=64 << 10)) as pack:
        whole = sum(
            stop - start for start, stop in map(pack.trailer.block_range, range(len(pack.blocks)))
        )
        some = _core.LaneScan(stored(pack), SMALL)
        assert pa.table(some).column(0).to_pylist() == list(range(ROWS))
        assert some.stats[0] == len(pack.blocks)
        assert some.stats[1] < whole // 4
        every = _core.LaneScan(stored(pack), [(0, ["noise"], "s")])
        pa.table(every)
        assert whole // 2 < every.stats[1] < whole * 1.2
        shapes = _core.LaneScan(stored(pack), [])
        assert shapes.count() == ROWS
        assert shapes.stats[1] < whole // 6


def test_damage_beside_what_is_read_does_not_matter(tmp_path: Path) -> None:
    path = packed(tmp_path, align_bytes=64 << 10)
    with sdb.open(path) as pack:
        blocks = [pack.trailer.block_range(number) for number in range(len(pack.blocks))]
    data = bytearray(path.read_bytes())
    start, stop = blocks[1]
    lengths = segments(data, start)
    biggest = max(lengths, key=lengths.__getitem__)
    data[biggest + 20 : biggest + 40] = bytes(20)
    path.write_bytes(data)
    with sdb.open(path) as pack:
        assert outcome(stored(pack), SMALL).column(0).to_pylist() == list(range(ROWS))
        reported = outcome(stored(pack), [(0, ["noise"], "s")])
    assert isinstance(reported, str)
    assert reported.startswith(f"{path}: block 1 at byte ")
    assert start <= int(reported.split("at byte ")[1].split(":")[0].replace(",", "")) < stop


def segments(data: bytes, frame: int) -> dict[int, int]:
    """Return the places of the segments of a chunk, and their lengths."""
    at, results = frame + 5 + 8, {}
    for _ in range(17):
        length = int.from_bytes(data[at : at + 3], "little")
        results[at + 3] = length
        at += 3 + length
    return results


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_damage_is_told_as_for_bytes_in_memory(tmp_path: Path, algorithm: str) -> None:
    path = packed(tmp_path, algorithm)
    good = path.read_bytes()
    with sdb.open(path) as pack:
        end = pack.trailer.offset
    chance = random.Random(11)
    for _ in range(40):
        data, at = bytearray(good), chance.randrange(end)
        length = chance.choice([1, 30, 3000])
        data[at : min(end, at + length)] = chance.randbytes(min(end, at + length) - at)
        path.write_bytes(data)
        with sdb.open(path) as pack:
            lanes = chance.choice([LANES, SMALL])
            reported = outcome(stored(pack), lanes)
        # The digest of a whole block would be compared before its frames are looked at.
        with sdb.open(path, verify=False) as pack:
            assert reported == outcome(held(pack), lanes)


def test_a_file_that_became_shorter(tmp_path: Path) -> None:
    path = packed(tmp_path)
    with sdb.open(path) as pack:
        start, stop = pack.trailer.block_range(1)
        os.truncate(path, (start + stop) // 2)
        reported = outcome(stored(pack), SMALL)
        assert isinstance(reported, str)
        assert reported.startswith(f"{path}: block 1 at byte ")
        with pytest.raises(CorruptError, match="the file ends before the block does"):
            _core.LaneScan(stored(pack), []).count()


def test_the_file_may_be_closed_once_blocks_are_on_their_way(tmp_path: Path) -> None:
    path = packed(tmp_path)
    pack = sdb.open(path)
    stream = pa.RecordBatchReader.from_stream(_core.LaneScan(stored(pack)[:1], SMALL, threads=1))
    first = stream.read_next_batch().column(0).to_pylist()
    path.unlink()
    rest = [n for batch in stream for n in batch.column(0).to_pylist()]
    assert first + rest == list(range(ROWS))
    pack.close()
    with pytest.raises(ValueError, match="closed"):
        _core.LaneScan(stored(pack), []).count()
