"""Temporary folders that do not outlive the program, however it ends.

The process that has such a folder holds a lock on it, which the system releases at its end. So the
next process that makes a folder knows which ones were left behind, and removes them.
"""

from __future__ import annotations

import fcntl
import os
import stat
import time
from contextlib import suppress

from sdb.errors import from_os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import TracebackType
    from typing import Self

_PREFIX = "sdb-scratch-"
_YOUNG_SECONDS = 60  # from making a folder to locking it takes less


class Scratch:
    """A temporary folder in ``$TMPDIR``; removes those that killed programs have left behind.

    * ``path``: The folder. It is gone after :meth:`close`, or after a ``with`` block.

    Raises `SdbError` if no folder can be made.
    """

    __slots__ = ("_fd", "_remove", "path")

    def __init__(self) -> None:
        import shutil
        import tempfile

        # At the end of the interpreter nothing can be imported any more.
        self._remove = shutil.rmtree

        try:
            above = tempfile.gettempdir()
            remove_abandoned(above)
            self.path = tempfile.mkdtemp(prefix=_PREFIX, dir=above)
            self._fd = os.open(self.path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except OSError as error:
            raise from_os(error, "making a folder in", os.environ.get("TMPDIR", "/tmp")) from error  # noqa: S108
        with suppress(OSError):  # where there are no locks, nobody removes it either
            fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)

    def close(self) -> None:
        """Remove the folder; a second time does nothing."""
        if self._fd >= 0:
            self._remove(self.path, ignore_errors=True)
            os.close(self._fd)
            self._fd = -1

    def __enter__(self) -> Self:
        """Return the folder."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Remove it."""
        self.close()

    def __del__(self) -> None:
        """Remove the folder that was forgotten."""
        if hasattr(self, "_fd"):
            self.close()


def remove_abandoned(above: str) -> None:
    """Remove the folders whose makers are gone; others, and those of other users, stay."""
    with suppress(OSError), os.scandir(above) as entries:
        for entry in entries:
            if entry.name.startswith(_PREFIX):
                with suppress(OSError):
                    _remove_if_abandoned(entry.path)


def _remove_if_abandoned(path: str) -> None:
    import shutil

    fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC | os.O_NOFOLLOW)
    try:
        status = os.fstat(fd)
        is_ours = stat.S_ISDIR(status.st_mode) and status.st_uid == os.geteuid()
        if is_ours and time.time() - status.st_ctime > _YOUNG_SECONDS:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)  # fails while its maker lives
            shutil.rmtree(path, ignore_errors=True)
    finally:
        os.close(fd)
