"""Warnings and notes on an answer in each format, also those that its end brings."""

from __future__ import annotations

import json
import urllib.parse
from typing import TYPE_CHECKING

import pytest

import sdb
from tests.serve.test_limits import Client

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.serve.conftest import Server

FORMATS = ("ndjson", "json", "csv", "arrow", "parquet", "html", "rows")
ABSENT = "nothing"
SQL = f"SELECT n, {ABSENT}, CAST(s AS INTEGER) AS c FROM logs.told"


@pytest.fixture
def server(serve: Callable[..., Server], lake: Path) -> Server:
    """A server with rows whose texts are no numbers."""
    db = sdb.connect(lake)
    db.create("logs.told", "in/*.json")
    db.append("logs.told", [{"n": n, "s": f"x{n:0300}"} for n in range(2000)])
    return serve()


def told(server: Server, sql: str, name: str) -> tuple[dict[str, str], dict[str, str]]:
    """Return the headers of an answer, and what comes behind its last chunk."""
    query = urllib.parse.urlencode({"sql": sql, "format": name})
    with Client(server) as client:
        head = "HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
        client.send(f"GET /v1/query?{query} {head}".encode())
        before, _, body = client.all().partition(b"\r\n\r\n")
    assert before.startswith(b"HTTP/1.1 200"), body
    is_chunked = b"transfer-encoding: chunked" in before
    behind = body[body.rindex(b"0\r\n") + 3 :] if is_chunked else b""
    fields = [dict(line.split(": ", 1) for line in part.decode().splitlines()[at:] if line)
              for part, at in ((before, 1), (behind, 0))]  # fmt: skip
    return fields[0], fields[1]


@pytest.mark.parametrize("name", FORMATS)
def test_each_format_has_what_is_told_in_headers(server: Server, name: str) -> None:
    head, behind = told(server, f"{SQL} LIMIT 9", name)
    assert ABSENT in head["sdb-warnings"]
    # An answer that takes longer than it is held back has the rest behind it.
    assert "CAST" in {**head, **behind}["sdb-notes"]


def test_objects_pages_and_ends_have_it_as_members(server: Server) -> None:
    ends = json.loads(server.query(f"{SQL} LIMIT 9", end="1").text.splitlines()[-1])["$end"]
    members = server.query(f"{SQL} LIMIT 9", format="json").json()
    for parts in (ends, members):
        assert ABSENT in "; ".join(parts["warnings"])
        assert "CAST" in "; ".join(parts["notes"])
    page = server.query(f"{SQL} LIMIT 9", format="html").text
    assert f"{ABSENT}" in page.rpartition("</table>")[2]
    plain = server.query("SELECT n FROM logs.told LIMIT 1", format="json").json()
    assert (plain["warnings"], plain["notes"]) == ([], [])


@pytest.mark.parametrize("name", ["ndjson", "csv", "arrow"])
def test_a_long_answer_has_it_behind_the_last_chunk(server: Server, name: str) -> None:
    sql = SQL.replace("n,", "n, s,")
    head, behind = told(server, sql, name)
    assert head["trailer"] == "sdb-notes, sdb-warnings"
    assert "sdb-notes" not in head
    assert "CAST" in behind["sdb-notes"]
    assert ABSENT in behind["sdb-warnings"]
    # Clients that know of no trailers, and connections that go on, take such an answer.
    for _ in range(2):
        assert len(server.query(sql, format=name).content) > 300_000


def test_what_is_known_with_the_rows_is_told_too(serve: Callable[..., Server], lake: Path) -> None:
    db = sdb.connect(lake)
    db.create("logs.typed", "in/*.json")
    db.append("logs.typed", [{"n": 1}, {"n": "one"}])
    db.table("logs.typed").set_schema([{"name": "n", "path": ["n"], "type": "decimal(6,2)"}])
    head, behind = told(serve(), "SELECT n FROM logs.typed", "arrow")
    assert "1 value is no decimal" in {**head, **behind}["sdb-warnings"]
