"""Facts of packfiles of tables, kept for further queries of the same process."""

from __future__ import annotations

import threading

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypeAlias

    from sdb.packfile.trailer.blockstats import BlockStatistics
    from sdb.packfile.trailer.sparseindex import SparseIndex

    Facts: TypeAlias = tuple[SparseIndex, BlockStatistics | None]
    Key: TypeAlias = tuple[str, str]

_BYTES_OF_PATH = 256  # about


class KnownFacts:
    """Keeps what is known of the objects that were asked last, for queries of the same process.

    Objects of a table do not change; those that were not used for longest are forgotten.

    Parameters
    ----------
    most_bytes : int
        About how much memory they take at most.
    """

    def __init__(self, most_bytes: int) -> None:
        self._most_bytes = most_bytes
        self._bytes = 0
        self._lock = threading.Lock()
        self._kept: dict[Key, Facts] = {}
        self._sizes: dict[Key, int] = {}

    def get(self, key: Key) -> Facts | None:
        """Give what is known of an object, and keep it for longer."""
        with self._lock:
            found = self._kept.pop(key, None)
            if found is not None:
                self._kept[key] = found
            return found

    def put(self, key: Key, found: Facts) -> None:
        """Keep what is known of an object, and forget others that are too many."""
        with self._lock:
            self._kept.pop(key, None)
            self._kept[key] = found
            self._measure(key)

    def measure(self, key: Key) -> None:
        """Take note that more may be known of an object: sections are read when they are asked."""
        with self._lock:
            if key in self._kept:
                self._measure(key)

    def _measure(self, key: Key) -> None:
        before, now = self._sizes.get(key, 0), _size_bytes(*self._kept[key])
        self._sizes[key] = now
        self._bytes += now - before
        while self._bytes > self._most_bytes:
            gone = next(iter(self._kept))
            del self._kept[gone]
            self._bytes -= self._sizes.pop(gone)


def _size_bytes(sparse: SparseIndex, statistics: BlockStatistics | None) -> int:
    """Give about the memory that takes most of what is known."""
    stored = sparse.stored_statistics
    types = 0 if sparse.summary is None else len(sparse.summary.types)
    held = 0 if stored is None else stored.held_bytes
    held += 0 if statistics is None else statistics.held_bytes
    return held + len(sparse.stored_presence) + _BYTES_OF_PATH * (types + 1)
