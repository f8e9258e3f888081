"""Splits: pieces of a table that other processes read, each row in one of them."""

from __future__ import annotations

import os
import pickle
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from datetime import UTC, datetime, timedelta
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import sdb
from sdb import notes
from sdb.errors import (
    ConflictError,
    CorruptError,
    InputError,
    QueryError,
    UnsupportedError,
    UsageError,
)
from sdb.query.rows import splits as splitting
from sdb.table.catalog.root import table_root

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sdb.client.connection import Connection

DAY = datetime(2026, 1, 1, tzinfo=UTC)


def made(number: int) -> dict[str, Any]:
    row: dict[str, Any] = {"id": number, "kind": f"k{number % 3}", "at": DAY + timedelta(number)}
    return row | ({"odd": str(number)} if number % 2 else {"odd": number})


@pytest.fixture
def db(tmp_path: Path) -> Connection:
    db = sdb.connect(tmp_path / "lake")
    db.execute("CREATE TABLE web.t")
    for first in range(0, 50, 10):
        db.append("web.t", [made(number) for number in range(first, first + 10)])
    return db


@pytest.fixture
def packed(tmp_path: Path) -> Path:
    """Write a packfile of many blocks."""
    rows = [{"id": number, "text": f"{number:08}" * 40} for number in range(20_000)]
    path = tmp_path / "many.zion"
    sdb.pack(rows, path, block_bytes=1 << 20)
    return path


def ids(splits: Iterable[sdb.Split]) -> list[int]:
    return [row["id"] for split in splits for row in split.rows(fields=["id"])]


@pytest.mark.parametrize(
    ("where", "wanted"),
    [
        (None, range(50)),
        ("kind = 'k1'", range(1, 50, 3)),
        ("at >= TIMESTAMP '2026-01-31'", range(30, 50)),
        ("odd IS NOT MISSING AND id < 15 -- a comment", range(15)),
        ("id IN ($a)", [7, 33]),
        ("id > 1000", []),
    ],
)
def test_each_row_is_in_one_split(db: Connection, where: str | None, wanted: Any) -> None:
    params = {"a": [7, 33]} if where and "$a" in where else None
    for size in (1, "2MiB", "1GiB"):
        splits = db.table("web.t").splits(size=size, where=where, params=params)
        assert ids(splits) == list(wanted)
        assert [split.number for split in splits] == list(range(len(splits)))
        assert all(split.table == "web.t@6" for split in splits)
        splits.release()
    assert len(db.table("web.t").splits(size=1)) == 5
    assert len(db.table("web.t").splits()) == 1


def test_blocks_are_pruned(db: Connection) -> None:
    splits = db.table("web.t").splits(size=1, where="at >= TIMESTAMP '2026-01-31'")
    assert len(splits) == 2


def test_blocks_of_one_packfile_are_in_several_splits(packed: Path) -> None:
    whole = sdb.splits(packed, size="100MiB")
    assert [len(split.parts) for split in whole] == [1]
    splits = sdb.splits(packed, size="2MiB")
    with sdb.open(packed) as packfile:
        blocks = len(packfile.blocks)
    assert len(splits) > 3
    spans = [interval for split in splits for part in split.parts for interval in part.intervals]
    numbers = [number for start, stop in spans for number in range(start, stop)]
    assert numbers == list(range(blocks))
    assert Counter(ids(splits)) == Counter(range(20_000))
    some = sdb.splits(packed, size=1, where="id >= 19000")
    assert len(some) < len(splits)
    assert ids(some) == list(range(19_000, 20_000))
    assert sum(split.size_bytes for split in splits) == whole[0].size_bytes


def read(split: sdb.Split) -> list[int]:
    return list(split.to_arrow(fields=["id"])["id"].to_pylist())


def test_other_processes_read_them(db: Connection, packed: Path) -> None:
    with (
        db.table("web.t").splits(size=1, where="kind <> 'k0'") as splits,
        ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool,
    ):
        listed = [*splits, *sdb.splits(packed, size="4MiB", where="id < 3000")]
        numbers = Counter(number for some in pool.map(read, listed) for number in some)
    assert numbers == Counter(number for number in range(50) if number % 3) + Counter(range(3000))


@pytest.mark.usefixtures("db")
def test_a_split_is_small_and_knows_where_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    splits = sdb.connect("lake").table("web.t").splits(size=1)
    monkeypatch.chdir("/")
    data = pickle.dumps(splits)
    assert len(data) < 20_000
    again = pickle.loads(data)  # noqa: S301 - it was written here
    assert ids(again) == list(range(50))
    assert repr(splits).startswith("<5 splits, ")
    assert isinstance(splits[1:3], tuple)


