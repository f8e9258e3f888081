"""Following a queue: tables take the objects that its messages name, without listing anything.

A message is deleted when the commit is there that took what it names, or the tables knew it
already: the inputs tree decides, so that it may come again, or late, or never be deleted.
"""

from __future__ import annotations

from sdb import notes
from sdb.errors import AccessError, NotFoundError, SdbError, UsageError
from sdb.store.url import queue_of, store_of
from sdb.table.commit.commit import check_writable
from sdb.table.feed.events import TroubleReporter
from sdb.table.feed.folders import INTERVAL_SECONDS
from sdb.table.feed.messages import QueueBatches
from sdb.table.feed.tables import FollowedTable
from sdb.table.format.keys import TableKeys
from sdb.table.format.versionref import MAIN
from sdb.table.inputs.pattern import InputPattern
from sdb.table.inputs.patternregex import matcher
from sdb.table.inputs.places import InputBounds, place_of_input
from sdb.table.sync.plan import plan_named
from sdb.table.sync.sync import tables_to_sync

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from threading import Event
    from typing import Any

    from sdb.store.base import Entry
    from sdb.table.catalog.root import TableRoot
    from sdb.table.definition.definition import Definition
    from sdb.table.feed.events import OnEvent
    from sdb.table.feed.messages import NamedObjects
    from sdb.table.inputs.places import OutsideError

_LOOKERS = 16
_UNWANTED = "fits no pattern of these tables: messages about it are deleted"


def follow_queue(  # noqa: PLR0913 - the command's options, by name
    root: TableRoot,
    database: str,
    pattern: str = "*",
    *,
    queue: str,
    stop: Event,
    on_event: OnEvent,
    interval_seconds: float = INTERVAL_SECONDS,
    branch: str = MAIN,
    author: str = "",
    **options: Any,  # noqa: ANN401 - those of packing
) -> None:
    """Take the inputs that messages of a queue name, until `stop` is set.

    Messages are gathered for an interval from the first one on, or until there are 5,000 objects or
    100 MiB of them; each table gets one version of them. Errors are reported once, and retried
    again: nothing is lost, and nothing taken twice.

    * ``pattern``: Their names; tables that are made later take part.
    * ``queue``: The URL of a queue of SQS, or a folder.
    * ``stop``: Set to stop: what is being taken is committed before, the rest is given back.
    * ``on_event``: Called with each version, with trouble, and with messages that no table takes.
    * ``author``: Recorded in the version.
    * ``options``: Others of :func:`sdb.pack`.

    Raises
    ------
    UsageError
        There is no key to sign with; or what is no queue.
    NotFoundError, AccessError
        There is no such queue, or it may not be looked at.
    """
    check_writable(root)
    with QueueBatches(queue_of(queue), stop, on_event, interval_seconds) as batches:
        work = _Work(root, (database, pattern), on_event, (branch, author), options)
        while (batch := batches.next()) is not None:
            left: Sequence[NamedObjects] = batch
            while left:
                done = work.round(left, batches)
                is_done = set(map(id, done.messages))
                batches.delete(done.messages)
                left = [named for named in left if id(named) not in is_done]
                if not done.is_stuck:
                    batches.release(left)
                    break
                if stop.wait(interval_seconds):
                    break


class _Round:
    """The outcome of one go at some messages."""

    def __init__(self, messages: Sequence[NamedObjects], *, is_stuck: bool) -> None:
        self.messages = messages
        self.is_stuck = is_stuck


