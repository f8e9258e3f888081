"""`sdb sync --queue` with a folder for a queue; tests/store has the same with SQS."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from itertools import count
from typing import TYPE_CHECKING

import pytest

import sdb
from tests.cli.conftest import environment
from tests.cli.service import SECONDS, Service

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tests.cli.conftest import Run

_numbers = count()


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    (tmp_path / "lake/in").mkdir(parents=True)
    (tmp_path / "queue").mkdir()
    sdb.connect(tmp_path / "lake").create("d.t", "in/*.json")
    return tmp_path / "lake"


@pytest.fixture
def serve(lake: Path) -> Iterator[Callable[..., Service]]:
    running: list[Service] = []

    def start(*more: str) -> Service:
        running.append(Service(lake.parent, "--queue", "queue", *more))
        return running[-1]

    yield start
    for process in running:
        process.close()


def put(lake: Path, name: str, *rows: int) -> str:
    new = lake / "new"
    new.write_text("".join(f"{json.dumps({'n': row})}\n" for row in rows))
    new.rename(lake / f"in/{name}")
    return f"file://in/{name}"


def send(lake: Path, body: object) -> None:
    queue = lake.parent / "queue"
    new = queue / f".new{os.getpid()}"
    new.write_text(body if isinstance(body, str) else json.dumps(body))
    new.rename(queue / f"{next(_numbers):06}.json")


def appear(lake: Path, number: int) -> None:
    send(lake, {"uri": put(lake, f"{number:04}.json", number)})


def waiting(lake: Path) -> list[str]:
    """List the messages, those that a program holds too."""
    actual = (lake.parent / "queue").rglob("*")
    return sorted(item.name for item in actual if item.is_file() and item.parent.name != "refused")


def numbers(lake: Path) -> list[int]:
    actual = sdb.connect(lake).sql("SELECT n FROM d.t").to_arrow().to_pylist()
    return sorted(row["n"] for row in actual)


def until(lake: Path, wanted: list[int]) -> None:
    stop = time.monotonic() + SECONDS
    while (actual := (lake / "db/d/t/index").exists() and numbers(lake)) != wanted:
        assert time.monotonic() < stop, actual
        time.sleep(0.1)


def until_empty(lake: Path) -> None:
    stop = time.monotonic() + SECONDS
    while actual := waiting(lake):
        assert time.monotonic() < stop, actual
        time.sleep(0.1)


def test_what_messages_name_is_taken_until_it_is_told_to_stop(
    run: Run, lake: Path, serve: Callable[..., Service]
) -> None:
    put(lake, "unnamed.json", -1)
    appear(lake, 0)
    service = serve()
    first = service.event()
    assert (first["event"], first["table"], first["version"]) == ("synced", "t", 1)
    assert first["taken"] == ["file://in/0000.json"]
    until_empty(lake)
    (lake / "in/0001.json").write_text('{"n": \n')
    send(lake, {"uris": ["file://in/0001.json", put(lake, "0002.json", 2)]})
    event = service.event()
    assert [entry["path"] for entry in event["rejected"]] == ["file://in/0001.json"]
    assert event["taken"] == ["file://in/0002.json"]
    until_empty(lake)
    code, err = service.end(signal.SIGTERM)
    assert (code, err.count("rejecting object")) == (0, 1)
    assert "Traceback" not in err
    assert numbers(lake) == [0, 2]
    assert sorted(os.listdir(lake.parent / "queue")) == []  # noqa: PTH208
    assert run("sync", "--root", "lake", "d").returncode == 0
    assert numbers(lake) == [-1, 0, 2]
    assert run("validate", "--root", "lake", "d", "t").returncode == 0


def test_again_late_gone_and_twice_is_harmless(lake: Path, serve: Callable[..., Service]) -> None:
    uri = put(lake, "a.json", 1)
    for _ in range(3):
        send(lake, {"uri": uri})
    send(lake, {"uris": [uri, "file://in/gone.json"]})
    service = serve()
    assert service.event()["taken"] == [uri]
    until_empty(lake)
    send(lake, {"uri": uri})
    put(lake, "a.json", 1, 2)  # which another message told of before
    send(lake, {"uri": uri})
    appear(lake, 5)
    assert service.event()["taken"] == ["file://in/0005.json"]
    until_empty(lake)
    assert service.end(signal.SIGTERM)[0] == 0
    assert numbers(lake) == [1, 5]


def test_poison_is_told_once_and_blocks_nothing(lake: Path, serve: Callable[..., Service]) -> None:
    event = {"eventName": "ObjectRemoved:Delete", "s3": {}}
    for body in (
        "no JSON",
        "[" * 100_000,
        {"Service": "Amazon S3", "Event": "s3:TestEvent", "Bucket": "b"},
        {"Records": [event]},
        {"uri": "s3://another/in/0001.json"},
        {"uri": "s3://another/in/0002.json"},
        {"uri": "file://in/../../secret.json"},
        {"Records": [{"eventName": "ObjectCreated:Put", "s3": {}}]},
        {"uri": "file://db/d/t/index"},
    ):
        send(lake, body)
    appear(lake, 7)
    service = serve()
    reported = [service.event() for _ in range(8)]
    until_empty(lake)
    assert [item["taken"] for item in reported if item["event"] == "synced"] == [
        ["file://in/0007.json"]
    ]
    passed = {item["example"] for item in reported if item["event"] == "passed"}
    assert {"s3:TestEvent", "ObjectRemoved:Delete", "s3://another/in/0001.json"} < passed
    assert sum("expected a notification of an object" in item for item in passed) == 3
    code, err = service.end(signal.SIGTERM)
    assert code == 0
    assert err.count("another/in/0001.json: fits no pattern") == 1
    assert "0002" not in err
    assert "Traceback" not in err
    refused = {item.read_text()[:7] for item in (lake.parent / "queue/refused").iterdir()}
    assert refused == {"no JSON", "[[[[[[[", '{"Recor'}
    assert numbers(lake) == [7]


def test_trouble_with_one_table_keeps_its_messages_and_no_others(
    lake: Path, serve: Callable[..., Service]
) -> None:
    (lake / "other").mkdir()
    sdb.connect(lake).create("d.other", "other/*.json")
    (lake / "other/a.json").write_text('{"n": 1}\n')
    appear(lake, 0)
    service = serve()
    assert service.event()["version"] == 1
    until_empty(lake)
    index = lake / "db/d/t/index"
    good = index.read_bytes()
    index.write_bytes(good[:-1] + b"x")
    appear(lake, 1)
    trouble = service.event()
    assert (trouble["event"], trouble["table"], trouble["exit_code"]) == ("trouble", "t", 6)
    send(lake, {"uri": "file://other/a.json"})
    time.sleep(1)
    assert len(waiting(lake)) >= 1
    index.write_bytes(good)
    events = [service.event() for _ in range(3)]
    assert {item["event"] for item in events} == {"recovered", "synced"}
    assert sorted(item for event in events for item in event.get("taken", [])) == [
        "file://in/0001.json",
        "file://other/a.json",
    ]
    until_empty(lake)
    assert service.end(signal.SIGTERM)[1].count("trying again") == 1
    assert numbers(lake) == [0, 1]


def test_sigterm_finishes_what_is_taken_and_gives_back_the_rest(
    lake: Path, serve: Callable[..., Service]
) -> None:
    big = "".join(f'{{"n": {row}, "text": "{row * 7919:x}"}}\n' for row in range(400_000))
    (lake / "in/big.json").write_text(big)
    send(lake, {"uri": "file://in/big.json"})
    service = serve("--threads", "1")
    spool = time.monotonic() + SECONDS
    while not list((lake.parent / "queue").glob(".taken-*/*")):
        assert time.monotonic() < spool
        time.sleep(0.01)
    time.sleep(0.35)  # the interval is over, and it packs
    appear(lake, -5)
    time.sleep(0.2)
    code, err = service.end(signal.SIGTERM)
    assert (code, err) == (0, "")
    actual = numbers(lake) if (lake / "db/d/t/index").exists() else []
    left = waiting(lake)
    assert (len(actual), len(left)) in {(400_000, 1), (0, 2), (400_001, 0)}
    again = serve()
    until_empty(lake)
    assert again.end(signal.SIGTERM)[0] == 0
    assert len(numbers(lake)) == 400_001


KILLED_BEFORE = """
import os, signal, sys
import sdb.store.local.folderqueue, sdb.table.sync.sync
{} = lambda *_, **__: os.kill(os.getpid(), signal.SIGKILL)
sys.argv = ["sdb", "sync", "--queue", "queue", "--interval", "200ms", "--root", "lake", "d"]
from sdb.cli.main import main
main()
"""


@pytest.mark.parametrize(
    ("function", "is_committed"),
    [
        ("sdb.table.sync.sync.commit", False),
        ("sdb.store.local.folderqueue.FolderQueue.delete", True),
    ],
)
def test_killed_before_or_after_the_commit(
    run: Run, lake: Path, serve: Callable[..., Service], function: str, *, is_committed: bool
) -> None:
    for number in range(5):
        appear(lake, number)
    done = subprocess.run(
        [sys.executable, "-c", KILLED_BEFORE.format(function)],
        cwd=lake.parent,
        env=environment(),
        check=False,
        timeout=60,
    )
    assert done.returncode == -signal.SIGKILL
    assert (lake / "db/d/t/index").exists() == is_committed
    assert not is_committed or numbers(lake) == list(range(5))
    assert len(waiting(lake)) == 5
    service = serve()
    appear(lake, 5)
    until(lake, list(range(6)))
    until_empty(lake)
    assert service.end(signal.SIGTERM)[0] == 0
    assert run("validate", "--root", "lake", "d", "t").returncode == 0


@pytest.mark.parametrize(
    "times", [4, pytest.param(40, marks=[pytest.mark.slow, pytest.mark.timeout(600)])]
)
def test_two_that_are_killed_at_any_moment_lose_and_double_nothing(
    run: Run, lake: Path, serve: Callable[..., Service], times: int
) -> None:
    dice = random.Random(times)
    made = 0
    for _ in range(times):
        services = [serve(), serve()]
        end = time.monotonic() + dice.uniform(0.3, 1.2)
        while time.monotonic() < end:
            appear(lake, made)
            made += 1
            time.sleep(dice.uniform(0, 0.03))
        for service in services:
            service.end(signal.SIGKILL)
    service = serve()
    until(lake, list(range(made)))
    until_empty(lake)
    assert service.end(signal.SIGTERM)[0] == 0
    assert run("validate", "--root", "lake", "d", "t").returncode == 0


def test_what_makes_no_sense_is_refused(run: Run, lake: Path) -> None:
    for words, code in (
        (["queue", "--dry-run"], 2),
        (["queue", "--changed", "fail"], 2),
        (["queue", "--interval", "soon"], 2),
        (["nothing"], 3),
        (["ftp://x/y"], 2),
    ):
        result = run("sync", "--queue", *words, "--root", "lake", "d")
        assert result.returncode == code, words
        assert result.stderr.count(b"\n") <= 2
    assert [path.name for path in (lake / "db/d/t").iterdir()] == ["definition.json"]


def test_messages_that_lead_out_of_the_root_are_refused(
    lake: Path, serve: Callable[..., Service]
) -> None:
    (lake.parent / "secret.json").write_text('{"n": 4711}\n')
    (lake / "in/link.json").symlink_to("../../secret.json")
    patterns = ["file://in/*.json", "file://../*.json", "s3://other/*.json"]
    definition = {"input": [{"pattern": item} for item in patterns]}
    (lake / "db/d/t/definition.json").write_text(json.dumps(definition))
    for uri in (
        "file:///etc/passwd",
        "file://../secret.json",
        "file://in/link.json",
        "s3://other/a.json",
    ):
        send(lake, {"uri": uri})
    event = {"bucket": {"name": "other"}, "object": {"key": "b.json"}}
    send(lake, {"Records": [{"eventName": "ObjectCreated:Put", "s3": event}]})
    appear(lake, 1)
    service = serve()
    reported = [service.event() for _ in range(3)]
    assert {item["event"] for item in reported} == {"synced", "passed", "trouble"}
    [trouble] = [item for item in reported if item["event"] == "trouble"]
    assert trouble["exit_code"] == 7
    assert trouble["table"] == "t"
    assert "leads out of the root lake" in trouble["error"]
    assert "--allow-inputs" in trouble["error"]
    code, err = service.end(signal.SIGTERM)
    assert code == 0
    assert "Traceback" not in err
    assert len(waiting(lake)) == 4
    assert numbers(lake) == [1]


def test_a_queue_may_name_what_is_allowed(lake: Path, serve: Callable[..., Service]) -> None:
    (lake.parent / "secret.json").write_text('{"n": 4711}\n')
    definition = {"input": [{"pattern": "file://../*.json"}]}
    (lake / "db/d/t/definition.json").write_text(json.dumps(definition))
    send(lake, {"uri": "file://../secret.json"})
    service = serve("--allow-inputs", ".")
    assert service.event()["taken"] == ["file://../secret.json"]
    assert service.end(signal.SIGTERM)[0] == 0
    assert numbers(lake) == [4711]


def test_a_message_is_no_link_to_another_file(lake: Path, serve: Callable[..., Service]) -> None:
    (lake.parent / "secret.txt").write_text("canary-4711")
    (lake.parent / "queue/000.json").symlink_to("../secret.txt")
    # As if a program had died that held what is in that folder.
    (lake.parent / "private").mkdir()
    (lake.parent / "private/0-mine.json").write_text("canary-4711")
    (lake.parent / "queue/.taken-0123456789abcdef").symlink_to("../private")
    appear(lake, 1)
    service = serve()
    assert service.event()["event"] == "synced"
    code, err = service.end(signal.SIGTERM)
    assert code == 0
    assert "canary" not in err
    assert [path.name for path in (lake.parent / "private").iterdir()] == ["0-mine.json"]
    assert (lake.parent / "queue/000.json").is_symlink()
