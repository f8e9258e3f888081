"""A commit: optimistic concurrency control by a compare-and-swap of the index of a table.

::

    commit(plan) ------------------------------------------------+
      |                                                          |
      v                                                          |
    lock          local queue (advisory), lock of the store      |
      v                                                          |
    read          index -> head            (catalog.handle)      |
      v                                                          | backoff:
    decide        a pending transaction?   (coordinator) --wait->+ ConflictError,
      v                                                          | UncertainError
    recover       overwritten, put back?   (recovery, putback)   | (sdb.retry)
      v           replay the lost versions as pending ones       |
    look up       commit id in history?    -> done, not again    |
      v                                                          |
    plan          plan(index) -> change    (change)              |
      v                                                          |
    gc barrier    are new packfiles safe?  (gcbarrier)           |
      v                                                          |
    append        version N + 1            (chain)               |
      v                                                          |
    claim         only for a new table: no view has its name     |
      v                                                          |
    store         versions/N+1-id          (objects, stored)     |
      v                                                          |
    swap          put_if_match(index, version that was read) ----+ lost the race
      |
      v
    committed     here the version becomes visible; nothing is deleted

What is stored before the swap has unique names, and counts only once the index leads to it.
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
from sdb.log import Logger
from sdb.records import record, replace
from sdb.table.catalog.handle import dropped, find_head, find_table, open_table
from sdb.table.commit.chain import VersionChain, head_version
from sdb.table.commit.change import (
    HOUSEKEEPING,
    InputKnownError,
    PackfileGoneError,
    TransactionDoneError,
    VersionChangedError,
    version_changed,
)
from sdb.table.commit.coordinator import StaleDetector, TransactionAbortedError, check_decided
from sdb.table.commit.environment import REAL, Environment, backoff_of
from sdb.table.commit.gcbarrier import CollectedError, GcBarrier
from sdb.table.commit.naming import claim_name
from sdb.table.commit.objects import ObjectWriter, look, put_new
from sdb.table.commit.parents import expired_version
from sdb.table.commit.putback import take_note
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
    from sdb.table.commit.naming import ClaimedName
    from sdb.table.format.signature import Keyring
    from sdb.table.format.state import VersionState

    Plan: TypeAlias = "Callable[[TableIndex], TableChange | None]"

_log = Logger("sdb.table.commit")
# Without a plan that makes another change of the newer index, these stay what they are.
_FINAL = (PackfileGoneError, InputKnownError, TransactionDoneError)
# With these no other attempt helps: the caller has to decide again.
_LAST = (CollectedError, TransactionAbortedError, TransactionDoneError, VersionChangedError)
# Only these may follow a version that dropped the table: other writers that were under way must
# notice the drop.
_REVIVING = frozenset({"create", "restore", "drop"}) | HOUSEKEEPING


@record
class Committed:
    """The result of a commit."""

    version: int  # the version that it made; without any change the one that was there
    commit: str  # its id
    is_new: bool  # whether it made a version now: not for an id that was there, or without a change
    attempts: int  # how many attempts it took


def check_writable(root: TableRoot) -> None:
    """Check that there is a key to sign indexes with. Raises `UsageError` if it has no key."""
    if not root.keyring.keys:
        root.keyring.sign(b"")


def commit(  # noqa: PLR0913 - by name
    root: TableRoot,
    keys: TableKeys,
    plan: Plan | TableChange,
    *,
    commit_id: str = "",
    is_new: bool = False,
    env: Environment = REAL,
    patience_seconds: float | None = None,
    branch: str = MAIN,
    transaction: str = "",
) -> Committed:
    """Change a table, in one step.

    * ``plan``: The change, or a function that returns it for the index of each attempt, None for no
      change. A plan may raise to give up.
    * ``commit_id``: The client's own id, which makes the commit idempotent: the same id twice is
      one version. A random one if not given.
    * ``is_new``: Whether no commit had that id before, so that the history is not searched for
      it.
    * ``patience_seconds``: For how long to retry when others commit first; ``SDB_PATIENCE`` if not
      given.
    * ``transaction``: Key of the intent of the transaction over several tables that this is a part
      of: the version counts when that commits; see :mod:`sdb.table.commit.twophase`.

    Raises `ConflictError` if other writers won each race, or have replaced what the change
    replaces. Nothing has changed. It is a `TransactionDoneError` where the table has done a
    transaction of the change before, and a `VersionChangedError` where it is another version than
    the change expects. Raises `UncertainError` if it is not known whether the table was changed.
    The same id again is safe. Raises `CorruptError` if the table is damaged. Nothing has changed.
    Raises `UsageError` if there is no key to sign with, or an id that cannot be one. Raises
    `UnknownReferenceError` if there is no such branch.
    """
    check_writable(root)
    is_given = bool(commit_id) and not is_new
    commit_id = commit_id or new_uid(env.random_bytes)
    check_name(commit_id, "commit")
    if is_given:
        # Versions of all branches share one folder: one id on two branches must not be one object.
        commit_id = commit_on(branch, commit_id)
        check_name(f"{0:020}-{commit_id}", "version")
    writer = ObjectWriter(root, keys, env, branch)
    attempts = _Attempts(writer, plan, commit_id, is_given=is_given, transaction=transaction)
    backoff, watch = backoff_of(keys, env, patience_seconds), StaleDetector(root, env)
    unknown: UncertainError | None = None
    while True:
        try:
            return _logged(keys, attempts.run())
        except (ConflictError, UncertainError) as error:
            if isinstance(error, _FINAL) and not callable(plan):
                raise  # it does not fit any more
            if isinstance(error, _LAST) and unknown is None:
                raise
            # Whatever became of it, the next attempt finds the id in the history, or not.
            unknown = error if isinstance(error, UncertainError) else unknown
            # Copying the packfiles of another program is progress, and may take longer than the
            # patience.
            backoff.excused_seconds = attempts.recovered_seconds
            if not backoff.may_retry(error):
                if unknown is None:
                    raise backoff.exhausted(error) from None
                raise backoff.exhausted(_uncertain(unknown, attempts)) from error
            watch.observe(error)
        except SdbError as error:
            if unknown is None:
                raise
            # An earlier attempt may have committed, so that no later failure proves that nothing
            # has changed.
            raise _uncertain(unknown, attempts) from error
        backoff.pause()


def _logged(keys: TableKeys, done: Committed) -> Committed:
    if done.is_new:
        values = (keys.database, keys.table, done.version, done.commit, done.attempts)
        _log.info("%s.%s: committed version %d as %s, attempts: %d", *values)
    else:
        name = f"{keys.database}.{keys.table}"
        _log.info("%s: nothing to commit, version %d stays", name, done.version)
    return done


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
        self._barrier = GcBarrier(writer)
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
            # On S3 writers of one machine queue up here, instead of losing swaps to each other.
            if root.store.is_remote:
                stack.enter_context(self.writer.env.queue(root.place(self.writer.head)))
            # On a disk this lock makes the comparison and the rename one step; S3 itself compares.
            is_locked = True
            try:
                index, is_brief = root.place(self.writer.head), not callable(self._plan)
                stack.enter_context(root.store.lock(index, is_brief=is_brief))
            except NotFoundError:
                is_locked = False
            head = find_head(root, keys, branch)
            if head is None and branch != MAIN:
                check_branch(root, keys, branch)
            # It was not there when the lock was asked for, so that this writer holds none.
            if head is not None and not is_locked:
                message = f"{self.writer.head} was created by another writer"
                raise ConflictError(message, path=self.writer.head)
            try:
                return self._joint(head) or self._follow(head)
            except CorruptError as error:
                # Another program deletes what only the index led to that it has replaced.
                if not self._is_replaced(head):
                    raise
                raise ConflictError(error.message, path=error.path, hint="run it again") from error

    def _joint(self, head: TableHandle | None) -> Committed | None:
        """Return the version that this transaction has made already; None: it has not.

        Raises `InTransactionError` if another transaction is pending.
        """
        joint = None if head is None else head.joint
        if head is None or joint is None or joint.state.transaction != self._transaction:
            if head is not None:
                check_decided(head)
            return None
        if not joint.is_pending:
            raise TransactionAbortedError(
                f"{self._transaction} is {joint.step}", path=self._transaction
            )
        number = joint.state.version
        return Committed(number, self.commit_id, is_new=True, attempts=self.count)

    def _follow(self, head: TableHandle | None) -> Committed:
        """Commit on top of a head, unless the commit is in its history."""
        began = self.writer.env.elapsed()
        last = succession_of(head, self.writer, self._transaction)
        if last.pending:  # packfiles of others may have been copied, which takes its time
            self.recovered_seconds += self.writer.env.elapsed() - began
        number = 0 if last.state is None else last.state.version
        # A new id is in no version before the first attempt, so that only later ones are searched;
        # recovered ones may have any number.
        if self._first_seen is None:
            self._first_seen = 0 if last.pending else number
        # A client's id may be that of any earlier run: the whole history is searched for it.
        since = 0 if self._is_given else self._first_seen
        done = last.place_of(self.commit_id, since)
        if done is not None and not last.pending:
            return Committed(done.version, self.commit_id, is_new=False, attempts=self.count)
        # A version that was stored may have counted, and have expired before its answer came.
        if done is None and self._has_stored:
            version = expired_version(last, self.commit_id, self._first_seen)
            if version is not None:
                return Committed(version, self.commit_id, is_new=True, attempts=self.count)
        try:
            # Done, but overwritten since: it counts again only once the replayed versions are
            # published.
            newest = last if done is not None else self._next(last) or last.to_publish
        except TransactionDoneError:
            if last.pending:  # what was overwritten, and done again, counts only once it is there
                self._publish(last, head)
            raise
        if newest is None:
            return Committed(number, self.commit_id, is_new=False, attempts=self.count)
        self._publish(newest, head)
        pointer = newest.place_of(self.commit_id, since)
        version = number if pointer is None else pointer.version
        return Committed(version, self.commit_id, is_new=done is None, attempts=self.count)

    def _next(self, last: VersionChain) -> VersionChain | None:
        """Append the version that the plan makes; None: it changes nothing."""
        change = self._plan(last.index) if callable(self._plan) else self._plan
        if change is None:
            return None
        made = {txn_id: last.place_of(txn_id, self._looked_through) for txn_id in change.ids}
        may_revive = change.makes_table or change.operation in _REVIVING
        if last.state is not None and last.state.dropped and not may_revive:
            raise dropped(self.writer.root, self.writer.keys, last.state)
        number = 0 if last.state is None else last.state.version
        if change.expects is not None and change.expects != number:
            keys = self.writer.keys
            raise version_changed(f"{keys.database}.{keys.table}", number, change.expects)
        self._looked_through = 0 if last.pending else number
        if done := {txn_id: at.version for txn_id, at in made.items() if at is not None}:
            raise TransactionDoneError(done)
        # By the version that is followed, and not the one that was read when packing began: a
        # collection may have begun in between.
        boundary_us = 0 if last.state is None else last.state.boundary_us
        change = self._barrier.fresh(change, boundary_us)
        return last.append(replace(change, transaction=self._transaction), self.commit_id)

    def _publish(self, last: VersionChain, head: TableHandle | None) -> None:
        """Store the pending versions, and swap the index for the last of them."""
        root, index = self.writer.root, self.writer.root.place(self.writer.head)
        if self.count > 1 and callable(self._plan) and self._is_overtaken(head):
            message = f"writing {index}: another writer changed it"
            raise ConflictError(message, path=index, hint="run it again")
        # Versions are stored before the index that leads to them. A lost swap leaves them behind:
        # the next attempt of this commit finds its own, and `gc` deletes the others.
        # Before the version is stored, which may count from then on.
        claim = self._claimed(last, head)
        for version in last.pending[:-1]:
            put_new(root, version.key, version.data, durable=False)
        data = self._store(last.pending[-1])
        replaced = None if head is None else head.reader
        # On a disk they are flushed before the index appears: after a power cut it leads to nothing
        # that is missing.
        keys = [key for version in last.pending for key in (version.key, *version.packfiles)]
        try:
            root.store.put_if_match(
                index, data, replaced, flush_after=[root.place(key) for key in keys]
            )
        except (ConflictError, ExistsError) as error:
            _log.info("%s: lost the compare-and-swap of %s", index, last.pending[-1].key)
            if isinstance(error, ConflictError):
                raise
            raise ConflictError(error.message, path=index, hint="run it again") from error
        # Not of a transaction, which may still be aborted.
        if head is not None and last.state is not None and not last.state.transaction:
            take_note(head, last.state.version)
        # Killed before this, the claim of a program that died ends by itself; the index has the
        # name already.
        if claim is not None:
            claim.release()

    def _claimed(self, last: VersionChain, head: TableHandle | None) -> ClaimedName | None:
        """Claim the name of a table that comes into being; None: it is there, or goes."""
        is_there = head is not None and not head.is_void and not head.is_dropped
        is_gone = last.state is not None and last.state.dropped
        if is_there or is_gone or self.writer.branch != MAIN:
            return None
        return claim_name(self.writer.root, self.writer.keys, self.writer.env)

    def _is_overtaken(self, head: TableHandle | None) -> bool:
        """Return whether the swap would fail, so that storing the version would be in vain."""
        # On a disk this writer holds the lock, so that nobody can be faster.
        return self.writer.root.store.is_remote and self._is_replaced(head)

    def _is_replaced(self, head: TableHandle | None) -> bool:
        """Return whether another writer has replaced the index that was read."""
        root = self.writer.root
        if head is None:
            return False
        return root.store.version(root.place(self.writer.head)) != head.reader.version

    def _store(self, version: NewVersion) -> bytes:
        """Store a version; an earlier attempt may have stored one of the same id and parent.

        From now on it may count, whatever becomes of the swap: its answer may be lost, and recovery
        after another program replays what is stored.
        """
        self._has_stored = True
        root = self.writer.root
        try:
            put_new(root, version.key, version.data, durable=False)
        except ConflictError:
            stored = look(root, version.key)
            if stored is None or not is_same_version(stored[0], version.data, root.keyring):
                raise
            return with_names_of(stored[0], version.data, root.keyring)
        return version.data


def go_on(
    root: TableRoot, keys: TableKeys, *, branch: str = MAIN, env: Environment = REAL, known: int = 0
) -> None:
    """Make the newest version the index again, if an older one was put in its place.

    * ``known``: Number of a version that is there, by what somebody says; nothing is done if it is
      not newer than the index.
    """
    head = find_table(root, keys.database, keys.table, branch=branch)
    if head is None or head.state is None or 0 < known <= head.state.version:
        return
    if known:
        take_note(head, known)
    # Recovery alone: a plan without a change publishes what was overwritten or put back.
    commit(root, keys, lambda _: None, branch=branch, env=env)


def check_branch(root: TableRoot, keys: TableKeys, branch: str) -> None:
    """Check that a branch exists.

    Raises `UnknownReferenceError` if the reference is unknown; the hint tells what may be meant;
    `NotFoundError` if there is no such table.
    """
    if branch != MAIN:
        open_table(root, keys.database, keys.table, at=VersionReference("branch", name=branch))


def find_commit(
    root: TableRoot, keys: TableKeys, commit_id: str, *, branch: str = MAIN
) -> int | None:
    """Return the version that a commit has made.

    Returns: None: the table has none of that id, or another program has written to it since; a
    commit finds out.
    """
    head = find_table(root, keys.database, keys.table, branch=branch)
    if head is None:
        return None
    pointer = head_version(head, ObjectWriter(root, keys)).place_of(commit_on(branch, commit_id))
    return None if pointer is None else pointer.version


# Versions that an earlier attempt of a commit has stored, when its answer or the race was lost.


def is_same_version(stored: bytes, made: bytes, keyring: Keyring) -> bool:
    """Return whether two indexes are the version of one commit after the same parent."""
    ours, theirs = _state(made, keyring), _state(stored, keyring)
    if ours is None or theirs is None:
        return False
    is_same = ours.table == theirs.table or ours.version == 1
    is_same = is_same and ours.branch == theirs.branch
    return is_same and ours.commit == theirs.commit and ours.parent == theirs.parent


def with_names_of(stored: bytes, made: bytes, keyring: Keyring) -> bytes:
    """Return the stored index with the tags and branches that there are now."""
    ours, theirs = _state(made, keyring), _state(stored, keyring)
    if ours is None or theirs is None:
        return stored
    if (ours.tags, ours.branches) == (theirs.tags, theirs.branches):
        return stored
    etag = etags.of_content([stored])
    state = replace(theirs, tags=ours.tags, branches=ours.branches, kept_etag=etag)
    index = TableIndex.decode(stored, keyring)
    return replace(index, user_data=with_state(index.user_data, state)).encode(keyring)


def _state(data: bytes, keyring: Keyring) -> VersionState | None:
    return state_of(TableIndex.decode(data, keyring).user_data)
