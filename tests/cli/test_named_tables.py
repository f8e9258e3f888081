"""`sdb ls`, `cp`, `rename`, `drop` and `undrop`."""

from __future__ import annotations

import json
import shlex
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest

import sdb
from sdb.errors import SdbError
from sdb.table.catalog.root import table_root
from sdb.table.format.keys import TableKeys
from sdb.table.history.rename import rename

if TYPE_CHECKING:
    from pathlib import Path

    from tests.cli.conftest import Run

LAKE = ("--root", "lake")


@pytest.fixture(autouse=True)
def lake(tmp_path: Path) -> sdb.Connection:
    """Make `web.gha` of two versions, which two inputs were synced into."""
    (tmp_path / "lake/in").mkdir(parents=True)
    db = sdb.connect(tmp_path / "lake")
    db.create("web.gha", "in/*.json")
    for n in range(2):
        (tmp_path / f"lake/in/{n}.json").write_text(f'{{"n": {n}}}\n')
        db.sync("web.gha")
    return db


def numbers(run: Run, name: str) -> list[int] | None:
    done = run("unpack", "--fmt", "json", *LAKE, name)
    rows = [json.loads(line)["n"] for line in done.stdout.splitlines()]
    return None if done.returncode else rows


def listed(run: Run, *words: str) -> list[str]:
    facts = json.loads(run("ls", "--json", *words).stdout)
    return [f"{table['database']}.{table['table']}" for table in facts["tables"]]


def test_what_was_dropped_comes_back_with_rows_tags_and_inputs(run: Run) -> None:
    run("tag", *LAKE, "web.gha@1", "first")
    would = run("drop", "-n", *LAKE, "web", "gha")
    assert would.stdout.startswith(b"would have dropped web.gha with 2 rows")
    assert numbers(run, "web.gha") == [0, 1]
    done = run("drop", *LAKE, "web.gha", "-m", "a mistake")
    assert done.stdout == b"dropped web.gha with 2 rows: version 3\n"
    assert b"sdb undrop web.gha brings it back" in done.stderr
    for words in (["head", "web.gha"], ["drop", "web.gha"], ["sync", "web.gha"]):
        refused = run(words[0], *LAKE, *words[1:])
        assert refused.returncode == 3, words
        assert b"was dropped (a mistake)" in refused.stderr, words
        assert b"sdb undrop web.gha" in refused.stderr
    assert listed(run, *LAKE) == []
    assert listed(run, "--dropped", *LAKE) == ["web.gha"]
    assert b"web.gha     2" in run("ls", "--dropped", *LAKE).stdout
    assert numbers(run, "web.gha@first") == [0]
    back = run("undrop", *LAKE, "web.gha")
    assert back.stdout == b"brought web.gha back: version 4\n"
    assert run("undrop", *LAKE, "web.gha").returncode == 4
    assert (numbers(run, "web.gha"), numbers(run, "web.gha@first")) == ([0, 1], [0])
    assert run("sync", *LAKE, "web.gha").returncode == 0
    assert numbers(run, "web.gha") == [0, 1]


def test_a_collection_keeps_what_undrop_needs(run: Run) -> None:
    run("drop", *LAKE, "web.gha")
    assert run("expire", *LAKE, "web.gha").returncode == 0
    assert run("gc", "--grace", "0s", *LAKE, "web.gha").returncode == 0
    assert run("undrop", *LAKE, "web.gha").returncode == 0
    assert numbers(run, "web.gha") == [0, 1]
    run("drop", *LAKE, "web.gha")
    assert run("expire", "--all-but-head", *LAKE, "web.gha").returncode == 0
    gone = run("undrop", *LAKE, "web.gha")
    assert (gone.returncode, b"expired" in gone.stderr) == (3, True)


def test_a_dropped_table_is_made_anew_only_if_that_is_said(run: Run) -> None:
    run("drop", *LAKE, "web.gha")
    words = ("web.gha", "--input", "in/*.json")
    refused = run("create", *LAKE, *words)
    assert (refused.returncode, b"sdb undrop web.gha" in refused.stderr) == (4, True)
    assert run("create", "--force", *LAKE, *words).returncode == 0
    assert numbers(run, "web.gha") == []
    assert run("sync", *LAKE, "web.gha").returncode == 0
    assert sorted(numbers(run, "web.gha") or []) == [0, 1]


