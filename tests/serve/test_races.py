"""Writes against conditional reads: no client learns that old rows are still right.

`SDB_RACES=100000 pytest tests/serve/test_races.py::test_no_answer_is_stale_in_many_races` runs so
many conditional reads while one commit follows the other; without it there are 10,000.
"""

from __future__ import annotations

import json
import os
import threading
import time
from typing import TYPE_CHECKING

import pytest
import requests

import sdb

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from sdb.client.connection import Connection
    from tests.serve.conftest import Server

pytestmark = pytest.mark.wide

COUNT = "SELECT COUNT(*) AS n, MAX(n) AS m FROM logs.app"


def append(db: Connection, number: int) -> None:
    db.append("logs.app", [{"n": number}])
    if number % 100 == 0:
        db.table("logs.app").compact()


def raced(lake: Path, server: Server, commits: int, reads: int = 0) -> tuple[int, int]:
    """Return how many answers were 304 and 200, all checked against what was committed before.

    * ``commits, reads``: How many there are at least.
    """
    db = sdb.connect(lake)
    committed, is_over = 10, threading.Event()
    wrong: list[str] = []
    counts = {304: 0, 200: 0}

    def read() -> None:
        session = requests.Session()
        tag, seen = "", 0
        while not is_over.is_set():
            before = committed
            headers = {"if-none-match": tag} if tag else {}
            answer = session.get(
                f"{server.url}/v1/query", params={"sql": COUNT}, headers=headers, timeout=60
            )
            if answer.status_code in {503, 504}:  # the machine is busy otherwise
                continue
            counts[answer.status_code] += 1
            if answer.status_code == 200:
                row = json.loads(answer.content)
                seen, tag = row["n"], answer.headers["etag"]
                if row["m"] != row["n"] - 1:
                    wrong.append(f"torn: {row}")
            if seen < before:
                wrong.append(f"{answer.status_code}: {seen} rows, {before} were committed before")

    threads = [threading.Thread(target=read) for _ in range(3)]
    for thread in threads:
        thread.start()
    while committed < 10 + commits or (sum(counts.values()) < reads and not wrong):
        assert all(thread.is_alive() for thread in threads)
        append(db, committed)
        committed += 1
        time.sleep(committed % 16 / 100)  # until an index has settled, and before
    time.sleep(0.2)
    is_over.set()
    for thread in threads:
        thread.join()
    assert not wrong, wrong[:5]
    return counts[304], counts[200]


def test_no_answer_is_stale(serve: Callable[..., Server], lake: Path) -> None:
    unchanged, fresh = raced(lake, serve("--quiet"), 40)
    assert unchanged > 10
    assert fresh >= 10


@pytest.mark.slow
@pytest.mark.timeout(7200)
def test_no_answer_is_stale_in_many_races(serve: Callable[..., Server], lake: Path) -> None:
    reads = int(os.environ.get("SDB_RACES", "10000"))
    unchanged, fresh = raced(lake, serve("--quiet"), 200, reads)
    assert unchanged + fresh >= reads
    assert unchanged > reads / 10
