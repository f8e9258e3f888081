"""The service as its clients see it."""

from __future__ import annotations

import io
import json
import re
import signal
import socket
import subprocess
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sdb
from tests.serve.conftest import COUNT, LONG, rows

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.serve.conftest import Server

TYPES = "SELECT type, COUNT(*) AS n FROM web.gha GROUP BY type ORDER BY n DESC, type"


def test_a_query_in_each_format(serve: Callable[..., Server], lake: Path) -> None:
    server = serve()
    expected = list(sdb.sql(TYPES, root=str(lake)))
    assert rows(server.query(TYPES)) == expected
    members = server.query(TYPES, format="json").json()
    assert (members["rows"], members["columns"]) == (expected, ["type", "n"])
    assert (members["truncated"], members["notes"]) == (False, [])
    text = server.query(TYPES, headers={"accept": "text/csv"})
    assert text.headers["content-type"] == "text/csv; charset=utf-8"
    assert text.text.splitlines()[:2] == ["type,n", "PushEvent,596"]
    table = pa.ipc.open_stream(server.query(TYPES, format="arrow").content).read_all()
    assert table.to_pylist() == expected
    assert pq.read_table(io.BytesIO(server.query(TYPES, format="parquet").content)) == table
    page = server.query("SELECT '<script>' AS x FROM web.gha LIMIT 1", format="html").text
    assert "&lt;script&gt;" in page
    assert "<script>" not in page
    last = rows(server.query(TYPES, end="1"))[-1]
    assert last == {"$end": {"rows": len(expected)}}
    assert server.query(TYPES, format="xml").status_code == 400
    assert server.query(TYPES, headers={"accept": "image/png"}).status_code == 406


def test_parquet_has_a_length_and_ranges(serve: Callable[..., Server]) -> None:
    server = serve()
    whole = server.query(TYPES, format="parquet")
    assert int(whole.headers["content-length"]) == len(whole.content)
    assert whole.headers["accept-ranges"] == "bytes"
    part = server.query(TYPES, {"range": "bytes=-8"}, format="parquet")
    assert (part.status_code, part.content) == (206, whole.content[-8:])
    assert part.headers["etag"] == whole.headers["etag"]


def test_a_query_has_parameters_and_times(serve: Callable[..., Server]) -> None:
    server = serve()
    text = "SELECT COUNT(*) AS n FROM web.gha WHERE type = $type"
    by_url = server.query(text, **{"p.type": "PushEvent"})
    assert rows(by_url) == [{"n": 596}]
    body = {"sql": text, "params": {"type": "PushEvent"}}
    for method in ("POST", "QUERY"):
        answer = server.session.request(method, f"{server.url}/v1/query", json=body, timeout=60)
        assert rows(answer) == [{"n": 596}]
        assert ("etag" in answer.headers) is (method == "QUERY")
    known = rows(server.query(COUNT, since="2015-01-01T01:05:00Z", until="2015-01-01T01:06:00Z"))
    assert 0 < known[0]["n"] < 1000
    kinds = "SELECT $a AS a, $b AS b, $c AS c"
    answer = server.query(kinds, **{"p.a": "7", "p.b:str": "7", "p.c": "[1, 2]"})
    assert rows(answer) == [{"a": 7, "b": "7", "c": [1, 2]}]


@pytest.mark.parametrize(
    ("path", "status", "says"),
    [
        ("/v1/query", 400, "there is no query"),
        ("/v1/query?sql=SELEC", 400, "SELECT is expected"),
        ("/v1/query?sql=SELECT+1+AS+a&foo=1", 400, "no member 'foo'"),
        ("/v1/query?sql=SELECT+1&sql=SELECT+2", 400, "given twice"),
        ("/v1/query?sql=SELECT+$x+AS+a", 400, "no value for the parameter $x"),
        ("/v1/query?sql=SELECT+1+AS+a&timeout=x", 400, "is not a span of time"),
        ("/v1/query?sql=SELECT+*+FROM+web.ghb", 404, "there is no table web.ghb"),
        ("/v1/query?sql=SELECT+*+FROM+web.gha@77", 404, "77"),
        ("/v1/tables/web.nope", 404, "there is no table web.nope"),
        ("/v1/tables/..%2Fx.y", 404, ""),
        ("/v1/tables/web.gha/versions/99", 404, "99"),
        ("/v1/tables/web.gha/diff", 400, "from is missing"),
        ("/v1/tables/web.gha/timeline?buckets=0", 400, "a number from 1 to"),
        ("/nothing", 404, "Not Found"),
    ],
)
def test_faults_are_problems(
    serve: Callable[..., Server], path: str, status: int, says: str
) -> None:
    answer = serve().get(path)
    assert (answer.status_code, answer.headers["content-type"]) == (
        status,
        "application/problem+json",
    )
    members = answer.json()
    assert members["status"] == status
    assert says in members["detail"]
    assert answer.headers["cache-control"] == "no-store"


