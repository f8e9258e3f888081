"""The versions of a table that a mirror does not have yet."""

from __future__ import annotations

from sdb.records import record
from sdb.table.catalog.lookup import Versions, own_version

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sdb.table.catalog.handle import TableHandle
    from sdb.table.format.history import PastVersion


@record
class PendingVersions:
    """Versions that are to be mirrored."""

    versions: tuple[PastVersion, ...]  # those that can be read, the oldest first
    is_foreign: bool  # whether another program has written to the table since the newest of them


def pending(handle: TableHandle, mirrored: int) -> PendingVersions:
    """Find the versions after one that a mirror has.

    * ``mirrored``: Its number; 0: the mirror is empty.
    """
    state = handle.state
    if state is None:
        return PendingVersions((), is_foreign=True)
    versions = Versions(handle)
    listed = [] if versions.is_foreign else [own_version(handle, state)]
    if listed and listed[0].version <= mirrored:
        return PendingVersions((), is_foreign=False)
    for past in versions.newest_first():
        if past.version <= mirrored:
            break
        listed.append(past)
    listed.reverse()
    return PendingVersions(tuple(listed), versions.is_foreign)


def opened(handle: TableHandle, past: PastVersion) -> TableHandle:
    """Open a version that :func:`pending` has found."""
    state = handle.state
    is_head = (
        state is not None and state.version == past.version and not Versions(handle).is_foreign
    )
    return handle if is_head else handle.version(past.key, past.etag)
