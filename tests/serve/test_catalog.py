"""Tables, versions, tags, branches and changes as resources, through a real server."""

from __future__ import annotations

import json
import os
import subprocess
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import sdb
from sdb.table.commit import naming

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from .conftest import Server

JSON = {"content-type": "application/json"}
LINES = {"content-type": "application/x-ndjson"}


@pytest.fixture
def server(serve: Callable[..., Server]) -> Server:
    return serve("--write")


@pytest.fixture
def tokens(serve: Callable[..., Server], lake: Path, run: Callable[..., Any]) -> Any:
    """Start a server with tokens: return it, and a function that makes them."""
    path = lake.parent / "tokens.json"

    def token(name: str, *rights: str) -> dict[str, str]:
        options = [option for right in rights for option in ("--can", right)]
        done = run("token", "create", name, *options, "--tokens", str(path))
        assert done.returncode == 0, done.stderr
        return {"authorization": f"Bearer {done.stdout.decode().strip()}"}

    first = token("first", "admin")
    return serve("--tokens", str(path)), token, first


def insert(server: Server, count: int, **headers: str) -> Any:
    body = "".join(f'{{"n": {number}}}\n' for number in range(count))
    return server.post("/v1/tables/logs.app/rows", data=body, headers=LINES | headers)


def send(server: Server, method: str, path: str, **options: Any) -> Any:
    return server.session.request(method, server.url + path, timeout=60, **options)


def pages(server: Server, path: str, member: str) -> Iterator[dict[str, Any]]:
    while path:
        answer = server.get(path)
        assert answer.status_code == 200, answer.text
        yield from answer.json()[member]
        path = answer.json().get("next", "")


def test_lists_go_on_behind_next(server: Server, lake: Path) -> None:
    db = sdb.connect(lake)
    for name in ("a.a", "a.b", "z.z"):
        db.create(name, "in/*.json")
        db.append(name, [{"n": 1}])
    names = [table["name"] for table in pages(server, "/v1/tables?limit=2", "tables")]
    assert names == ["a.a", "a.b", "logs.app", "web.gha", "z.z"]
    asked = server.get("/v1/tables?q=GH").json()["tables"]
    assert [table["name"] for table in asked] == ["web.gha"]
    for number in range(5):
        db.append("logs.app", [{"n": number}])
    path = "/v1/tables/logs.app"
    versions = [each["version"] for each in pages(server, f"{path}/versions?limit=2", "versions")]
    assert versions == [6, 5, 4, 3, 2, 1]
    packs = [each["key"] for each in pages(server, f"{path}/packfiles?limit=2", "packfiles")]
    assert len(packs) == len(set(packs)) == 6
    fields = [
        each["path"] for each in pages(server, "/v1/tables/web.gha/fields?limit=50", "fields")
    ]
    assert len(fields) == len({tuple(map(str, each)) for each in fields}) > 100
    assert server.get("/v1/tables?page=x").status_code == 400
    assert server.get("/v1/tables/logs.app/versions?page=WyJ4Il0").status_code == 400


def test_pages_are_of_one_version(server: Server, lake: Path) -> None:
    db = sdb.connect(lake)
    for number in range(3):
        db.append("logs.app", [{"n": number}])
    first = server.get("/v1/tables/logs.app/packfiles?limit=2").json()
    db.execute("DELETE FROM logs.app WHERE n < 5")
    second = server.get(first["next"]).json()
    assert len(first["packfiles"]) + len(second["packfiles"]) == 4
    assert "next" not in second


def test_tags_cover_what_an_answer_shows(server: Server, lake: Path) -> None:
    path = "/v1/tables/logs.app/versions"
    tag = {"if-none-match": server.get(path).headers["etag"]}
    assert server.get(path, headers=tag).status_code == 304
    sdb.connect(lake).table("logs.app").tag("v1")  # no version, but the list has names
    changed = server.get(path, headers=tag)
    assert (changed.status_code, changed.json()["versions"][0]["names"]) == (200, ["v1"])
    for kind in ("fields", "packfiles", "timeline?time_field=created_at", "inputs", "tags"):
        asked = f"/v1/tables/web.gha/{kind}"
        known = {"if-none-match": server.get(asked).headers["etag"]}
        assert server.get(asked, headers=known).status_code == 304, kind


