"""Slots: a number of queries compute at the same time, a number wait, and the rest are refused."""

from __future__ import annotations

import threading
import time

from sdb.serve.problems import HttpError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sdb.cancellation import Cancellation
    from sdb.serve.access import Rights

_LOOK_SECONDS = 0.1


class BusyError(HttpError):
    """There are more queries than the server takes."""

    def __init__(self, wait_seconds: float) -> None:
        seconds = str(max(1, round(wait_seconds)))
        super().__init__(
            503,
            "too many queries are running",
            code="busy",
            hint=f"try again in {seconds} s",
            headers={"retry-after": seconds},
        )


class _Ticket:
    """A place in the queue."""

    def __init__(self, rights: Rights) -> None:
        self.rights = rights


class Slots:
    """Slots for work: who holds one computes. Those who wait get one in the order of coming.

    * ``running``: How many there are.
    * ``waiting``: How many may wait for one.
    * ``patience_seconds``: How long.
    """

    def __init__(self, running: int, waiting: int, patience_seconds: float) -> None:
        self.most, self.most_waiting = running, waiting
        self.patience_seconds = patience_seconds
        self.running = self.waiting = 0
        self._of_token: dict[str, int] = {}
        self._queue: list[_Ticket] = []
        self._free = threading.Condition()

    def take(self, rights: Rights, cancellation: Cancellation) -> None:
        """Take a slot, waiting for it if need be.

        Raises `BusyError` if too many wait already, or none became free in time; `CancelledError`
        if the query was cancelled while it waited.
        """
        with self._free:
            ticket = _Ticket(rights)
            if not self._is_next(ticket):
                if self.waiting >= self.most_waiting:
                    raise BusyError(self.patience_seconds)
                self.waiting += 1
                try:
                    self._wait(ticket, cancellation, self.patience_seconds)
                finally:
                    self.waiting -= 1
            self._enter(rights)

    def take_back(self, rights: Rights, cancellation: Cancellation) -> None:
        """Take a slot again after a pause; a query that was cancelled has one at once, to end."""
        with self._free:
            ticket = _Ticket(rights)
            self._queue.append(ticket)
            try:
                while not (cancellation.reason or self._is_next(ticket)):
                    self._free.wait(_LOOK_SECONDS)
            finally:
                self._queue.remove(ticket)
            self._enter(rights)

    def leave(self, rights: Rights) -> None:
        """Free the slot for another query."""
        with self._free:
            self.running -= 1
            self._of_token[rights.name] -= 1
            if not self._of_token[rights.name]:
                del self._of_token[rights.name]
            self._free.notify_all()

    def _wait(self, ticket: _Ticket, cancellation: Cancellation, seconds: float) -> None:
        until = time.monotonic() + seconds
        self._queue.append(ticket)
        try:
            while not self._is_next(ticket):
                cancellation.check()
                left = until - time.monotonic()
                if left <= 0:
                    raise BusyError(self.patience_seconds)
                self._free.wait(min(left, _LOOK_SECONDS))
        finally:
            self._queue.remove(ticket)

    def _is_next(self, ticket: _Ticket) -> bool:
        """Return whether there is a slot for a query that is not due to one that came before."""
        free = self.most - self.running
        for other in self._queue:
            if other is ticket or free <= 0:
                break
            free -= self._may_run(other)
        return free > 0 and self._may_run(ticket)

    def _may_run(self, ticket: _Ticket) -> bool:
        most = ticket.rights.limits.running
        return most is None or self._of_token.get(ticket.rights.name, 0) < most

    def _enter(self, rights: Rights) -> None:
        self.running += 1
        self._of_token[rights.name] = self._of_token.get(rights.name, 0) + 1
