"""The commands about versions of tables."""

from __future__ import annotations

import json
import os
import time
from typing import TYPE_CHECKING

import pytest

import sdb
from sdb.table.catalog.handle import open_table
from sdb.table.catalog.root import table_root
from sdb.table.commit.change import TableChange
from sdb.table.commit.commit import commit
from sdb.table.format.keys import TableKeys
from tests.table.roots import unpacked

if TYPE_CHECKING:
    from pathlib import Path

    from tests.cli.conftest import Run, Screen


@pytest.fixture
def lake(run: Run, tmp_path: Path) -> Path:
    """Make a table of three versions in the current folder."""
    assert not run("create", "d", "t", "--input", "in/*.json").returncode
    for number in range(1, 4):
        rows = "".join(f'{{"n": {n}, "v": {number}}}\n' for n in range(number))
        words = ("insert", "d.t", "-m", f"add {number}", "--txn-id", f"id{number}")
        assert not run(*words, data=rows.encode(), SDB_AUTHOR="ada").returncode
    return tmp_path


def test_log_in_a_pipe_and_as_json(run: Run, lake: Path) -> None:
    assert lake
    lines = run("log", "d.t").stdout.decode().splitlines()
    assert [line.split()[0] for line in lines] == ["3", "2", "1"]
    words = lines[0].split()
    assert words[2:5] == ["ada", "insert", "+3"]
    assert words[-2:] == ["add", "3"]
    facts = json.loads(run("log", "--json", "-n", "2", "d.t").stdout)
    assert facts["table"] == "d.t"
    assert [file["version"] for file in facts["versions"]] == [3, 2]
    newest = facts["versions"][0]
    assert (newest["author"], newest["message"], newest["id"]) == ("ada", "add 3", "id3")
    assert (newest["rows"], newest["changes"]["rows_added"], newest["parents"]) == (6, 3, [2])
    stat = run("log", "--stat", "-n", "1", "d.t@2").stdout.decode().splitlines()
    assert stat[0].startswith("2 ")
    assert "2 rows" in stat[1]
    assert len(stat) == 2
    with_files = json.loads(run("log", "--json", "--stat", "d.t").stdout)["versions"]
    assert [len(file["added"]) for file in with_files] == [1, 1, 1]
    assert [file["version"] for file in with_files] == [3, 2, 1]


def test_log_on_a_narrow_terminal(screen: Screen, lake: Path) -> None:
    assert lake
    code, text = screen("log", "d.t", columns=50)
    assert code == 0
    lines = text.splitlines()
    assert lines[0].startswith("3 ")
    assert lines[1] == "    add 3"
    assert len(lines) == 6
    code, wide = screen("log", "d.t", columns=120)
    assert len(wide.splitlines()) == 3


def test_show_and_diff(run: Run, lake: Path) -> None:
    assert lake
    shown = run("show", "d.t@-1").stdout.decode()
    assert "version    2\n" in shown
    assert "rows       3 (+2)" in shown
    facts = json.loads(run("show", "--json", "d.t@2").stdout)
    assert (facts["table"], facts["version"], facts["packfiles"]) == ("d.t", 2, 2)
    assert [item["rows"] for item in facts["added"]] == [2]
    text = run("diff", "d.t@1", "@3").stdout.decode().splitlines()
    assert [line[:1] for line in text[:2]] == ["+", "+"]
    assert text[-1] == "the same 1 packfile"
    difference = json.loads(run("diff", "--json", "d.t@3", "d.t@1").stdout)
    assert (difference["rows_removed"], difference["packfiles_added"]) == (5, 0)
    rows = run("diff", "--rows", "d.t@2").stdout.splitlines()
    actual = [json.loads(line) for line in rows]
    assert sorted((item["sign"], item["row"]["n"]) for item in actual) == [
        ("+", 0),
        ("+", 1),
        ("+", 2),
    ]
    back = run("diff", "--rows", "d.t", "@2").stdout.splitlines()
    assert {json.loads(line)["sign"] for line in back} == {"-"}


