"""Commits: the one way in which a table changes.

A commit reads the index, makes the version that follows, writes it below ``versions/``, and puts it
in the place of the index that it has read, if that is still there. Whoever comes second begins
again. Nothing is deleted.
"""

from __future__ import annotations

from contextlib import ExitStack

from sdb.errors import (
    ConflictError,
    CorruptError,
    ExistsError,
    NotFoundError,
    SdbError,
    UncertainError,
)
from sdb.records import record, replace
from sdb.table.catalog.handle import dropped, find_head, find_table, open_table
from sdb.table.commit.chain import Succession, head_version
from sdb.table.commit.change import (
    HOUSEKEEPING,
    InputKnownError,
    PackfileGoneError,
    TransactionDoneError,
)
from sdb.table.commit.coordinator import GivenUpError, Watch, check_decided
from sdb.table.commit.environment import REAL, Surroundings
from sdb.table.commit.gcbarrier import CollectedError, Freshness
from sdb.table.commit.objects import ObjectWriter, look, put_new
from sdb.table.commit.parents import expired_place
from sdb.table.commit.recovery import succession_of
from sdb.table.format import etags
from sdb.table.format.index import TableIndex
from sdb.table.format.keys import TableKeys, check_name, commit_on, new_uid
from sdb.table.format.state import state_of, with_state
from sdb.table.format.versionref import MAIN, VersionReference

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeAlias

    from sdb.table.catalog.handle import TableHandle
    from sdb.table.catalog.root import TableRoot
    from sdb.table.commit.chain import NewVersion
    from sdb.table.commit.change import TableChange
    from sdb.table.format.state import VersionState

    Plan: TypeAlias = "Callable[[TableIndex], TableChange | None]"

PATIENCE_SECONDS = 60.0
_FINAL = (PackfileGoneError, InputKnownError, TransactionDoneError)
_LAST = (CollectedError, GivenUpError, TransactionDoneError)
_REVIVING = frozenset({"create", "restore", "drop"}) | HOUSEKEEPING
_FIRST_PAUSE_SECONDS = 0.02
_LONGEST_PAUSE_SECONDS = 2.0


@record
class Committed:
    """The result of a commit.

    Attributes
    ----------
    version : int
        The version that it made; of a commit without any change the one that was there.
    commit : str
        Its id.
    is_new : bool
        Whether it made a version now: the same id is one version, and a change of nothing none.
    attempts : int
        How often it took, because others committed meanwhile.
    """

    version: int
    commit: str
    is_new: bool
    attempts: int


def check_writable(root: TableRoot) -> None:
    """Insist on a key that signs indexes.

    Raises
    ------
    UsageError
        There is none.
    """
    if not root.keyring.keys:
        root.keyring.sign(b"")


def commit(  # noqa: PLR0913 - by name
    root: TableRoot,
    keys: TableKeys,
    plan: Plan | TableChange,
    *,
    commit_id: str = "",
    is_new: bool = False,
    around: Surroundings = REAL,
    patience_seconds: float = PATIENCE_SECONDS,
    branch: str = MAIN,
    transaction: str = "",
) -> Committed:
    """Change a table, in one step.

    Parameters
    ----------
    root : TableRoot
        The root that the table is below.
    keys : TableKeys
        Its names.
    plan : TableChange or callable
        The change; or what gives it for the index that is there, each time that one is read, and
        None for no change. A plan may raise to give up.
    commit_id : str
        The client's own id: the same id twice is one version. A random one if not given.
    is_new : bool
        Whether nobody has committed with that id before, so that versions that are there need not
        be looked through for it.
    around : Surroundings
        The clock and the dice.
    patience_seconds : float
        How long to begin again when others commit meanwhile.
    branch : str
        The branch that gets the version.
    transaction : str
        Key of the intent of the transaction over several tables that this is a part of, so that
        it becomes true with that; see :mod:`sdb.table.commit.twophase`.

    Returns
    -------
    Committed
        The version.

    Raises
    ------
    ConflictError
        Others were faster all the time, or have replaced what the change replaces. Nothing has
        changed. It is a `TransactionDoneError` where the table has done a transaction of the change
        before.
    UncertainError
        It is not known whether the table was changed. The same id again is safe.
    CorruptError
        The table is damaged. Nothing has changed.
    UsageError
        There is no key to sign with, or an id that cannot be one.
    UnknownReferenceError
        There is no such branch.
    """
    check_writable(root)
    is_given = bool(commit_id) and not is_new
    commit_id = commit_id or new_uid(around.random_bytes)
    check_name(commit_id, "commit")
    if is_given:
        commit_id = commit_on(branch, commit_id)
        check_name(f"{0:020}-{commit_id}", "version")
    writer = ObjectWriter(root, keys, around, branch)
    attempts = _Attempts(writer, plan, commit_id, is_given=is_given, transaction=transaction)
    began, watch = around.elapsed(), Watch(root, around)
    unknown: UncertainError | None = None
    while True:
        try:
            return attempts.run()
        except (ConflictError, UncertainError) as error:
            if isinstance(error, _FINAL) and not callable(plan):
                raise  # it does not fit any more
            if isinstance(error, _LAST) and unknown is None:
                raise
            # Whatever became of it, the next attempt finds the id in the history, or not.
            unknown = error if isinstance(error, UncertainError) else unknown
            if around.elapsed() - began - attempts.recovered_seconds >= patience_seconds:
                if unknown is None:
                    raise
                raise _uncertain(unknown, attempts) from error
            watch.met(error)
        except SdbError as error:
            if unknown is None:
                raise
            raise _uncertain(unknown, attempts) from error
        longest = min(_LONGEST_PAUSE_SECONDS, _FIRST_PAUSE_SECONDS * 2**attempts.count)
        around.sleep(around.uniform(0, longest))


