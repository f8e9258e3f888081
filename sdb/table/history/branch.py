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
    from sdb.table.commit.environment import Surroundings
    from sdb.table.format.history import HistoryRef, PastVersion, VersionPointer
    from sdb.table.format.state import VersionState


def first_index(
    version: TableHandle, pointer: VersionPointer, around: Surroundings, *, held_for: str
) -> bytes:
    """Give the index that a branch begins with.

    An old version tells of versions before it that have expired since: a branch must not lead to
    what was collected.

    Parameters
    ----------
    version : TableHandle
        The version, one of ours.
    pointer : VersionPointer
        Where it is kept.
    around : Surroundings
        The clock and the dice.
    held_for : str
        The table that the branch is to keep packfiles for, and no history; empty: it is none.

    Returns
    -------
    bytes
        The index.
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
        return _without_transaction(version, data, pointer)
    history, older = _before(version, newest, around)
    known = {} if newest is None else newest.merges
    begun = replace(
        state,
        history=history,
        older=older,
        tags={},
        branches=(),
        merged=None,
        merges={name: one for name, one in state.merges.items() if known.get(name) == one},
        joined=_joined(state, known),
        kept=pointer.etag,
        transaction="",
        keeps_for=held_for,
    )
    user_data = with_state(version.index.user_data, begun)
    return replace(version.index, user_data=user_data).encode(root.keyring)


def _joined(
    state: VersionState, known: dict[str, VersionPointer]
) -> tuple[VersionPointer, ...] | None:
    """Give the merged versions that may be collected by now: they are told, and not kept."""
    gone = [one for name, one in state.merges.items() if known.get(name) != one]
    return state.joined if not gone else (*(state.joined or ()), *gone)


def _without_transaction(handle: TableHandle, data: bytes, pointer: VersionPointer) -> bytes:
    """Give the index of a version, which is one whatever becomes of the intent that it was of."""
    keyring = handle.root.keyring
    index = TableIndex.decode(data, keyring)
    state = state_of(index.user_data)
    if state is None or handle.state is None or not state.transaction:
        return data
    together = handle.state.together
    state = replace(state, transaction="", together=together, kept=pointer.etag)
    return replace(index, user_data=with_state(index.user_data, state)).encode(keyring)


def _before(
    version: TableHandle, newest: VersionState | None, around: Surroundings
) -> tuple[tuple[PastVersion, ...], tuple[HistoryRef, ...]]:
    """Give the versions before a version that the newest one still tells of."""
    if newest is None:
        return (), ()
    state = version.state
    number = 0 if state is None else state.version
    writer = ObjectWriter(version.root, version.keys, around)
    older = []
    for ref in newest.older:
        if ref.last < number:
            older.append(ref)
        elif ref.first < number:
            listed = read_history(version.root.fetch(ref.key, ref.etag), ref)
            before = tuple([one for one in listed if one.version < number])
            older.append(listing_of(before, writer.history))
    return tuple([one for one in newest.history if one.version < number]), tuple(older)
