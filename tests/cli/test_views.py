"""`sdb views`, and views in the commands of tables."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

import sdb

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

TEXT = "SELECT a,\n  b FROM web.t\nWHERE a > 1"


@pytest.fixture
def lake(tmp_path: Path) -> str:
    root = tmp_path / "lake"
    sdb.execute("CREATE TABLE web.t; INSERT INTO web.t VALUES ({'a': 1}), ({'a': 2})", root=root)
    return str(root)


def test_a_view_is_made_listed_logged_and_dropped(run: Callable[..., Any], lake: str) -> None:
    made = run("exec", "--root", lake, "-m", "why", f"CREATE VIEW web.v AS {TEXT}")
    assert (made.returncode, made.stdout) == (0, b"made the view web.v: version 1\n")
    listed = run("views", "--root", lake).stdout.decode()
    assert listed.startswith("web.v  version 1  ")
    assert listed.endswith("    SELECT a,\n      b FROM web.t\n    WHERE a > 1\n")
    (view,) = json.loads(run("views", "--json", "--root", lake, "web.v").stdout)["views"]
    assert view["text"] == TEXT
    assert (view["database"], view["view"], view["message"]) == ("web", "v", "why")
    rows = run("query", "--root", lake, "SELECT a FROM web.v")
    assert rows.stdout == b'{"a": 2}\n'
    explained = run("query", "--root", lake, "--explain", "SELECT a FROM web.v")
    assert b"web/t" in explained.stdout
    tables = run("tables", "--root", lake)
    assert b"1 view below the root: sdb ls --views" in tables.stderr
    assert run("drop", "--root", lake, "web.v").stdout == b"dropped the view web.v: version 2\n"
    assert run("views", "--root", lake).stdout == b""
    log = json.loads(run("log", "--json", "--root", lake, "web.v").stdout)
    assert [version["operation"] for version in log["versions"]] == ["drop", "create"]
    assert b"brought the view web.v back" in run("undrop", "--root", lake, "web.v").stdout
    assert TEXT.splitlines()[0] in run("log", "-n", "1", "--root", lake, "web.v").stdout.decode()


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["views", "web.w"], 3, "there is no view web.w"),
        (["query", "SELECT * FROM web.v@7"], 3, "web.v has no version 7"),
        (["exec", "CREATE VIEW web.t AS SELECT 1 AS x"], 4, "there is a table of that name"),
        (["exec", "CREATE TABLE web.v"], 4, "web.v"),
        (["create", "web.v", "--input", "in/*.json"], 4, "is a view"),
        (["exec", "CREATE VIEW web.x AS SELECT * FROM web.x"], 3, "there is no table web.x"),
        (["exec", "DELETE FROM web.v"], 8, "is a view"),
        (["unpack", "web.v"], 8, "is a view"),
        (["compact", "web.v"], 8, "is a view"),
        (["rename", "web.v", "web.w"], 8, "is a view"),
        (["query", "SELECT * FROM web.vv"], 3, "did you mean web.v?"),
        (["exec", "CREATE OR REPLACE TABLE web.x"], 2, "VIEW is expected"),
    ],
)
def test_what_is_refused(
    run: Callable[..., Any], lake: str, words: list[str], code: int, said: str
) -> None:
    sdb.execute(f"CREATE VIEW web.v AS {TEXT}", root=lake)
    done = run(words[0], "--root", lake, *words[1:])
    assert done.returncode == code, done.stderr
    assert said in done.stderr.decode()
    assert b"Traceback" not in done.stderr
