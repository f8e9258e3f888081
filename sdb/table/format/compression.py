"""Compressed objects and members: one zstd frame around Ion, and how large it may become."""

from __future__ import annotations

from sdb import ion
from sdb.errors import CorruptError, UnsupportedError

MAX_CONTENT_BYTES = 128 << 20
"""More than any list of the original, which starts a new object at 256 KiB compressed."""

ALGORITHM = "zstd"


def compress(data: bytes) -> bytes:
    """Return the frame of an object."""
    from sdb import _core

    return _core.zstd_compress(data)


def decompress(data: bytes, algorithm: str, size_bytes: int | None = None) -> bytes:
    """Return the content of a frame.

    Raises
    ------
    CorruptError
        It is damaged, or of another size; or its content is too large to be one.
    UnsupportedError
        An algorithm that this build does not know.
    """
    if algorithm == "s2":
        raise UnsupportedError("a list compressed with s2, which this build cannot read")
    if algorithm != ALGORITHM:
        raise CorruptError(f"unknown compression algorithm {algorithm!r}")
    limit = MAX_CONTENT_BYTES if size_bytes is None else size_bytes
    if limit > MAX_CONTENT_BYTES:
        raise CorruptError(f"list too large: {limit:,} bytes, the limit is {MAX_CONTENT_BYTES:,}")
    from sdb import _core

    content = _core.zstd_decompress(data, limit)
    if size_bytes not in {None, len(content)}:
        raise CorruptError(f"{len(content):,} bytes decompressed, not {size_bytes:,}")
    return content


def loads(data: bytes) -> object:
    """Decode the one value of a compressed object.

    Raises
    ------
    CorruptError
        It is damaged.
    """
    content = decompress(data, ALGORITHM)
    value, _, end = ion.decode(content)
    if end != len(content):
        raise CorruptError("bytes after the value")
    return value


def dumps(value: object, names: tuple[str, ...]) -> bytes:
    """Encode a compressed object.

    * ``names``: Symbols that come first, whether the value has them or not.
    """
    symbols = list(names)
    encoded = ion.encode(value, symbols)
    return compress(ion.stream(symbols, encoded))
