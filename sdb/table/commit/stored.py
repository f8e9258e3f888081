"""Versions that an earlier attempt of a commit has stored, when its answer or the race was lost."""

from __future__ import annotations

from sdb.records import replace
from sdb.table.format import etags
from sdb.table.format.index import TableIndex
from sdb.table.format.state import state_of, with_state

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sdb.table.format.signature import Keyring
    from sdb.table.format.state import VersionState


def is_same_version(stored: bytes, made: bytes, keyring: Keyring) -> bool:
    """Return whether two indexes are the version of one commit after the same parent."""
    ours, theirs = _state(made, keyring), _state(stored, keyring)
    if ours is None or theirs is None:
        return False
    is_same = ours.table == theirs.table or ours.version == 1
    is_same = is_same and ours.branch == theirs.branch
    return is_same and ours.commit == theirs.commit and ours.parent == theirs.parent


def with_names_of(stored: bytes, made: bytes, keyring: Keyring) -> bytes:
    """Return the stored index with the tags and branches that there are now."""
    ours, theirs = _state(made, keyring), _state(stored, keyring)
    if ours is None or theirs is None:
        return stored
    if (ours.tags, ours.branches) == (theirs.tags, theirs.branches):
        return stored
    etag = etags.of_content([stored])
    state = replace(theirs, tags=ours.tags, branches=ours.branches, kept_etag=etag)
    index = TableIndex.decode(stored, keyring)
    return replace(index, user_data=with_state(index.user_data, state)).encode(keyring)


def _state(data: bytes, keyring: Keyring) -> VersionState | None:
    return state_of(TableIndex.decode(data, keyring).user_data)
