"""Statistics of blocks: what is stored comes back, what is damaged is not known."""

from __future__ import annotations

import contextlib
import math
import re
from dataclasses import astuple
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sdb import _core, ion
from sdb.errors import CorruptError, SdbWarning
from sdb.packfile.build import choose
from sdb.packfile.build.choose import SHARE, choose_statistics
from sdb.packfile.build.newstats import BlockFacts
from sdb.packfile.trailer.blockstats import (
    ELEMENT,
    INTEGERS,
    TEXTS,
    WORDS,
    ZONES,
    BlockStatistics,
    encode_statistics,
    store_sections,
)
from sdb.packfile.trailer.extension import Extension, Summary
from sdb.packfile.trailer.ribbon import HashedSet, RibbonFilter, ValueSet, hash_of_text
from sdb.packfile.trailer.ribbonslices import SlicedFilter, encode_filter
from sdb.packfile.trailer.sparseindex import SparseIndex
from sdb.packfile.trailer.statsection import StoredStatistics
from sdb.packfile.trailer.zonemap import Zone, decode_zones, encode_zones, join_zones

NUMBER = 1 << 2 | 1 << 3 | 1 << 4
ALL = 1 | 1 << 1 | NUMBER | 1 << 6 | 1 << 8
ZONE = Zone(ALL, 9, 1, (-5, 1e300), (b"a", b"\xc3\xa5\xff"), (-1, 1 << 50), 3, has_nan=True)
FULL = [
    ZONE,
    None,
    Zone(0, 0),
    Zone(1 << 4, 2, has_nan=True),
    Zone(1 << 8, 1, 0, None, (b"", None)),
]


def read_again(known: RibbonFilter) -> SlicedFilter:
    head, slices = encode_filter(known)
    return SlicedFilter.decode(
        head,
        len(known.sets),
        is_text=known.is_text,
        size_bytes=len(slices),
        read=lambda start, stop: slices[start:stop],
    )


def test_what_is_stored_comes_back() -> None:
    """Of each path and block, and nothing of others."""
    path = ("items", ELEMENT, "id")
    known = RibbonFilter.of([["a", "b"], None, [], ["c"], None], is_text=True)
    stored = encode_statistics({("a",): FULL, path: FULL[::-1]}, {(path, TEXTS): known})
    assert stored is not None
    statistics = BlockStatistics.decode(stored, 5)
    assert statistics is not None
    assert statistics.zone(("a",)) == tuple(FULL)
    assert statistics.zone(path) == tuple(FULL[::-1])
    assert statistics.sets(path, TEXTS) == known.sets
    assert statistics.texts(("a",)) is statistics.integers(path) is statistics.words(path) is None
    assert statistics.zone(("b",)) is None
    assert statistics.sets(("a",), TEXTS) == ()
    assert statistics.paths == (("a",), path)
    assert sum(statistics.sizes.values()) == len(stored.body)
    assert encode_statistics({}, {}) is None


def test_filters_deny_only_what_is_not_there() -> None:
    """Values that are there are never denied, and of those that are not there nearly all."""
    there = tuple(f"id-{number}" for number in range(3_000))
    known = RibbonFilter.of([there, None, []], is_text=True)
    assert all(known.may_hold(0, item) for item in there)
    assert known.blocks("id-7") == (True, True, False)
    assert known.may_hold_anywhere("elsewhere")
    wrong = sum(known.may_hold(0, f"no-{number}") for number in range(100_000))
    assert wrong < 1_300, "more than one in a hundred, with some room"
    assert not known.may_hold(2, "id-7")
    assert known.may_hold(2, 7), "of numbers a filter of texts knows nothing"


def test_a_block_may_have_several_sets() -> None:
    """A value is in a block if it is in any of its sets."""
    item, two = (RibbonFilter.of([[text]], is_text=True).sets[0] for text in ("a", "b"))
    assert item and two  # noqa: PT018 - for mypy
    known = RibbonFilter(True, (None, (*item, *two), (), two))
    again = read_again(known)
    assert again.whole() == known
    assert again.blocks("a") == (True, True, False, False)
    assert again.blocks("b") == (True, True, False, True)
    assert item == (ValueSet(1, item[0].bits, 8),)


