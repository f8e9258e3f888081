"""Versions that follow each other, each the index of its time.

See :mod:`sdb.table.overwritten` for what happens when another program has written the index.
"""

from __future__ import annotations

from functools import partial

from sdb import ion
from sdb.records import field, record, replace
from sdb.table import etags, knownindexes
from sdb.table.references import MAIN
from sdb.table.tablechange import (
    HOUSEKEEPING,
    TableChange,
    apply_change,
    packfiles_between,
)
from sdb.table.versionhistory import VersionPointer, listed_versions
from sdb.table.versionstate import (
    TABLE_BYTES,
    VersionChanges,
    VersionState,
    with_state,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from sdb.table.descriptor import Descriptor
    from sdb.table.index import TableIndex
    from sdb.table.objectwriter import ObjectWriter
    from sdb.table.tablehandle import TableHandle
    from sdb.table.versionhistory import HistoryRef

FOREIGN = "foreign"
DROP = "drop"
_LEAVING = HOUSEKEEPING | {FOREIGN}
MOST_FAILURES = 100
_MOST_REASON_LETTERS = 200


@record
class NewVersion:
    """A version that is not yet stored.

    Attributes
    ----------
    key : str
        Where its index will be kept.
    data : bytes
        Its index.
    packfiles : tuple of str
        Keys of the packfiles that come in with it.
    """

    key: str
    data: bytes
    packfiles: tuple[str, ...] = ()


@record
class Succession:
    """The last version of a table, stored or not.

    Attributes
    ----------
    writer : ObjectWriter
        Writes what versions need.
    index : TableIndex
        The index of the version.
    state : VersionState or None
        Its state; None: the table has no version.
    pointer : VersionPointer or None
        Where the version is kept.
    pending : tuple of NewVersion
        Versions to be stored before the last of them becomes the index.
    table : bytes
        What tells the table from all others, for its first version; empty: made then.
    """

    writer: ObjectWriter
    index: TableIndex
    state: VersionState | None = None
    pointer: VersionPointer | None = None
    pending: tuple[NewVersion, ...] = field(default=(), repr=False)
    table: bytes = b""

    def follow(self, change: TableChange, commit: str) -> Succession:
        """Add the version that a change makes.

        Parameters
        ----------
        change : TableChange
            The change.
        commit : str
            The id of the commit.

        Returns
        -------
        Succession
            With one version more to be stored.

        Raises
        ------
        ConflictError
            The change does not fit.
        """
        changed = apply_change(self.index, change, self.writer)
        at_us = max(self.writer.around.now_us(), self.index.created_us + 1)
        if self.state is not None:
            at_us = max(at_us, self.state.at_us + 1)
        index = replace(changed.index, name=self.writer.keys.table, created_us=at_us)
        changes = VersionChanges(
            len(change.added),
            len(changed.removed),
            _rows(change.added),
            _rows(changed.removed),
            _bytes(change.added),
            _bytes(changed.removed),
        )
        size = changes.bytes_added - changes.bytes_removed
        rows = changes.rows_added - changes.rows_removed
        number = 1 if self.state is None else self.state.version + 1
        state = self._state(number, commit, at_us, at_us, change, rows, size)
        made = self._with(index, replace(state, changes=changes))
        last = replace(made.pending[-1], packfiles=tuple([one.key for one in change.added]))
        return replace(made, pending=(*self.pending, last))

    def foreign(
        self,
        index: TableIndex,
        before: TableIndex | None,
        number: int,
        commit: str,
        boundary_us: int = 0,
    ) -> Succession:
        """Add what another program has made of the index.

        Parameters
        ----------
        index : TableIndex
            The index as it is.
        before : TableIndex or None
            That of the version that the other program has read; None: there was none.
        number : int
            The number that it gets.
        commit : str
            The id that it gets.
        boundary_us : int
            The latest boundary of versions that were overwritten.

        Returns
        -------
        Succession
            With one version more to be stored.
        """
        added, removed = packfiles_between(before, index, self.writer.root.fetch)
        at_us = max(index.created_us, 0)
        if self.state is not None:
            at_us = max(at_us, self.state.at_us + 1)
        counts = (len(added), len(removed), _rows(added), _rows(removed))
        changes = VersionChanges(*counts, _bytes(added), _bytes(removed))
        rows = max(changes.rows_added - changes.rows_removed, -self._total_rows)
        size = changes.bytes_added - changes.bytes_removed
        change = TableChange(FOREIGN, boundary_us=boundary_us)
        if before is not None and before.indirect.refs != index.indirect.refs:
            # The other program takes for absent what packfiles of ours do not index.
            index = replace(index, indirect=replace(index.indirect, indices={}))
        state = self._state(number, commit, at_us, index.created_us, change, rows, size)
        return self._with(index, replace(state, changes=changes))

    @property
    def _total_rows(self) -> int:
        return 0 if self.state is None else self.state.rows

    def _state(
        self,
        number: int,
        commit: str,
        at_us: int,
        created_us: int,
        change: TableChange,
        rows: int,
        size_bytes: int,
    ) -> VersionState:
        """Make the state of the next version, without what it has changed."""
        before = self.state
        if before is None:
            table = self.table or self.writer.around.random_bytes(TABLE_BYTES)
            state = VersionState(table, number, commit, at_us, created_us, "")
        else:
            history = before.history
            if self.pointer is not None:
                history = (*history, before.past(self.pointer.key, self.pointer.etag))
            state = replace(
                before, version=number, commit=commit, at_us=at_us, created_us=created_us
            )
            state = replace(state, history=history, parent=self.pointer, kept="", merged=None)
            state = state.spilled(self.writer.history, self._fetch_history)
            state = state.without(change.expired, self.writer.history, self._fetch_history)
        if self.writer.branch != MAIN:  # tags and branches are those of the main index
            state = replace(state, branch=self.writer.branch, tags={}, branches=())
        if change.merged is not None:
            name, pointer = change.merged
            merges = {**state.merges, name: pointer} if name else state.merges
            state = replace(state, merged=pointer, merges=merges)
        return replace(
            state,
            failures=_failures(state.failures, change),
            tags={name: tag for name, tag in state.tags.items() if name not in change.untagged},
            boundary_us=max(state.boundary_us, change.boundary_us),
            parent_since_us=change.parent_since_us,
            operation=change.operation,
            author=change.author,
            message=change.message,
            ids=change.ids,
            shares={**state.shares, **change.shares},
            transaction=change.transaction,
            dropped=change.operation == DROP or (state.dropped and change.operation in _LEAVING),
            rows=max(0, state.rows + rows),
            size_bytes=max(0, state.size_bytes + size_bytes),
        )

    def _fetch_history(self, ref: HistoryRef) -> bytes:
        return self.writer.root.fetch(ref.key, ref.etag)

    def _with(self, index: TableIndex, state: VersionState) -> Succession:
        state = replace(state, seal=seal_of(index))
        index = replace(index, user_data=with_state(index.user_data, state))
        keyring = self.writer.root.keyring
        data = index.encode(keyring)
        knownindexes.remember(data, keyring, index)
        key = self.writer.keys.version(state.version, state.commit)
        pointer = VersionPointer(state.version, key, etags.of_content([data]))
        pending = (*self.pending, NewVersion(key, data))
        return Succession(self.writer, index, state, pointer, pending)

    def place_of(self, commit: str, since: int = 0) -> VersionPointer | None:
        """Find the version that a commit has made.

        Parameters
        ----------
        commit : str
            The id of the commit.
        since : int
            It is no version before this one.

        Returns
        -------
        VersionPointer or None
            None: the commit has made none, or it has expired.
        """
        state, keys = self.state, self.writer.keys
        if state is None or self.pointer is None:
            return None
        if commit == state.commit or commit in state.ids:
            return self.pointer
        suffix = f"-{commit}"
        listed = state.history
        for ref in (None, *reversed(state.older)):
            if ref is not None:
                if ref.last < since:
                    break
                listed = listed_versions(ref, partial(self._fetch_history, ref))
            for one in reversed(listed):
                is_its_own = one.key.endswith(suffix) and keys.version_of(one.key) == (
                    one.version,
                    commit,
                )
                if is_its_own or one.did(commit):
                    return VersionPointer(one.version, one.key, one.etag)
        return None


def seal_of(index: TableIndex) -> bytes:
    """Give the digest by which an index that another program has written is told from ours."""
    from hashlib import blake2b

    said = {
        "created": ion.instant_from_us(index.created_us),
        "to-delete": [one.struct() for one in index.to_delete],
        "scan": [str(index.last_scan_us), index.is_scanning, *index.cursors],
        "inline": [f"{one.key} {one.etag}" for one in index.inline],
        "indirect": [f"{ref.key} {ref.etag}" for ref in index.indirect.refs],
        "inputs": [f"{ref.key} {ref.etag}" for ref in index.inputs.root],
        "journal": sorted(f"{one.number} {one.path}" for one in index.inputs.journal or ()),
        "cursor": str(index.user_data.get("packed-gc-cursor", "")),
    }
    return blake2b(ion.dumps(said), digest_size=16).digest()


def head_version(head: TableHandle, writer: ObjectWriter) -> Succession:
    """Give the version that the head is; without a pointer when another program has written it."""
    state = head.state
    if state is None or is_overwritten(head):
        return Succession(writer, head.index)
    key = writer.keys.version(state.version, state.commit)
    etag = state.kept or etags.of_content([head.data])
    pointer = VersionPointer(state.version, key, etag)
    return Succession(writer, head.index, state, pointer)


def is_foreign(index: TableIndex, state: VersionState) -> bool:
    """Tell whether another program has written an index over that of a state."""
    return state.created_us != index.created_us or state.seal != seal_of(index)


def is_overwritten(head: TableHandle) -> bool:
    """Tell whether another program has written the index that was read, whichever counts."""
    index, state = head.index, head.state
    if head.joint is not None:
        index, state = head.joint.index, head.joint.state
    return state is None or is_foreign(index, state)


def _rows(packfiles: Iterable[Descriptor]) -> int:
    return sum(one.rows or 0 for one in packfiles)


def _bytes(packfiles: Iterable[Descriptor]) -> int:
    return sum(one.size_bytes for one in packfiles)


def _failures(before: dict[str, str], change: TableChange) -> dict[str, str]:
    """Give the reasons why inputs failed, after a change: the newest of them."""
    taken = {one.path for one in change.inputs}
    kept = {path: reason for path, reason in before.items() if path not in taken}
    new = {one.path: one.reason[:_MOST_REASON_LETTERS] for one in change.inputs if one.reason}
    return dict([*kept.items(), *new.items()][-MOST_FAILURES:])
