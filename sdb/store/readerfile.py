"""A reader as a file of Python, at whose positions libraries can read."""

from __future__ import annotations

import io

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sdb.store.base import Reader


class ReaderFile(io.RawIOBase):
    """A reader as a file at whose positions pyarrow can read; it does not close the reader."""

    def __init__(self, reader: Reader) -> None:
        super().__init__()
        self._reader = reader
        self._position = 0

    def readable(self) -> bool:
        """Return true."""
        return True

    def seekable(self) -> bool:
        """Return true."""
        return True

    def tell(self) -> int:
        """Return the position."""
        return self._position

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Go to a position, and return it."""
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._position, io.SEEK_END: self._reader.size_bytes}
        self._position = max(0, base[whence] + offset)
        return self._position

    def read(self, size: int | None = -1) -> bytes:
        """Read bytes; all that are left if there is no size."""
        rest = max(0, self._reader.size_bytes - self._position)
        count = rest if size is None or size < 0 else min(size, rest)
        data = self._reader.read(self._position, self._position + count)
        self._position += count
        return data