class _Work:
    """Works on messages."""

    def __init__(
        self,
        root: TableRoot,
        tables: tuple[str, str],
        on_event: OnEvent,
        who: tuple[str, str],
        options: dict[str, Any],
    ) -> None:
        self._root = root
        self._database, self._pattern = tables
        self._on_event, self._who, self._options = on_event, who, options
        self._tables: dict[str, FollowedTable] = {}
        self._listing = TroubleReporter(on_event, self._database)
        self._bounds = InputBounds(root)

    def round(self, batch: Sequence[NamedObjects], batches: QueueBatches) -> _Round:
        """Take what messages name.

        Returns the messages whose objects need nothing more, and whether the others are stuck:
        every table that takes some of them has trouble.
        """
        uris = sorted({uri for named in batch for uri in named.uris})
        try:
            tables = tables_to_sync(self._root, self._database, self._pattern)
        except SdbError as error:
            self._listing.report(error)
            return _Round((), is_stuck=True)
        self._listing.clear()
        unwanted, left = set(uris), set[str]()
        worked = failed = False
        entries: dict[str, Entry | None] = {}
        for name in tables:
            table = self._table(name)
            wanted = uris  # until the definition is read
            try:
                definition = table.definition()
                wanted = self._wanted(definition, uris)
                refused = self._refused(definition, wanted)
                left.update(refused)
                wanted = [uri for uri in wanted if uri not in refused]
                left |= self._look([uri for uri in wanted if uri not in entries], entries)
                present = {uri: entry for uri in wanted if (entry := entries.get(uri)) is not None}
                left |= self._take(table, definition, present)
            except SdbError as error:
                if isinstance(error, NotFoundError) and table.is_gone:
                    continue  # since the tables were listed
                table.trouble.report(error)
                left.update(wanted)
                failed = True
            else:
                if refused:
                    table.trouble.report(refused[min(refused)])
                else:
                    table.trouble.clear()
                worked = worked or bool(wanted)
                unwanted.difference_update(refused)
            unwanted.difference_update(wanted)
        self._pass_over(unwanted, batches)
        done = [named for named in batch if left.isdisjoint(named.uris)]
        return _Round(done, is_stuck=failed and not worked)

    def _table(self, name: str) -> FollowedTable:
        if name not in self._tables:
            keys = TableKeys(self._database, name)
            self._tables[name] = FollowedTable(
                self._root, keys, self._on_event, self._who, self._options
            )
        return self._tables[name]

    def _wanted(self, definition: Definition, uris: Iterable[str]) -> list[str]:
        """Return the URIs that a table takes."""
        fits = [matcher(InputPattern.parse(rule.pattern)) for rule in definition.inputs]
        return [
            uri
            for uri in uris
            if any(match(uri) is not None for match in fits) and place_of_input(self._root, uri)
        ]

    def _refused(self, definition: Definition, uris: Sequence[str]) -> dict[str, OutsideError]:
        """Return the URIs that lead out of the root, with the patterns that want them."""
        refusals = {}
        for uri in uris:
            location = place_of_input(self._root, uri)
            if not self._bounds.has(location):
                fits = [InputPattern.parse(rule.pattern) for rule in definition.inputs]
                pattern = next(
                    candidate for candidate in fits if matcher(candidate)(uri) is not None
                )
                refusals[uri] = self._bounds.refusal(f"the pattern {pattern.text!r}", location)
        return refusals

    def _look(self, uris: Sequence[str], entries: dict[str, Entry | None]) -> set[str]:
        """Look up objects as they are now, and return those that may not be read."""
        from concurrent.futures import ThreadPoolExecutor

        def look(uri: str) -> tuple[str, Entry | None, SdbError | None]:
            location = place_of_input(self._root, uri)
            try:
                return uri, store_of(location).head(location), None
            except AccessError as error:
                return uri, None, error
            except (NotFoundError, UsageError):  # no such S3 bucket, or no key that there can be
                return uri, None, None

        left = set()
        with ThreadPoolExecutor(_LOOKERS) as pool:
            for uri, entry, error in pool.map(look, uris):
                if error is None:
                    entries[uri] = entry
                else:
                    notes.warn(f"left out: {error.message}")
                    left.add(uri)
        return left

    def _take(
        self, table: FollowedTable, definition: Definition, present: Mapping[str, Entry]
    ) -> set[str]:
        """Take inputs that are new to a table, and return those that it still lacks."""
        if not present:
            return set()
        plan = plan_named(self._root, definition, table.known(), present)
        synced = table.take(definition, plan)
        left = set(plan.left_out)
        taken = (
            set()
            if synced is None
            else {*synced.taken, *(rejected.uri for rejected in synced.rejected)}
        )
        # Other syncs may have taken the rest.
        lookup = table.known().lookup
        for new_input in plan.new:
            if new_input.uri not in taken:
                before = lookup(new_input.uri)
                if before is None or (before.is_failed and before.etag != new_input.etag):
                    left.add(new_input.uri)
        return left

    def _pass_over(self, uris: Iterable[str], batches: QueueBatches) -> None:
        """Warn about objects that no table wants, once for each folder; not of our own."""
        own = self._root.place("db/") if self._root.store.is_remote else "file://db/"
        for uri in sorted(uris):
            if not uri.startswith(own):
                batches.pass_over(uri.rpartition("/")[0], uri, _UNWANTED)