def test_a_long_statement_is_refused(serve: Callable[..., Server]) -> None:
    answer = serve().post("/v1/query", json={"sql": "SELECT " + "x" * 70_000})
    assert (answer.status_code, "may have 65,536" in answer.json()["detail"]) == (413, True)


ELSEWHERE = """
SELECT * FROM '/etc/passwd'
SELECT * FROM "/etc/passwd"
SELECT * FROM read_file('/etc/passwd')
SELECT * FROM read_file('../secret.json')
SELECT * FROM read_file('../*.json')
SELECT * FROM 'secret.json'
SELECT * FROM '../secret.json'
SELECT * FROM './secret.json'
SELECT * FROM secret
SELECT * FROM "../secret"
SELECT * FROM web."../../secret"
SELECT * FROM ".."."secret"
SELECT * FROM 'file:///etc/passwd'
SELECT * FROM read_file('file:///etc/passwd')
SELECT * FROM read_file('s3://bucket/key')
SELECT * FROM 'https://example.org/x.json'
SELECT * FROM 'delta:lake/t@3'
SELECT * FROM read_file('delta+s3://bucket/t')
SELECT * FROM 'iceberg:/lake/t'
SELECT * FROM TABLE_GLOB('../*')
SELECT * FROM TABLE_GLOB("*")
SELECT * FROM TABLE_PATTERN(".*")
SELECT * FROM read_csv('/etc/passwd')
SELECT * FROM read_text('/etc/passwd')
SELECT * FROM read_parquet('/etc/passwd')
SELECT * FROM glob('/etc/*')
SELECT read_text('/etc/passwd') AS x
SELECT * FROM (SELECT * FROM read_file('/etc/passwd')) AS q
WITH q AS (SELECT * FROM 'secret.json') SELECT * FROM q
SELECT (SELECT COUNT(*) FROM 'secret.json') AS n FROM web.gha
SELECT * FROM web.gha UNION ALL SELECT * FROM 'secret.json'
SELECT * FROM web.gha ++ 'secret.json'
SELECT * FROM web.gha AS a JOIN 'secret.json' AS b ON a.id = b.n
SELECT * INTO 'stolen.zion' FROM web.gha
COPY web.gha TO '/tmp/stolen'
ATTACH '/tmp/x.db'
SET enable_external_access = true
INSTALL httpfs
PRAGMA database_list
EXPLAIN SELECT * FROM 'secret.json'
DESCRIBE 'secret.json'
SUMMARIZE 'secret.json'
""".strip().splitlines()


def test_nothing_but_the_root_is_read(serve: Callable[..., Server], lake: Path) -> None:
    for item in (lake, lake.parent):
        (item / "secret.json").write_text('{"n": 4711}\n')
        sdb.pack([item / "secret.json"], item / "secret.zion")
    server = serve("--write")
    for text in ELSEWHERE:
        answer = server.query(text)
        assert answer.status_code in {400, 404}, text
        assert "4711" not in answer.text
        assert "root:" not in answer.text
    for text in ELSEWHERE:
        if text.startswith("SELECT *"):
            answer = server.post("/v1/exec", json={"sql": f"INSERT INTO logs.app {text}"})
            assert answer.status_code in {400, 403, 404}, text
    assert rows(server.query("SELECT COUNT(*) AS n FROM logs.app")) == [{"n": 10}]
    assert not (lake / "stolen.zion").exists()


def test_tags_are_of_what_a_query_reads(serve: Callable[..., Server], lake: Path) -> None:
    server = serve()
    early = f"{COUNT} WHERE created_at < TIMESTAMP '2015-01-02'"
    first = server.query(early)
    tag = first.headers["etag"]
    assert first.headers["cache-control"] == "no-cache"
    for header in (tag, f'"x", {tag}', tag.removeprefix("W/"), "*"):
        again = server.query(early, {"if-none-match": header})
        assert (again.status_code, again.content) == (304, b"")
        assert again.headers["etag"] == tag
    late = [{"type": "Late", "created_at": "2020-01-01T00:00:00Z"}]
    (lake / "late.json").write_text("".join(json.dumps(row) + "\n" for row in late))
    sdb.connect(lake).append("web.gha", lake / "late.json")
    assert server.query(early, {"if-none-match": tag}).status_code == 304
    fresh = server.query(COUNT, {"if-none-match": tag})
    assert rows(fresh) == [{"n": 1001}]
    sdb.connect(lake).execute("DELETE FROM web.gha WHERE type = 'ForkEvent'")
    changed = server.query(early, {"if-none-match": tag})
    assert rows(changed) == [{"n": 975}]


