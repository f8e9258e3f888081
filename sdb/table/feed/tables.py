"""Tables whose inputs are followed: what they take, what they know, and trouble with them."""

from __future__ import annotations

import time
from itertools import islice

from sdb.errors import NotFoundError, SdbError
from sdb.lake.names import is_lake_input
from sdb.records import field, record, replace
from sdb.table.catalog.handle import dropped, find_table
from sdb.table.commit.commit import check_writable
from sdb.table.definition.cache import read_definition
from sdb.table.feed.events import TroubleReporter
from sdb.table.feed.watch import ANEW_SECONDS
from sdb.table.format.keys import TableKeys
from sdb.table.format.versionref import MAIN
from sdb.table.sync.result import Synced
from sdb.table.sync.retained import warn_of_flaw
from sdb.table.sync.retention import retire
from sdb.table.sync.sync import tables_to_sync, take, take_lakes
from sdb.table.sync.work import InputChangedError, check_unchanged

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from typing import Any

    from sdb.table.catalog.root import TableRoot
    from sdb.table.definition.definition import Definition
    from sdb.table.feed.events import OnEvent
    from sdb.table.format.inputtree import InputsTree, TakenInput
    from sdb.table.sync.work import SyncPlan

_MOST_REPORTED = 10_000
_MOST_NEAR = 100_000
_FEW_NODES = 8
"""Most nodes of inputs of a table that is searched for renamed inputs."""


@record
class FeedTables:
    """The tables of a database that take what a feed brings, and how."""

    root: TableRoot
    database: str
    pattern: str = "*"  # of their names; tables that are made later take part
    changed: str | None = None  # see :func:`sdb.table.sync.sync.sync_table`
    branch: str = MAIN
    author: str = ""
    options: Mapping[str, Any] = field(default_factory=dict)  # others of :func:`sdb.pack`


class FollowedTables:
    """The tables of a feed, listed again and again.

    Raises `UsageError` if there is no key to sign with.
    """

    def __init__(self, tables: FeedTables, on_event: OnEvent) -> None:
        check_writable(tables.root)
        self._tables, self._on_event = tables, on_event
        self._followed: dict[str, FollowedTable] = {}
        self._listing = TroubleReporter(on_event, tables.database)

    def now(self) -> tuple[list[FollowedTable], bool]:
        """Return the tables that there are, and whether they could be listed: else those known."""
        tables = self._tables
        try:
            names = tables_to_sync(tables.root, tables.database, tables.pattern)
        except SdbError as error:
            self._listing.report(error)
            return list(self._followed.values()), False
        self._listing.clear()
        for name in names:
            if name not in self._followed:
                self._followed[name] = FollowedTable(tables, name, self._on_event)
        return [self._followed[name] for name in names], True


