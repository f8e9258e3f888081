"""Filters of prefixes never lose an address: texts much like addresses, and networks near them.

What is in a network is what the engine says of all rows. All of it:
``pytest tests/property/test_prefixes.py -m slow``.
"""

from __future__ import annotations

import inspect
import random
from ipaddress import IPv4Address
from typing import TYPE_CHECKING, Any

import pytest

import sdb
from sdb import _core, ion
from sdb.packfile.inspect.validate import validate
from sdb.packfile.prune import prune
from sdb.packfile.prune import rules as blockrules
from sdb.query.catalog import reduction
from tests.amounts import usual
from tests.blockmutations import PREFIX_MUTATIONS
from tests.blockoracle import prefixes
from tests.property.test_needles import Case as Condition
from tests.property.test_needles import (
    _executed,
    judged,
    literal,
    lost,
    mutant,
    share_left_out,
    stored,
    tree,
)

if TYPE_CHECKING:
    from pathlib import Path

Rng = random.Random

OCTETS = [0, 1, 7, 8, 9, 10, 63, 64, 99, 100, 127, 128, 192, 254, 255]
PATHS = ["x", "x", "x", "n.b", "l[0]", "m[0].b", "y"]
STATS = [
    "prefixes:x,prefixes:n.b,prefixes:l[],prefixes:m[].b",
    "prefixes:x,prefixes:n,n.b,y",
    "x,n.b,l[],y",
    "auto,prefixes:x,prefixes:y",
]
BLOCKS, ROWS = 10, 4


def near(rng: Rng, pool: list[int]) -> int:
    """Take an address, or one that begins like it."""
    return rng.choice(pool) ^ rng.getrandbits(32) >> rng.choice([0, 8, 16, 20, 24, 31, 32, 32])


def text(rng: Rng, pool: list[int]) -> str:
    """Write an address, rightly or not quite."""
    octets = list(map(str, near(rng, pool).to_bytes(4)))
    pick = rng.random()
    if pick < 0.5:
        return ".".join(octets)
    if pick < 0.75:
        return ".".join(octet.zfill(rng.choice([1, 2, 3])) for octet in octets)
    value = ".".join(octets)
    at = rng.randrange(len(value))
    return rng.choice(
        [
            value[:at] + rng.choice(" .0x-+\u0663") + value[at:],
            value[:at] + value[at + 1 :],
            value + rng.choice([" ", ":80", "/32", ".1", "\x00", "\n"]),
            "::ffff:" + value,
            octets[0].zfill(4) + value[len(octets[0]) :],
            ".".join([*octets[:3], "256"]),
            str(near(rng, pool)),
        ]
    )


def value(rng: Rng, pool: list[int]) -> Any:
    pick = rng.random()
    if pick < 0.85:
        return text(rng, pool)
    return rng.choice([None, 7, b"10.1.2.3", [text(rng, pool)], {"b": text(rng, pool)}, 10.1, True])


def row(rng: Rng, pool: list[int]) -> dict[str, Any]:
    made: dict[str, Any] = {
        "x": value(rng, pool),
        "y": value(rng, pool),
        "n": {"b": value(rng, pool)},
        "l": [value(rng, pool) for _ in range(rng.randrange(3))],
        "m": [{"b": value(rng, pool)} for _ in range(rng.randrange(3))],
    }
    return {name: made[name] for name in made if rng.random() < 0.8}


def packed(folder: Path, seed: int) -> tuple[Path, Path, list[int], list[str]]:
    """Pack rows with filters and without; also gives addresses that they are near, and texts."""
    rng = Rng(seed)
    pool = [int.from_bytes(bytes(rng.choices(OCTETS, k=4))) for _ in range(BLOCKS)]
    made = [row(rng, [item]) for item in pool for _ in range(ROWS)]
    for number, item in enumerate(made):
        item["number"] = number
    source = folder / f"{seed}.ion"
    source.write_bytes(b"".join(map(ion.dumps, made)))
    places = []
    for name, stats in (("with", STATS[seed % len(STATS)]), ("without", "off")):
        path = folder / f"{seed}-{name}.zion"
        sdb.pack([source], path, block_bytes=512, align_bytes=512, stats=stats, threads=1)
        places.append(path)
    texts = [item["x"] for item in made if isinstance(item.get("x"), str)]
    return places[0], places[1], pool, texts