def test_integers_are_found_however_they_are_written() -> None:
    """2.0 is 2, minus zero is 0; neighbours of 2^53 are not the same."""
    numbers = [0, 2, 9007199254740993, -(2**63), 2**64 - 1, 1.5, math.nan, "9"]
    known = RibbonFilter.of([numbers], is_text=False)
    for value in (0, -0.0, 2, 2.0, 9007199254740993, -(2.0**63), 2**64 - 1):
        assert known.may_hold(0, value), value
    for value in (1, 9007199254740992, 9007199254740992.0, 3.0):
        assert not known.may_hold(0, value), value
    for value in (True, 0.5, math.nan, math.inf, 2**64, -(2**63) - 1, "2", None):
        assert known.may_hold(0, value), "it does not know them"


ZONES_OF_TEXT = st.tuples(st.binary(max_size=3), st.binary(max_size=3)).map(sorted).map(tuple)
NUMBERS = st.one_of(st.integers(-(2**63), 2**64 - 1), st.floats(allow_nan=False))
ANY_ZONE = st.builds(
    lambda numbers, texts, times, booleans, nulls, has_nan: Zone(
        (NUMBER if numbers or has_nan else 0)
        | (1 << 8 if texts else 0)
        | (1 << 6 if times else 0)
        | (1 << 1 if booleans else 0)
        | (1 if nulls else 0),
        nulls + 7,
        nulls,
        numbers,
        texts,
        times,
        booleans,
        has_nan,
    ),
    st.none() | st.tuples(NUMBERS, NUMBERS).map(sorted).map(tuple),
    st.none() | ZONES_OF_TEXT | st.tuples(st.binary(max_size=2), st.none()),
    st.none() | st.tuples(st.integers(-9, 9), st.integers(10, 2**55)),
    st.integers(0, 3),
    st.integers(0, 5),
    st.booleans(),
)


@given(st.lists(st.none() | ANY_ZONE, max_size=6))
@settings(deadline=None)
def test_any_zones_come_back(zones: list[Zone | None]) -> None:
    """Numbers keep their values, whatever they are stored as."""
    assert decode_zones(encode_zones(zones), len(zones)) == tuple(zones)


@given(ANY_ZONE, ANY_ZONE)
def test_joined_zones_cover_both(item: Zone, other: Zone) -> None:
    """What either allows the joined one allows."""
    joined = join_zones(item, other)
    assert joined is not None
    assert join_zones(item, None) is join_zones(None, item) is None
    assert join_zones(other, item) == joined
    for zone in (item, other):
        assert zone.types | joined.types == joined.types
        assert zone.booleans | joined.booleans == joined.booleans
        for name in ("numbers", "texts", "times"):
            inner, outer = getattr(zone, name), getattr(joined, name)
            if inner is not None:
                assert outer[0] <= inner[0]
                assert outer[1] is None or (inner[1] is not None and inner[1] <= outer[1])
    assert joined.values == item.values + other.values


def stored() -> StoredStatistics:
    """Make some that are sound."""
    known = RibbonFilter.of([[1, 2], None, [], [], None], is_text=False)
    made = encode_statistics(
        {("a",): FULL}, {(("b", "c"), INTEGERS): known, (("d",), WORDS): known}
    )
    assert made is not None
    return made


def test_damage_is_no_answer() -> None:
    """A section with any byte changed tells nothing; the others still do."""
    made = stored()
    statistics = BlockStatistics.decode(made, 5)
    assert statistics is not None
    size = statistics.sizes[("a",), ZONES]
    for at in (0, 7, 8, size - 1):
        data = bytearray(made.body)
        data[at] ^= 1
        other = BlockStatistics.decode(StoredStatistics(made.head, bytes(data)), 5)
        assert other is not None
        assert other.zone(("a",)) is None
        assert other.integers(("b", "c")) is not None
    assert BlockStatistics.decode(made, 5).zone(("a",)) is not None  # type: ignore[union-attr]
    other = BlockStatistics.decode(made, 4)
    assert other is not None
    assert other.zone(("a",)) is other.integers(("b", "c")) is None, "of another file"


