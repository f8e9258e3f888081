"""Caches of a process: what was used last is kept, bounded by entries, bytes or age."""

from __future__ import annotations

import time
from _thread import allocate_lock  # threading takes 2 ms, which short commands do without

from sdb.typed import Generic, TypeVar

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

_Key = TypeVar("_Key")
_Value = TypeVar("_Value")


class LruCache(Generic[_Key, _Value]):
    """A cache that forgets what was not used for longest; threads may share it.

    * ``most_entries``: How many entries there may be; None: any number.
    * ``most_bytes``: How many bytes they may have together; None: any number.
    * ``size_of``: Returns the bytes of a value.
    * ``fresh_seconds``: After how long an entry is forgotten, used or not; None: never.
    """

    def __init__(
        self,
        *,
        most_entries: int | None = None,
        most_bytes: int | None = None,
        size_of: Callable[[_Value], int] | None = None,
        fresh_seconds: float | None = None,
        elapsed: Callable[[], float] = time.monotonic,
    ) -> None:
        self._most_entries, self._most_bytes = most_entries, most_bytes
        self._size_of, self._fresh_seconds, self._elapsed = size_of, fresh_seconds, elapsed
        self._lock = allocate_lock()
        # By key: the value, its bytes, and when it was put; the one that was used last is the last.
        self._entries: dict[_Key, tuple[_Value, int, float]] = {}
        self._bytes = 0

    def get(self, key: _Key) -> _Value | None:
        """Return a value, and keep it for longer; None: it is not kept, or too old."""
        with self._lock:
            entry = self._entries.pop(key, None)
            if entry is None:
                return None
            fresh_seconds = self._fresh_seconds
            if fresh_seconds is not None and self._elapsed() - entry[2] >= fresh_seconds:
                self._bytes -= entry[1]
                return None
            self._entries[key] = entry
            return entry[0]

    def put(self, key: _Key, value: _Value) -> None:
        """Keep a value as the one that was used last, and forget others that are too many."""
        with self._lock:
            self._forget(key)
            size_bytes = 0 if self._size_of is None else self._size_of(value)
            at = 0.0 if self._fresh_seconds is None else self._elapsed()
            self._entries[key] = value, size_bytes, at
            self._bytes += size_bytes
            self._shrink()

    def measure(self, key: _Key) -> None:
        """Record that a value may be larger or smaller by now."""
        with self._lock:
            entry = self._entries.get(key)
            if entry is not None:
                size_bytes = 0 if self._size_of is None else self._size_of(entry[0])
                self._entries[key] = entry[0], size_bytes, entry[2]
                self._bytes += size_bytes - entry[1]
                self._shrink()

    def forget(self, key: _Key) -> None:
        """Forget a value, if it is there."""
        with self._lock:
            self._forget(key)

    def clear(self) -> None:
        """Forget all values."""
        with self._lock:
            self._entries.clear()
            self._bytes = 0

    def __len__(self) -> int:
        """Return the number of entries."""
        return len(self._entries)

    @property
    def total_bytes(self) -> int:
        """The bytes of all values together."""
        return self._bytes

    def _forget(self, key: _Key) -> None:
        entry = self._entries.pop(key, None)
        if entry is not None:
            self._bytes -= entry[1]

    def _shrink(self) -> None:
        while self._entries and self._is_full():
            self._forget(next(iter(self._entries)))

    def _is_full(self) -> bool:
        if self._most_entries is not None and len(self._entries) > self._most_entries:
            return True
        return self._most_bytes is not None and self._bytes > self._most_bytes