def condition(rng: Rng, pool: list[int], texts: list[str]) -> str:
    path, first = rng.choice(PATHS), near(rng, pool)
    equal = literal(rng, rng.choice([text(rng, pool), rng.choice(texts)]))
    no = rng.choice(["", "", "", "NOT "])
    low, high = sorted((first, rng.choice([near(rng, pool), first + rng.randrange(1, 600)])))
    high = min(high, (1 << 32) - 1)
    if rng.random() < 0.05:
        low, high = high, low
    length = rng.choice([*range(33), 8, 16, 24, 32, 32])
    return rng.choice(
        [
            f"{no}IS_SUBNET_OF('{IPv4Address(first)}/{length}', {path})",
            f"{no}IS_SUBNET_OF('{IPv4Address(first)}/{length}', {path})",
            f"{no}IS_SUBNET_OF('{IPv4Address(low)}', '{IPv4Address(high)}', {path})",
            f"{no}IS_SUBNET_OF('{IPv4Address(first)}', {path})",
            f"{path} = {equal}",
            f"{path} IN ('10.1.2.3', {equal})",
        ]
    )


def conditions(folder: Path, seed: int, count: int) -> list[Condition]:
    """Make conditions; one query tells what each of these is TRUE for."""
    filtered, plain, pool, texts = packed(folder, seed)
    rng = Rng(seed)
    known = stored(filtered)
    actual = {asked: tree(asked) for asked in (condition(rng, pool, texts) for _ in range(count))}
    return judged(actual, plain, known)


def run(folder: Path, seeds: range, count: int) -> float:
    """Check conditions, and that packfiles have what their filters tell."""

    def made(seed: int) -> list[Condition]:
        actual = conditions(folder, seed, count)
        assert not validate(folder / f"{seed}-with.zion").findings
        return actual

    return share_left_out(seeds, made)


@pytest.mark.seeds
def test_no_row_is_lost(tmp_path: Path) -> None:
    assert run(tmp_path, range(usual(8, 3)), 40) > 0.5


def test_prefixes_are_those_of_the_addresses_in_texts() -> None:
    rng = Rng(1)
    for _ in range(2000):
        first = text(rng, [rng.getrandbits(32)])
        assert _core.address_prefixes(first.encode("utf-8", "surrogatepass")) == prefixes(first), (
            first
        )


def test_networks_are_few_prefixes_or_none() -> None:
    rng = Rng(2)
    for _ in range(500):
        low, high = sorted(rng.getrandbits(32) for _ in "ab")
        high = rng.choice([high, min(low + rng.getrandbits(rng.randrange(20)), (1 << 32) - 1)])
        groups = [*map(set, blockrules.covers(low, high))]
        assert all(0 < len(group) <= blockrules.MOST_ASKED for group in groups)
        for inside in (low, high, rng.randint(low, high)):
            held = set(prefixes(str(IPv4Address(inside))))
            assert all(group & held for group in groups)


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_no_row_is_lost_by_many_conditions(tmp_path: Path) -> None:
    assert run(tmp_path, range(2000, 2200), 100) > 0.5


@pytest.fixture(scope="module")
def known(tmp_path_factory: pytest.TempPathFactory) -> list[Condition]:
    folder = tmp_path_factory.mktemp("prefixes")
    return [case for seed in range(300, 340) for case in conditions(folder, seed, 60)]


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("name", PREFIX_MUTATIONS)
def test_rules_made_wrong_lose_rows(name: str, known: list[Condition]) -> None:
    module, old, new = PREFIX_MUTATIONS[name]
    made = mutant(module, old, new)
    rules = _executed(prune, inspect.getsource(prune))
    rules.rules = made if module is blockrules else blockrules  # type: ignore[attr-defined]
    reduced = made if module is reduction else reduction
    assert any(lost(case, rules, reduced) for case in known)