def test_differences_and_their_rows(server: Server, lake: Path) -> None:
    sdb.connect(lake).execute("DELETE FROM logs.app WHERE n = 3")
    path = "/v1/tables/logs.app/diff"
    assert server.get(path).json()["detail"] == "from is missing"
    sent = server.get(f"{path}?from=1").json()
    assert (sent["rows_removed"], sent["rows_added"]) == (10, 9)
    rows = server.get(f"{path}?from=1&rows=true").json()
    assert rows["differing"] == [{"sign": "-", "row": {"n": 3}}]
    some = server.get(f"{path}?from=1&to=2&rows=true&limit=1").json()
    assert some["truncated"] is False
    assert server.get(f"{path}?from=77").status_code == 404


def test_the_plan_as_data(server: Server, lake: Path) -> None:
    db = sdb.connect(lake)
    db.append("logs.app", [{"s": "rare", "at": "2026-01-01T00:00:00Z"}])
    path = "/v1/tables/logs.app/packfiles"
    (pack,) = server.get(path, params={"where": "s = 'rare'"}).json()["packfiles"]
    assert (pack["rows"], pack["blocks_to_read"], pack["block_ranges"]) == (1, 1, [[0, 1]])
    times = "/v1/tables/web.gha/packfiles"
    assert server.get(f"{times}?since=2016-01-01").json()["packfiles"] == []
    (all_of_it,) = server.get(f"{times}?until=2016-01-01").json()["packfiles"]
    assert all_of_it["blocks_to_read"] == all_of_it["blocks"]
    old = "/v1/tables/logs.app@1/packfiles"
    assert server.get(old, params={"where": "s = 'rare'"}).json()["packfiles"] == []
    assert len(server.get(old).json()["packfiles"]) == 1
    for where in ("n >", "n = 1; DROP TABLE logs.app", "n = 1) UNION SELECT (1", "n = $x",
                  "n IN (SELECT n FROM web.gha)"):  # fmt: skip
        flawed = server.get(path, params={"where": where})
        assert (flawed.status_code, flawed.json()["exit_code"]) == (400, 2), where
        assert flawed.json()["detail"].startswith("where: "), where


def test_rows_by_time_and_by_value(server: Server, lake: Path) -> None:
    path = "/v1/tables/web.gha/hits"
    plain = server.get(f"{path}?step=1m").json()
    assert sum(row["rows"] for row in plain["rows"]) == 1000
    assert [row["time"] for row in plain["rows"]] == sorted(row["time"] for row in plain["rows"])
    by = server.get(f"{path}?step=5m&by=type&where=public&until=2015-01-01T01:05Z")
    assert by.json()["rows"][0] == {
        "time": "2015-01-01T01:00:00Z", "value": "PushEvent", "rows": 405
    }  # fmt: skip
    tag = {"if-none-match": by.headers["etag"]}
    again = server.get(f"{path}?step=5m&by=type&where=public&until=2015-01-01T01:05Z", headers=tag)
    assert again.status_code == 304
    assert server.get(f"{path}?format=csv").text.startswith("time,rows\n")
    assert server.get(f"{path}?step=1.5s").status_code == 400
    assert server.get(f"{path}?by=a%2Bb").status_code == 400
    assert server.get("/v1/tables/logs.app/hits").json()["detail"] == "logs.app has no obvious time"
    minutes = [{"time": f"2024-01-01T00:0{n}:00Z", "value": n % 2} for n in range(9)]
    db = sdb.connect(lake)
    db.create("logs.named", "in/*.json")
    db.append("logs.named", minutes)
    named = "/v1/tables/logs.named/hits?step=5m"
    assert [row["rows"] for row in server.get(named).json()["rows"]] == [5, 4]
    split = server.get(f"{named}&by=value").json()["rows"]
    assert [(row["value"], row["rows"]) for row in split] == [(0, 3), (1, 2), (0, 2), (1, 2)]
    facets = server.get("/v1/tables/web.gha/facets?fields=type,actor.login&limit=2").json()["rows"]
    assert [row["field"] for row in facets] == ["type", "type", "actor.login", "actor.login"]
    assert facets[0] == {"field": "type", "value": "PushEvent", "rows": 596}
    some = server.get("/v1/tables/web.gha/facets?limit=1").json()["rows"]
    assert {"field": "type", "value": "PushEvent", "rows": 596} in some
    old = server.get("/v1/tables/web.gha@1/facets?fields=type&limit=1").json()["rows"]
    assert old == facets[:1]


