"""What the systems that this project follows promise: each row of the table is a request."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest

import sdb
from tests.examples import ROOT

from .conftest import Server, made
from .test_catalog import LINES, send
from .test_seafowl import asked

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

T = "/v1/tables/logs.app"
ANY = {"if-match": "*"}
_ROW = re.compile(r"`([A-Z]+) (/[^ `]*)(?: (\{[^`]*\}))?`")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("seeds")
    backup = folder / "backup"
    options = ("--audit", str(folder / "audit.log"), "--push-to", f"backup={backup}")
    running = Server(made(folder / "lake"), "--write", *options)
    (folder / "lake/in").mkdir()
    (folder / "lake/in/more.json").write_text('{"n": 100}\n{"n": 101}\n')
    yield running
    running.close()


def rows_of_page() -> list[tuple[str, str, str]]:
    """Return the requests of the table in docs/serve.md: method, URL and body."""
    page = (ROOT / "docs/serve.md").read_text()
    part = page[page.index("## What Tarchia and Seafowl promise") :]
    part = part[: part.index("\n## ", 5)]
    lines = [line for line in part.splitlines() if line.startswith("| ")][1:]
    rows = [_ROW.findall(line.split("|")[3]) for line in lines]
    return [request for requests in rows for request in requests]


def test_every_row_is_a_request_that_works(server: Server) -> None:
    """In the order of the table: each begins with what those before it have left."""
    requests = rows_of_page()
    assert len(requests) > 40
    values: dict[str, str] = {}
    for method, url, body in requests:
        path = re.sub(r"\{(\w+)\}", lambda match: values[match[1]], url)
        is_resource = method == "PUT" and not path.endswith("/schema")
        headers = {} if method == "GET" or is_resource else {"if-match": "*"}
        options: dict[str, Any] = {}
        if path == "/v1/databases/shop" and "bob" in body:
            headers = {"if-match": server.get(path).headers["etag"]}
        if "/rows" in path:
            options, headers = {"data": body or '{"n": 7}'}, LINES
        elif path.startswith("/upload/"):
            options = {"files": {"data": ("stock.csv", "n\n1\n")}}
        elif path.startswith("/q/"):
            answer = asked(server, "SELECT COUNT(*) AS c FROM logs.app")
            assert answer.status_code == 200, answer.text
            continue
        elif body:
            options = {"data": body}
            headers["content-type"] = "application/json"
        answer = send(server, method, path, headers=headers, **options)
        assert answer.status_code in {200, 201, 204}, (method, path, body, answer.text)
        if path == "/v1/transactions":
            values["id"] = answer.json()["id"]


def test_a_database_has_an_owner_and_a_steward(server: Server) -> None:
    path = "/v1/databases/shop2"
    assert server.get(path).status_code == 404
    put = send(server, "PUT", path, json={"owner": "acme", "steward": "eva"})
    assert (put.status_code, put.json()["new"]) == (201, True)
    shown = server.get(path)
    assert shown.json() == {"name": "shop2", "tables": 0, "owner": "acme", "steward": "eva"}
    unseen = send(server, "PUT", path, json={"owner": "bob"})
    assert unseen.status_code == 428
    stale = send(server, "PUT", path, json={"owner": "bob"}, headers={"if-match": '"x"'})
    assert stale.status_code == 412
    tag = {"if-match": shown.headers["etag"]}
    assert send(server, "PUT", path, json={"owner": "bob"}, headers=tag).status_code == 200
    assert server.get(path).json() == {"name": "shop2", "tables": 0, "owner": "bob"}
    names = [each["name"] for each in server.get("/v1/databases").json()["databases"]]
    assert {"logs", "shop2", "web"} <= set(names)
    assert send(server, "PUT", "/v1/databases/a.b", json={}).status_code == 400


def test_a_promotion_is_rolled_back(serve: Callable[..., Server]) -> None:
    server = serve("--write")
    count = "SELECT COUNT(*) AS n FROM logs.app"
    assert send(server, "PUT", f"{T}/branches/dev", json={}).status_code == 201
    assert server.post(f"{T}@dev/rows", data='{"n": 77}', headers=LINES).status_code == 201
    assert server.post(f"{T}/promote", json={"source": "dev"}).status_code == 428
    done = server.post(f"{T}/promote", json={"source": "dev"}, headers=ANY).json()
    assert (done["new"], done["promoted"], done["before"]) == (True, "dev", done["version"] - 1)
    assert server.query(count).json() == {"n": 11}
    back = server.post(f"{T}/restore", json={"at": str(done["before"])}, headers=ANY)
    assert back.json()["new"] is True
    assert server.query(count).json() == {"n": 10}
    match = {"if-match": back.headers["etag"]}
    undone = server.post(f"{T}/undo", json={}, headers=match)
    assert undone.json()["undone"] == back.json()["version"]
    assert server.query(count).json() == {"n": 11}
    assert server.post(f"{T}/undo", json={}, headers=match).status_code == 412
    missing = server.post(f"{T}/promote", json={"source": "nope"}, headers=ANY)
    assert missing.status_code == 404


def test_definitions_descriptions_and_schemas(serve: Callable[..., Server]) -> None:
    server = serve("--write")
    described = send(server, "PATCH", T, json={"description": "of the app", "steward": "eva"})
    assert (described.status_code, described.json()["new"]) == (200, True)
    described = send(server, "PATCH", T, json={"steward": ""})
    assert (described.json()["description"], described.json()["steward"]) == ("of the app", None)
    assert send(server, "PATCH", T, json={}).status_code == 400
    definition = server.get(f"{T}/definition").json()["definition"]
    assert definition["description"] == "of the app"
    assert server.get(f"{T}/schema").json() == {"table": "logs.app", "schema": None}
    tag = {"if-match": server.get(T).headers["etag"]}
    begun = send(server, "PUT", f"{T}/schema", json={"infer": True}, headers=tag)
    assert [each["name"] for each in begun.json()["schema"]["columns"]] == ["n"]
    again = send(server, "PUT", f"{T}/schema", json={"infer": True}, headers=ANY)
    assert again.status_code == 409
    assert send(server, "PUT", f"{T}/schema", json={"infer": True}, headers=tag).status_code == 412
    both = {"infer": True, "schema": {"columns": []}}
    assert send(server, "PUT", f"{T}/schema", json=both, headers=ANY).status_code == 400
    wished = server.get(f"{T}/schema").json()["schema"]
    wished["columns"].append({"name": "who", "type": "string"})
    put = send(server, "PUT", f"{T}/schema", json={"schema": wished, "mode": "reject"}, headers=ANY)
    assert put.json()["schema"]["mode"] == "reject"
    departs = server.post(f"{T}/rows", data='{"n": "x"}', headers=LINES)
    assert departs.status_code == 422
    gone = send(server, "PUT", f"{T}/schema", json={"schema": None}, headers=ANY)
    assert gone.json()["schema"] is None


def test_search_finds_names_fields_and_descriptions(serve: Callable[..., Server]) -> None:
    server = serve("--write")
    send(server, "PATCH", T, json={"description": "Lines of the application"})

    def found(**members: str) -> list[tuple[str, str]]:
        answer = server.get("/v1/search", params=members).json()
        assert answer["truncated"] is ("limit" in members)
        return [(each["kind"], each.get("field") or each["table"]) for each in answer["found"]]

    assert found(q="LINES OF") == [("table", "logs.app")]
    assert ("field", "actor") in found(q="acto")
    assert found(q="web", kind="table") == [("table", "web.gha")]
    assert len(found(q="o", limit="1")) == 1
    assert server.get("/v1/search?q=").status_code == 400
    assert server.get("/v1/search?q=a&kind=nope").status_code == 400


def test_forks_and_pushes(serve: Callable[..., Server], tmp_path: Path) -> None:
    backup = tmp_path / "backup"
    server = serve("--write", "--push-to", f"backup={backup}")
    forked = server.post(f"{T}/fork", json={"as": "logs.copy"})
    assert (forked.status_code, forked.json()["table"]) == (201, "logs.copy")
    assert "root" not in forked.json()
    assert server.query("SELECT COUNT(*) AS n FROM logs.copy").json() == {"n": 10}
    assert server.post(f"{T}/fork", json={"as": "logs.copy"}).status_code == 409
    assert server.post(f"{T}/fork", json={"as": "logs.a.b"}).status_code == 400
    assert server.post(f"{T}/fork", json={"as": "logs.copy@1"}).status_code == 400
    pushed = server.post(f"{T}/push", json={"to": "backup", "as": "old.app"})
    assert (pushed.json()["to"], pushed.json()["sent"]) == ("backup", 1)
    assert list(sdb.connect(backup).sql("SELECT COUNT(*) AS n FROM old.app")) == [{"n": 10}]
    elsewhere = server.post(f"{T}/push", json={"to": str(tmp_path)})
    assert (elsewhere.status_code, elsewhere.json()["expected"]) == (400, "backup")


def test_upkeep_is_done_at_once(serve: Callable[..., Server], lake: Path) -> None:
    for number in range(9):
        sdb.connect(lake).append("logs.app", [{"n": number}])
    server = serve("--write")
    planned = server.post(f"{T}/compact", json={"dry_run": True})
    assert planned.status_code == 200, planned.text
    before = server.get(T).json()["version"]
    done = server.post(f"{T}/compact", json={})
    assert done.status_code == 200, done.text
    assert server.get(T).json()["version"] == before + 1
    assert server.post(f"{T}/maintain", json={"dry_run": True}).json()["failures"] == []
    assert server.post("/v1/tables/logs.*/maintain", json={}).status_code == 404


def test_each_call_takes_its_right(serve: Callable[..., Server], lake: Path, run: Any) -> None:
    path, audit = lake.parent / "tokens.json", lake.parent / "audit.log"

    def token(name: str, *rights: str) -> dict[str, str]:
        options = [option for right in rights for option in ("--can", right)]
        done = run("token", "create", name, *options, "--tokens", str(path))
        assert done.returncode == 0, done.stderr
        return {"authorization": f"Bearer {done.stdout.decode().strip()}"}

    admin, reader = token("boss", "admin"), token("reader", "read:logs.*")
    writer, ingester = token("writer", "write:logs.*"), token("ingester", "ingest:logs.*")
    server = serve("--tokens", str(path), "--audit", str(audit))

    def status(method: str, url: str, who: dict[str, str], **json: Any) -> int:
        options = {"json": json} if method in {"POST", "PUT", "PATCH"} else {}
        return int(send(server, method, url, headers=who | ANY, **options).status_code)

    assert status("PATCH", T, reader, steward="x") == 403
    assert status("PATCH", T, writer, steward="x") == 200
    assert status("PATCH", "/v1/tables/web.gha", writer, steward="x") == 404
    assert status("GET", f"{T}/definition", reader) == 403
    assert status("GET", f"{T}/schema", reader) == 200
    assert status("PUT", f"{T}/schema", reader, infer=True) == 403
    assert status("PUT", "/v1/databases/logs", reader, owner="x") == 403
    assert status("PUT", "/v1/databases/web", writer, owner="x") == 404
    assert status("PUT", "/v1/databases/logs", writer, owner="x") == 201
    assert status("GET", "/v1/databases/web", reader) == 404
    assert status("POST", f"{T}/fork", reader, **{"as": "logs.b"}) == 403
    assert status("POST", f"{T}/fork", writer, **{"as": "web.b"}) == 404
    assert status("POST", f"{T}/fork", writer, **{"as": "logs.b"}) == 201
    for call in ("compact", "maintain"):
        assert status("POST", f"{T}/{call}", writer) == 403
        assert status("POST", f"{T}/{call}", admin) == 200
    assert status("POST", f"{T}/push", writer, to="x") == 403
    assert status("POST", "/v1/transactions", reader) == 403
    assert status("GET", "/v1/audit", writer) == 403
    kinds = {
        each["table"] for each in server.get("/v1/search?q=logs", headers=reader).json()["found"]
    }
    assert kinds == {"logs.app", "logs.b"}
    begun = server.post("/v1/transactions", json={}, headers=ingester)
    assert begun.status_code == 201
    own = f"/v1/transactions/{begun.json()['id']}"
    assert status("GET", own, writer) == 404
    rows = server.post(f"{own}/rows?table=logs.app", data='{"n":1}', headers=LINES | ingester)
    assert rows.status_code == 201, rows.text
    web = server.post(f"{own}/rows?table=web.gha", data='{"n":1}', headers=LINES | ingester)
    assert web.status_code == 404
    assert status("POST", f"{own}/files", ingester, table="logs.app", files=["in/x"]) == 403
    assert status("POST", f"{own}/commit", ingester) == 200
    lines = server.get("/v1/audit?token=writer", headers=admin).json()["requests"]
    assert [line["status"] for line in lines if line["path"] == T] == [200]
    assert {line["token"] for line in lines} == {"writer"}
    assert "Bearer" not in audit.read_text()
    assert audit.stat().st_mode & 0o077 == 0


def test_without_an_audit_log_the_answer_says_so(serve: Callable[..., Server]) -> None:
    answer = serve("--write").get("/v1/audit")
    assert (answer.status_code, answer.json()["hint"]) == (501, "sdb serve --audit FILE keeps one")
