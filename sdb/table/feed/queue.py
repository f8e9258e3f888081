"""Following a queue: tables take the objects that its messages name, without listing anything.

A message is deleted when the commit is there that took what it names, or the tables knew it
already: the inputs tree decides, so that it may come again, or late, or never be deleted.
"""

from __future__ import annotations

from sdb import notes
from sdb.errors import AccessError, NotFoundError, SdbError, UsageError
from sdb.store.url import queue_of, store_of
from sdb.table.feed.folders import INTERVAL_SECONDS
from sdb.table.feed.messages import QueueBatches
from sdb.table.feed.tables import FollowedTables
from sdb.table.inputs.pattern import InputPattern
from sdb.table.inputs.patternregex import matcher
from sdb.table.inputs.places import InputBounds, place_of_input
from sdb.table.sync.plan import plan_named

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from threading import Event

    from sdb.store.base import Entry
    from sdb.table.definition.definition import Definition
    from sdb.table.feed.events import OnEvent
    from sdb.table.feed.messages import QueueBatch
    from sdb.table.feed.tables import FeedTables, FollowedTable
    from sdb.table.inputs.places import OutsideError

_LOOKERS = 16
_UNWANTED = "fits no pattern of these tables: messages about it are deleted"


def follow_queue(
    tables: FeedTables,
    queue: str,
    stop: Event,
    on_event: OnEvent,
    *,
    interval_seconds: float = INTERVAL_SECONDS,
) -> None:
    """Take the inputs that messages of a queue name, until `stop` is set.

    Messages are gathered for an interval from the first one on, or until there are 5,000 objects or
    100 MiB of them; each table gets one version of them. Errors are reported once, and retried
    again: nothing is lost, and nothing taken twice.

    * ``queue``: The URL of a queue of SQS, or a folder.
    * ``stop``: Set to stop: what is being taken is committed before, the rest is given back.
    * ``on_event``: Called with each version, with trouble, and with messages that no table takes.

    Raises `UsageError` if there is no key to sign with, or the name is that of no queue;
    `NotFoundError` or `AccessError` if there is no such queue, or it may not be looked at.
    """
    work = _Work(tables, on_event)
    with QueueBatches(queue_of(queue), stop, on_event, interval_seconds) as batches:
        while (batch := batches.next()) is not None:
            while batch.messages:
                left, is_stuck = work.round(batch)
                batch.acknowledge(left)
                # Where some tables work, what is left waits in the queue, and does not hold up what
                # comes behind it. Where none does, other messages would be stuck, too.
                if not is_stuck:
                    batch.release()
                elif stop.wait(interval_seconds):
                    break


class _Work:
    """Works on messages."""

    def __init__(self, tables: FeedTables, on_event: OnEvent) -> None:
        self._root = tables.root
        self._tables = FollowedTables(tables, on_event)
        self._bounds = InputBounds(tables.root)

    def round(self, batch: QueueBatch) -> tuple[set[str], bool]:
        """Take what messages name.

        Returns: The objects that are still to be taken, and whether these are stuck: every table
        that takes some of them has trouble.
        """
        uris = sorted({uri for named in batch.messages for uri in named.uris})
        tables, is_listed = self._tables.now()
        if not is_listed:
            return set(uris), True
        unwanted, left = set(uris), set[str]()
        worked = failed = False
        entries: dict[str, Entry | None] = {}
        for table in tables:
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
                if not table.fail(error):
                    continue
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
        self._pass_over(unwanted, batch)
        return left, failed and not worked

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

    def _pass_over(self, uris: Iterable[str], batch: QueueBatch) -> None:
        """Warn about objects that no table wants, once for each folder; not of our own."""
        own = self._root.place("db/") if self._root.store.is_remote else "file://db/"
        for uri in sorted(uris):
            if not uri.startswith(own):
                batch.pass_over(uri.rpartition("/")[0], uri, _UNWANTED)
