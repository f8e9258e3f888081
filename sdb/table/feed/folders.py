"""Inputs that appear in folders: syncs for ever, each of what is new since the last one.

Nothing is kept in memory but where each folder was listed to, so that a program that was killed
goes on where the table is.
"""

from __future__ import annotations

import time

from sdb.errors import SdbError
from sdb.table.feed.tables import FollowedTables
from sdb.table.feed.watch import InputWatch
from sdb.table.sync.plan import plan_some

TYPE_CHECKING = False
if TYPE_CHECKING:
    from threading import Event

    from sdb.table.catalog.root import TableRoot
    from sdb.table.definition.definition import Definition
    from sdb.table.feed.events import OnEvent
    from sdb.table.feed.tables import FeedTables, FollowedTable

INTERVAL_SECONDS = 5.0

SETTLE_SECONDS = 2.0
"""So long size and times of a local input stay as they are before it is taken."""


def follow(
    tables: FeedTables,
    stop: Event,
    on_event: OnEvent,
    *,
    interval_seconds: float = INTERVAL_SECONDS,
    settle_seconds: float = SETTLE_SECONDS,
) -> None:
    """Take new inputs of tables as they appear, until `stop` is set.

    Each table gets at most one version in each interval. Errors are reported once, and retried
    again: nothing is lost, and nothing taken twice.

    * ``stop``: Set to stop: before the next table, or at once while it waits.
    * ``on_event``: Called with each version, and with trouble when it begins, changes and ends.
    * ``settle_seconds``: How long a local input must have stood still before it is taken.

    Raises `InputChangedError` if an input has changed, and that is to be an error.
    """
    followed = FollowedTables(tables, on_event)
    folders: dict[str, _TableFolders] = {}
    while not stop.is_set():
        began = time.monotonic()
        has_more = False
        for table in followed.now()[0]:
            if stop.is_set():
                return
            if table.name not in folders:
                folders[table.name] = _TableFolders(tables.root, table, settle_seconds)
            has_more |= folders[table.name].round()
        if not has_more:
            stop.wait(max(0.0, began + interval_seconds - time.monotonic()))


class _TableFolders:
    """The folders of a table, which are listed."""

    def __init__(self, root: TableRoot, table: FollowedTable, settle_seconds: float) -> None:
        self._root = root
        self._table = table
        self._definition: Definition | None = None
        self._settle_seconds = settle_seconds
        self._watch = self._anew()

    def _anew(self) -> InputWatch:
        return InputWatch(settle_seconds=self._settle_seconds)

    def round(self) -> bool:
        """Take what is new, and return whether nothing was, and not everything was looked at."""
        try:
            is_done = self._round()
        except SdbError as error:
            self._table.fail(error)
            return False
        self._table.trouble.clear()
        return self._watch.has_more and not is_done

    def _round(self) -> bool:
        definition = self._table.definition()
        if definition != self._definition:
            self._definition, self._watch = definition, self._anew()
        self._watch.begin()
        self._table.take_lakes(definition)
        plan = plan_some(self._root, definition, self._table.known(), self._watch)
        synced = self._table.take(definition, plan)
        lists = () if synced is None else (synced.taken, synced.rejected, synced.renamed)
        done = sum(map(len, lists))
        # What was listed counts as seen only now: a round that failed is listed again.
        self._watch.end(missed=bool(plan.left_out) or done < len(plan.new))
        return done > 0
