"""Tables are written in every store by the same code, by many at a time."""

from __future__ import annotations

import base64
import json
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest

import sdb
from sdb.errors import UsageError
from sdb.packfile.rewrite import cluster
from sdb.store import url
from sdb.store.s3 import client
from sdb.table.commit.commit import find_commit
from sdb.table.feed.events import Trouble
from sdb.table.feed.folders import follow
from sdb.table.feed.lines import BatchBounds, LineFeed, LineTarget, Streamed
from sdb.table.feed.logs import LogFiles, follow_logs
from sdb.table.feed.tables import FeedTables
from sdb.table.format.keys import TableKeys
from sdb.table.insert.insert import insert
from sdb.table.sync.result import Synced
from sdb.table.tail.names import LogNames
from tests.store.conftest import BUCKET

if TYPE_CHECKING:
    from pathlib import Path

    from sdb.table.feed.events import FeedEvent
    from tests.store.conftest import Backend, Requests, S3Backend

KEY = base64.b64encode(bytes(range(32))).decode()


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SNELLER_INDEX_KEY", KEY)


def pattern_of(backend: Backend) -> str:
    scheme = "file://" if not url.store_of(backend.root).is_remote else f"{backend.root}/"
    return f"{scheme}in/*.json"


def test_many_inserts_at_the_same_time(backend: Backend) -> None:
    url.store_of(backend.root).make_folder(backend.root)
    db = sdb.connect(backend.root)
    if backend.root.startswith("mem"):
        pytest.skip("patterns are those of disks and S3")
    db.create("d.t", pattern_of(backend))

    def write(writer: int) -> None:
        for number in range(5):
            rows = [{"writer": writer, "number": number}]
            # As programs of their own: threads that append share commits.
            assert insert(db.root, "d", "t", rows, txn_id=f"{writer}-{number}").is_new
            assert not db.append("d.t", rows, txn_id=f"{writer}-{number}").is_new

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(write, range(4)))
    table = db.table("d.t")
    actual = table.to_arrow().to_pylist()
    assert sorted((item["writer"], item["number"]) for item in actual) == [
        (writer, number) for writer in range(4) for number in range(5)
    ]
    assert table.handle.state is not None
    assert table.handle.state.version == 20
    assert find_commit(table.handle.root, TableKeys("d", "t"), "3-4") is not None
    assert table.validate().ok


def test_syncs_take_what_a_pattern_finds(backend: Backend) -> None:
    if backend.root.startswith("mem"):
        pytest.skip("patterns are those of disks and S3")
    for number in range(3):
        url.store_of(backend.root).make_folder(backend.at("in"))
        backend.put(f"in/{number}.json", json.dumps({"a": number}).encode())
    backend.put("in/bad.json", b"{")
    db = sdb.connect(backend.root)
    db.create("d.t", pattern_of(backend))
    first = db.sync("d.t")
    assert (first.rows, len(first.taken), len(first.rejected)) == (3, 3, 1)
    table = db.table("d.t")
    assert table.sync().version is None
    backend.put("in/9.json", b'{"a": 9}')
    assert table.sync().rows == 1
    assert sorted(table.to_arrow()["a"].to_pylist()) == [0, 1, 2, 9]
    states = [entry.state.value for entry in table.inputs(check=True)]
    assert states == ["taken"] * 4 + ["failed"]
    assert table.validate().ok


def test_an_insert_takes_few_requests(bucket: S3Backend, requests: Requests) -> None:
    db = sdb.connect(bucket.root)
    db.create("d.t", f"{bucket.root}/in/*.json")
    db.append("d.t", [{"a": 1}])
    requests.clear()
    db.append("d.t", [{"a": 2}])
    # Packfile, version, index; and a lock for the index, on a server that lets conditions race.
    assert requests.count("PutObject") in {3, 4}
    assert requests.count("GetObject") == 2  # the index: its schema before packing, and to commit


def test_without_a_key_nothing_is_written_to_s3(
    bucket: S3Backend, monkeypatch: pytest.MonkeyPatch
) -> None:
    sdb.connect(bucket.root).create("d.t", "in/*.json")
    monkeypatch.delenv("SNELLER_INDEX_KEY")
    db = sdb.connect(bucket.root)
    with pytest.raises(UsageError, match="no key to sign"):
        db.create("d.u", "in/*.json")
    assert [name for name in bucket.names() if "/u/" in name] == []
    with pytest.raises(UsageError, match="no key to sign"):
        db.append("d.t", [{"a": 1}])
    with pytest.raises(UsageError, match="no key to sign"):
        db.sync("d.t")
    assert [name for name in bucket.names() if "data" in name] == []


def test_inputs_are_taken_as_they_appear(backend: Backend) -> None:
    if backend.root.startswith("mem"):
        pytest.skip("patterns are those of disks and S3")
    url.store_of(backend.root).make_folder(backend.at("in"))
    db = sdb.connect(backend.root)
    db.create("d.t", pattern_of(backend))
    backend.put("in/0.json", b'{"n": 0}\n')
    stop, reports = threading.Event(), []

    def tell(event: FeedEvent) -> None:
        reports.append(event)
        number = sum(len(item.taken) for item in reports if isinstance(item, Synced))
        if number == 4:
            stop.set()
        else:
            backend.put(f"in/{number}.json", b'{"n": %d}\n' % number)
            backend.put(f"in/bad{number}.json", b"{\n")

    follow(FeedTables(db.root, "d"), stop, tell, interval_seconds=0.1)
    assert not any(isinstance(item, Trouble) for item in reports)
    assert db.table("d.t").to_arrow().column("n").to_pylist() == [0, 1, 2, 3]
    assert db.table("d.t").validate().ok


