"""ETags: which content an object has, as a text with its double quotes."""

from __future__ import annotations

from sdb.errors import CorruptError
from sdb.packfile.trailer.read import read_trailer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from sdb.packfile.trailer.trailer import Trailer
    from sdb.store.base import Reader

_PREFIX = '"b2sum:'
_DIGEST_BYTES = 32
_MOST_LETTERS = 1024


def of_content(pieces: Iterable[bytes]) -> str:
    """Return the ETag of a local object.

    >>> of_content([b"a", b"b"]) == of_content([b"ab"])
    True
    """
    from base64 import b32encode
    from hashlib import blake2b

    digest = blake2b(digest_size=_DIGEST_BYTES)
    for piece in pieces:
        digest.update(piece)
    return f'{_PREFIX}{b32encode(digest.digest()).decode()}"'


def of_opened(reader: Reader) -> str:
    """Return ETag of an object that is open, its store's or that of its content, and close it."""
    try:
        return reader.etag or of_content(reader.pieces(0, reader.size_bytes))
    finally:
        reader.close()


def is_of_content(etag: str) -> bool:
    """Return whether an ETag is the digest of a content, which it is wherever that is copied to."""
    return etag.startswith(_PREFIX)


def check(etag: object) -> str:
    """Require an ETag as it was read from an object.

    Raises `CorruptError` if it is no text, or too long for one.
    """
    if type(etag) is not str:
        raise CorruptError(f"invalid ETag: expected a string, got {etag!r:.40}")
    if len(etag) > _MOST_LETTERS:
        raise CorruptError(f"invalid ETag: it has {len(etag):,} characters")
    return etag


# Content ids: names of packfiles derived from their content.

_ID_BYTES = 20


def content_id(digests: Sequence[bytes], tail: bytes) -> str:
    """Return the id of a packfile by the digests of its blocks: nothing of it has to be read.

    * ``digests``: The digest of each block, 20 bytes each.
    * ``tail``: What follows the last block: the trailer and its length.

    Raises `CorruptError` if a digest is not known.

    >>> content_id([bytes(20)], b"trailer")
    'EU3RCTKS4LFBW3S2U5J27QQMBHHSUZL2'
    """
    from base64 import b32encode

    from sdb import _core

    if any(len(digest) != _ID_BYTES for digest in digests):
        raise CorruptError("the digest of a block is not known")
    return b32encode(_core.join_hashes(b"".join((*digests, tail)))).decode()


def of_trailer(trailer: Trailer) -> str | None:
    """Return the id of a packfile that ends in a trailer; None: it does not know all digests."""
    digests = [trailer.sparse.digest(number) for number in range(len(trailer.blocks))]
    return content_id(digests, trailer.encode()) if all(digests) else None


def read_content_id(reader: Reader) -> str:
    """Return the id of an open packfile by its content, whatever its digests claim.

    * ``reader``: The packfile, which is read completely, block by block.

    Raises `CorruptError` if it is no packfile, or a block consists of no frames.
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