def test_what_has_no_tag_is_not_stored(serve: Callable[..., Server]) -> None:
    server = serve()
    for text, more in (("SELECT NOW() AS n FROM web.gha LIMIT 1", {}), (COUNT, {"since": "1h"})):
        answer = server.query(text, **more)
        assert answer.headers["cache-control"] == "no-store"
        assert "present" in answer.headers["sdb-no-tag"]
        assert "etag" not in answer.headers
        fixed = server.query(text, now="2026-01-01T00:00Z", **more)
        assert "etag" in fixed.headers
    assert "etag" not in server.query("SELECT * FROM sdb.tables").headers
    pinned = server.query("SELECT COUNT(*) AS n FROM web.gha@1")
    assert pinned.headers["cache-control"] == "max-age=31536000, immutable"
    aged = server.query(COUNT, max_age="10")
    assert aged.headers["cache-control"] == "max-age=10"


def test_tokens_let_in_and_no_further(
    serve: Callable[..., Server], lake: Path, run: Callable[..., Any]
) -> None:
    tokens = lake.parent / "tokens.json"

    def token(name: str, *rights: str) -> dict[str, str]:
        options = [option for right in rights for option in ("--can", right)]
        done = run("token", "create", name, *options, "--tokens", str(tokens))
        assert done.returncode == 0, done.stderr
        return {"authorization": f"Bearer {done.stdout.decode().strip()}"}

    web, ingest, all_ = (
        token("web", "read:web.*"),
        token("in", "ingest:logs.*"),
        token("a", "admin"),
    )
    assert oct(tokens.stat().st_mode & 0o777) == "0o600"
    server = serve("--tokens", str(tokens))
    bare = server.query(COUNT)
    assert (bare.status_code, "Bearer" in bare.headers["www-authenticate"]) == (401, True)
    assert rows(server.query(COUNT, web)) == [{"n": 1000}]
    basic = server.session.get(
        f"{server.url}/v1/query",
        params={"sql": COUNT},
        auth=("x", web["authorization"].split()[1]),
        timeout=60,
    )
    assert rows(basic) == [{"n": 1000}]
    hidden = server.query("SELECT * FROM logs.app", web)
    absent = server.query("SELECT * FROM logs.apq", web)
    assert (hidden.status_code, absent.status_code) == (404, 404)
    assert hidden.json() | {"detail": ""} == absent.json() | {"detail": ""}
    assert [t["name"] for t in server.get("/v1/tables", headers=web).json()["tables"]] == [
        "web.gha"
    ]
    names = rows(server.query("SELECT table FROM sdb.tables", web))
    assert names == [{"table": "gha"}]
    row = {"data": '{"n": 1}', "headers": ingest | {"content-type": "application/x-ndjson"}}
    assert server.post("/v1/tables/logs.app/rows", **row).status_code == 201
    assert server.post("/v1/tables/web.gha/rows", **row).status_code == 404
    row["headers"] = web | {"content-type": "application/x-ndjson"}
    assert server.post("/v1/tables/web.gha/rows", **row).status_code == 403
    drop = {"sql": "DELETE FROM web.gha"}
    assert server.post("/v1/exec", json=drop, headers=web).status_code == 403
    assert server.get("/metrics", headers=web).status_code == 403
    assert server.get("/metrics", headers=all_).status_code == 200
    assert server.get("/healthz").status_code == 200
    assert run("token", "revoke", "web", "--tokens", str(tokens)).returncode == 0
    assert server.query(COUNT, web).status_code == 401
    assert web["authorization"].split()[1] not in server.text()
    assert web["authorization"].split()[1] not in tokens.read_text()


def test_other_names_and_origins_stay_out(serve: Callable[..., Server]) -> None:
    server = serve("--write", "--cors", "https://dash.example")
    assert server.query(COUNT, {"host": "evil.example"}).status_code == 421
    row = {"content-type": "application/x-ndjson", "origin": "https://evil.example"}
    assert server.post("/v1/tables/logs.app/rows", data="{}", headers=row).status_code == 403
    allowed = server.query(COUNT, {"origin": "https://dash.example"})
    assert allowed.headers["access-control-allow-origin"] == "https://dash.example"
    assert "access-control-allow-origin" not in server.query(COUNT, {"origin": "https://b"}).headers


