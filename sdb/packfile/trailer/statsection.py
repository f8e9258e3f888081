"""Statistics of blocks as a trailer stores them, decoded on demand."""

from __future__ import annotations

from sdb.errors import CorruptError
from sdb.packfile.trailer.lazybytes import held_bytes
from sdb.records import field, record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Self

    from sdb.packfile.trailer.lazybytes import LazyBytes


@record
class StoredStatistics:
    """Statistics of blocks as they are stored, see :mod:`sdb.packfile.trailer.blockstats`."""

    head: bytes  # what there is of which path, compressed
    # The sections, one behind the other; of a large trailer they are read when they are needed.
    body: bytes | LazyBytes = field(repr=False)

    @property
    def size_bytes(self) -> int:
        """Size of both."""
        return len(self.head) + len(self.body)

    @property
    def held_bytes(self) -> int:
        """Number of bytes of them that are in memory."""
        return len(self.head) + held_bytes(self.body)

    def encode(self) -> dict[str, object]:
        """Return the member of the extension."""
        return {"head": self.head, "body": bytes(self.body)}

    @classmethod
    def read(cls, value: object) -> Self | None:
        """Read the member of the extension.

        * ``value``: The member of the extension; None if it is missing.

        Returns: None when the trailer has no statistics.
        Raises `CorruptError` if it is malformed.
        """
        if value is None:
            return None
        if not isinstance(value, dict):
            raise CorruptError("invalid statistics: expected a struct")
        head, body = value.get("head"), value.get("body")
        if type(head) is not bytes or type(body) is not bytes:
            raise CorruptError("invalid statistics: expected the blobs head and body")
        return cls(head, body)
