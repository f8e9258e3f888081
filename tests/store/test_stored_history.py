"""The history of tables in every store, and the requests that it takes on S3."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING

import pytest

import sdb
from sdb.store import url
from sdb.table.history.diff import compare, different_rows

if TYPE_CHECKING:
    from sdb.client.connection import Connection
    from tests.store.conftest import Backend, Requests, S3Backend

KEY = base64.b64encode(bytes(range(32))).decode()


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SNELLER_INDEX_KEY", KEY)


def filled(backend: Backend, name: str = "d.t") -> Connection:
    """Make a table of four versions: version k has 1 + ... + k rows."""
    url.store_of(backend.root).make_folder(backend.root)
    db = sdb.connect(backend.root)
    is_remote = url.store_of(backend.root).is_remote
    db.create(name, "s3://b/in/*.json" if is_remote else "file://in/*", allow_inputs="s3://b")
    for number in range(1, 5):
        db.append(name, [{"n": n, "v": number} for n in range(number)])
    return db


def test_history_is_the_same_in_every_store(backend: Backend) -> None:
    db = filled(backend)
    table = db.table("d.t")
    assert [table.at(number).describe().facts.rows for number in range(1, 5)] == [1, 3, 6, 10]
    text = "SELECT COUNT(*) AS n FROM d.t@2 ++ d.t@-1"
    with db.sql(text) as result:
        assert list(result) == [{"n": 9}]
    assert [past.version for past in table.log()] == [4, 3, 2, 1]
    difference = compare(table.at(3).handle, table.handle)
    assert [sign for sign, _ in different_rows(difference)] == ["+"] * 4
    assert table.restore(2).version == 5
    assert table.to_arrow().num_rows == 3
    assert table.at(4).to_arrow().num_rows == 10
    assert table.validate().ok


@pytest.mark.s3
def test_requests_for_a_version(bucket: S3Backend, requests: Requests) -> None:
    db = filled(bucket)
    for reference in (1, -2, "@main"):
        requests.clear()
        db.table(f"d.t@{reference}" if isinstance(reference, int) else "d.t@main")
        assert requests.count() <= 3, (reference, requests.sent)
    requests.clear()
    assert len(list(db.table("d.t").log())) == 4
    assert requests.count() == 4, requests.sent


@pytest.mark.s3
def test_a_tag_is_one_put_of_the_index(bucket: S3Backend, requests: Requests) -> None:
    """And a branch one more: its own index."""
    table = filled(bucket).table("d.t")
    for work, puts in [
        (lambda: table.tag("v1"), 1),
        (lambda: table.tag("v2", 2), 1),
        (lambda: table.branch("b"), 2),
        (lambda: table.delete_tag("v1"), 1),
    ]:
        requests.clear()
        work()
        written = [size for name, size in requests.sent if name == "PutObject" and size]
        assert len(written) == puts, requests.sent  # besides the lock of a store that needs one
        # One more after a branch was begun: whether its version was kept until then.
        assert requests.count("GetObject") <= 3 + puts, requests.sent


def test_branches_and_forks_are_the_same_in_every_store(backend: Backend) -> None:
    db = filled(backend, "e.t")
    table = db.table("e.t")
    table.tag("v1", 1)
    table.branch("x")
    db.append("e.t@x", [{"n": 50, "v": 9}])
    db.append("e.t", [{"n": 60, "v": 9}])
    assert [table.at(name).to_arrow().num_rows for name in ("v1", "x", "main")] == [1, 11, 11]
    assert len(table.merge("x").added) == 1
    assert table.to_arrow().num_rows == 12
    assert table.at("x@-1").to_arrow().num_rows == 10
    assert [ref.name for ref in table.refs()] == ["main", "x", "v1"]
    table.delete_tag("v1")
    table.delete_branch("x")
    assert [ref.name for ref in table.refs()] == ["main"]
    done = table.at(2).fork("e.f")
    assert (done.sent, db.table("e.f").to_arrow().num_rows) == (2, 3)
    assert db.table("e.f").validate().ok
    assert table.fork("e.g", share=True).sent == 0
    db.execute("UPDATE e.g SET v = 0 WHERE v = 1")
    assert db.table("e.g").to_arrow().num_rows == table.to_arrow().num_rows == 12
    assert db.table("e.g").validate().ok
    assert len(table.refs()) == 2
    if backend.root.startswith("mem"):
        return  # it has one root
    other = backend.at("other")
    url.store_of(other).make_folder(other)
    assert table.at(3).push(other).sent == 3
    assert table.push(other).sent == 3
    assert sdb.connect(other).table("e.t").to_arrow().num_rows == 12
    assert sdb.connect(other).table("e.t").validate().ok