@pytest.mark.parametrize(
    "value",
    [
        {},
        [],
        [1],
        [1, [1], ["a"], [1], [0], 7],
        [1, [1], ["a"], [1], ["x"]],
        [1, [2], ["a"], [1], [0]],
        [1, [0], [], [1], [0]],
        [1, [1], [5], [1], [0]],
        [1, [1], ["a"], [1], [9]],
        [1, [1, 1], ["a", "b"], [1, 1], [9, -9]],
        [1, [1, 1], ["a", "a"], [1, 1], [0, 0]],
        [1, [1], ["a"], [1, 1], [0]],
        [1, [33], 33 * ["a"], [1], [0]],
        [1, [1], ["a"], [1], [0], [0], 7],
        [1, [1], ["a"], [1], [0], [5]],
        [1, [1], ["a"], [1], [0], [0, 0]],
        [1, [1], ["a"], [1], [8], [-8]],
    ],
)
def test_heads_that_make_no_sense_are_refused(value: object) -> None:
    """Whatever is wrong, nothing of it counts."""
    head = _core.zstd_compress(ion.dumps(value))
    with pytest.raises(CorruptError):
        BlockStatistics.decode(StoredStatistics(head, b""), 1)


def test_later_versions_tell_nothing() -> None:
    """A head of another version is not read."""
    head = _core.zstd_compress(ion.dumps([2, "whatever"]))
    assert BlockStatistics.decode(StoredStatistics(head, b"xyz"), 1) is None


@pytest.mark.parametrize(
    "columns",
    [
        7,
        9 * [[]],
        [["x"], [0], [0], [0], [], [], [], [], [], []],
        [[1 << 16], [0], [0], [0], [], [], [], [], [], []],
        [[4], [0], [0], [0], [], [], [], [], [], []],
        [[4], [0], [0], [0], [5], [4], [], [], [], []],
        [[4], [0], [0], [0], ["5"], ["5"], [], [], [], []],
        [[4], [0], [0], [0], [math.nan], [math.nan], [], [], [], []],
        [[0], [0], [0], [0], [1], [1], [], [], [], []],
        [[256], [0], [0], [0], [], [], [b"b"], [b"a"], [], []],
        [[256], [0], [0], [0], [], [], [None], [b"a"], [], []],
        [[64], [0], [0], [0], [], [], [], [], [1.5], [2]],
        [[64], [0], [0], [0], [], [], [], [], [1], [None]],
        [[0], [-1], [0], [0], [], [], [], [], [], []],
        [[0], [], [0], [0], [], [], [], [], [], []],
    ],
)
def test_zones_that_make_no_sense_are_refused(columns: object) -> None:
    """Whatever is wrong, nothing of it counts."""
    data = _core.zstd_compress(ion.dumps(columns))
    with pytest.raises(CorruptError):
        decode_zones(data, 1)
    made = store_sections({(("a",), ZONES): (data, b"")})
    assert made is not None
    statistics = BlockStatistics.decode(made, 1)
    assert statistics is not None
    assert statistics.zone(("a",)) is None


def read_head(data: bytes) -> SlicedFilter:
    return SlicedFilter.decode(
        data, 1, is_text=True, size_bytes=0, read=lambda start, stop: bytes(stop - start)
    )


