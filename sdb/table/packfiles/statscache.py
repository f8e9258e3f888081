"""Facts of packfiles of tables, kept for further queries of the same process."""

from __future__ import annotations

from sdb.lru import LruCache

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypeAlias

    from sdb.packfile.trailer.blockstats import BlockStatistics
    from sdb.packfile.trailer.sparseindex import SparseIndex

    Facts: TypeAlias = tuple[SparseIndex, BlockStatistics | None]
    Key: TypeAlias = tuple[str, str]

_BYTES_OF_PATH = 256  # about


class StatsCache(LruCache["Key", "Facts"]):
    """The facts of the objects that were asked last, for queries of the same process.

    Objects of a table do not change. Sections are read when they are asked for, so that more may be
    known of an object later: :meth:`measure`.
    """

    def __init__(self, most_bytes: int) -> None:
        super().__init__(most_bytes=most_bytes, size_of=_size_bytes)


def _size_bytes(facts: Facts) -> int:
    """Return about the memory that takes most of what is known."""
    sparse, statistics = facts
    stored = sparse.stored_statistics
    types = 0 if sparse.summary is None else len(sparse.summary.types)
    held = 0 if stored is None else stored.held_bytes
    held += 0 if statistics is None else statistics.held_bytes
    return held + len(sparse.stored_presence) + _BYTES_OF_PATH * (types + 1)
