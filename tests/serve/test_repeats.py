"""Requests that come again byte for byte: at hand, and never for those who may not have them."""

from __future__ import annotations

import json
import re
import socket
import subprocess
import sys
import time
from typing import TYPE_CHECKING
from urllib.parse import quote

import pytest
import requests

import sdb
from sdb.serve.access import READING
from sdb.serve.process import repeats

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path
    from typing import Any

    from tests.serve.conftest import Server

pytestmark = pytest.mark.wide

COUNT = "SELECT COUNT(*) AS n FROM logs.app"
PATH = "/v1/query?sql=" + quote(COUNT)


class Line:
    """A connection on which requests are written as they are given."""

    def __init__(self, server: Server) -> None:
        host, port = server.url.removeprefix("http://").split(":")
        self.socket = socket.create_connection((host, int(port)), timeout=60)
        self.file = self.socket.makefile("rb")

    def ask(self, *headers: str, start: str = f"GET {PATH} HTTP/1.1", body: str = "") -> Any:
        return self.send(*headers, start=start, body=body).read()

    def send(self, *headers: str, start: str = f"GET {PATH} HTTP/1.1", body: str = "") -> Line:
        lines = [start, "Host: localhost", *headers, "", body]
        self.socket.sendall("\r\n".join(lines).encode())
        return self

    def read(self) -> tuple[int, dict[str, str], bytes]:
        status = int(self.file.readline().split()[1])
        headers = {}
        while line := self.file.readline().strip().decode():
            name, _, value = line.partition(":")
            headers[name.lower()] = value.strip()
        if headers.get("transfer-encoding") == "chunked":
            body = b""
            while size := int(self.file.readline(), 16):
                body += self.file.read(size)
                self.file.readline()
            self.file.readline()
        else:
            body = self.file.read(int(headers.get("content-length", 0)))
        return status, headers, body


@pytest.fixture
def dial() -> Iterator[Callable[[Server], Line]]:
    opened: list[Line] = []

    def begin(server: Server) -> Line:
        opened.append(Line(server))
        return opened[-1]

    yield begin
    for line in opened:
        line.file.close()
        line.socket.close()


def number(server: Server, name: str) -> float:
    match = re.search(rf"^{re.escape(name)} (\S+)$", server.get("/metrics").text, re.MULTILINE)
    return float(match[1]) if match else 0.0


def lines(server: Server, status: int) -> int:
    return sum(
        f'"path": "/v1/query", "status": {status}' in each for each in server.text().splitlines()
    )


def test_the_same_request_has_the_same_answer(
    serve: Callable[..., Server], dial: Callable[[Server], Line]
) -> None:
    server = serve()
    line = dial(server)
    _, first, body = line.ask()
    time.sleep(0.2)  # the index is settled, from here on its version says all
    answers = [line.ask() for _ in range(5)]
    changing = {"date", "server-timing", "sdb-query-id"}
    for status, headers, again in answers:
        assert (status, again) == (200, body)
        assert {k: v for k, v in headers.items() if k not in changing} == {
            k: v for k, v in first.items() if k not in changing
        }
    known = [line.ask(f"If-None-Match: {first['etag']}") for _ in range(5)]
    assert [(status, body) for status, _, body in known] == [(304, b"")] * 5
    assert {name for _, headers, _ in known for name in headers} <= first.keys() | {"vary"}
    assert known[-1][1].keys() == known[0][1].keys()
    assert number(server, 'sdb_requests_total{route="/v1/query",status="304"}') == 5
    assert number(server, "sdb_unchanged_total") == 5
    assert number(server, 'sdb_request_seconds_count{route="/v1/query"}') == 11
    assert number(server, "sdb_sent_bytes_total") >= 6 * len(body)
    assert (lines(server, 200), lines(server, 304)) == (6, 5)
    assert all(json.loads(each) for each in server.text().splitlines() if each.startswith("{"))


