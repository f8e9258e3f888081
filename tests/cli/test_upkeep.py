"""The commands that keep tables small: compact, expire and gc."""

from __future__ import annotations

import json
import os
import re
import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest

import sdb

if TYPE_CHECKING:
    from pathlib import Path

    from tests.cli.conftest import Run


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    """Make a table of nine versions in the current folder, all of it two days old."""
    connection = sdb.connect(tmp_path)
    connection.create("d.t", "in/*.json")
    for number in range(9):
        connection.append("d.t", [{"n": number, "at": datetime(2026, 1, 1, tzinfo=UTC)}])
    aged(tmp_path)
    return tmp_path


def aged(folder: Path) -> None:
    """Make all files two days old."""
    then = time.time() - 2 * 86_400
    for path in folder.rglob("*"):
        if path.is_file():
            os.utime(path, (then, then))


def rows(run: Run) -> list[int]:
    text = run("query", "--root", ".", "--fmt", "json", "SELECT n FROM d.t ORDER BY n").stdout
    return [json.loads(line)["n"] for line in text.splitlines()]


def test_compact_expire_and_gc(run: Run, lake: Path) -> None:
    reported = json.loads(run("compact", "-n", "--json", "d.t").stdout)
    assert (reported["version"], reported["packfiles_before"], reported["packfiles_after"]) == (
        None,
        9,
        1,
    )
    assert [item["packfile"] for item in reported["runs"]] == [None]
    assert b"9 packfiles" in run("compact", "d", "t", "-m", "tidy up").stderr
    assert b"nothing to merge among 1 packfile" in run("compact", "d.t").stderr
    assert rows(run) == list(range(9))
    assert b"compact" in run("log", "-n", "1", "d.t").stdout

    reported = json.loads(run("expire", "--keep-last", "2", "-n", "--json", "d.t").stdout)
    assert (reported["version"], reported["expired"], reported["kept"]) == (
        None,
        list(range(1, 9)),
        2,
    )
    done = run("expire", "--keep-last", "2", "d.t")
    assert b"8 versions from 1 to 8 expired, 3 versions are kept" in done.stderr
    assert run("query", "--root", ".", "SELECT * FROM d.t@3").returncode == 3
    assert b"nothing expires" in run("expire", "--keep-last", "2", "d", "t").stderr

    assert b"nothing to delete yet" in run("gc", "d.t").stderr, "what expired was read just now"
    aged(lake)
    reported = run("gc", "-n", "-v", "d.t").stdout.decode().splitlines()
    done = run("gc", "-v", "d.t").stdout.decode().splitlines()
    assert [line.split()[-1] for line in reported] == [line.split()[-1] for line in done]
    # Version 9 has all nine packfiles, and is kept.
    assert len(done) == 8
    assert all("/versions/" in line for line in done)
    assert rows(run) == list(range(9))
    assert not run("validate", "d", "t").returncode
    shown = run("show", "d.t@9")
    assert shown.returncode == 0
    assert b"version 8 has expired, and was collected" in shown.stderr
    assert not run("log", "--stat", "d.t").returncode
    facts = json.loads(run("gc", "--json", "d.t").stdout)
    assert (facts["version"], facts["garbage"]) == (None, [])


def test_gc_says_what_keeps_each_object(run: Run, lake: Path) -> None:
    """Right after `expire` nothing goes, and `gc` says why, and until when."""
    run("tag", "d.t", "report", "3")
    assert run("tag", "d.t@3", "report").returncode == 0
    assert run("branch", "d.t@5", "audit").returncode == 0
    run("fork", "--share", "d.t", "d.copy")
    run("exec", "DELETE FROM d.t WHERE n < 8")
    run("expire", "--all-but-head", "d.t")
    before = time.time()
    done = run("gc", "--grace", "0s", "d.t")
    assert done.returncode == 0
    reported = done.stderr.decode().splitlines()
    assert re.match(r"sdb: nothing to delete yet: of \d+ objects \d+ are held, ", reported[0])
    wanted = ("by the tag report", "by the branch audit", "for d.copy, which shares packfiles")
    for item in wanted:
        assert any(f"held {item}" in line for line in reported), reported
    (grace,) = [line for line in reported if "by the grace period of 0s until " in line]
    until = datetime.fromisoformat(re.search(r"until (\S+Z)", grace)[1])  # type: ignore[index]
    assert 0 < until.timestamp() - before < 5

    facts = json.loads(run("gc", "--grace", "0s", "-n", "--explain", "--json", "d.t").stdout)
    remaining = {item["key"]: item for item in facts["kept"]}
    assert not facts["garbage"]
    needed = {item.key for item in sdb.connect(lake).table("d.t").handle.descriptors()}
    folder = lake / "db/d/t"
    there = {str(path.relative_to(lake)) for path in (folder / "data").rglob("*.zion")}
    assert there - needed == {key for key in remaining if key.endswith(".zion")}
    assert sum(item["objects"] for item in facts["held"]) == len(remaining)
    assert sum(item["bytes"] for item in facts["held"]) == sum(
        (lake / key).stat().st_size for key in remaining
    )
    lines = run("gc", "-n", "--explain", "d.t").stdout.decode().splitlines()
    assert {line.split()[0] for line in lines} == remaining.keys()

    for words in ("tag -d d.t report", "branch -d d.t audit"):
        assert run(*words.split()).returncode == 0
    aged(lake)
    reported = run("gc", "--grace", "0s", "-n", "d.t").stderr.decode().splitlines()
    assert "would be deleted" in reported[0]
    assert not any("tag" in line or "branch" in line or "grace" in line for line in reported)


