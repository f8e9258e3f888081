"""Queues of every kind: a message is there until it is deleted, and one reader has it at a time."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest

from sdb.errors import NotFoundError, SdbError, UsageError
from sdb.store import url

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from sdb.store.messages import Message, Queue
    from tests.store.conftest import Waiting


def receive(queue: Queue, count: int, seconds: float = 10) -> list[Message]:
    results: list[Message] = []
    stop = time.monotonic() + seconds
    while len(results) < count and time.monotonic() < stop:
        results += queue.receive(1)
    return results


def bodies(messages: Sequence[Message]) -> list[str]:
    return sorted(message.body for message in messages)


def test_what_was_deleted_is_gone_and_nothing_else(waiting: Waiting) -> None:
    for number in range(25):
        waiting.send(f"{number:02} é\n")
    queue = waiting.connect()
    messages = receive(queue, 25)
    assert bodies(messages) == [f"{number:02} é\n" for number in range(25)]
    assert len({item.receipt for item in messages}) == 25
    assert {item.deliveries for item in messages} == {1}
    queue.delete(messages[:21])
    queue.release(messages[21:])
    again = receive(queue, 4)
    assert bodies(again) == bodies(messages[21:])
    queue.delete(again)
    time.sleep(queue.hold_seconds if queue.hold_seconds < 3 else 0)
    assert list(queue.receive(1)) == []
    queue.close()
    queue.close()


def test_others_get_a_message_only_when_it_is_given_back(waiting: Waiting) -> None:
    waiting.send("one")
    first, second = waiting.connect(), waiting.connect()
    messages = receive(first, 1)
    stop = time.monotonic() + 3  # longer than it is hidden by itself
    while time.monotonic() < stop:
        first.hold(messages)
        assert list(second.receive(0)) == []
        time.sleep(0.3)
    first.release(messages)
    assert bodies(receive(second, 1)) == ["one"]
    first.close()
    second.close()


def test_what_is_released_for_later_comes_later(waiting: Waiting) -> None:
    waiting.send("one")
    queue = waiting.connect()
    queue.release(receive(queue, 1), 2)
    began = time.monotonic()
    assert bodies(receive(queue, 1)) == ["one"]
    assert time.monotonic() - began > 1
    queue.close()


def test_what_a_killed_program_held_comes_again(waiting: Waiting) -> None:
    for number in range(3):
        waiting.send(str(number))
    program = (
        "import os, signal, sys\n"
        "from sdb.store.url import queue_of\n"
        "queue = queue_of(sys.argv[1])\n"
        "found = list(queue.receive(5))\n"
        "while len(found) < 3: found += queue.receive(5)\n"
        "queue.delete(found[:1])\n"
        "print(found[0].body, flush=True)\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, waiting.location], stdout=subprocess.PIPE, check=False
    )
    assert done.returncode == -9
    queue = waiting.connect()
    left = {"0", "1", "2"} - {done.stdout.decode().strip()}
    assert bodies(receive(queue, 2)) == sorted(left)
    queue.close()


def test_no_queue_is_an_error_at_once(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match="there is no folder"):
        url.queue_of(tmp_path / "nothing")
    (tmp_path / "file").touch()
    with pytest.raises(UsageError, match="is a file"):
        url.queue_of(tmp_path / "file")
    with pytest.raises(UsageError, match="is no queue"):
        url.queue_of("s3://bucket/queue")


@pytest.mark.s3
def test_no_queue_at_a_server_is_an_error_at_once(sqs: str) -> None:
    with pytest.raises(NotFoundError, match="there is no such queue"):
        url.queue_of(f"{sqs}/123456789012/nothing")


def test_no_server_is_an_error_that_tells_the_setting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "x")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "x")
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "1")
    monkeypatch.setenv("AWS_REGION", "us-east-1")
    monkeypatch.delenv("AWS_ENDPOINT_URL_SQS", raising=False)
    with pytest.raises(SdbError, match=r"127\.0\.0\.1:9") as caught:
        url.queue_of("http://127.0.0.1:9/1/queue")
    assert "AWS_ENDPOINT_URL_SQS" in str(caught.value.hint)


def test_files_of_the_same_name_are_two_messages(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("first")
    queue = url.queue_of(tmp_path)
    first = receive(queue, 1)
    (tmp_path / "a").write_text("second")
    second = receive(queue, 1)
    (tmp_path / "a").write_text("third")
    queue.release([*first, *second])
    assert bodies(receive(queue, 3)) == ["first", "second", "third"]
    queue.close()
    assert len(list(tmp_path.iterdir())) == 3


def test_refused_messages_of_a_folder_are_kept_apart(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("what?")
    (tmp_path / ".b").write_text("not ready")
    (tmp_path / "c").mkdir()
    queue = url.queue_of(tmp_path)
    queue.refuse(receive(queue, 1))
    assert list(queue.receive(0)) == []
    queue.close()
    assert (tmp_path / "refused/a").read_text() == "what?"
    assert sorted(os.listdir(tmp_path)) == [".b", "c", "refused"]  # noqa: PTH208
