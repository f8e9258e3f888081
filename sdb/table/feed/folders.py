"""Following inputs: syncs for ever, each of what is new since the last one.

Nothing is kept in memory but where each folder was listed to, so that a program that was killed
goes on where the table is.
"""

from __future__ import annotations

import time

from sdb.errors import NotFoundError, SdbError
from sdb.table.commit.commit import check_writable
from sdb.table.feed.events import TroubleReporter
from sdb.table.feed.tables import FollowedTable
from sdb.table.feed.watch import InputWatch
from sdb.table.format.keys import TableKeys
from sdb.table.format.versionref import MAIN
from sdb.table.sync.plan import plan_some
from sdb.table.sync.sync import tables_to_sync
from sdb.table.sync.work import InputChangedError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from threading import Event
    from typing import Any

    from sdb.table.catalog.root import TableRoot
    from sdb.table.definition.definition import Definition
    from sdb.table.feed.events import OnEvent

INTERVAL_SECONDS = 5.0

SETTLE_SECONDS = 2.0
"""So long size and times of a local input stay as they are before it is taken."""


def follow(  # noqa: PLR0913 - the command's options, by name
    root: TableRoot,
    database: str,
    pattern: str = "*",
    *,
    stop: Event,
    on_event: OnEvent,
    interval_seconds: float = INTERVAL_SECONDS,
    settle_seconds: float = SETTLE_SECONDS,
    changed: str | None = None,
    branch: str = MAIN,
    author: str = "",
    **options: Any,  # noqa: ANN401 - those of packing
) -> None:
    """Take new inputs of tables as they appear, until `stop` is set.

    Each table gets at most one version in each interval. Errors are reported once, and retried
    again: nothing is lost, and nothing taken twice.

    * ``pattern``: Their names; tables that are made later are followed too.
    * ``stop``: Set to stop: before the next table, or at once while it waits.
    * ``on_event``: Called with each version, and with trouble when it begins, changes and ends.
    * ``settle_seconds``: How long a local input must have stood still before it is taken.
    * ``changed``: See :func:`sdb.table.sync.sync.sync_table`.
    * ``author``: Recorded in the version.
    * ``options``: Others of :func:`sdb.pack`.

    Raises
    ------
    UsageError
        There is no key to sign with.
    InputChangedError
        An input has changed, and `changed` is ``fail``.
    """
    check_writable(root)
    followed: dict[str, _Listed] = {}
    listing = TroubleReporter(on_event, database)
    while not stop.is_set():
        began = time.monotonic()
        has_more = False
        try:
            tables = tables_to_sync(root, database, pattern)
        except SdbError as error:
            listing.report(error)
            tables = list(followed)
        else:
            listing.clear()
        for table in tables:
            if stop.is_set():
                return
            if table not in followed:
                keys = TableKeys(database, table)
                follower = FollowedTable(
                    root, keys, on_event, (branch, author), options, changed=changed
                )
                followed[table] = _Listed(root, follower, settle_seconds)
            has_more |= followed[table].round()
        if not has_more:
            stop.wait(max(0.0, began + interval_seconds - time.monotonic()))


class _Listed:
    """A table whose inputs are listed."""

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
            if isinstance(error, InputChangedError) and self._table.is_strict:
                raise
            if not (isinstance(error, NotFoundError) and self._table.is_gone):
                self._table.trouble.report(error)
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
        self._watch.end(missed=bool(plan.left_out) or done < len(plan.new))
        return done > 0
