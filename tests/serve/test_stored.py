"""Stored queries, from the command that stores them to the clients that ask."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from sdb.table.catalog.root import table_root
from sdb.table.catalog.storedqueries import StoredQuery, put
from tests.serve.conftest import Server, rows

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

TYPES = "SELECT type, COUNT(*) AS n FROM web.gha WHERE type = $type GROUP BY type"


def store(lake: Path, *words: str) -> Any:
    command = [sys.executable, "-m", "sdb.cli.main", "query-store", *words, "--root", str(lake)]
    return subprocess.run(command, capture_output=True, timeout=60, check=False)


def test_a_stored_query_is_asked_by_its_name(serve: Callable[..., Server], lake: Path) -> None:
    done = store(lake, "put", "types", TYPES, "--param", "type:text=PushEvent")
    assert done.returncode == 0, done.stderr
    again = store(lake, "put", "types", TYPES, "--param", "type:text")
    assert again.returncode == 4
    assert b"--replace" in again.stderr
    server = serve()
    assert server.get("/v1/queries/types.ndjson?dialect=sneller").status_code == 400
    first = server.get("/v1/queries/types.ndjson?dialect=standard")
    assert rows(first) == [{"type": "PushEvent", "n": 596}]
    tag = {"if-none-match": first.headers["etag"]}
    assert server.get("/v1/queries/types.ndjson", headers=tag).status_code == 304
    fork = server.get("/v1/queries/types.csv?type=ForkEvent", headers=tag)
    assert fork.text.splitlines() == ["type,n", "ForkEvent,25"] or fork.status_code == 200
    assert server.get("/v1/queries/types?until=2000-01-01").content == b""
    assert server.get("/v1/queries/types.csv?kind=x").status_code == 400
    assert server.get("/v1/queries/absent.csv").status_code == 404
    (listed,) = server.get("/v1/queries").json()["queries"]
    assert listed["params"] == [{"name": "type", "type": "text", "default": "PushEvent"}]
    # Another text is another answer, also to those who have the one before.
    other = TYPES.replace("COUNT(*)", "MAX(id)")
    assert store(lake, "put", "types", other, "--replace", "--param", "type:text=x").returncode == 0
    assert server.get("/v1/queries/types.ndjson", headers=tag).content == b""
    assert store(lake, "drop", "types").returncode == 0
    assert server.get("/v1/queries/types.ndjson").status_code == 404
    assert store(lake, "drop", "types").returncode == 3


def test_parameters_have_types(serve: Callable[..., Server], lake: Path) -> None:
    sql = "SELECT $i AS i, $n AS n, $b AS b, $t AS t, $l AS l, $s AS s FROM logs.app LIMIT 1"
    params = ["i:integer", "n:number", "b:boolean", "t:time", "l:list", "s:text"]
    options = [word for text in params for word in ("--param", text)]
    assert store(lake, "put", "all", sql, *options).returncode == 0
    server = serve()
    good = {"i": "7", "n": "1.5", "b": "true", "t": "2020-01-01", "l": "[1, 2]", "s": "7"}
    (row,) = rows(server.get("/v1/queries/all", params=good))
    assert row == {
        "i": 7, "n": 1.5, "b": True, "t": "2020-01-01T00:00:00Z", "l": [1, 2], "s": "7",
    }  # fmt: skip
    for name, text in (("i", "x"), ("n", "NaN"), ("b", "maybe"), ("t", "soon"), ("l", "{}")):
        answer = server.get("/v1/queries/all", params=good | {name: text})
        assert answer.status_code == 400, (name, answer.text)
        assert answer.json()["detail"].startswith(f"{name}: ")
    moving = server.get("/v1/queries/all", params=good | {"t": "1h"})
    assert moving.headers["cache-control"] == "no-store"
    assert server.get("/v1/queries/all", params={"i": "7"}).status_code == 400


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["put", "x", "SELECT $a AS a"], "$a is not declared"),
        (["put", "x", "SELECT 1 AS a", "--param", "b:text"], "no $b"),
        (["put", "x", "SELECT $since AS a", "--param", "since:time"], "member of each request"),
        (["put", "x", "SELECT $a AS a", "--param", "a:blob"], "no parameter"),
        (["put", "x", "SELECT $a AS a", "--param", "a:integer=x"], "no integer"),
        (["put", "../x", "SELECT 1 AS a"], "slash"),
        (["put", "x.csv", "SELECT 1 AS a"], "dot"),
        (["put", "x", "DELETE FROM web.gha"], "parsing"),
        (["put", "x", "SELECT * INTO 'y' FROM web.gha"], "INTO"),
        (["put", "x"], "query is missing"),
        (["keep", "x"], "unknown action"),
    ],
)
def test_what_cannot_be_asked_is_not_stored(lake: Path, words: list[str], says: str) -> None:
    done = store(lake, *words)
    assert done.returncode == 2
    assert says in done.stderr.decode()
    assert not (lake / "queries").exists()


def test_a_right_is_of_a_query_alone(
    serve: Callable[..., Server], lake: Path, run: Callable[..., Any]
) -> None:
    assert store(lake, "put", "count", "SELECT COUNT(*) AS n FROM logs.app").returncode == 0
    tokens = lake.parent / "tokens.json"

    def token(name: str, right: str) -> dict[str, str]:
        done = run("token", "create", name, "--can", right, "--tokens", str(tokens))
        return {"authorization": f"Bearer {done.stdout.decode().strip()}"}

    asks, reads = token("asks", "query:count"), token("reads", "read:web.*")
    server = serve("--tokens", str(tokens))
    answer = server.get("/v1/queries/count.json", headers=asks)
    assert answer.json()["rows"] == [{"n": 10}]
    assert answer.headers["cache-control"] == "private, no-cache"
    assert server.query("SELECT COUNT(*) AS n FROM logs.app", asks).status_code == 404
    hidden = server.get("/v1/queries/count.json", headers=reads)
    absent = server.get("/v1/queries/counts.json", headers=reads)
    assert (hidden.status_code, absent.status_code) == (404, 404)
    assert hidden.json() | {"detail": ""} == absent.json() | {"detail": ""}
    assert server.get("/v1/queries", headers=reads).json() == {"queries": []}
    (listed,) = server.get("/v1/queries", headers=asks).json()["queries"]
    assert "sql" not in listed
    assert "logs.app" not in json.dumps(listed)


def test_browsers_get_csv_that_spreadsheets_do_not_execute(
    serve: Callable[..., Server], lake: Path
) -> None:
    root = table_root(str(lake))
    put(root, StoredQuery("cells", "SELECT '=1+1' AS a, -5 AS b, n FROM logs.app LIMIT 1"))
    server = serve()
    plain, safe = "a,b,n\n=1+1,-5,0\n", "a,b,n\n'=1+1,-5,0\n"
    page = {"accept": "text/html,application/xhtml+xml,*/*;q=0.8"}
    for _ in range(2):  # also where the same was asked for before
        for path, headers, wanted in (
            ("/v1/queries/cells.csv", {}, plain),
            ("/v1/queries/cells.csv", page, safe),
            ("/v1/queries/cells?format=safe-csv", {}, safe),
            ("/v1/queries/cells", {"accept": "text/csv"}, plain),
        ):
            answer = server.get(path, headers=headers)
            assert answer.text == wanted
            assert ("sdb-safe-csv" in answer.headers) == (wanted == safe)