def test_named_versions_are_put_and_deleted(server: Server) -> None:
    path = "/v1/tables/logs.app/tags/v1"
    made = send(server, "PUT", path, json={})
    assert (made.status_code, made.headers["etag"], made.json()["version"]) == (201, '"1"', 1)
    assert send(server, "PUT", path, json={"at": "1"}).status_code == 200
    insert(server, 2)
    moved = send(server, "PUT", path, json={"at": "2"})
    assert (moved.status_code, moved.json()["hint"][:13]) == (428, 'If-Match: "1"')
    stale = send(server, "PUT", path, json={"at": "2"}, headers={"if-match": '"7"'})
    assert (stale.status_code, stale.json()["exit_code"]) == (412, 5)
    good = send(server, "PUT", path, json={"at": "2"}, headers={"if-match": '"1"'})
    assert (good.status_code, server.get(path).json()["version"]) == (200, 2)
    new = send(server, "PUT", path, json={}, headers={"if-none-match": "*"})
    assert new.status_code == 412
    assert server.get("/v1/tables/logs.app/tags").json()["tags"][0]["name"] == "v1"
    assert send(server, "DELETE", path).status_code == 428
    assert send(server, "DELETE", path, headers={"if-match": '"1"'}).status_code == 412
    assert send(server, "DELETE", path, headers={"if-match": '"2"'}).status_code == 204
    assert send(server, "DELETE", path, headers={"if-match": "*"}).status_code == 404
    bad = send(server, "PUT", "/v1/tables/logs.app/tags/-1", json={})
    assert (bad.status_code, bad.json()["exit_code"]) == (400, 2)
    assert send(server, "PUT", path, data=b"{", headers=JSON).status_code == 400
    assert send(server, "PUT", path, data=b"{}").status_code == 415
    assert send(server, "PUT", path, json={"version": 1}).json()["detail"] == (
        "there is no member 'version'"
    )


def test_branches_are_merged_and_versions_restored(server: Server) -> None:
    path = "/v1/tables/logs.app"
    assert send(server, "PUT", f"{path}/branches/dev", json={}).status_code == 201
    assert send(server, "PUT", f"{path}/branches/dev", json={}).status_code == 409
    row = server.post(f"{path}@dev/rows", data='{"n": 77}', headers=LINES)
    assert (row.status_code, row.json()["version"]) == (201, 2)
    count = "SELECT COUNT(*) AS n FROM logs.app"
    assert server.query(count).json() == {"n": 10}
    assert server.post(f"{path}/merge", json={"source": "dev"}).status_code == 428
    match = {"if-match": server.get(path).headers["etag"]}
    merged = server.post(f"{path}/merge", json={"source": "dev"}, headers=match)
    assert (merged.status_code, merged.json()["new"]) == (200, True)
    assert server.query(count).json() == {"n": 11}
    again = server.post(f"{path}/merge", json={"source": "dev"}, headers=match)
    assert (again.status_code, again.json()["code"]) == (412, "version_changed")
    match = {"if-match": merged.headers["etag"]}
    restored = server.post(f"{path}/restore", json={"at": "1"}, headers=match)
    assert restored.json()["restored"] == 1
    assert server.query(count).json() == {"n": 10}
    any_match = {"if-match": "*"}
    nothing = server.post(f"{path}/restore", json={"at": "1"}, headers=any_match)
    assert nothing.json()["new"] is False
    missing = server.post(f"{path}/restore", json={"at": "99"}, headers=any_match)
    assert (missing.status_code, missing.json()["exit_code"]) == (404, 3)
    assert (
        server.post(f"{path}@nope/restore", json={"at": "1"}, headers=any_match).status_code == 404
    )
    main = send(server, "DELETE", f"{path}/branches/main", headers=any_match)
    assert main.status_code == 400
    head = {"if-match": server.get(f"{path}/branches/dev").headers["etag"]}
    assert send(server, "DELETE", f"{path}/branches/dev", headers=head).status_code == 204


