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
from sdb.store import url
from tests.patience import soon

if TYPE_CHECKING:
    from pathlib import Path

    from sdb.store.base import Reader
    from tests.store.conftest import Backend, S3Backend

MIB = 1 << 20
PART = 8 * MIB


def noise(count: int, seed: int = 1) -> bytes:
    return random.Random(seed).randbytes(count)


@pytest.mark.parametrize("size", [0, 1, PART - 1, PART, PART + 1, 3 * PART + 7])
def test_what_is_written_is_there(backend: Backend, size: int) -> None:
    data = noise(size)
    with url.atomic_write(backend.at("x")) as file:
        for start in range(0, size, 700_001):
            file.write(data[start : start + 700_001])
        assert backend.names() == []
    assert backend.get("x") == data
    assert (backend.names(), backend.uploads()) == (["x"], [])


@pytest.mark.parametrize("size", [10, 2 * PART])
@pytest.mark.parametrize("failure", [ValueError, KeyboardInterrupt, SystemExit, OSError])
def test_a_failure_leaves_what_was_there(
    backend: Backend, size: int, failure: type[BaseException]
) -> None:
    backend.put("x", b"old")
    with (
        pytest.raises(failure) as caught,
        url.atomic_write(backend.at("x"), overwrite=True) as file,
    ):
        file.write(bytes(size))
        raise failure
    assert type(caught.value) is failure
    assert (backend.get("x"), backend.names(), backend.uploads()) == (b"old", ["x"], [])


@pytest.mark.parametrize("size", [10, 2 * PART])
def test_existing_objects_are_kept_unless_told_otherwise(backend: Backend, size: int) -> None:
    backend.put("x", b"old")
    with pytest.raises(errors.ExistsError):
        backend.put("x", bytes(size), overwrite=False)
    backend.put("x", bytes(size), overwrite=True)
    assert backend.get("x") == bytes(size)


@pytest.mark.parametrize("size", [10, 2 * PART])
def test_an_object_that_appears_meanwhile_is_kept(backend: Backend, size: int) -> None:
    with pytest.raises(errors.ExistsError), url.atomic_write(backend.at("x")) as file:
        file.write(bytes(size))
        backend.put("x", b"theirs")
    assert (backend.get("x"), backend.names(), backend.uploads()) == (b"theirs", ["x"], [])


def test_ranges_are_read_whole(backend: Backend) -> None:
    data = noise(3 * MIB)
    backend.put("x", data)
    with closing(url.open_read(backend.at("x"))) as reader:
        assert (reader.size_bytes, reader.path) == (len(data), backend.at("x"))
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
def test_small_objects_open_at_either_end(backend: Backend, size: int, head_bytes: int) -> None:
    backend.put("x", noise(size))
    with closing(url.open_read(backend.at("x"), head_bytes=head_bytes)) as reader:
        assert reader.size_bytes == size
        assert reader.read(0, size) == noise(size)
        with closing(reader.reopen()) as again:
            assert b"".join(again.pieces(0, size)) == noise(size)


@pytest.mark.parametrize("start", [0, 7, 3999, 4000, 9000])
def test_objects_open_in_the_middle(backend: Backend, start: int) -> None:
    backend.put("x", noise(4000))
    with closing(url.open_read(backend.at("x"), head_bytes=100, start=start)) as reader:
        assert reader.size_bytes == 4000
        for first, last in [(start, start + 100), (0, 4000), (3990, 4000), (5, 9)]:
            if last <= 4000:
                assert reader.read(first, last) == noise(4000)[first:last]
                assert b"".join(reader.pieces(first, last)) == noise(4000)[first:last]


def test_what_is_not_there(backend: Backend) -> None:
    with pytest.raises(errors.NotFoundError):
        url.open_read(backend.at("none"))


KEPT = [0, 1, 5 * MIB - 1, 5 * MIB, 12 * MIB]
TAIL = [0, 3, PART + 1]


