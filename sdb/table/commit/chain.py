"""Versions that follow each other, each the index of its time.

See :mod:`sdb.table.commit.recovery` for what happens when another program has written the index.
"""

from __future__ import annotations

from functools import partial

from sdb.records import field, record, replace
from sdb.table.catalog.foreign import is_overwritten, seal_of
from sdb.table.commit.adoption import Adopted, adopt
from sdb.table.commit.change import (
    FOREIGN,
    HOUSEKEEPING,
    PURGE,
    TableChange,
    apply_change,
    packfiles_between,
    rows_in,
    rows_of,
)
from sdb.table.commit.objects import put_new
from sdb.table.format import etags
from sdb.table.format.history import VersionPointer, listed_versions
from sdb.table.format.index import remember
from sdb.table.format.keys import is_packed, short_digest
from sdb.table.format.state import (
    TABLE_BYTES,
    VersionChanges,
    VersionState,
    state_of,
    with_state,
)
from sdb.table.format.versionref import MAIN

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from sdb.table.catalog.handle import TableHandle
    from sdb.table.commit.objects import ObjectWriter
    from sdb.table.format.descriptor import Descriptor
    from sdb.table.format.history import HistoryRef
    from sdb.table.format.index import Quarantined, TableIndex
    from sdb.table.format.state import RowCounts

DROP = "drop"
_LEAVING = HOUSEKEEPING | {FOREIGN}
MOST_FAILURES = 100
_MOST_REASON_LETTERS = 200


@record
class NewVersion:
    """A version that is not yet stored."""

    key: str  # where its index will be kept
    data: bytes  # its index
    packfiles: tuple[str, ...] = ()  # keys of the packfiles that come in with it