@pytest.mark.parametrize(
    "value",
    [
        7,
        [[1], [1], [1]],
        [[1], [1], [8], bytes(8)],
        [[None, 0], [], [], [], 0, bytes(8), b""],
        [["x"], [], [], [], 0, bytes(8), b""],
        [[-1], [], [], [], 0, bytes(8), b""],
        [[1], [], [], [], 0, bytes(8), b""],
        [[1], [1], [8], [], 0, bytes(8), bytes(8)],
        [[1], [1], [8], [1], 0, bytes(8), bytes(9)],
        [[1], [-1], [8], [1], 0, bytes(8), bytes(8)],
        [[1], [1], [-8], [1], 0, bytes(8), b""],
        [[1], [1], ["a"], [1], 0, bytes(8), bytes(8)],
        [[1], [1], [8], [2], 0, bytes(8), bytes(8)],
        [[1], [1], [8], [0], 0, bytes(8), b""],
        [[1], [1], [0], [0], 0, bytes(8), b""],
        [[1], [1], [1], [9], 0, bytes(8), bytes(9)],
        [[1], [1], [1 << 63], [8], 0, bytes(8), bytes(8)],
        [[2], [1], [8], [1], 0, bytes(8), bytes(8)],
        [[1], [1], [8], [1], 0, bytes(7), bytes(8)],
        [[1], [1], [8], [1], 1, bytes(8), bytes(8)],
        [[1], [1], [8], [1], -1, b"", bytes(8)],
        [[1], [1], [8], [1], 17, bytes(8 << 17), bytes(8)],
        [[1], [1], [99], [1], 0, bytes(8), bytes(99)],
        [[1], [1], [8], [1], "0", bytes(8), bytes(8)],
    ],
)
def test_filters_that_make_no_sense_are_refused(value: object) -> None:
    """Whatever is wrong, nothing of it counts."""
    with pytest.raises(CorruptError):
        read_head(ion.dumps(value))


@given(st.binary(max_size=60))
def test_any_bytes_are_refused_or_read(data: bytes) -> None:
    """Nothing but the error for damage comes of any bytes."""
    for read in (
        lambda: BlockStatistics.decode(StoredStatistics(data, data), 1),
        lambda: decode_zones(data, 1),
        lambda: decode_zones(_core.zstd_compress(data), 1),
        lambda: read_head(data),
    ):
        with contextlib.suppress(CorruptError):
            read()


def test_the_extension_carries_them() -> None:
    """They are a member beside the summary, and what is no such struct is a flaw."""
    made = stored()
    summary = Summary((1, 2, 3, 4, 5), {("a",): 4}, complete=True)
    value = ion.loads(ion.dumps(Extension(summary, statistics=made).encode()))
    assert Extension.read(value, 5).statistics == made
    assert isinstance(value, dict)
    for wrong in (7, {}, {"head": b""}, {"head": b"", "body": 5}, []):
        assert "statistics" in Extension.read(value | {"statistics": wrong}, 5).flaw
    assert Extension(statistics=made).encode() == {}, "without counts of rows they are left out"
    assert astuple(made) == (made.head, made.body)


def test_as_many_paths_as_possible_have_planes() -> None:
    """The better one seven of them, before it has the eighth; and none fewer than three."""
    facts = []
    for block in range(4):
        hashes = [hash_of_text(f"{block}-{row}") or 0 for row in range(2000)]
        made = HashedSet(2000, _core.ValueHashes(hashes))
        facts.append(BlockFacts(sets={((name,), TEXTS): (made,) for name in ("a", "b")}))
    plane = sum(fact.sets[("a",), TEXTS][0].plane_bytes for fact in facts)

    def planes(budget: float) -> list[set[int]]:
        """Return the planes that sets have when there is room for this many."""
        stored = choose_statistics(facts, int(budget * plane * SHARE) + 100 * SHARE)
        actual = None if stored is None else BlockStatistics.decode(stored, 4)
        assert actual is not None
        filters = [actual.texts((name,)) for name in ("a", "b")]
        known = [[sets[0] for sets in item.whole().sets if sets] for item in filters if item]
        assert all(item.blocks("3-77")[3] for item in filters if item)
        return [{item.planes for item in sets} for sets in known]

    assert planes(3.5) == [{3}]
    assert planes(7.5) == [{7}]
    assert planes(8.5) == planes(9.5) == [{8}]
    assert planes(10.5) == [{7}, {3}]
    assert planes(15.5) == [{8}, {7}]
    assert planes(99) == [{8}, {8}]


