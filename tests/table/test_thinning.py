"""Thinning: which versions stay, who stands for the others, and what is still known of these."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING
from unittest import mock

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sdb import instants, notes
from sdb.errors import InputError, UsageError
from sdb.table.catalog.handle import open_table
from sdb.table.commit.change import TableChange
from sdb.table.commit.commit import commit, find_commit
from sdb.table.definition import timespan
from sdb.table.definition.timespan import CalendarSpan, Thinning
from sdb.table.format import limits
from sdb.table.format.history import PastVersion
from sdb.table.format.keys import new_uid
from sdb.table.format.versionref import ExpiredError
from sdb.table.history.setrefs import tag
from sdb.table.maintenance.expire import ExpiryPolicy, expire, history_of, policy_of
from tests.amounts import usual
from tests.table.test_collector import KEYS, Days

if TYPE_CHECKING:
    from collections.abc import Iterator

USUAL = "1h:all,1d:1m,7d:1h"
SECOND_US = 1_000_000
HOUR_US = 3600 * SECOND_US
SHORT = Thinning.parse("10s:all,100s:5s,1000s:50s")
STEPS_US = ((10, 0), (100, 5), (1000, 50))


@pytest.fixture
def days() -> Days:
    return Days()


@pytest.fixture
def short_lists() -> Iterator[None]:
    with (
        mock.patch.object(limits.USUAL, "inline_versions", 6),
        mock.patch.object(limits.USUAL, "listed_versions", 12),
    ):
        yield


@pytest.mark.parametrize("text", [USUAL, "off", "2h:30m", "1d:all"])
def test_texts_come_back(text: str) -> None:
    assert str(Thinning.parse(text)) == text


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("1h", "a step has an age"),
        ("1h:all,30m:1m", "30m is not longer than 1h"),
        ("1h:2m,1d:3m", "3m is no multiple of 2m"),
        ("1h:all,1d:all", "says nothing beside"),
        ("1m:1h", "1m is not longer than 1h"),
        ("1h:0s,2h:1h", "no time"),
        ("1y:1d", "'1y' is not a span of time"),
        ("", "a step has an age"),
    ],
)
def test_flaws_are_named(text: str, reason: str) -> None:
    with pytest.raises(InputError, match=reason) as raised:
        Thinning.parse(text)
    assert raised.value.expected == timespan.EXPECTED


def past(number: int, at_us: int, commit_id: str = "") -> PastVersion:
    key = KEYS.version(number, commit_id or new_uid())
    return PastVersion(number, at_us, key, '"e"', "insert", number)


ages = st.lists(st.integers(0, 2000), min_size=1, max_size=60, unique=True)


@settings(max_examples=usual(300), deadline=None)
@given(ages, st.sets(st.integers(1, 60), max_size=4))
def test_each_interval_has_its_last_version(seconds: list[int], lasting: set[int]) -> None:
    """What stays is what the rule on the page says, by another way of counting."""
    now_us = 10**9 * SECOND_US
    times = sorted(now_us - second * SECOND_US for second in seconds)
    versions = [past(number, at_us) for number, at_us in enumerate(times, 1)]
    gone = SHORT.thinned(versions, now_us, lasting)
    assert not gone & lasting
    assert len(versions) not in gone
    ends = [*times[1:], now_us]
    for version, end_us in zip(versions, ends, strict=True):
        age = (now_us - end_us) // SECOND_US
        every_us = SECOND_US * next((every for most, every in STEPS_US if age < most), 50)
        later = every_us and [at_us for at_us in times if at_us > version.at_us]
        is_last = not later or later[0] // every_us != version.at_us // every_us
        assert (version.version in gone) == (not is_last and version.version not in lasting)


@settings(max_examples=usual(100), deadline=None)
@given(ages, st.lists(st.integers(0, 500), min_size=1, max_size=5))
def test_thinning_again_and_again_leaves_no_hole(seconds: list[int], pauses: list[int]) -> None:
    """However often it runs, each interval that had a version has its last one."""
    now_us = 10**9 * SECOND_US
    times = sorted(now_us - second * SECOND_US for second in seconds)
    every = [past(number, at_us) for number, at_us in enumerate(times, 1)]
    left = every
    for pause in pauses:
        now_us += pause * SECOND_US
        gone = SHORT.thinned(left, now_us, ())
        left = [version for version in left if version.version not in gone]
    intervals = {version.at_us // (50 * SECOND_US) for version in every}
    assert {version.at_us // (50 * SECOND_US) for version in left} == intervals


def test_one_version_stands_for_so_many_transactions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timespan, "MOST_MARK_BYTES", 35)
    now_us = 10**9 * SECOND_US
    versions = [past(number, number, f"job-{number}") for number in range(1, 11)]
    gone = Thinning.parse("1s:all,10d:1d").thinned(versions, now_us, ())
    assert sorted({*range(1, 11)} - gone) == [2, 6, 10]


def numbers(days: Days) -> list[int]:
    state = open_table(days.root, "d", "t").state
    assert state is not None
    return [*(version.version for version in history_of(state, days.root)), state.version]


@pytest.mark.usefixtures("short_lists")
def test_a_day_of_commits_is_thinned(days: Days) -> None:
    policy = ExpiryPolicy(2, CalendarSpan(days=7), None, Thinning.parse(USUAL))
    days.now_us -= days.now_us % (24 * HOUR_US)
    for number in range(72):  # one each 20 minutes
        days.insert(f"r{number}", f"job-{number}" if number % 3 else "")
        days.now_us += HOUR_US // 3
    tag(days.root, "d", "t", "june", 14, env=days.env)
    days.pass_days(1)
    done = expire(days.root, "d", "t", policy, env=days.env)
    assert numbers(days) == sorted({*range(3, 73, 3), 14, 71, 73})
    assert set(done.thinned) == {*range(1, 71)} - {*range(3, 73, 3), 14}
    head = open_table(days.root, "d", "t")
    assert [packfile.name for packfile in head.descriptors()] == [
        f"r{number}.zion" for number in range(72)
    ]
    # What clients named is known by the version that stands for it.
    stands = {number: find_commit(days.root, KEYS, f"job-{number}") for number in range(72)}
    for number, version in stands.items():
        if number % 3:
            own = number + 1
            assert version == (
                own if own in numbers(days) else min(v for v in numbers(days) if v > own)
            )
    again = TableChange("insert", (days.packed("r1"),))
    assert not commit(days.root, KEYS, again, commit_id="job-1", env=days.env).is_new
    # A version that went names those beside it, and a time is answered by the one before.
    with pytest.raises(ExpiredError) as raised:
        open_table(days.root, "d", "t", at=10)
    assert (raised.value.hint or "").startswith("the nearest are 9, of ")
    assert "and 12, of " in (raised.value.hint or "")
    began_us = days.now_us - 2 * 24 * HOUR_US
    with mock.patch.object(notes, "warn") as warned:
        handle = open_table(days.root, "d", "t", at=instants.text(began_us + 4 * HOUR_US - 1))
    assert handle.state is not None
    assert handle.state.version == 12
    warned.assert_not_called()
    with mock.patch.object(notes, "warn") as warned:
        handle = open_table(days.root, "d", "t", at=instants.text(began_us + int(7.5 * HOUR_US)))
    assert handle.state is not None
    assert handle.state.version == 21
    assert "nearest before it, version 21 of" in warned.call_args[0][0]


@pytest.mark.usefixtures("short_lists")
def test_what_expired_without_thinning_is_forgotten(days: Days) -> None:
    for number in range(20):
        days.insert(f"r{number}", f"job-{number}")
    days.pass_days(3)
    expire(days.root, "d", "t", ExpiryPolicy(1, 3600.0), env=days.env)
    assert find_commit(days.root, KEYS, "job-3") is None
    assert find_commit(days.root, KEYS, "job-19") == 20


def test_thinning_settles(days: Days) -> None:
    policy = ExpiryPolicy(thin=Thinning.parse(USUAL))
    for number in range(10):
        days.insert(f"r{number}")
        days.now_us += SECOND_US
    days.now_us += 2 * HOUR_US
    assert expire(days.root, "d", "t", policy, env=days.env).version
    assert numbers(days) == [10, 11]
    for _ in range(5):
        days.now_us += 2 * HOUR_US
        assert expire(days.root, "d", "t", policy, env=days.env).version is None
    days.pass_days(8)
    assert expire(days.root, "d", "t", policy, env=days.env).version
    assert numbers(days) == [11, 12]


def test_policies(days: Days) -> None:
    days.insert("a")
    policy = policy_of(days.root, KEYS, thin=USUAL)
    assert policy == ExpiryPolicy(thin=Thinning.parse(USUAL))
    with pytest.raises(UsageError, match="no policy says"):
        policy_of(days.root, KEYS, thin="off")
    with pytest.raises(UsageError, match="--thin: invalid thinning"):
        policy_of(days.root, KEYS, thin="1h")
    with pytest.raises(UsageError, match="--all-but-head"):
        policy_of(days.root, KEYS, thin=USUAL, all_but_head=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert policy_of(days.root, KEYS, keep_last=3, thin="off").thin == Thinning()
