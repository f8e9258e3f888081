from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sdb.store import url as stores
from sdb.store.memory import MemoryStore
from sdb.table import inputwatch
from sdb.table.inputwatch import ANEW_SECONDS, InputWatch

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from sdb.store.faults import StoreCall

ROOT = "watched://in"


class Bucket:
    """A store with a clock, and the names that were listed in its last round."""

    def __init__(self) -> None:
        self.seconds = 1_000_000.0
        self.listings: list[str] = []
        self.store = MemoryStore(self._heard, lambda: int(self.seconds * 1e6))
        self.watch = InputWatch(lambda: self.seconds)

    def _heard(self, call: StoreCall) -> None:
        if call.verb == "list":
            self.listings.append(call.location)

    def put(self, name: str) -> None:
        with self.store.create(f"{ROOT}/{name}", overwrite=True) as file:
            file.write(b"x")

    def round(self, *, ends: bool = True) -> list[str]:
        """List all folders; gives the objects."""
        self.watch.begin()
        self.listings.clear()
        found = self._listed(ROOT)
        if ends:
            self.watch.end()
        return found

    def _listed(self, folder: str) -> list[str]:
        found = [one.location.removeprefix(f"{ROOT}/") for one in self.watch.list(folder)]
        for name in self.watch.folders(folder):
            found += self._listed(f"{folder}/{name}")
        return found


@pytest.fixture
def bucket(monkeypatch: pytest.MonkeyPatch) -> Iterator[Bucket]:
    made = Bucket()
    stores.register("watched", made.store)
    monkeypatch.setattr(time, "time", lambda: made.seconds)
    yield made
    stores.register("watched", None)


names = st.integers(0, 30).map(lambda number: f"{number:03}")
steps = st.one_of(
    st.tuples(st.just("put"), st.sampled_from(["", "a/", "b/", "c/x/"]), names),
    st.tuples(st.just("wait"), st.sampled_from([1.0, 40.0, 700.0]), st.just("")),
    st.tuples(st.just("round"), st.booleans(), st.just("")),
)


@settings(max_examples=150, deadline=None)
@given(st.lists(steps, max_size=40), st.integers(1, 6), st.integers(1, 3))
def test_everything_is_listed_in_the_end(
    done: list[tuple[str, str | float | bool, str]], most: int, few: int
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(inputwatch, "MOST_ENTRIES", most)
        patch.setattr(inputwatch, "FEW_FOLDERS", few)
        bucket = Bucket()
        patch.setattr(time, "time", lambda: bucket.seconds)
        stores.register("watched", bucket.store)
        seen: set[str] = set()
        for verb, what, name in done:
            if verb == "put":
                bucket.put(f"{what}{name}")
                bucket.seconds += 0.01
            elif verb == "wait":
                bucket.seconds += float(what)
            else:
                found = bucket.round(ends=bool(what))
                assert len(found) <= most
                seen |= set(found) if what else set()
        for _ in range(2):  # a pass that has begun, and one anew
            bucket.seconds += ANEW_SECONDS
            seen |= set(bucket.round())
            while bucket.watch.has_more:
                seen |= set(bucket.round())
        assert seen == {one.removeprefix(f"{ROOT}/") for one in bucket.store.contents}
        stores.register("watched", None)


def test_ascending_names_are_listed_from_the_last_one_on(bucket: Bucket) -> None:
    for number in range(200):
        bucket.put(f"{number:04}")
        bucket.seconds += 10
    assert len(bucket.round()) == 200
    assert len(bucket.round()) < 10, "those beside the newest only"
    bucket.put("0200")
    assert "0200" in bucket.round()
    bucket.put("0003")  # a name in between, which nobody expects
    assert "0003" not in bucket.round()
    bucket.seconds += ANEW_SECONDS
    assert len(bucket.round()) == 201


def test_of_many_folders_those_with_news_are_listed(bucket: Bucket) -> None:
    for day in range(100):
        bucket.put(f"2026-{day:03}/a")
        bucket.seconds += 86_400
    assert len(bucket.round()) == 100
    bucket.round()
    assert len(bucket.listings) <= 4, "of the days only the newest"
    bucket.put("2026-100/a")
    assert "2026-100/a" in bucket.round()
    bucket.put("2026-100/b")
    assert "2026-100/b" in bucket.round()


def test_what_was_missed_is_listed_again_soon(bucket: Bucket) -> None:
    for number in range(50):
        bucket.put(f"{number:04}")
        bucket.seconds += 60
    bucket.watch.begin()
    bucket.watch.list(ROOT)
    bucket.watch.end(missed=True)
    assert len(bucket.round()) < 5
    bucket.seconds += 31
    assert len(bucket.round()) == 50


def test_local_folders_are_listed_when_they_change(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inputwatch, "_SETTLED_NS", -1)
    watch = InputWatch()

    def listed() -> list[str]:
        watch.begin()
        found = [one.name for one in watch.list(str(tmp_path))]
        watch.end()
        return found

    (tmp_path / "a").touch()
    assert listed() == ["a"]
    assert listed() == []
    (tmp_path / "b").touch()
    assert listed() == ["a", "b"]
    monkeypatch.setattr(inputwatch, "_SETTLED_NS", 10**18)
    (tmp_path / "c").touch()
    assert listed() == listed() == ["a", "b", "c"], "it may change without looking different"
