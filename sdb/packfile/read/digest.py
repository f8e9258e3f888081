"""Compares the stored bytes of blocks with the digests in the trailer.

A digest covers every byte of a block, also those that no reader looks at, and so finds damage in
formats without checksums of their own. It is compared wherever a whole block is read. See the
section on the extension in docs/format.md.
"""

from __future__ import annotations

from sdb.errors import CorruptError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Generator

    from sdb.packfile.read.reader import Packfile

DIFFERS = "its bytes are not those that were written: the digest differs"


def check(block: bytes, digest: bytes) -> None:
    """Require the bytes that a digest was made of.

    * ``digest``: Its digest; empty when it is not known, which anything is good for.

    Raises
    ------
    CorruptError
        They are others, or no frames; the offset counts from the start of the block.
    """
    if not digest:
        return
    from sdb import _core

    if _core.digest_block(block) != digest:
        raise CorruptError(DIFFERS, offset=0)


def differs(block: bytes, digest: bytes) -> bool:
    """Return whether it is certain that a block is not what was written."""
    try:
        check(block, digest)
    except CorruptError:
        return True
    return False


def checked(pack: Packfile) -> Generator[bytes]:
    """Iterate over the bytes of all blocks of a packfile, and compare them with the digests.

    Yields: The next bytes. They may be damaged: that is known at the end of their block.

    Raises
    ------
    CorruptError
        A block is damaged.
    """
    pieces = pack.reader.pieces(0, pack.trailer.offset)
    if not (pack.verify and any(pack.trailer.sparse.digests)):
        yield from pieces
        return
    from sdb import _core

    digester = _core.BlockDigester()
    number = at = 0
    for piece in pieces:
        start = 0
        while start < len(piece):
            end = pack.trailer.block_range(number)[1]
            stop = min(len(piece), start + end - at)
            try:
                digester.update(piece[start:stop])
                at += stop - start
                if at == end:
                    digest = pack.trailer.sparse.digest(number)
                    if digest not in {b"", digester.finish()}:
                        raise CorruptError(DIFFERS, offset=0)  # noqa: TRY301
                    number += 1
            except CorruptError as error:
                raise pack.blame(error, number) from None
            start = stop
        yield piece
