"""What is read to find the first rows in an order."""

from __future__ import annotations

import json
import random
import threading
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import sdb
from sdb import _core, instants
from sdb.errors import CorruptError, UsageError
from sdb.query.result.reading import facts
from tests.engines import Answers
from tests.unit.test_lanes import sources
from tests.unit.test_reader import make
from tests.unit.test_sql_native import few

if TYPE_CHECKING:
    from pathlib import Path

    from sdb.query.result.result import Result

COUNT = 4000
LATEST = "SELECT * FROM 't.zion' ORDER BY at DESC LIMIT 10"


def rows() -> list[dict[str, Any]]:
    """A row for each second, in order."""
    return [
        {"id": at, "at": instants.text(at * 1_000_000), "s": f"{at:05}", "w": f"{at} " * 9}
        for at in range(COUNT)
    ]


def asked(query: str, root: Path, **more: Any) -> tuple[list[Any], Result]:
    with sdb.sql(query, root=str(root), **more) as result:
        return [json.loads(line) for line in b"".join(result.lines()).splitlines()], result


@pytest.mark.parametrize("algorithm", ["zion+zstd", "zstd", "zion+iguana_v0"])
@pytest.mark.parametrize(
    ("query", "expected", "most"),
    [
        (LATEST, range(COUNT - 1, COUNT - 11, -1), 1),
        ("SELECT id FROM 't.zion' ORDER BY at, s DESC LIMIT 3 OFFSET 2", range(2, 5), 33),
        ("SELECT id FROM 't.zion' WHERE id < 500 ORDER BY at DESC LIMIT 1", [499], 32),
        (
            "SELECT id FROM 't.zion' WHERE at < `1970-01-01T00:01:00Z` ORDER BY at DESC LIMIT 1",
            [59],
            1,
        ),
        ("SELECT id FROM 't.zion' ORDER BY at LIMIT 0", [], 0),
        ("SELECT id FROM 't.zion' ORDER BY s DESC LIMIT 1", [COUNT - 1], 33),
        ("SELECT id FROM 't.zion' ORDER BY s DESC, at LIMIT 1", [COUNT - 1], 33),
    ],
)
def test_few_blocks_are_read(
    tmp_path: Path, algorithm: str, query: str, expected: list[int], most: int
) -> None:
    make(tmp_path / "t.zion", rows(), algorithm=algorithm)
    actual, result = asked(query, tmp_path)
    assert [row["id"] for row in actual] == list(expected)
    reading = result.reading
    assert reading.all_blocks >= 33
    assert reading.blocks == (reading.all_blocks if most == 33 else most)
    actual, result = asked(query, tmp_path, prune=False)
    assert [row["id"] for row in actual] == list(expected)
    assert result.reading.blocks == result.reading.all_blocks


@pytest.mark.parametrize(
    ("stray", "order", "is_enough"),
    [
        ({}, "DESC", True),
        ({"at": None}, "DESC", True),
        ({"at": None}, "DESC NULLS FIRST", False),
        ({"at": 1}, "DESC", True),
        ({"at": True}, "DESC", True),
        ({"at": "x"}, "DESC", False),
        ({"at": [1]}, "DESC", True),
        ({"at": {"k": 1}}, "DESC", True),
        ({"at": None}, "ASC", True),
        ({"at": None}, "ASC NULLS FIRST", False),
        ({"at": 1}, "ASC", False),
        ({"at": True}, "ASC", False),
        ({"at": "x"}, "ASC", True),
        ({"at": [1]}, "ASC", True),
    ],
)
@pytest.mark.parametrize("where", ["", " WHERE at > `1960-01-01T00:00:00Z`"])
def test_values_in_front_of_times_are_looked_for(
    tmp_path: Path, stray: dict[str, Any], order: str, is_enough: bool, where: str
) -> None:
    made = rows()
    made[0 if "DESC" in order else -1] |= stray
    make(tmp_path / "t.zion", made)
    query = f"SELECT id, at FROM 't.zion'{where} ORDER BY at {order} LIMIT 3"
    actual, result = asked(query, tmp_path)
    of_engine = Answers(tmp_path, query).lines(native=False)
    assert actual == [json.loads(line) for line in of_engine]
    is_enough = is_enough or (bool(where) and "FIRST" not in order)
    assert (result.reading.blocks < 3) is is_enough


def test_other_fields_are_decompressed_for_the_rows_that_come_out(tmp_path: Path) -> None:
    with sdb.open(make(tmp_path / "t.zion", rows())) as pack:
        argument = [
            (pack.place_block, [block.chunks for block in pack.blocks], "zion+zstd", 4096, None)
        ]
        keys = _core.LaneScan(argument, [(0, ["s"], "t")])
        numbers, blocks = keys.first([(0, True, False)], 3, [[None] * len(pack.blocks)]) or ([], [])
        assert len(blocks) == len(pack.blocks)
        whole = _core.LaneScan(argument, [(0, [], "j"), (0, ["id"], "x"), (0, [], "r")])
        table = pa.table(whole.pick(numbers))
        assert table["c1"].to_pylist() == [COUNT - 1, COUNT - 2, COUNT - 3]
        assert table["c2"].to_pylist() != sorted(numbers)
        assert whole.stats[0] == 1
        assert whole.stats[1] * 20 < sum(
            stop - start for start, stop in map(pack.trailer.block_range, range(len(pack.blocks)))
        )
        everything = pa.table(whole)
        assert everything.num_rows == COUNT
        # Whatever is asked for comes in that order.
        some = everything["c2"].to_pylist()[::-97]
        picked = pa.table(whole.pick(some))
        assert picked["c1"].to_pylist() == list(range(COUNT))[::-97]
        assert pa.table(whole.pick([])).num_rows == 0


