"""The local queue: an advisory lock for processes of one machine that commit to the same table.

Object stores reject writers that lose the race, and they have to retry. Processes of one machine
take a lock on a file of the user's cache folder first, which avoids useless retries. Correctness
does not depend on it: a process that holds it for too long is not waited for, and without a usable
cache folder there is no queue.
"""

from __future__ import annotations

import fcntl
import os
import time
from contextlib import contextmanager, suppress
from hashlib import blake2b

from sdb.errors import SdbError
from sdb.log import Logger
from sdb.retry import Backoff

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

HELD_UP_SECONDS = 15.0
"""A process that holds the lock for so long is not waited for."""

_LONGEST_PAUSE_SECONDS = 0.02
_HURRIED_SECONDS = 2.0
_log = Logger("sdb.table.localqueue")


@contextmanager
def queued(name: str) -> Iterator[None]:
    """Wait for the lock of an index, and hold it while the block runs.

    * ``name``: The location of the index.
    """
    fd = None
    try:
        with suppress(OSError, SdbError):
            fd = _opened(name)
            _wait(fd, name)
        yield
    finally:
        if fd is not None:
            os.close(fd)  # releases the lock


def _opened(name: str) -> int:
    from sdb.store.local import cachefolder

    folder = f"{cachefolder.make()}/turns"
    os.makedirs(folder, mode=0o700, exist_ok=True)  # noqa: PTH103 - a plain string
    path = f"{folder}/{blake2b(name.encode(), digest_size=16).hexdigest()}"
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)


def _wait(fd: int, name: str) -> None:
    """Wait until the lock is free; after a long wait look more often."""
    backoff = Backoff(
        f"waiting for other programs of this machine: {name}",
        _log,
        first_seconds=_LONGEST_PAUSE_SECONDS,
        longest_seconds=_LONGEST_PAUSE_SECONDS,
        hurried_seconds=_HURRIED_SECONDS,
    )
    while True:
        with suppress(BlockingIOError):
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.utime(fd)  # the time since which it is held
            return
        if time.time() - os.fstat(fd).st_mtime > HELD_UP_SECONDS:
            return
        backoff.may_retry()
        backoff.pause()
