"""Transactions over several tables that are not decided: begun, kept alive, ended, and given up.

No clock has to be right: who waits for a transaction gives it up when its intent has stayed the
same for some seconds of the own patience. A slow one is told so by its last step, which fails.
"""

from __future__ import annotations

from contextlib import suppress

from sdb.errors import ConflictError, NotFoundError, SdbError, UncertainError
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
    from sdb.table.commit.environment import Surroundings
    from sdb.table.format.keys import TableKeys

GIVE_UP_SECONDS = 10.0
"""An intent that stays the same for so long is that of a transaction that nobody goes on with."""

BEAT_SECONDS = 2.5
_ATTEMPTS = 5


class InTransactionError(ConflictError):
    """A transaction over several tables is about to change the table.

    Parameters
    ----------
    key : str
        Its intent.
    seen : str
        The version of the intent that was read.
    """

    def __init__(self, key: str, seen: str) -> None:
        super().__init__(f"{key} is under way", path=key, hint="run it again")
        self.key = key
        self.seen = seen


class GivenUpError(ConflictError):
    """A transaction over several tables took so long that others have given it up."""


def check_decided(head: TableHandle) -> None:
    """Insist on an index that no transaction under way has written.

    Raises
    ------
    InTransactionError
        There is one.
    """
    if head.joint is not None and head.joint.is_pending:
        raise InTransactionError(head.joint.state.transaction, head.joint.seen)


class Watch:
    """Patience with the transactions of others.

    Parameters
    ----------
    root : TableRoot
        The root that they are below.
    around : Surroundings
        Tells how long it has been.
    """

    def __init__(self, root: TableRoot, around: Surroundings) -> None:
        self._root = root
        self._around = around
        self._since: dict[str, tuple[str, float]] = {}

    def met(self, error: SdbError) -> None:
        """Take note of a transaction that is under way; give it up if it has not moved for long.

        Parameters
        ----------
        error : SdbError
            What an attempt has come to. Any but an `InTransactionError` is none of this.
        """
        if not isinstance(error, InTransactionError):
            return
        now = self._around.elapsed()
        seen, since = self._since.get(error.key, ("", now))
        if seen != error.seen:
            self._since[error.key] = error.seen, now
        elif now - since >= GIVE_UP_SECONDS:
            with suppress(SdbError):  # the next attempt meets it again
                give_up(self._root, error.key, error.seen)


def give_up(root: TableRoot, key: str, seen: str = "") -> str:
    """Abort a transaction, unless it is decided.

    Parameters
    ----------
    root : TableRoot
        The root.
    key : str
        Its intent.
    seen : str
        Only if the intent is this version of the object still; any if empty.

    Returns
    -------
    {"pending", "committed", "aborted"}
        What became of it; pending: it was written anew.

    Raises
    ------
    UncertainError, SdbError
        The store does not answer.
    """
    for _ in range(_ATTEMPTS):
        found = find_intent(root, key)
        if found is None:
            return ABORTED
        if found.intent.step != PENDING or seen not in {"", found.reader.version}:
            return found.intent.step
        try:
            swap(root, key, found, replace(found.intent, step=ABORTED))
        except ConflictError:
            continue
        return ABORTED
    return PENDING


def swap(root: TableRoot, key: str, before: FoundIntent, after: TransactionIntent) -> None:
    """Put an intent in the place of the one that was read.

    Raises
    ------
    ConflictError
        Someone else was faster; or there is none any more.
    UncertainError
        It is not known whether it was written.
    """
    place, data = root.place(key), after.encode(root.keyring)
    error: Exception
    for _ in range(_ATTEMPTS):
        try:
            with root.store.lock(place):
                root.store.put_if(place, data, before.reader)
        except (ConflictError, NotFoundError, UncertainError) as failure:
            error = failure  # it may be there all the same
        else:
            return
        try:
            found = find_intent(root, key)
        except SdbError as failure:
            raise UncertainError(f"writing {place}: {failure.message}", path=place) from error
        if found is not None and found.data == data:
            return
        if found is None or found.data != before.data:
            raise ConflictError(f"writing {place}: someone else changed it", path=place)
    raise error


class Undecided:
    """A transaction over several tables that is under way. Only who has begun it commits it.

    Parameters
    ----------
    root : TableRoot
        The root that the tables are below.
    keys : TableKeys
        The names of the first of them.
    uid : str
        What tells it from all others.
    heads : sequence of str
        Keys of the indexes that it changes.
    around : Surroundings
        Tells how long it has been.
    """

    def __init__(
        self,
        root: TableRoot,
        keys: TableKeys,
        uid: str,
        heads: Sequence[str],
        around: Surroundings,
    ) -> None:
        self._root = root
        self._around = around
        self.key = keys.transaction(uid)
        intent = TransactionIntent(PENDING, tuple(heads))
        put_new(root, self.key, intent.encode(root.keyring))
        self._last = self._read()
        self._written = around.elapsed()

    def _read(self) -> FoundIntent:
        found = find_intent(self._root, self.key)
        if found is None or found.intent.step != PENDING:
            raise GivenUpError(f"{self.key} took too long, and others have given it up")
        return found

    def beat(self) -> None:
        """Let others see that it is alive, unless they have a short while ago.

        Raises
        ------
        GivenUpError
            Others have given it up.
        """
        if self._around.elapsed() - self._written < BEAT_SECONDS:
            return
        self._written = self._around.elapsed()
        intent = replace(self._last.intent, beat=self._last.intent.beat + 1)
        self._swap(intent)
        self._last = self._read()

    def commit(self, versions: dict[str, int]) -> None:
        """Let all become true, in one step.

        Raises
        ------
        GivenUpError
            Others have given it up.
        UncertainError
            It is not known whether it is committed.
        """
        self._swap(replace(self._last.intent, step=COMMITTED, versions=versions))

    def abort(self) -> None:
        """Let nothing become true; when the store does not answer it never will, either."""
        give_up(self._root, self.key)

    def _swap(self, intent: TransactionIntent) -> None:
        try:
            swap(self._root, self.key, self._last, intent)
        except ConflictError:
            message = f"{self.key} took too long, and others have given it up"
            raise GivenUpError(message, path=self.key, hint="run it again") from None
