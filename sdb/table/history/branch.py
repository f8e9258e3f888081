"""The index that a branch begins with: a version, with as much of its history as is still kept."""

from __future__ import annotations

from sdb.records import replace
from sdb.table.catalog.handle import find_table
from sdb.table.commit.objects import ObjectWriter
from sdb.table.format.history import listing_of, read_history
from sdb.table.format.index import TableIndex
from sdb.table.format.state import state_of, with_state
from sdb.table.format.versionref import MAIN

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sdb.table.catalog.handle import TableHandle
    from sdb.table.commit.environment import Environment
    from sdb.table.format.history import HistoryRef, PastVersion, VersionPointer
    from sdb.table.format.state import VersionState


def first_index(
    version: TableHandle, pointer: VersionPointer, env: Environment, name: str, *, held_for: str
) -> bytes:
    """Return the index that a branch begins with.

    The history of an old version has versions that have expired since: a branch must not lead to
    what was collected.

    * ``name``: The branch.
    * ``held_for``: The table that the branch is to keep packfiles for, and no history; empty: it is
      none.
    """
    root, keys = version.root, version.keys
    data = root.fetch(pointer.key, pointer.etag)
    state = version.state
    branch = MAIN if state is None else state.branch or MAIN
    tip = find_table(root, keys.database, keys.table, branch=branch)
    newest = None if tip is None or held_for else tip.state
    if state is None or (
        newest and (newest.version, newest.commit) == (state.version, state.commit)
    ):
        return _begun_at(version, data, pointer, name)
    history, older = _before(version, newest, env)
    newest_merges = {} if newest is None else newest.merges
    begun = replace(
        state,
        history=history,
        older=older,
        tags={},
        branches=(),
        merged=None,
        merges={
            name: pointer
            for name, pointer in state.merges.items()
            if newest_merges.get(name) == pointer
        },
        joined=_joined(state, newest_merges),
        kept_etag=pointer.etag,
        transaction="",
        keeps_for=held_for,
        begins=name,
    )
    user_data = with_state(version.index.user_data, begun)
    return replace(version.index, user_data=user_data).encode(root.keyring)


def _joined(
    state: VersionState, newest_merges: dict[str, VersionPointer]
) -> tuple[VersionPointer, ...] | None:
    """Return the merged versions that are recorded, but may have been collected by now."""
    gone = [pointer for name, pointer in state.merges.items() if newest_merges.get(name) != pointer]
    return state.joined if not gone else (*(state.joined or ()), *gone)


def _begun_at(handle: TableHandle, data: bytes, pointer: VersionPointer, name: str) -> bytes:
    """Return the index of a version, which is one whatever becomes of the intent that it was of."""
    keyring = handle.root.keyring
    index = TableIndex.decode(data, keyring)
    state = state_of(index.user_data)
    if state is None or handle.state is None:
        return data
    if state.transaction:
        state = replace(state, transaction="", together=handle.state.together)
    state = replace(state, kept_etag=pointer.etag, begins=name)
    return replace(index, user_data=with_state(index.user_data, state)).encode(keyring)


def _before(
    version: TableHandle, newest: VersionState | None, env: Environment
) -> tuple[tuple[PastVersion, ...], tuple[HistoryRef, ...]]:
    """Return the versions before a version that the newest one still has."""
    if newest is None:
        return (), ()
    state = version.state
    number = 0 if state is None else state.version
    writer = ObjectWriter(version.root, version.keys, env)
    older = []
    for ref in newest.older:
        if ref.last < number:
            older.append(ref)
        elif ref.first < number:
            listed = read_history(version.root.fetch(ref.key, ref.etag), ref)
            before = tuple([version for version in listed if version.version < number])
            older.append(listing_of(before, writer.history))
    return tuple([version for version in newest.history if version.version < number]), tuple(older)