def test_a_renamed_table_has_rows_definition_and_inputs(run: Run, tmp_path: Path) -> None:
    done = run("rename", *LAKE, "web", "gha", "ops.events")
    assert done.returncode == 0, done.stderr
    assert done.stderr.startswith(b"sdb: web.gha is ops.events now")
    assert (numbers(run, "web.gha"), numbers(run, "ops.events")) == (None, [0, 1])
    assert b"rename of web.gha to ops.events" in run("head", *LAKE, "web.gha").stderr
    (tmp_path / "lake/in/2.json").write_text('{"n": 2}\n')
    assert run("sync", *LAKE, "ops.events").returncode == 0
    assert numbers(run, "ops.events") == [0, 1, 2], "each input once"
    assert run("validate", *LAKE, "ops.events").returncode == 0
    assert run("rename", *LAKE, "ops.events", "web.gha").returncode == 4, "it can be brought back"
    assert run("undrop", *LAKE, "web.gha").returncode == 0
    assert numbers(run, "web.gha") == [0, 1]
    assert run("rename", *LAKE, "web.gha", "ops.events").returncode == 4
    assert run("rename", *LAKE, "web.none", "ops.x").returncode == 3
    assert run("rename", *LAKE, "web.gha", "web.gha").returncode == 4


def test_a_table_with_branches_is_neither_renamed_nor_dropped(run: Run) -> None:
    run("branch", *LAKE, "web.gha", "audit")
    for words in (["rename", "web.gha", "web.other"], ["drop", "web.gha"]):
        refused = run(words[0], *LAKE, *words[1:])
        assert (refused.returncode, b"audit" in refused.stderr) == (8, True)
    assert numbers(run, "web.gha") == [0, 1]
    assert listed(run, *LAKE) == ["web.gha"]


def test_writers_meet_a_rename_and_no_acknowledged_row_is_lost(
    lake: sdb.Connection, run: Run
) -> None:
    acknowledged: list[int] = []
    refusals: list[SdbError] = []

    def write(first: int) -> None:
        for n in range(first, first + 1000):
            try:
                lake.append("web.gha", [{"n": n}])
            except SdbError as error:
                refusals.append(error)
                return
            acknowledged.append(n)

    with ThreadPoolExecutor(3) as pool:
        writers = [pool.submit(write, 1000 * number) for number in (1, 2, 3)]
        while len(acknowledged) < 5:
            pass
        keys = TableKeys("web", "gha"), TableKeys("web", "new")
        rename(table_root(lake.root.location), *keys)
        for writer in writers:
            writer.result()
    assert {error.exit_code for error in refusals} <= {3, 5}
    reason = "was dropped (rename of web.gha to web.new)"
    assert all(reason in str(error) for error in refusals if error.exit_code == 3)
    assert sorted(numbers(run, "web.new") or []) == sorted([0, 1, *acknowledged])
    assert numbers(run, "web.gha") is None


def test_copies_are_tables_of_their_own(run: Run) -> None:
    assert run("cp", *LAKE, "web.gha@1", "web.before").returncode == 0
    assert run("cp", *LAKE, "web", "gha", "web.copy").returncode == 0
    assert run("cp", *LAKE, "web.gha", "web.copy").returncode == 4
    assert run("drop", *LAKE, "web.gha").returncode == 0
    assert (numbers(run, "web.before"), numbers(run, "web.copy")) == ([0], [0, 1])


