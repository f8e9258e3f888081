"""Two-phase commit over several tables.

1. Begin: an intent is written (:mod:`sdb.table.catalog.intents`).
2. Prepare: each table gets its version, in the order of their keys, with the key of the intent.
   Until the intent is committed readers take the version before it, and writers wait.
3. Commit: the intent is replaced by compare-and-swap. This is the commit point.
4. Finalize: each index is swapped once more, so that readers need not look at the intent any
   longer. A crash before that does no harm.
"""

from __future__ import annotations

from contextlib import suppress

from sdb.errors import ConflictError, SdbError, UncertainError
from sdb.records import record, replace
from sdb.table.catalog.foreign import is_overwritten, seal_of
from sdb.table.catalog.handle import find_head
from sdb.table.commit.commit import commit
from sdb.table.commit.coordinator import PendingTransaction, TransactionAbortedError
from sdb.table.commit.environment import REAL, Environment
from sdb.table.format.index import TableIndex
from sdb.table.format.keys import TableKeys, commit_on
from sdb.table.format.state import with_state
from sdb.table.format.versionref import MAIN

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from sdb.table.catalog.root import TableRoot
    from sdb.table.commit.change import TableChange
    from sdb.table.commit.commit import Plan


@record
class TablePart:
    """The part of a transaction that changes one table."""

    keys: TableKeys  # the names of the table
    plan: Plan | TableChange  # see :func:`sdb.table.commit.commit.commit`; it always gives a change
    branch: str = MAIN  # the branch that gets the version

    @property
    def head(self) -> str:
        """Key of the index."""
        return self.keys.branch(self.branch)


def commit_together(
    root: TableRoot,
    parts: Sequence[TablePart],
    *,
    uid: str,
    env: Environment = REAL,
    patience_seconds: float | None = None,
) -> dict[str, int]:
    """Change several tables, in one step.

    * ``uid``: What tells this attempt from all others: the id of each of its commits.
    * ``patience_seconds``: For how long to retry each table, see :func:`commit`.

    Raises `ConflictError` if other writers won each race, or have aborted the transaction because
    it took too long. Nothing has changed, and nothing will. Raises `UncertainError` if it is not
    known whether all tables were changed, or none. Raises `SdbError` for what a plan raises, and
    for what is wrong with a table. Nothing has changed.
    """
    ordered = sorted(
        parts, key=lambda part: part.head
    )  # one order for all coordinators: no deadlock
    heads = [part.head for part in ordered]
    try:
        intent = PendingTransaction(root, ordered[0].keys, uid, heads, env)
    except UncertainError as error:
        # No table names the intent yet: whether it was written or not, nothing has changed.
        raise ConflictError(error.message, path=error.path, hint="run it again") from error
    try:
        versions = _marked(root, ordered, intent, uid, env, patience_seconds)
    except SdbError as error:
        with suppress(SdbError):  # waiters abort it if this fails
            intent.abort()
        _tidy(root, ordered, intent.key)
        if isinstance(error, UncertainError):
            # Only an intent that is committed makes a version count, and this one was not.
            raise ConflictError(error.message, path=error.path, hint="run it again") from error
        raise
    try:
        # The commit point. Killed before it, nothing counts, and waiters abort; killed behind it,
        # all counts.
        intent.commit(versions)
    except TransactionAbortedError:
        _tidy(root, ordered, intent.key)
        raise
    _tidy(root, ordered, intent.key)
    return versions


def _marked(
    root: TableRoot,
    parts: Sequence[TablePart],
    intent: PendingTransaction,
    uid: str,
    env: Environment,
    patience_seconds: float | None,
) -> dict[str, int]:
    """Prepare each table: put a version into it that does not count yet."""

    def sleep(seconds: float) -> None:
        # A commit may wait for other writers longer than waiters wait for a heartbeat.
        env.sleep(seconds)
        intent.heartbeat()

    now_us = env.now_us()
    # All have the same time, so that they come together where tables are read as of a time.
    waiting = replace(env, sleep=sleep, now_us=lambda: now_us)
    versions: dict[str, int] = {}
    for part in parts:
        intent.heartbeat()
        done = commit(
            root,
            part.keys,
            part.plan,
            commit_id=commit_on(part.branch, uid),
            is_new=True,
            env=waiting,
            patience_seconds=patience_seconds,
            branch=part.branch,
            transaction=intent.key,
        )
        versions[part.head] = done.version
    return versions


def _tidy(root: TableRoot, parts: Sequence[TablePart], key: str) -> None:
    """Finalize the indexes: without the key of the intent."""
    for part in parts:
        with suppress(SdbError):
            # A failure costs readers the request for the intent, and nothing else.
            finalize_head(root, part.keys, part.branch, key)


def finalize_head(root: TableRoot, keys: TableKeys, branch: str, key: str) -> bool:
    """Finalize an index that is part of a decided transaction.

    Returns: Whether the index has nothing to do with the transaction, now or before.
    Raises `ConflictError` if another writer was faster and `UncertainError` or `SdbError` if the
    store does not answer.
    """
    location = root.place(keys.branch(branch))
    head = find_head(root, keys, branch)
    if head is None or head.joint is None or head.joint.state.transaction != key:
        return True
    joint = head.joint
    # What another program has written over it is for recovery, which replays versions.
    if joint.is_pending or is_overwritten(head):
        return False
    index = head.index
    if head.is_void:  # others than us see an empty table, we see none
        index = TableIndex(joint.index.name, joint.index.created_us)
        state = replace(joint.state, seal=seal_of(index))
        index = replace(index, user_data=with_state({}, state))
    with root.store.lock(location):
        root.store.put_if_match(location, index.encode(root.keyring), head.reader)
    return not head.is_void
