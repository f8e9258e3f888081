"""What every store must do; the same for files and for S3."""
# What fails is often the end of a block.
# ruff: noqa: PT012, SIM117

from __future__ import annotations

import random
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from sdb import errors
from sdb.store import url as stores

if TYPE_CHECKING:
    from pathlib import Path

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
