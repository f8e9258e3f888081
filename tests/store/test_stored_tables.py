"""Tables in every store: read by the same code, and on S3 with few requests."""

from __future__ import annotations

import base64
import json
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

import sdb
from sdb.packfile.trailer.sparseindex import build_indices
from sdb.records import replace
from sdb.store import url
from sdb.table.commit.objects import ObjectWriter
from sdb.table.format import etags
from sdb.table.format.descriptor import Descriptor, joined_ranges, slim
from sdb.table.format.index import TableIndex
from sdb.table.format.inputtree import StoredInputs, TakenInput
from sdb.table.format.keys import TableKeys, new_uid
from sdb.table.format.manifests import IndirectTree, Writer
from sdb.table.format.signature import Keyring

if TYPE_CHECKING:
    from pathlib import Path

    from tests.store.conftest import Backend, Requests, S3Backend

DAYS = 4
KEYS = TableKeys("web", "logs")
KEY = base64.b64encode(bytes(range(32))).decode()


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SNELLER_INDEX_KEY", f"spare={KEY}")


def etag_of(location: str) -> str:
    with closing(url.open_read(location)) as reader:
        return reader.etag or etags.of_content([reader.read(0, reader.size_bytes)])


def fill(backend: Backend, folder: Path) -> None:
    """Make a table of a packfile for each day, of which two are told by a list."""
    store = url.store_of(backend.root)
    store.make_folder(backend.at(f"{KEYS.folder}/data"))
    store.make_folder(backend.at("in"))
    results, taken = [], []
    for day in range(1, DAYS + 1):
        source = folder / f"{day}.json"
        rows = [{"ts": f"2024-01-{day:02}T{hour:02}:00:00Z", "day": day} for hour in range(24)]
        source.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
        key = KEYS.content("", new_uid())
        sdb.pack([source], backend.at(key), constants={"half": (day - 1) // 2})
        with sdb.open(backend.at(key)) as pack:
            reported = slim(pack.trailer)
            results.append(Descriptor(key, etag_of(backend.at(key)), pack.size_bytes, reported))
        name = backend.put(f"in/{day}.json", source.read_bytes())
        uri = name if store.is_remote else f"file://in/{day}.json"
        taken.append(TakenInput(uri, etag_of(name), day - 1))

    def put(data: bytes) -> tuple[str, str, int | None]:
        key = KEYS.indirect(new_uid())
        return key, etag_of(backend.put(key, data)), None

    def fetch(key: str, etag: str) -> bytes:
        raise AssertionError((key, etag))

    moved = (results[0], results[1])
    tree, _ = IndirectTree().appended(moved, 2, Writer(fetch, put))
    tree = IndirectTree(tree.refs, build_indices([joined_ranges(moved)]))
    inputs = StoredInputs((), tuple(taken))
    index = TableIndex("logs", 1, inline=tuple(results[2:]), indirect=tree, inputs=inputs)
    keyring = Keyring.of_root(is_remote=store.is_remote)
    backend.put(KEYS.index, index.encode(keyring))


def test_tables_are_the_same_in_every_store(backend: Backend, tmp_path: Path) -> None:
    (tmp_path / "rows").mkdir()
    fill(backend, tmp_path / "rows")
    db = sdb.connect(backend.root)
    (facts,) = db.tables()
    assert (facts.name, facts.packfiles) == ("web.logs", DAYS)
    table = db.table("web.logs")
    assert table.describe().facts.rows == 24 * DAYS
    report = table.validate()
    assert (report.ok, report.rows, report.inputs) == (True, 24 * DAYS, DAYS)
    with db.sql("SELECT half, COUNT(*) AS n FROM web.logs GROUP BY half ORDER BY half") as result:
        assert list(result) == [{"half": 0, "n": 48}, {"half": 1, "n": 48}]
    with db.sql("SELECT MAX(day) AS d, COUNT(*) AS n FROM web.logs WHERE day <> 4") as result:
        assert list(result) == [{"d": 3, "n": 72}]
    with pytest.raises(sdb.errors.NotFoundError, match="no table"):
        db.sql("SELECT * FROM web.lugs")


def test_inputs_that_change_are_told(backend: Backend, tmp_path: Path) -> None:
    (tmp_path / "rows").mkdir()
    fill(backend, tmp_path / "rows")
    backend.put("in/1.json", b"{}")
    url.store_of(backend.root).delete(backend.at("in/2.json"))
    states = [entry.state.value for entry in sdb.connect(backend.root).table("web.logs").inputs()]
    assert states == ["taken"] * DAYS
    checked = sdb.connect(backend.root).table("web.logs").inputs(check=True)
    assert [entry.state.value for entry in checked] == ["changed", "vanished", "taken", "taken"]


@pytest.mark.s3
def test_requests_of_plans_and_queries(
    bucket: S3Backend, tmp_path: Path, requests: Requests
) -> None:
    fill(bucket, tmp_path)
    for text, most, answer in [
        # The index.
        ("SELECT COUNT(*) AS n FROM web.logs WHERE ts > `2025-01-01T00:00:00Z`", 1, 0),
        # And a list of packfiles.
        ("SELECT COUNT(*) AS n FROM web.logs", 2, 24 * DAYS),
        # The index and one packfile, whose block comes with the request that opens it.
        ("SELECT COUNT(*) AS n FROM web.logs WHERE ts > `2024-01-04T12:00:00Z`", 2, 11),
        ("SELECT SUM(day) AS n FROM web.logs WHERE half = 1", 4, 24 * 7),
    ]:
        requests.clear()
        with sdb.sql(text, root=bucket.root) as result:
            assert list(result) == [{"n": answer}]
        assert requests.count() == most, (text, requests.sent)


@pytest.mark.s3
def test_a_packfile_that_was_replaced_is_refused(bucket: S3Backend, tmp_path: Path) -> None:
    fill(bucket, tmp_path)
    (packed, *_) = [name for name in bucket.names() if "/data/" in name]
    data = bucket.get(packed)
    bucket.put(packed, data[:100] + bytes([data[100] ^ 1]) + data[101:])
    with pytest.raises(sdb.errors.CorruptError, match="ETag changed") as raised:
        list(sdb.sql("SELECT SUM(day) FROM web.logs", root=bucket.root))
    assert raised.value.path == packed
    report = sdb.connect(bucket.root).table("web.logs").validate()
    assert any(
        finding.key == packed and "etag changed" in finding.text for finding in report.findings
    )


@pytest.mark.s3
def test_without_a_key_a_warning_says_so(
    bucket: S3Backend, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(bucket, tmp_path)
    monkeypatch.delenv("SNELLER_INDEX_KEY")
    with pytest.warns(sdb.errors.SdbWarning, match="SNELLER_INDEX_KEY is not set"):
        assert list(sdb.sql("SELECT COUNT(*) AS n FROM web.logs", root=bucket.root))
    monkeypatch.setenv("SNELLER_INDEX_KEY", base64.b64encode(bytes(32)).decode())
    with pytest.raises(sdb.errors.CorruptError, match="bad index signature"):
        sdb.sql("SELECT COUNT(*) AS n FROM web.logs", root=bucket.root)


def test_packfiles_of_the_original_are_adopted_in_every_store(
    backend: Backend, tmp_path: Path
) -> None:
    """Those of its index, and those of its lists; what it deletes then nobody misses."""
    fill(backend, tmp_path)
    store = url.store_of(backend.root)
    table = sdb.connect(backend.root).table("web.logs").handle
    named = {}
    for descriptor in table.descriptors():
        key = KEYS.packfile("p", ".zion", new_uid())
        store.make_folder(backend.at(f"{KEYS.folder}/p"))
        with closing(url.open_read(backend.at(descriptor.key))) as reader:
            data = reader.read(0, reader.size_bytes)
        with store.create(backend.at(key)) as file:
            file.write(data)
        named[descriptor.key] = replace(descriptor, key=key, etag=etag_of(backend.at(key)))
        store.delete(backend.at(descriptor.key))
    lists = Writer(table.root.fetch, ObjectWriter(table.root, KEYS).indirect)
    refs = tuple(
        lists.write(tuple(named[descriptor.key] for descriptor in table.listed(ref)))
        for ref in table.index.indirect.refs
    )
    foreign = replace(
        table.index,
        inline=tuple(named[descriptor.key] for descriptor in table.index.inline),
        indirect=replace(table.index.indirect, refs=refs),
    )
    with store.create(backend.at(KEYS.index), overwrite=True) as file:
        file.write(foreign.encode(table.root.keyring))
    db = sdb.connect(backend.root)
    db.append("web.logs", [{"day": 9}])
    for descriptor in named.values():
        store.delete(backend.at(descriptor.key))
    with db.sql("SELECT COUNT(*) AS n FROM web.logs") as result:
        assert list(result) == [{"n": DAYS * 24 + 1}]
    keys = [descriptor.key for descriptor in db.table("web.logs").handle.descriptors()]
    assert [key.startswith(f"{KEYS.folder}/data/p/adopted-") for key in keys] == [True] * DAYS + [
        False
    ]
    assert db.table("web.logs").validate().ok
