"""A day of a user who has curl and no `sdb`; and the requests of Grafana and spreadsheets.

Their queries are those that docs/serve.md has, taken from the page.
"""

from __future__ import annotations

import io
import json
import re
import subprocess
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, urlsplit

import pyarrow.parquet as pq
import pytest

from sdb.serve.tokens import create

from .conftest import ROOT

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from .conftest import Server

pytestmark = pytest.mark.wide


class Curl:
    """Runs curl, as a user types it."""

    def __init__(self, url: str, folder: Path) -> None:
        self.url, self.folder = url, folder

    def __call__(self, path: str, *words: str, fails: bool = False) -> str:
        command = ["curl", "-sS", "--fail-with-body", *words, self.url + path]
        done = subprocess.run(command, cwd=self.folder, capture_output=True, text=True, check=False)
        assert (done.returncode == 22) is fails, (command, done.stdout, done.stderr)
        return done.stdout

    def json(self, path: str, *words: str, fails: bool = False) -> Any:
        return json.loads(self(path, *words, fails=fails))


def test_a_day_with_curl(serve: Callable[..., Server], tmp_path: Path) -> None:
    server = serve("--write")
    curl = Curl(server.url, tmp_path)
    # Morning: which tables are there, and what is in them?
    names = [table["name"] for table in curl.json("/v1/tables")["tables"]]
    assert names == ["logs.app", "web.gha"]
    assert curl.json("/v1/tables/web.gha")["rows"] == 1000
    fields = curl.json("/v1/tables/web.gha/fields?limit=2")["fields"]
    assert fields[1] == {"path": ["type"], "types": ["string"], "rows": 1000}
    top = curl.json("/v1/tables/web.gha/facets?fields=type&limit=1")["rows"]
    assert top == [{"field": "type", "value": "PushEvent", "rows": 596}]
    # A question, as CSV for a spreadsheet.
    text = "SELECT type, COUNT(*) AS n FROM web.gha GROUP BY type ORDER BY n DESC LIMIT 2"
    csv = curl("/v1/query", "-G", "--data-urlencode", f"sql={text}", "-d", "format=csv")
    assert csv == "type,n\nPushEvent,596\nIssueCommentEvent,86\n"
    wrong = curl.json("/v1/query?sql=SELECT+typ+FROM+WHERE", fails=True)
    assert (wrong["status"], wrong["exit_code"], "shown" in wrong) == (400, 2, True)
    # Noon: rows come in, from a file; the line breaks off, and it is sent again.
    (tmp_path / "rows.json").write_text('{"n": 100}\n{"n": 101}\n')
    send = ["-H", "Content-Type: application/x-ndjson", "-H", "Idempotency-Key: noon",
            "--data-binary", "@rows.json"]  # fmt: skip
    first = curl.json("/v1/tables/logs.app/rows", *send)
    assert first == curl.json("/v1/tables/logs.app/rows", *send)
    assert (first["version"], first["rows"]) == (2, 2)
    # A name for what is there now, before something is changed.
    body = ["-H", "Content-Type: application/json", "-d"]
    tag = curl.json("/v1/tables/logs.app/tags/noon", "-X", "PUT", *body, "{}")
    assert (tag["version"], tag["new"]) == (2, True)
    done = curl.json("/v1/exec", *body, '{"sql": "DELETE FROM logs.app WHERE n < 100"}')
    assert done["transactions"][0]["statements"][0]["rows_deleted"] == 10
    # That was too much: what has changed, and back.
    assert curl.json("/v1/tables/logs.app/diff?from=noon")["rows_removed"] == 10
    refused = curl.json("/v1/tables/logs.app/restore", *body, '{"at": "noon"}', fails=True)
    assert refused["status"] == 428
    match = ["-H", refused["hint"].partition(",")[0]]
    assert match == ["-H", 'If-Match: "3"']
    back = curl.json("/v1/tables/logs.app/restore", *match, *body, '{"at": "noon"}')
    assert (back["version"], back["restored"]) == (4, 2)
    # Evening: try something on a branch, and take it over.
    curl("/v1/tables/logs.app/branches/try", "-X", "PUT", *body, "{}")
    update = """{"sql": "UPDATE logs.app@'try' SET n = 0 WHERE n = 100"}"""
    curl("/v1/exec", *body, update)
    any_match = ["-H", "If-Match: *"]
    merged = curl.json("/v1/tables/logs.app/merge", *any_match, *body, '{"source": "try"}')
    assert merged["new"] is True
    curl("/v1/tables/logs.app/branches/try", "-X", "DELETE", *any_match)
    zeros = curl.json("/v1/query?sql=SELECT+COUNT(*)+AS+c+FROM+logs.app+WHERE+n=0")
    assert zeros == {"c": 2}
    log = curl.json("/v1/tables/logs.app/versions")["versions"]
    assert [each["operation"] for each in log] == ["merge", "restore", "delete", "insert", "insert"]


