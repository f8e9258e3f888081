"""Purges in every store: no object has the rows any more."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING

import pytest

import sdb
from sdb.store import url as stores

if TYPE_CHECKING:
    from tests.store.conftest import Place

KEY = base64.b64encode(bytes(range(32))).decode()
CANARY = "canary-7d1f"


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SNELLER_INDEX_KEY", KEY)


def test_29_08_purge_in_every_store(place: Place) -> None:
    store = stores.store_of(place.root)
    store.make(place.root)
    db = sdb.connect(place.root)
    db.execute("CREATE TABLE p.t")
    for number in range(4):
        who = CANARY if number == 1 else f"user{number}"
        db.append("p.t", [{"n": number, "who": who}, {"n": number + 10, "who": "other"}])
    table = db.table("p.t")
    table.tag("report")
    table.branch("audit")
    found = table.purge("who = $who", params={"who": CANARY})
    assert found.ok, found
    assert [one.forgotten.tags for one in found.branches] == [(), ("report",)]
    assert sorted(table.to_arrow().column("n").to_pylist()) == [0, 2, 3, 10, 11, 12, 13]
    packfiles = [one for one in store.below(place.root) if one.name.endswith(".zion")]
    assert len(packfiles) == found.scanned
    rows = [row for one in packfiles for row in sdb.sql(f"SELECT * FROM '{one.location}'")]
    assert rows
    assert CANARY not in str(rows)
    assert table.purge("who = $who", params={"who": CANARY}).branches == ()
    assert table.validate().ok
    has_versions = any("bucket keeps them" in line for line in found.beyond)
    assert has_versions == store.is_remote