def test_versions_stand_behind_their_table_or_in_it(run: Run, lake: Path) -> None:
    assert lake
    for command, whole in (("show", "d.t@2"), ("log", "d.t@2")):
        wanted = run(command, "--json", whole).stdout
        for words in (("d.t", "2"), ("d.t", "@2"), ("d", "t", "2"), ("d.t", "-1")):
            assert run(command, "--json", *words).stdout == wanted
    wanted = run("diff", "--json", "d.t@1", "d.t@2").stdout
    for words in (("d.t", "1", "2"), ("d.t", "-2", "-1"), ("d", "t", "1", "2"), ("d.t@1", "2")):
        assert run("diff", "--json", *words).stdout == wanted
    wanted = run("diff", "--json", "d.t@2", "d.t").stdout
    for words in (("d.t", "2"), ("d.t", "-1"), ("d", "t", "-1"), ("d.t@2",)):
        assert run("diff", "--json", *words).stdout == wanted
    twice = run("show", "d.t@1", "2")
    assert (twice.returncode, "two versions are named" in twice.stderr.decode()) == (2, True)
    assert run("diff", "d.t@1", "2", "3").returncode == 2


def test_restore(run: Run, lake: Path) -> None:
    assert lake
    done = run("restore", "d.t", "1", "-m", "back")
    assert done.stderr.decode() == "sdb: version 4 of d.t has the content of version 1\n"
    assert json.loads(run("query", "SELECT COUNT(*) AS n FROM d.t").stdout) == {"n": 1}
    again = json.loads(run("restore", "--json", "d.t@1").stdout)
    assert again == {"version": 4, "restored": 1, "new": False}
    assert json.loads(run("query", "--at", "3", "SELECT COUNT(*) AS n FROM d.t").stdout) == {"n": 6}
    assert json.loads(run("log", "--json", "d.t").stdout)["versions"][0]["message"] == "back"


def test_undo_says_what_it_takes_back_and_undoes_itself(run: Run, lake: Path) -> None:
    assert lake

    def rows() -> int:
        count = json.loads(run("query", "SELECT COUNT(*) AS n FROM d.t").stdout)["n"]
        return int(count)

    before = rows()
    assert run("exec", "DELETE FROM d.t WHERE n = 0").returncode == 0
    gone = before - rows()
    assert gone
    assert run("compact", "d.t").returncode == 0
    tried = run("undo", "--dry-run", "d.t").stderr.decode()
    assert tried.startswith("sdb: d.t: version 4 would be undone: delete at ")
    assert rows() == before - gone
    done = run("undo", "d.t").stderr.decode()
    assert ": delete at " in done
    assert f"-{gone} rows" in done
    assert rows() == before
    again = json.loads(run("undo", "--json", "d.t").stdout)
    assert again["undone"]["operation"] == "restore"
    assert rows() == before - gone


def test_undo_knows_branches_and_tables_without_changes(run: Run, lake: Path) -> None:
    assert lake
    assert run("branch", "d.t", "audit").returncode == 0
    assert run("exec", "DELETE FROM d.t@audit WHERE n = 0").returncode == 0
    count = "SELECT COUNT(*) AS n FROM d.t@audit"
    less = json.loads(run("query", count).stdout)["n"]
    assert run("undo", "d.t@audit").returncode == 0
    assert json.loads(run("query", count).stdout)["n"] > less
    assert run("create", "d.empty", "--input", "in/*.json").returncode == 0
    nothing = run("undo", "d.empty")
    assert nothing.returncode == 3
    assert run("insert", "d.empty", "-", data=b'{"n": 1}').returncode == 0
    first = run("undo", "d.empty")
    assert first.returncode == 2
    assert b"nothing of d.empty comes before its last change" in first.stderr


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["log", "d"], 2, "'d' alone is a database"),
        (["log", "d.x"], 3, "there is no table d.x"),
        (["log", "d.t@9"], 3, "d.t has no version 9"),
        (["log", "d.t@"], 2, "names no version"),
        (["show", "d.t@1999-01-01"], 3, "before the first version"),
        (["show", "d.t@nix"], 3, "no tag or branch 'nix'"),
        (["diff", "d.t@1", "@nix"], 3, "no tag or branch 'nix'"),
        (["restore", "d.t"], 2, "no version to restore given"),
        (["restore", "d.t@1", "2"], 2, "no version to restore given"),
        (["restore", "d.t", "77"], 3, "d.t has no version 77"),
        (["describe", "--at", "0", "d", "t"], 3, "before the first version"),
        (["query", "--at", "5x", "SELECT * FROM d.t"], 2, "is not a time"),
    ],
)
def test_errors(run: Run, lake: Path, words: list[str], code: int, message: str) -> None:
    assert lake
    result = run(*words)
    assert result.returncode == code
    assert message in result.stderr.decode()
    assert "Traceback" not in result.stderr.decode()
    assert not result.stdout


