"""Statistics of blocks: what is stored comes back, what is damaged is not known."""

from __future__ import annotations

import contextlib
import math
from dataclasses import astuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sdb import _core, ion
from sdb.errors import CorruptError
from sdb.packfile.blockfacts import BlockFacts
from sdb.packfile.blockstatistics import (
    ELEMENT,
    INTEGERS,
    TEXTS,
    WORDS,
    ZONES,
    BlockStatistics,
    encode_statistics,
    store_sections,
)
from sdb.packfile.extension import Extension, Summary
from sdb.packfile.membership import MembershipFilter, ValueSet, hash_of_text
from sdb.packfile.statisticschoice import SHARE, choose_statistics
from sdb.packfile.storedstatistics import StoredStatistics
from sdb.packfile.zones import Zone, decode_zones, encode_zones, join_zones

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


def test_what_is_stored_comes_back() -> None:
    """Of each path and block, and nothing of others."""
    path = ("items", ELEMENT, "id")
    known = MembershipFilter.of([["a", "b"], None, [], ["c"], None], is_text=True)
    stored = encode_statistics({("a",): FULL, path: FULL[::-1]}, {(path, TEXTS): known})
    assert stored is not None
    found = BlockStatistics.decode(stored, 5)
    assert found is not None
    assert found.zone(("a",)) == tuple(FULL)
    assert found.zone(path) == tuple(FULL[::-1])
    assert found.texts(path) == known
    assert found.texts(("a",)) is found.integers(path) is found.words(path) is None
    assert found.zone(("b",)) is None
    assert found.paths == (("a",), path)
    assert sum(found.sizes.values()) == len(stored.body)
    assert encode_statistics({}, {}) is None


def test_filters_deny_only_what_is_not_there() -> None:
    """Values that are there are never denied, and of those that are not there nearly all."""
    there = tuple(f"id-{number}" for number in range(3_000))
    known = MembershipFilter.of([there, None, []], is_text=True)
    assert all(known.may_hold(0, one) for one in there)
    assert known.blocks("id-7") == (True, True, False)
    assert known.may_hold_anywhere("elsewhere")
    wrong = sum(known.may_hold(0, f"no-{number}") for number in range(100_000))
    assert wrong < 1_300, "more than one in a hundred, with some room"
    assert not known.may_hold(2, "id-7")
    assert known.may_hold(2, 7), "of numbers a filter of texts knows nothing"


def test_a_block_may_have_several_sets() -> None:
    """A value is in a block if it is in any of its sets."""
    one, two = (MembershipFilter.of([[text]], is_text=True).sets[0] for text in ("a", "b"))
    assert one and two  # noqa: PT018 - for mypy
    known = MembershipFilter(True, (None, (*one, *two), (), two))
    again = MembershipFilter.decode(known.encode(), 4, is_text=True)
    assert again == known
    assert again.blocks("a") == (True, True, False, False)
    assert again.blocks("b") == (True, True, False, True)
    assert one == (ValueSet(1, one[0].bits),)


def test_integers_are_found_however_they_are_written() -> None:
    """2.0 is 2, minus zero is 0; neighbours of 2^53 are not the same."""
    numbers = [0, 2, 9007199254740993, -(2**63), 2**64 - 1, 1.5, math.nan, "9"]
    known = MembershipFilter.of([numbers], is_text=False)
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
def test_joined_zones_cover_both(one: Zone, other: Zone) -> None:
    """What either allows the joined one allows."""
    joined = join_zones(one, other)
    assert joined is not None
    assert join_zones(one, None) is join_zones(None, one) is None
    assert join_zones(other, one) == joined
    for zone in (one, other):
        assert zone.types | joined.types == joined.types
        assert zone.booleans | joined.booleans == joined.booleans
        for name in ("numbers", "texts", "times"):
            inner, outer = getattr(zone, name), getattr(joined, name)
            if inner is not None:
                assert outer[0] <= inner[0]
                assert outer[1] is None or (inner[1] is not None and inner[1] <= outer[1])
    assert joined.values == one.values + other.values


