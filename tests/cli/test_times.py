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
COMMANDS = [
    ["head", "-v", "recent.zion"],
    ["head", "-v", "--where", "age <> 'month'", "recent.zion"],
    ["tail", "-v", "recent.zion"],
    ["unpack", "-v", "recent.zion"],
    ["grep", "[a-z]", "recent.zion"],
    ["query", "-v", "SELECT age, at FROM 'recent.zion'"],
    ["query", "-v", "SELECT age FROM 'recent.zion' ORDER BY age || '' = 'week', at DESC"],
]
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


@pytest.mark.usefixtures("recent")
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
def test_ago(run: Run, since: str, expected: list[str]) -> None:
    for command in COMMANDS:
        ended = run(*command, "--fmt", "json", "--since", since)
        assert ended.returncode == (command[0] == "grep" and not expected), ended.stderr
        assert [json.loads(line)["age"] for line in ended.stdout.splitlines()] == expected
        if command[0] == "grep":  # whose -v says that rows without a match are wanted
            continue
        messages = ended.stderr.decode()
        match = re.search(rf"^sdb: --since {re.escape(since)}: (\d{{4}}-\S+Z)\n", messages)
        assert match, messages
        assert abs(instants.parse(match[1]) - instants.parse(since)) < 60 * US


def test_days_begin_at_midnight_in_utc() -> None:
    for text, at in [
        ("today", "2024-05-03T00:00:00Z"),
        ("yesterday", "2024-05-02T00:00:00Z"),
        ("now", "2024-05-03T10:20:30Z"),
        ("1h", "2024-05-03T09:20:30Z"),
        ("2024-05-01", "2024-05-01T00:00:00Z"),
    ]:
        assert instants.text(instants.parse(text, NOW_US)) == at


@pytest.mark.usefixtures("recent")
def test_until(run: Run) -> None:
    for words in COMMANDS:
        command = [word for word in words if word != "-v"]
        ended = run(*command, "--fmt", "json", "--since", "2d", "--until", "30m")
        rows = [json.loads(line)["age"] for line in ended.stdout.splitlines()]
        assert sorted(rows) == ["day", "hour"], command
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


@pytest.fixture
def hours(tmp_path: Path) -> Path:
    """Rows of a day, in blocks of about an hour."""
    first = dt.datetime(2024, 5, 3, tzinfo=dt.UTC)
    rows = [
        {
            "at": first + dt.timedelta(seconds=n),
            "seen": {"at": first - dt.timedelta(seconds=n)},
            "n": n,
            "of": "abc"[n % 3],
            "list": [{"m": n}],
            "text": f"{n:x} " * 1000,
        }
        | ({"odd": n} if n % 48 else {})
        for n in range(0, 86400, 24)
    ]
    sdb.pack(rows, tmp_path / "hours.zion", block_bytes=1 << 20)
    return tmp_path / "hours.zion"


PERIOD: dict[str, str] = {"since": "2024-05-03T03:00:00Z", "until": "2024-05-03T04:00:00Z"}
QUERIES = [
    "SELECT COUNT(*) AS n FROM 'hours.zion'",
    "SELECT COUNT(*) AS n, SUM(n) AS s FROM 'hours.zion' WHERE of = 'a'",
    "SELECT of, COUNT(*) AS n FROM 'hours.zion' GROUP BY of ORDER BY of",
    "SELECT of, MAX(n) - 1 AS n FROM 'hours.zion' GROUP BY of ORDER BY of",
    "SELECT n, of FROM 'hours.zion' ORDER BY n DESC LIMIT 3",
    "SELECT n FROM 'hours.zion' ORDER BY n LIMIT 3 OFFSET 2",
    "SELECT * FROM 'hours.zion' LIMIT 2",
    "SELECT DISTINCT of FROM 'hours.zion' ORDER BY of",
    "SELECT COUNT(*) AS n FROM 'hours.zion' h, h.list AS i WHERE i.m > 11000",
    "SELECT n FROM 'hours.zion' WHERE n IN (SELECT MIN(n) AS m FROM 'hours.zion')",
    "WITH t AS (SELECT n FROM 'hours.zion') SELECT COUNT(*) AS n FROM t",
    "SELECT COUNT(*) AS n FROM 'hours.zion' UNION ALL SELECT MAX(n) AS n FROM 'hours.zion'",
]


