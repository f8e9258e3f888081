"""Retry with backoff: how long is waited, when it ends, and what is said of it."""

from __future__ import annotations

import logging
import time

import pytest

from sdb import retry
from sdb.errors import ConflictError, UsageError
from sdb.log import Logger
from sdb.retry import Backoff, Clock

LOG = Logger("sdb.test")


class Timer:
    """A clock that moves when somebody waits, always for as long as may be."""

    def __init__(self) -> None:
        self.now = 100.0
        self.pauses: list[float] = []

    def sleep(self, seconds: float) -> None:
        self.now += seconds
        self.pauses.append(round(seconds, 6))

    @property
    def clock(self) -> Clock:
        return Clock(elapsed=lambda: self.now, sleep=self.sleep, uniform=lambda _, most: most)


def test_pauses_double_up_to_the_longest() -> None:
    timer = Timer()
    backoff = Backoff("it", LOG, first_seconds=0.1, longest_seconds=1.0, clock=timer.clock)
    for _ in range(6):
        assert backoff.may_retry()
        backoff.pause()
    assert timer.pauses == [0.1, 0.2, 0.4, 0.8, 1.0, 1.0]


def test_pauses_are_random_up_to_there() -> None:
    timer = Timer()
    asked: list[tuple[float, float]] = []

    def uniform(least: float, most: float) -> float:
        asked.append((least, most))
        return 0.0

    clock = Clock(elapsed=lambda: 0.0, sleep=timer.sleep, uniform=uniform)
    backoff = Backoff("it", LOG, first_seconds=0.5, longest_seconds=9.0, clock=clock)
    backoff.may_retry()
    backoff.pause()
    assert (asked, timer.pauses) == ([(0, 0.5)], [0.0])


def test_it_ends_after_its_attempts() -> None:
    timer = Timer()
    backoff = Backoff(
        "it", LOG, first_seconds=1.0, longest_seconds=1.0, attempts=3, clock=timer.clock
    )
    assert [backoff.may_retry(), backoff.may_retry(), backoff.may_retry()] == [True, True, False]


def test_it_ends_when_patience_does_and_says_how_long_it_tried() -> None:
    timer = Timer()
    backoff = Backoff(
        "it", LOG, first_seconds=4.0, longest_seconds=4.0, patience_seconds=10.0, clock=timer.clock
    )
    error = ConflictError("someone else changed it", hint="run it again")
    while backoff.may_retry(error):
        backoff.pause()
    assert timer.pauses == [4.0, 4.0, 4.0]
    raised = backoff.exhausted(error)
    assert raised is error
    assert raised.message == "someone else changed it; gave up after 4 attempts in 12 s"
    assert raised.hint == "run it again"


def test_work_for_others_does_not_count() -> None:
    timer = Timer()
    backoff = Backoff(
        "it", LOG, first_seconds=4.0, longest_seconds=4.0, patience_seconds=5.0, clock=timer.clock
    )
    timer.now += 100
    backoff.excused_seconds = 96
    assert backoff.may_retry()
    timer.now += 1
    assert not backoff.may_retry()


def test_one_attempt_is_not_counted_in_the_message() -> None:
    backoff = Backoff("it", LOG, first_seconds=1, longest_seconds=1, attempts=1)
    assert not backoff.may_retry()
    assert backoff.exhausted(ConflictError("changed")).message == "changed"


def test_who_has_waited_for_long_waits_shorter() -> None:
    timer = Timer()
    backoff = Backoff(
        "it", LOG, first_seconds=2.0, longest_seconds=2.0, hurried_seconds=1.0, clock=timer.clock
    )
    for _ in range(3):
        backoff.may_retry()
        backoff.pause()
    assert timer.pauses == [2.0, 1.0, round(2 / 3, 6)]


def test_each_retry_is_logged_with_attempt_pause_and_cause(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO, "sdb")
    timer = Timer()
    backoff = Backoff(
        "moving d.t", LOG, first_seconds=0.25, longest_seconds=1, attempts=2, clock=timer.clock
    )
    assert backoff.may_retry(ConflictError("d/t/index: changed"))
    backoff.pause()
    assert not backoff.may_retry(ConflictError("no answer"))
    assert [record.getMessage() for record in caplog.records] == [
        "moving d.t: attempt 1 failed: d/t/index: changed; retry in 0.250 s",
        "moving d.t: gave up after 2 attempts in 0.2 s: no answer",
    ]
    assert {record.name for record in caplog.records} == {"sdb.test"}


def test_real_pauses_pass() -> None:
    began = time.monotonic()
    backoff = Backoff("it", LOG, first_seconds=0.02, longest_seconds=0.02)
    for _ in range(8):
        backoff.may_retry()
        backoff.pause()
    assert time.monotonic() - began > 0.005
    assert backoff.waited_seconds > 0.005


@pytest.mark.parametrize(
    ("text", "seconds"), [("", 60.0), ("5", 5.0), ("0.5", 0.5), ("0", 0.0), ("2m", 120.0)]
)
def test_patience_can_be_set(monkeypatch: pytest.MonkeyPatch, text: str, seconds: float) -> None:
    monkeypatch.setattr(retry, "_patience", None)
    monkeypatch.setenv("SDB_PATIENCE", text)
    assert retry.default_patience() == seconds
    monkeypatch.setenv("SDB_PATIENCE", "9")
    assert retry.default_patience() == seconds


@pytest.mark.parametrize("text", ["long", "-1", "2d", "nan", "inf"])
def test_patience_is_a_duration(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setattr(retry, "_patience", None)
    monkeypatch.setenv("SDB_PATIENCE", text)
    with pytest.raises(UsageError) as info:
        retry.default_patience()
    assert "SDB_PATIENCE" in str(info.value)