def test_tags_branches_and_merges(run: Run, lake: Path) -> None:
    assert lake
    assert run("tag", "d.t@1", "v1").stderr == b"sdb: v1 is version 1 of d.t\n"
    assert run("branch", "d.t", "audit").stderr == b"sdb: audit begins at version 3 of d.t\n"
    assert run("tag", "d.t").stdout.decode().split()[:2] == ["v1", "1"]
    names = json.loads(run("branch", "--json", "d.t").stdout)["branch"]
    assert [(item["name"], item["version"]) for item in names] == [("main", 3), ("audit", 3)]
    assert not run("insert", "d.t@audit", data=b'{"n": 9}').returncode
    assert not run("insert", "--branch", "audit", "d.t", data=b'{"n": 8}').returncode
    count = "SELECT COUNT(*) AS n FROM d.t@{}"
    for name, rows in (("v1", 1), ("main", 6), ("audit", 8), ("audit@-1", 7)):
        output = run("query", count.format(name)).stdout
        assert json.loads(output) == {"n": rows}, name
    assert not run("validate", "--at", "audit", "d", "t").returncode
    done = run("merge", "d.t", "audit", "-m", "publish")
    assert done.stderr == b"sdb: version 4 of d.t: 2 rows inserted\n"
    facts = json.loads(run("show", "--json", "d.t").stdout)
    assert (facts["parents"], facts["operation"], facts["message"]) == ([3, 5], "merge", "publish")
    assert json.loads(run("merge", "--json", "d.t@audit").stdout)["new"] is False
    assert b"(v1)" in run("log", "d.t").stdout
    assert not run("branch", "-d", "d.t", "audit").returncode
    assert not run("tag", "-d", "d.t", "v1").returncode
    assert run("tag", "d.t").stdout == b""
    for words, code in [
        (["tag", "d.t", "1x"], 2),
        (["tag", "-d", "d.t", "v1"], 3),
        (["tag", "d.t@9", "v"], 3),
        (["branch", "d.t", "main"], 2),
        (["merge", "d.t"], 2),
        (["merge", "d.t", "audit"], 3),
        (["insert", "d.t@audit", "in.json"], 3),
        (["insert", "--branch", "other", "d.t@audit", "in.json"], 2),
        (["sync", "--branch", "nix", "d"], 3),
    ]:
        assert run(*words, data=b"{}").returncode == code, words


def test_a_conflict_is_listed(run: Run, lake: Path) -> None:
    (lake / "in").mkdir()
    (lake / "in/1.json").write_text('{"n": 1}')
    assert not run("branch", "d.t", "audit").returncode
    assert not run("sync", "--branch", "audit", "d").returncode
    for words in (["d.t@audit"], ["d", "t@audit"], ["--branch", "audit", "d.t@audit"]):
        assert not run("sync", "--dry-run", *words).returncode
    assert run("sync", "--branch", "other", "d.t@audit").returncode == 2
    for command in ("status", "maintain", "compact", "expire", "gc"):
        done = run(command, "d.t@audit")
        assert (done.returncode, b"d.t@audit is a version of a table" in done.stderr) == (2, True)
    (lake / "in/2.json").write_text('{"n": 2}')
    assert not run("sync", "d").returncode
    result = run("merge", "d.t", "audit")
    assert result.returncode == 5
    lines = result.stderr.decode().splitlines()
    assert lines[0] == "conflict: file://in/1.json"
    assert lines[1] == "sdb: merging audit into main: 1 input taken on both sides"
    unasked = run("merge", "--strategy", "dest", "d.t", "audit")
    assert unasked.returncode == 5
    assert unasked.stderr.splitlines()[-1] == b"hint: --strategy dest drops 1 row: --yes agrees"
    assert not run("merge", "--yes", "--strategy", "dest", "d.t", "audit").returncode
    assert run("query", "SELECT COUNT(*) AS n FROM d.t").stdout == b'{"n": 8}\n'


def test_versions_of_the_same_table_are_compared_by_what_they_are_called(
    run: Run, lake: Path
) -> None:
    assert lake
    wanted = json.loads(run("diff", "--json", "d.t@1", "d.t@2").stdout)
    assert run("tag", "d.t@2", "v2").returncode == 0
    for later in ("2", "@2", "-1", "v2"):
        assert json.loads(run("diff", "--json", "d.t@1", "--", later).stdout) == wanted


