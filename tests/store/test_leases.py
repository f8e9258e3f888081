"""Leases on tables: collectors leave alone what somebody has been reading for long."""

from __future__ import annotations

import base64
import time
from typing import TYPE_CHECKING

import pytest

import sdb
from sdb.errors import AccessError, CorruptError
from sdb.store import url
from sdb.table.catalog import leases
from sdb.table.catalog.handle import open_table
from sdb.table.catalog.root import table_root
from sdb.table.commit.environment import REAL
from sdb.table.format.keys import TableKeys
from sdb.table.maintenance.gc import collect

if TYPE_CHECKING:
    from collections.abc import Callable

    from sdb.table.catalog.handle import TableHandle
    from tests.store.conftest import Backend

ROWS = [{"n": number} for number in range(10)]


@pytest.fixture
def handle(backend: Backend, monkeypatch: pytest.MonkeyPatch) -> TableHandle:
    """Return a table as it was before all of its rows were deleted, and its history expired."""
    if backend.root.startswith("mem"):
        pytest.skip("patterns are those of disks and S3")
    monkeypatch.setenv("SNELLER_INDEX_KEY", base64.b64encode(b"k" * 32).decode())
    url.store_of(backend.root).make_folder(backend.root)
    db = sdb.connect(backend.root)
    db.create("d.t", f"{backend.root}/in/*.json" if "://" in backend.root else "in/*.json")
    db.append("d.t", ROWS)
    opened = open_table(table_root(backend.root), "d", "t")
    db.execute("DELETE FROM d.t")
    db.table("d.t").expire(all_but_head=True)
    return opened


def collector(handle: TableHandle) -> Callable[..., list[str]]:
    """Return a function that collects what is not written from now on, and returns its kinds."""
    time.sleep(3.2)  # times of S3 have whole seconds, and there is a margin
    began_us = REAL.now_us()
    time.sleep(1.1)

    def collected(*, dry_run: bool) -> list[str]:
        grace_seconds = (REAL.now_us() - began_us) / 1_000_000
        actual = collect(
            handle.root, TableKeys("d", "t"), grace_seconds=grace_seconds, dry_run=dry_run
        )
        return sorted(leftover.kind for leftover in actual.garbage)

    return collected


def rows(handle: TableHandle) -> list[object]:
    text = "SELECT n FROM d.t"
    with sdb.sql(text, root=handle.root.location, tables={"d.t": handle}) as result:
        return list(result)


def test_what_is_read_under_a_lease_stays(handle: TableHandle) -> None:
    lease = leases.Lease(handle)
    lease.renew()
    collected = collector(handle)
    lease.renew()
    for dry_run in (True, False):
        assert "packfile" not in collected(dry_run=dry_run)
    assert rows(handle) == ROWS
    lease.release()
    assert handle.root.store.head(handle.root.place(lease.key)) is None
    assert collected(dry_run=True) == collected(dry_run=False) == ["packfile"]
    with pytest.raises(CorruptError, match="missing"):
        rows(handle)


def test_a_lease_that_nobody_renews_is_garbage(handle: TableHandle) -> None:
    leases.Lease(handle).renew()
    collected = collector(handle)
    actual = collected(dry_run=True)
    assert {"lease", "packfile"} <= set(actual)
    assert collected(dry_run=False) == actual


def test_a_damaged_lease_stops_the_collector(handle: TableHandle) -> None:
    lease = leases.Lease(handle)
    collected = collector(handle)
    path = handle.root.place(lease.key)
    handle.root.store.make_folder(path.rpartition("/")[0])
    with url.atomic_write(path) as file:
        file.write(handle.data[:-7])
    with pytest.raises(CorruptError, match=f"reading the lease {lease.key}"):
        collected(dry_run=False)
    assert rows(handle) == ROWS


def test_queries_hold_a_lease_when_they_take_long(
    handle: TableHandle, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(leases, "RENEWAL_SECONDS", 0.05)
    monkeypatch.setattr(leases, "_LOOK_SECONDS", 0.02)
    monkeypatch.setattr(leases, "_keepers", [])
    folder, store = handle.root.place("db/d/t/leases"), handle.root.store
    result = sdb.sql("SELECT n FROM d.t", root=handle.root.location, tables={"d.t": handle})
    wait_for(lambda: len(store.list(folder)) == 1)
    first = store.list(folder)[0].modified_us
    wait_for(lambda: store.list(folder)[0].modified_us > first)
    result.close()
    assert not store.list(folder)


def test_who_may_not_write_is_told_so_once(
    handle: TableHandle, monkeypatch: pytest.MonkeyPatch
) -> None:
    def create(*_: object, **__: object) -> None:
        raise AccessError("access denied")

    monkeypatch.setattr(type(handle.root.store), "create", create)
    lease = leases.Lease(handle)
    with pytest.warns(sdb.errors.SdbWarning, match="cannot write a lease for d.t.*tag the version"):
        lease.renew()
    lease.renew()
    lease.release()


def wait_for(holds: Callable[[], bool]) -> None:
    until = time.monotonic() + 30
    while not holds():
        assert time.monotonic() < until
        time.sleep(0.02)