@pytest.mark.parametrize("tail", TAIL)
@pytest.mark.parametrize("kept_count", KEPT)
def test_an_object_grows_in_place(backend: Backend, kept_count: int, tail: int) -> None:
    old, new = noise(12 * MIB), noise(tail, 2)
    backend.put("x", old)
    with closing(url.open_read(backend.at("x"))) as source:
        with url.create_from_prefix(source, kept_count, backend.at("x")) as draft:
            draft.write(new)
            assert backend.get("x") == old
        assert draft.copied_bytes + draft.written_bytes == kept_count + tail
    assert backend.get("x") == old[:kept_count] + new
    assert (backend.names(), backend.uploads()) == (["x"], [])


@pytest.mark.parametrize("kept_count", [3, 6 * MIB])
def test_someone_else_was_faster(backend: Backend, kept_count: int) -> None:
    backend.put("x", noise(7 * MIB))
    with closing(url.open_read(backend.at("x"))) as source:
        with (
            pytest.raises(errors.ConflictError),
            url.create_from_prefix(source, kept_count, backend.at("x")) as draft,
        ):
            draft.write(b"mine")
            backend.put("x", b"theirs")
    assert (backend.get("x"), backend.names(), backend.uploads()) == (b"theirs", ["x"], [])


@pytest.mark.parametrize("kept_count", [3, 6 * MIB])
def test_the_object_was_removed(backend: Backend, kept_count: int) -> None:
    backend.put("x", noise(7 * MIB))
    with closing(url.open_read(backend.at("x"))) as source:
        with (
            pytest.raises((errors.ConflictError, errors.NotFoundError)),
            url.create_from_prefix(source, kept_count, backend.at("x")) as draft,
        ):
            draft.write(b"mine")
            remove(backend, "x")
    assert (backend.names(), backend.uploads()) == ([], [])


def remove(backend: Backend, name: str) -> None:
    url.store_of(backend.root).delete(backend.at(name))


@pytest.mark.parametrize("failure", [ValueError, KeyboardInterrupt])
@pytest.mark.parametrize("kept_count", [3, 6 * MIB])
def test_a_failure_while_growing(
    backend: Backend, kept_count: int, failure: type[BaseException]
) -> None:
    old = noise(7 * MIB)
    backend.put("x", old)
    with closing(url.open_read(backend.at("x"))) as source:
        with (
            pytest.raises(failure),
            url.create_from_prefix(source, kept_count, backend.at("x")) as draft,
        ):
            draft.write(bytes(2 * PART))
            raise failure
    assert (backend.get("x"), backend.names(), backend.uploads()) == (old, ["x"], [])


@pytest.mark.parametrize("kept_count", [3, 6 * MIB])
def test_growing_elsewhere(backend: Backend, kept_count: int) -> None:
    old = noise(7 * MIB)
    backend.put("x", old)
    backend.put("z", b"other")
    with closing(url.open_read(backend.at("x"))) as source:
        with url.create_from_prefix(source, kept_count, backend.at("y")) as draft:
            draft.write(b"new")
        with (
            pytest.raises(errors.ExistsError),
            url.create_from_prefix(source, kept_count, backend.at("z")) as draft,
        ):
            draft.write(b"new")
        assert backend.get("z") == b"other"
        with url.create_from_prefix(source, kept_count, backend.at("z"), overwrite=True) as draft:
            draft.write(b"new")
    assert backend.get("y") == backend.get("z") == old[:kept_count] + b"new"
    assert (backend.get("x"), backend.uploads()) == (old, [])