def test_conflicting_branches_say_what_is_in_conflict(server: Server, lake: Path) -> None:
    table = sdb.connect(lake).table("logs.app")
    table.branch("dev")
    table.update({"n": "100"}, "n = 1")
    table.at("dev").update({"n": "200"}, "n = 1")
    any_match = {"if-match": "*"}
    answer = server.post("/v1/tables/logs.app/merge", json={"source": "dev"}, headers=any_match)
    assert (answer.status_code, answer.json()["exit_code"]) == (409, 5)
    assert answer.json()["conflicts"]["row_count"] == 1
    body = {"source": "dev", "strategy": "source"}
    done = server.post("/v1/tables/logs.app/merge", json=body, headers=any_match)
    assert (done.status_code, done.json()["rows_dropped"]) == (200, 1)


def test_only_one_of_many_writers_of_a_version_wins(server: Server) -> None:
    """The version is compared by the commit itself, not before it."""
    tag = {"if-match": server.get("/v1/tables/logs.app").headers["etag"]}
    statuses: list[int] = []

    def write(number: int) -> None:
        import requests

        answer = requests.post(
            f"{server.url}/v1/tables/logs.app/rows",
            data=f'{{"n": {number}}}',
            headers=LINES | tag,
            timeout=60,
        )
        statuses.append(answer.status_code)

    threads = [threading.Thread(target=write, args=(number,)) for number in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(statuses) == [201] + [412] * 11
    assert server.query("SELECT COUNT(*) AS n FROM logs.app").json() == {"n": 11}


def test_a_request_sent_again_is_answered_as_before(server: Server) -> None:
    first = insert(server, 3, **{"idempotency-key": "k1"})
    insert(server, 1)
    again = insert(server, 3, **{"idempotency-key": "k1"})
    assert (first.status_code, again.status_code) == (201, 201)
    assert first.json() == again.json()
    assert "idempotency-replayed" not in first.headers
    assert again.headers["idempotency-replayed"] == "true"
    import gzip

    body = gzip.compress(b'{"n": 0}\n{"n": 1}\n{"n": 2}\n', mtime=7)
    headers = LINES | {"idempotency-key": "k1", "content-encoding": "gzip"}
    zipped = server.post("/v1/tables/logs.app/rows", data=body, headers=headers)
    assert zipped.json() == first.json()
    other = insert(server, 4, **{"idempotency-key": "k1"})
    assert (other.status_code, other.json()["code"]) == (422, "key_reused")
    assert server.query("SELECT COUNT(*) AS n FROM logs.app").json() == {"n": 14}
    key = {"idempotency-key": "e1"}
    body = {"sql": "DELETE FROM logs.app WHERE n = 0"}
    done = server.post("/v1/exec", json=body, headers=key)
    replayed = server.post("/v1/exec", json=body, headers=key)
    assert replayed.headers["idempotency-replayed"] == "true"
    (first_done,), (second_done,) = done.json()["transactions"], replayed.json()["transactions"]
    assert first_done["statements"][0]["rows_deleted"] == 3
    assert {name: first_done[name] for name in ("version", "id", "new")} == {
        name: second_done[name] for name in ("version", "id", "new")
    }
    body = {"sql": "DELETE FROM logs.app WHERE n = 1"}
    assert server.post("/v1/exec", json=body, headers=key).status_code == 422


def test_many_requests_with_one_key_are_one(server: Server) -> None:
    answers: list[Any] = []
    threads = [
        threading.Thread(
            target=lambda: answers.append(_post(server, "/v1/tables/logs.app/rows", "same"))
        )
        for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {answer.status_code for answer in answers} == {201}
    assert len({answer.text for answer in answers}) == 1
    assert sum("idempotency-replayed" not in answer.headers for answer in answers) == 1
    assert server.query("SELECT COUNT(*) AS n FROM logs.app").json() == {"n": 12}


def _post(server: Server, path: str, key: str) -> Any:
    import requests

    headers = LINES | {"idempotency-key": key}
    body = '{"n": 1}\n{"n": 2}\n'
    return requests.post(server.url + path, data=body, headers=headers, timeout=60)


def test_requests_say_how_times_of_rows_are_read(server: Server) -> None:
    path = "/v1/tables/logs.app/rows"
    params = {"time_field": "seen:unix_ms", "times": "none"}
    body = '{"seen": 1709528767000, "text": "2024-03-04T05:06:07Z"}'
    assert server.post(path, data=body, headers=LINES, params=params).status_code == 201
    kinds = "SELECT TYPEOF(seen) AS seen, TYPEOF(text) AS text FROM logs.app WHERE text <> ''"
    assert server.query(kinds).json() == {"seen": "timestamp", "text": "string"}
    wrong = server.post(path, data=body, headers=LINES, params={"timezone": "Nowhere"})
    assert (wrong.status_code, wrong.json()["detail"]) == (400, "unknown time zone 'Nowhere'")


def test_nothing_comes_of_no_rows(server: Server) -> None:
    answer = server.post("/v1/tables/logs.app/rows", data="", headers=LINES)
    assert answer.status_code == 200
    assert (answer.json()["new"], answer.json()["rows"], answer.json()["version"]) == (False, 0, 1)


def test_statements_are_one_transaction(server: Server) -> None:
    two = "DELETE FROM logs.app WHERE n = 1; DELETE FROM logs.app WHERE n = 2"
    assert server.post("/v1/exec", json={"sql": two}).status_code == 400
    both = server.post("/v1/exec", json={"sql": f"BEGIN; {two}; COMMIT;"})
    assert both.json()["transactions"][0]["version"] == 2
    match = {"if-match": '"1"'}
    stale = server.post("/v1/exec", json={"sql": "DELETE FROM logs.app"}, headers=match)
    assert stale.status_code == 412
    match = {"if-match": '"2"'}
    good = server.post("/v1/exec", json={"sql": "DELETE FROM logs.app"}, headers=match)
    assert good.status_code == 200
    joint = "BEGIN; DELETE FROM logs.app; DELETE FROM web.gha; COMMIT;"
    assert server.post("/v1/exec", json={"sql": joint}, headers=match).status_code == 400
    odd = server.post("/v1/exec", json={"sql": "VACUUM logs.app", "dry_run": True})
    assert odd.status_code in {200, 400, 403, 501}, odd.text


def test_what_a_token_may_not_see_is_not_there(tokens: Any) -> None:
    server, token, _ = tokens
    reader = token("reader", "read:web.*")
    for kind in ("", "/versions", "/versions/1", "/diff?from=1", "/fields", "/inputs",
                 "/packfiles", "/timeline", "/hits", "/facets", "/tail", "/changes", "/tags",
                 "/tags/v1", "/branches", "/branches/main"):  # fmt: skip
        hidden = server.get(f"/v1/tables/logs.app{kind}", headers=reader)
        absent = server.get(f"/v1/tables/logs.apq{kind}", headers=reader)
        assert (hidden.status_code, absent.status_code) == (404, 404), kind
        assert hidden.text.replace("logs.app", "logs.apq") == absent.text, kind
    assert server.get("/v1/changes?table=logs.app", headers=reader).status_code == 404
    after = server.get("/v1/changes", headers=reader).json()["after"]
    assert server.get(f"/v1/changes?after={after}", headers=reader).json()["changes"] == []
    match = reader | {"if-match": "*"}
    for path, status in (("web.gha", 403), ("logs.app", 404), ("logs.apq", 404)):
        for method, kind, body in (
            ("PUT", "tags/x", {}), ("DELETE", "tags/x", None), ("PUT", "branches/x", {}),
            ("DELETE", "branches/x", None), ("POST", "restore", {"at": "1"}),
            ("POST", "merge", {"source": "x"}),
        ):  # fmt: skip
            url = f"/v1/tables/{path}/{kind}"
            answer = send(server, method, url, headers=match, json=body)
            assert answer.status_code == status, (method, url, answer.text)


def test_changes_of_many_tables(server: Server, lake: Path) -> None:
    db = sdb.connect(lake)
    begun = server.get("/v1/changes").json()
    assert begun["changes"] == []
    threading.Timer(0.4, lambda: db.append("logs.app", [{"n": 1}])).start()
    sent = server.get(f"{begun['next']}&wait=20s").json()
    assert [(each["table"], each["version"]) for each in sent["changes"]] == [("logs.app", 2)]
    db.create("new.one", "in/*.json")
    db.append("new.one", [{"n": 1}])
    db.append("web.gha", [{"n": 1}])
    more = server.get(sent["next"].replace("wait=20s", "wait=0s")).json()
    assert {(each["table"], each["version"]) for each in more["changes"]} == {
        ("new.one", 1), ("web.gha", 2)
    }  # fmt: skip
    named = server.get("/v1/changes?table=logs.app&after=1").json()
    assert [each["version"] for each in named["changes"]] == [2]
    assert server.get("/v1/changes?after=1").status_code == 400
    assert server.get("/v1/changes?after=~x").status_code == 400
    pattern = server.get(f"/v1/changes?table=w*&after={begun['after']}").json()
    assert [each["table"] for each in pattern["changes"]] == ["web.gha"]


def test_waiting_sees_transactions_and_no_tags(server: Server, lake: Path) -> None:
    """A transaction over several tables changes an index before it counts; a tag makes none."""
    db = sdb.connect(lake)
    two = "DELETE FROM logs.app WHERE n = 1; DELETE FROM web.gha WHERE type = 'ForkEvent'"

    def change() -> None:
        db.table("logs.app").tag("t1")
        db.execute(f"BEGIN; {two}; COMMIT;")

    timer = threading.Timer(0.5, change)
    timer.start()
    answer = server.get("/v1/tables/logs.app/changes?after=1&wait=30s").json()
    timer.join()
    assert [each["version"] for each in answer["changes"]] == [2]


def test_clients_that_go_leave_no_work_behind(server: Server) -> None:
    """Those who wait are forgotten when they go, and the process is idle."""
    import requests

    def spent() -> float:
        fields = Path(f"/proc/{server.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    after = server.get("/v1/changes").json()["after"]
    for path in ("tables/logs.app/changes?after=1&wait=60s", f"changes?after={after}&wait=60s",
                 "tables/logs.app/tail"):  # fmt: skip
        for _ in range(10):
            with (
                suppress(requests.RequestException),
                requests.get(f"{server.url}/v1/{path}", timeout=0.3, stream=True) as answer,
            ):
                next(answer.iter_content(10_000))
    begun = spent()
    time.sleep(2)
    assert spent() - begun < 1


def test_waiting_ends_with_the_server(server: Server) -> None:
    answers: list[Any] = []

    def wait() -> None:
        import requests

        path = "/v1/tables/logs.app/changes?after=1&wait=60s"
        answers.append(requests.get(server.url + path, timeout=60))

    thread = threading.Thread(target=wait)
    thread.start()
    while "changes" not in server.text() and not answers:
        if server.get("/readyz").status_code == 200:
            break
    server.end()
    thread.join(30)
    assert [answer.json()["changes"] for answer in answers] == [[]]


def events(lines: Iterator[bytes]) -> Iterator[dict[str, str]]:
    event: dict[str, str] = {}
    for line in lines:
        text = line.decode()
        if not text and event:
            yield event
            event = {}
        elif text and not text.startswith(":"):
            name, _, value = text.partition(":")
            event[name] = value.removeprefix(" ")


def test_rows_are_sent_as_they_come(server: Server, lake: Path) -> None:
    db = sdb.connect(lake)
    path = "/v1/tables/logs.app/tail"
    with server.get(path, stream=True, params={"where": "n <> 21"}) as answer:
        assert answer.headers["content-type"].startswith("text/event-stream")
        sent = events(answer.iter_lines(chunk_size=1))
        assert next(sent)["event"] == "begin"
        db.append("logs.app", [{"n": 20}, {"n": 21}, {"n": 22}])
        rows = [next(sent), next(sent)]
        assert [json.loads(event["data"]) for event in rows] == [{"n": 20}, {"n": 22}]
        assert [event["id"] for event in rows] == ["2:0", "2:1"]
        assert next(sent) | {"data": ""} == {"id": "2", "event": "end", "data": ""}
        db.execute("DELETE FROM logs.app WHERE n = 20")
        deleted = next(sent)
        assert (deleted["event"], json.loads(deleted["data"])["operation"]) == ("version", "delete")
    db.append("logs.app", [{"n": number} for number in range(30, 40)])
    again = server.get(path, stream=True, headers={"last-event-id": "4:6"})
    with again:
        sent = events(again.iter_lines(chunk_size=1))
        assert next(sent)["event"] == "begin"
        rest = [next(sent) for _ in range(3)]
        assert [json.loads(event["data"])["n"] for event in rest] == [37, 38, 39]
    assert server.get(f"{path}?after=x").status_code == 400


def test_no_row_is_lost_or_doubled_by_a_tail_that_is_cut(server: Server, lake: Path) -> None:
    path = "/v1/tables/logs.app/tail"
    total, count = 400, 40
    writer = threading.Thread(target=_append_many, args=(lake, total, count))
    writer.start()
    seen: list[int] = []
    last = "1"
    while len(seen) < total:
        with server.get(path, stream=True, headers={"last-event-id": last}) as answer:
            for number, event in enumerate(events(answer.iter_lines(chunk_size=1))):
                last = event.get("id", last)
                if "event" not in event:
                    seen.append(json.loads(event["data"])["k"])
                if number == 70 or len(seen) == total:
                    break
    writer.join()
    assert seen == list(range(total))


def _append_many(lake: Path, total: int, count: int) -> None:
    db = sdb.connect(lake)
    for start in range(0, total, count):
        db.append("logs.app", [{"k": number} for number in range(start, start + count)])


def test_curl_is_told_of_methods(server: Server) -> None:
    asked = ["curl", "-sS", "-i", "-X", "OPTIONS", f"{server.url}/v1/tables/logs.app/tags/x"]
    done = subprocess.run(asked, capture_output=True, check=True)
    assert b"allow: DELETE, GET, HEAD, OPTIONS, PUT" in done.stdout
    wrong = send(server, "DELETE", "/v1/tables")
    assert (wrong.status_code, wrong.headers["allow"]) == (405, "GET, HEAD, OPTIONS")
    assert server.get("/v1/nothing").status_code == 404


def test_tables_have_descriptions(serve: Callable[..., Server], lake: Path) -> None:
    server = serve("--quiet")
    first = server.get("/v1/tables")
    assert "description" not in first.json()["tables"][0]
    path = lake / "db/logs/app/definition.json"
    members = json.loads(path.read_text()) | {"description": "Lines of the app", "steward": "eve"}
    path.write_text(json.dumps(members))
    tag = {"if-none-match": first.headers["etag"]}
    (app,) = [
        each
        for each in server.get("/v1/tables", headers=tag).json()["tables"]
        if each["name"] == "logs.app"
    ]
    assert (app["description"], app["steward"]) == ("Lines of the app", "eve")
    assert {facts.name for facts in sdb.connect(server.url).tables()} == {"logs.app", "web.gha"}


def test_changes_are_waited_for_from_now_on(server: Server, lake: Path) -> None:
    begun = time.monotonic()
    assert server.get("/v1/changes?wait=300ms&table=logs.app").json()["changes"] == []
    assert time.monotonic() - begun >= 0.3
    later = threading.Timer(0.5, sdb.connect(lake).append, ("logs.app", [{"n": 1}]))
    later.start()
    answer = server.get("/v1/changes?wait=50s&table=*.app").json()
    later.join()
    assert [(each["table"], each["version"]) for each in answer["changes"]] == [("logs.app", 2)]


def test_names_with_dots_are_told_apart(
    serve: Callable[..., Server], lake: Path, run: Callable[..., Any], monkeypatch: Any
) -> None:
    monkeypatch.setattr(naming, "check_new", lambda *_: None)  # as older versions did
    sdb.execute('CREATE TABLE "web.private".t AS SELECT 1 AS n FROM logs.app LIMIT 1', root=lake)
    sdb.execute('CREATE TABLE web."private.t" AS SELECT 2 AS n FROM logs.app LIMIT 1', root=lake)
    tokens = lake.parent / "tokens"
    headers = {}
    rights = {"web": "read:web.*", "private": 'read:"web.private".*', "all": "read:*.*"}
    for name, right in rights.items():
        done = run("token", "create", name, "--can", right, "--tokens", str(tokens))
        headers[name] = {"authorization": f"Bearer {done.stdout.decode().strip()}"}
    refused = run("token", "create", "x", "--can", "read:web.private.t", "--tokens", str(tokens))
    assert (refused.returncode, b'read:"web.private".t' in refused.stderr) == (2, True)
    server = serve("--tokens", str(tokens))
    first, second = '"web.private".t', 'web."private.t"'
    seen = {
        who: {
            name
            for name, n in ((first, 1), (second, 2))
            if server.query(f"SELECT n FROM {name}", headers[who]).content == b'{"n": %d}\n' % n
            and server.get(f"/v1/tables/{name}", headers=headers[who]).json()["name"] == name
        }
        for who in rights
    }
    assert seen == {"web": {second}, "private": {first}, "all": {first, second}}
    listed: dict[str, list[str]] = {}
    for who in rights:
        page = server.get("/v1/tables?limit=1", headers=headers[who]).json()
        listed[who] = [page["tables"][0]["name"]]
        while "next" in page:
            page = server.get(page["next"], headers=headers[who]).json()
            listed[who] += [each["name"] for each in page["tables"]]
    assert listed["private"] == [first]
    assert listed["web"] == ["web.gha", second]
    assert sorted(listed["all"]) == sorted(["logs.app", "web.gha", first, second])
    changes = server.get(
        "/v1/changes", params={"after": "0", "table": first}, headers=headers["all"]
    )
    assert [each["table"] for each in changes.json()["changes"]] == [first]
    assert server.get(f"/v1/tables/{first}", headers=headers["web"]).status_code == 404
    answer = server.query(f"SELECT n FROM {first}", headers["all"])
    assert answer.headers["sdb-versions"] == f"{first}@1"


def test_the_fields_that_are_kept_are_bounded_in_bytes() -> None:
    from sdb.packfile.read.fields import FieldDescription, Inventory
    from sdb.serve.tables import opening

    fields = tuple(FieldDescription((f"{n:0200}",), ("int",), n) for n in range(2000))
    for number in range(100):
        opening._FIELDS.put(("root", "db.t", str(number)), (Inventory(fields, 1, True), fields))
    number = len(opening._FIELDS)
    assert 1 <= number <= (16 << 20) // (2000 * 2 * 200)
    opening._FIELDS.clear()
