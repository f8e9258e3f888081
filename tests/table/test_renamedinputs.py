"""Inputs that were renamed after they were taken: their rows are in the table once."""

from __future__ import annotations

import json
import os
import shutil
import time
from typing import TYPE_CHECKING, Any

import pytest

import sdb
from sdb.table.catalog.root import table_root
from sdb.table.feed.folders import follow
from sdb.table.sync.result import Synced
from sdb.table.sync.sync import sync_table

if TYPE_CHECKING:
    from pathlib import Path

A, B = "file://in/a.tmp.json", "file://in/a.json"


def put(lake: Path, name: str, *numbers: int, age: float = 100) -> None:
    path = lake / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f'{{"n": {number}}}\n' for number in numbers))
    os.utime(path, (time.time() - age,) * 2)


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    """A table that has taken an input, which has another name since."""
    sdb.connect(tmp_path).create("d.t", "in/*.json")
    put(tmp_path, "in/a.tmp.json", 1, 2)
    assert synced(tmp_path).taken == (A,)
    (tmp_path / "in/a.tmp.json").rename(tmp_path / "in/a.json")
    return tmp_path


def synced(lake: Path, **options: Any) -> Synced:
    return sync_table(table_root(lake), "d", "t", **options)


def numbers(lake: Path) -> list[int]:
    actual = sdb.connect(lake).sql("SELECT n FROM d.t").to_arrow().to_pylist()
    return sorted(row["n"] for row in actual)


def test_a_renamed_input_is_told_once_and_not_taken_twice(lake: Path) -> None:
    assert synced(lake, dry_run=True).renamed == ((B, A),)
    actual = synced(lake)
    assert (actual.version, actual.taken, actual.rejected, actual.vanished) == (2, (), (), ())
    assert actual.renamed == ((B, A),)
    for options in ({}, {"retry": True}, {"vanished": "delete"}, {"changed": "replace"}):
        actual = synced(lake, **options)
        assert (actual.version, actual.renamed, actual.vanished) == (None, (), ()), options
    assert numbers(lake) == [1, 2]
    states = [(entry.path, entry.state.value) for entry in sdb.connect(lake).table("d.t").inputs()]
    assert states == [(B, "failed"), (A, "taken")]
    (lake / "in/a.json").rename(lake / "in/b.json")
    assert synced(lake).renamed == (("file://in/b.json", A),)
    assert sdb.connect(lake).table("d.t").validate().ok
    (lake / "in/b.json").unlink()
    assert synced(lake).vanished == (A,)
    assert synced(lake, vanished="delete").deleted == (A,)
    assert numbers(lake) == []


def test_a_renamed_input_that_changes_has_changed(lake: Path) -> None:
    synced(lake)
    put(lake, "in/a.json", 1, 2, 3)
    actual = synced(lake)
    assert (actual.version, actual.taken, actual.changed) == (None, (), (B,))
    assert numbers(lake) == [1, 2]
    (lake / "in/a.json").write_text("[")
    assert [entry.uri for entry in synced(lake, changed="replace").rejected] == [B]
    assert numbers(lake) == [1, 2], "what cannot be read keeps its old rows"
    put(lake, "in/a.json", 4)
    actual = synced(lake, changed="replace")
    assert (actual.taken, actual.replaced, actual.rows_removed) == ((B,), (B,), 2)
    assert numbers(lake) == [4]
    assert synced(lake).version is None


def test_the_rows_of_a_renamed_input_stay_when_its_old_name_is_used_again(
    lake: Path,
) -> None:
    synced(lake)
    put(lake, "in/a.tmp.json", 5)
    assert synced(lake).changed == (A,)
    with pytest.warns(sdb.errors.SdbWarning, match="its rows are those of file://in/a.json, too"):
        actual = synced(lake, changed="replace")
    assert (actual.changed, numbers(lake)) == ((A,), [1, 2])
    (lake / "in/a.tmp.json").rename(lake / "in/b.json")
    assert synced(lake).taken == ("file://in/b.json",)
    assert numbers(lake) == [1, 2, 5]


def test_distinct_inputs_of_the_same_content_are_all_taken(lake: Path) -> None:
    shutil.copy2(lake / "in/a.json", lake / "in/b.json")
    actual = synced(lake)
    assert (actual.renamed, actual.taken) == (((B, A),), ("file://in/b.json",))
    put(lake, "in/new.json", 1, 2, age=-1)
    assert synced(lake).taken == ("file://in/new.json",)
    (lake / "in/b.json").unlink()
    put(lake, "in/later.json", 1, 2, age=-1)
    assert synced(lake).taken == ("file://in/later.json",), "it was written after b was taken"
    assert numbers(lake) == [1, 1, 1, 1, 2, 2, 2, 2]


def test_what_would_be_read_otherwise_is_no_other_name(tmp_path: Path) -> None:
    inputs = [{"pattern": f"file://in/{{day}}/*.{ending}"} for ending in ("json", "csv")]
    path = tmp_path / "db/d/t/definition.json"
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps({"input": inputs, "partitions": [{"field": "day"}]}))
    put(tmp_path, "in/1/a.json", 1)
    synced(tmp_path)
    (tmp_path / "in/2").mkdir()
    (tmp_path / "in/1/a.json").rename(tmp_path / "in/2/a.json")
    assert synced(tmp_path).taken == ("file://in/2/a.json",)
    (tmp_path / "in/2/a.json").rename(tmp_path / "in/2/a.csv")
    assert synced(tmp_path).taken == ("file://in/2/a.csv",)


@pytest.mark.parametrize("is_small", [True, False])
def test_who_follows_knows_renamed_inputs_too(
    lake: Path, monkeypatch: pytest.MonkeyPatch, is_small: bool
) -> None:
    from threading import Event

    from sdb.table.feed import tables

    monkeypatch.setattr(tables, "_FEW_NODES", 8 if is_small else -1)
    reports: list[Any] = []
    stop = Event()

    def tell(event: object) -> None:
        reports.append(event)
        if isinstance(event, Synced) and event.taken:
            stop.set()
        elif isinstance(event, Synced) and event.renamed:
            put(lake, "in/a.json", 7)
        elif isinstance(event, Synced):
            put(lake, "in/z.json", 8)

    seconds = {"interval_seconds": 0.1, "settle_seconds": 0.1}
    follow(tables.FeedTables(table_root(lake), "d"), stop, tell, **seconds)
    assert [(item.renamed, item.changed, item.taken) for item in reports] == [
        (((B, A),), (), ()),
        ((), (B,), ()),
        ((), (), ("file://in/z.json",)),
    ]
    assert numbers(lake) == [1, 2, 8]
    reports.clear()
    stop.clear()
    replacing = tables.FeedTables(table_root(lake), "d", changed="replace")
    follow(replacing, stop, tell, **seconds)
    assert [(item.replaced, item.deleted) for item in reports] == [((B,), (A,))]
    assert numbers(lake) == [7, 8]
