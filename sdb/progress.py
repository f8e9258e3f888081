"""Progress of long work: a callback, and nothing that prints."""

from __future__ import annotations

from sdb.typed import Protocol


class Progress(Protocol):
    """Called now and then while work goes on, from the thread that does it.

    An exception that it raises ends the work, which then leaves nothing behind.
    """

    def __call__(self, consumed_bytes: int, total_bytes: int | None, /) -> None:
        """Take note.

        Parameters
        ----------
        consumed_bytes : int
            Bytes of the input that are done.
        total_bytes : int or None
            Bytes of the input altogether, if known.
        """


def silent(consumed_bytes: int, total_bytes: int | None, /) -> None:
    """Take note of nothing."""
