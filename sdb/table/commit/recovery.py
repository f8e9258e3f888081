"""Recovery after other programs: what they have made of an index, and versions they overwrote.

A head is what the index is now. Before a commit adds a version to it, it is made the last version
of a history:

* Nobody else has written it: it is a version already.
* Another program has: what is there becomes a version of its own, `foreign`. The original writes
  without looking, so it may have thrown away versions that were committed after it had read. These
  are still listed below ``versions/``, and what they did is done again.
"""

from __future__ import annotations

from sdb import notes
from sdb.errors import ConflictError, CorruptError, SdbError, UnsupportedError
from sdb.records import record, replace
from sdb.table.catalog.foreign import is_overwritten
from sdb.table.catalog.intents import COMMITTED, PENDING, find_intent
from sdb.table.commit.chain import FOREIGN, Succession, head_version
from sdb.table.commit.change import (
    FAILED,
    ChangedInput,
    InputKnownError,
    TableChange,
    apply_change,
    has_longer_journal,
    inputs_between,
    own_keys,
    packfiles_between,
)
from sdb.table.commit.coordinator import InTransactionError
from sdb.table.commit.gcbarrier import Freshness
from sdb.table.commit.objects import look
from sdb.table.format import etags
from sdb.table.format import keys as names
from sdb.table.format.history import VersionPointer
from sdb.table.format.index import TableIndex
from sdb.table.format.state import MEMBER, VersionState, state_of, with_state
from sdb.table.format.versionref import MAIN

_TAKEN_OUT = "its rows were taken out; sync --retry takes them again"

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sdb.table.catalog.handle import JointVersion, TableHandle
    from sdb.table.commit.objects import ObjectWriter
    from sdb.table.format.inputnodes import TakenInput


def succession_of(
    head: TableHandle | None, writer: ObjectWriter, transaction: str = ""
) -> Succession:
    """Make what is there the last version of a history.

    Parameters
    ----------
    head : TableHandle or None
        The table as it is; None: there is none yet.
    writer : ObjectWriter
        Writes what versions need.
    transaction : str
        Key of the intent of a transaction over several tables that what follows is a part of.

    Returns
    -------
    Succession
        The last version. Versions that are not yet stored are pending.

    Raises
    ------
    CorruptError
        What the head leads to is missing or damaged.
    InTransactionError
        Another transaction over several tables is about to change the table.
    """
    if head is None or (head.is_void and not is_overwritten(head)):
        return Succession(writer, TableIndex(writer.keys.table))
    found = head_version(head, writer)
    return _Recovery(head, writer, transaction).run() if found.pointer is None else found


@record
class _Kept:
    """A version as it is kept below ``versions/``."""

    key: str
    etag: str
    index: TableIndex
    state: VersionState


