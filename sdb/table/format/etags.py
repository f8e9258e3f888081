"""ETags: which content an object has, as a text with its double quotes."""

from __future__ import annotations

from sdb.errors import CorruptError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from sdb.store.base import Reader

_PREFIX = '"b2sum:'
_DIGEST_BYTES = 32
_MOST_LETTERS = 1024


def of_content(pieces: Iterable[bytes]) -> str:
    """Return the ETag of a local object.

    Examples
    --------
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

    Raises
    ------
    CorruptError
        It is no text, or too long for one.
    """
    if type(etag) is not str:
        raise CorruptError(f"invalid ETag: expected a string, got {etag!r:.40}")
    if len(etag) > _MOST_LETTERS:
        raise CorruptError(f"invalid ETag: it has {len(etag):,} characters")
    return etag
