"""Calls that another thread runs while the main thread hears of signals."""

from __future__ import annotations

import os
import signal
import threading
import time
from typing import TYPE_CHECKING

import pytest

from sdb.query.result.waiting import Waiter
from tests.patience import soon

if TYPE_CHECKING:
    from collections.abc import Iterator


def _count(until: int) -> Iterator[int]:
    yield from range(until)
    raise ValueError("enough")


def test_calls_return_and_raise_what_they_do() -> None:
    waiter = Waiter(lambda: None)
    threads = set()
    assert waiter(lambda: threads.add(threading.current_thread().name) or 7) == 7  # type: ignore[func-returns-value]
    assert threads == {"query"}
    with pytest.raises(KeyError, match="x"):
        waiter(lambda: {}["x"])  # type: ignore[var-annotated]
    results = []
    with pytest.raises(ValueError, match="enough"):
        results.extend(item for item in waiter.each(lambda: _count(3)))
    waiter.close()
    assert "query" not in {thread.name for thread in threading.enumerate()}


def test_in_another_thread_calls_are_plain() -> None:
    seen: list[str] = []
    waiter = Waiter(lambda: None)

    def run() -> None:
        seen.append(waiter(lambda: threading.current_thread().name))

    thread = threading.Thread(target=run, name="other")
    thread.start()
    thread.join()
    assert seen == ["other"]


def test_a_handler_that_raises_stops_the_call_first() -> None:
    stopped = threading.Event()
    ended: list[bool] = []

    def call() -> None:
        stopped.wait(60)
        ended.append(True)

    waiter = Waiter(stopped.set)
    timer = threading.Timer(0.1, os.kill, [os.getpid(), signal.SIGINT])
    timer.start()
    started = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        waiter(call)
    assert time.monotonic() - started < soon(5)
    assert ended == [True]
    assert waiter(lambda: 5) == 5
    waiter.close()


def test_an_interrupt_while_the_thread_starts_leaves_nothing_to_join(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    started = threading.Thread.start

    def interrupted(thread: threading.Thread) -> None:
        del thread  # it has not begun
        raise KeyboardInterrupt

    waiter = Waiter(lambda: None)
    monkeypatch.setattr(threading.Thread, "start", interrupted)
    with pytest.raises(KeyboardInterrupt):
        waiter(lambda: 7)
    waiter.close()
    monkeypatch.setattr(threading.Thread, "start", started)
    assert waiter(lambda: 7) == 7
    waiter.close()