class _Recovery:
    """Goes on from an index that another program has written."""

    def __init__(self, head: TableHandle, writer: ObjectWriter, transaction: str) -> None:
        self._writer = writer
        self._root = writer.root
        self._transaction = transaction
        self._freshness = Freshness(writer)
        joint = head.joint
        self._head = head if joint is None or joint.is_committed else self._undone(head, joint)

    def run(self) -> Succession:
        """Make a version of what is there, and do again what it has overwritten."""
        base = self._base()
        lost = self._lost(base)
        index, state = self._head.index, self._head.state
        tags = {name: tag for one in lost for name, tag in one.state.tags.items()}
        branches = [name for one in lost for name in one.state.branches]
        if state is not None:
            named = replace(
                state if base is None else base.state,
                tags={**tags, **state.tags},
                branches=tuple(dict.fromkeys([*state.branches, *branches])),
                together=self._together(state, lost),
            )
            if base is None:
                before = Succession(self._writer, index, replace(named, rows=0, size_bytes=0))
            else:
                pointer = VersionPointer(base.state.version, base.key, base.etag)
                before = Succession(self._writer, base.index, named, pointer)
        else:
            table = lost[0].state.table if lost else b""
            names_of = tags, tuple(dict.fromkeys(branches))
            before = Succession(self._writer, index, table=table, names_of=names_of)
        highest = max([one.state.version for one in lost], default=0)
        number = max(highest, 0 if state is None else state.version) + 1
        commit = f"{FOREIGN}-{names.short_digest(self._head.data)}"
        # Who has overwritten the version of a collector has not made undone what it deleted.
        boundary_us = max([one.state.boundary_us for one in lost], default=0)
        had = None if base is None else base.index
        found = before.foreign(index, had, number, commit, boundary_us, self._head.data)
        for one in lost:
            found = self._again(found, one)
        return found

    def _undone(self, head: TableHandle, joint: JointVersion) -> TableHandle:
        """Take out what a transaction had put into the index, which nobody has committed.

        The other program has read the index when it was pending, and has written its own upon it.
        """
        key = self._writer.keys.version(joint.state.version, joint.state.commit)
        made = self._kept(key)
        index = joint.index
        if made is None:
            notes.warn(f"{key} is missing: what a transaction did that was given up stays")
        else:
            fetch = self._root.fetch
            before = None if head.is_void else head.index
            came, went = packfiles_between(before, made.index, fetch)
            there = own_keys(packfiles_between(None, index, fetch)[0])
            change = TableChange(
                FOREIGN,
                tuple([one for one in went if names.own_key(one.key) not in there]),
                frozenset(own_keys(came) & there),
            )
            index = apply_change(index, change, self._writer).index
        user_data = {name: one for name, one in index.user_data.items() if name != MEMBER}
        if head.state is not None:
            user_data = with_state(user_data, head.state)
        index = replace(index, user_data=user_data)
        return replace(head, index=index, data=joint.data, joint=None, is_void=False)

    def _together(self, state: VersionState, lost: list[_Kept]) -> dict[str, int]:
        """Give the versions of other tables that must be read with what is done again."""
        found = dict(state.together)
        own = self._writer.head
        for one in lost:
            more = dict(one.state.together)
            if one.state.transaction:
                intent = find_intent(self._root, one.state.transaction)
                more |= {} if intent is None else intent.intent.versions
            for key, number in more.items():
                if key != own:
                    found[key] = max(number, found.get(key, 0))
        return found

    def _is_true(self, one: _Kept) -> bool:
        """Tell whether a version has ever counted; one of a transaction does when that does.

        An intent that is gone was that of a transaction of long ago, whose versions are gone too if
        it was given up (:mod:`sdb.table.maintenance.gc`).
        """
        key = one.state.transaction
        if not key:
            return True
        found = find_intent(self._root, key)
        if found is None:
            return True
        if found.intent.step == PENDING and key != self._transaction:
            raise InTransactionError(key, found.reader.version)
        return found.intent.step == COMMITTED

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
        branch = "" if self._writer.branch == MAIN else self._writer.branch
        folder = f"{keys.folder}/versions"
        names = [one.name for one in self._root.store.list(self._root.place(folder))]
        found = []
        for key in (f"{folder}/{name}" for name in names):
            version = keys.version_of(key)
            if version is None or version[0] <= above or key in known:
                continue
            one = self._kept(key)
            if one is None or one.state.branch != branch:
                continue
            is_same = state is None or one.state.table == state.table
            if is_same and self._is_true(one):
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
        # It may be what someone else has begun to do again, of a version with any number.
        if found.place_of(lost.state.commit) is not None:
            return found
        parent = None
        if lost.state.parent is not None:
            parent = self._kept(lost.state.parent.key)
            if parent is None:
                notes.warn(f"{lost.key} was overwritten, and what it did is not known any more")
                return found
        try:
            change = self._without_known(found, self._change(lost, parent))
            boundary_us = 0 if found.state is None else found.state.boundary_us
            change = self._freshness.fresh(change, boundary_us)
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
        taken, untaken = self._inputs(lost, before)
        inputs = [
            ChangedInput(
                one.path, one.etag, FAILED if one.is_failed else max(0, one.number - first)
            )
            for one in taken
        ]
        if before is not None:
            kept = {one.path for one in taken}
            inputs += [  # inputs whose rows a restore has taken out
                ChangedInput(one.path, one.etag, FAILED, is_forced=True, reason=_TAKEN_OUT)
                for one in untaken
                if one.path not in kept and not one.is_failed
            ]
        return TableChange(
            lost.state.operation,
            added,
            frozenset(one.key for one in removed),
            tuple(inputs),
            author=lost.state.author,
            message=lost.state.message,
            merged=_merged(lost.state),
            ids=lost.state.ids,
            since_us=lost.state.boundary_us,
        )

    def _inputs(
        self, lost: _Kept, before: TableIndex | None
    ) -> tuple[tuple[TakenInput, ...], tuple[TakenInput, ...]]:
        """Return the inputs that a version has otherwise than the one before it, and these there.

        The original deletes nodes of inputs that its own index does not refer to.
        """
        fetch = self._root.fetch
        try:
            taken = inputs_between(before, lost.index, fetch)
            if before is None or has_longer_journal(before, lost.index):
                return taken, ()
            return taken, inputs_between(lost.index, before, fetch)
        except CorruptError as error:
            if error.path is None or self._root.has(error.path):
                raise
            message = f"{error.message}, so that its inputs are not known: the next sync takes them"
            raise ConflictError(message) from None

    def _without_known(self, found: Succession, change: TableChange) -> TableChange:
        """Leave out packfiles that are there: the other program may have read an earlier head."""
        there, _ = packfiles_between(None, found.index, self._root.fetch)
        known = own_keys(there)
        added = [one for one in change.added if names.own_key(one.key) not in known]
        return replace(change, added=tuple(added))


def _merged(state: VersionState) -> tuple[str, VersionPointer] | None:
    """Give the branch and the version of it that a version has merged."""
    if state.merged is None:
        return None
    names = [name for name, one in state.merges.items() if one == state.merged]
    return (names[0] if names else ""), state.merged
