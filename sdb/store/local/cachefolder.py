"""The user's cache folder: files that can be made again, shared by processes, bounded in size.

A reader that has opened a file of it goes on reading when another process removes it. To open a
file sets its time, so that the least recently used ones are removed first.
"""
# ruff: noqa: PTH116 - plain strings, as everywhere below stores

from __future__ import annotations

import fcntl
import os
import stat
import time
from contextlib import contextmanager, suppress

from sdb.errors import AccessError, from_os
from sdb.records import record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

VARIABLE = "SDB_CACHE"
SUFFIX = ".zion"
_MAKING = ".making-"
_WARNINGS = ".warnings"  # behind the name of a file: what was said when it was made
_LOCKS = 32
_ABANDONED_SECONDS = 24 * 3600
_OTHERS_WRITE = 0o022


@record
class CacheEntry:
    """A file of the cache."""

    path: str  # where it is
    size_bytes: int
    used_us: int  # when it was used last, in microseconds since 1970

    @property
    def name(self) -> str:
        """Its name in the folder."""
        return self.path.rpartition("/")[2]

    @property
    def input_name(self) -> str:
        """Name of what it was made of: what follows on the digest and the size."""
        return self.name.split("-", 2)[2].removesuffix(SUFFIX)


def place() -> str:
    """Return the path of the folder, which need not be there."""
    named = os.environ.get(VARIABLE)
    if named:
        return os.path.abspath(named)  # noqa: PTH100
    above = os.environ.get("XDG_CACHE_HOME", "")
    if not above.startswith("/"):  # the specification says that relative ones are to be ignored
        above = os.path.join(os.path.expanduser("~"), ".cache")  # noqa: PTH111, PTH118
    return f"{above}/sdb"


def make() -> str:
    """Make the folder if it is not there, and check that it is the user's own.

    Raises `AccessError` if other users may write there, so that what it holds cannot be trusted;
    `SdbError` if it cannot be made.
    """
    path = place()
    try:
        os.makedirs(path, mode=0o700, exist_ok=True)  # noqa: PTH103
        status = os.stat(path)
    except OSError as error:
        raise from_os(error, "making the folder", path) from error
    if status.st_uid != os.geteuid() or status.st_mode & _OTHERS_WRITE:
        raise AccessError(f"{path}: other users may write to this folder", path=path)
    return path


def entries() -> list[CacheEntry]:
    """List the files of the cache."""
    return sorted(_listed(SUFFIX), key=lambda entry: (entry.used_us, entry.path))


def has(start: str, end: str) -> bool:
    """Check whether a file of the cache has a name with this start and end."""
    with suppress(FileNotFoundError, NotADirectoryError):
        return any(name.startswith(start) and name.endswith(end) for name in os.listdir(place()))  # noqa: PTH208
    return False


def _listed(suffix: str) -> Iterator[CacheEntry]:
    with suppress(FileNotFoundError, NotADirectoryError), os.scandir(place()) as listing:
        for entry in listing:
            if not entry.name.endswith(suffix):
                continue
            with suppress(FileNotFoundError):
                status = entry.stat(follow_symlinks=False)
                if stat.S_ISREG(status.st_mode):
                    yield CacheEntry(entry.path, status.st_size, status.st_mtime_ns // 1000)


def unfinished(folder: str) -> str:
    """Return a path for a file in the making; who is done with it gives it another name."""
    return f"{folder}/{_MAKING}{os.getpid()}-{os.urandom(6).hex()}"


def put(making: str, path: str, warnings: list[str]) -> None:
    """Name a file that was made, and keep what there was to warn of."""
    if warnings:
        import json

        beside = f"{making}{_WARNINGS}"
        with open(beside, "w", encoding="utf-8") as file:  # noqa: PTH123
            json.dump(warnings, file)
        os.replace(beside, f"{path}{_WARNINGS}")  # noqa: PTH105
    os.replace(making, path)  # noqa: PTH105


def rename(path: str, other: str) -> None:
    """Move a file of the cache to another name."""
    with suppress(FileNotFoundError):
        os.replace(f"{path}{_WARNINGS}", f"{other}{_WARNINGS}")  # noqa: PTH105
    os.replace(path, other)  # noqa: PTH105


def remove(path: str) -> None:
    """Remove a file of the cache."""
    with suppress(FileNotFoundError):
        os.unlink(f"{path}{_WARNINGS}")  # noqa: PTH108
    os.unlink(path)  # noqa: PTH108


def warnings_of(path: str) -> list[str]:
    """Return what there was to warn of when a file of the cache was made."""
    try:
        with open(f"{path}{_WARNINGS}", encoding="utf-8") as file:  # noqa: PTH123
            text = file.read()
    except FileNotFoundError:
        return []
    import json

    try:
        return [str(warning) for warning in json.loads(text)]
    except (ValueError, TypeError):
        return []


def use(path: str) -> None:
    """Note that a file of the cache is used now."""
    with suppress(OSError):
        os.utime(path)


def bound(most_bytes: int) -> list[CacheEntry]:
    """Remove what was not used for longest, until the rest is small enough."""
    cached = entries()
    total = sum(entry.size_bytes for entry in cached)
    removed = []
    for entry in cached:
        if total <= most_bytes:
            break
        removed += _removed(entry)
        total -= entry.size_bytes
    old = int((time.time() - _ABANDONED_SECONDS) * 1e6)
    for entry in list(_listed("")):
        if entry.name.startswith((_MAKING, f".{_MAKING}")) and entry.used_us < old:
            _removed(entry)
    return removed


def clear() -> list[CacheEntry]:
    """Remove all files of the cache. Raises `SdbError` if a file cannot be removed."""
    return [removed for entry in entries() for removed in _removed(entry)]


def _removed(entry: CacheEntry) -> list[CacheEntry]:
    try:
        remove(entry.path)
    except FileNotFoundError:
        return []
    except OSError as error:
        raise from_os(error, "removing", entry.path) from error
    return [entry]


@contextmanager
def locked(folder: str, name: str) -> Iterator[None]:
    """Keep other processes from making the same file while the block runs; waits for them.

    * ``name``: What is made. Few locks serve all names: nothing has to be removed then, and two
      names rarely share one.
    """
    fd = _locked(f"{folder}/lock-{sum(name.encode()) % _LOCKS:02}")
    try:
        yield
    finally:
        if fd is not None:
            os.close(fd)


def _locked(path: str) -> int | None:
    """Lock a file; None where there are no locks, so that two may make the same."""
    try:
        fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError:
        return None
    try:
        fcntl.flock(fd, fcntl.LOCK_EX)
    except OSError:
        os.close(fd)
        return None
    except BaseException:  # Ctrl-C while another process works
        os.close(fd)
        raise
    return fd
