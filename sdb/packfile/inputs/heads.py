"""Beginnings of remote inputs, from when they are recognised to when they are read."""

from __future__ import annotations

from sdb.store.objectstore_base import ObjectReaderBase

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sdb.store.base import Reader

MOST_BYTES = 64 << 20
"""Beginnings that are in memory; an input without its own is read from its start once more."""


class Heads:
    """The beginnings of all inputs that are recognised before the first of them is read."""

    def __init__(self) -> None:
        self._bytes = 0

    def keep(self, reader: Reader, head: bytes) -> int:
        """Keep a beginning if there is room for it, and return how many bytes are kept."""
        if not isinstance(reader, ObjectReaderBase):
            return 0  # a file is opened once more
        self._bytes += len(head)
        if self._bytes <= MOST_BYTES:
            return len(head)
        reader.forget()
        return 0
