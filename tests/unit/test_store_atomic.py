# What fails is often the end of a block.
# ruff: noqa: PT012
from __future__ import annotations

import os
import stat
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from sdb import errors
from sdb.store.local import atomic


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@pytest.fixture(params=["nameless", "hidden"])
def folder(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    if request.param == "hidden":
        real = os.open

        def refuse(path: str, flags: int, *args: int, **kwargs: int) -> int:
            if flags & os.O_TMPFILE == os.O_TMPFILE:
                raise OSError(95, "not supported")
            return real(path, flags, *args, **kwargs)

        monkeypatch.setattr(os, "open", refuse)
    return tmp_path


def write(path: Path, data: bytes, *, overwrite: bool = False) -> None:
    with atomic.atomic_write(str(path), overwrite=overwrite) as file:
        file.write(data)


def test_a_file_appears_only_when_it_is_complete(folder: Path) -> None:
    path = folder / "out"
    with atomic.atomic_write(str(path)) as file:
        file.write(b"a" * 200_000)
        assert not path.exists()
    assert path.read_bytes() == b"a" * 200_000
    assert names(folder) == ["out"]


@pytest.mark.parametrize("failure", [ValueError, KeyboardInterrupt, SystemExit, OSError])
def test_a_failure_leaves_what_was_there(folder: Path, failure: type[BaseException]) -> None:
    path = folder / "out"
    path.write_bytes(b"old")
    with (
        pytest.raises(failure) as caught,
        atomic.atomic_write(str(path), overwrite=True) as file,
    ):
        file.write(b"new" * 100_000)
        raise failure
    assert type(caught.value) is failure
    assert (path.read_bytes(), names(folder)) == (b"old", ["out"])


def test_existing_files_are_kept_unless_told_otherwise(folder: Path) -> None:
    path = folder / "out"
    write(path, b"one")
    with pytest.raises(errors.ExistsError):
        write(path, b"two")
    write(path, b"two", overwrite=True)
    assert (path.read_bytes(), names(folder)) == (b"two", ["out"])


def test_a_file_that_appears_meanwhile_is_kept(folder: Path) -> None:
    path = folder / "out"
    with pytest.raises(errors.ExistsError), atomic.atomic_write(str(path)) as file:
        file.write(b"mine")
        path.write_bytes(b"theirs")
    assert (path.read_bytes(), names(folder)) == (b"theirs", ["out"])


def test_permissions_follow_the_umask_and_the_replaced_file(folder: Path) -> None:
    path = folder / "out"
    old = os.umask(0o027)
    try:
        write(path, b"one")
        assert stat.S_IMODE(path.stat().st_mode) == 0o640
        path.chmod(0o604)
        write(path, b"two", overwrite=True)
        assert stat.S_IMODE(path.stat().st_mode) == 0o604
    finally:
        os.umask(old)


def test_links_are_followed_and_stay(folder: Path) -> None:
    (folder / "sub").mkdir()
    link = folder / "link"
    link.symlink_to("sub/file")
    with pytest.raises(errors.ExistsError):
        write(link, b"x")
    write(link, b"x", overwrite=True)
    write(link, b"y", overwrite=True)
    assert link.is_symlink()
    assert (folder / "sub" / "file").read_bytes() == b"y"
    assert names(folder / "sub") == ["file"]


def test_devices_and_pipes_are_written_to_directly(folder: Path) -> None:
    write(Path(os.devnull), b"x")
    assert stat.S_ISCHR(Path(os.devnull).stat().st_mode)
    pipe = folder / "pipe"
    os.mkfifo(pipe)
    read: list[bytes] = []
    thread = threading.Thread(target=lambda: read.append(pipe.read_bytes()))
    thread.start()
    write(pipe, b"through", overwrite=True)
    thread.join()
    assert (read, names(folder)) == ([b"through"], ["pipe"])


def test_places_that_cannot_be_written(folder: Path) -> None:
    with pytest.raises(errors.NotFoundError):
        write(folder / "no" / "out", b"")
    with pytest.raises(errors.UsageError):
        write(folder, b"", overwrite=True)
    with pytest.raises(errors.NotFoundError):
        write(folder / "a\0b", b"")


def test_a_full_disk_is_an_error_of_ours() -> None:
    with (
        pytest.raises(errors.SdbError, match="no space left"),
        atomic.atomic_write("/dev/full") as file,
    ):
        file.write(b"a" * 200_000)


def test_a_killed_writer_leaves_nothing(tmp_path: Path) -> None:
    code = (
        "import sys, os, signal; from sdb.store.local import atomic\n"
        "with atomic.atomic_write(sys.argv[1]) as f:\n"
        "    f.write(b'x' * 100000); f.flush(); os.kill(os.getpid(), signal.SIGKILL)"
    )
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path / "out")], check=False)
    assert done.returncode == -9
    assert names(tmp_path) == []


def test_a_file_goes_to_the_disk_while_it_is_written(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent: list[tuple[int, int]] = []
    real = os.posix_fadvise

    def advise(fd: int, start: int, length: int, advice: int) -> None:
        assert advice == os.POSIX_FADV_DONTNEED
        sent.append((start, start + length))
        real(fd, start, length, advice)

    monkeypatch.setattr(os, "posix_fadvise", advise)
    piece = os.urandom(300_000)
    with atomic.atomic_write(str(folder / "out")) as file:
        for _ in range(16):
            file.write(piece)
    starts, stops = zip(*sent, strict=True)
    assert starts == (0, *stops[:-1])
    assert 3 << 20 < stops[-1] <= 16 * len(piece)
    assert (folder / "out").read_bytes() == 16 * piece


def test_a_system_without_hints_will_do(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise OSError(22, "Invalid argument")

    data = os.urandom(3 << 20)
    monkeypatch.setattr(os, "posix_fadvise", refuse)
    write(folder / "refused", data)
    monkeypatch.delattr(os, "posix_fadvise")
    write(folder / "unknown", data)
    assert (folder / "refused").read_bytes() == (folder / "unknown").read_bytes() == data


def test_a_failure_of_the_disk_leaves_the_old_file(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A disk cannot be made to fail; the system would tell of it when the file is flushed.
    def fail(_fd: int) -> None:
        raise OSError(5, "Input/output error")

    path = folder / "out"
    write(path, b"old")
    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(errors.SdbError, match="input/output error"):
        write(path, b"x" * (9 << 20), overwrite=True)
    assert (path.read_bytes(), names(folder)) == (b"old", ["out"])


@pytest.mark.parametrize("threads", [True, False])
def test_replaced_files_are_let_go(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, threads: bool
) -> None:
    def refuse(*_: object) -> int:
        raise RuntimeError("can't start new thread")

    if not threads:
        monkeypatch.setattr(atomic._thread, "start_new_thread", refuse)
    write(tmp_path / "out", b"0")
    before = names(Path("/proc/self/fd"))
    for number in range(20):
        write(tmp_path / "out", b"%d" % number, overwrite=True)
    late = time.monotonic() + 10
    while names(Path("/proc/self/fd")) != before and time.monotonic() < late:
        time.sleep(0.01)
    assert names(Path("/proc/self/fd")) == before
    assert (tmp_path / "out").read_bytes() == b"19"
