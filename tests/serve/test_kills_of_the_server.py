"""A server that is killed while rows come in: each answer 201 is of rows that are there, once."""

from __future__ import annotations

import random
import threading
import time
from typing import TYPE_CHECKING

import pytest

import sdb

from .conftest import Server

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.wide

requests = pytest.importorskip("requests")

_WRITERS = 4
_KEYS = 12


class Writers:
    """Writers that send each of their keys until it is answered, and now and then once more."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self.versions: dict[str, set[int]] = {}
        self.odd: list[str] = []

    def write(self, writer: int) -> None:
        generator = random.Random(writer)
        for number in range(_KEYS):
            key = f"{writer}-{number}"
            while not (self.send(key) and generator.random() < 0.7):
                time.sleep(0.01)

    def send(self, key: str) -> bool:
        """Return whether a request was answered."""
        headers = {"content-type": "application/x-ndjson", "idempotency-key": key}
        url = f"{self.server.url}/v1/tables/logs.app/rows"
        body = f'{{"key": "{key}"}}\n' * 3
        try:
            answer = requests.post(url, data=body, headers=headers, timeout=30)
        except requests.RequestException:
            return False
        if answer.status_code == 201:
            self.versions.setdefault(key, set()).add(answer.json()["version"])
        elif answer.status_code not in {409, 503}:
            self.odd.append(answer.text)
        return answer.status_code == 201


def test_each_key_once_through_kills(lake: Path) -> None:
    """The server is killed again and again while rows come in."""
    generator = random.Random(17)
    writers = Writers(Server(lake, "--write"))
    threads = [threading.Thread(target=writers.write, args=(writer,)) for writer in range(_WRITERS)]
    for thread in threads:
        thread.start()

    for _ in range(5):
        time.sleep(0.2 + generator.random() * 0.6)
        if not any(thread.is_alive() for thread in threads):
            break
        writers.server.process.kill()
        writers.server.process.wait()
        writers.server = Server(lake, "--write")
    for thread in threads:
        thread.join()
    writers.server.close()
    db = sdb.connect(lake)
    text = "SELECT key, COUNT(*) AS n FROM logs.app WHERE key IS NOT MISSING GROUP BY key"
    with db.sql(text) as rows:
        counts = {row["key"]: row["n"] for row in rows}
    assert counts == {f"{w}-{n}": 3 for w in range(_WRITERS) for n in range(_KEYS)}
    assert writers.odd == []
    assert all(len(versions) == 1 for versions in writers.versions.values())
    assert db.table("logs.app").validate().findings == ()
