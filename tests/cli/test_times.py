"""Times as people say them: `--since 1h`, `-30m`, `today`, `yesterday`, `2015-01-01`."""

from __future__ import annotations

import datetime as dt
import json
import re
from typing import TYPE_CHECKING

import pytest

import sdb
from sdb import instants

if TYPE_CHECKING:
    from pathlib import Path

    from tests.cli.conftest import Run

AGES = {"minute": 60, "hour": 3600, "day": 86400, "week": 7 * 86400}
US = 1_000_000
NOW_US = instants.parse("2024-05-03T10:20:30Z")


@pytest.fixture
def recent(tmp_path: Path) -> Path:
    """Rows of a little more than a minute, an hour, a day and a week ago."""
    now = dt.datetime.now(dt.UTC)
    rows = [
        {"age": name, "at": now - dt.timedelta(seconds=1.5 * age)} for name, age in AGES.items()
    ]
    sdb.pack(rows, tmp_path / "recent.zion", time_fields=[("at",)])
    return tmp_path / "recent.zion"


@pytest.mark.parametrize(
    ("since", "expected"),
    [
        ("59s", []),
        ("2m", ["minute"]),
        ("-2m", ["minute"]),
        ("119m", ["minute", "hour"]),
        ("2D", ["minute", "hour", "day"]),
        ("3w", ["minute", "hour", "day", "week"]),
        ("now", []),
    ],
)
def test_ago(run: Run, recent: Path, since: str, expected: list[str]) -> None:
    for command in ("head", "unpack"):
        ended = run(command, "--fmt", "json", "-v", "--since", since, recent)
        assert ended.returncode == 0, ended.stderr
        assert [json.loads(line)["age"] for line in ended.stdout.splitlines()] == expected
        told = ended.stderr.decode()
        found = re.fullmatch(rf"sdb: --since {re.escape(since)}: (\d{{4}}-\S+Z)\n", told)
        assert found, told
        assert abs(instants.parse(found[1]) - instants.parse(since)) < 60 * US


def test_days_begin_at_midnight_in_utc() -> None:
    for text, at in [
        ("today", "2024-05-03T00:00:00Z"),
        ("yesterday", "2024-05-02T00:00:00Z"),
        ("now", "2024-05-03T10:20:30Z"),
        ("1h", "2024-05-03T09:20:30Z"),
        ("2024-05-01", "2024-05-01T00:00:00Z"),
    ]:
        assert instants.text(instants.parse(text, NOW_US)) == at


def test_until(run: Run, recent: Path) -> None:
    ended = run("unpack", "--fmt", "json", "--since", "2d", "--until", "30m", recent)
    assert [json.loads(line)["age"] for line in ended.stdout.splitlines()] == ["hour", "day"]
    assert ended.stderr == b""


@pytest.mark.parametrize("text", ["1y", "1 h ago", "h", "--", "tomorrow", "1.5h"])
def test_what_is_no_time(run: Run, recent: Path, text: str) -> None:
    ended = run("unpack", "--fmt", "json", f"--since={text}", recent)
    assert ended.returncode == 2
    assert f"sdb: {text!r} is not a time" in ended.stderr.decode()
    assert b"30m or yesterday" in ended.stderr


@pytest.mark.parametrize("us", [0, -1, -500_000, 1_609_556_645_678_900, -62_135_596_800_000_000])
def test_fixed_times_are_the_same(us: int) -> None:
    assert instants.parse(str(instants.fixed(instants.text(us)))) == us