def grafana_requests() -> list[str]:
    page = (ROOT / "docs/serve.md").read_text()
    section = page[page.index("## Grafana") : page.index("## Spreadsheets")]
    (block,) = re.findall(r"^```text\n(.*?)^```$", section, re.DOTALL | re.MULTILINE)
    return [line for line in block.splitlines() if line.startswith("/")]


# As Grafana fills its variables in: times in milliseconds, and as ISO 8601.
VARIABLES = {
    "${__from}": "1420074000000",
    "${__to}": "1420074600000",
    "${__from:date:iso}": "2015-01-01T01:00:00.000Z",
    "${__to:date:iso}": "2015-01-01T01:10:00.000Z",
    "${__interval}": "1m",
}


@pytest.mark.parametrize("line", grafana_requests())
def test_requests_of_grafana(serve: Callable[..., Server], line: str) -> None:
    server = serve()
    for name, value in VARIABLES.items():
        line = line.replace(name, value)
    assert "${" not in line
    parts = urlsplit(line)
    # Infinity sends the parameters encoded, and asks for JSON.
    headers = {"accept": "application/json, text/plain;q=0.5, */*;q=0.1"}
    params = dict(parse_qsl(parts.query))
    answer = server.get(parts.path, params=params, headers=headers)
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"].startswith("application/json")
    rows = answer.json()["rows"]
    assert rows
    for row in rows:
        assert "time" not in row or re.fullmatch(r"2015-01-01T\d\d:\d\d:\d\d.*Z", row["time"])
    tag = {"if-none-match": answer.headers["etag"]}
    assert server.get(parts.path, params=params, headers=headers | tag).status_code == 304


def formula(word: str) -> str:
    """Return the example of docs/serve.md that has a word."""
    page = (ROOT / "docs/serve.md").read_text()
    section = page[page.index("## Spreadsheets") : page.index("## From Python")]
    blocks = re.findall(r"^```text\n(.*?)^```$", section, re.DOTALL | re.MULTILINE)
    (block,) = [block for block in blocks if word in block]
    return str(block)


def test_a_query_of_power_query_gets_csv_with_a_token(
    serve: Callable[..., Server], tmp_path: Path
) -> None:
    token = create(tmp_path / "tokens.json", "excel", ("read:web.*",), now_us=0)
    server = serve("--tokens", str(tmp_path / "tokens.json"))
    (members,) = re.findall(r"Query = \[(.*?)\]", formula("Web.Contents"))
    params = dict(re.findall(r'(\w+) = "([^"]*)"', members))
    (path,) = re.findall(r'RelativePath = "([^"]*)"', formula("Web.Contents"))
    asked = {"accept": "*/*", "user-agent": "Microsoft.Data.Mashup"}
    bare = server.get(f"/{path}", params=params, headers=asked)
    assert bare.status_code == 401
    assert "Basic" in bare.headers["www-authenticate"]
    for options in ({"headers": asked | {"authorization": f"Bearer {token}"}},
                  {"headers": asked, "auth": ("anybody", token)}):  # fmt: skip
        answer = server.get(f"/{path}", params=params, **options)
        assert answer.status_code == 200, answer.text
        assert answer.headers["content-type"].startswith("text/csv")
        assert answer.text.splitlines()[0] == "type,n"
        assert "PushEvent,596" in answer.text


def test_importdata_gets_cells_that_execute_nothing(serve: Callable[..., Server]) -> None:
    (url,) = re.findall(r'"https://lake.example.org([^"]*)"', formula("IMPORTDATA"))
    answer = serve().get(url, headers={"accept": "*/*"})
    assert answer.headers["content-type"].startswith("text/csv")
    assert "sdb-safe-csv" in answer.headers
    assert "PushEvent,596" in answer.text


def test_duckdb_of_metabase_asks_for_the_length_and_for_ranges(
    serve: Callable[..., Server],
) -> None:
    server = serve()
    (url,) = re.findall(r"'https://lake.example.org([^']*)'", formula("read_parquet"))
    head = server.session.head(server.url + url)
    assert (head.status_code, head.headers["accept-ranges"]) == (200, "bytes")
    size = int(head.headers["content-length"])
    pieces = []
    for start, stop in ((0, size // 2), (size // 2, size)):
        part = server.get(url, headers={"range": f"bytes={start}-{stop - 1}"})
        assert part.status_code == 206
        pieces.append(part.content)
    table = pq.read_table(io.BytesIO(b"".join(pieces)))
    assert (table.num_rows, table.column_names) == (1000, ["type"])
