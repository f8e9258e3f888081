"""`sdb exec` with transactions over several tables."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import sdb
from sdb.table.commit.change import TableChange
from sdb.table.commit.coordinator import PendingTransaction
from sdb.table.commit.environment import REAL
from sdb.table.commit.twophase import TablePart, _marked
from sdb.table.format.keys import TableKeys

if TYPE_CHECKING:
    from pathlib import Path

    from tests.cli.conftest import Run

BOTH = "BEGIN; INSERT INTO a.t VALUES ({'x': 1}); INSERT INTO b.u VALUES ({'x': 1}); COMMIT"


def test_all_tables_change_at_once_or_none(run: Run) -> None:
    assert run("exec", "--root", "lake", "CREATE TABLE a.t; CREATE TABLE b.u").returncode == 0
    made = run("exec", "--root", "lake", BOTH, "--txn-id", "job")
    assert made.stderr == b""
    assert made.stdout.decode().splitlines() == [
        "inserted 1 row into a.t",
        "inserted 1 row into b.u: version 2 of a.t and version 2 of b.u",
    ]
    (reported,) = json.loads(
        run("exec", "--root", "lake", BOTH, "--txn-id", "job", "--json").stdout
    )
    assert (reported["new"], reported["versions"]) == (False, {"a.t": 2, "b.u": 2})
    again = run("exec", "--root", "lake", BOTH, "--txn-id", "job").stdout.decode()
    assert again == "job is version 2 of a.t and version 2 of b.u already: nothing changed\n"
    wrong = run("exec", "--root", "lake", "BEGIN; TRUNCATE a.t; TRUNCATE b.none; COMMIT")
    assert wrong.returncode == 3
    assert b"there is no table b.none" in wrong.stderr
    query = "SELECT (SELECT COUNT(*) FROM a.t) AS t, COUNT(*) AS u FROM b.u"
    result = run("query", "--root", "lake", query)
    assert json.loads(result.stdout) == {"t": 1, "u": 1}
    listed = json.loads(run("tables", "--root", "lake", "--json").stdout)
    assert [table["table"] for table in listed["tables"]] == ["t", "u"]


def test_log_and_show_tell_what_readers_read(run: Run, tmp_path: Path) -> None:
    text = "CREATE TABLE a.t; INSERT INTO a.t VALUES ({'x': 1}), ({'x': 2})"
    assert run("exec", "--root", "lake", text).returncode == 0
    words = [("log", "a.t", "--json"), ("log", "a.t", "--stat"), ("show", "a.t", "--json")]
    query = "SELECT version, rows FROM sdb.versions('a.t') ORDER BY version"
    words += [
        ("inputs", "a", "t"),
        ("describe", "a", "t"),
        ("query", query),
        ("diff", "a.t@1", "a.t"),
    ]
    before = [run(*item, "--root", "lake") for item in words]
    assert not [item.stderr for item in before if item.returncode]
    root, keys = sdb.connect(tmp_path / "lake").root, TableKeys("a", "t")
    intent = PendingTransaction(root, keys, "A" * 26, [keys.index], REAL)
    there = sdb.connect(root.location).table("a.t").handle.descriptors()
    change = TableChange("delete", removed=frozenset(item.key for item in there))
    _marked(root, [TablePart(keys, change)], intent, "A" * 26, REAL, 1)
    after = [run(*item, "--root", "lake") for item in words]
    assert [item.stdout for item in after] == [item.stdout for item in before]
    reported = f"sdb: a.t: the transaction {intent.key} is under way, and does not count yet\n"
    assert [item.stderr.decode() for item in after[:3]] == [reported] * 3
    assert run("show", "a.t@3", "--root", "lake").returncode == 3
