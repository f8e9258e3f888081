"""`sdb exec` with transactions over several tables."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
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
    (told,) = json.loads(run("exec", "--root", "lake", BOTH, "--txn-id", "job", "--json").stdout)
    assert (told["new"], told["versions"]) == (False, {"a.t": 2, "b.u": 2})
    again = run("exec", "--root", "lake", BOTH, "--txn-id", "job").stdout.decode()
    assert again == "job is version 2 of a.t and version 2 of b.u already: nothing changed\n"
    wrong = run("exec", "--root", "lake", "BEGIN; TRUNCATE a.t; TRUNCATE b.none; COMMIT")
    assert wrong.returncode == 3
    assert b"there is no table b.none" in wrong.stderr
    query = "SELECT (SELECT COUNT(*) FROM a.t) AS t, COUNT(*) AS u FROM b.u"
    found = run("query", "--root", "lake", query)
    assert json.loads(found.stdout) == {"t": 1, "u": 1}
    listed = json.loads(run("tables", "--root", "lake", "--json").stdout)
    assert [one["table"] for one in listed["tables"]] == ["t", "u"]
