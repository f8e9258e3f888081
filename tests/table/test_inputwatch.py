from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sdb.store import url
from sdb.store.memory import MemoryStore
from sdb.table.feed import watch as inputwatch
from sdb.table.feed.watch import ANEW_SECONDS, InputWatch
from tests.amounts import usual

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
        actual = self._listed(ROOT)
        if ends:
            self.watch.end()
        return actual

    def _listed(self, folder: str) -> list[str]:
        actual = [item.location.removeprefix(f"{ROOT}/") for item in self.watch.list(folder)]
        for name in self.watch.folders(folder):
            actual += self._listed(f"{folder}/{name}")
        return actual


@pytest.fixture
def bucket(monkeypatch: pytest.MonkeyPatch) -> Iterator[Bucket]:
    made = Bucket()
    url.register("watched", made.store)
    monkeypatch.setattr(time, "time", lambda: made.seconds)
    yield made
    url.register("watched", None)


names = st.integers(0, 30).map(lambda number: f"{number:03}")
steps = st.one_of(
    st.tuples(st.just("put"), st.sampled_from(["", "a/", "b/", "c/x/"]), names),
    st.tuples(st.just("wait"), st.sampled_from([1.0, 40.0, 700.0]), st.just("")),
    st.tuples(st.just("round"), st.booleans(), st.just("")),
)


@settings(max_examples=usual(150), deadline=None)
@given(st.lists(steps, max_size=40), st.integers(1, 6), st.integers(1, 3))
def test_everything_is_listed_in_the_end(
    done: list[tuple[str, str | float | bool, str]], most: int, few: int
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(inputwatch, "MOST_ENTRIES", most)
        patch.setattr(inputwatch, "FEW_FOLDERS", few)
        bucket = Bucket()
        patch.setattr(time, "time", lambda: bucket.seconds)
        url.register("watched", bucket.store)
        seen: set[str] = set()
        for verb, what, name in done:
            if verb == "put":
                bucket.put(f"{what}{name}")
                bucket.seconds += 0.01
            elif verb == "wait":
                bucket.seconds += float(what)
            else:
                actual = bucket.round(ends=bool(what))
                assert len(actual) <= most
                seen |= set(actual) if what else set()
        for _ in range(2):  # a pass that has begun, and one anew
            bucket.seconds += ANEW_SECONDS
            seen |= set(bucket.round())
            while bucket.watch.has_more:
                seen |= set(bucket.round())
        assert seen == {key.removeprefix(f"{ROOT}/") for key in bucket.store.contents}
        url.register("watched", None)


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
        names = [item.name for item in watch.list(str(tmp_path))]
        watch.end()
        return names

    (tmp_path / "a").touch()
    assert listed() == ["a"]
    assert listed() == []
    (tmp_path / "b").touch()
    assert listed() == ["a", "b"]
    monkeypatch.setattr(inputwatch, "_SETTLED_NS", 10**18)
    (tmp_path / "c").touch()
    assert listed() == listed() == ["a", "b", "c"], "it may change without looking different"


class Folder:
    """A folder that is watched, with a clock of the watch."""

    def __init__(self, path: Path, settle_seconds: float) -> None:
        self.place, self.now = path, 0.0
        self._watch = InputWatch(lambda: self.now, settle_seconds=settle_seconds)

    def put(self, name: str, text: str, age: float = 0) -> None:
        (self.place / name).write_text(text)
        at = time.time() - age
        os.utime(self.place / name, (at, at))

    def listed(self, *, ends: bool = True) -> list[str]:
        self._watch.begin()
        names = [item.name for item in self._watch.list(str(self.place))]
        if ends:
            self._watch.end()
        return names


@pytest.mark.parametrize("is_settled", [True, False])
def test_files_are_given_when_they_stand_still(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_settled: bool
) -> None:
    monkeypatch.setattr(inputwatch, "_SETTLED_NS", -1 if is_settled else 10**18)
    folder = Folder(tmp_path, 100)
    folder.put("old", "a", 5000)  # but it came just now, as cp -p makes files
    folder.put("late", "a", -5000)
    assert folder.listed() == []
    folder.now += 99
    assert folder.listed() == []
    folder.put("old", "aa", 5000)
    folder.now += 2
    assert folder.listed() == ["late"]
    folder.now += 100
    again = [] if is_settled else ["late"]
    assert folder.listed(ends=False) == [*again, "old"]
    assert folder.listed() == [*again, "old"], "the round before has not ended"
    assert folder.listed() == ([] if is_settled else ["late", "old"])
    folder.put("late", "b", -5000)
    (tmp_path / "old").unlink()
    assert folder.listed() == []
    folder.now += 101
    assert folder.listed() == ["late"]


def test_many_young_files_are_listed_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inputwatch, "_SETTLED_NS", -1)
    monkeypatch.setattr(inputwatch, "MOST_YOUNG", 3)
    folder = Folder(tmp_path, 0)
    for name in "abcd":
        folder.put(name, "a")
    assert folder.listed() == folder.listed() == [*"abcd"]
    (tmp_path / "d").unlink()
    assert folder.listed() == [*"abc"]
    assert folder.listed() == []
    folder.put("b", "aa")
    assert folder.listed() == ["b"]


def test_files_that_do_not_stand_still_are_known_when_all_is_listed_anew(
    tmp_path: Path,
) -> None:
    folder = Folder(tmp_path, 1000)
    folder.put("late", "a", -5000)
    assert folder.listed() == []
    folder.now += ANEW_SECONDS + 1
    assert folder.listed() == []
    folder.now += ANEW_SECONDS + 1
    assert folder.listed() == ["late"]
