"""Durations: one grammar for all options that take one."""

from __future__ import annotations

import pytest

from sdb import durations
from sdb.errors import UsageError


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("500ms", 0.5),
        ("300ms", 0.3),
        ("5s", 5.0),
        ("1.5s", 1.5),
        (".5s", 0.5),
        (" 2M ", 120.0),
        ("24h", 86_400.0),
        ("2d", 172_800.0),
        ("1w", 604_800.0),
        ("0s", 0.0),
        ("5 s", 5.0),
    ],
)
def test_what_people_write(text: str, seconds: float) -> None:
    assert durations.seconds(text) == seconds
    assert durations.seconds(text, bare=True) == seconds


def test_a_number_alone_counts_seconds_where_that_is_asked_for() -> None:
    assert durations.seconds("1.5", bare=True) == 1.5
    with pytest.raises(UsageError, match="'30' is not a span of time"):
        durations.seconds("30")


@pytest.mark.parametrize(
    "text", ["", "s", "-5s", "5x", "1h30m", "nan", "inf", "1e3", "now", "today", "٣s" * 2]
)
def test_what_is_none(text: str) -> None:
    with pytest.raises(UsageError):
        durations.seconds(text, bare=True)


def test_written() -> None:
    assert [durations.written(number) for number in (0.04, 9.94, 60.2, 1234.0)] == [
        "0.0 s",
        "9.9 s",
        "60 s",
        "1234 s",
    ]
