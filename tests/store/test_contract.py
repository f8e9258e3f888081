"""What every store must do; the same for files, for S3 and for simulations."""
# What fails is often the end of a block.
# ruff: noqa: PT012, SIM117

from __future__ import annotations

import random
import time
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from sdb import errors
from sdb.store import url as stores

if TYPE_CHECKING:
    from pathlib import Path

    from sdb.store.base import Reader
    from tests.store.conftest import Place, S3Place

MIB = 1 << 20
PART = 8 * MIB


def noise(count: int, seed: int = 1) -> bytes:
    return random.Random(seed).randbytes(count)


@pytest.mark.parametrize("size", [0, 1, PART - 1, PART, PART + 1, 3 * PART + 7])
def test_what_is_written_is_there(place: Place, size: int) -> None:
    data = noise(size)
    with stores.atomic_write(place.at("x")) as file:
        for start in range(0, size, 700_001):
            file.write(data[start : start + 700_001])
        assert place.names() == []
    assert place.get("x") == data
    assert (place.names(), place.uploads()) == (["x"], [])


@pytest.mark.parametrize("size", [10, 2 * PART])
@pytest.mark.parametrize("failure", [ValueError, KeyboardInterrupt, SystemExit, OSError])
def test_a_failure_leaves_what_was_there(
    place: Place, size: int, failure: type[BaseException]
) -> None:
    place.put("x", b"old")
    with (
        pytest.raises(failure) as caught,
        stores.atomic_write(place.at("x"), overwrite=True) as file,
    ):
        file.write(bytes(size))
        raise failure
    assert type(caught.value) is failure
    assert (place.get("x"), place.names(), place.uploads()) == (b"old", ["x"], [])


@pytest.mark.parametrize("size", [10, 2 * PART])
def test_existing_objects_are_kept_unless_told_otherwise(place: Place, size: int) -> None:
    place.put("x", b"old")
    with pytest.raises(errors.ExistsError):
        place.put("x", bytes(size), overwrite=False)
    place.put("x", bytes(size), overwrite=True)
    assert place.get("x") == bytes(size)


@pytest.mark.parametrize("size", [10, 2 * PART])
def test_an_object_that_appears_meanwhile_is_kept(place: Place, size: int) -> None:
    with pytest.raises(errors.ExistsError), stores.atomic_write(place.at("x")) as file:
        file.write(bytes(size))
        place.put("x", b"theirs")
    assert (place.get("x"), place.names(), place.uploads()) == (b"theirs", ["x"], [])


def test_ranges_are_read_whole(place: Place) -> None:
    data = noise(3 * MIB)
    place.put("x", data)
    with closing(stores.open_read(place.at("x"))) as reader:
        assert (reader.size_bytes, reader.path) == (len(data), place.at("x"))
        for start, stop in [
            (0, 1),
            (5, 5),
            (MIB, 3 * MIB),
            (0, len(data)),
            (len(data) - 9, len(data)),
        ]:
            assert reader.read(start, stop) == data[start:stop]
        with pytest.raises(errors.CorruptError, match="ends at byte"):
            reader.read(5, len(data) + 1)
        assert b"".join(reader.pieces(0, len(data))) == data
    reader.close()


@pytest.mark.parametrize("head_bytes", [0, 10, 5000])
@pytest.mark.parametrize("size", [0, 1, 4000])
def test_small_objects_open_at_either_end(place: Place, size: int, head_bytes: int) -> None:
    place.put("x", noise(size))
    with closing(stores.open_read(place.at("x"), head_bytes=head_bytes)) as reader:
        assert reader.size_bytes == size
        assert reader.read(0, size) == noise(size)
        with closing(reader.reopen()) as again:
            assert b"".join(again.pieces(0, size)) == noise(size)


@pytest.mark.parametrize("start", [0, 7, 3999, 4000, 9000])
def test_objects_open_in_the_middle(place: Place, start: int) -> None:
    place.put("x", noise(4000))
    with closing(stores.open_read(place.at("x"), head_bytes=100, start=start)) as reader:
        assert reader.size_bytes == 4000
        for first, last in [(start, start + 100), (0, 4000), (3990, 4000), (5, 9)]:
            if last <= 4000:
                assert reader.read(first, last) == noise(4000)[first:last]
                assert b"".join(reader.pieces(first, last)) == noise(4000)[first:last]


def test_what_is_not_there(place: Place) -> None:
    with pytest.raises(errors.NotFoundError):
        stores.open_read(place.at("none"))


KEPT = [0, 1, 5 * MIB - 1, 5 * MIB, 12 * MIB]
TAIL = [0, 3, PART + 1]


@pytest.mark.parametrize("tail", TAIL)
@pytest.mark.parametrize("kept", KEPT)
def test_an_object_grows_in_place(place: Place, kept: int, tail: int) -> None:
    old, new = noise(12 * MIB), noise(tail, 2)
    place.put("x", old)
    with closing(stores.open_read(place.at("x"))) as source:
        with stores.grow(source, kept, place.at("x")) as draft:
            draft.write(new)
            assert place.get("x") == old
        assert draft.copied_bytes + draft.written_bytes == kept + tail
    assert place.get("x") == old[:kept] + new
    assert (place.names(), place.uploads()) == (["x"], [])


