"""Kills under load: what was answered 201 is there, once, and so is what was sent again."""

from __future__ import annotations

import random
import signal
import socket
import threading
import time
from collections import Counter
from typing import TYPE_CHECKING

import pytest
import requests

import sdb
from tests.serve.conftest import Server

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.wide

CLIENTS = 4


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


class Sender:
    """A client that sends each row until the server has answered that it is stored."""

    def __init__(self, url: str, name: str) -> None:
        self.url, self.name = url, name
        self.answered: list[str] = []
        self.wrong: list[str] = []
        self.is_over = threading.Event()
        self.thread = threading.Thread(target=self.run)

    def run(self) -> None:
        number = 0
        while not self.is_over.is_set():
            key = f"{self.name}-{number}"
            if self.send(key):
                number += 1

    def send(self, key: str) -> bool:
        headers = {"content-type": "application/x-ndjson", "idempotency-key": key}
        path = f"{self.url}/v1/tables/logs.app/rows"
        try:
            answer = requests.post(path, data=f'{{"key": "{key}"}}\n', headers=headers, timeout=30)
        except requests.RequestException:
            time.sleep(0.05)  # it was killed, or has not begun again
            return False
        if answer.status_code in {200, 201}:
            self.answered.append(key)
            return True
        if answer.status_code != 503:  # it is ending, or busy
            self.wrong.append(f"{answer.status_code} {answer.text[:200]}")
        return False


def killed(lake: Path, kinds: list[signal.Signals]) -> None:
    port = free_port()
    options = ("--write", "--quiet", "--listen", f"127.0.0.1:{port}")
    server = Server(lake, *options)
    senders = [Sender(f"http://127.0.0.1:{port}", f"c{number}") for number in range(CLIENTS)]
    for sender in senders:
        sender.thread.start()
    chance = random.Random(7)
    try:
        for kind in kinds:
            time.sleep(1 + chance.random())
            server.process.send_signal(kind)
            server.process.wait(60)
            server.close()
            server = Server(lake, *options)
        time.sleep(1)
    finally:
        for sender in senders:
            sender.is_over.set()
        for sender in senders:
            sender.thread.join()
        server.close()
    assert [line for sender in senders for line in sender.wrong] == []
    answered = {key for sender in senders for key in sender.answered}
    result = sdb.sql("SELECT key FROM logs.app WHERE key IS NOT MISSING", root=str(lake))
    stored = Counter(row["key"] for row in result)
    assert len(answered) > len(kinds)
    assert answered - set(stored) == set()
    assert [key for key, count in stored.items() if count > 1] == []
    # What was not answered is at most the last row of each client.
    assert len(set(stored) - answered) <= CLIENTS


def test_rows_outlive_kills(lake: Path) -> None:
    killed(lake, [signal.SIGKILL, signal.SIGTERM])


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_rows_outlive_many_kills(lake: Path) -> None:
    killed(lake, [signal.SIGKILL, signal.SIGTERM, signal.SIGKILL] * 8)