@pytest.mark.parametrize("command", ["tag", "branch"])
def test_nothing_is_deleted_without_a_name(command: str, run: Run, lake: Path) -> None:
    assert lake
    result = run(command, "-d", "d.t")
    assert result.returncode == 2
    assert f"no {command} to delete given".encode() in result.stderr


def test_a_root_of_a_kind_that_is_not_known(run: Run, lake: Path) -> None:
    result = run("push", "d.t", "s4://bucket")
    assert result.returncode == 2
    assert b"unknown scheme s4://" in result.stderr
    assert not (lake / "s4:").exists()


def test_exec_tells_what_was_meant_and_who_it_was(run: Run, lake: Path) -> None:
    assert lake
    result = run("exec", "DELET FROM d.t")
    assert b"did you mean DELETE?" in result.stderr
    result = run("exec", "DELETE FROM d.t WHERE nn = 5")
    assert b'warning: no row of d.t has "nn"' in result.stderr
    done = run("exec", "--progress", "json", "DELETE FROM d.t WHERE n = 2", SDB_AUTHOR="ada")
    assert json.loads(done.stderr.splitlines()[-1])["event"] == "progress"
    assert json.loads(run("log", "--json", "d.t").stdout)["versions"][0]["author"] == "ada"
    assert run("exec", "VACUUM d.t DRY RUN").stdout.startswith(b"would have vacuumed d.t: 0 ")


def test_a_fork_that_shares(run: Run, lake: Path) -> None:
    done = run("fork", "--share", "d.t", "d.f")
    assert b"d.f shares the 3 packfiles of d.t; it has no definition" in done.stderr
    assert not list((lake / "db/d/f").rglob("*.zion"))
    hold = next(line for line in run("branch", "d.t").stdout.split() if line[:5] == b"fork-")
    refused = run("branch", "-d", "d.t", hold.decode())
    assert refused.returncode == 5
    assert b"for d.f, which shares them" in refused.stderr


@pytest.fixture
def shared(run: Run, tmp_path: Path) -> Path:
    """Insert a row, and name the version, in a table that the original has made."""
    unpacked("02-append-1", tmp_path)
    assert not run("insert", "demo.t", data=b'{"x": "ours"}\n').returncode
    assert not run("tag", "demo.t", "mine").returncode
    assert not run("insert", "demo.t", data=b'{"x": "later"}\n').returncode
    return tmp_path


def synced(folder: Path, step: int) -> None:
    """Put the index in place that the original wrote next, which did not see ours, and collect."""
    unpacked(f"02-append-{step}", folder)
    actual = sdb.connect(folder).table("demo.t").handle.descriptors()
    remaining = {folder / item.key for item in actual}
    for old in set(folder.glob("db/demo/t/packed-*")) - remaining:
        old.unlink()


def count(run: Run, table: str) -> int:
    done = run("query", "--root", ".", "--fmt", "json", f"SELECT COUNT(*) AS n FROM {table}")
    assert not done.returncode, done.stderr
    number: int = json.loads(done.stdout)["n"]
    return number


def test_versions_outlive_what_the_original_collects(run: Run, shared: Path) -> None:
    first = count(run, "demo.t@mine")
    for step in (2, 3):
        synced(shared, step)
        theirs = count(run, "demo.t")
        assert not run("insert", "demo.t", data=b'{"x": "more"}\n').returncode
        assert count(run, "demo.t") == theirs + step + 1  # those it has overwritten, and one more
        assert count(run, "demo.t WHERE x = 'ours'") == 1
        assert count(run, "demo.t@mine") == first
    listed = [
        version["version"]
        for version in json.loads(run("log", "--json", "demo.t").stdout)["versions"]
    ]
    assert all(count(run, f"demo.t@{number}") for number in listed)
    done = run("validate", "demo", "t")
    assert not done.returncode, done.stderr
    left = [path.name for path in shared.rglob("packed-*")]
    assert len(left) == 1, "what is collected is not missed"


def test_validate_tells_which_versions_miss_what(run: Run, shared: Path) -> None:
    assert not run("branch", "demo.t", "side").returncode
    assert not run("exec", "DELETE FROM demo.t WHERE x = 'ours' OR x IS MISSING").returncode
    assert not run("validate", "demo", "t").returncode
    (adopted,) = shared.glob("db/demo/t/data/adopted-*")
    adopted.unlink()
    done = run("validate", "demo", "t")
    assert done.returncode == 6
    (line,) = done.stderr.decode().splitlines()
    assert line.startswith(f"{adopted.relative_to(shared)}: is missing, which ")
    assert "tag mine, version 1, version 3 and 1 more need" in line