@pytest.mark.usefixtures("hours")
@pytest.mark.parametrize("query", QUERIES)
@pytest.mark.parametrize("prune", [True, False])
def test_a_query_sees_the_rows_of_that_time_and_no_others(
    tmp_path: Path, query: str, *, prune: bool
) -> None:
    with (tmp_path / "part.ndjson").open("wb") as file:
        sdb.unpack(tmp_path / "hours.zion", file, fmt="json", **PERIOD)
    sdb.pack(tmp_path / "part.ndjson", tmp_path / "part.zion")
    with sdb.sql(query.replace("hours", "part"), root=str(tmp_path)) as wanted:
        expected = list(wanted)
    with sdb.sql(query, root=str(tmp_path), prune=prune, **PERIOD) as result:
        assert list(result) == expected
    assert expected


def test_a_query_prunes_by_since_and_until(run: Run, hours: Path) -> None:
    times = [word for name, at in PERIOD.items() for word in (f"--{name}", at)]
    query = f"SELECT COUNT(*) AS n FROM '{hours}'"
    ended = run("query", "-v", *times, query)
    assert ended.stdout == b'{"n": 150}\n', ended.stderr
    blocks = len(sdb.open(hours).blocks)
    match = re.search(r" (\d+) of (\d+) blocks", ended.stderr.decode())
    assert match
    assert int(match[2]) == blocks > 10
    assert int(match[1]) < blocks / 4
    explained = run("query", "--explain", *times, query).stdout.decode()
    assert "at >= `2024-05-03T03:00:00Z`: " in explained
    assert "(time index)" in explained


def test_the_field_of_since_in_a_query(run: Run, hours: Path, tmp_path: Path) -> None:
    query = f"SELECT MAX(n) AS n FROM '{hours}'"
    late = ["--since", "2024-05-02T23:00:00Z"]
    assert run("query", *late, "--time-field", "seen.at", query).stdout == b'{"n": 3600}\n'
    misspelt = run("query", *late, "--time-field", "seen.att", query)
    assert misspelt.returncode == 0
    assert b"has seen.att; did you mean seen.at?" in misspelt.stderr
    assert run("query", *late, "--strict", "--time-field", "seen.att", query).returncode == 2
    sdb.pack([{"when": dt.datetime(2024, 5, 3, tzinfo=dt.UTC)}], tmp_path / "i.zion")
    differ = run("query", *late, "SELECT COUNT(*) AS n FROM '*.zion'")
    assert differ.returncode == 2
    assert b"the time is at in hours.zion and when in i.zion" in differ.stderr
    assert b"hint: name one with --time-field" in differ.stderr


def test_since_without_rows_to_choose_from(run: Run, tmp_path: Path) -> None:
    assert b"reads no table" in run("query", "--since", "1h", "SELECT 1 AS n").stderr
    alone = run("query", "--time-field", "at", "SELECT 1 AS n")
    assert (alone.returncode, b"only with since or until" in alone.stderr) == (2, True)
    sdb.pack([{"n": 1}], tmp_path / "n.zion")
    timeless = run("query", "--since", "1h", "SELECT * FROM 'n.zion'")
    assert timeless.returncode == 2
    assert b"n.zion: no field is indexed by time" in timeless.stderr


def test_notes_count_no_rows_that_since_leaves_out(run: Run, hours: Path) -> None:
    query = f"SELECT odd, COUNT(*) AS n FROM '{hours}' GROUP BY odd LIMIT 1"
    since = ("--since", "2024-05-03T23:00:00Z")
    ended = run("query", "--dialect", "sneller", *since, query)
    count = f"SELECT COUNT(*) AS n, COUNT(odd) AS odd FROM '{hours}'"
    rows = json.loads(run("query", *since, count).stdout)
    assert 0 < rows["odd"] < rows["n"] < json.loads(run("query", count).stdout)["n"]
    assert ended.stderr == b"note: rows without a key are left out: the dialect is sneller\n"
    usual = run("query", *since, query.replace(" LIMIT 1", ""))  # leaves nothing out
    groups = {row["odd"]: row["n"] for row in map(json.loads, usual.stdout.splitlines())}
    assert (usual.stderr, groups[None]) == (b"", rows["n"] - rows["odd"])
    assert sum(groups.values()) == rows["n"]