def test_what_is_asked_for_has_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    """Filters have fewer planes, and then there are none: no trailer is too large to be read."""
    made = HashedSet(2000, _core.ValueHashes([hash_of_text(f"{row}") or 0 for row in range(2000)]))
    names = [("a",), ("b",)]
    facts = [BlockFacts(sets={(name, TEXTS): (made,) for name in names})]

    def planes() -> list[int]:
        stored = choose_statistics(facts, 1, asked=names)
        actual = None if stored is None else BlockStatistics.decode(stored, 1)
        if actual is None:
            return []
        return [(actual.sets(name, TEXTS)[0] or ())[0].planes for name in names]

    assert planes() == [8, 8]
    monkeypatch.setattr(choose, "ASKED_BYTES", 2 * 5 * made.plane_bytes + 100)
    assert planes() == [5, 5]
    monkeypatch.setattr(choose, "MOST_BYTES", 2 * 5 * made.plane_bytes)
    with pytest.warns(SdbWarning, match="block statistics are left out: they take more than 2,"):
        assert planes() == []
    monkeypatch.setattr(choose, "ASKED_BYTES", 2 * 2 * made.plane_bytes + 100)
    with pytest.warns(SdbWarning, match="filters that were asked for are left out: they take more"):
        assert planes() == []


def test_sets_with_few_planes_go_on_with_these() -> None:
    """They take no more room than they did, and come first."""
    whole = HashedSet(9, _core.ValueHashes([*range(900)]))
    few = whole.with_planes(3)
    assert few.plane_bytes == whole.plane_bytes == (900 + 100 + 8) // 8
    assert few.with_planes(5) is few
    assert few.with_planes(2).bits == few.bits[: 2 * few.plane_bytes]
    facts = [BlockFacts(sets={(("a",), TEXTS): (item,)}) for item in (few, whole)]
    stored = choose_statistics(facts, 1, asked=[("a",)])
    actual = None if stored is None else BlockStatistics.decode(stored, 2)
    known = actual.sets(("a",), TEXTS) if actual else None
    assert known == ((few,), (whole.with_planes(8),))
    again = [BlockFacts(sets={(("a",), TEXTS): sets or ()}) for sets in known]
    summary = Summary((9, 9), {}, complete=True)
    source = SparseIndex(2, summary=summary, stored_statistics=stored)
    remaining = choose_statistics(again, 1, sources=[source])
    actual = None if remaining is None else BlockStatistics.decode(remaining, 2)
    assert actual is not None
    assert actual.sets(("a",), TEXTS) == known


def test_sections_of_unknown_kinds_are_passed_over() -> None:
    """The zones beside them hold."""
    zones = {(("a",), ZONES): (encode_zones(FULL), b"")}
    kinds = dict.fromkeys([(("a",), 2), (("b", "c"), 3), ((), 4)], (b"whatever", b""))
    made = store_sections(zones | kinds)
    assert made is not None
    statistics = BlockStatistics.decode(made, 5)
    assert statistics is not None
    assert statistics.zone(("a",)) == tuple(FULL)
    assert (
        statistics.texts(("a",)) is statistics.integers(("b", "c")) is statistics.words(()) is None
    )


def test_a_set_has_the_bytes_of_the_format() -> None:
    """As the example in docs/format.md."""
    known = RibbonFilter.of([["ann", "bob", "eve"]], is_text=True).with_planes(3)
    ((actual,),) = [sets for sets in known.sets if sets]
    text = (Path(__file__).parents[2] / "docs/format.md").read_text()
    (reported,) = re.findall(
        r"planes of the set of `ann`, `bob` and `eve` are `([0-9A-F ]+)`", text
    )
    assert actual.bits == bytes.fromhex(reported)
    rows = re.findall(r"^\| (\w+) \| `([0-9A-F]{8})` \| `([0-9A-F]{16})` \|$", text, re.MULTILINE)
    assert [name for name, *_ in rows] == ["ann", "bob", "eve"]
    planes = [int.from_bytes(actual.bits[at : at + 2], "little") for at in (0, 2, 4)]
    for name, number, bits in rows:
        assert hash_of_text(name) == int(number, 16)
        assert all((plane & int(bits, 16)).bit_count() % 2 == 0 for plane in planes)