def test_gc_of_a_table_in_use_says_so(run: Run, tmp_path: Path) -> None:
    connection = sdb.connect(tmp_path)
    connection.create("d.t", "in/*.json")
    connection.append("d.t", [{"n": 1}])
    messages = run("gc", "d.t").stderr.decode()
    assert re.fullmatch(r"sdb: nothing to delete: \d objects, all in use\n", messages), messages


def test_what_died_is_collected(run: Run, lake: Path) -> None:
    folder = lake / "db/d/t"
    left = [folder / "data/AAAA.zion", folder / ".x.0a0a.tmp", folder / "p/packed-A.zion"]
    remaining = [folder / "notes.txt", folder / "data/notes.txt", folder / "inputs-old.txt"]
    for path in left + remaining:
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(b"x")
    fresh = folder / "data/BBBB.zion"
    aged(lake)
    fresh.write_bytes(b"x")
    facts = json.loads(run("gc", "--json", "d.t").stdout)
    assert {leftover["key"] for leftover in facts["garbage"]} == {
        str(path.relative_to(lake)) for path in left
    }
    assert not any(path.exists() for path in left)
    assert all(path.exists() for path in [*remaining, fresh])


def test_nothing_is_deleted_when_a_node_cannot_be_read(run: Run, lake: Path) -> None:
    folder = lake / "db/d/t"
    (folder / "data/AAAA.zion").write_bytes(b"x")
    damaged = sorted((folder / "versions").iterdir())[4]
    data = bytearray(damaged.read_bytes())
    data[-40] ^= 1
    damaged.write_bytes(data)
    aged(lake)
    for words in (["gc", "d.t"], ["gc", "-n", "d.t"]):
        done = run(*words)
        assert done.returncode == 6
        assert damaged.name.encode() in done.stderr
    assert (folder / "data/AAAA.zion").exists()
    damaged.unlink()
    assert run("gc", "d.t").returncode == 6
    assert (folder / "data/AAAA.zion").exists()


BAD = (
    ("expire d.t --keep-last 1", 2, "--all-but-head says so"),
    ("expire d.t --keep-within 7", 2, "not a span of time"),
    ("expire d.t --all-but-head --keep-last 3", 2, "keeps nothing"),
    ("expire d.u", 3, "there is no table d.u"),
    ("compact d.u", 3, "there is no table d.u"),
    ("compact d.t@2", 2, "is a version of a table"),
    ("gc d.u", 3, "there is no table d.u"),
    ("gc d.t --grace soon", 2, "not a span of time"),
    ("gc d", 2, "'d' alone is a database"),
)


def test_bad_words(run: Run, lake: Path) -> None:
    assert lake
    for words, code, text in BAD:
        done = run(*words.split())
        assert done.returncode == code, done.stderr
        assert text in done.stderr.decode()


def test_no_policy_is_an_error(run: Run, lake: Path) -> None:
    path = lake / "db/d/t/definition.json"
    definition = json.loads(path.read_text())
    policy = {"keep_last": 10, "keep_for": "7d", "thin": "1h:all,1d:1m,7d:1h"}
    assert definition.pop("versions") == policy
    assert b"nothing expires" in run("expire", "d.t").stderr
    path.write_text(json.dumps(definition))
    done = run("expire", "d.t")
    assert done.returncode == 2
    assert b"no policy says which versions of d.t to keep" in done.stderr
