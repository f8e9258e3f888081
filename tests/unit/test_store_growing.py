from __future__ import annotations

import errno
import fcntl
import logging
import os
import stat
import threading
import time
from typing import TYPE_CHECKING

import pytest

from sdb.errors import ConflictError, CorruptError, ExistsError, NotFoundError, UsageError
from sdb.store.base import read_pieces
from sdb.store.local import growing
from sdb.store.local.files import LocalReader, open_read
from sdb.store.url import create_from_prefix, locked

if TYPE_CHECKING:
    from collections.abc import Generator
    from pathlib import Path

OLD = bytes(range(256)) * 1000


@pytest.fixture
def old(tmp_path: Path) -> Path:
    path = tmp_path / "old"
    path.write_bytes(OLD)
    return path


def extend(
    source: Path, kept_count: int, target: Path, tail: bytes = b"new", **options: bool
) -> str:
    reader = open_read(str(source))
    try:
        with create_from_prefix(reader, kept_count, target, **options) as draft:
            draft.write(tail[:1])
            draft.write(tail[1:])
            assert (draft.copied_bytes, draft.written_bytes) == (kept_count, len(tail))
        return draft.kept_by
    finally:
        reader.close()


@pytest.mark.parametrize("kept_count", [0, 1, 4096, len(OLD)])
def test_in_place_and_elsewhere(old: Path, kept_count: int) -> None:
    other = old.with_name("other")
    assert extend(old, kept_count, other) in {"reflink", "copy"}
    assert other.read_bytes() == OLD[:kept_count] + b"new"
    assert old.read_bytes() == OLD
    with pytest.raises(ExistsError):
        extend(old, kept_count, other)
    extend(old, 0, other, b"again", overwrite=True)
    assert other.read_bytes() == b"again"
    extend(old, kept_count, old)
    assert old.read_bytes() == OLD[:kept_count] + b"new"
    assert sorted(old.parent.iterdir()) == [old, other]


@pytest.mark.parametrize("failing", [{"copy_file_range"}, {"copy_file_range", "half"}])
def test_where_the_kernel_cannot_copy(
    old: Path, monkeypatch: pytest.MonkeyPatch, failing: set[str]
) -> None:
    real = os.copy_file_range

    def copy(source: int, target: int, count: int, start: int, to: int) -> int:
        if "half" in failing and start == 0:
            return real(source, target, min(count, 1000), start, to)
        raise OSError(errno.EXDEV, "another file system")

    monkeypatch.setattr(os, "copy_file_range", copy)
    assert extend(old, 5000, old) == "copy"
    assert old.read_bytes() == OLD[:5000] + b"new"


class Elsewhere:
    """A reader of another store."""

    size_bytes, etag, path = len(OLD), "e", "s3://bucket/old"

    def read(self, start: int, stop: int) -> bytes:
        return OLD[start:stop]

    def pieces(self, start: int, stop: int) -> Generator[bytes]:
        return read_pieces(self, start, stop)

    def close(self) -> None:
        pass


def test_a_source_of_another_store_is_read(tmp_path: Path) -> None:
    with create_from_prefix(Elsewhere(), 3_000, tmp_path / "here") as draft:
        draft.write(b"new")
    assert (tmp_path / "here").read_bytes() == OLD[:3000] + b"new"


def test_a_failure_leaves_nothing(old: Path) -> None:
    reader = open_read(str(old))

    def fail(error: type[BaseException]) -> None:
        with create_from_prefix(reader, 10, old) as draft:
            draft.write(b"x")
            raise error

    for error in (KeyboardInterrupt, ValueError):
        with pytest.raises(error):
            fail(error)
    with pytest.raises(CorruptError), create_from_prefix(reader, len(OLD) + 1, old):
        pass
    reader.close()
    assert list(old.parent.iterdir()) == [old]
    assert old.read_bytes() == OLD


@pytest.mark.parametrize("change", ["replaced", "written", "removed"])
@pytest.mark.parametrize("moment", ["before", "inside"])
def test_who_comes_second_gives_up(old: Path, change: str, moment: str) -> None:
    def disturb() -> None:
        if change == "written":
            old.write_bytes(b"theirs")
        else:
            old.unlink()
        if change == "replaced":
            old.write_bytes(OLD)

    reader = open_read(str(old))
    if moment == "before":
        disturb()

    def second() -> None:
        with create_from_prefix(reader, 10, old) as draft:
            draft.write(b"x")
            disturb()

    with pytest.raises(ConflictError):
        second()
    reader.close()
    theirs = {"written": [b"theirs"], "removed": [], "replaced": [OLD]}[change]
    assert [path.read_bytes() for path in old.parent.iterdir()] == theirs


def test_links_and_permissions_stay(old: Path) -> None:
    link = old.with_name("link")
    link.symlink_to(old.name)
    old.chmod(0o640)
    extend(link, 10, link)
    assert link.is_symlink()
    assert old.read_bytes() == OLD[:10] + b"new"
    assert stat.S_IMODE(old.stat().st_mode) == 0o640
    extend(link, 10, old)  # the same file by another name
    with pytest.raises(UsageError):
        extend(old, 1, old.parent)


def test_whoever_has_the_lock_keeps_the_others_waiting(
    old: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "sdb")
    order = []

    def second() -> None:
        with locked(old):
            order.append(old.read_bytes()[-3:])

    with locked(old):
        thread = threading.Thread(target=second)
        thread.start()
        time.sleep(0.2)
        order.append(b"1st")
        extend(old, 10, old)
    thread.join(10)
    assert order == [b"1st", b"new"], "the second one has the lock of the new file"
    waits = f"{old}: waiting for another process that has locked it"
    assert [record.getMessage() for record in caplog.records] == [waits]
    with pytest.raises(NotFoundError), locked(old.with_name("none")):
        pass


def test_file_systems_without_locks(old: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_fd: int, _how: int) -> None:
        raise OSError(errno.ENOLCK, "no locks")

    monkeypatch.setattr(fcntl, "flock", refuse)
    with locked(old):
        pass


def test_clones_where_the_file_system_can(old: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without such a file system the call is played by a copy of the whole file."""

    def clone(fd: int, request: int, source: int) -> None:
        assert request == 0x40049409
        os.copy_file_range(source, fd, len(OLD), 0, 0)

    monkeypatch.setattr(growing.fcntl, "ioctl", clone)
    assert extend(old, 777, old) == "reflink"
    assert old.read_bytes() == OLD[:777] + b"new"
    assert isinstance(open_read(str(old)), LocalReader)
