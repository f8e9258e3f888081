"""Cut objects into parts."""

from __future__ import annotations

from sdb.errors import UnsupportedError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sdb.store.s3.upload import Upload

MIN_PART_BYTES = 5 << 20
FIRST_PART_BYTES = 8 << 20
MAX_PART_BYTES = 5 << 30
MAX_PARTS = 10_000
COPY_BYTES = 256 << 20
_DOUBLINGS = 10


def part_bytes(index: int, budget: int) -> int:
    """Return the size that the next part should have.

    Parts become larger on the way, so that those that are left suffice for the largest object.
    """
    return min(MAX_PART_BYTES, FIRST_PART_BYTES << (index * _DOUBLINGS // budget))


def copy_ranges(count: int) -> list[tuple[int, int]]:
    """Cut the first bytes of an object into parts that the store copies, all about equal.

    * ``count``: How many bytes, at least those of the smallest part.

    Returns: Half-open ranges, at most half as many as there may be parts.
    """
    largest = min(MAX_PART_BYTES, max(COPY_BYTES, -(-count // (MAX_PARTS // 2))))
    parts = -(-count // largest)
    if parts >= MAX_PARTS:
        raise UnsupportedError(f"{count:,} bytes are more than {MAX_PARTS:,} parts can hold")
    return [(count * n // parts, count * (n + 1) // parts) for n in range(parts)]


class Parts:
    """Cuts what is written into parts."""

    def __init__(self, upload: Upload) -> None:
        self._upload = upload
        self._pieces: list[bytes] = []
        self._size_bytes = 0
        self.written_bytes = 0

    def write(self, data: bytes) -> int:
        """Write bytes at the end."""
        piece = bytes(data)
        self._pieces.append(piece)
        self._size_bytes += len(piece)
        self.written_bytes += len(piece)
        while self._size_bytes >= self._upload.next_bytes:
            self._cut(self._upload.next_bytes)
        return len(piece)

    def _cut(self, count: int) -> None:
        data = memoryview(self.rest())
        self._pieces = [bytes(data[count:])]
        self._size_bytes = len(data) - count
        self._upload.put(bytes(data[:count]))

    def rest(self) -> bytes:
        """Return what is not sent yet."""
        return b"".join(self._pieces)

    @property
    def missing_bytes(self) -> int:
        """Number of bytes without which what is not sent yet is too little for a part."""
        return max(0, MIN_PART_BYTES - self._size_bytes) if self._size_bytes else 0

    def flush(self) -> None:
        """Send what is left as a part: the last one, or one that a copied part follows."""
        if self._size_bytes:
            self._upload.put(self.rest())
        self._pieces, self._size_bytes = [], 0