@pytest.mark.parametrize("algorithm", ["zion+zstd", "zstd"])
def test_rows_are_picked_from_large_blocks(tmp_path: Path, algorithm: str) -> None:
    """Several threads work on a block, each on a run of its chunks, and hand on names of fields."""
    noise = random.Random(5)
    source, target = tmp_path / "t.json", tmp_path / "t.zion"
    with source.open("w") as file:
        for n in range(3000):
            row = {"n": n, f"only{n // 9}": n, "noise": noise.randbytes(2500).hex()}
            file.write(json.dumps(row) + "\n")
    sdb.pack([source], target, algorithm=algorithm)
    with sdb.open(target) as pack:
        assert sum(block.chunks for block in pack.blocks) > 12
        assert len(pack.blocks) < 3
        lanes: list[Any] = [(0, ["n"], "x"), (0, [], "j"), (0, [], "r")]
        scan = _core.LaneScan(sources(pack), lanes, threads=3)
        everything = pa.table(scan)
        for count in (1, 2, 5, 300, 3000):
            for first in (0, 1500, 2999):
                places = [first, *noise.sample(range(3000), count)] if count < 3000 else range(3000)
                places = list(dict.fromkeys(places))
                expected = everything.take(places)
                assert pa.table(scan.pick(expected["c2"].to_pylist())) == expected


def test_lanes_of_any_type_are_put_in_order(tmp_path: Path) -> None:
    tagged = [{"id": at, "tags": [at, at * 2][: at % 3]} for at in range(50)]
    with sdb.open(make(tmp_path / "t.zion", tagged)) as pack:
        scan = _core.LaneScan(sources(pack), [(0, ["tags"], "l"), (0, ["id"], "x")])
        whole = pa.table(scan)
        assert whole["c0"][11].is_valid
        assert pa.table(scan.pick([7, 3, 11])) == whole.take([7, 3, 11])


def test_nonsense_is_refused(tmp_path: Path) -> None:
    with sdb.open(make(tmp_path / "t.zion", rows()[:500])) as pack:
        scan = _core.LaneScan(sources(pack), [(0, ["id"], "x")])
        bounds = [[None] * len(pack.blocks)]
        for wrong in [[], [[]], [bounds[0][1:]], [*bounds, [7]]]:
            with pytest.raises(UsageError):
                scan.first([(0, False, False)], 3, wrong)
        with pytest.raises(UsageError):
            scan.first([(1, False, False)], 3, bounds)
        for numbers in [[-1], [1 << 60], [4095], [0, 1, 0]]:
            with pytest.raises(UsageError):
                scan.pick(numbers)
        unnested = _core.LaneScan(sources(pack), [(1, [], "t")], explode=[(0, [], "struct")])
        with pytest.raises(UsageError):
            unnested.first([(0, False, False)], 3, bounds)


@pytest.mark.parametrize(
    "query", ["SELECT * FROM 't.zion' ORDER BY {}", "SELECT id FROM 't.zion' ORDER BY {}"]
)
@pytest.mark.parametrize("key", ["id", "w"])
def test_the_engine_finds_rows_that_take_much_memory(tmp_path: Path, query: str, key: str) -> None:
    long = [row | {"w": row["w"] * 9} for row in rows()]
    make(tmp_path / "t.zion", long)
    query = query.format(f"{key} LIMIT 3000")
    enough, nobody = few(query, tmp_path, 1 << 24)
    little, engines = few(query, tmp_path, 1 << 14)
    assert (nobody, engines) == ([], ["engine"])
    assert len(enough) == 3000
    assert enough == little


def test_damage_is_met_only_where_it_is_read(tmp_path: Path) -> None:
    path = make(tmp_path / "t.zion", rows())
    with sdb.open(path) as pack:
        start, end = pack.trailer.blocks[2].offset, pack.trailer.blocks[3].offset
    data = bytearray(path.read_bytes())
    data[start + 40 : end] = bytes(end - start - 40)
    path.write_bytes(data)
    assert [row["id"] for row in asked(LATEST, tmp_path)[0]] == list(
        range(COUNT - 1, COUNT - 11, -1)
    )
    with pytest.raises(CorruptError, match="block 2"):
        asked(LATEST, tmp_path, prune=False)


def test_the_order_of_blocks_is_explained(tmp_path: Path) -> None:
    make(tmp_path / "t.zion", rows())
    with sdb.sql(LATEST, root=str(tmp_path)) as result:
        assert facts(result)["order"] == "from the latest at on, as many as 10 rows need"
        assert result.reading.blocks == result.reading.all_blocks
    with sdb.sql("SELECT * FROM 't.zion' ORDER BY s LIMIT 2", root=str(tmp_path)) as result:
        assert not facts(result)["order"]
    plan = asked(f"EXPLAIN {LATEST} OFFSET 5", tmp_path)[0][0]["plan"]
    assert "FIRST 10 OFFSET 5 BY at DESC NULLS LAST\n  THEN READ *\n" in plan


def test_another_thread_stops_it(tmp_path: Path) -> None:
    make(tmp_path / "t.zion", rows())
    with sdb.sql(LATEST, root=str(tmp_path), threads=1) as result:
        stopper = threading.Thread(target=result.interrupt)
        stopper.start()
        stopper.join()
        with pytest.raises(KeyboardInterrupt):
            list(result.lines())
