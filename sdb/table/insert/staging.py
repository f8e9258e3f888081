"""Transactions that last for several requests: rows are staged one after the other, then committed.

What is staged is packed at once, as packfiles that no index leads to yet. An object
``staged/<id>`` below the root lists them, signed like an index; it is replaced by compare-and-swap,
so that any process may go on. A transaction that is neither committed nor aborted expires, and its
packfiles are collected with all others that nothing needs.
"""

from __future__ import annotations

from contextlib import suppress

from sdb import ion
from sdb.errors import ConflictError, NotFoundError, SdbError, UsageError
from sdb.progress import silent
from sdb.records import record, replace
from sdb.table.commit.change import TableChange, TransactionDoneError
from sdb.table.commit.commit import check_branch, check_writable, commit, find_commit
from sdb.table.commit.coordinator import TransactionAbortedError
from sdb.table.commit.environment import REAL
from sdb.table.commit.objects import put_in_place
from sdb.table.commit.twophase import TablePart, commit_together
from sdb.table.format import ionstruct
from sdb.table.format.descriptor import Descriptor
from sdb.table.format.keys import TableKeys, commit_on, is_uid, new_uid
from sdb.table.format.versionref import MAIN
from sdb.table.insert.insert import packing_options
from sdb.table.packfiles.pack import pack_rows
from sdb.table.packfiles.rules import row_rules

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from sdb.packfile.inputs.arguments import Inputs
    from sdb.packfile.write.pack import PackResult
    from sdb.progress import Progress
    from sdb.store.base import Reader
    from sdb.table.catalog.root import TableRoot
    from sdb.table.commit.environment import Environment

FOLDER = "staged"
OPEN, COMMITTING, ABORTED = "open", "committing", "aborted"
MOST_SECONDS = 12 * 3600
"""So long a transaction lasts at most: half the usual grace period of what nothing needs."""
_FORMAT = 1
_MOST_BYTES = 16 << 20
_MOST_OPEN = 1000
_ATTEMPTS = 20
_PAUSE_SECONDS = 0.02
_KEPT_US = 24 * 3600 * 1_000_000
"""So long the object of one that has ended says what became of it."""


class ExpiredTransactionError(NotFoundError):
    """A transaction that has lasted too long."""


@record
class StagedRows:
    """Rows that are staged, in one packfile."""

    # The table and the branch that they are for
    database: str
    table: str
    branch: str
    descriptor: Descriptor  # of their packfile

    @property
    def keys(self) -> TableKeys:
        """The keys of their table."""
        return TableKeys(self.database, self.table)

    @property
    def name(self) -> str:
        """Their table, with the branch unless it is `main`."""
        return self.keys.name + (f"@{self.branch}" if self.branch != MAIN else "")


@record
class StagedTransaction:
    """A transaction that lasts for several requests."""

    uid: str  # its id, which is that of its commit, too
    owner: str  # who has begun it
    message: str  # recorded in the versions
    step: str  # ``open``, ``committing`` or ``aborted``
    expires_us: int  # when it expires
    rows: tuple[StagedRows, ...] = ()  # what is staged, in its order

    @property
    def targets(self) -> dict[str, tuple[TableKeys, str]]:
        """The tables that get rows, with their branches, by name."""
        return {each.name: (each.keys, each.branch) for each in self.rows}

    def encode(self) -> bytes:
        """Return the object, without its signature."""
        rows = [
            [each.database, each.table, each.branch, each.descriptor.struct()] for each in self.rows
        ]
        members = {"owner": self.owner, "message": self.message, "step": self.step}
        return ion.dumps({"format": _FORMAT, **members, "expires": self.expires_us, "rows": rows})


def begin(
    root: TableRoot,
    *,
    seconds: float,
    owner: str = "",
    message: str = "",
    env: Environment = REAL,
) -> StagedTransaction:
    """Begin a transaction; those that have ended long ago are swept away.

    Raises `UsageError` if it would last too long, or the root has no key to sign with;
    `ConflictError` if there are too many.
    """
    check_writable(root)
    if not 0 < seconds <= MOST_SECONDS:
        expected = f"a time up to {MOST_SECONDS // 3600}h"
        raise UsageError("a transaction lasts for a while", expected=expected)
    if _swept(root, env) >= _MOST_OPEN:
        raise ConflictError(f"{_MOST_OPEN:,} transactions are open", hint="commit or abort some")
    expires_us = env.now_us() + int(seconds * 1_000_000)
    begun = StagedTransaction(new_uid(env.random_bytes), owner, message, OPEN, expires_us)
    _put(root, begun, None)
    return begun


