"""Rows without a key on the command line: --missing, SET, SDB_MISSING and settings."""

from __future__ import annotations

import json
import subprocess
from typing import TYPE_CHECKING

import pytest

import sdb
from tests.cli.conftest import COMMAND, environment
from tests.cli.test_settings import own

if TYPE_CHECKING:
    from pathlib import Path

QUERY = "SELECT k, COUNT(*) AS n FROM rows GROUP BY k ORDER BY k"
LEFT_OUT = "note: 2 of 4 rows have no k and are left out (the key COALESCE(k, '-') keeps them)\n"
BY_SETTING = "note: rows without a key are kept: SDB_MISSING is keep (see sdb config)\n"
FEWER = [{"k": "a", "n": 1}, {"k": "b", "n": 1}]
KEPT = [*FEWER, {"n": 2}]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A folder in the home of its user, with rows of which two have no key."""
    folder = tmp_path / "home/work"
    folder.mkdir(parents=True)
    lines = [{"k": "a"}, {"i": 1}, {"k": "b"}, {"i": 2}]
    (folder / "rows.json").write_text("".join(json.dumps(line) + "\n" for line in lines))
    sdb.pack([folder / "rows.json"], folder / "rows.zion")
    return folder


def command(
    folder: Path, *words: str, data: str = "", **more: str
) -> subprocess.CompletedProcess[str]:
    """Run a command in the folder of a user."""
    return subprocess.run(
        [*COMMAND, *words],
        cwd=folder,
        env=environment(HOME=str(folder.parent), **more),
        input=data,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def rows(text: str) -> list[dict[str, object]]:
    return [json.loads(line) for line in text.splitlines()]


def test_31_5_the_first_of_set_flag_environment_project_and_user_counts(project: Path) -> None:
    def asked(*words: str, text: str = QUERY, **more: str) -> tuple[int, str]:
        done = command(project, "query", *words, text, **more)
        assert done.returncode == 0
        return len(rows(done.stdout)), done.stderr

    left_out, remaining = (2, LEFT_OUT), (3, "")
    assert asked() == left_out
    own(project, 'missing = "keep"')
    assert asked() == (3, BY_SETTING)
    (project / "sdb.toml").write_text('missing = "drop"')
    assert asked() == left_out
    assert asked(SDB_MISSING="keep") == (3, BY_SETTING)
    assert asked("--missing", "keep", SDB_MISSING="drop") == remaining
    assert asked("--missing", "drop", SDB_MISSING="keep") == left_out
    assert asked("--missing", "drop", text=f"SET missing = keep; {QUERY}") == remaining
    assert asked("--missing", "keep", text=f"SET missing = drop; {QUERY}") == left_out
    shown = json.loads(command(project, "config", "--json").stdout)["settings"]
    (setting,) = [entry for entry in shown if entry["name"] == "missing"]
    assert (setting["value"], setting["from"]) == ("drop", "project")


def test_31_5_what_is_no_mode_is_refused(project: Path) -> None:
    for words, more in ((["--missing", "all"], {}), ([], {"SDB_MISSING": "all"})):
        done = command(project, "query", *words, QUERY, **more)
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr.endswith("hint: expected drop or keep\n")
    (project / "sdb.toml").write_text('missing = "all"')
    done = command(project, "query", QUERY)
    assert (done.returncode, done.stdout) == (2, "")
    assert 'sdb.toml: missing is "all"' in done.stderr
    done = command(project, "query", "SET missing = all; SELECT 1", SDB_MISSING="drop")
    assert done.returncode == 2


def test_31_5_explain_says_that_rows_are_kept(project: Path) -> None:
    line = "missing = keep: rows without a key are kept\n"
    assert line in command(project, "query", "--explain", "--missing", "keep", QUERY).stdout
    assert line not in command(project, "query", "--explain", QUERY).stdout
    facts = command(project, "query", "--explain", "--json", "--missing", "keep", QUERY).stdout
    assert json.loads(facts)["missing"] == "keep"


def test_31_5_set_holds_for_a_session(project: Path) -> None:
    def said(text: str, *words: str) -> tuple[list[dict[str, object]], str]:
        done = command(project, "shell", *words, data=text)
        assert done.returncode == 0, done.stderr
        return rows(done.stdout), done.stderr

    remaining = f"SET missing = keep; {QUERY}; {QUERY}"
    actual, reported = said(f"{QUERY}; {remaining}; SET missing = drop; {QUERY}")
    assert actual == FEWER + KEPT + KEPT + FEWER
    middle = "rows without a key are kept\nrows without a key are left out\n"
    assert reported == LEFT_OUT + middle + LEFT_OUT
    assert said(QUERY, "--missing", "keep") == (KEPT, "")


def test_31_5_set_holds_for_the_statements_behind_it(project: Path) -> None:
    copy = "CREATE TABLE db.{} AS SELECT DISTINCT k FROM read_file('rows.zion')"
    text = f"{copy.format('a')}; SET missing = keep; {copy.format('b')}; {copy.format('c')}"
    assert command(project, "exec", text).returncode == 0
    assert command(project, "exec", "--missing", "keep", copy.format("d")).returncode == 0
    for name, count in (("a", 2), ("b", 3), ("c", 3), ("d", 3)):
        done = command(project, "query", f"SELECT COUNT(*) AS n FROM db.{name}")
        assert rows(done.stdout) == [{"n": count}]
