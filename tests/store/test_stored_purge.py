"""Purges in every store: no object has the rows any more."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING

import pytest

import sdb
from sdb.store import url

if TYPE_CHECKING:
    from tests.store.conftest import Backend

KEY = base64.b64encode(bytes(range(32))).decode()
CANARY = "canary-7d1f"


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SNELLER_INDEX_KEY", KEY)


def test_purge_in_every_store(backend: Backend) -> None:
    store = url.store_of(backend.root)
    store.make_folder(backend.root)
    db = sdb.connect(backend.root)
    db.execute("CREATE TABLE p.t")
    for number in range(4):
        who = CANARY if number == 1 else f"user{number}"
        db.append("p.t", [{"n": number, "who": who}, {"n": number + 10, "who": "other"}])
    table = db.table("p.t")
    table.tag("report")
    table.branch("audit")
    purged = table.purge("who = $who", params={"who": CANARY})
    assert purged.ok, purged
    assert [item.forgotten.tags for item in purged.branches] == [(), ("report",)]
    assert sorted(table.to_arrow().column("n").to_pylist()) == [0, 2, 3, 10, 11, 12, 13]
    packfiles = [item for item in store.below(backend.root) if item.name.endswith(".zion")]
    assert len(packfiles) == purged.scanned
    rows = [row for item in packfiles for row in sdb.sql(f"SELECT * FROM '{item.location}'")]
    assert rows
    assert CANARY not in str(rows)
    assert table.purge("who = $who", params={"who": CANARY}).branches == ()
    assert table.validate().ok
    has_versions = any("bucket keeps them" in line for line in purged.beyond)
    assert has_versions == store.is_remote