class FollowedTable:
    """A table whose inputs are followed."""

    def __init__(self, tables: FeedTables, name: str, on_event: OnEvent) -> None:
        self.name = name
        self._root, self._changed = tables.root, tables.changed
        self._keys = keys = TableKeys(tables.database, name)
        self._feed, self._on_event = tables, on_event
        self._retire_at = 0.0
        self._reported: dict[str, str] = {}
        self._has_passed = False
        self.trouble = TroubleReporter(on_event, keys.database, keys.table)

    def fail(self, error: SdbError) -> bool:
        """Report an error, and return True; False: the table is gone since it was listed.

        Raises `InputChangedError` if an input has changed, and that is to end it all.
        """
        if isinstance(error, InputChangedError) and self._changed == "fail":
            raise error
        if isinstance(error, NotFoundError) and not self._root.has(self._keys.definition):
            return False
        self.trouble.report(error)
        return True

    def definition(self) -> Definition:
        """Read the definition; now and then what is too old for the table goes out of it."""
        root, keys = self._root, self._keys
        definition = read_definition(root, keys)
        if time.monotonic() >= self._retire_at:
            branch, author = self._feed.branch, self._feed.author
            retire(root, keys, definition, branch=branch, author=author)
            warn_of_flaw(root, keys, definition, branch)
            self._retire_at = time.monotonic() + ANEW_SECONDS
        return definition

    def known(self) -> KnownInputs:
        """Return the inputs that it knows from now on."""
        return KnownInputs(self._root, self._keys, self._feed.branch)

    def take_lakes(self, definition: Definition) -> None:
        """Take the new versions of Delta and Iceberg tables, and report each."""
        if not any(is_lake_input(rule.pattern) for rule in definition.inputs):
            return
        for synced in take_lakes(
            self._root,
            self._keys,
            definition,
            changed=self._changed,
            branch=self._feed.branch,
            author=self._feed.author,
            **self._feed.options,
        ):
            self.trouble.clear()
            self._on_event(synced)

    def take(self, definition: Definition, plan: SyncPlan) -> Synced | None:
        """Take what is new, and report it; None: there was nothing new.

        Raises `InputChangedError` if an input has changed that was taken, and that is not to be.
        """
        changed = self._changed or definition.changed or "keep"
        if changed == "fail":
            check_unchanged(self._keys, plan.changed)
        newer = tuple(
            [
                new_input
                for new_input in plan.newer
                if self._reported.get(new_input.uri) != new_input.etag
            ]
        )
        if plan.new or (changed == "replace" and newer):
            synced = take(
                self._root,
                self._keys,
                definition,
                replace(plan, newer=newer),
                changed=changed,
                branch=self._feed.branch,
                author=self._feed.author,
                **self._feed.options,
            )
        else:
            synced = Synced(
                self._keys.database, self._keys.table, None, (), 0, 0, (), plan.changed, ()
            )
        synced = self._without_reported(
            synced, plan, {new_input.uri: new_input.etag for new_input in newer}
        )
        outcomes = (synced.taken, synced.rejected, synced.changed, synced.passed, synced.renamed)
        if not any(outcomes):
            return None
        self.trouble.clear()
        self._on_event(synced)
        return synced

    def _without_reported(self, synced: Synced, plan: SyncPlan, newer: dict[str, str]) -> Synced:
        """Leave out what was reported before: the same content of an input, and temporary names."""
        changed = [uri for uri in synced.changed if uri in newer]
        self._reported |= {uri: newer[uri] for uri in changed}
        while len(self._reported) > _MOST_REPORTED:
            del self._reported[next(iter(self._reported))]
        passed = () if self._has_passed else plan.passed
        self._has_passed = self._has_passed or bool(passed)
        return replace(synced, changed=tuple(changed), passed=passed)


class KnownInputs:
    """The inputs that a table knows; its index is read when the first one is asked for."""

    def __init__(self, root: TableRoot, keys: TableKeys, branch: str) -> None:
        self._root = root
        self._keys = keys
        self._branch = branch
        self._is_read = False
        self._tree: InputsTree | None = None
        self._is_small = True
        self.written_us = 0

    def near(self, uris: Iterable[str]) -> Iterator[TakenInput]:
        """Yield its inputs; where these are many, the first ones in the folders of some."""
        folders = {uri.rpartition("/")[0] + "/" for uri in uris}
        if self._tree is None:
            return
        for folder in [""] if self._is_small else sorted(folders):
            for entry in islice(self._tree.walk(folder), _MOST_NEAR):
                if not entry.path.startswith(folder):
                    break
                yield entry

    def lookup(self, uri: str) -> TakenInput | None:
        """Find an input. Raises `NotFoundError` if the table was dropped."""
        if not self._is_read:
            keys = self._keys
            handle = find_table(self._root, keys.database, keys.table, branch=self._branch)
            if handle is not None and handle.is_dropped:
                raise dropped(self._root, keys)
            if handle is not None:
                nodes = handle.index.inputs.root
                self._tree, self.written_us = handle.inputs, handle.index.created_us
                self._is_small = len(nodes) <= _FEW_NODES and not any(
                    node.is_inner for node in nodes
                )
            self._is_read = True
        return None if self._tree is None else self._tree.lookup(uri)