@record
class VersionChain:
    """The last version of a table, stored or not."""

    writer: ObjectWriter  # writes what versions need
    index: TableIndex  # the index of the version
    state: VersionState | None = None  # its state; None: the table has no version
    pointer: VersionPointer | None = None  # where the version is kept
    # Versions to be stored before the last of them becomes the index
    pending: tuple[NewVersion, ...] = field(default=(), repr=False)
    # What tells the table from all others, for its first version; empty: made then
    table: bytes = b""
    is_put_back: bool = False  # whether it takes the place of an older index that was put back
    # Tags and branches that the first version tells of
    names_of: tuple[dict[str, VersionPointer], tuple[str, ...]] = field(default=({}, ()))

    @property
    def to_publish(self) -> VersionChain | None:
        """The chain, if it has to become the index although nothing changes."""
        return self if self.is_put_back else None

    def append(self, change: TableChange, commit: str) -> VersionChain:
        """Add the version that a change makes.

        Raises `ConflictError` if the change does not fit.
        """
        changed = apply_change(self.index, change, self.writer)
        adopted = self._adopted(changed.index, change)
        # Later than the version before, whatever the clock says: a reference by time means one
        # version.
        at_us = max(self.writer.env.now_us(), self.index.created_us + 1)
        if self.state is not None:
            at_us = max(at_us, self.state.at_us + 1)
        index = replace(adopted.index, name=self.writer.keys.table, created_us=at_us)
        changes = changes_of(change.added, changed.removed, change.counts)
        size = changes.bytes_added - changes.bytes_removed
        rows = self._rows(index, changes)
        number = 1 if self.state is None else self.state.version + 1
        state = self._state(number, commit, at_us, at_us, change, rows, size)
        new = (*(packfile.key for packfile in change.added), *adopted.copies)
        state = replace(state, changes=changes, adopted=number if adopted.is_whole else 0)
        if change.follows_rows and not adopted.copies:
            before = self.state
            is_chain = before is not None and before.traced == before.version
            since = before.traced_since if before is not None and is_chain else number
            state = replace(state, traced=number, traced_since=since)
        return self._with(index, state, new)

    def _adopted(self, index: TableIndex, change: TableChange) -> Adopted:
        """Make packfiles ours that a change brings, or that were there before anybody did that."""
        is_own = not self.index.objects if self.state is None else self.state.is_own
        is_usual = is_own and change.content is None
        if is_usual and not any(is_packed(packfile.key) for packfile in change.added):
            return Adopted(index)
        boundary_us = 0 if self.state is None else self.state.boundary_us
        return adopt(index, self.writer, boundary_us, self._own_lists if is_own else ())

    @property
    def _own_lists(self) -> set[str]:
        return {ref.key for ref in self.index.indirect.refs}

    def foreign(
        self,
        index: TableIndex,
        before: TableIndex | None,
        number: int,
        commit: str,
        boundary_us: int = 0,
        seen: bytes = b"",
    ) -> VersionChain:
        """Add what another program has made of the index, with packfiles that are ours.

        * ``before``: That of the version that the other program has read; None: there was none.
        """
        added, removed = packfiles_between(before, index, self.writer.root.fetch)
        is_own = before is not None and self.state is not None and self.state.is_own
        boundary_us = max(boundary_us, 0 if self.state is None else self.state.boundary_us)
        adopted = adopt(index, self.writer, boundary_us, self._own_lists if is_own else ())
        at_us = max(index.created_us, 0)
        if self.state is not None:
            at_us = max(at_us, self.state.at_us + 1)
        changes = changes_of(added, removed)
        rows = self._rows(index, changes)
        size = changes.bytes_added - changes.bytes_removed
        change = TableChange(FOREIGN, boundary_us=boundary_us)
        is_listed_anew = before is not None and before.indirect.refs != index.indirect.refs
        index = replace(index, inline=adopted.index.inline, indirect=adopted.index.indirect)
        if is_listed_anew:
            # The other program takes for absent what packfiles of ours do not index.
            index = replace(index, indirect=replace(index.indirect, indices={}))
        index = replace(index, to_delete=self._collectable(index, before, removed))
        state = self._state(number, commit, at_us, index.created_us, change, rows, size)
        whole = number if adopted.is_whole else 0
        replaced = self._replaced(seen, number) if adopted.copies else None
        state = replace(state, changes=changes, adopted=whole, replaced=replaced)
        return self._with(index, state, adopted.copies)

    def _replaced(self, seen: bytes, number: int) -> VersionPointer:
        """Keep an index of another program for those who read it, as a lease does."""
        key = self.writer.keys.lease(short_digest(seen))
        put_new(self.writer.root, key, seen)
        return VersionPointer(number, key, etags.of_content([seen]))

    def _collectable(
        self, index: TableIndex, before: TableIndex | None, removed: Iterable[Descriptor]
    ) -> tuple[Quarantined, ...]:
        """Return what another program may delete: nothing that a version of ours refers to."""
        if before is None:
            return index.to_delete
        needed = {entry.key for entry in removed} | {ref.key for ref in before.indirect.refs}
        needed |= {ref.key for ref in before.inputs.root}
        return tuple([entry for entry in index.to_delete if entry.key not in needed])

    def _rows(self, index: TableIndex, changes: VersionChanges) -> int | None:
        """Return the number of rows of the version that follows; None: a packfile does not tell.

        The original does not count rows. As long as a packfile of it is there, nobody knows them.
        """
        came, went = changes.rows_added, changes.rows_removed
        if came is None:
            return None
        before = 0 if self.state is None else self.state.rows
        is_counted = self.state is None or self.state.is_own  # else added up by who took it for 0
        if is_counted and went is not None:
            return None if before is None else before + came - went
        return rows_in(index, self.writer.root.fetch)

    def _state(
        self,
        number: int,
        commit: str,
        at_us: int,
        created_us: int,
        change: TableChange,
        rows: int | None,
        size_bytes: int,
    ) -> VersionState:
        """Make the state of the next version, without what it has changed."""
        before = self.state
        if before is None:
            table = self.table or self.writer.env.random_bytes(TABLE_BYTES)
            state = VersionState(table, number, commit, at_us, created_us, "")
            tags, branches = self.names_of
            state = replace(state, tags=tags, branches=branches)
        else:
            history = before.history
            if self.pointer is not None:
                history = (*history, before.past(self.pointer.key, self.pointer.etag))
            # Of versions that are published together only the last becomes the index: it must tell
            # what the other program had written.
            replaced = before.replaced if self.pending else None
            state = replace(before, replaced=replaced)
            state = replace(
                state, version=number, commit=commit, at_us=at_us, created_us=created_us
            )
            state = replace(state, history=history, parent=self.pointer, kept_etag="", begins="")
            state = replace(state, merged=None)
            state = state.spilled(self.writer.history, self._fetch_history, self.writer.env.limits)
            state = state.without(
                change.expired, self.writer.history, self._fetch_history, change.thinned
            )
        if self.writer.branch != MAIN:  # tags and branches are those of the main index
            trunk = state.trunk if state.branch else self.pointer
            state = replace(state, branch=self.writer.branch, tags={}, branches=(), trunk=trunk)
        if change.merged is not None:
            state = _with_merged(state, change)
        if change.operation == PURGE:
            state = _purged(state, change)
        return replace(
            state,
            failures=_failures(state.failures, change),
            tags={name: tag for name, tag in state.tags.items() if name not in change.untagged},
            # Never back: a collection that has begun deletes by the later one.
            boundary_us=max(state.boundary_us, change.boundary_us),
            parent_since_us=change.parent_since_us,
            operation=change.operation,
            author=change.author,
            message=change.message,
            ids=change.ids,
            shares={**state.shares, **change.shares},
            transaction=change.transaction,
            schema=state.schema if change.schema is None else change.schema,
            dropped=change.operation == DROP or (state.dropped and change.operation in _LEAVING),
            rows=rows,
            size_bytes=max(0, state.size_bytes + size_bytes),
        )

    def _fetch_history(self, ref: HistoryRef) -> bytes:
        return self.writer.root.fetch(ref.key, ref.etag)

    def _with(
        self, index: TableIndex, state: VersionState, packfiles: tuple[str, ...]
    ) -> VersionChain:
        state = replace(state, seal=seal_of(index))
        index = replace(index, user_data=with_state(index.user_data, state))
        keyring = self.writer.root.keyring
        data = index.encode(keyring)
        remember(data, keyring, index)
        key = self.writer.keys.version(state.version, state.commit)
        pointer = VersionPointer(state.version, key, etags.of_content([data]))
        pending = (*self.pending, NewVersion(key, data, packfiles))
        return VersionChain(self.writer, index, state, pointer, pending)

    def place_of(self, commit: str, since: int = 0) -> VersionPointer | None:
        """Find the version that a commit has made."""
        state, keys = self.state, self.writer.keys
        if state is None or self.pointer is None:
            return None
        if commit == state.commit or commit in state.ids:
            return self.pointer
        suffix = f"-{commit}"
        listed = state.history
        # The newest lists first, since each is a request, and a retry asks only for what came
        # since.
        for ref in (None, *reversed(state.older)):
            if ref is not None:
                if ref.last < since:
                    break
                listed = listed_versions(ref, partial(self._fetch_history, ref))
            for past in reversed(listed):
                is_its_own = past.key.endswith(suffix) and keys.version_of(past.key) == (
                    past.version,
                    commit,
                )
                if is_its_own or past.did(commit):
                    return VersionPointer(past.version, past.key, past.etag)
        return None


