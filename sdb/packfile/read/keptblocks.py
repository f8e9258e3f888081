"""Blocks of remote packfiles that stay in memory between the queries of a process.

Decoded columns and these blocks share the memory that the process may take for both: columns have
what blocks leave of it. A block is known by its identity, see
:meth:`sdb.packfile.read.blocks.BlockReader.identity`.
"""

from __future__ import annotations

from _thread import allocate_lock

from sdb import _core
from sdb.lru import LruCache

_PART = 4  # of the memory: of a block, columns of some fields are enough
_lock = allocate_lock()
_most_bytes = 0
_blocks: LruCache[bytes, bytes] = LruCache(most_bytes=0, size_of=len)


def keep(most_bytes: int) -> None:
    """Keep columns and blocks from now on.

    * ``most_bytes``: How much memory they may take together; 0: nothing is kept.
    """
    global _most_bytes, _blocks  # noqa: PLW0603 - of the process, as the columns are
    with _lock:
        if most_bytes != _most_bytes:
            _most_bytes = most_bytes
            _blocks = LruCache(most_bytes=most_bytes // _PART, size_of=len)
        _core.set_column_cache(_most_bytes - _blocks.total_bytes)


def kept(identity: bytes) -> bytes | None:
    """Return a block; None: it is not kept."""
    return _blocks.get(identity)


def put(identity: bytes, block: bytes) -> None:
    """Keep a block, if there is memory for some like it."""
    with _lock:
        if 0 < len(block) * _PART <= _most_bytes // _PART:
            _blocks.put(identity, block)
            _core.set_column_cache(_most_bytes - _blocks.total_bytes)
