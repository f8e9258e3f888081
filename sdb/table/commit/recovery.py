"""Recovery after other programs: their changes of an index, and replay of versions they overwrote.

The head is the index as it is now. Before a commit appends a version, the head has to be the last
version of a history:

* `sdb` wrote it: it is a version already.
* Another program did: the head becomes a separate version, `foreign`. The original overwrites the
  index without a condition, so that versions may be lost that were committed after it had read.
  These are still listed below ``versions/``, and are replayed.
* An older index was put in its place: see :mod:`sdb.table.commit.putback`.
"""

from __future__ import annotations

from sdb import notes
from sdb.errors import ConflictError, CorruptError, SdbError, UnsupportedError
from sdb.log import Logger
from sdb.records import replace
from sdb.table.catalog.foreign import is_overwritten
from sdb.table.catalog.intents import COMMITTED, PENDING, find_intent
from sdb.table.commit.chain import VersionChain, head_version
from sdb.table.commit.change import (
    FAILED,
    FOREIGN,
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
from sdb.table.commit.gcbarrier import GcBarrier
from sdb.table.commit.objects import look
from sdb.table.commit.parents import ReadVersion, read_version
from sdb.table.commit.putback import chain_of, was_put_back
from sdb.table.format import keys as names
from sdb.table.format.history import VersionPointer
from sdb.table.format.index import TableIndex
from sdb.table.format.state import MEMBER, VersionState, with_state
from sdb.table.format.versionref import MAIN

_log = Logger("sdb.table.recovery")
_TAKEN_OUT = "its rows were taken out; sync --retry takes them again"

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sdb.table.catalog.handle import JointVersion, TableHandle
    from sdb.table.commit.objects import ObjectWriter
    from sdb.table.format.inputtree import TakenInput


def succession_of(
    head: TableHandle | None, writer: ObjectWriter, transaction: str = ""
) -> VersionChain:
    """Return the chain of versions that a commit appends to.

    * ``head``: The table as it is; None: it does not exist yet.
    * ``transaction``: Key of the intent of a transaction over several tables that what follows is a
      part of.

    Returns: The last version. Versions that are not yet stored are pending.
    Raises `CorruptError` if what the head leads to is missing or damaged and `InTransactionError`
    if another transaction over several tables is about to change the table.
    """
    # A void index is left of a table that an aborted transaction would have made.
    if head is None or (head.is_void and not is_overwritten(head)):
        return VersionChain(writer, TableIndex(writer.keys.table))
    chain = head_version(head, writer)
    if chain.pointer is None:
        return _Recovery(head, writer, transaction).run()
    newer = was_put_back(head, writer.branch)
    return chain if newer is None else chain_of(newer, head, writer)


class _Recovery:
    """Makes versions of an index that another program has written."""

    def __init__(self, head: TableHandle, writer: ObjectWriter, transaction: str) -> None:
        self._writer = writer
        self._root = writer.root
        self._transaction = transaction
        self._freshness = GcBarrier(writer)
        joint = head.joint
        self._head = head if joint is None or joint.is_committed else self._undone(head, joint)

    def run(self) -> VersionChain:
        """Make a version of the head, and replay the versions that it has overwritten."""
        base = self._base()
        lost = self._lost(base)
        index, state = self._head.index, self._head.state
        tags = {name: tag for version in lost for name, tag in version.state.tags.items()}
        branches = [name for version in lost for name in version.state.branches]
        if state is not None:
            named = replace(
                state if base is None else base.state,
                tags={**tags, **state.tags},
                branches=tuple(dict.fromkeys([*state.branches, *branches])),
                together=self._together(state, lost),
            )
            if base is None:
                before = VersionChain(self._writer, index, replace(named, rows=0, size_bytes=0))
            else:
                pointer = VersionPointer(base.state.version, base.key, base.etag)
                before = VersionChain(self._writer, base.index, named, pointer)
        else:
            table = lost[0].state.table if lost else b""
            names_of = tags, tuple(dict.fromkeys(branches))
            before = VersionChain(self._writer, index, table=table, names_of=names_of)
        # Readers may have seen the numbers of lost versions: these are never given to other
        # versions.
        highest = max([version.state.version for version in lost], default=0)
        number = max(highest, 0 if state is None else state.version) + 1
        # The id comes from the bytes: writers that recover at the same time make the same version.
        commit = f"{FOREIGN}-{names.short_digest(self._head.data)}"
        # Overwriting a version of gc does not restore what it deleted: keep the last boundary.
        boundary_us = max([version.state.boundary_us for version in lost], default=0)
        had = None if base is None else base.index
        chain = before.foreign(index, had, number, commit, boundary_us, self._head.data)
        values = self._writer.head, number, len(lost)
        _log.info("%s: another program wrote version %d; %d versions to replay", *values)
        for version in lost:
            chain = self._again(chain, version)
        return chain

    def _undone(self, head: TableHandle, joint: JointVersion) -> TableHandle:
        """Undo in the index what a transaction had put there that was not committed.

        The other program has read the index when it was pending, and has written its own upon it.
        """
        key = self._writer.keys.version(joint.state.version, joint.state.commit)
        made = self._stored(key)
        index = joint.index
        if made is None:
            notes.warn(f"{key} is missing: the changes of an aborted transaction stay")
        else:
            fetch = self._root.fetch
            before = None if head.is_void else head.index
            came, went = packfiles_between(before, made.index, fetch)
            there = own_keys(packfiles_between(None, index, fetch)[0])
            change = TableChange(
                FOREIGN,
                tuple([item for item in went if names.own_key(item.key) not in there]),
                frozenset(own_keys(came) & there),
            )
            index = apply_change(index, change, self._writer).index
        user_data = {name: item for name, item in index.user_data.items() if name != MEMBER}
        if head.state is not None:
            user_data = with_state(user_data, head.state)
        index = replace(index, user_data=user_data)
        return replace(head, index=index, data=joint.data, joint=None, is_void=False)

    def _together(self, state: VersionState, lost: list[ReadVersion]) -> dict[str, int]:
        """Return the versions of other tables that must be read with what is done again."""
        together = dict(state.together)
        own = self._writer.head
        for version in lost:
            more = dict(version.state.together)
            if version.state.transaction:
                intent = find_intent(self._root, version.state.transaction)
                more |= {} if intent is None else intent.intent.versions
            for key, number in more.items():
                if key != own:
                    together[key] = max(number, together.get(key, 0))
        return together

    def _is_true(self, version: ReadVersion) -> bool:
        """Return whether a version has ever counted; one of a transaction does if that committed.

        An intent that is gone was that of a transaction of long ago, whose versions are gone too if
        it was given up (:mod:`sdb.table.maintenance.gc`).
        """
        key = version.state.transaction
        if not key:
            return True
        intent = find_intent(self._root, key)
        if intent is None:
            return True
        # A commit must not wait for the transaction that it is a part of.
        if intent.intent.step == PENDING and key != self._transaction:
            raise InTransactionError(key, intent.reader.version)
        return intent.intent.step == COMMITTED

    def _base(self) -> ReadVersion | None:
        """Read the version that the other program built on."""
        state = self._head.state
        if state is None:
            return None
        key = self._writer.keys.version(state.version, state.commit)
        base = self._stored(key)
        if base is None:
            notes.warn(f"{key} is missing: what another program has done since is not known")
        return base

    def _lost(self, base: ReadVersion | None) -> list[ReadVersion]:
        """Read the versions that are not in the history of what is there, the oldest first."""
        keys, state = self._writer.keys, self._head.state
        known = (
            set()
            if base is None
            else {candidate.key for candidate in base.state.history} | {base.key}
        )
        above = 0 if state is None else state.version
        branch = "" if self._writer.branch == MAIN else self._writer.branch
        folder = f"{keys.folder}/versions"
        names = [candidate.name for candidate in self._root.store.list(self._root.place(folder))]
        lost = []
        for key in (f"{folder}/{name}" for name in names):
            version = keys.version_of(key)
            # The other program has overwritten what was committed after the version that it had
            # read.
            if version is None or version[0] <= above or key in known:
                continue
            candidate = self._stored(key)
            if candidate is None or candidate.state.branch != branch:
                continue
            # A table that was made anew has another id: rows of the one before it stay gone.
            is_same = state is None or candidate.state.table == state.table
            if is_same and self._is_true(candidate):
                lost.append(candidate)
        return lost

    def _stored(self, key: str) -> ReadVersion | None:
        """Read a version; None: it is gone, or damaged, which is said."""
        data = look(self._root, key)
        if data is None:
            return None
        try:
            return read_version(key, data[0], self._root.keyring)
        except (CorruptError, UnsupportedError) as error:
            notes.warn(error.message)
            return None

    def _again(self, chain: VersionChain, lost: ReadVersion) -> VersionChain:
        """Replay a version that was overwritten."""
        # Another writer may have replayed it already, with any number.
        if chain.place_of(lost.state.commit) is not None:
            return chain
        parent = None
        if lost.state.parent is not None:
            parent = self._stored(lost.state.parent.key)
            if parent is None:
                notes.warn(f"{lost.key} was overwritten and cannot be replayed: its parent is gone")
                return chain
        try:
            change = self._without_known(chain, self._change(lost, parent))
            change = replace(change, schema=_schema(chain, lost, parent))
            boundary_us = 0 if chain.state is None else chain.state.boundary_us
            change = self._freshness.fresh(change, boundary_us)
            if change.is_nothing:
                _log.info("%s was overwritten, and is there all the same", lost.key)
                return chain
            _log.info("%s was overwritten: replaying its %s", lost.key, lost.state.operation)
            return chain.append(change, lost.state.commit)
        except InputKnownError as error:
            # The other program has its rows, and the next sync takes the rest.
            _log.info("%s was overwritten, not replayed: %s", lost.key, error.message)
        except ConflictError as error:
            notes.warn(
                f"{lost.key} was overwritten by another program and not replayed: {error.message}"
            )
        except SdbError as error:
            raise error.within(f"replaying {lost.key}", path=lost.key) from None
        return chain

    def _change(self, lost: ReadVersion, parent: ReadVersion | None) -> TableChange:
        before = None if parent is None else parent.index
        added, removed = packfiles_between(before, lost.index, self._root.fetch)
        # Since the overwrite no index refers to them, so that a collection may have taken them.
        gone = [entry.key for entry in added if not self._root.has(entry.key)]
        if gone:
            raise ConflictError(f"{gone[0]} is not there any more")
        first = 0 if before is None else before.objects
        taken, untaken = self._inputs(lost, before)
        inputs = [
            ChangedInput(
                entry.path, entry.etag, FAILED if entry.is_failed else max(0, entry.number - first)
            )
            for entry in taken
        ]
        if before is not None:
            remaining = {entry.path for entry in taken}
            inputs += [  # inputs whose rows a restore has taken out
                ChangedInput(entry.path, entry.etag, FAILED, is_forced=True, reason=_TAKEN_OUT)
                for entry in untaken
                if entry.path not in remaining and not entry.is_failed
            ]
        return TableChange(
            lost.state.operation,
            added,
            frozenset(entry.key for entry in removed),
            tuple(inputs),
            author=lost.state.author,
            message=lost.state.message,
            merged=_merged(lost.state),
            ids=lost.state.ids,
            # Its packfiles were safe from collections up to this one; of a later one the barrier
            # finds out.
            since_us=lost.state.boundary_us,
        )

    def _inputs(
        self, lost: ReadVersion, before: TableIndex | None
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

    def _without_known(self, chain: VersionChain, change: TableChange) -> TableChange:
        """Leave out packfiles that are there: the other program may have read an earlier head."""
        there, _ = packfiles_between(None, chain.index, self._root.fetch)
        known = own_keys(there)
        added = [packfile for packfile in change.added if names.own_key(packfile.key) not in known]
        return replace(change, added=tuple(added))


def _schema(chain: VersionChain, lost: ReadVersion, parent: ReadVersion | None) -> bytes | None:
    """Merge the schema of a version that is replayed into that of the chain; None: it stays."""
    base = None if parent is None else parent.state
    if lost.state.schema == (b"" if base is None else base.schema):
        return None
    from sdb.table.schema.merge import SchemaConflictError
    from sdb.table.schema.versions import merged_schema  # few tables have one

    try:
        return merged_schema(base, chain.state, lost.state)
    except SchemaConflictError as error:
        notes.warn(
            f"{lost.key} was overwritten by another program; its schema is not replayed: "
            f"{error.message}"
        )
        return None


def _merged(state: VersionState) -> tuple[str, VersionPointer] | None:
    """Return the branch and the version of it that a version has merged."""
    if state.merged is None:
        return None
    names = [name for name, pointer in state.merges.items() if pointer == state.merged]
    return (names[0] if names else ""), state.merged
