"""Listings in which a sync found nothing to do: whatever decides is looked at again."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

import sdb
from sdb.table.catalog.root import table_root
from sdb.table.format.inputtree import InputsTree
from sdb.table.sync.sync import sync_table

if TYPE_CHECKING:
    from pathlib import Path

    from sdb.table.sync.result import Synced

OLD_S = 1_700_000_000


def put(lake: Path, name: str, text: str, at_s: int = OLD_S) -> None:
    path = lake / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    os.utime(path, (at_s, at_s))


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    """A table that has all of its inputs, and was synced once more."""
    sdb.connect(tmp_path).create("d.t", "in/*/*.json")
    for number in range(3):
        put(tmp_path, f"in/a{number % 2}/{number}.json", f'{{"a": {number}}}')
    assert synced(tmp_path).version == 1
    assert synced(tmp_path).version is None
    return tmp_path


def synced(lake: Path, **options: bool) -> Synced:
    return sync_table(table_root(lake), "d", "t", **options)  # type: ignore[arg-type]


def test_a_listing_that_is_the_same_is_compared_with_nothing(
    lake: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def walk(tree: InputsTree) -> None:
        raise AssertionError(tree)

    monkeypatch.setattr(InputsTree, "walk", walk)
    actual = synced(lake)
    assert (actual.version, actual.taken, actual.changed, actual.vanished) == (None, (), (), ())
    with pytest.raises(AssertionError):
        synced(lake, retry=True)


def test_whatever_is_different_is_found(lake: Path) -> None:
    put(lake, "in/a1/9.json", '{"a": 9}')
    assert synced(lake).taken == ("file://in/a1/9.json",)
    assert synced(lake).version is None
    put(lake, "in/a0/0.json", '{"a": 5}', OLD_S + 1)
    assert synced(lake).changed == ("file://in/a0/0.json",)
    assert synced(lake).changed == ("file://in/a0/0.json",)
    (lake / "in/a1/1.json").unlink()
    assert synced(lake).vanished == ("file://in/a1/1.json",)
    assert synced(lake).vanished == ("file://in/a1/1.json",)


def test_what_the_table_knows_and_takes_counts_too(lake: Path) -> None:
    table = sdb.connect(lake).table("d.t")
    put(lake, "in/a1/9.json", '{"a": 9}')
    assert synced(lake).version == 2
    assert synced(lake).version is None
    table.restore(1)
    assert synced(lake).taken == ("file://in/a1/9.json",)
    put(lake, "more/x.json", '{"a": 7}')
    definition = lake / "db/d/t/definition.json"
    definition.write_text(definition.read_text().replace("in/*/*.json", "*/*.json"))
    assert synced(lake).taken == ("file://more/x.json",)


def test_young_inputs_are_looked_at_again(tmp_path: Path) -> None:
    """They may be written again, just as large and at the same time."""
    sdb.connect(tmp_path).create("d.t", "in/*/*.json")
    path = tmp_path / "in/a/1.json"
    path.parent.mkdir(parents=True)
    path.write_text('{"a": 1}')
    at_ns = path.stat().st_mtime_ns
    assert synced(tmp_path).version == 1
    assert synced(tmp_path).version is None
    path.write_text('{"a": 2}')
    os.utime(path, ns=(at_ns, at_ns))
    assert synced(tmp_path).changed == ("file://in/a/1.json",)
