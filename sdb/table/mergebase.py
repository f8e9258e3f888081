"""The version that two branches have in common."""

from __future__ import annotations

from sdb.errors import ConflictError, CorruptError
from sdb.table.versionhistory import read_history
from sdb.table.versionstate import state_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from sdb.table.index import TableIndex
    from sdb.table.tablehandle import TableHandle
    from sdb.table.versionhistory import PastVersion, VersionPointer
    from sdb.table.versionstate import VersionState


def merge_base(
    theirs: TableHandle, index: TableIndex, source: str, into: str
) -> TableHandle | None:
    """Find the newest version that both sides come from.

    Parameters
    ----------
    theirs : TableHandle
        The version that is merged.
    index : TableIndex
        The index that it is merged into.
    source, into : str
        Names of their branches; of what is no branch empty.

    Returns
    -------
    TableHandle or None
        The version; None: the destination has all of the source already.

    Raises
    ------
    ConflictError
        No version of both is kept.
    """
    own, other = state_of(index.user_data), theirs.state
    if own is None or other is None:
        raise ConflictError(f"{theirs.name}: the branches have no version in common")
    key = theirs.keys.version(other.version, other.commit)
    common = _common(theirs, own, other)
    merged = [own.merges.get(source), other.merges.get(into)]
    known = [common, *[_past(theirs, one) for one in merged if one is not None]]
    found = [one for one in known if one is not None]
    if not found:
        raise ConflictError(
            f"{theirs.name}: no version that both branches come from is kept",
            hint="sdb log shows which versions are kept",
        )
    newest = max(found, key=lambda one: one.at_us)
    if key in {one.key for one in found}:
        return None
    if _is_purged(newest, own, other):
        raise ConflictError(
            f"{theirs.name}: the version that both branches come from was purged",
            hint="delete the branch and begin it anew, or insert its rows into the other one",
        )
    return theirs.version(newest.key, newest.etag)


def _is_purged(newest: PastVersion, own: VersionState, other: VersionState) -> bool:
    """Return True if both sides have forgotten a later version, which may be the common one."""
    return newest.version < min(own.purged, other.purged)


def _past(theirs: TableHandle, pointer: VersionPointer) -> PastVersion | None:
    """Read a version that was merged; None: it is not kept any more."""
    try:
        found = theirs.version(pointer.key, pointer.etag).state
    except CorruptError:
        return None
    return None if found is None else found.past(pointer.key, pointer.etag)


def _common(theirs: TableHandle, own: VersionState, other: VersionState) -> PastVersion | None:
    """Find the newest version in the histories of two states, themselves among them."""
    left, right = _back(theirs, own), _back(theirs, other)
    one, two = next(left, None), next(right, None)
    while one is not None and two is not None:
        if one.key == two.key:
            return one if one.etag else two
        if one.version > two.version:
            one = next(left, None)
        elif one.version < two.version:
            two = next(right, None)
        else:
            one, two = next(left, None), next(right, None)
    return None


def _back(theirs: TableHandle, state: VersionState) -> Iterator[PastVersion]:
    """Go over a version and those before it; lists are read when it is their turn."""
    yield state.past(theirs.keys.version(state.version, state.commit), state.kept)
    yield from reversed(state.history)
    for ref in reversed(state.older):
        yield from reversed(read_history(theirs.root.fetch(ref.key, ref.etag), ref))