def find(root: TableRoot, uid: str) -> StagedTransaction:
    """Return a transaction, whether it is open or has ended.

    Raises `NotFoundError` if no transaction has that id; `CorruptError` if its object is damaged,
    or signed by a stranger.
    """
    return _read(root, uid)[0]


def stage(
    root: TableRoot,
    uid: str,
    target: tuple[TableKeys, str],
    inputs: Inputs,
    *,
    key: str = "",
    progress: Progress = silent,
    env: Environment = REAL,
) -> tuple[StagedTransaction, PackResult]:
    """Stage rows for a branch of a table.

    * ``key``: The client's own id of the rows: the same rows with it are staged once.

    Raises `NotFoundError` if there is no such transaction, table or branch; `ConflictError` if it
    is not open any more; `UnsupportedError` if the table has partitions.
    """
    check_open(find(root, uid), env)
    keys, branch = target
    options = packing_options(root, keys, {}, {})
    check_branch(root, keys, branch)
    rules = row_rules(root, keys, branch)
    # The id is in the key: rows that are staged twice are two packfiles.
    own_id = key or new_uid(env.random_bytes)
    packed = pack_rows(
        root, keys, inputs, rules=rules, commit_id=own_id, progress=progress, **options
    )
    if packed.descriptor is None:
        return find(root, uid), packed.result
    rows = StagedRows(keys.database, keys.table, branch, packed.descriptor)

    def with_rows(now: StagedTransaction) -> StagedTransaction:
        return now if rows in now.rows else replace(now, rows=(*now.rows, rows))

    return _changed(root, uid, env, with_rows), packed.result


def finish(
    root: TableRoot,
    uid: str,
    *,
    reads: Mapping[str, int],
    author: str = "",
    message: str = "",
    env: Environment = REAL,
) -> tuple[dict[str, int], bool]:
    """Commit a transaction: one version of each table that gets rows, all at once.

    The same once more is answered with the same versions.

    * ``reads``: Versions that tables must have still, by their names; each must get rows.

    Returns: The versions by the names of the tables, and whether they were made now.
    Raises `NotFoundError` if there is no such transaction. Raises `UsageError` if a table was read
    that gets no rows, or nothing was staged. Raises `ConflictError` if it was aborted, or a table
    has another version by now: nothing has changed. It may be committed again, with other versions;
    nothing more can be staged. Raises `UncertainError` if it is not known whether it was committed.
    The same again is safe.
    """
    staged = find(root, uid)
    if staged.step == COMMITTING and (done := _done(root, staged)):
        return done, False
    if staged.step != COMMITTING:
        check_open(staged, env)
    if not staged.rows:
        raise UsageError("nothing is staged: there is nothing to commit")
    for name in reads:
        if name not in staged.targets:
            names = ", ".join(staged.targets)
            raise UsageError(f"{name[:200]} gets no rows of the transaction", expected=names)
    # From here on nothing more can be staged.
    staged = _moved(root, uid, env, COMMITTING)
    parts = {
        name: TableChange(
            "insert",
            tuple([each.descriptor for each in staged.rows if each.name == name]),
            author=author,
            message=message or staged.message,
            expects=reads.get(name),
        )
        for name in staged.targets
    }
    return _finished(root, staged, parts, env)


def abort(root: TableRoot, uid: str, *, env: Environment = REAL) -> StagedTransaction:
    """Abort a transaction: its packfiles are collected with all others that nothing needs.

    Raises `NotFoundError` if there is no such transaction; `ConflictError` if it is being
    committed, or was.
    """
    return _moved(root, uid, env, ABORTED)


def check_open(staged: StagedTransaction, env: Environment = REAL) -> None:
    """Check that a transaction takes rows still.

    Raises `ExpiredTransactionError` if it has expired and `ConflictError` if it was committed or
    aborted.
    """
    if staged.step != OPEN:
        was = "was aborted" if staged.step == ABORTED else "is being committed, or was"
        raise ConflictError(f"the transaction {staged.uid} {was}", hint="begin another one")
    if staged.expires_us <= env.now_us():
        message = f"the transaction {staged.uid} has expired: nothing of it is in a table"
        raise ExpiredTransactionError(message, hint="begin another one")


