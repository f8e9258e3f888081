"""Questions before much changes: asked on a terminal, one line elsewhere."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

    from tests.cli.conftest import Run, Screen

UPDATE = ("exec", "--root", "lake", "UPDATE d.t SET n = n + 10")


@pytest.fixture
def lake(run: Run, tmp_path: Path) -> Path:
    values = ", ".join(f"({{'id': {n}, 'n': {n}}})" for n in range(3))
    text = f"CREATE TABLE d.t; INSERT INTO d.t VALUES {values}"
    assert run("exec", "--root", "lake", text).returncode == 0
    return tmp_path / "lake"


def numbers(run: Run) -> list[int]:
    result = run("query", "--root", "lake", "--fmt", "json", "SELECT n FROM d.t ORDER BY n")
    return [json.loads(line)["n"] for line in result.stdout.splitlines()]


@pytest.mark.usefixtures("lake")
def test_update_without_where_is_asked_about_on_a_terminal(run: Run, screen: Screen) -> None:
    code, shown = screen(*UPDATE, typed="n\n")
    assert "UPDATE d.t has no WHERE: it changes all 3 rows. Go on? [y/N]" in shown
    assert "nothing was changed" in shown
    assert (code, numbers(run)) == (1, [0, 1, 2])
    code, shown = screen(*UPDATE, typed="y\n")
    assert (code, numbers(run)) == (0, [10, 11, 12])
    code, shown = screen(*UPDATE, "--yes")
    assert "Go on?" not in shown
    assert (code, numbers(run)) == (0, [20, 21, 22])
    code, shown = screen("exec", "--root", "lake", "UPDATE d.t SET n = 0 WHERE n > 0", typed="")
    assert (code, "Go on?" in shown) == (0, False)


@pytest.mark.usefixtures("lake")
def test_update_without_where_is_told_of_in_a_script(run: Run) -> None:
    done = run(*UPDATE)
    assert done.returncode == 0
    assert done.stderr.decode().splitlines() == [
        "warning: UPDATE d.t has no WHERE: it changes all 3 rows"
    ]
    assert run(*UPDATE, "-n").stderr == b""


@pytest.mark.usefixtures("lake")
def test_delete_without_where_is_asked_about_as_update_is(run: Run, screen: Screen) -> None:
    delete = ("exec", "--root", "lake", "DELETE FROM d.t")
    code, shown = screen(*delete, typed="n\n")
    assert "DELETE d.t has no WHERE: it deletes all 3 rows. Go on? [y/N]" in shown
    assert (code, numbers(run)) == (1, [0, 1, 2])
    done = run(*delete)
    assert (done.returncode, numbers(run)) == (0, [])
    assert done.stderr.decode().splitlines() == [
        "warning: DELETE d.t has no WHERE: it deletes all 3 rows"
    ]


@pytest.mark.usefixtures("lake")
def test_a_purge_is_asked_about_on_a_terminal(run: Run, screen: Screen) -> None:
    purge = ("purge", "--root", "lake", "d.t", "--where", "n >= 1")
    code, shown = screen(*purge, typed="n\n")
    assert "d.t: a purge takes 2 rows, and all versions with 1 packfile" in shown
    assert (code, numbers(run)) == (1, [0, 1, 2])
    code, shown = screen(*purge, "--yes")
    assert "Go on?" not in shown
    assert (code, numbers(run)) == (0, [0])


@pytest.mark.usefixtures("lake")
def test_a_field_to_set_that_no_row_has_is_told(run: Run) -> None:
    done = run("exec", "--root", "lake", "UPDATE d.t SET N = 1 WHERE id = 1")
    assert done.returncode == 0
    assert done.stderr.decode().splitlines() == ['warning: no row of d.t has "N"; did you mean n?']
    again = run("exec", "--root", "lake", "UPDATE d.t SET N = 2 WHERE id = 1")
    assert again.stderr == b""


def branched(run: Run) -> None:
    """Change a row on both sides, and another one on each."""
    assert run("branch", "--root", "lake", "d.t", "side").returncode == 0
    for text in (
        "UPDATE d.t SET n = 10 WHERE id <= 1",
        "UPDATE d.t@side SET n = 20 WHERE id = 1",
        "DELETE FROM d.t@side WHERE id = 2",
    ):
        assert run("exec", "--root", "lake", text).returncode == 0


MERGE = ("merge", "--root", "lake", "d.t", "side")


@pytest.mark.usefixtures("lake")
def test_a_conflict_names_rows_with_all_values(run: Run) -> None:
    branched(run)
    done = run(*MERGE)
    assert done.returncode == 5
    assert done.stderr.decode().splitlines() == [
        'conflict: {"id": 1, "n": 1}',
        '  base: {"n": 1}',
        '  main: {"n": 10}',
        '  side: {"n": 20}',
        "sdb: merging side into main: 1 row changed on both sides",
        "hint: --strategy source takes what side has, --strategy dest main",
    ]
    conflicts = json.loads(run(*MERGE, "--json").stdout)["conflicts"]
    (row,) = conflicts["rows"]
    assert (row["row"], row["ours"], row["theirs"]) == (1, {"id": 1, "n": 10}, {"id": 1, "n": 20})
    assert (conflicts["row_count"], conflicts["packfiles"], conflicts["inputs"]) == (1, [], [])
    assert numbers(run) == [2, 10, 10]


@pytest.mark.usefixtures("lake")
def test_a_strategy_asks_before_it_drops_rows(run: Run, screen: Screen) -> None:
    branched(run)
    done = run(*MERGE, "--strategy", "source")
    assert done.returncode == 5
    hint = done.stderr.decode().splitlines()[-1]
    assert hint == "hint: --strategy source drops 1 row: --yes agrees"
    code, shown = screen(*MERGE, "--strategy", "source", typed="n\n")
    assert "--strategy source drops 1 row that main has changed. Go on? [y/N]" in shown
    assert (code, numbers(run)) == (5, [2, 10, 10])
    code, shown = screen(*MERGE, "--strategy", "source", typed="y\n")
    assert (code, numbers(run)) == (0, [10, 20])
    assert "dropped 1 row that main had changed" in shown
    assert "1 row updated, 1 deleted" in shown


@pytest.mark.usefixtures("lake")
def test_a_strategy_that_drops_nothing_asks_nothing(run: Run) -> None:
    assert run("branch", "--root", "lake", "d.t", "side").returncode == 0
    for text in (
        "UPDATE d.t SET n = 10 WHERE id = 1",
        "UPDATE d.t@side SET n = 20 WHERE id = 2; INSERT INTO d.t@side VALUES ({'id': 4, 'n': 4})",
    ):
        assert run("exec", "--root", "lake", text).returncode == 0
    done = run(*MERGE, "--strategy", "source")
    assert (done.returncode, numbers(run)) == (0, [0, 4, 10, 20])
    assert done.stderr == b"sdb: version 4 of d.t: 1 row inserted, 1 updated\n"


@pytest.mark.usefixtures("lake")
def test_a_restore_counts_the_rows_that_it_changes(run: Run) -> None:
    before = numbers(run)
    assert run("exec", "--root", "lake", "UPDATE d.t SET n = 7 WHERE id = 1").returncode == 0
    assert run("restore", "--root", "lake", "d.t", "-1").returncode == 0
    assert numbers(run) == before
    log = json.loads(run("log", "--root", "lake", "--json", "d.t").stdout)
    changes = [version["changes"] for version in log["versions"][:2]]
    assert [change["rows_updated"] for change in changes] == [1, 1]


@pytest.mark.usefixtures("lake")
def test_a_conflict_shows_what_differs(run: Run) -> None:
    nested = "{'a': {'b': 1, 'c': [1, 2]}, 'd': 1}"
    for text in (
        f"UPDATE d.t SET x = {nested}, n = 5 WHERE id = 1",
        f"UPDATE d.t@side SET x = {nested.replace('1, 2', '1, 3')} WHERE id = 1",
    ):
        if "@side" in text:
            assert run("branch", "--root", "lake", "d.t@-1", "side").returncode == 0
        assert run("exec", "--root", "lake", text).returncode == 0
    first, *lines = run(*MERGE).stderr.decode().splitlines()
    assert first == 'conflict: {"id": 1, "n": 1}'
    assert lines[:3] == [
        '  base: {"n": 1}',
        '  main: {"n": 5, "x": {"a": {"b": 1, "c": [1, 2]}, "d": 1}}',
        '  side: {"n": 1, "x": {"a": {"b": 1, "c": [1, 3]}, "d": 1}}',
    ]