@pytest.mark.parametrize("kept", [3, 6 * MIB])
def test_someone_else_was_faster(place: Place, kept: int) -> None:
    place.put("x", noise(7 * MIB))
    with closing(stores.open_read(place.at("x"))) as source:
        with pytest.raises(errors.ConflictError), stores.grow(source, kept, place.at("x")) as draft:
            draft.write(b"mine")
            place.put("x", b"theirs")
    assert (place.get("x"), place.names(), place.uploads()) == (b"theirs", ["x"], [])


@pytest.mark.parametrize("kept", [3, 6 * MIB])
def test_the_object_was_removed(place: Place, kept: int) -> None:
    place.put("x", noise(7 * MIB))
    with closing(stores.open_read(place.at("x"))) as source:
        with (
            pytest.raises((errors.ConflictError, errors.NotFoundError)),
            stores.grow(source, kept, place.at("x")) as draft,
        ):
            draft.write(b"mine")
            remove(place, "x")
    assert (place.names(), place.uploads()) == ([], [])


def remove(place: Place, name: str) -> None:
    stores.store_of(place.root).delete(place.at(name))


@pytest.mark.parametrize("failure", [ValueError, KeyboardInterrupt])
@pytest.mark.parametrize("kept", [3, 6 * MIB])
def test_a_failure_while_growing(place: Place, kept: int, failure: type[BaseException]) -> None:
    old = noise(7 * MIB)
    place.put("x", old)
    with closing(stores.open_read(place.at("x"))) as source:
        with pytest.raises(failure), stores.grow(source, kept, place.at("x")) as draft:
            draft.write(bytes(2 * PART))
            raise failure
    assert (place.get("x"), place.names(), place.uploads()) == (old, ["x"], [])


@pytest.mark.parametrize("kept", [3, 6 * MIB])
def test_growing_elsewhere(place: Place, kept: int) -> None:
    old = noise(7 * MIB)
    place.put("x", old)
    place.put("z", b"other")
    with closing(stores.open_read(place.at("x"))) as source:
        with stores.grow(source, kept, place.at("y")) as draft:
            draft.write(b"new")
        with pytest.raises(errors.ExistsError), stores.grow(source, kept, place.at("z")) as draft:
            draft.write(b"new")
        assert place.get("z") == b"other"
        with stores.grow(source, kept, place.at("z"), overwrite=True) as draft:
            draft.write(b"new")
    assert place.get("y") == place.get("z") == old[:kept] + b"new"
    assert (place.get("x"), place.uploads()) == (old, [])


@pytest.mark.s3
@pytest.mark.parametrize("kept", [3, 6 * MIB])
def test_growing_from_one_store_into_the_other(bucket: S3Place, tmp_path: Path, kept: int) -> None:
    old = noise(7 * MIB)
    (tmp_path / "x").write_bytes(old)
    with (
        closing(stores.open_read(tmp_path / "x")) as source,
        stores.grow(source, kept, bucket.at("x")) as draft,
    ):
        draft.write(b"new")
    assert draft.kept_by == "upload"
    assert bucket.get("x") == old[:kept] + b"new"
    with (
        closing(stores.open_read(bucket.at("x"))) as source,
        stores.grow(source, kept, tmp_path / "y") as draft,
    ):
        draft.write(b"er")
    assert (tmp_path / "y").read_bytes() == old[:kept] + b"er"


def test_nobody_waits_for_long(place: Place) -> None:
    place.put("x", b"")
    with stores.locked(place.at("x")):
        pass


def put_if(place: Place, data: bytes, replaced: Reader | None) -> None:
    """Take turns as every writer does who replaces what was read."""
    store = stores.store_of(place.root)
    if replaced is None:
        version = store.put_if(place.at("x"), data, None)
    else:
        with store.lock(place.at("x")):
            version = store.put_if(place.at("x"), data, replaced)
    assert version == store.version(place.at("x"))


def test_a_first_writer_wins(place: Place) -> None:
    put_if(place, b"first", None)
    with pytest.raises(errors.ConflictError):
        put_if(place, b"second", None)
    assert (place.get("x"), place.names()) == (b"first", ["x"])


def test_what_was_read_is_replaced_once(place: Place) -> None:
    place.put("x", b"old")
    with closing(stores.open_read(place.at("x"))) as one:
        with closing(stores.open_read(place.at("x"))) as other:
            put_if(place, b"new!", one)
            with pytest.raises(errors.ConflictError):
                put_if(place, b"newer", other)
    assert (place.get("x"), place.names(), place.uploads()) == (b"new!", ["x"], [])


def test_what_was_removed_is_not_replaced(place: Place) -> None:
    place.put("x", b"old")
    store = stores.store_of(place.root)
    with closing(stores.open_read(place.at("x"))) as reader:
        store.delete(place.at("x"))
        with pytest.raises((errors.ConflictError, errors.NotFoundError)):
            store.put_if(place.at("x"), b"new", reader)
    assert place.names() == []