def _finished(
    root: TableRoot, staged: StagedTransaction, parts: Mapping[str, TableChange], env: Environment
) -> tuple[dict[str, int], bool]:
    """Commit, also where other requests do the same at the same time."""
    for attempt in range(1, _ATTEMPTS):
        try:
            return _committed(root, staged, parts), True
        except (TransactionAbortedError, TransactionDoneError):  # others were in the way
            if done := _done(root, staged):
                return done, False
        except ConflictError:
            if done := _done(root, staged):  # another request has committed it
                return done, False
            raise
        env.sleep(_PAUSE_SECONDS * attempt)
    return _committed(root, staged, parts), True


def _committed(
    root: TableRoot, staged: StagedTransaction, parts: Mapping[str, TableChange]
) -> dict[str, int]:
    """Commit the changes of tables, by their names."""
    if len(parts) == 1:
        ((name, change),) = parts.items()
        keys, branch = staged.targets[name]
        done = commit(root, keys, change, commit_id=staged.uid, branch=branch)
        return {name: done.version}
    together = [
        # The id of the transaction is not that of the commits, which are others at each attempt.
        TablePart(
            keys,
            replace(parts[name], operation="transaction", ids=(commit_on(branch, staged.uid),)),
            branch,
        )
        for name, (keys, branch) in staged.targets.items()
    ]
    versions = commit_together(root, together, uid=new_uid())
    return {name: versions[keys.branch(branch)] for name, (keys, branch) in staged.targets.items()}


def _done(root: TableRoot, staged: StagedTransaction) -> dict[str, int]:
    """Return the versions that a transaction has made; none: it was not committed."""
    versions = {
        name: find_commit(root, keys, staged.uid, branch=branch)
        for name, (keys, branch) in staged.targets.items()
    }
    return {name: version for name, version in versions.items() if version is not None}


def _moved(root: TableRoot, uid: str, env: Environment, step: str) -> StagedTransaction:
    """Take a transaction that is open to another step, unless it is there already."""
    try:
        return _changed(root, uid, env, lambda now: replace(now, step=step))
    except ConflictError:
        now = find(root, uid)
        if now.step == step:
            return now
        raise


def _changed(
    root: TableRoot,
    uid: str,
    env: Environment,
    change: Callable[[StagedTransaction], StagedTransaction],
) -> StagedTransaction:
    """Change a transaction that is open, as often as other requests change it meanwhile."""
    for _ in range(_ATTEMPTS):
        now, reader = _read(root, uid)
        check_open(now, env)
        with suppress(ConflictError):
            changed = change(now)
            _put(root, changed, reader)
            return changed
        env.sleep(_PAUSE_SECONDS)
    raise ConflictError(f"other requests change the transaction {uid}", hint="send it again")


def _read(root: TableRoot, uid: str) -> tuple[StagedTransaction, Reader]:
    absent = NotFoundError(
        f"there is no transaction {uid[:80]!r}", hint="it may have ended long ago"
    )
    if not is_uid(uid):
        raise absent
    try:
        reader = root.open(f"{FOLDER}/{uid}")
    except NotFoundError:
        raise absent from None
    try:
        data = reader.read(0, min(reader.size_bytes, _MOST_BYTES))
    finally:
        reader.close()
    members = ionstruct.signed(data, root.keyring, _FORMAT, "a transaction")
    rows = tuple(
        [
            StagedRows(str(database), str(table), str(branch), Descriptor.from_struct(struct))
            for database, table, branch, struct in members["rows"]
        ]
    )
    owner, message, step = (str(members[name]) for name in ("owner", "message", "step"))
    return StagedTransaction(uid, owner, message, step, int(members["expires"]), rows), reader


def _put(root: TableRoot, staged: StagedTransaction, replaced: Reader | None) -> None:
    data = root.keyring.sign(staged.encode())
    if len(data) > _MOST_BYTES:
        raise UsageError(f"a transaction has at most {_MOST_BYTES:,} bytes of metadata")
    put_in_place(root, f"{FOLDER}/{staged.uid}", data, replaced)


def _swept(root: TableRoot, env: Environment) -> int:
    """Delete the objects of transactions that have ended long ago; return how many are left."""
    left = 0
    for entry in root.store.list(root.place(FOLDER)):
        uid = entry.name
        if not is_uid(uid):
            continue
        try:
            staged = find(root, uid)
        except SdbError:
            continue
        if staged.expires_us + _KEPT_US < env.now_us():
            root.store.delete(root.place(f"{FOLDER}/{uid}"))
        elif staged.step == OPEN and staged.expires_us > env.now_us():
            left += 1
    return left
