"""Indexes that were read or written last: whoever commits again decodes none of them twice."""

from __future__ import annotations

from sdb.table.format.index import TableIndex

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sdb.table.format.signature import Keyring

_MOST_KEPT = 8
_MOST_BYTES = 256 << 10
_KNOWN: dict[tuple[bytes, Keyring], TableIndex] = {}


def decoded(data: bytes, keyring: Keyring) -> TableIndex:
    """Decode an index, unless it is known; see :meth:`sdb.table.format.index.TableIndex.decode`."""
    found = _KNOWN.get((data, keyring))
    if found is None:
        found = TableIndex.decode(data, keyring)
        remember(data, keyring, found)
    return found


def remember(data: bytes, keyring: Keyring, index: TableIndex) -> None:
    """Keep what an index is decoded, if it is small, in the place of one that is older."""
    if len(data) > _MOST_BYTES:
        return
    _KNOWN[data, keyring] = index
    while len(_KNOWN) > _MOST_KEPT:
        _KNOWN.pop(next(iter(_KNOWN), (data, keyring)), None)