def test_a_schema_makes_all_splits_the_same(db: Connection) -> None:
    splits = db.table("web.t").splits(size=1)
    schema = pa.schema([("id", pa.int32()), ("kind", pa.string()), ("none", pa.float64())])
    tables = [split.to_arrow(schema=schema) for split in splits]
    assert pa.concat_tables(tables).schema == schema
    assert pa.concat_tables(tables)["id"].to_pylist() == list(range(50))
    with pytest.raises(InputError, match="kind is string here, and cannot be int64"):
        splits[0].to_arrow(schema=pa.schema([("kind", pa.int64())]))
    frame = splits[0].to_pandas(fields=["id"])
    assert list(frame["id"]) == list(range(10))


def test_partitions_and_versions(tmp_path: Path) -> None:
    from sdb.table.definition.definition import Definition

    db = sdb.connect(tmp_path)
    text = '{"input": [{"pattern": "file://in/{day}/*.json"}], "partitions": [{"field": "day"}]}'
    db.create("d.p", Definition.parse(text))
    db.append("d.p", [{"a": 1}], partition={"day": "mo"})
    db.append("d.p", [{"a": 2}], partition={"day": "tu"})
    splits = db.table("d.p").splits(size=1, where="day = 'tu'")
    assert [row for split in splits for row in split.rows()] == [{"day": "tu", "a": 2}]
    old = db.table("d.p").at(1).splits()
    db.execute("DELETE FROM d.p")
    assert [row for split in old for row in split.rows()] == [{"day": "mo", "a": 1}]
    assert old[0].table == "d.p@1"


def test_a_lease_keeps_the_packfiles(db: Connection) -> None:
    table = db.table("web.t")
    splits = table.splits(size=1)
    root = table_root(db.root.location)
    leases = [entry.location for entry in root.store.list(root.place("db/web/t/leases"))]
    assert len(leases) == 1
    db.execute("DELETE FROM web.t")
    db.table("web.t").expire(all_but_head=True)
    for path in Path(db.root.location).rglob("*"):
        if path.is_file() and "leases" not in path.parts:
            os.utime(path, (0, 0))
    assert "packfile" not in {garbage.kind for garbage in db.table("web.t").gc(grace=3600).garbage}
    assert ids(splits) == list(range(50))
    splits.release()
    assert root.store.list(root.place("db/web/t/leases")) == []
    assert "packfile" in {garbage.kind for garbage in db.table("web.t").gc(grace=3600).garbage}


def test_what_is_refused(db: Connection, packed: Path) -> None:
    table = db.table("web.t")
    with pytest.raises(UnsupportedError, match="no sub-queries"):
        table.splits(where="id IN (SELECT id FROM web.t)")
    with pytest.raises(QueryError):
        table.splits(where="id = ")
    with pytest.raises(QueryError, match="no value for the parameter"):
        table.splits(where="id = $n")
    for size in (0, "0", "1.5 parsecs"):
        with pytest.raises(UsageError):
            table.splits(size=size)
    with notes.collected() as warnings:
        assert ids(table.splits(where="nothing IS MISSING")) == list(range(50))
    assert any("nothing" in line for line in warnings)
    splits = sdb.splits(packed, size="4MiB")
    sdb.pack([{"id": 1}], packed, overwrite=True)
    with pytest.raises(ConflictError, match="has changed since it was split"):
        splits[0].to_arrow()


def test_a_packfile_that_is_gone_is_an_error(db: Connection) -> None:
    splits = db.table("web.t").splits(size=1)
    root = table_root(db.root.location)
    part = splits[0].parts[0]
    assert part.descriptor is not None
    root.store.delete(root.place(part.descriptor.key))
    with pytest.raises(CorruptError, match="missing"):
        list(splits[0].rows())


def test_splits_that_miss_a_block_are_seen(packed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The tests above would notice."""
    good = splitting._intervals
    monkeypatch.setattr(splitting, "_intervals", lambda numbers: good(numbers[1:] or numbers))
    assert Counter(ids(sdb.splits(packed, size="2MiB"))) != Counter(range(20_000))


def test_ray_reads_them(db: Connection) -> None:
    ray = pytest.importorskip("ray", reason="ray is 400 MB: the test runs where it is installed")
    ray.init(num_cpus=1, include_dashboard=False)
    try:
        task = ray.remote(read)
        listed = ray.get([task.remote(split) for split in db.table("web.t").splits(size=1)])
        assert Counter(number for some in listed for number in some) == Counter(range(50))
    finally:
        ray.shutdown()


def test_dask_reads_them(db: Connection) -> None:
    dask = pytest.importorskip("dask.dataframe", reason="dask is not installed")
    splits = list(db.table("web.t").splits(size=1))
    frame = dask.from_map(sdb.Split.to_pandas, splits, fields=["id", "kind"])
    assert frame["id"].sum().compute(scheduler="threads") == sum(range(50))