def head_version(head: TableHandle, writer: ObjectWriter) -> VersionChain:
    """Return version that the head is; without a pointer when another program has written it."""
    state = head.state
    if state is None or is_overwritten(head):
        return VersionChain(writer, head.index)
    key = writer.keys.version(state.version, state.commit)
    etag = state.kept_etag or etags.of_content([head.data])
    pointer = VersionPointer(state.version, key, etag)
    return VersionChain(writer, head.index, state, pointer)


def told_rows(index: TableIndex, rows: int | None) -> int | None:
    """Return the rows of an index where these may have been added up by an older `sdb`.

    The original does not count rows, and to an older `sdb` packfiles without a count were empty.
    What is in the index alone is counted.
    """
    known = rows_of(index.inline)
    if not index.indirect.refs or known is None:
        return known
    state = state_of(index.user_data)
    past = () if state is None else state.history
    operations = {version.operation for version in past} | ({state.operation} if state else set())
    return None if FOREIGN in operations else rows


def changes_of(
    added: Sequence[Descriptor], removed: Sequence[Descriptor], counts: RowCounts | None = None
) -> VersionChanges:
    """Return what a version tells of packfiles that came in, and that went.

    * ``counts``: What became of their rows; told only if it comes to the rows of the packfiles.
    """
    numbers = len(added), len(removed), rows_of(added), rows_of(removed)
    changes = VersionChanges(*numbers, _bytes(added), _bytes(removed))
    came, went = changes.rows_added, changes.rows_removed
    if counts is None or came is None or went is None:
        return changes
    if counts.inserted - counts.deleted != came - went:
        return changes
    row_counts = counts.inserted, counts.updated, counts.deleted
    return replace(
        changes, rows_inserted=row_counts[0], rows_updated=row_counts[1], rows_deleted=row_counts[2]
    )


def _purged(state: VersionState, change: TableChange) -> VersionState:
    """Return a state without the versions that a purge has taken out of it."""
    joined = state.joined
    if joined is not None:
        joined = tuple([item for item in joined if item.key not in change.unjoined])
    return replace(
        state,
        merges={name: item for name, item in state.merges.items() if name not in change.unmerged},
        joined=joined,
        picked=tuple([item for item in state.picked if item not in change.expired]),
        purged=max(state.purged, *change.expired, 0),
    )


def _with_merged(state: VersionState, change: TableChange) -> VersionState:
    """Add to a state which version it has merged, as a whole or a part of it."""
    name, pointer = change.merged or ("", None)
    if pointer is None:
        return state
    if not name:
        return replace(state, merged=pointer, picked=(*state.picked, state.version))
    before = state.merges.get(name, pointer)
    joined, picked, trunk = state.joined, state.picked, state.trunk
    if change.lineage is not None:
        joined, picked, trunk = change.lineage
    elif joined is not None and before != pointer:
        joined = (*joined, before)
    return replace(
        state,
        merged=pointer,
        merges={**state.merges, name: pointer},
        joined=joined,
        picked=picked,
        trunk=trunk if state.branch else None,
    )


def _bytes(packfiles: Iterable[Descriptor]) -> int:
    return sum(packfile.size_bytes for packfile in packfiles)


def _failures(before: dict[str, str], change: TableChange) -> dict[str, str]:
    """Return the reasons why inputs failed, after a change: the newest of them."""
    taken = {changed.path for changed in change.inputs}
    remaining = {path: reason for path, reason in before.items() if path not in taken}
    new = {
        changed.path: changed.reason[:_MOST_REASON_LETTERS]
        for changed in change.inputs
        if changed.reason
    }
    return dict([*remaining.items(), *new.items()][-MOST_FAILURES:])
