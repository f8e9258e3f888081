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
    db.append(
        "logs.told", [{"n": n, "s": f"x{n:0300}"} for n in range(20_000)]
    )  # more than a pipe holds
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


@pytest.fixture
def untimed(serve: Callable[..., Server], lake: Path) -> Server:
    """A server with rows whose times are numbers and texts that nobody has read."""
    db = sdb.connect(lake)
    db.create("logs.untimed", "in/*.json")
    db.append("logs.untimed", [{"ts": 1709528767, "at": "04/03/2024 06:06"}])
    return serve()


@pytest.mark.parametrize(("name", "held"), [("ts", "numbers"), ("at", "texts")])
def test_a_time_on_a_field_without_times_is_never_silently_nothing(
    untimed: Server, name: str, held: str
) -> None:
    """Rows, plans, facets, counts and tails say why nothing is found."""
    period = {"since": "2024-01-01", "time_field": name}
    compared = f"{name} >= TIMESTAMP '2024-01-01T00:00:00Z'"
    told_texts = (f"{name} has {held}", f"{name} has {held.replace('texts', 'strings')}")
    table = "/v1/tables/logs.untimed"
    for answer, is_plan in (
        (untimed.query("SELECT * FROM logs.untimed", format="json", **period), False),
        (untimed.query(f"SELECT * FROM logs.untimed WHERE {compared}", format="json"), False),
        (untimed.get(f"{table}/facets", params={"format": "json", **period}), False),
        (untimed.get(f"{table}/packfiles", params={"where": compared}), True),
    ):
        body = answer.json()
        members = "; ".join([*body.get("warnings", ()), *body.get("notes", ())])
        headers = "; ".join(v for k, v in answer.headers.items() if k.startswith("sdb-"))
        assert any(text in members for text in told_texts), body
        assert any(text in headers for text in told_texts), answer.headers
        assert body["packfiles" if is_plan else "rows"] == []
    for resource in ("hits", "timeline", "packfiles"):
        assert untimed.get(f"{table}/{resource}", params=period).status_code in {400, 404}
    with untimed.get(
        f"{table}/tail", stream=True, params={"where": compared, "after": "0"}
    ) as sent:
        lines = (line.decode() for line in sent.iter_lines(chunk_size=1))
        assert any(line == "event: warnings" for line in lines)
        data = next(lines)
        assert any(text in data for text in told_texts)