def test_requests_that_differ_are_looked_at(
    serve: Callable[..., Server], dial: Callable[[Server], Line]
) -> None:
    line = dial(serve("--quiet"))
    time.sleep(0.2)
    tag = line.ask()[1]["etag"]
    matching = f"If-None-Match: {tag}"
    for _ in range(3):
        assert line.ask(matching)[0] == 304
    assert line.ask(matching, "User-Agent: another", "Cookie: a=b")[0] == 304
    assert line.ask(matching, "Accept: text/csv")[0] == 200
    assert line.ask(f'If-None-Match: {tag[:-1]}a"')[0] == 200
    assert line.ask(matching, "Host: evil.example")[0] == 400
    line = dial(serve("--quiet"))
    assert line.ask(matching, start=f"HEAD {PATH} HTTP/1.1")[0] == 304
    body = json.dumps({"sql": "SELECT 1 AS one"})
    asked = line.ask(
        "Content-Type: application/json", f"Content-Length: {len(body)}",
        start="POST /v1/query HTTP/1.1", body=body,
    )  # fmt: skip
    assert json.loads(asked[2]) == {"one": 1}


def test_a_repeat_sees_each_commit(
    serve: Callable[..., Server], dial: Callable[[Server], Line], lake: Path
) -> None:
    line = dial(serve("--quiet"))
    db = sdb.connect(lake)
    for number in range(10, 15):
        time.sleep(0.15)
        for _ in range(4):
            status, headers, body = line.ask()
            assert (status, json.loads(body)) == (200, {"n": number})
            assert line.ask(f"If-None-Match: {headers['etag']}")[0] == 304
        db.append("logs.app", [{"n": number}])
        assert line.ask(f"If-None-Match: {headers['etag']}")[0] == 200


def test_many_requests_at_once_are_answered_in_their_order(
    serve: Callable[..., Server], dial: Callable[[Server], Line]
) -> None:
    line = dial(serve("--quiet"))
    time.sleep(0.2)
    etag = line.ask()[1]["etag"]
    matching = f"If-None-Match: {etag}"
    line.ask(matching)
    line.ask(matching)
    other = "GET /v1/query?sql=SELECT+1+AS+one HTTP/1.1"
    for turn in range(30):
        if turn % 3 == 1:
            line.send(start=other)
        else:
            line.send(matching)
    for turn in range(30):
        status, _, body = line.read()
        expected = (200, b'{"one": 1}\n') if turn % 3 == 1 else (304, b"")
        assert (status, body) == expected, turn


def test_a_token_that_ends_gets_nothing_more(
    serve: Callable[..., Server],
    dial: Callable[[Server], Line],
    lake: Path,
    run: Callable[..., Any],
) -> None:
    file = str(lake.parent / "tokens.json")
    secrets = {}
    for name in ("eve", "bob"):
        made = run("token", "create", name, "--can", "read:logs.*", "--tokens", file)
        secrets[name] = re.search(rb"sdb_\S+", made.stdout + made.stderr)[0].decode()  # type: ignore[index]
    line = dial(serve("--quiet", "--tokens", file))
    time.sleep(0.2)
    for name in ("eve", "bob"):
        allowed = f"Authorization: Bearer {secrets[name]}"
        etag = line.ask(allowed)[1]["etag"]
        for _ in range(3):
            assert line.ask(allowed, f"If-None-Match: {etag}")[0] == 304
    run("token", "revoke", "eve", "--tokens", file)
    for name, status in (("eve", 401), ("bob", 304)):
        allowed = f"Authorization: Bearer {secrets[name]}"
        assert line.ask(allowed, f"If-None-Match: {etag}")[0] == status
    assert line.ask(f"If-None-Match: {etag}")[0] == 401