def _uncertain(unknown: UncertainError, attempts: _Attempts) -> UncertainError:
    keys = attempts.writer.keys
    return UncertainError(
        f"committing to {keys.database}.{keys.table}: {unknown.message}",
        path=unknown.path,
        hint=f"run it again; with --txn-id {attempts.commit_id} rows are not inserted twice",
    )


class _Attempts:
    """The attempts of one commit."""

    def __init__(
        self,
        writer: ObjectWriter,
        plan: Plan | TableChange,
        commit_id: str,
        *,
        is_given: bool,
        transaction: str,
    ) -> None:
        self.writer = writer
        self.commit_id = commit_id
        self.count = 0
        self._plan = plan
        self._transaction = transaction
        self._freshness = Freshness(writer)
        self._first_seen: int | None = None
        self._looked_through = 0
        self._has_stored = False
        self.recovered_seconds = 0.0
        self._is_given = is_given

    def run(self) -> Committed:
        """Try once."""
        self.count += 1
        root, keys, branch = self.writer.root, self.writer.keys, self.writer.branch
        with ExitStack() as stack:
            if root.store.is_remote:
                stack.enter_context(self.writer.around.turn(root.place(self.writer.head)))
            is_locked = True
            try:
                place, is_brief = root.place(self.writer.head), not callable(self._plan)
                stack.enter_context(root.store.lock(place, is_brief=is_brief))
            except NotFoundError:
                is_locked = False
            head = find_head(root, keys, branch)
            if head is None and branch != MAIN:
                check_branch(root, keys, branch)
            if head is not None and not is_locked:
                message = f"{self.writer.head} appeared meanwhile"
                raise ConflictError(message, path=self.writer.head)
            try:
                return self._joint(head) or self._follow(head)
            except CorruptError as error:
                # Another program deletes what only an index led to that it has replaced.
                if not self._is_replaced(head):
                    raise
                raise ConflictError(error.message, path=error.path, hint="run it again") from error

    def _joint(self, head: TableHandle | None) -> Committed | None:
        """Find out whether the head is part of a transaction; None: of none that matters."""
        joint = None if head is None else head.joint
        if head is None or joint is None or joint.state.transaction != self._transaction:
            if head is not None:
                check_decided(head)
            return None
        if not joint.is_pending:
            raise GivenUpError(f"{self._transaction} is {joint.step}", path=self._transaction)
        number = joint.state.version
        return Committed(number, self.commit_id, is_new=True, attempts=self.count)

    def _follow(self, head: TableHandle | None) -> Committed:
        began = self.writer.around.elapsed()
        last = succession_of(head, self.writer, self._transaction)
        if last.pending:  # packfiles of others may have been copied, which takes its time
            self.recovered_seconds += self.writer.around.elapsed() - began
        number = 0 if last.state is None else last.state.version
        if self._first_seen is None:
            self._first_seen = 0 if last.pending else number
        since = 0 if self._is_given else self._first_seen
        done = last.place_of(self.commit_id, since)
        if done is not None and not last.pending:
            return Committed(done.version, self.commit_id, is_new=False, attempts=self.count)
        if done is None and self._has_stored:
            version = expired_place(last, self.commit_id, self._first_seen)
            if version is not None:
                return Committed(version, self.commit_id, is_new=True, attempts=self.count)
        try:
            next_one = last if done is not None else self._next(last)
        except TransactionDoneError:
            if last.pending:  # what was overwritten, and done again, counts only once it is there
                self._publish(last, head)
            raise
        if next_one is None:
            return Committed(number, self.commit_id, is_new=False, attempts=self.count)
        self._publish(next_one, head)
        found = next_one.place_of(self.commit_id, since)
        version = number if found is None else found.version
        return Committed(version, self.commit_id, is_new=done is None, attempts=self.count)

    def _next(self, last: Succession) -> Succession | None:
        change = self._plan(last.index) if callable(self._plan) else self._plan
        if change is None:
            return None
        found = {one: last.place_of(one, self._looked_through) for one in change.ids}
        may_revive = change.makes_table or change.operation in _REVIVING
        if last.state is not None and last.state.dropped and not may_revive:
            raise dropped(self.writer.root, self.writer.keys)
        self._looked_through = 0 if last.state is None or last.pending else last.state.version
        if done := {one: place.version for one, place in found.items() if place is not None}:
            raise TransactionDoneError(done)
        boundary_us = 0 if last.state is None else last.state.boundary_us
        change = self._freshness.fresh(change, boundary_us)
        return last.follow(replace(change, transaction=self._transaction), self.commit_id)

    def _publish(self, last: Succession, head: TableHandle | None) -> None:
        """Store the versions that are new, and let the last of them become the index."""
        root, place = self.writer.root, self.writer.root.place(self.writer.head)
        if self.count > 1 and callable(self._plan) and self._is_overtaken(head):
            message = f"writing {place}: someone else changed it"
            raise ConflictError(message, path=place, hint="run it again")
        for version in last.pending[:-1]:
            put_new(root, version.key, version.data, ahead=True)
        data = self._store(last.pending[-1])
        replaced = None if head is None else head.reader
        ahead = [root.place(key) for one in last.pending for key in (one.key, *one.packfiles)]
        try:
            root.store.put_if(place, data, replaced, after=ahead)
        except ExistsError as error:
            raise ConflictError(error.message, path=place, hint="run it again") from error

    def _is_overtaken(self, head: TableHandle | None) -> bool:
        """Look where others are at work: who has lost already need not write what it has made."""
        return self.writer.root.store.is_remote and self._is_replaced(head)

    def _is_replaced(self, head: TableHandle | None) -> bool:
        """Return whether the index is another one by now than the one that was read."""
        root = self.writer.root
        if head is None:
            return False
        return root.store.version(root.place(self.writer.head)) != head.reader.version

    def _store(self, version: NewVersion) -> bytes:
        """Store a version; one of the same id that follows the same version may be there.

        From now on it may become true: the answer may be lost, and who recovers what another
        program has overwritten takes what is stored for true.
        """
        self._has_stored = True
        root = self.writer.root
        try:
            put_new(root, version.key, version.data, ahead=True)
        except ConflictError:
            found = look(root, version.key)
            if found is None or not self._is_same(found[0], version.data):
                raise
            return self._named(found[0], version.data)
        return version.data

    def _named(self, found: bytes, made: bytes) -> bytes:
        """Give the index of a version that was stored when tags and branches were others."""
        ours, theirs = self._state(made), self._state(found)
        if ours is None or theirs is None:
            return found
        if (ours.tags, ours.branches) == (theirs.tags, theirs.branches):
            return found
        kept = etags.of_content([found])
        state = replace(theirs, tags=ours.tags, branches=ours.branches, kept=kept)
        keyring = self.writer.root.keyring
        index = TableIndex.decode(found, keyring)
        return replace(index, user_data=with_state(index.user_data, state)).encode(keyring)

    def _is_same(self, found: bytes, made: bytes) -> bool:
        """Tell whether two indexes are the version of one commit after the same version."""
        ours, theirs = self._state(made), self._state(found)
        if ours is None or theirs is None:
            return False
        is_same = ours.table == theirs.table or ours.version == 1
        is_same = is_same and ours.branch == theirs.branch
        return is_same and ours.commit == theirs.commit and ours.parent == theirs.parent

    def _state(self, data: bytes) -> VersionState | None:
        return state_of(TableIndex.decode(data, self.writer.root.keyring).user_data)


def check_branch(root: TableRoot, keys: TableKeys, branch: str) -> None:
    """Insist on a branch that is there.

    Raises
    ------
    UnknownReferenceError
        There is none; the hint tells what may be meant.
    NotFoundError
        There is no such table.
    """
    if branch != MAIN:
        open_table(root, keys.database, keys.table, at=VersionReference("branch", name=branch))


def find_commit(
    root: TableRoot, keys: TableKeys, commit_id: str, *, branch: str = MAIN
) -> int | None:
    """Give the version that a commit has made.

    Parameters
    ----------
    root : TableRoot
        The root that the table is below.
    keys : TableKeys
        Its names.
    commit_id : str
        The id of the commit.
    branch : str
        The branch.

    Returns
    -------
    int or None
        None: the table has none of that id, or another program has written to it since; a commit
        finds out.
    """
    head = find_table(root, keys.database, keys.table, branch=branch)
    if head is None:
        return None
    found = head_version(head, ObjectWriter(root, keys)).place_of(commit_on(branch, commit_id))
    return None if found is None else found.version
