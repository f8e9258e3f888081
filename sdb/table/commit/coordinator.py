"""The coordinator of two-phase commit: pending transactions, their heartbeat, and stale ones.

No clock has to be right: a waiter aborts a transaction whose intent did not change for ten seconds
of the waiter's own clock. A slow coordinator notices when the compare-and-swap of its commit fails.
"""

from __future__ import annotations

from contextlib import suppress

from sdb.errors import ConflictError, NotFoundError, SdbError, UncertainError
from sdb.log import Logger
from sdb.records import replace
from sdb.table.catalog.intents import (
    ABORTED,
    COMMITTED,
    PENDING,
    FoundIntent,
    TransactionIntent,
    find_intent,
)
from sdb.table.commit.objects import put_new

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from sdb.table.catalog.handle import TableHandle
    from sdb.table.catalog.root import TableRoot
    from sdb.table.commit.environment import Environment
    from sdb.table.format.keys import TableKeys

GIVE_UP_SECONDS = 10.0
"""An intent that does not change for so long is that of a coordinator that died."""

# Four beats fit into `GIVE_UP_SECONDS`: a slow or lost one ends no living transaction.
BEAT_SECONDS = 2.5
_log = Logger("sdb.table.coordinator")
_ATTEMPTS = 5


class InTransactionError(ConflictError):
    """A transaction over several tables is about to change the table."""

    def __init__(self, key: str, seen: str) -> None:
        super().__init__(f"{key} is under way", path=key, hint="run it again")
        self.key = key
        self.seen = seen


class TransactionAbortedError(ConflictError):
    """Another writer aborted a transaction over several tables, since it took too long."""


def check_decided(head: TableHandle) -> None:
    """Require an index that no transaction under way has written.

    Raises `InTransactionError` if there is one.
    """
    if head.joint is not None and head.joint.is_pending:
        raise InTransactionError(head.joint.state.transaction, head.joint.seen)


class StaleDetector:
    """Detects transactions of other writers whose coordinator died, and aborts them."""

    def __init__(self, root: TableRoot, env: Environment) -> None:
        self._root = root
        self._env = env
        self._since: dict[str, tuple[str, float]] = {}

    def observe(self, error: SdbError) -> None:
        """Record a pending transaction, and abort it if its intent has not changed for long.

        * ``error``: The failure of an attempt. Only an `InTransactionError` is about a transaction.
        """
        if not isinstance(error, InTransactionError):
            return
        now = self._env.elapsed()
        seen, since = self._since.get(error.key, ("", now))
        if seen != error.seen:
            self._since[error.key] = error.seen, now
        elif now - since >= GIVE_UP_SECONDS:
            _log.info("%s: unchanged for %.1f s, aborting it", error.key, now - since)
            with suppress(SdbError):  # the next attempt meets it again
                abort_undecided(self._root, error.key, error.seen)


def abort_undecided(root: TableRoot, key: str, seen: str = "") -> str:
    """Abort a transaction, unless it is decided.

    * ``seen``: Only if the intent is this version of the object still; any if empty.

    Raises `UncertainError` or `SdbError` if the store does not answer.
    """
    for _ in range(_ATTEMPTS):
        pending = find_intent(root, key)
        if pending is None:
            # An intent that is gone counts as aborted for all who meet an index that names it.
            return ABORTED
        if pending.intent.step != PENDING or seen not in {"", pending.reader.version}:
            return pending.intent.step
        try:
            swap(root, key, pending, replace(pending.intent, step=ABORTED))
        except ConflictError:
            continue
        return ABORTED
    return PENDING


def swap(root: TableRoot, key: str, before: FoundIntent, after: TransactionIntent) -> None:
    """Put an intent in the place of the one that was read.

    Raises `ConflictError` if another writer was faster, or the intent is gone; `UncertainError` if
    it is not known whether it was written.
    """
    location, data = root.place(key), after.encode(root.keyring)
    error: Exception
    for _ in range(_ATTEMPTS):
        try:
            with root.store.lock(location):
                root.store.put_if_match(location, data, before.reader)
        except (ConflictError, NotFoundError, UncertainError) as failure:
            error = failure  # it may be there all the same
        else:
            return
        try:
            # The answer may be lost only: the bytes that are stored tell whether the swap took
            # place.
            stored = find_intent(root, key)
        except SdbError as failure:
            raise UncertainError(f"writing {location}: {failure.message}", path=location) from error
        if stored is not None and stored.data == data:
            return
        if stored is None or stored.data != before.data:
            raise ConflictError(f"writing {location}: another writer changed it", path=location)
    raise error


class PendingTransaction:
    """A pending transaction over several tables. Only its coordinator commits it."""

    def __init__(
        self,
        root: TableRoot,
        keys: TableKeys,
        uid: str,
        heads: Sequence[str],
        env: Environment,
    ) -> None:
        self._root = root
        self._env = env
        self.key = keys.transaction(uid)
        intent = TransactionIntent(PENDING, tuple(heads))
        put_new(root, self.key, intent.encode(root.keyring))
        self._last = self._read()
        self._written = env.elapsed()

    def _read(self) -> FoundIntent:
        pending = find_intent(self._root, self.key)
        if pending is None or pending.intent.step != PENDING:
            raise TransactionAbortedError(f"{self.key} took too long: another writer aborted it")
        return pending

    def heartbeat(self) -> None:
        """Show other writers that the coordinator is alive, at most every few seconds.

        Raises `TransactionAbortedError` if another writer aborted it.
        """
        if self._env.elapsed() - self._written < BEAT_SECONDS:
            return
        self._written = self._env.elapsed()
        intent = replace(self._last.intent, beat=self._last.intent.beat + 1)
        self._swap(intent)
        self._last = self._read()

    def commit(self, versions: dict[str, int]) -> None:
        """Commit all tables, in one step.

        Raises `TransactionAbortedError` if another writer aborted it and `UncertainError` if it is
        not known whether it is committed.
        """
        self._swap(replace(self._last.intent, step=COMMITTED, versions=versions))

    def abort(self) -> None:
        """Abort it; if the store does not answer, waiters do."""
        abort_undecided(self._root, self.key)

    def _swap(self, intent: TransactionIntent) -> None:
        try:
            swap(self._root, self.key, self._last, intent)
        except ConflictError:
            message = f"{self.key} took too long: another writer aborted it"
            raise TransactionAbortedError(message, path=self.key, hint="run it again") from None
