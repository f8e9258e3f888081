"""Reading objects from a position to another, whatever the store."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Generator

    from sdb.store.url import Reader

_PIECE_BYTES = 256 << 10


def pieces(reader: Reader, start: int, stop: int) -> Generator[bytes]:
    """Read the bytes of a half-open range piece by piece.

    Parameters
    ----------
    reader : Reader
        The open object.
    start, stop : int
        Positions in the object, in bytes.

    Yields
    ------
    bytes
        At most 256 KiB, which stay in the cache of a core. On S3 all of them come with one request.
    """
    streamed = getattr(reader, "pieces", None)
    if streamed is not None:
        yield from streamed(start, stop)
        return
    for at in range(start, stop, _PIECE_BYTES):
        yield reader.read(at, min(at + _PIECE_BYTES, stop))
