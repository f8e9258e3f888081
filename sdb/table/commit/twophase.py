"""Commits to several tables that become true together.

1. An intent is written (:mod:`sdb.table.catalog.intents`).
2. Each table gets its version, one after the other in the order of their keys, with the key of the
   intent: readers take the version before it as long as the intent is not committed, and writers
   wait.
3. The intent is swapped: this is what commits.
4. Each index is swapped once more, so that nobody has to look at the intent any longer. It is no
   matter if that does not happen.
"""

from __future__ import annotations

from contextlib import suppress

from sdb.errors import ConflictError, SdbError, UncertainError
from sdb.records import record, replace
from sdb.table.catalog.foreign import is_overwritten, seal_of
from sdb.table.catalog.handle import find_head
from sdb.table.commit.commit import PATIENCE_SECONDS, commit
from sdb.table.commit.coordinator import GivenUpError, Undecided
from sdb.table.commit.environment import REAL, Surroundings
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
    """The part of a transaction that changes one table.

    Attributes
    ----------
    keys : TableKeys
        The names of the table.
    plan : TableChange or callable
        See :func:`sdb.table.commit.commit.commit`; it always gives a change.
    branch : str
        The branch that gets the version.
    """

    keys: TableKeys
    plan: Plan | TableChange
    branch: str = MAIN

    @property
    def head(self) -> str:
        """Key of the index."""
        return self.keys.branch(self.branch)


def commit_together(
    root: TableRoot,
    parts: Sequence[TablePart],
    *,
    uid: str,
    around: Surroundings = REAL,
    patience_seconds: float = PATIENCE_SECONDS,
) -> dict[str, int]:
    """Change several tables, in one step.

    Parameters
    ----------
    root : TableRoot
        The root that the tables are below.
    parts : sequence of TablePart
        What changes, each index at most once.
    uid : str
        What tells this attempt from all others: the id of each of its commits.
    around : Surroundings
        The clock and the dice.
    patience_seconds : float
        How long to begin again with each table when others commit meanwhile.

    Returns
    -------
    dict
        The new versions, by the keys of the indexes.

    Raises
    ------
    ConflictError
        Nothing has changed, and nothing will: others were faster all the time, or have given the
        transaction up because it took too long.
    UncertainError
        It is not known whether all tables were changed, or none.
    SdbError
        What a plan raises, and what is wrong with a table. Nothing has changed.
    """
    ordered = sorted(parts, key=lambda part: part.head)  # so that nobody waits for each other
    heads = [part.head for part in ordered]
    try:
        intent = Undecided(root, ordered[0].keys, uid, heads, around)
    except UncertainError as error:
        raise ConflictError(error.message, path=error.path, hint="run it again") from error
    try:
        versions = _marked(root, ordered, intent, uid, around, patience_seconds)
    except SdbError as error:
        with suppress(SdbError):  # nobody else commits it, and others give it up
            intent.abort()
        _tidy(root, ordered, intent.key)
        if isinstance(error, UncertainError):
            raise ConflictError(error.message, path=error.path, hint="run it again") from error
        raise
    try:
        intent.commit(versions)
    except GivenUpError:
        _tidy(root, ordered, intent.key)
        raise
    _tidy(root, ordered, intent.key)
    return versions


def _marked(
    root: TableRoot,
    parts: Sequence[TablePart],
    intent: Undecided,
    uid: str,
    around: Surroundings,
    patience_seconds: float,
) -> dict[str, int]:
    """Give each table its version; none of them counts yet."""

    def sleep(seconds: float) -> None:
        around.sleep(seconds)
        intent.beat()

    now_us = around.now_us()
    # All have the same time, so that they come together where tables are read as of a time.
    waiting = replace(around, sleep=sleep, now_us=lambda: now_us)
    versions: dict[str, int] = {}
    for part in parts:
        intent.beat()
        done = commit(
            root,
            part.keys,
            part.plan,
            commit_id=commit_on(part.branch, uid),
            is_new=True,
            around=waiting,
            patience_seconds=patience_seconds,
            branch=part.branch,
            transaction=intent.key,
        )
        versions[part.head] = done.version
    return versions


def _tidy(root: TableRoot, parts: Sequence[TablePart], key: str) -> None:
    """Let indexes be those that count, so that nobody has to look at the intent."""
    for part in parts:
        with suppress(SdbError):
            tidy_head(root, part.keys, part.branch, key)


def tidy_head(root: TableRoot, keys: TableKeys, branch: str, key: str) -> bool:
    """Let an index be what counts of it, if it is part of a transaction that is decided.

    Parameters
    ----------
    root : TableRoot
        The root.
    keys : TableKeys
        The names of the table.
    branch : str
        The branch.
    key : str
        The intent.

    Returns
    -------
    bool
        Whether the index has nothing to do with the transaction, now or before.

    Raises
    ------
    ConflictError
        Someone else was faster.
    UncertainError, SdbError
        The store does not answer.
    """
    place = root.place(keys.branch(branch))
    head = find_head(root, keys, branch)
    if head is None or head.joint is None or head.joint.state.transaction != key:
        return True
    joint = head.joint
    if joint.is_pending or is_overwritten(head):
        return False
    index = head.index
    if head.is_void:  # others than us see an empty table, we see none
        index = TableIndex(joint.index.name, joint.index.created_us)
        state = replace(joint.state, seal=seal_of(index))
        index = replace(index, user_data=with_state({}, state))
    with root.store.lock(place):
        root.store.put_if(place, index.encode(root.keyring), head.reader)
    return not head.is_void