def test_others_are_not_served_without_tokens(run: Callable[..., Any], lake: Path) -> None:
    done = run("serve", "--root", str(lake), "--listen", "0.0.0.0:0")
    assert done.returncode == 2
    assert b"there are no tokens" in done.stderr


def test_a_port_that_is_taken_has_a_way_out(run: Callable[..., Any], lake: Path) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        where = f"127.0.0.1:{other.getsockname()[1]}"
        done = run("serve", "--root", str(lake), "--listen", where)
    assert done.returncode == 1
    assert done.stderr.endswith(b"--listen 127.0.0.1:0 takes a free port\n")


def test_rows_come_in_once(serve: Callable[..., Server]) -> None:
    server = serve("--write")
    path = "/v1/tables/logs.app/rows"
    headers = {"content-type": "application/x-ndjson", "idempotency-key": "a-1"}
    body = '{"n": 100}\n{"n": 101}\n'
    first = server.post(path, data=body, headers=headers)
    again = server.post(path, data=body, headers=headers)
    assert (first.status_code, again.status_code) == (201, 201)
    assert again.headers["idempotency-replayed"] == "true"
    assert first.json()["version"] == again.json()["version"] == 2
    count = "SELECT COUNT(*) AS n FROM logs.app"
    assert rows(server.query(count)) == [{"n": 12}]
    bad = server.post(path, data='{"n": 1}\n{', headers={"content-type": "application/json"})
    assert bad.status_code == 422
    assert rows(server.query(count)) == [{"n": 12}]
    tag = server.get("/v1/tables/logs.app").headers["etag"]
    match = {"content-type": "application/json", "if-match": tag}
    assert server.post(path, data='{"n": 1}', headers=match).status_code == 201
    assert server.post(path, data='{"n": 1}', headers=match).status_code == 412
    import gzip

    zipped = {"content-type": "text/csv", "content-encoding": "gzip"}
    data = gzip.compress(b"n,s\n5,x\n") + gzip.compress(b"6,y\n")
    assert server.post(path, data=data, headers=zipped).json()["rows"] == 2
    assert server.post(path, data=data[:-9], headers=zipped).status_code == 422
    kind = {"content-type": "image/png"}
    assert server.post(path, data=b"x", headers=kind).status_code == 415
    done = server.post("/v1/exec", json={"sql": "DELETE FROM logs.app WHERE n = $n",
                                         "params": {"n": 5}})  # fmt: skip
    assert done.json()["transactions"][0]["statements"][0]["rows_deleted"] == 2


def test_a_client_waits_for_changes(serve: Callable[..., Server], lake: Path) -> None:
    server = serve()
    threading.Timer(0.5, lambda: sdb.connect(lake).append("logs.app", [{"n": 1}])).start()
    begun = time.monotonic()
    answer = server.get("/v1/tables/logs.app/changes?after=1&wait=20s").json()
    assert (answer["version"], [each["version"] for each in answer["changes"]]) == (2, [2])
    assert time.monotonic() - begun < 15


def test_tables_as_resources(serve: Callable[..., Server]) -> None:
    server = serve()
    table = server.get("/v1/tables/web.gha")
    assert table.headers["etag"] == '"1"'
    assert (table.json()["rows"], table.json()["time"]) == (1000, ["created_at"])
    tag = {"if-none-match": table.headers["etag"]}
    assert server.get("/v1/tables/web.gha", headers=tag).status_code == 304
    assert server.get("/v1/tables/web.gha/versions").json()["versions"][0]["version"] == 1
    assert server.get("/v1/tables/web.gha/versions/1").json()["packfiles"] == 1
    assert len(server.get("/v1/tables/web.gha/fields?limit=3").json()["fields"]) == 3
    (pack,) = server.get("/v1/tables/web.gha/packfiles").json()["packfiles"]
    assert pack["rows"] == 1000
    path = "/v1/tables/web.gha/packfiles?since=2016-01-01"
    assert server.get(path).json()["packfiles"] == []
    line = server.get("/v1/tables/web.gha/timeline?buckets=4").json()
    assert line["most_rows"] == [1000] * 4
    assert server.get("/v1/tables/web.gha/inputs").json()["inputs"] == []