def stored() -> StoredStatistics:
    """Make some that are sound."""
    known = MembershipFilter.of([[1, 2], None, [], [], None], is_text=False)
    made = encode_statistics(
        {("a",): FULL}, {(("b", "c"), INTEGERS): known, (("d",), WORDS): known}
    )
    assert made is not None
    return made


def test_damage_is_no_answer() -> None:
    """A section with any byte changed tells nothing; the others still do."""
    made = stored()
    found = BlockStatistics.decode(made, 5)
    assert found is not None
    size = found.sizes[("a",), ZONES]
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
    ],
)
def test_heads_that_make_no_sense_are_refused(value: object) -> None:
    """Whatever is wrong, nothing of it counts."""
    head = _core.zstd_compress(ion.dumps(value))
    with pytest.raises(CorruptError):
        BlockStatistics.decode(StoredStatistics(head, b""), 1)


def test_later_versions_tell_nothing() -> None:
    """A head of another version is none of ours."""
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
    made = store_sections({(("a",), ZONES): data})
    assert made is not None
    found = BlockStatistics.decode(made, 1)
    assert found is not None
    assert found.zone(("a",)) is None


@pytest.mark.parametrize(
    "value",
    [
        7,
        [[1], [1], [1]],
        [[None, 0], [], [], b""],
        [["x"], [], [], b""],
        [[-1], [], [], b""],
        [[1], [], [], b""],
        [[1], [1], [1], bytes(33)],
        [[1], [-1], [1], bytes(32)],
        [[1], [1], ["a"], bytes(32)],
        [[1], [1], [2], bytes(32)],
        [[2], [1], [1], bytes(32)],
    ],
)
def test_filters_that_make_no_sense_are_refused(value: object) -> None:
    """Whatever is wrong, nothing of it counts."""
    with pytest.raises(CorruptError):
        MembershipFilter.decode(ion.dumps(value), 1, is_text=True)


@given(st.binary(max_size=60))
def test_any_bytes_are_refused_or_read(data: bytes) -> None:
    """Nothing but the error for damage comes of any bytes."""
    for read in (
        lambda: BlockStatistics.decode(StoredStatistics(data, data), 1),
        lambda: decode_zones(data, 1),
        lambda: decode_zones(_core.zstd_compress(data), 1),
        lambda: MembershipFilter.decode(data, 1, is_text=False),
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


def test_halves_of_filters_go_before_whole_ones() -> None:
    blocks = [[f"{block}-{row}" for row in range(2000)] for block in range(4)]
    facts = []
    for values in blocks:
        sets = MembershipFilter.of([values], is_text=True).sets[0]
        keys = [((name,), TEXTS) for name in ("a", "b")]
        sample = [hashed for one in values[:8] if (hashed := hash_of_text(one)) is not None]
        known = sets or ()
        facts.append(
            BlockFacts(sets=dict.fromkeys(keys, known), samples=dict.fromkeys(keys, sample))
        )
    whole = sum(len(one.bits) for fact in facts for one in fact.sets[("a",), TEXTS])

    def sizes(budget: float) -> list[int]:
        """Give the sizes that sets have, as shares of the whole, in hundredths."""
        stored = choose_statistics(facts, int(budget * whole * SHARE) + 200 * SHARE)
        found = None if stored is None else BlockStatistics.decode(stored, len(blocks))
        assert found is not None
        filters = [found.texts((name,)) for name in ("a", "b")]
        assert all(one.may_hold(3, "3-77") for one in filters if one)
        return [100 * one.size_bytes // whole for one in filters if one]

    assert sizes(0.6) == [50]
    assert sizes(1.2) == [50, 50]
    assert sizes(1.6) == [100, 50]
    assert sizes(2.1) == [100, 100]
