"""Bytes of an object, read on demand."""

from __future__ import annotations

from sdb.errors import ConflictError
from sdb.store.base import CLOSED

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sdb.store.base import Reader


class LazyBytes:
    """A range of an object, of which as much is read as is sliced; `bytes` reads all of it.

    Copies of it are bytes.

    * ``reader``: The object. If it was closed it is opened again, and has to be the same.
    * ``start, stop``: The range in the object, in bytes.
    * ``near``: The first bytes of the range, which are known already.
    """

    __slots__ = ("_near", "_reader", "_start", "_stop")

    def __init__(self, reader: Reader, start: int, stop: int, near: bytes = b"") -> None:
        self._reader = reader
        self._start = start
        self._stop = stop
        self._near = near

    @property
    def near_bytes(self) -> int:
        """Number of bytes that are in memory."""
        return len(self._near)

    def __len__(self) -> int:
        """Return the size of the range."""
        return self._stop - self._start

    def __getitem__(self, part: slice) -> bytes:
        """Read a part of the range.

        Raises `ConflictError` if someone replaced the object since it was opened, `NotFoundError`
        if someone removed it and `CorruptError` if it became shorter.
        """
        start, stop, _ = part.indices(len(self))
        near = self._near[start:stop]
        start += len(near)
        return near + self._read(start, stop) if start < stop else near

    def __bytes__(self) -> bytes:
        """Read all of it."""
        return self[:]

    def __eq__(self, other: object) -> bool:
        """Compare with other bytes, all of which are read for that."""
        if not isinstance(other, bytes | LazyBytes):
            return NotImplemented
        return len(self) == len(other) and bytes(self) == bytes(other)

    __hash__ = None  # type: ignore[assignment]

    def __reduce__(self) -> tuple[type[bytes], tuple[bytes]]:
        """Copy and pickle it as plain bytes: another process has not opened the object."""
        return bytes, (bytes(self),)

    def __repr__(self) -> str:
        """Show where they are."""
        return f"<LazyBytes: {len(self):,} bytes of {self._reader.path} from {self._start:,}>"

    def _read(self, start: int, stop: int) -> bytes:
        range_ = self._start + start, self._start + stop
        if self._reader.descriptor != CLOSED:
            return self._reader.read(*range_)
        again = self._reader.reopen()
        try:
            if again.version != self._reader.version:
                message = f"reading {again.path}: someone has changed it meanwhile"
                raise ConflictError(message, path=again.path, hint="run it again")
            return again.read(*range_)
        finally:
            again.close()


def held_bytes(data: bytes | LazyBytes) -> int:
    """Return how many of some bytes are in memory."""
    return len(data) if isinstance(data, bytes) else data.near_bytes
