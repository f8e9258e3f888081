"""Sharing: a table that refers to packfiles of another one below the same root.

The source gets a branch for it, the hold, which leads to these packfiles, so that `gc` of the
source needs to know nothing of the other table. When the other table does not need them any more,
its own `gc` deletes the hold.
"""

from __future__ import annotations

from contextlib import suppress

from sdb import notes
from sdb.errors import ConflictError, CorruptError, ExistsError, NotFoundError, UsageError
from sdb.table.catalog.foreign import is_foreign
from sdb.table.catalog.handle import open_table
from sdb.table.catalog.lookup import Versions
from sdb.table.catalog.refs import pointer_to
from sdb.table.commit.refswap import adopted
from sdb.table.format.keys import TableKeys, folder_of, is_packed
from sdb.table.format.versionref import MAIN, ExpiredError, UnknownReferenceError, VersionReference
from sdb.table.history.holds import hold_name, is_hold_for
from sdb.table.history.setrefs import branch, delete_branch

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from sdb.table.catalog.handle import TableHandle
    from sdb.table.catalog.root import TableRoot
    from sdb.table.commit.environment import Environment
    from sdb.table.format.history import VersionPointer
    from sdb.table.format.state import VersionState


def is_shareable(key: str) -> bool:
    """Return whether two tables may refer to a packfile.

    The original deletes what it has named itself where only one of them refers to it.

    >>> is_shareable("db/web/gha/data/X.zion"), is_shareable("db/web/gha/packed-X.zion")
    (True, False)
    """
    above = f"{folder_of(key)}/data/"
    return key.startswith(above) and not is_packed(key)


def settled(source: TableHandle, env: Environment) -> TableHandle:
    """Return a version of ours for what another program may have written over it."""
    if source.state is None or is_foreign(source.index, source.state):
        return adopted(source.root, source.keys, env)
    return source


def hold(
    source: TableHandle, shared: Iterable[str], keys: TableKeys, env: Environment
) -> dict[str, str]:
    """Pin the packfiles that a new table will refer to in the tables that have them.

    * ``source``: The version that the new table is made of; see :func:`settled`.
    * ``shared``: Keys of the packfiles. Some may be of tables that the source itself shares them
      with.

    Raises `ConflictError` if the version expired before the branch kept it; `CorruptError` if the
    source says that another table keeps packfiles for it, and that one does not; `UsageError` if
    the name of the new table cannot be a part of that of a branch.
    """
    folders = {folder_of(key) for key in shared}
    state = _state(source)
    held: dict[str, str] = {}
    if source.keys.folder in folders:
        held[source.name] = _held(source, keys, env)
    for table, name in state.shares.items():
        database, _, rest = table.partition(".")
        if TableKeys(database, rest).folder in folders:
            if not is_hold_for(source.root, TableKeys(database, rest), name, source.keys):
                raise CorruptError(
                    f"{source.name}: the branch {name} of {table} keeps packfiles for another table"
                )
            holder = open_table(source.root, database, rest, branch=name)
            held[table] = _held(holder, keys, env)
    return held


def _state(source: TableHandle) -> VersionState:
    if source.state is None:
        raise UsageError(f"{source.name}: this version was not written by sdb")
    return source.state


def _held(source: TableHandle, keys: TableKeys, env: Environment) -> str:
    """Begin the branch that keeps a version, unless it is there."""
    root, own, state = source.root, source.keys, _state(source)
    pointer = pointer_to(source)
    name, held_for = hold_name(keys, pointer), f"{keys.database}.{keys.table}"
    wanted = VersionReference(
        "version", state.version, text=str(state.version), branch=state.branch or MAIN
    )
    with suppress(ExistsError):  # of a fork that was broken off
        branch(root, own.database, own.table, name, wanted, held_for=held_for, env=env)
    if not _is_kept(source, wanted, pointer):
        raise ConflictError(
            f"{source.name}@{state.version} expired before the branch kept it",
            path=pointer.key,
            hint=f"sdb branch -d {source.name} {name} deletes the branch that was to keep it",
        )
    return name


def _is_kept(source: TableHandle, wanted: VersionReference, pointer: VersionPointer) -> bool:
    """Return whether a version is still one that a collector keeps.

    If it is so after the branch was begun, it was so before, and nothing of it was collected.
    """
    keys = source.keys
    head = open_table(source.root, keys.database, keys.table, branch=wanted.branch)
    try:
        version = Versions(head).by_number(wanted)
    except (ExpiredError, UnknownReferenceError):
        return False
    if version is None:
        return pointer_to(head).key == pointer.key
    return version.key == pointer.key


def check_held(root: TableRoot, shares: Mapping[str, str]) -> None:
    """Require the branches that keep packfiles. Raises `ConflictError` if one was deleted."""
    for table, name in shares.items():
        key = TableKeys(*table.split(".", 1)).branch(name)
        if not root.has(key):
            raise ConflictError(
                f"{table} does not keep what it shares: the branch {name} was deleted",
                path=key,
                hint="drop the new table, and fork again",
            )


def release_holds(
    root: TableRoot,
    own: TableKeys,
    shares: Mapping[str, str],
    needed: Iterable[str],
    env: Environment,
) -> None:
    """Take away the branches that keep what a table does not need any more.

    What the table says of others is not enough for that: the branch must say that it is for this
    table, else it is left alone.
    """
    for table, name in shares.items():
        keys = TableKeys(*table.split(".", 1))
        if any(key.startswith(f"{keys.folder}/") for key in needed):
            continue
        if not is_hold_for(root, keys, name, own):
            notes.warn(
                f"{own.database}.{own.table} refers to the branch {name} of {table}, which keeps "
                "nothing for it: left alone"
            )
            continue
        try:
            delete_branch(root, keys.database, keys.table, name, is_forced=True, env=env)
        except (NotFoundError, ConflictError):
            continue  # it is gone, or busy: the next collection finds out