def test_versions_tell_contents_apart(place: Place) -> None:
    store = stores.store_of(place.root)
    assert store.version(place.at("x")) is None
    place.put("x", b"old")
    with closing(store.open(place.at("x"))) as reader:
        first = reader.version
    assert store.version(place.at("x")) == first
    assert store.list(place.root)[0].version == first
    place.put("x", b"newer")
    assert store.version(place.at("x")) not in {first, None}


def test_all_that_is_below_a_folder_is_listed(place: Place) -> None:
    store = stores.store_of(place.root)
    assert list(store.below(place.at("none"))) == []
    for name in ("a", "f/b", "f/g/c", "f[1]/d", "fg/e"):
        store.make(place.at(name).rpartition("/")[0])
        place.put(name, name.encode())
    found = {one.location: one for one in store.below(place.root)}
    assert sorted(found) == [place.at(name) for name in ("a", "f/b", "f/g/c", "f[1]/d", "fg/e")]
    assert [one.location for one in store.below(place.at("f[1]/"))] == [place.at("f[1]/d")]
    assert {one.name for one in store.below(place.at("f"))} == {"b", "c"}
    seen = store.look(place.at("f/b"))
    listed = found[place.at("f/b")]
    assert seen is not None
    assert (seen.location, seen.size_bytes) == (listed.location, 3)
    assert seen.version == listed.version
    # Of the two the collector takes the later time, and a writer the earlier one.
    assert 0 <= listed.modified_us - seen.modified_us < 1_000_000
    assert abs(seen.modified_us / 1e6 - time.time()) < 60
    assert store.look(place.at("g")) is None


def test_listings_tell_what_is_there(place: Place) -> None:
    store = stores.store_of(place.root)
    assert store.list(place.at("none")) == store.find(place.at("none*")) == []
    store.make(place.at("deep/er"))
    began_us = time.time_ns() // 1000
    for name in ("b.gz", "a.gz", "deep/c.gz", "deep/er/d.gz", "a[b]"):
        place.put(name, name.encode())
    found = store.list(place.root + "/")
    assert [entry.name for entry in found] == ["a.gz", "a[b]", "b.gz"]
    assert [entry.size_bytes for entry in found] == [4, 4, 4]
    assert all(abs(entry.modified_us - began_us) < 60_000_000 for entry in found)
    assert store.list(place.root) == found
    assert store.list(place.root, after="a.gz") == found[1:]
    assert store.list(place.root, after="a.", most=2) == found[:2]
    assert store.list(place.root, after="b.gz") == store.list(place.root, most=0) == []
    assert [entry.location for entry in found] == [place.at(e.name) for e in found]
    assert store.folders(place.root) == store.folders(place.root + "/") == ["deep"]
    assert store.folders(place.at("deep")) == ["er"]
    assert store.folders(place.at("none")) == store.folders(place.at("deep/er")) == []
    for pattern, names in {
        "*.gz": ["a.gz", "b.gz"],
        "**/*.gz": ["a.gz", "b.gz", "deep/c.gz", "deep/er/d.gz"],
        "?.g[xyz]": ["a.gz", "b.gz"],
        "[!a].gz": ["b.gz"],
        "deep/*/d.gz": ["deep/er/d.gz"],
        "a[[]b]": ["a[b]"],
    }.items():
        assert [e.location for e in store.find(place.at(pattern))] == list(map(place.at, names))


def test_deleting_twice(place: Place) -> None:
    place.put("x", b"x")
    store = stores.store_of(place.root)
    store.delete(place.at("x"))
    store.delete(place.at("x"))
    assert place.names() == []


@pytest.mark.parametrize("kept", [0, 3, 6 * MIB])
@pytest.mark.parametrize("between", [0, 10, 6 * MIB])
def test_ranges_of_other_objects_are_taken_over(place: Place, kept: int, between: int) -> None:
    old, other, new = noise(7 * MIB), noise(12 * MIB, 2), noise(between, 3)
    place.put("x", old)
    place.put("y", other)
    with (
        closing(stores.open_read(place.at("x"))) as source,
        closing(stores.open_read(place.at("y"))) as second,
        stores.grow(source, kept, place.at("z")) as draft,
    ):
        draft.write(new)
        draft.copy_range(second, MIB, 11 * MIB)
        draft.write(new)
        draft.copy_range(source, 5, 10)
        draft.copy_range(second, 7, 7)
    data = old[:kept] + new + other[MIB : 11 * MIB] + new + old[5:10]
    assert place.get("z") == data
    assert draft.copied_bytes + draft.written_bytes == len(data)
    assert place.uploads() == []


def test_a_source_that_changes_is_not_taken_over(memory: Place, bucket: S3Place) -> None:
    for place in (memory, bucket):
        place.put("x", noise(7 * MIB))
        place.put("y", noise(7 * MIB))
        with (
            closing(stores.open_read(place.at("x"))) as source,
            closing(stores.open_read(place.at("y"))) as second,
            pytest.raises(errors.ConflictError),
            stores.grow(source, 10, place.at("z")) as draft,
        ):
            place.put("y", b"theirs")
            draft.copy_range(second, 0, 6 * MIB)
        assert place.names() == ["x", "y"]