@pytest.mark.s3
@pytest.mark.parametrize("kept_count", [3, 6 * MIB])
def test_growing_from_one_store_into_the_other(
    bucket: S3Backend, tmp_path: Path, kept_count: int
) -> None:
    old = noise(7 * MIB)
    (tmp_path / "x").write_bytes(old)
    with (
        closing(url.open_read(tmp_path / "x")) as source,
        url.create_from_prefix(source, kept_count, bucket.at("x")) as draft,
    ):
        draft.write(b"new")
    assert draft.kept_by == "upload"
    assert bucket.get("x") == old[:kept_count] + b"new"
    with (
        closing(url.open_read(bucket.at("x"))) as source,
        url.create_from_prefix(source, kept_count, tmp_path / "y") as draft,
    ):
        draft.write(b"er")
    assert (tmp_path / "y").read_bytes() == old[:kept_count] + b"er"


def test_nobody_waits_for_long(backend: Backend) -> None:
    backend.put("x", b"")
    began = time.monotonic()
    with url.locked(backend.at("x")):
        assert time.monotonic() - began < soon(5)


def put_if_match(backend: Backend, data: bytes, replaced: Reader | None) -> None:
    """Take turns as every writer does who replaces what was read."""
    store = url.store_of(backend.root)
    if replaced is None:
        version = store.put_if_match(backend.at("x"), data, None)
    else:
        with store.lock(backend.at("x")):
            version = store.put_if_match(backend.at("x"), data, replaced)
    assert version == store.version(backend.at("x"))


def test_a_first_writer_wins(backend: Backend) -> None:
    put_if_match(backend, b"first", None)
    with pytest.raises(errors.ConflictError):
        put_if_match(backend, b"second", None)
    assert (backend.get("x"), backend.names()) == (b"first", ["x"])


def test_what_was_read_is_replaced_once(backend: Backend) -> None:
    backend.put("x", b"old")
    with closing(url.open_read(backend.at("x"))) as first:
        with closing(url.open_read(backend.at("x"))) as other:
            put_if_match(backend, b"new!", first)
            with pytest.raises(errors.ConflictError):
                put_if_match(backend, b"newer", other)
    assert (backend.get("x"), backend.names(), backend.uploads()) == (b"new!", ["x"], [])


def test_what_was_removed_is_not_replaced(backend: Backend) -> None:
    backend.put("x", b"old")
    store = url.store_of(backend.root)
    with closing(url.open_read(backend.at("x"))) as reader:
        store.delete(backend.at("x"))
        with pytest.raises((errors.ConflictError, errors.NotFoundError)):
            store.put_if_match(backend.at("x"), b"new", reader)
    assert backend.names() == []


def test_versions_tell_contents_apart(backend: Backend) -> None:
    store = url.store_of(backend.root)
    assert store.version(backend.at("x")) is None
    backend.put("x", b"old")
    with closing(store.open(backend.at("x"))) as reader:
        first = reader.version
    assert store.version(backend.at("x")) == first
    assert store.list(backend.root)[0].version == first
    backend.put("x", b"newer")
    assert store.version(backend.at("x")) not in {first, None}


def test_all_that_is_below_a_folder_is_listed(backend: Backend) -> None:
    store = url.store_of(backend.root)
    assert list(store.below(backend.at("none"))) == []
    for name in ("a", "f/b", "f/g/c", "f[1]/d", "fg/e"):
        store.make_folder(backend.at(name).rpartition("/")[0])
        backend.put(name, name.encode())
    actual = {item.location: item for item in store.below(backend.root)}
    assert sorted(actual) == [backend.at(name) for name in ("a", "f/b", "f/g/c", "f[1]/d", "fg/e")]
    assert [item.location for item in store.below(backend.at("f[1]/"))] == [backend.at("f[1]/d")]
    assert {item.name for item in store.below(backend.at("f"))} == {"b", "c"}
    seen = store.head(backend.at("f/b"))
    listed = actual[backend.at("f/b")]
    assert seen is not None
    assert (seen.location, seen.size_bytes) == (listed.location, 3)
    assert seen.version == listed.version
    # Of the two the collector takes the later time, and a writer the earlier one.
    assert 0 <= listed.modified_us - seen.modified_us < 1_000_000
    assert abs(seen.modified_us / 1e6 - time.time()) < 60
    assert store.head(backend.at("g")) is None


