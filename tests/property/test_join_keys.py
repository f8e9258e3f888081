"""Keys of one side of a join never take rows away: pruned answers are those of all blocks.

All of it: ``pytest tests/property/test_join_keys.py -m slow``.
"""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import pytest

import sdb
from sdb.errors import QueryError
from sdb.packfile.prune import inlist, prune
from sdb.query.plan import keyfilters
from sdb.query.run import joinkeys
from tests.blockmutations import JOIN_MUTATIONS
from tests.blockoracle import add_statistics
from tests.property.test_needles import NUMBERS, PLAIN, TEXTS, TIMES, mutant, value

if TYPE_CHECKING:
    from pathlib import Path

Rng = random.Random
PAD = "p" * 500
PATHS = ["x", "x", "x", "n.b", "y", "l[0]", "absent", "_row"]
JOINS = [
    "{a} AS a JOIN {b} AS b ON {on}",
    "{a} AS a, {b} AS b WHERE {on}",
    "{a} AS a LEFT JOIN {b} AS b ON {on}",
    "{a} AS a RIGHT JOIN {b} AS b ON {on}",
    "{a} AS a JOIN {b} AS b ON {on} LEFT JOIN {b} AS c ON c.x = a.x",
    "{a} AS a LEFT JOIN {b} AS c ON a.y = c.x JOIN {b} AS b ON {on}",
    "{a} AS a JOIN (SELECT x, n FROM {b} WHERE y IS NOT MISSING) AS b ON a.x = b.x",
    "{a} AS a WHERE a.x IN (SELECT x FROM {b})",
    "{a} WHERE x IN (SELECT n.b FROM {b} WHERE {own})",
    "{a} WHERE x IN (SELECT b.y FROM {b} AS b) AND y IN (SELECT z FROM {b})",
    "{a} AS a JOIN {b} AS b ON a.x < b.x",
    "{a} WHERE x IN (SELECT only FROM {b})",
    "{a} AS a WHERE NOT (a.x IN (SELECT x FROM {b}))",
    "{a} AS a WHERE a.x IN (SELECT x FROM {b}) OR a.y = 1",
    "{a} AS a LEFT JOIN {b} AS b ON a.x = b.x WHERE b.y = a.y",
    "(SELECT a.x AS x, b.y AS y, a.id AS id FROM {a} AS a JOIN {b} AS b ON {on}) AS a",
]


def rows(rng: Rng, kinds: list[list[Any]], blocks: int, each: int) -> list[dict[str, Any]]:
    """Make rows such that each block has few values."""
    made = []
    for block in range(blocks):
        pool = [rng.choice(rng.choice(kinds)) for _ in range(rng.choice([1, 2, 3]))]
        for number in range(each):
            row = {
                "x": value(rng, pool),
                "y": value(rng, pool),
                "n": {"b": value(rng, pool)},
                "l": [value(rng, pool) for _ in range(rng.randrange(3))],
            }
            remaining = {name: row[name] for name in row if rng.random() < 0.85}
            made.append({"id": block * each + number, "pad": PAD, **remaining})
    return made


def query(rng: Rng, folder: Path) -> str:
    a, b = (f"read_file('{folder / name}')" for name in rng.sample(["a.zion", "b.zion"], 2))
    on = f"a.{rng.choice(PATHS)} = b.{rng.choice(PATHS)}"
    if rng.random() < 0.3:
        on += f" AND {rng.choice(['a', 'b'])}.id < {rng.randrange(40)}"
    if rng.random() < 0.2:
        on = f"{on} AND b.{rng.choice(PATHS)} = a.{rng.choice(PATHS)}"
    own = rng.choice(["x IS NOT NULL", "y = 1", "id > 3", "x <> y"])
    source = rng.choice(JOINS).format(a=a, b=b, on=on, own=own)
    if " WHERE " not in source and rng.random() < 0.4:
        condition = rng.choice(["a.id > 5", "a.x IS NOT NULL", "a.y IS MISSING", "a.id % 2 = 0"])
        source += f" WHERE {condition}"
    return f"SELECT * FROM {source}"


def answer(text: str, *, prune: bool) -> tuple[list[str], int] | str:
    try:
        with sdb.sql(text, prune=prune, threads=1) as result:
            return sorted(map(repr, result)), result.reading.blocks
    except QueryError as error:
        return str(error)


def check(seed: int, folder: Path) -> tuple[int, int]:
    """Compare the answers of some queries; gives how many blocks were read, and all of them."""
    rng = Rng(seed)
    pools = [rng.choice(NUMBERS), rng.choice(TEXTS), rng.choice(TEXTS), TIMES, PLAIN]
    kinds = rng.sample(pools, rng.choice([1, 2, 5]))
    for name, blocks in (("a.zion", 8), ("b.zion", rng.choice([1, 3]))):
        path = folder / name
        made = rows(rng, kinds, blocks, 8)
        if name == "a.zion":  # in a query of b.zion inside of one of a.zion it is that of the row
            made = [row | {"only": row["x"]} if "x" in row else row for row in made]
        sdb.pack(made, path, block_bytes=4096, align_bytes=4096, overwrite=True, threads=1)
        add_statistics(path)
    read = everything = 0
    for _ in range(6):
        text = query(rng, folder)
        pruned, whole = answer(text, prune=True), answer(text, prune=False)
        if isinstance(pruned, str) or isinstance(whole, str):
            assert pruned == whole, (seed, text)
            continue
        assert pruned[0] == whole[0], (seed, text)
        read, everything = read + pruned[1], everything + whole[1]
    return read, everything


def run(seeds: range, folder: Path) -> None:
    read = everything = 0
    for seed in seeds:
        some, all_of_them = check(seed, folder)
        read, everything = read + some, everything + all_of_them
    assert read < 0.95 * everything  # else nothing is left out, and nothing proved


@pytest.fixture(params=[1, inlist.MOST_FILTERED])
def eager(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Allow any side to leave out blocks of the other one, with filters or without."""
    monkeypatch.setattr(joinkeys, "LEAST_TIMES", 0)
    monkeypatch.setattr(joinkeys, "_FEWEST_BLOCKS", 1)
    monkeypatch.setattr(joinkeys, "MOST_READ", 1)
    monkeypatch.setattr(inlist, "MOST_FILTERED", request.param)


@pytest.mark.usefixtures("eager")
def test_answers_are_those_of_all_blocks(tmp_path: Path) -> None:
    run(range(3), tmp_path)


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.usefixtures("eager")
def test_answers_are_those_of_all_blocks_often(tmp_path: Path) -> None:
    run(range(1000, 1150), tmp_path)


def is_wrong(seed: int, folder: Path) -> bool:
    try:
        check(seed, folder)
    except AssertionError:
        return True
    return False


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("name", JOIN_MUTATIONS)
def test_rules_made_wrong_change_answers(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module, old, new = JOIN_MUTATIONS[name]
    made = mutant(module, old, new)
    path, word = {
        inlist: (inlist, "rules_of_many"),
        keyfilters: (joinkeys, "key_filters"),
        joinkeys: (joinkeys, "with_join_keys"),
        prune: (prune, "_by_values"),
    }[module]
    for item in {made, joinkeys}:
        for bound, least in (("LEAST_TIMES", 0), ("_FEWEST_BLOCKS", 0), ("MOST_READ", 1)):
            monkeypatch.setattr(item, bound, least, raising=False)
    monkeypatch.setattr(path, word, getattr(made, word))
    assert any(is_wrong(seed, tmp_path) for seed in range(40))