def test_what_the_original_does_not_count_is_not_told(run: Run, shared: Path) -> None:
    def logged() -> list[tuple[object, ...]]:
        versions = json.loads(run("log", "--json", "demo.t").stdout)["versions"]
        return [
            (
                version["version"],
                version["rows"],
                version["changes"]["rows_added"],
                version["operation"],
            )
            for version in versions
        ]

    assert logged() == [
        (3, None, 1, "insert"),
        (2, None, 1, "insert"),
        (1, None, None, "foreign"),
    ]
    synced(shared, 2)
    newest, *_ = logged()
    assert newest == (None, None, None, "foreign")
    assert json.loads(run("describe", "--json", "demo", "t").stdout)["version"] is None
    assert not run("insert", "demo.t", data=b'{"x": "more"}\n').returncode
    assert [version[:3] for version in logged()] == [
        (7, None, 1),
        (6, None, 1),
        (5, None, 1),
        (4, None, None),
    ]
    shown = run("show", "demo.t@4").stdout.decode()
    assert "rows       ? (+?" in shown
    assert "+?" in run("log", "demo.t").stdout.decode()
    rows = "SELECT version, rows, rows_added FROM sdb.versions('demo.t')"
    done = run("query", "--root", ".", "--fmt", "json", rows)
    assert b"33" not in done.stdout
    # Once no packfile of the original is there, all rows are counted.
    assert not run("exec", "UPDATE demo.t SET seen = TRUE").returncode
    assert logged()[0][:2] == (8, count(run, "demo.t"))


def test_rows_that_nobody_counts_are_told_when_they_go(run: Run, shared: Path) -> None:
    assert shared
    done = run("exec", "TRUNCATE demo.t")
    assert b"rows of 1 packfile of the original are not counted" in done.stderr
    (newest, *_) = json.loads(run("log", "--json", "-n", "1", "demo.t").stdout)["versions"]
    assert (newest["rows"], newest["changes"]["rows_removed"]) == (0, None)


CHANGES = {
    "compact": (["compact", "d.t"], [1, 2, 3, 4, 100, 101, 102, 103, 200]),
    "update": (["exec", "UPDATE d.t SET m = 1 WHERE n >= 100"], [1, 2, 3, 4, 100, 101, 102, 200]),
    "delete": (["exec", "DELETE FROM d.t WHERE n >= 100"], [1, 2, 3, 4, 200]),
}


def changed_since_branch(run: Run, folder: Path, change: str) -> list[int]:
    """Begin a branch of seven rows, insert into it, and change main; gives the rows of both."""
    words, expected = CHANGES[change]
    connection = sdb.connect(folder)
    connection.create("d.t", "in/*.json")
    for number in (1, 2, 3, 4, 100, 101, 102):
        if number == 100:
            assert not run("tag", "d.t", "v1").returncode
        connection.append("d.t", [{"n": number}])
    assert not run("branch", "d.t", "side").returncode
    assert not run("insert", "d.t@side", data=b'{"n": 200}').returncode
    if change == "compact":  # which merges eight packfiles
        connection.append("d.t", [{"n": 103}])
    assert not run(*words).returncode
    return expected


def rows_of(run: Run, name: str) -> list[int]:
    text = run("query", f"SELECT n FROM {name} ORDER BY n", "--fmt", "json").stdout
    return [json.loads(line)["n"] for line in text.splitlines()]


@pytest.mark.parametrize("change", CHANGES)
def test_a_merge_after_expiry(run: Run, tmp_path: Path, change: str) -> None:
    """What has expired on main is kept where a branch began: the merge finds its base."""
    expected = changed_since_branch(run, tmp_path, change)
    done = run("expire", "--all-but-head", "d.t")
    assert done.returncode == 0
    assert b"sdb: for merges of branches stay: 7" in done.stderr.splitlines()
    assert 7 in [
        version["version"] for version in json.loads(run("log", "--json", "d.t").stdout)["versions"]
    ]
    done = run("merge", "d.t", "side")
    assert (done.returncode, b": 1 row inserted" in done.stderr) == (0, True)
    assert rows_of(run, "d.t") == expected
    assert b"has all of side already" in run("merge", "d.t", "side").stderr
    assert not run("validate", "d", "t").returncode