def test_listings_tell_what_is_there(backend: Backend) -> None:
    store = url.store_of(backend.root)
    assert store.list(backend.at("none")) == store.find(backend.at("none*")) == []
    store.make_folder(backend.at("deep/er"))
    began_us = time.time_ns() // 1000
    for name in ("b.gz", "a.gz", "deep/c.gz", "deep/er/d.gz", "a[b]"):
        backend.put(name, name.encode())
    actual = store.list(backend.root + "/")
    assert [entry.name for entry in actual] == ["a.gz", "a[b]", "b.gz"]
    assert [entry.size_bytes for entry in actual] == [4, 4, 4]
    assert all(abs(entry.modified_us - began_us) < 60_000_000 for entry in actual)
    assert store.list(backend.root) == actual
    assert store.list(backend.root, after="a.gz") == actual[1:]
    assert store.list(backend.root, after="a.", most=2) == actual[:2]
    assert store.list(backend.root, after="b.gz") == store.list(backend.root, most=0) == []
    assert [entry.location for entry in actual] == [backend.at(e.name) for e in actual]
    assert store.folders(backend.root) == store.folders(backend.root + "/") == ["deep"]
    assert store.folders(backend.at("deep")) == ["er"]
    assert store.folders(backend.at("none")) == store.folders(backend.at("deep/er")) == []
    for pattern, names in {
        "*.gz": ["a.gz", "b.gz"],
        "**/*.gz": ["a.gz", "b.gz", "deep/c.gz", "deep/er/d.gz"],
        "?.g[xyz]": ["a.gz", "b.gz"],
        "[!a].gz": ["b.gz"],
        "deep/*/d.gz": ["deep/er/d.gz"],
        "a[[]b]": ["a[b]"],
    }.items():
        assert [e.location for e in store.find(backend.at(pattern))] == list(map(backend.at, names))


def test_deleting_twice(backend: Backend) -> None:
    backend.put("x", b"x")
    store = url.store_of(backend.root)
    store.delete(backend.at("x"))
    store.delete(backend.at("x"))
    assert backend.names() == []


@pytest.mark.parametrize("kept_count", [0, 3, 6 * MIB])
@pytest.mark.parametrize("between", [0, 10, 6 * MIB])
def test_ranges_of_other_objects_are_taken_over(
    backend: Backend, kept_count: int, between: int
) -> None:
    old, other, new = noise(7 * MIB), noise(12 * MIB, 2), noise(between, 3)
    backend.put("x", old)
    backend.put("y", other)
    with (
        closing(url.open_read(backend.at("x"))) as source,
        closing(url.open_read(backend.at("y"))) as second,
        url.create_from_prefix(source, kept_count, backend.at("z")) as draft,
    ):
        draft.write(new)
        draft.copy_range(second, MIB, 11 * MIB)
        draft.write(new)
        draft.copy_range(source, 5, 10)
        draft.copy_range(second, 7, 7)
    data = old[:kept_count] + new + other[MIB : 11 * MIB] + new + old[5:10]
    assert backend.get("z") == data
    assert draft.copied_bytes + draft.written_bytes == len(data)
    assert backend.uploads() == []


def test_a_source_that_changes_is_not_taken_over(memory: Backend, bucket: S3Backend) -> None:
    for item in (memory, bucket):
        item.put("x", noise(7 * MIB))
        item.put("y", noise(7 * MIB))
        with (
            closing(url.open_read(item.at("x"))) as source,
            closing(url.open_read(item.at("y"))) as second,
            pytest.raises(errors.ConflictError),
            url.create_from_prefix(source, 10, item.at("z")) as draft,
        ):
            item.put("y", b"theirs")
            draft.copy_range(second, 0, 6 * MIB)
        assert item.names() == ["x", "y"]