def test_tables_are_compacted_and_collected(backend: Backend) -> None:
    if backend.root.startswith("mem"):
        pytest.skip("patterns are those of disks and S3")
    url.store_of(backend.root).make_folder(backend.root)
    db = sdb.connect(backend.root)
    db.create("d.t", pattern_of(backend))
    for number in range(9):
        db.append("d.t", [{"n": number, "t": "2026-01-01T00:00:00Z"}])
    table = db.table("d.t")
    held = db.table("d.t")
    assert [len(run.parts) for run in table.compact().runs] == [9]
    table.expire(all_but_head=True)
    assert not table.gc().garbage
    assert sorted(held.to_arrow()["n"].to_pylist()) == list(range(9))
    collected = table.gc(grace=-10, dry_run=True)
    done = table.gc(grace=-10)
    assert [leftover.key for leftover in collected.garbage] == [
        leftover.key for leftover in done.garbage
    ]
    kinds = [leftover.kind for leftover in done.garbage]
    assert (kinds.count("packfile"), kinds.count("version")) == (9, 9)
    assert sorted(table.to_arrow()["n"].to_pylist()) == list(range(9))
    assert table.validate().ok
    # The boundary is ten seconds ahead: what is written now may be collected, and is copied.
    assert db.append("d.t", [{"n": 9}]).is_new
    assert [leftover.kind for leftover in table.gc(dry_run=True).garbage] == ["packfile"]
    assert sorted(table.to_arrow()["n"].to_pylist()) == list(range(10))


def test_tables_are_clustered(backend: Backend, monkeypatch: pytest.MonkeyPatch) -> None:
    if backend.root.startswith("mem"):
        pytest.skip("patterns are those of disks and S3")
    monkeypatch.setattr(cluster, "BLOCK_BYTES", 2 << 20)
    url.store_of(backend.root).make_folder(backend.root)
    db = sdb.connect(backend.root)
    db.create("d.t", pattern_of(backend))
    for part in range(8):
        rows = [
            {"n": n, "user": f"u{n * 7 % 97}", "pad": f"{n:0900}"} for n in range(part, 8000, 8)
        ]
        db.append("d.t", rows)
    table = db.table("d.t")
    (run,) = table.compact(cluster_by=["user"]).runs
    assert (run.is_sorted, run.rows, run.copied_bytes) == (True, 8000, 0)
    assert not table.compact(cluster_by=["user"]).runs
    assert sorted(table.to_arrow()["n"].to_pylist()) == list(range(8000))
    assert table.validate().ok


@pytest.mark.s3
def test_open_uploads_of_killed_writers_are_collected(bucket: S3Backend) -> None:
    db = sdb.connect(bucket.root)
    db.create("d.t", f"{bucket.root}/in/*.json")
    db.append("d.t", [{"a": 1}])
    others = ["db/d/t/mine.bin", "db/d/u/data/B.zion"]
    for name in ("db/d/t/data/A.zion", "db/d/t/data/A.zion", *others):
        key = f"{bucket.prefix}{name}"
        begun = client.connect().create_multipart_upload(Bucket=BUCKET, Key=key)
        part = {"Bucket": BUCKET, "Key": key, "UploadId": begun["UploadId"]}
        client.connect().upload_part(**part, PartNumber=1, Body=b"x" * 100)
    table = db.table("d.t")
    assert not [leftover for leftover in table.gc().garbage if leftover.kind == "upload"]
    collected = table.gc(grace="0s", dry_run=True).garbage
    assert [leftover.key for leftover in collected if leftover.kind == "upload"] == [
        "db/d/t/data/A.zion"
    ] * 2
    assert len(bucket.uploads()) == 4
    assert table.gc(grace="0s").garbage == collected
    assert sorted(bucket.uploads()) == [f"{bucket.prefix}{name}" for name in others]


def test_lines_of_log_files(backend: Backend, tmp_path: Path) -> None:
    url.store_of(backend.root).make_folder(backend.root)
    if backend.root.startswith("mem"):
        pytest.skip("patterns are those of disks and S3")
    db = sdb.connect(backend.root)
    db.create("d.t", pattern_of(backend))
    log = tmp_path / "app.log"

    def take(_: int) -> None:
        target = LineTarget(db.root, TableKeys("d", "t"), partition=None)
        feed = LineFeed(target, threading.Event(), lambda _: None, Streamed())
        follow_logs(feed, LogFiles(LogNames([str(log)]), BatchBounds(0.1), is_once=True))

    for number in range(0, 40, 10):
        with log.open("a") as file:
            file.writelines(f'{{"n": {n}}}\n' for n in range(number, number + 10))
        with ThreadPoolExecutor(2) as pool:  # two programs by mistake
            list(pool.map(take, range(2)))
        log.rename(tmp_path / f"app.log.{number + 1}")
    rows = db.table("d.t").to_arrow().column("n").to_pylist()
    assert sorted(rows) == list(range(40))
    assert db.table("d.t").validate().ok