@pytest.mark.usefixtures("recent")
@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("at > TIMESTAMP '119m'", {"minute", "hour"}),
        ("at > CAST('-119m' AS TIMESTAMP)", {"minute", "hour"}),
        ("at BETWEEN '2d'::timestamp AND TIMESTAMP 'now'", {"minute", "hour", "day"}),
        ("at < timestamp 'Yesterday' AND age <> 'today'", {"week"}),
        ("age = '2d' OR at > NOW() - INTERVAL '2 minutes'", {"minute"}),
    ],
)
def test_times_that_count_from_now_in_sql(run: Run, condition: str, expected: set[str]) -> None:
    ended = run("head", "--fmt", "json", "--where", condition, "recent.zion")
    assert (ended.returncode, ended.stderr) == (0, b"")
    # A day and a half ago is before yesterday in the morning.
    ages = {json.loads(line)["age"] for line in ended.stdout.splitlines()}
    assert ages - {"day"} == expected - {"day"}
    shown = run("query", "--explain", f"SELECT * FROM 'recent.zion' WHERE {condition}")
    assert shown.returncode == 0, shown.stderr


@pytest.mark.usefixtures("recent")
def test_texts_that_are_no_times_are_told(run: Run) -> None:
    ended = run("head", "--where", "at > 'yesterday'", "recent.zion")
    expected = "warning: at has timestamps and no text in any row: compare at > TIMESTAMP "
    assert ended.stdout == b""
    assert ended.stderr.decode() == f"{expected}'yesterday'\n"
    other = run("head", "--where", "at <= 'May 3'", "recent.zion")
    assert other.stderr.decode().startswith("warning: at has timestamps and no text in any row")
    for fine in ("at > '2015-01-01'", "at <> 'x'", "age > 'yesterday'", "at IS NOT NULL"):
        assert run("head", "--where", fine, "recent.zion").stderr == b"", fine
    bad = run("head", "--where", "at > DATE '1h'", "recent.zion")
    assert (bad.returncode, b"'1h' is not a time" in bad.stderr) == (2, True)


@pytest.mark.parametrize("name", ["a.zion", f"part-00001-{'0' * 32}-{'1' * 16}.zion"])
def test_packing_tells_of_likely_times_and_ends_well_where_it_cannot(run: Run, name: str) -> None:
    row = b'{"ts": 1709528767.5}\n'
    ended = run("pack", "-o", name, "-", data=row)
    is_published = name == "a.zion"  # the other counts for readers once a job has published it
    lines = b"sdb: ts looks like epoch seconds: --time-field ts:unix\n"
    assert (ended.returncode, ended.stderr) == (0, lines if is_published else b"")
    assert run("pack", "-q", "--force", "-o", name, "-", data=row).stderr == b""


def test_a_program_that_packs_is_not_told_of_likely_times(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from sdb import notes

    lines: list[str] = []
    monkeypatch.setattr(notes, "_listeners", [(lines.append, True)])
    sdb.pack([{"ts": 1709528767.5}], tmp_path / "a.zion")
    assert lines == []


def test_queries_take_options_of_times_for_files_that_are_no_packfiles(
    run: Run, tmp_path: Path
) -> None:
    (tmp_path / "in.dat").write_text("at,n\n04/03/2024 06:06,1\n")
    how = ["--input-format", "csv", "--timezone", "Europe/Berlin"]
    query = "SELECT at FROM 'in.dat'"
    read = run("query", *how, "--time-field", "at:%d/%m/%Y %H:%M", query)
    assert json.loads(read.stdout) == {"at": "2024-03-04T05:06:00Z"}
    within = ["--since", "2024-03-04T05:06:00Z", "--time-field", "at:%d/%m/%Y %H:%M"]
    assert json.loads(run("query", *how, *within, query).stdout) == json.loads(read.stdout)
    assert json.loads(run("query", *how, query).stdout) == {"at": "04/03/2024 06:06"}
    refused = run("query", *how, "--time-field", "at", query)
    assert (refused.returncode, b"only with since or until" in refused.stderr) == (2, True)
