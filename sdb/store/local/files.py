"""Files of the local file system, open for reading, and what is the same for all files."""

from __future__ import annotations

import errno
import os
import stat

from sdb.errors import CorruptError, SdbError, UsageError, from_os
from sdb.store.base import CLOSED, read_pieces

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Generator
    from types import TracebackType


class LocalReader:
    """A local file, open for reading at any position.

    * ``fd``: Its open descriptor, which now belongs to the reader.
    """

    __slots__ = ("_fd", "etag", "path", "size_bytes", "status")

    def __init__(self, path: str, fd: int, status: os.stat_result) -> None:
        self.path = path
        self.status = status
        self.size_bytes = status.st_size
        self.etag = ""
        self._fd = fd

    @property
    def version(self) -> str:
        """Name of the version: its size, place on the disk and time of writing."""
        return version_of(self.status)

    @property
    def descriptor(self) -> int:
        """Descriptor of the open file; `CLOSED` afterwards."""
        return self._fd

    def read(self, start: int, stop: int) -> bytes:
        """Read the bytes of a half-open range.

        Raises `CorruptError` if the file ends before `stop`: it became shorter since it was opened.
        """
        pieces = []
        while start < stop:
            try:
                piece = os.pread(self._fd, stop - start, start)
            except OSError as error:
                raise from_os(error, "reading", self.path) from error
            if not piece:
                message = f"reading {self.path}: the file ends at byte {start:,}"
                raise CorruptError(message, path=self.path, offset=start)
            pieces.append(piece)
            start += len(piece)
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    def pieces(self, start: int, stop: int) -> Generator[bytes]:
        """Read the bytes of a half-open range piece by piece."""
        return read_pieces(self, start, stop)

    def reopen(self) -> LocalReader:
        """Open the file that has the path now."""
        return open_read(self.path)

    def close(self) -> None:
        """Close the file; a second time does nothing."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = CLOSED

    def __del__(self) -> None:
        """Close the file that was forgotten."""
        self.close()


def version_of(status: os.stat_result) -> str:
    """Return the version of a file, for which the file system has no name of its own."""
    return f"{status.st_size}-{status.st_ino}-{status.st_mtime_ns}"


def open_read(path: str) -> LocalReader:
    """Open a file for reading at any position.

    Raises `NotFoundError` or `AccessError` if there is no such file, or it may not be read;
    `UsageError` if the path is a folder, a pipe or a device.
    """
    try:
        # A pipe without a writer would block here, before it could be refused.
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except (OSError, ValueError) as error:
        raise from_os(_os_error(error), "opening", path) from error
    status = os.fstat(fd)
    reader = LocalReader(path, fd, status)
    if not stat.S_ISREG(status.st_mode):
        reader.close()
        if stat.S_ISDIR(status.st_mode):
            hint = f'try "{os.path.join(path, "*.zion")}"'  # noqa: PTH118 - as it is written
            raise UsageError(f"opening {path}: is a folder", path=path, hint=hint)
        raise UsageError(f"opening {path}: is not a regular file", path=path)
    return reader


def _os_error(error: OSError | ValueError) -> OSError:
    """Treat a path that no file can have (it holds a NUL) as one that is not there."""
    return error if isinstance(error, OSError) else FileNotFoundError(errno.ENOENT, "bad path")


class Translated:
    """A context manager that turns errors of the operating system into those of `sdb`."""

    __slots__ = ("_action", "_path")

    def __init__(self, path: str, action: str = "writing") -> None:
        self._path = path
        self._action = action

    def __enter__(self) -> None:
        """Begin."""

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Raise another error in the place of one of the system."""
        if isinstance(value, OSError | ValueError) and not isinstance(value, SdbError):
            raise from_os(_os_error(value), self._action, self._path) from value
