"""Programs that read the service by its URLs: data frames, DuckDB, curl; Chromium's cache."""

from __future__ import annotations

import http.server
import shutil
import subprocess
import threading
import time
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

import duckdb
import pandas as pd
import polars as pl
import pytest
import requests

import sdb
from tests.serve.test_caches import free_port, statuses

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tests.serve.conftest import Server

SQL = "SELECT id, type, created_at FROM web.gha ORDER BY id LIMIT 50"
START_SECONDS = 60


def url_of(server: Server, sql: str, form: str) -> str:
    return f"{server.url}/v1/query?" + urlencode({"sql": sql, "format": form})


def test_data_frames_and_duckdb_read_answers_by_their_urls(
    serve: Callable[..., Server], lake: Path
) -> None:
    server = serve("--quiet")
    expected = [
        row | {"created_at": row["created_at"].isoformat()}
        for row in sdb.sql(SQL, root=lake).to_arrow().to_pylist()
    ]
    frames = [
        pd.read_csv(url_of(server, SQL, "csv"), dtype={"id": str}),
        pd.read_parquet(url_of(server, SQL, "parquet")),
        pl.read_parquet(url_of(server, SQL, "parquet")).to_pandas(),  # in ranges
        pd.read_json(url_of(server, SQL, "ndjson"), lines=True, dtype={"id": str}),
    ]
    for frame in frames:
        assert list(frame.columns) == ["id", "type", "created_at"]
        assert list(frame["id"]) == [row["id"] for row in expected]
        times = pd.to_datetime(frame["created_at"], utc=True)
        assert [each.isoformat() for each in times] == [row["created_at"] for row in expected]
    # DuckDB's own client of HTTP is an extension; files that were downloaded need none.
    for form, read in (
        ("parquet", "read_parquet"),
        ("csv", "read_csv"),
        ("ndjson", "read_json"),
    ):
        path = lake.parent / f"answer.{form}"
        curl = ["curl", "-fsS", "--compressed", "-o", str(path), url_of(server, SQL, form)]
        subprocess.run(curl, check=True)
        counted = f"SELECT COUNT(*), MIN(CAST(id AS VARCHAR)) FROM {read}('{path}')"
        assert duckdb.sql(counted).fetchall() == [(50, expected[0]["id"])]


class Browser:
    """Chromium without a window, through the protocol of WebDriver."""

    def __init__(self, folder: Path) -> None:
        port = free_port()
        self.driver = subprocess.Popen(
            ["chromedriver", f"--port={port}", f"--log-path={folder / 'driver.log'}"],
            stdout=subprocess.DEVNULL,
        )
        self.url = f"http://127.0.0.1:{port}"
        self.session = ""
        stop = time.monotonic() + START_SECONDS
        while True:
            try:
                if requests.get(f"{self.url}/status", timeout=5).json()["value"]["ready"]:
                    break
            except requests.ConnectionError:
                assert time.monotonic() < stop
                time.sleep(0.05)
        words = ["--headless=new", "--no-sandbox", "--disable-dev-shm-usage"]
        words += [f"--user-data-dir={folder / 'profile'}"]
        options = {"browserName": "chrome", "goog:chromeOptions": {"args": words}}
        begun = self.ask("", capabilities={"alwaysMatch": options})
        self.session = f"/{begun['sessionId']}"

    def ask(self, path: str, **members: Any) -> Any:
        answer = requests.post(f"{self.url}/session{self.session}{path}", json=members, timeout=120)
        assert answer.ok, answer.text
        return answer.json()["value"]

    def fetch(self, url: str) -> Any:
        """Return status and text as a script of the page has them."""
        script = (
            "const done = arguments[1];"
            "fetch(arguments[0]).then(async r => done([r.status, await r.text()]), "
            "e => done([0, String(e)]));"
        )
        return self.ask("/execute/async", script=script, args=[url])

    def close(self) -> None:
        if self.session:
            requests.delete(f"{self.url}/session{self.session}", timeout=60)
        self.driver.terminate()
        self.driver.wait()


class Page(http.server.BaseHTTPRequestHandler):
    """A page of another origin."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/html")
        self.end_headers()
        self.wfile.write(b"<!DOCTYPE html><title>page</title>")

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def page() -> Iterator[str]:
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Page)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("chromedriver") is None, reason="needs chromium-driver")
def test_chromiums_cache_is_fresh_after_each_commit(
    serve: Callable[..., Server], lake: Path, page: str, tmp_path: Path
) -> None:
    server = serve("--cors", page, "--public")
    db = sdb.connect(lake)
    browser = Browser(tmp_path)

    def asked(before: int) -> list[int]:
        time.sleep(0.3)  # the server writes its line when the answer is sent
        return statuses(server)[before:]

    try:
        browser.ask("/url", url=page)
        url = url_of(server, "SELECT COUNT(*) AS n FROM logs.app", "ndjson")
        for number in range(10, 15):
            for turn in range(3):
                before = len(statuses(server))
                assert browser.fetch(url) == [200, f'{{"n": {number}}}\n']
                # The script gets what the cache has kept, after a look at the server.
                assert asked(before) == [200 if turn == 0 else 304]
            db.append("logs.app", [{"n": number}])
        pinned = url_of(server, "SELECT COUNT(*) AS n FROM logs.app@2", "ndjson")
        before = len(statuses(server))
        for _ in range(3):
            assert browser.fetch(pinned) == [200, '{"n": 11}\n']
        assert asked(before) == [200]  # it is immutable
        before = len(statuses(server))
        now = url_of(server, "SELECT COUNT(*) AS n FROM logs.app WHERE NOW() > n", "ndjson")
        for _ in range(2):
            browser.fetch(now)
        assert 304 not in asked(before)
        assert len(asked(before)) == 2  # nothing was kept
    finally:
        browser.close()