def test_ls_takes_roots_databases_patterns_and_tables(run: Run) -> None:
    run("cp", *LAKE, "web.gha", "ops.copy")
    run("tag", *LAKE, "web.gha@1", "first")
    every = ["ops.copy", "web.gha"]
    assert listed(run, *LAKE) == listed(run, "lake") == listed(run, "./lake") == every
    assert listed(run, *LAKE, "web") == listed(run, *LAKE, "web.g*") == ["web.gha"]
    versions = json.loads(run("ls", "--json", *LAKE, "web.gha").stdout)["versions"]
    named = [(version["name"], version["kind"], version["rows"]) for version in versions]
    assert sorted(named) == [("first", "tag", 1), ("main", "branch", 2)]
    assert b"first     tag        1" in run("ls", *LAKE, "web.gha").stdout
    for words in (["web.none"], ["none"], ["/nowhere"]):
        assert run("ls", *LAKE, *words).returncode == 3, words


def test_a_table_without_rows_is_not_dropped(run: Run) -> None:
    run("create", "-q", *LAKE, "web.new", "--input", "x/*.json")
    refused = run("drop", *LAKE, "web.new")
    assert (refused.returncode, b"it is only a definition" in refused.stderr) == (2, True)
    assert run("undrop", *LAKE, "web.new").returncode == 3


def test_completion_and_the_shell_know_tables_versions_and_fields(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from sdb.cli import complete
    from sdb.cli.shell.suggestions import Suggestions

    root = str(tmp_path / "lake")
    run("tag", *LAKE, "web.gha@1", "first")
    monkeypatch.setenv("COMP_WORDS", f"sdb log --root {root} web")
    assert complete._tables("we") == ["web.gha"]
    assert complete._tables("web.gha@f") == ["web.gha@first"]
    assert complete._tables("web.gha@") == [
        f"web.gha@{name}" for name in ("first", "main", "2", "1")
    ]
    assert complete._packfiles_and_tables("web.") == ["web.gha"]
    monkeypatch.setenv("COMP_WORDS", f"sdb head --root {root} web.gha --fields n")
    assert complete._fields("") == ["n"]
    monkeypatch.setenv("COMP_WORDS", "sdb log --root s3://nowhere web")
    assert complete._tables("we") == []
    suggest = Suggestions(root)
    assert suggest("SELECT * FROM we", "SELECT * FROM we") == ("we", ["web.gha"])
    assert "n" in suggest("SELECT ", "SELECT  FROM web.gha")[1]
    listed_tables = run("--root", "lake", "shell", data=b"\\d\n")
    assert b"web.gha" in listed_tables.stdout
    assert b"n  int" in run("--root", "lake", "shell", data=b"\\d web.gha\n").stdout


def test_a_pattern_in_quotes_reads_all_tables_that_match(
    run: Run, lake: sdb.Connection, tmp_path: Path
) -> None:
    for name, number in (("web.other", 7), ("app.gha", 9), ("web.gone", 11)):
        lake.execute(f"CREATE TABLE {name}")
        lake.append(name, [{"n": number}])
    lake.table("web.gha").tag("first", "@1")
    run("drop", *LAKE, "web.gone")

    def answer(table: str, more: str = "") -> list[int] | bytes:
        query = f"SELECT n FROM '{table}' AS t {more} ORDER BY n"
        done = run("query", "--fmt", "json", *LAKE, query)
        rows = [json.loads(line)["n"] for line in done.stdout.splitlines()]
        return done.stderr if done.returncode else rows

    assert answer("web.*") == [0, 1, 7]
    assert answer("*.gha") == [0, 1, 9]
    assert answer("*.*", "WHERE n > 5") == [7, 9]
    assert answer("web.g*@first") == [0]
    nothing = answer("nope.*")
    assert isinstance(nothing, bytes)
    assert nothing.startswith(b"sdb: there is no table nope.* below lake")
    # Files that match count before tables.
    sdb.pack([{"n": 42}], tmp_path / "lake/web.zion")
    assert answer("web.*") == [42]


def test_the_hint_for_a_table_without_inputs_makes_one(run: Run) -> None:
    for name in ("web.plain", "web.sel-ect"):
        refused = run("create", *LAKE, name)
        assert refused.returncode == 2
        command = refused.stderr.decode().rpartition("for rows of insert alone, sdb ")[2]
        words = shlex.split(command)
        assert words[0] == "exec"
        assert run(*words).returncode == 0, command
        assert run("insert", *LAKE, name, "-", data=b'{"n": 1}').returncode == 0
        assert numbers(run, name) == [1]
