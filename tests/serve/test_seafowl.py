"""Clients of Seafowl: queries by hash, its headers and texts of errors."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, unquote

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import requests

from sdb.query.syntax.parser import parse
from sdb.serve.problems import HttpError
from sdb.serve.seafowl.names import is_seafowl, qualified
from sdb.serve.seafowl.schemas import hints_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.serve.conftest import Server

COUNT = "SELECT COUNT(*) AS c FROM logs.app"


def asked(server: Server, text: str, headers: dict[str, str] | None = None) -> Any:
    digest = hashlib.sha256(text.encode()).hexdigest()
    return server.get(f"/q/{digest}", headers={"x-seafowl-query": quote(text), **(headers or {})})


def test_the_hash_is_that_of_seafowl() -> None:
    text = "SELECT COUNT(*) AS c FROM test_table"
    digest = hashlib.sha256(text.encode()).hexdigest()
    assert (digest[:4], digest[-4:]) == ("7fbb", "88f6")


def test_a_query_by_its_hash(serve: Callable[..., Server]) -> None:
    server = serve("--write")
    answer = asked(server, COUNT)
    assert (answer.status_code, answer.text) == (200, '{"c":10}\n')
    kind, _, schema = answer.headers["content-type"].partition("; arrow-schema=")
    assert kind == "application/json"
    (field,) = json.loads(unquote(schema))["fields"]
    assert (field["name"], field["data_type"]) == ("c", "Int64")
    assert int(answer.headers["x-seafowl-query-time"]) >= 0
    assert answer.headers["cache-control"] == "no-cache"
    assert "x-seafowl-query" in answer.headers["vary"]
    tag = answer.headers["etag"]
    assert tag.endswith('"')
    assert asked(server, COUNT, {"if-none-match": tag}).status_code == 304
    again = asked(server, COUNT)
    assert again.headers["content-type"] == answer.headers["content-type"]
    done = server.post("/q", json={"query": "DELETE FROM logs.app WHERE n = 3"})
    assert (done.status_code, done.text) == (200, "")
    assert asked(server, COUNT, {"if-none-match": tag}).text == '{"c":9}\n'
    digest = hashlib.sha256(COUNT.encode()).hexdigest()
    suffix = server.get(f"/q/{digest}.csv", headers={"x-seafowl-query": quote(COUNT)})
    assert suffix.text == '{"c":9}\n'
    in_body = requests.get(f"{server.url}/q/{digest}", json={"query": COUNT}, timeout=60)
    assert in_body.text == '{"c":9}\n'
    in_path = server.get(f"/q/{quote(COUNT, safe='')}")
    assert in_path.text == '{"c":9}\n'


def test_rows_have_all_columns(serve: Callable[..., Server]) -> None:
    text = "SELECT n, CASE WHEN n = 1 THEN 'x' END AS s FROM logs.app WHERE n < 2 ORDER BY n"
    assert asked(serve(), text).text == '{"n":0,"s":null}\n{"n":1,"s":"x"}\n'


def test_errors_have_the_texts_of_seafowl(
    serve: Callable[..., Server], lake: Path, run: Callable[..., Any]
) -> None:
    server = serve()
    digest = hashlib.sha256(COUNT.encode()).hexdigest()
    wrong = server.get(f"/q/{'0' * 64}", headers={"x-seafowl-query": quote(COUNT)})
    assert (wrong.status_code, wrong.text) == (
        400,
        f'Invalid hash: expected "{digest}", got "{"0" * 64}". Resend your query with "{digest}"',
    )
    change = asked(server, "DELETE FROM logs.app")
    assert (change.status_code, change.text) == (405, "NOT_READ_ONLY_QUERY")
    empty = server.get(f"/q/{digest}")
    assert (empty.status_code, empty.text) == (400, "Empty query received")
    for text in (f"{COUNT}; {COUNT}", f"{COUNT}; DELETE FROM logs.app"):
        several = server.post("/q", json={"query": text})
        assert several.status_code == 400
        assert several.text.startswith("Only one read statement is allowed and it must be at the")
    refused = server.post("/q", json={"query": "DELETE FROM logs.app"})
    assert (refused.status_code, refused.text) == (403, "WRITE_FORBIDDEN")
    useless = asked(server, COUNT, {"authorization": "Bearer x"})
    assert (useless.status_code, useless.text) == (400, "USELESS_ACCESS_TOKEN")
    absent = asked(server, "SELECT * FROM logs.nothing")
    assert (absent.status_code, absent.headers["content-type"]) == (
        404,
        "text/plain; charset=utf-8",
    )
    tokens = lake.parent / "tokens.json"
    assert run("token", "create", "a", "--can", "admin", "--tokens", str(tokens)).returncode == 0
    guarded = serve("--tokens", str(tokens))
    bare, bad = asked(guarded, COUNT), asked(guarded, COUNT, {"authorization": "Bearer x"})
    assert (bare.status_code, bare.text) == (401, "NEED_ACCESS_TOKEN")
    assert (bad.status_code, bad.text) == (401, "INVALID_ACCESS_TOKEN")


def sent(server: Server, where: str, name: str, data: str | bytes, **fields: str) -> Any:
    return server.post(f"{where}", files={"data": (name, data)}, data=fields)


def lines_of(server: Server, sql: str, where: str = "/q") -> list[Any]:
    answer = server.post(where, json={"query": sql})
    assert answer.status_code == 200, answer.text
    return [json.loads(line) for line in answer.text.splitlines()]


def test_an_upload_makes_a_table_and_appends_to_it(serve: Callable[..., Server]) -> None:
    server = serve("--write")
    first = sent(server, "/upload/shop/stock", "stock.csv", "item,n\nscrew,5\nnail,7\n")
    assert (first.status_code, first.text) == (
        200,
        "stock.csv appended to table stock version 1\n",
    )
    # The table of that schema is looked up, and the answer says the version that has the rows.
    again = sent(server, "/upload/shop/stock", "more.csv", "item,n\nbolt,1\n", has_header="true")
    assert again.text == "more.csv appended to table stock version 2\n"
    rows = lines_of(server, "SELECT * FROM shop.stock ORDER BY n")
    assert rows == [
        {"item": "bolt", "n": 1},
        {"item": "screw", "n": 5},
        {"item": "nail", "n": 7},
    ]
    bare = sent(server, "/upload/shop/bare", "b.csv", '"a, b";2\nc;3\n', has_header="false")
    assert bare.status_code == 200, bare.text
    assert lines_of(server, "SELECT column_1, column_2 FROM shop.bare ORDER BY column_2") == [
        {"column_1": "a, b", "column_2": 2},
        {"column_1": "c", "column_2": 3},
    ]


def test_an_upload_of_parquet_and_one_with_a_schema(
    serve: Callable[..., Server], tmp_path: Path
) -> None:
    server = serve("--write")
    pq.write_table(pa.table({"a": [1, 2], "b": ["x", None]}), tmp_path / "t.parquet")
    data = (tmp_path / "t.parquet").read_bytes()
    done = sent(server, "/upload/public/t", "t.parquet", data)
    assert done.text == "t.parquet appended to table t version 1\n"
    assert lines_of(server, "SELECT COUNT(*) AS n, SUM(a) AS s FROM t") == [{"n": 2, "s": 3}]
    schema = {
        "fields": [
            {"name": "zip", "type": {"name": "utf8"}, "nullable": True, "children": []},
            {"name": "at", "data_type": {"Timestamp": ["Microsecond", None]}},
            {"name": "n", "type": {"name": "int", "bitWidth": 32, "isSigned": True}},
        ]
    }
    text = "z,t,k\n01234,2026-01-02T03:04:05Z,7\n"
    sent(server, "/upload/public/typed", "x.csv", text, schema=json.dumps(schema))
    rows = lines_of(server, "SELECT zip, at, n FROM public.typed")
    assert rows == [{"zip": "01234", "at": "2026-01-02T03:04:05Z", "n": 7}]


def test_names_without_a_schema(serve: Callable[..., Server]) -> None:
    server = serve("--write")
    assert lines_of(server, "CREATE TABLE t AS SELECT 1 AS n") == []
    assert lines_of(server, "INSERT INTO t SELECT n + 1 AS n FROM t") == []
    assert lines_of(server, "SELECT n FROM t ORDER BY n") == [{"n": 1}, {"n": 2}]
    assert lines_of(server, "SELECT n FROM public.t WHERE n = 1") == [{"n": 1}]
    assert asked(server, "SELECT COUNT(*) AS c FROM t").text == '{"c":2}\n'
    # A database of the path has the schema `public` alone.
    assert lines_of(server, "SELECT COUNT(*) AS c FROM app", "/logs/q") == [{"c": 10}]
    assert lines_of(server, "SELECT COUNT(*) AS c FROM public.app", "/logs/q") == [{"c": 10}]
    done = sent(server, "/logs/upload/public/app", "a.csv", "n\n77\n")
    assert done.text == "a.csv appended to table app version 2\n"
    assert lines_of(server, "DELETE FROM app WHERE n < 77", "/logs/q") == []
    assert lines_of(server, "SELECT n FROM logs.app") == [{"n": 77}]
    digest = hashlib.sha256(b"SELECT n FROM app").hexdigest()
    header = {"x-seafowl-query": quote("SELECT n FROM app")}
    assert server.get(f"/logs/q/{digest}", headers=header).text == '{"n":77}\n'
    assert server.get(f"/q/{digest}", headers=header).status_code == 404
    refused = server.post("/q", json={"query": "CREATE VIEW public.v AS SELECT * FROM t"})
    assert (refused.status_code, refused.text[:6]) == (400, "a view")


def test_what_is_no_upload_makes_no_table(serve: Callable[..., Server], lake: Path) -> None:
    server = serve("--write")
    where = "/upload/shop/stock"
    wrong = sent(server, where, "stock.xlsx", "x")
    assert (wrong.status_code, wrong.text) == (400, "File stock.xlsx not supported")
    assert sent(server, where, "a.parquet", "no Parquet").status_code == 422
    assert server.post(where, data={"has_header": "true"}).status_code == 415
    head = {"content-type": "multipart/form-data; boundary=b"}
    part = b'--b\r\nContent-Disposition: form-data; name="data"; filename="a.csv"\r\n\r\nn\r\n1'
    cut = server.post(where, data=part, headers=head)
    assert (cut.status_code, cut.text) == (400, "the body is cut: the form has no end")
    twice = part + b"\r\n" + part + b"\r\n--b--\r\n"
    assert server.post(where, data=twice, headers=head).status_code == 400
    assert sent(server, where, "a.csv", "n\n1\n", schema="[]").status_code == 400
    assert sent(server, "/upload/shop/st.ock", "a.csv", "n\n1\n").status_code in {400, 404}
    assert sent(server, "/upload/../etc", "a.csv", "n\n1\n").status_code == 404
    assert not (lake / "db/shop").exists()


def test_rights_to_upload(
    serve: Callable[..., Server], lake: Path, run: Callable[..., Any]
) -> None:
    refused = sent(serve(), "/upload/logs/app", "a.csv", "n\n1\n")
    assert (refused.status_code, refused.text[:9]) == (403, "the token")
    tokens = str(lake.parent / "tokens.json")
    made = run(
        "token",
        "create",
        "a",
        "--can",
        "ingest:logs.*",
        "--can",
        "write:shop.*",
        "--tokens",
        tokens,
    )
    secret = made.stdout.decode().split()[-1]
    server = serve("--tokens", tokens)
    nobody = sent(server, "/upload/logs/app", "a.csv", "n\n1\n")
    assert (nobody.status_code, nobody.text) == (401, "NEED_ACCESS_TOKEN")
    server.session.headers["authorization"] = f"Bearer {secret}"
    for where, status in (
        ("/upload/logs/app", 200),
        ("/upload/logs/new", 404),  # to make a table takes the right to write
        ("/upload/web/gha", 404),
        ("/upload/shop/new", 200),
    ):
        assert sent(server, where, "a.csv", "n\n1\n").status_code == status, where


def test_paths_of_seafowl() -> None:
    paths = ("/q", "/q/x", "/upload/a/b", "/web/q", "/web/q/x", "/web/upload/a/b")
    assert all(map(is_seafowl, paths))
    assert not any(map(is_seafowl, ("/v1/query", "/v1/q", "/healthz", "/", "/queue", "/web/queue")))


def test_schemas_that_are_none() -> None:
    for text in ("", "[]", "{}", '{"fields": [{}]}', '{"fields": [{"name": "a", "type": "List"}]}'):
        with pytest.raises(HttpError):
            hints_of(text, has_header=True)


def test_names_that_a_query_makes_itself_are_no_tables() -> None:
    text = "WITH r AS (SELECT * FROM t) SELECT r.a FROM r, u AS x, x.items AS i"
    expected = "WITH r AS (SELECT * FROM public.t) SELECT r.a FROM r, public.u AS x, x.items AS i"
    assert qualified(parse(text), "") == parse(expected)
    assert qualified(parse("SELECT * FROM public.t"), "web") == parse("SELECT * FROM web.t")
    assert qualified(parse("SELECT * FROM t@3"), "web") == parse("SELECT * FROM web.t@3")
