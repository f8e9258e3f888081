"""Versions that follow each other: ours, those of other programs, and what these have overwritten.

A head is what the index is now. Before a commit adds a version to it, it is made the last version
of a history:

* Nobody else has written it: it is a version already.
* Another program has: what is there becomes a version of its own, `foreign`. The original writes
  without looking, so it may have thrown away versions that were committed after it had read. These
  are still listed below ``versions/``, and what they did is done again.
"""

from __future__ import annotations

from sdb import ion, notes
from sdb.errors import ConflictError, CorruptError, SdbError, UnsupportedError
from sdb.records import field, record, replace
from sdb.table import etags
from sdb.table.index import TableIndex
from sdb.table.objectwriter import look
from sdb.table.tablechange import (
    FAILED,
    ChangedInput,
    InputKnownError,
    TableChange,
    apply_change,
    inputs_between,
    packfiles_between,
)
from sdb.table.versionhistory import VersionPointer, read_history
from sdb.table.versionstate import (
    TABLE_BYTES,
    VersionChanges,
    VersionState,
    state_of,
    with_state,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from sdb.table.descriptor import Descriptor
    from sdb.table.objectwriter import ObjectWriter
    from sdb.table.tablehandle import TableHandle
    from sdb.table.versionhistory import HistoryRef

FOREIGN = "foreign"


@record
class NewVersion:
    """A version that is not yet stored.

    Attributes
    ----------
    key : str
        Where its index will be kept.
    data : bytes
        Its index.
    """

    key: str
    data: bytes


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
        )
        size = _bytes(change.added) - _bytes(changed.removed)
        rows = changes.rows_added - changes.rows_removed
        number = 1 if self.state is None else self.state.version + 1
        state = self._state(number, commit, at_us, at_us, change, rows, size)
        return self._with(index, replace(state, changes=changes))

    def foreign(
        self, index: TableIndex, before: TableIndex | None, number: int, commit: str
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

        Returns
        -------
        Succession
            With one version more to be stored.
        """
        added, removed = packfiles_between(before, index, self.writer.root.fetch)
        at_us = max(index.created_us, 0)
        if self.state is not None:
            at_us = max(at_us, self.state.at_us + 1)
        changes = VersionChanges(len(added), len(removed), _rows(added), _rows(removed))
        rows = max(changes.rows_added - changes.rows_removed, -self._total_rows)
        size = _bytes(added) - _bytes(removed)
        change = TableChange(FOREIGN)
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
            state = replace(state, history=history, parent=self.pointer)
            state = state.spilled(self.writer.history, self._fetch_history)
        return replace(
            state,
            operation=change.operation,
            author=change.author,
            message=change.message,
            rows=max(0, state.rows + rows),
            size_bytes=max(0, state.size_bytes + size_bytes),
        )

    def _fetch_history(self, ref: HistoryRef) -> bytes:
        return self.writer.root.fetch(ref.key, ref.etag)

    def _with(self, index: TableIndex, state: VersionState) -> Succession:
        state = replace(state, seal=seal_of(index))
        index = replace(index, user_data=with_state(index.user_data, state))
        data = index.encode(self.writer.root.keyring)
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
        if state.commit == commit:
            return self.pointer
        listed = state.history
        for ref in (None, *reversed(state.older)):
            if ref is not None:
                if ref.last < since:
                    break
                listed = read_history(self._fetch_history(ref), ref)
            for one in reversed(listed):
                if keys.version_of(one.key) == (one.version, commit):
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


def succession_of(head: TableHandle | None, writer: ObjectWriter) -> Succession:
    """Make what is there the last version of a history.

    Parameters
    ----------
    head : TableHandle or None
        The table as it is; None: there is none yet.
    writer : ObjectWriter
        Writes what versions need.

    Returns
    -------
    Succession
        The last version. Versions that are not yet stored are pending.

    Raises
    ------
    CorruptError
        What the head leads to is missing or damaged.
    """
    if head is None:
        return Succession(writer, TableIndex(writer.keys.table))
    found = head_version(head, writer)
    return _Recovery(head, writer).run() if found.pointer is None else found


def head_version(head: TableHandle, writer: ObjectWriter) -> Succession:
    """Give the version that the head is; without a pointer when another program has written it."""
    state = head.state
    if state is None or _is_foreign(head.index, state):
        return Succession(writer, head.index)
    key = writer.keys.version(state.version, state.commit)
    pointer = VersionPointer(state.version, key, etags.of_content([head.data]))
    return Succession(writer, head.index, state, pointer)


def _is_foreign(index: TableIndex, state: VersionState) -> bool:
    return state.created_us != index.created_us or state.seal != seal_of(index)


@record
class _Kept:
    """A version as it is kept below ``versions/``."""

    key: str
    etag: str
    index: TableIndex
    state: VersionState


class _Recovery:
    """Goes on from an index that another program has written."""

    def __init__(self, head: TableHandle, writer: ObjectWriter) -> None:
        self._head = head
        self._writer = writer
        self._root = writer.root

    def run(self) -> Succession:
        """Make a version of what is there, and do again what it has overwritten."""
        base = self._base()
        lost = self._lost(base)
        index, state = self._head.index, self._head.state
        if base is not None:
            pointer = VersionPointer(base.state.version, base.key, base.etag)
            before = Succession(self._writer, base.index, base.state, pointer)
        elif state is not None:
            before = Succession(self._writer, index, replace(state, rows=0, size_bytes=0))
        else:
            table = lost[0].state.table if lost else b""
            before = Succession(self._writer, index, table=table)
        highest = max([one.state.version for one in lost], default=0)
        number = max(highest, 0 if state is None else state.version) + 1
        commit = f"{FOREIGN}-{_short(self._head.data)}"
        found = before.foreign(index, None if base is None else base.index, number, commit)
        for one in lost:
            found = self._again(found, one)
        return found

    def _base(self) -> _Kept | None:
        """Read the version that the other program has read."""
        state = self._head.state
        if state is None:
            return None
        key = self._writer.keys.version(state.version, state.commit)
        found = self._kept(key)
        if found is None:
            notes.warn(f"{key} is missing: what another program has done since is not known")
        return found

    def _lost(self, base: _Kept | None) -> list[_Kept]:
        """Read the versions that are not in the history of what is there, the oldest first."""
        keys, state = self._writer.keys, self._head.state
        known = set() if base is None else {one.key for one in base.state.history} | {base.key}
        above = 0 if state is None else state.version
        folder = f"{keys.folder}/versions"
        names = [one.name for one in self._root.store.list(self._root.place(folder))]
        found = []
        for key in (f"{folder}/{name}" for name in names):
            version = keys.version_of(key)
            if version is None or version[0] <= above or key in known:
                continue
            one = self._kept(key)
            if one is not None and (state is None or one.state.table == state.table):
                found.append(one)
        return found

    def _kept(self, key: str) -> _Kept | None:
        data = look(self._root, key)
        if data is None:
            return None
        try:
            index = TableIndex.decode(data[0], self._root.keyring)
            state = state_of(index.user_data)
        except (CorruptError, UnsupportedError) as error:
            notes.warn(f"{key}: {error.message}")
            return None
        return None if state is None else _Kept(key, etags.of_content([data[0]]), index, state)

    def _again(self, found: Succession, lost: _Kept) -> Succession:
        """Do again what a version did that was overwritten."""
        if found.place_of(lost.state.commit, lost.state.version) is not None:
            return found
        parent = None
        if lost.state.parent is not None:
            parent = self._kept(lost.state.parent.key)
            if parent is None:
                notes.warn(f"{lost.key} was overwritten, and what it did is not known any more")
                return found
        try:
            change = self._without_known(found, self._change(lost, parent))
            return found if change.is_nothing else found.follow(change, lost.state.commit)
        except InputKnownError:
            pass  # the other program has its rows, and the next sync takes the rest
        except ConflictError as error:
            notes.warn(f"{lost.key} was overwritten by another program: {error.message}")
        except SdbError as error:
            raise error.within(f"doing {lost.key} again", path=lost.key) from None
        return found

    def _change(self, lost: _Kept, parent: _Kept | None) -> TableChange:
        before = None if parent is None else parent.index
        added, removed = packfiles_between(before, lost.index, self._root.fetch)
        gone = [one.key for one in added if not self._root.has(one.key)]
        if gone:
            raise ConflictError(f"{gone[0]} is not there any more")
        first = 0 if before is None else before.objects
        taken = inputs_between(before, lost.index, self._root.fetch)
        inputs = [
            ChangedInput(
                one.path, one.etag, FAILED if one.is_failed else max(0, one.number - first)
            )
            for one in taken
        ]
        return TableChange(
            lost.state.operation,
            added,
            frozenset(one.key for one in removed),
            tuple(inputs),
            author=lost.state.author,
            message=lost.state.message,
        )

    def _without_known(self, found: Succession, change: TableChange) -> TableChange:
        """Leave out packfiles that are there: the other program may have read an earlier head."""
        there, _ = packfiles_between(None, found.index, self._root.fetch)
        known = {one.key for one in there}
        return replace(change, added=tuple([one for one in change.added if one.key not in known]))


def _short(data: bytes) -> str:
    from base64 import b32encode
    from hashlib import blake2b

    return b32encode(blake2b(data, digest_size=15).digest()).decode()


def _rows(packfiles: Iterable[Descriptor]) -> int:
    return sum(one.rows or 0 for one in packfiles)


def _bytes(packfiles: Iterable[Descriptor]) -> int:
    return sum(one.size_bytes for one in packfiles)
