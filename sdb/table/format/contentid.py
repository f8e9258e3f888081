"""Content ids: names of packfiles derived from their content.

Packing the same rows again gives the same object, a damaged one has another id than its name says,
and a table that is copied needs only what is not there yet.
"""

from __future__ import annotations

from sdb.errors import CorruptError
from sdb.packfile.trailer.read import read_trailer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from sdb.packfile.trailer.trailer import Trailer
    from sdb.store.base import Reader

_DIGEST_BYTES = 20


def content_id(digests: Sequence[bytes], tail: bytes) -> str:
    """Return the id of a packfile by the digests of its blocks: nothing of it has to be read.

    * ``digests``: The digest of each block, 20 bytes each.
    * ``tail``: What follows the last block: the trailer and its length.

    Raises
    ------
    CorruptError
        A digest is not known.

    Examples
    --------
    >>> content_id([bytes(20)], b"trailer")
    'H7SCJK5I6IQAEGMHPJO27NE2OPFUA5UQ'
    """
    from base64 import b32encode

    from sdb import _core

    if any(len(digest) != _DIGEST_BYTES for digest in digests):
        raise CorruptError("the digest of a block is not known")
    return b32encode(_core.join_hashes(b"".join((*digests, tail)))).decode()


def of_trailer(trailer: Trailer) -> str | None:
    """Return the id of a packfile that ends in a trailer; None: it does not know all digests."""
    digests = [trailer.sparse.digest(number) for number in range(len(trailer.blocks))]
    return content_id(digests, trailer.encode()) if all(digests) else None


def of_content(reader: Reader) -> str:
    """Return the id of an open packfile by its content, whatever its digests claim.

    * ``reader``: The packfile, which is read completely, block by block.

    Raises
    ------
    CorruptError
        It is no packfile, or a block consists of no frames.
    """
    from sdb import _core

    trailer = read_trailer(reader, reader.path)
    digests = []
    for number in range(len(trailer.blocks)):
        digester = _core.BlockDigester()
        for piece in reader.pieces(*trailer.block_range(number)):
            digester.update(piece)
        digests.append(digester.finish())
    return content_id(digests, reader.read(trailer.offset, reader.size_bytes))
