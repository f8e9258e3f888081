"""The first rows in an order are those that the engine finds, whatever is not read for it."""

from __future__ import annotations

import json
import random
from typing import TYPE_CHECKING, Any

import pytest

import sdb
from sdb import instants
from tests.amounts import usual
from tests.engines import Answers

if TYPE_CHECKING:
    from pathlib import Path

Rng = random.Random

BASE = 1_609_459_200_000_000
SECOND = 1_000_000
SCALARS = [None, True, False, 0, -7, 2.5, 1e300, 2**53 + 1, 2.0**53, "a", "", "é", "2021", "ab"]
NESTED = [[1], [], {"k": 1}, {}]
KEYS = ["at", "at", "at", "n.at", "s", "s", "v", "n", "n.v", "absent", "v[0]"]
DIRECTIONS = ["", " DESC", " NULLS LAST", " DESC NULLS LAST", " ASC NULLS FIRST"]
ITEMS = ["*", "*", "i, at", "n, s", "s AS x, v, n.v AS y, absent, i", "v[0], i"]
CONDITIONS = [
    "",
    "",
    " WHERE i < 60",
    " WHERE s = 'a' OR at IS NOT MISSING",
    " WHERE at >= `2021-01-01T00:00:05Z`",
    " WHERE at < `2021-01-01T00:00:30Z` AND NOT s IS NULL",
    " WHERE n.at BETWEEN `2021-01-01T00:00:03Z` AND `2021-01-01T00:00:20Z`",
    " WHERE at = `2021-01-01T00:00:05Z` OR s IN (1, 'a')",
    " WHERE i > 1000",
]


def moment(rng: Rng, at: float) -> str:
    return instants.text(BASE + int(at) * SECOND + rng.choice((0, 0, 1)))


def stray(rng: Rng) -> Any:
    return rng.choice(SCALARS if rng.random() < 0.8 else NESTED)


def table(rng: Rng, name: str) -> list[dict[str, Any]]:
    """Rows whose times go up, go down or neither, here and there none, or something else."""
    count = rng.randrange(120)
    spread = rng.choice([0, 0, 2, 1000])
    slope = rng.choice([0.1, 0.5, -0.5])
    missing = rng.choice([0, 0, 0.2])
    # Of all kinds, or of one that is in front of times or behind them.
    strays = rng.choice([[], [], SCALARS + NESTED, [None], [None], [1, True], ["a"], [[1]]])
    rows = []
    for i in range(count):
        row: dict[str, Any] = {"f": name, "i": i}
        if rng.random() >= missing:
            row["at"] = moment(rng, i * slope + rng.randint(0, spread))
            if strays and rng.random() < 0.05:
                row["at"] = rng.choice(strays)
        if rng.random() < 0.9:
            row["n"] = {"at": moment(rng, i * slope + rng.randint(0, 3)), "v": stray(rng)}
        if rng.random() < 0.9:
            row["s"] = rng.choice(["a", "b", 1, 1.5, True, None])
        if rng.random() < 0.7:
            row["v"] = stray(rng)
        rows.append(row)
    return rows


def pack(rng: Rng, folder: Path) -> list[str]:
    """Packfiles of many blocks."""
    names = ["a.zion", "b.zion"][: rng.choice([1, 1, 2])]
    for name in names:
        source = folder / "rows.json"
        source.write_text("".join(json.dumps(row) + "\n" for row in table(rng, name)))
        algorithm = rng.choice(["zion+zstd", "zion+zstd", "zstd", "zion+iguana_v0"])
        more = {"algorithm": algorithm, "block_bytes": rng.choice([512, 2048]), "align_bytes": 512}
        sdb.pack([source], folder / name, overwrite=True, threads=1, **more)
    return names


def query(rng: Rng, names: list[str]) -> tuple[str, str]:
    """A query, and the same where the order of all rows is given."""
    start = f"SELECT {rng.choice(ITEMS)} FROM "
    start += " ++ ".join(f"read_file('{name}')" for name in names) + rng.choice(CONDITIONS)
    terms = [rng.choice(KEYS) + rng.choice(DIRECTIONS) for _ in range(rng.choice([1, 1, 2, 3]))]
    end = f" LIMIT {rng.choice([0, 1, 3, 10, 10, 200])}"
    end += rng.choice(["", "", " OFFSET 1", " OFFSET 7"])
    order = " ORDER BY " + ", ".join(terms)
    # Rows that are equal stay as they stand.
    return start + order + end, f"{start}{order}, f, i{end}"


def agree(folder: Path, seed: int, count: int) -> int:
    """Compare answers; tell how many blocks were not read."""
    rng = Rng(seed)
    names = pack(rng, folder)
    left_out = 0
    for _ in range(count):
        asked, full = query(rng, names)
        typed, blind = rng.random() < 0.3, rng.random() < 0.2
        answers = Answers(folder, f"SET dialect = sneller; {asked}", typed=typed, blind=blind)
        assert answers.by_scans(), asked
        actual = answers.lines(native=True, threads=rng.choice([1, 2]))
        with sdb.sql(
            asked, root=str(folder), dialect="sneller", prune=False, typed=typed, threads=1
        ) as unpruned:
            everything = b"".join(unpruned.lines()).decode().splitlines()
            assert unpruned.reading.blocks == unpruned.reading.all_blocks
        assert actual == everything, (seed, asked)
        expected = Answers(folder, f"SET dialect = sneller; {full}", typed=typed).lines(
            native=False
        )
        assert actual == expected, (seed, asked)
        with sdb.sql(asked, root=str(folder), dialect="sneller") as pruned:
            planned = pruned.reading.blocks
            list(pruned.lines())
            left_out += planned - pruned.reading.blocks
    return left_out


@pytest.mark.seeds
def test_first_rows_are_those_of_the_engine(tmp_path: Path) -> None:
    assert sum(agree(tmp_path, seed, 6) for seed in range(usual(25, 6))) > 0


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_many_first_rows_are_those_of_the_engine(tmp_path: Path) -> None:
    assert sum(agree(tmp_path, seed, 20) for seed in range(1000, 1400)) > 0
