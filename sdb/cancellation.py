"""Cancelling a query from another thread, whatever it is doing."""

from __future__ import annotations

import threading
from contextlib import contextmanager

from sdb.errors import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


class CancelledError(UsageError):
    """The query was cancelled."""


class Cancellation:
    """The means to stop a query: it looks here between steps; long ones are interrupted."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._interrupts: list[Callable[[], None]] = []
        self.reason = ""

    def check(self) -> None:
        """Stop here if the query was cancelled. Raises `CancelledError` if it was."""
        if self.reason:
            raise CancelledError(self.reason)

    @contextmanager
    def interrupting(self, interrupt: Callable[[], None]) -> Iterator[None]:
        """Have a step interrupted, as often as :meth:`cancel` is called while it runs."""
        with self._lock:
            self._interrupts.append(interrupt)
        try:
            self.check()
            yield
        finally:
            with self._lock:
                self._interrupts.remove(interrupt)

    def cancel(self, reason: str) -> None:
        """Cancel the query; call it again until it has stopped: an engine may only just begin.

        * ``reason``: What the query reports; that of the first call counts.
        """
        self.reason = self.reason or reason
        with self._lock:
            interrupts = list(self._interrupts)
        for interrupt in interrupts:
            interrupt()
