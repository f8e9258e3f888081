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
from sdb.store import url as stores
from sdb.store.s3 import client as s3
from sdb.table.commit.commit import find_commit
from sdb.table.format.keys import TableKeys
from sdb.table.insert.insert import insert
from sdb.table.sync.follow import follow
from sdb.table.sync.follower import Trouble
from sdb.table.sync.result import Synced
from tests.store.conftest import BUCKET

if TYPE_CHECKING:
    from tests.store.conftest import Place, Requests, S3Place

KEY = base64.b64encode(bytes(range(32))).decode()


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SNELLER_INDEX_KEY", KEY)


def pattern_of(place: Place) -> str:
    scheme = "file://" if not stores.store_of(place.root).is_remote else f"{place.root}/"
    return f"{scheme}in/*.json"


def test_many_inserts_at_the_same_time(place: Place) -> None:
    stores.store_of(place.root).make(place.root)
    db = sdb.connect(place.root)
    if place.root.startswith("mem"):
        pytest.skip("patterns are those of disks and S3")
    db.create("d.t", pattern_of(place))

    def write(writer: int) -> None:
        for number in range(5):
            rows = [{"writer": writer, "number": number}]
            # As programs of their own: threads that append share commits.
            assert insert(db.root, "d", "t", rows, txn_id=f"{writer}-{number}").is_new
            assert not db.append("d.t", rows, txn_id=f"{writer}-{number}").is_new

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(write, range(4)))
    table = db.table("d.t")
    found = table.to_arrow().to_pylist()
    assert sorted((one["writer"], one["number"]) for one in found) == [
        (writer, number) for writer in range(4) for number in range(5)
    ]
    assert table.handle.state is not None
    assert table.handle.state.version == 20
    assert find_commit(table.handle.root, TableKeys("d", "t"), "3-4") is not None
    assert table.validate().ok


def test_syncs_take_what_a_pattern_finds(place: Place) -> None:
    if place.root.startswith("mem"):
        pytest.skip("patterns are those of disks and S3")
    for number in range(3):
        stores.store_of(place.root).make(place.at("in"))
        place.put(f"in/{number}.json", json.dumps({"a": number}).encode())
    place.put("in/bad.json", b"{")
    db = sdb.connect(place.root)
    db.create("d.t", pattern_of(place))
    first = db.sync("d.t")
    assert (first.rows, len(first.taken), len(first.rejected)) == (3, 3, 1)
    table = db.table("d.t")
    assert table.sync().version is None
    place.put("in/9.json", b'{"a": 9}')
    assert table.sync().rows == 1
    assert sorted(table.to_arrow()["a"].to_pylist()) == [0, 1, 2, 9]
    states = [one.state.value for one in table.inputs(check=True)]
    assert states == ["taken"] * 4 + ["failed"]
    assert table.validate().ok


def test_an_insert_takes_few_requests(bucket: S3Place, requests: Requests) -> None:
    db = sdb.connect(bucket.root)
    db.create("d.t", f"{bucket.root}/in/*.json")
    db.append("d.t", [{"a": 1}])
    requests.clear()
    db.append("d.t", [{"a": 2}])
    # Packfile, version, index; and a lock for the index, on a server that lets conditions race.
    assert requests.count("PutObject") in {3, 4}
    assert requests.count("GetObject") == 1  # the index


