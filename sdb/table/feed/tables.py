"""A table whose inputs are followed: what it takes, what it knows, and trouble with it."""

from __future__ import annotations

import time
from itertools import islice

from sdb.lake.names import is_lake_input
from sdb.records import replace
from sdb.table.catalog.handle import dropped, find_table
from sdb.table.definition.cache import read_definition
from sdb.table.feed.events import TroubleReporter
from sdb.table.feed.watch import ANEW_SECONDS
from sdb.table.sync.result import Synced
from sdb.table.sync.retained import warn_of_flaw
from sdb.table.sync.retention import retire
from sdb.table.sync.sync import take, take_lakes
from sdb.table.sync.work import check_unchanged

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any

    from sdb.table.catalog.root import TableRoot
    from sdb.table.definition.definition import Definition
    from sdb.table.feed.events import OnEvent
    from sdb.table.format.inputtree import InputsTree, TakenInput
    from sdb.table.format.keys import TableKeys
    from sdb.table.sync.work import SyncPlan

_MOST_REPORTED = 10_000
_MOST_NEAR = 100_000
_FEW_NODES = 8
"""Most nodes of inputs of a table that is searched for renamed inputs."""


class FollowedTable:
    """A table whose inputs are followed.

    * ``who``: The branch that takes the inputs, and the author.
    * ``changed``: See :func:`sdb.table.sync.sync.sync_table`.
    """

    def __init__(
        self,
        root: TableRoot,
        keys: TableKeys,
        on_event: OnEvent,
        who: tuple[str, str],
        options: dict[str, Any],
        *,
        changed: str | None = None,
    ) -> None:
        self._root = root
        self._keys = keys
        self._branch, self._author = who
        self._on_event = on_event
        self._options = options
        self._retire_at = 0.0
        self._changed = changed
        self._reported: dict[str, str] = {}
        self._has_passed = False
        self.trouble = TroubleReporter(on_event, keys.database, keys.table)

    @property
    def is_gone(self) -> bool:
        """True if its definition was deleted: there is nothing to follow any more."""
        return not self._root.has(self._keys.definition)

    @property
    def is_strict(self) -> bool:
        """True if the caller wants an input that has changed to end it all."""
        return self._changed == "fail"

    def definition(self) -> Definition:
        """Read the definition; now and then what is too old for the table goes out of it."""
        root, keys = self._root, self._keys
        definition = read_definition(root, keys)
        if time.monotonic() >= self._retire_at:
            retire(root, keys, definition, branch=self._branch, author=self._author)
            warn_of_flaw(root, keys, definition, self._branch)
            self._retire_at = time.monotonic() + ANEW_SECONDS
        return definition

    def known(self) -> KnownInputs:
        """Return the inputs that it knows from now on."""
        return KnownInputs(self._root, self._keys, self._branch)

    def take_lakes(self, definition: Definition) -> None:
        """Take the new versions of Delta and Iceberg tables, and report each."""
        if not any(is_lake_input(rule.pattern) for rule in definition.inputs):
            return
        for synced in take_lakes(
            self._root,
            self._keys,
            definition,
            changed=self._changed,
            branch=self._branch,
            author=self._author,
            **self._options,
        ):
            self.trouble.clear()
            self._on_event(synced)

    def take(self, definition: Definition, plan: SyncPlan) -> Synced | None:
        """Take what is new, and report it; None: there was nothing new.

        Raises
        ------
        InputChangedError
            An input has changed that was taken, and that is not to be.
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
                branch=self._branch,
                author=self._author,
                **self._options,
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
        """Find an input.

        Raises
        ------
        NotFoundError
            The table was dropped.
        """
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
