"""Events of feeds, beside the versions that they make."""

from __future__ import annotations

import threading

from sdb.records import record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeAlias

    from sdb.errors import SdbError
    from sdb.table.insert.insert import Inserted
    from sdb.table.sync.result import Synced

    FeedEvent: TypeAlias = "Inserted | Synced | Trouble | PassedOver | Remark"
    OnEvent: TypeAlias = "Callable[[FeedEvent], None]"


@record
class Trouble:
    """A table that cannot take anything now, or that can again."""

    # Its names; the second one is empty when the database cannot be listed, and both for a queue
    database: str
    table: str
    error: SdbError | None  # what is wrong; None: it works again
    queue: str = ""  # the queue that it is about


@record
class PassedOver:
    """Messages of a queue that are not worked on, reported once for each kind."""

    queue: str  # the queue
    example: str  # what the first one of them says
    reason: str  # why nothing is done, and what becomes of them


@record
class Remark:
    """A remark on a file that is followed: it was truncated, is gone, or is a copy."""

    text: str


class TroubleReporter:
    """Reports trouble: when it begins, changes, and ends."""

    def __init__(
        self, on_event: OnEvent, database: str = "", table: str = "", queue: str = ""
    ) -> None:
        self._names = (database, table, queue)
        self._on_event = on_event
        self._reported = ""
        self._guard = threading.Lock()

    def report(self, error: SdbError) -> None:
        """Report an error, unless it was reported already."""
        self._become(error.message, error)

    def clear(self) -> None:
        """Report that it works again, if it did not."""
        self._become("", None)

    def _become(self, text: str, error: SdbError | None) -> None:
        database, table, queue = self._names
        with self._guard:
            if text != self._reported:
                self._on_event(Trouble(database, table, error, queue))
            self._reported = text