def test_without_a_key_nothing_is_written_to_s3(
    bucket: S3Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SNELLER_INDEX_KEY")
    db = sdb.connect(bucket.root)
    db.create("d.t", f"{bucket.root}/in/*.json")
    with pytest.raises(UsageError, match="no key to sign"):
        db.append("d.t", [{"a": 1}])
    with pytest.raises(UsageError, match="no key to sign"):
        db.sync("d.t")
    assert [name for name in bucket.names() if "data" in name] == []


def test_inputs_are_taken_as_they_appear(place: Place) -> None:
    if place.root.startswith("mem"):
        pytest.skip("patterns are those of disks and S3")
    stores.store_of(place.root).make(place.at("in"))
    db = sdb.connect(place.root)
    db.create("d.t", pattern_of(place))
    place.put("in/0.json", b'{"n": 0}\n')
    stop, told = threading.Event(), []

    def tell(event: Synced | Trouble) -> None:
        told.append(event)
        number = sum(len(one.taken) for one in told if isinstance(one, Synced))
        if number == 4:
            stop.set()
        else:
            place.put(f"in/{number}.json", b'{"n": %d}\n' % number)
            place.put(f"in/bad{number}.json", b"{\n")

    follow(db.root, "d", stop=stop, tell=tell, interval_seconds=0.1)
    assert not any(isinstance(one, Trouble) for one in told)
    assert db.table("d.t").to_arrow().column("n").to_pylist() == [0, 1, 2, 3]
    assert db.table("d.t").validate().ok


def test_tables_are_compacted_and_collected(place: Place) -> None:
    if place.root.startswith("mem"):
        pytest.skip("patterns are those of disks and S3")
    stores.store_of(place.root).make(place.root)
    db = sdb.connect(place.root)
    db.create("d.t", pattern_of(place))
    for number in range(9):
        db.append("d.t", [{"n": number, "t": "2026-01-01T00:00:00Z"}])
    table = db.table("d.t")
    held = db.table("d.t")
    assert [len(run.parts) for run in table.compact().runs] == [9]
    table.expire(all_but_head=True)
    assert not table.gc().garbage
    assert sorted(held.to_arrow()["n"].to_pylist()) == list(range(9))
    told = table.gc(grace=-10, dry_run=True)
    done = table.gc(grace=-10)
    assert [one.key for one in told.garbage] == [one.key for one in done.garbage]
    kinds = [one.kind for one in done.garbage]
    assert (kinds.count("packfile"), kinds.count("version")) == (9, 9)
    assert sorted(table.to_arrow()["n"].to_pylist()) == list(range(9))
    assert table.validate().ok
    # The boundary is ten seconds ahead: what is written now may be collected, and is copied.
    assert db.append("d.t", [{"n": 9}]).is_new
    assert [one.kind for one in table.gc(dry_run=True).garbage] == ["packfile"]
    assert sorted(table.to_arrow()["n"].to_pylist()) == list(range(10))


def test_tables_are_clustered(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    if place.root.startswith("mem"):
        pytest.skip("patterns are those of disks and S3")
    monkeypatch.setattr(cluster, "BLOCK_BYTES", 2 << 20)
    stores.store_of(place.root).make(place.root)
    db = sdb.connect(place.root)
    db.create("d.t", pattern_of(place))
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
def test_open_uploads_of_killed_writers_are_collected(bucket: S3Place) -> None:
    db = sdb.connect(bucket.root)
    db.create("d.t", f"{bucket.root}/in/*.json")
    db.append("d.t", [{"a": 1}])
    others = ["db/d/t/mine.bin", "db/d/u/data/B.zion"]
    for name in ("db/d/t/data/A.zion", "db/d/t/data/A.zion", *others):
        key = f"{bucket.prefix}{name}"
        begun = s3.connect().create_multipart_upload(Bucket=BUCKET, Key=key)
        part = {"Bucket": BUCKET, "Key": key, "UploadId": begun["UploadId"]}
        s3.connect().upload_part(**part, PartNumber=1, Body=b"x" * 100)
    table = db.table("d.t")
    assert not [one for one in table.gc().garbage if one.kind == "upload"]
    told = table.gc(grace="0s", dry_run=True).garbage
    assert [one.key for one in told if one.kind == "upload"] == ["db/d/t/data/A.zion"] * 2
    assert len(bucket.uploads()) == 4
    assert table.gc(grace="0s").garbage == told
    assert sorted(bucket.uploads()) == [f"{bucket.prefix}{name}" for name in others]
