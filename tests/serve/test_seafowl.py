"""Clients of Seafowl: queries by hash, its headers and texts of errors."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, unquote

import requests

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