@pytest.mark.parametrize("change", CHANGES)
def test_a_merge_whose_base_has_expired(run: Run, tmp_path: Path, change: str) -> None:
    """Of a table whose versions an older sdb let expire, which kept nothing for branches."""
    expected = changed_since_branch(run, tmp_path, change)
    root = table_root(tmp_path)
    head = open_table(root, "d", "t").state
    assert head is not None
    gone = frozenset(range(5, head.version + 1))
    commit(root, TableKeys("d", "t"), TableChange("expire", expired=gone))
    then = time.time() - 2 * 86_400
    for path in tmp_path.rglob("*"):
        if path.is_file():
            os.utime(path, (then, then))
    time.sleep(0.01)
    assert not run("gc", "--grace", "0s", "d.t").returncode
    before = rows_of(run, "d.t")
    done = run("merge", "d.t", "side")
    assert done.returncode == 5
    assert b"the merge base of both sides has expired" in done.stderr
    assert b"INSERT INTO d.t SELECT * FROM d.t@side" in done.stderr.replace(b"BRANCH", b"side")
    assert len(done.stderr.splitlines()) == 2
    assert rows_of(run, "d.t") == before
    assert run("merge", "d.t", "main", "--into", "side").returncode == 5
    assert rows_of(run, "d.t@side") == [1, 2, 3, 4, 100, 101, 102, 200]
    # The way out.
    done = run("exec", "INSERT INTO d.t SELECT * FROM d.t@side WHERE n = 200")
    assert done.returncode == 0, done.stderr
    assert rows_of(run, "d.t") == expected
    assert not run("branch", "-d", "d.t", "side").returncode


def test_what_has_expired_and_is_still_there_is_found(run: Run, tmp_path: Path) -> None:
    """Before a collection parents lead to the base, whatever the history tells."""
    expected = changed_since_branch(run, tmp_path, "delete")
    root = table_root(tmp_path)
    commit(root, TableKeys("d", "t"), TableChange("expire", expired=frozenset(range(5, 9))))
    assert not run("merge", "d.t", "side").returncode
    assert rows_of(run, "d.t") == expected


@pytest.fixture
def edited(run: Run) -> Run:
    """A table whose second version updates, whose third deletes, and whose fourth compacts."""
    values = ", ".join(f"({{'id': {n}, 'v': {n}, 'a': {{'b': {n}}}}})" for n in range(6))
    statements = (
        f"CREATE TABLE d.e; INSERT INTO d.e VALUES {values}",
        "UPDATE d.e SET v = 50, a.b = MISSING WHERE id = 3; DELETE FROM d.e WHERE id < 2",
        "INSERT INTO d.e VALUES ({'id': 9})",
    )
    for text in statements:
        assert run("exec", "--root", "lake", text).returncode == 0
    return run


def test_log_and_diff_count_rows(edited: Run) -> None:
    logged = json.loads(edited("log", "--json", "--root", "lake", "d.e").stdout)["versions"]
    counts = [
        tuple(item["changes"][f"rows_{name}"] for name in ("inserted", "updated", "deleted"))
        for item in logged
    ]
    assert counts == [(1, 0, 0), (0, 0, 2), (0, 1, 0), (6, 0, 0), (0, 0, 0)]
    text = edited("log", "--root", "lake", "d.e").stdout.decode().splitlines()
    assert ["~1" in line for line in text] == [False, False, True, False, False]
    assert "rows       4 (-2)" in edited("show", "--root", "lake", "d.e@4").stdout.decode()
    facts = json.loads(edited("diff", "--json", "--root", "lake", "d.e@2").stdout)
    assert facts["rows"] == {"inserted": 1, "updated": 1, "deleted": 2}
    shown = edited("diff", "--root", "lake", "d.e@2").stdout.decode().splitlines()
    assert shown[-2] == "rows     1 inserted, 1 updated, 2 deleted"


@pytest.mark.parametrize("key", [[], ["--key", "id"]])
def test_rows_that_were_changed_are_one(edited: Run, key: list[str]) -> None:
    done = edited("diff", "--rows", *key, "--root", "lake", "d.e@2")
    assert done.stderr == b""
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    changed = {"v": {"old": 3, "new": 50}, "a.b": {"old": 3}}
    assert [(item["sign"], item["row"]["id"], item.get("changed")) for item in rows] == [
        ("~", 3, changed),
        ("+", 9, None),
        ("-", 0, None),
        ("-", 1, None),
    ]


def test_a_key_needs_rows(edited: Run) -> None:
    done = edited("diff", "--key", "id", "--root", "lake", "d.e@2")
    assert (done.returncode, b"--rows" in done.stderr) == (2, True)