def test_a_key_ignores_only_what_no_answer_depends_on() -> None:
    seen = [(b"host", b"a"), (b"user-agent", b"x"), (b"accept", b"text/csv")]
    key = repeats.key_of(b"/q", "c", seen)
    assert key == repeats.key_of(b"/q", "c", [pair for pair in seen if pair[0] != b"user-agent"])
    for change in ([], [(b"host", b"b"), *seen[1:]], seen[:2], [*seen, (b"range", b"bytes=0-1")]):
        assert repeats.key_of(b"/q", "c", change) != key
    assert repeats.key_of(b"/q", "d", seen) != key
    assert repeats.key_of(b"/r", "c", seen) != key
    for name in (b"content-length", b"transfer-encoding", b"upgrade", b"expect"):
        assert repeats.key_of(b"/q", "c", [*seen, (name, b"1")]) is None


def test_what_is_remembered_has_a_bound() -> None:
    memory = repeats.Repeats(lambda _: READING)
    body = b"x" * 1000
    key = repeats.key_of(b"/q", None, [])
    assert key is not None
    for number in range(20_000):
        url = b"/q?%d%s" % (number, b"y" * 3000)
        memory.put((url, *key[1:]), remembered(body))
    assert 1000 < len(memory._known) < 10_000
    long = b"/q?" + b"y" * 90_000
    memory.put((long, *key[1:]), remembered(body))
    assert memory.answer((long, *key[1:]), []) is None
    answer = memory.answer((url, *key[1:]), [(b"date", b"now")])
    assert answer is not None
    assert answer.startswith(b"HTTP/1.1 200 OK\r\netag: a\r\ndate: now\r\n")
    assert answer.endswith(b"\r\n\r\n" + body)


def remembered(body: bytes) -> repeats.RepeatedAnswer:
    head = repeats.head_of(200, [(b"etag", b"a"), (b"server-timing", b"total;dur=1")])
    return repeats.RepeatedAnswer(
        lambda: True, "", READING, 200, head, body, (), lambda _: None, ""
    )


def test_requests_wait_until_all_is_loaded(lake: Path) -> None:
    script = (
        "import sys, time\n"
        "from sdb.serve.process import loading\n"
        "look = loading.LoadedLater.__init__\n"
        "def slow(self, state, load, failed):\n"
        "    def later():\n"
        "        time.sleep(1.5)\n"
        "        return load()\n"
        "    look(self, state, later, failed)\n"
        "loading.LoadedLater.__init__ = slow\n"
        "from sdb.cli.main import main\n"
        f"sys.argv = ['sdb', 'serve', '--root', {str(lake)!r}, '--listen', '127.0.0.1:0']\n"
        "main()\n"
    )
    process = subprocess.Popen([sys.executable, "-c", script], stderr=subprocess.PIPE, text=True)
    try:
        assert process.stderr is not None
        match = re.search(r"http://\S+", process.stderr.readline())
        assert match is not None
        began = time.monotonic()
        assert requests.get(f"{match[0]}/healthz", timeout=60).text == "ok\n"
        if time.monotonic() - began < 1:  # of a machine that is not too busy
            asked = requests.get(f"{match[0]}/v1/query", params={"sql": COUNT}, timeout=60)
            assert asked.json() == {"n": 10}
            assert time.monotonic() - began > 1
        process.terminate()
        assert process.wait(60) in {0, 143, -15}
    finally:
        process.kill()
        process.communicate()


def test_a_server_that_cannot_be_loaded_ends(lake: Path) -> None:
    script = (
        "import sys, types\n"
        "sys.modules['sdb.serve.metrics'] = None\n"
        "from sdb.cli.main import main\n"
        f"sys.argv = ['sdb', 'serve', '--root', {str(lake)!r}, '--listen', '127.0.0.1:0']\n"
        "main()\n"
    )
    ended = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=False
    )
    assert ended.returncode == 8, ended.stderr
    assert "sdb.serve.metrics" in ended.stderr
    assert "Traceback" not in ended.stderr
