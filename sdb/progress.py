"""Progress of long work: a callback, and nothing that prints."""

from __future__ import annotations

from sdb.typed import Protocol

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable


class Progress(Protocol):
    """Called now and then while work goes on, from the thread that does it.

    An exception that it raises ends the work, which then leaves nothing behind.
    """

    def __call__(self, consumed_bytes: int, total_bytes: int | None, /) -> None:
        """Record the progress."""


def silent(consumed_bytes: int, total_bytes: int | None, /) -> None:
    """Ignore the progress."""


def counted(progress: Progress, total_bytes: int) -> Callable[[int], None]:
    """Return what takes note of parts that are done.

    >>> told = counted(print, 30)
    >>> told(10), told(20)
    10 30
    30 30
    (None, None)
    """
    done = 0

    def told(size_bytes: int) -> None:
        nonlocal done
        done += size_bytes
        progress(done, total_bytes)

    return told
