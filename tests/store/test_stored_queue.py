"""`sdb sync --queue` on real servers: notifications of S3 through SQS, and tables on S3."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote_plus

import boto3
import pytest

import sdb
from tests.cli.service import SECONDS, Service

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.store.conftest import S3Backend, Waiting

pytestmark = pytest.mark.s3
KEY = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="
VARIABLES = ("AWS_", "SNELLER_")


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SNELLER_INDEX_KEY", KEY)


@pytest.fixture
def serve(bucket: S3Backend, waiting: Waiting, tmp_path: Path) -> Iterator[Callable[..., Service]]:
    running: list[Service] = []

    def start(*more: str) -> Service:
        variables = {name: v for name, v in os.environ.items() if name.startswith(VARIABLES)}
        words = ["--queue", waiting.location, "--root", bucket.root, *more]
        running.append(Service(tmp_path, *words, **variables))
        return running[-1]

    yield start
    for process in running:
        process.close()


def event_of(url: str, name: str = "ObjectCreated:Put") -> dict[str, Any]:
    s3_bucket, _, key = url.removeprefix("s3://").partition("/")
    reported = {"key": quote_plus(key, safe="/"), "size": 10, "eTag": "0", "sequencer": "1"}
    record = {"eventVersion": "2.1", "eventSource": "aws:s3", "eventName": name}
    return {"Records": [record | {"s3": {"bucket": {"name": s3_bucket}, "object": reported}}]}


def rows(backend: S3Backend) -> list[int]:
    actual = sdb.connect(backend.root).sql("SELECT n FROM d.t").to_arrow().to_pylist()
    return sorted(row["n"] for row in actual)


def left_in(location: str, *, hidden: bool) -> int:
    """Count messages that are not deleted; those that somebody has are hidden."""
    if "://" not in location:
        actual = [path for path in Path(location).rglob("*") if path.is_file()]
        return sum(hidden or ".taken-" not in str(path) for path in actual)
    names = ["ApproximateNumberOfMessages"]
    names += ["ApproximateNumberOfMessagesNotVisible"] * hidden
    client = boto3.client("sqs", region_name="us-east-1")
    try:
        actual = client.get_queue_attributes(QueueUrl=location, AttributeNames=names)["Attributes"]
    finally:
        client.close()
    return sum(map(int, actual.values()))


def until(location: str, count: int, *, hidden: bool = True) -> None:
    stop = time.monotonic() + SECONDS
    while (left := left_in(location, hidden=hidden)) != count:
        assert time.monotonic() < stop, left
        time.sleep(0.1)


def test_notifications_of_objects_are_followed(
    bucket: S3Backend, waiting: Waiting, serve: Callable[..., Service]
) -> None:
    sdb.connect(bucket.root).create("d.t", f"{bucket.root}/in/*.json")
    plain = bucket.put("in/0.json", b'{"n": 0}\n')
    odd = bucket.put("in/a b+c%20é.json", b'{"n": 1}\n')
    through_sns = bucket.put("in/2.json", b'{"n": 2}\n')
    bridged = bucket.put("in/+3.json", b'{"n": 3}\n')
    waiting.send(json.dumps({"Service": "Amazon S3", "Event": "s3:TestEvent"}))
    waiting.send(json.dumps(event_of(plain)))
    waiting.send(json.dumps(event_of(odd, "s3:ObjectCreated:CompleteMultipartUpload")))
    waiting.send(json.dumps({"Type": "Notification", "Message": json.dumps(event_of(through_sns))}))
    name, _, key = bridged.removeprefix("s3://").partition("/")
    detail = {"bucket": {"name": name}, "object": {"key": key, "size": 9}}
    waiting.send(
        json.dumps({"detail-type": "Object Created", "source": "aws.s3", "detail": detail})
    )
    waiting.send(json.dumps(event_of(f"{bucket.root}/in/gone.json")))
    waiting.send(json.dumps(event_of("s3://no-such-bucket-at-all/in/x.json")))
    service = serve()
    taken: list[str] = []
    while len(taken) < 4:
        event = service.event()
        assert event["event"] in {"synced", "passed"}, event
        taken += event.get("taken", [])
    assert sorted(taken) == sorted([plain, odd, through_sns, bridged])
    until(waiting.location, 0)
    code, err = service.end(signal.SIGTERM)
    assert (code, "Traceback" in err) == (0, False)
    assert rows(bucket) == [0, 1, 2, 3]


def test_a_message_is_held_until_its_objects_are_committed(
    bucket: S3Backend, waiting: Waiting, serve: Callable[..., Service]
) -> None:
    """Another one would get it after two seconds, if it were not held."""
    sdb.connect(bucket.root).create("d.t", f"{bucket.root}/in/*.json")
    waiting.send(json.dumps(event_of(bucket.put("in/0.json", b'{"n": 0}\n'))))
    service = serve("--interval", "5s")
    until(waiting.location, 0, hidden=False)
    began = time.monotonic()
    other = waiting.connect()
    while not service.has_told:
        assert list(other.receive(0)) == []
        time.sleep(0.1)
    assert time.monotonic() - began > 2.5
    assert service.event()["version"] == 1
    other.close()
    until(waiting.location, 0)
    assert service.end(signal.SIGTERM)[0] == 0


KILLED_BEFORE_IT_DELETES = """
import os, signal, sys
from sdb.table.feed.messages import QueueBatch
QueueBatch.acknowledge = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
from sdb.cli.main import main
main()
"""


def test_killed_between_commit_and_acknowledgement(
    bucket: S3Backend, waiting: Waiting, serve: Callable[..., Service]
) -> None:
    sdb.connect(bucket.root).create("d.t", f"{bucket.root}/in/*.json")
    for number in range(3):
        url = bucket.put(f"in/{number}.json", f'{{"n": {number}}}\n'.encode())
        waiting.send(json.dumps(event_of(url)))
    words = ["sync", "--queue", waiting.location, "--interval", "1s", "--root", bucket.root, "d"]
    command = [sys.executable, "-c", KILLED_BEFORE_IT_DELETES, *words]
    assert subprocess.run(command, check=False, timeout=60).returncode == -signal.SIGKILL
    before = rows(bucket)
    assert before
    service = serve()
    url = bucket.put("in/9.json", b'{"n": 9}\n')
    waiting.send(json.dumps(event_of(url)))
    until(waiting.location, 0)
    assert service.end(signal.SIGTERM)[0] == 0
    assert rows(bucket) == [0, 1, 2, 9]


@pytest.mark.parametrize("waiting", ["folder"], indirect=True)  # others use the server too
def test_an_outage_of_the_queue_is_told_once_and_survived(
    bucket: S3Backend, tmp_path: Path, serve: Callable[..., Service], waiting: Waiting
) -> None:
    sdb.connect(bucket.root).create("d.t", f"{bucket.root}/in/*.json")
    service = serve()
    queue = tmp_path / "queue"
    stop = time.monotonic() + SECONDS
    while not list(queue.glob(".taken-*")):
        assert time.monotonic() < stop
        time.sleep(0.05)
    queue.rename(tmp_path / "away")
    trouble = service.event()
    assert (trouble["event"], trouble["queue"]) == ("trouble", waiting.location)
    (tmp_path / "away").rename(queue)
    assert service.event()["event"] == "recovered"
    waiting.send(json.dumps(event_of(bucket.put("in/0.json", b'{"n": 0}\n'))))
    assert service.event()["taken"] == [f"{bucket.root}/in/0.json"]
    until(waiting.location, 0)
    assert service.end(signal.SIGTERM)[0] == 0
