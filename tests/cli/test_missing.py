"""Rows without a key on the command line: --dialect, SET, SDB_DIALECT and settings."""

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
LEFT_OUT = "note: 2 rows without a key are left out: the dialect is sneller\n"
BY_SETTING = "note: the dialect is sneller: SDB_DIALECT says so (see sdb config)\n"
FEWER = [{"k": "a", "n": 1}, {"k": "b", "n": 1}]
KEPT = [*FEWER, {"k": None, "n": 2}]


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


def test_the_first_of_set_flag_environment_project_and_user_counts(project: Path) -> None:
    def asked(*words: str, text: str = QUERY, **more: str) -> tuple[int, str]:
        done = command(project, "query", *words, text, **more)
        assert done.returncode == 0
        return len(rows(done.stdout)), done.stderr

    left_out, remaining = (2, LEFT_OUT), (3, "")
    assert asked() == remaining
    own(project, 'dialect = "standard"')
    assert asked() == remaining
    (project / "sdb.toml").write_text('dialect = "sneller"')
    assert asked() == (2, BY_SETTING + LEFT_OUT)
    assert asked(SDB_DIALECT="standard") == remaining
    assert asked("--dialect", "standard", SDB_DIALECT="sneller") == remaining
    assert asked("--dialect", "sneller", SDB_DIALECT="standard") == left_out
    assert asked("--dialect", "sneller", text=f"SET dialect = standard; {QUERY}") == remaining
    assert asked("--dialect", "standard", text=f"SET dialect = sneller; {QUERY}") == left_out
    shown = json.loads(command(project, "config", "--json").stdout)["settings"]
    (setting,) = [entry for entry in shown if entry["name"] == "dialect"]
    assert (setting["value"], setting["from"]) == ("sneller", "project")


def test_what_is_no_mode_is_refused(project: Path) -> None:
    for words, more in ((["--dialect", "all"], {}), ([], {"SDB_DIALECT": "all"})):
        done = command(project, "query", *words, QUERY, **more)
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr.endswith("hint: expected standard or sneller\n")
    (project / "sdb.toml").write_text('dialect = "all"')
    done = command(project, "query", QUERY)
    assert (done.returncode, done.stdout) == (2, "")
    assert 'sdb.toml: dialect is "all"' in done.stderr
    done = command(project, "query", "SET dialect = all; SELECT 1", SDB_DIALECT="sneller")
    assert done.returncode == 2


def test_explain_says_the_dialect(project: Path) -> None:
    line = "the dialect is sneller\n"
    assert line in command(project, "query", "--explain", "--dialect", "sneller", QUERY).stdout
    assert line not in command(project, "query", "--explain", QUERY).stdout
    facts = command(project, "query", "--explain", "--json", "--dialect", "standard", QUERY).stdout
    assert json.loads(facts)["dialect"] == "standard"


def test_set_holds_for_a_session(project: Path) -> None:
    def said(text: str, *words: str) -> tuple[list[dict[str, object]], str]:
        done = command(project, "shell", *words, data=text)
        assert done.returncode == 0, done.stderr
        return rows(done.stdout), done.stderr

    fewer = f"SET dialect = sneller; {QUERY}; {QUERY}"
    actual, reported = said(f"{QUERY}; {fewer}; SET dialect = standard; {QUERY}")
    assert actual == KEPT + FEWER + FEWER + KEPT
    assert reported == f"the dialect is sneller\n{LEFT_OUT * 2}the dialect is standard\n"
    assert said(QUERY, "--dialect", "sneller") == (FEWER, LEFT_OUT)


def test_set_holds_for_the_statements_behind_it(project: Path) -> None:
    copy = "CREATE TABLE db.{} AS SELECT DISTINCT k FROM read_file('rows.zion')"
    text = f"{copy.format('a')}; SET dialect = sneller; {copy.format('b')}; {copy.format('c')}"
    assert command(project, "exec", text).returncode == 0
    assert command(project, "exec", "--dialect", "sneller", copy.format("d")).returncode == 0
    for name, count in (("a", 3), ("b", 2), ("c", 2), ("d", 2)):
        done = command(project, "query", f"SELECT COUNT(*) AS n FROM db.{name}")
        assert rows(done.stdout) == [{"n": count}]
