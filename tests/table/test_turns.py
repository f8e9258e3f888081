"""Turns: programs of one machine wait for each other, and never for long."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from typing import TYPE_CHECKING

import pytest

from sdb.table.commit import localqueue
from tests.patience import soon

if TYPE_CHECKING:
    from pathlib import Path

HOLDER = """
import sys
from sdb.table.commit.localqueue import queued

with queued("s3://b/index"):
    print("mine", flush=True)
    sys.stdin.read()
"""


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "cache"
    monkeypatch.setenv("SDB_CACHE", str(folder))
    return folder


def test_threads_take_turns() -> None:
    inside, most = 0, 0

    def work() -> None:
        nonlocal inside, most
        for _ in range(5):
            with localqueue.queued("s3://b/index"):
                inside += 1
                most = max(most, inside)
                time.sleep(0.002)
                inside -= 1

    threads = [threading.Thread(target=work) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == 1


def test_other_places_have_turns_of_their_own() -> None:
    began = time.monotonic()
    with localqueue.queued("s3://b/one"), localqueue.queued("s3://b/other"):
        assert time.monotonic() - began < localqueue.HELD_UP_SECONDS / 2


def test_who_is_held_up_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(localqueue, "HELD_UP_SECONDS", 0.5)
    command = [sys.executable, "-c", HOLDER]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"mine\n"
        began = time.monotonic()
        with localqueue.queued("s3://b/index"):
            assert time.monotonic() - began < soon(10)
        assert process.poll() is None
        process.communicate()
    with localqueue.queued("s3://b/index"):
        pass


def test_who_dies_leaves_its_turn() -> None:
    command = [sys.executable, "-c", HOLDER]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"mine\n"
        process.kill()
        process.wait()
    began = time.monotonic()
    with localqueue.queued("s3://b/index"):
        assert time.monotonic() - began < localqueue.HELD_UP_SECONDS / 2


def test_without_a_cache_folder_nobody_waits(cache: Path) -> None:
    cache.write_text("a file")
    began = time.monotonic()
    with localqueue.queued("s3://b/index"), localqueue.queued("s3://b/index"):
        assert time.monotonic() - began < localqueue.HELD_UP_SECONDS / 2
