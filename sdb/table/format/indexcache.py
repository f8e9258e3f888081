"""A cache of indexes that were read or written last, so that the next commit decodes none."""

from __future__ import annotations

from sdb.lru import LruCache
from sdb.table.format.index import TableIndex

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sdb.table.format.signature import Keyring

_MOST_BYTES = 256 << 10
_KNOWN: LruCache[tuple[bytes, Keyring], TableIndex] = LruCache(most_entries=8)


def decoded(data: bytes, keyring: Keyring) -> TableIndex:
    """Decode an index, unless it is known; see :meth:`sdb.table.format.index.TableIndex.decode`."""
    index = _KNOWN.get((data, keyring))
    if index is None:
        index = TableIndex.decode(data, keyring)
        remember(data, keyring, index)
    return index


def remember(data: bytes, keyring: Keyring, index: TableIndex) -> None:
    """Keep a decoded index, if it is small."""
    if len(data) <= _MOST_BYTES:
        _KNOWN.put((data, keyring), index)