def test_a_query_ends_with_its_time_and_its_client(serve: Callable[..., Server]) -> None:
    server = serve("--running", "1", "--waiting", "1")
    begun = time.monotonic()
    late = server.query(LONG, timeout="1s")
    assert (late.status_code, late.json()["code"]) == (504, "query_timeout")
    assert time.monotonic() - begun < 5
    with pytest.raises(Exception, match="timed out"):
        server.session.get(f"{server.url}/v1/query", params={"sql": LONG}, timeout=1)
    # The client is gone: its slot is free within a second.
    time.sleep(1)
    begun = time.monotonic()
    assert rows(server.query(COUNT)) == [{"n": 1000}]
    assert time.monotonic() - begun < 3


def test_too_many_are_told_to_wait(serve: Callable[..., Server]) -> None:
    server = serve("--running", "1", "--waiting", "0", "--timeout", "6s")
    import requests

    def busy() -> None:
        requests.get(f"{server.url}/v1/query", params={"sql": LONG}, timeout=60)

    thread = threading.Thread(target=busy)
    thread.start()
    time.sleep(1.5)
    answer = server.query(TYPES)
    assert (answer.status_code, answer.json()["code"]) == (503, "busy")
    assert int(answer.headers["retry-after"]) > 0
    thread.join()


def test_a_query_may_read_so_much(serve: Callable[..., Server]) -> None:
    answer = serve("--max-scan", "1KB").query(TYPES)
    assert (answer.status_code, answer.json()["code"]) == (422, "scan_too_large")


def test_an_answer_that_fails_late_is_cut(serve: Callable[..., Server], lake: Path) -> None:
    many = lake.parent / "many.json"
    many.write_text("".join(f'{{"n": {n}, "s": "{n:0200}"}}\n' for n in range(60_000)))
    db = sdb.connect(lake)
    db.append("logs.app", many)
    for packfile in (lake / "db/logs/app").rglob("*.zion"):
        data = bytearray(packfile.read_bytes())
        middle = len(data) // 2
        if len(data) > 100_000:
            data[middle : middle + 400] = bytes(400)
            packfile.write_bytes(data)
    server = serve()
    curl = subprocess.run(
        ["curl", "-sS", "-G", f"{server.url}/v1/query", "--data-urlencode",
         "sql=SELECT n, s FROM logs.app"],
        capture_output=True, check=False,
    )  # fmt: skip
    assert str(lake).encode() not in curl.stdout
    # Cut while it is received, or a status if it fails early enough.
    assert curl.returncode == 18 or b'"status":500' in curl.stdout, curl.stderr
    assert b"$error" in curl.stdout or b'"status":500' in curl.stdout


def test_a_large_answer_is_streamed(serve: Callable[..., Server], lake: Path) -> None:
    many = lake.parent / "many.json"
    many.write_text("".join(f'{{"n": {n}, "s": "{n:0200}"}}\n' for n in range(100_000)))
    sdb.connect(lake).append("logs.app", many)
    server = serve()
    text = "SELECT n, s FROM logs.app WHERE s IS NOT MISSING"
    slow = server.session.get(
        f"{server.url}/v1/query", params={"sql": text}, stream=True, timeout=60
    )
    pieces = slow.iter_content(1 << 16)
    size = len(next(pieces))
    # Others are served while this one is not read.
    begun = time.monotonic()
    for _ in range(5):
        assert rows(server.session.get(f"{server.url}/v1/query", params={"sql": COUNT})) == [
            {"n": 1000}
        ]
    assert time.monotonic() - begun < 10
    size += sum(map(len, pieces))
    assert size > 20_000_000
    peak = re.search(r"VmHWM:\s+(\d+)", Path(f"/proc/{server.process.pid}/status").read_text())
    assert peak is not None
    assert int(peak[1]) < 600_000


def test_the_server_ends_when_it_is_told_to(serve: Callable[..., Server]) -> None:
    server = serve()
    assert rows(server.query(COUNT)) == [{"n": 1000}]
    assert server.end() in {0, -signal.SIGTERM, 128 + signal.SIGTERM}
    lines = [json.loads(line) for line in server.text().splitlines() if line.startswith("{")]
    begun, *rest = [(line["path"], line["status"]) for line in lines]
    assert (begun, rest) == (("/readyz", 200), [("/v1/query", 200)])
    assert "COUNT" not in server.text()
    assert "Traceback" not in server.text()


def test_small_answers_are_sent_at_once() -> None:
    from sdb.serve.process.server import _listen
    from sdb.serve.settings import ServerSettings

    # Else asyncio leaves Nagle's algorithm on, and each small answer takes 40 ms.
    with _listen(ServerSettings("lake", port=0)) as listening:
        assert listening.proto == socket.IPPROTO_TCP
