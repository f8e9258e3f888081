"""Syncs from every store: rows are those of the version of an input that the table records."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

import sdb
from sdb.errors import SdbWarning
from sdb.store.url import store_of
from sdb.table.catalog.root import table_root
from sdb.table.definition.cache import read_definition
from sdb.table.format.keys import TableKeys
from sdb.table.sync.plan import plan_sync
from sdb.table.sync.sync import sync_table, take

if TYPE_CHECKING:
    from tests.store.conftest import Backend

KEYS = TableKeys("d", "t")
IN_STORES = pytest.mark.parametrize(
    "backend", ["local", pytest.param("s3", marks=pytest.mark.s3)], indirect=True
)


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SNELLER_INDEX_KEY", "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=")


def rows(backend: Backend) -> list[int]:
    actual = sdb.connect(backend.root).sql("SELECT n FROM d.t").to_arrow().to_pylist()
    return sorted(row["n"] for row in actual)


def put(backend: Backend, name: str, *numbers: int) -> None:
    backend.put(name, "".join(f"{json.dumps({'n': number})}\n" for number in numbers).encode())


def create(backend: Backend) -> None:
    store_of(backend.root).make_folder(backend.at("in"))
    above = backend.root if "://" in backend.root else "file:/"
    sdb.connect(backend.root).create("d.t", f"{above}/in/*.json")


@IN_STORES
def test_what_changes_between_listing_and_reading_is_left(backend: Backend) -> None:
    create(backend)
    for number in range(3):
        put(backend, f"in/{number}.json", number)
    root = table_root(backend.root)
    definition = read_definition(root, KEYS)
    plan = plan_sync(root, definition, {})
    put(backend, "in/1.json", 10, 11)
    with pytest.warns(SdbWarning, match=r"in/1\.json: changes while it is read; the next sync"):
        synced = take(root, KEYS, definition, plan)
    assert [item.rpartition("/")[2] for item in synced.taken] == ["0.json", "2.json"]
    assert (synced.rejected, rows(backend)) == ((), [0, 2])
    again = sync_table(root, "d", "t")
    assert [item.rpartition("/")[2] for item in again.taken] == ["1.json"]
    assert rows(backend) == [0, 2, 10, 11]
    last = sync_table(root, "d", "t")
    assert (last.version, last.changed, last.vanished) == (None, (), ())
