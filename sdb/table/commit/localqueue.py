"""Turns: programs of one machine that commit to the same table let each other go first.

On a store that chooses among writers by itself who comes second begins again, and of many most come
second. A lock on a file of the user's cache folder spares them that. It is a courtesy and no more:
a commit is right without it. So whoever is held up while it has its turn, and a cache folder that
cannot be used, keep nobody waiting.
"""

from __future__ import annotations

import fcntl
import os
import random
import time
from contextlib import contextmanager, suppress
from hashlib import blake2b

from sdb.errors import SdbError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

HELD_UP_SECONDS = 15.0
"""Who has a turn for so long is not waited for."""

_LONGEST_PAUSE_SECONDS = 0.02
_HURRIED_SECONDS = 2.0


@contextmanager
def turn(name: str) -> Iterator[None]:
    """Wait for a turn, and have it while the block runs.

    Parameters
    ----------
    name : str
        What others wait for: the place of the index.

    Yields
    ------
    None
        Others that ask for their turn wait, but not for ever.
    """
    fd = None
    try:
        with suppress(OSError, SdbError):
            fd = _opened(name)
            _wait(fd)
        yield
    finally:
        if fd is not None:
            os.close(fd)  # gives the turn to the next one


def _opened(name: str) -> int:
    from sdb.store.local import cachefolder

    folder = f"{cachefolder.make()}/turns"
    os.makedirs(folder, mode=0o700, exist_ok=True)  # noqa: PTH103 - a plain string
    path = f"{folder}/{blake2b(name.encode(), digest_size=16).hexdigest()}"
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)


def _wait(fd: int) -> None:
    """Wait until the lock is free; who has waited for long looks more often."""
    began = time.monotonic()
    while True:
        with suppress(BlockingIOError):
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.utime(fd)  # tells others since when
            return
        if time.time() - os.fstat(fd).st_mtime > HELD_UP_SECONDS:
            return
        waited = 1 + (time.monotonic() - began) / _HURRIED_SECONDS
        time.sleep(random.uniform(0, _LONGEST_PAUSE_SECONDS / waited))  # noqa: S311 - no secret
