"""Find out the format and compression of an input by its first bytes and its name."""

from __future__ import annotations

from sdb import formats
from sdb.errors import InputError, UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sdb.store.base import Reader

FORMATS = ("json", "cloudtrail", "csv", "tsv", "ion", "parquet", "packfile")
IN_PLACE = {"parquet", "packfile"}
HEAD_BYTES = 64 << 10

_GZIP = b"\x1f\x8b"
_ZSTD = b"\x28\xb5\x2f\xfd"
_ION = b"\xe0\x01\x00\xea"
_PARQUET = b"PAR1"
_FRAME = b"\xae"
_UTF8_MARK = b"\xef\xbb\xbf"
_UTF16_MARKS = (b"\xff\xfe", b"\xfe\xff")
_SPACE = b" \t\n\r\v\f"
_CLOUDTRAIL = rb'[\s]*\{[\s]*"Records":[\s]*[\[{]'


def named_format(text: str) -> tuple[str, str]:
    """Give the format and compression that ``-f`` names.

    Parameters
    ----------
    text : str
        One of `FORMATS`, or a suffix like ``.json.gz``.

    Returns
    -------
    tuple of str
        Format and compression.

    Raises
    ------
    UsageError
        There is no such format.
    """
    suffix = "." + text.lower().removeprefix(".")
    kind, compression = _of_name(suffix)
    if suffix in {".cloudtrail", ".cloudtrail" + formats.suffix_of(compression)}:
        kind = "cloudtrail"
    elif suffix == ".packfile":
        kind = "packfile"
    if kind is None:
        known = ", ".join(FORMATS)
        raise UsageError(f"unknown format {text!r}", hint=f"known formats: {known}", expected=known)
    return kind, compression


def sniff(
    head: bytes, name: str, *, forced: tuple[str, str] | None, known: str | None
) -> tuple[str, str]:
    """Decide on the format and compression of an input.

    Parameters
    ----------
    head : bytes
        Its first bytes, `HEAD_BYTES` of them if it has so many.
    name : str
        Its name, which decides where the content cannot.
    forced : tuple of str, optional
        The format and compression that the user named.
    known : str, optional
        The format that other places of the input showed.

    Returns
    -------
    tuple of str
        Format and compression.

    Raises
    ------
    InputError
        It is in no known format, or in an encoding other than UTF-8.
    UsageError
        It is compressed, and of a format that is read at any position.
    """
    suffix, named = _of_name(name) if forced is None else forced
    compression = _compression(head)
    if compression != "none":
        head = _inflated(head, compression)
    elif known is None and not _is_plain(head):
        compression = named
    kind = (suffix if forced else known) or _by_content(head, suffix, name)
    if kind in {"json", "cloudtrail"} and head.startswith(_UTF8_MARK):
        raise _marked(head, name)
    if kind in {"json", "cloudtrail", "csv", "tsv"} and _is_utf16(head):
        raise _marked(head, name)
    if kind in IN_PLACE and compression != "none":
        raise UsageError(f"{name}: a {kind} inside {compression} cannot be read; unpack it first")
    return kind, compression


def trailer_offset(reader: Reader, head: bytes) -> int | None:
    """Find the trailer of what looks like a packfile from both ends.

    Parameters
    ----------
    reader : Reader
        The open object.
    head : bytes
        Its first bytes.

    Returns
    -------
    int or None
        Where the trailer begins; 0 in a packfile without blocks, which a file of Ion can look like.
        None: this is no packfile.
    """
    size = reader.size_bytes
    if not head.startswith((_FRAME, _ION)) or size < 8:  # noqa: PLR2004 - marker and length
        return None
    start = size - 4 - int.from_bytes(reader.read(size - 4, size), "little")
    if start < 0 or (start > 0) != head.startswith(_FRAME):
        return None
    return start if reader.read(start, min(start + 4, size)) == _ION else None


def _of_name(name: str) -> tuple[str | None, str]:
    """Give the format that a name tells, if it can be packed, and the compression."""
    kind, compression = formats.of_name(name)
    return (kind if kind in FORMATS else None), compression


def _by_content(head: bytes, suffix: str | None, name: str) -> str:
    for marker, kind in ((_PARQUET, "parquet"), (_ION, "ion")):
        if head.startswith(marker):
            return kind
    if suffix in {"csv", "tsv", "cloudtrail"}:
        return suffix
    start = head.lstrip(_SPACE)[:1]
    if start in {b"{", b"["}:
        return "cloudtrail-strict" if _is_cloudtrail(head) else "json"
    if suffix is not None:
        return suffix
    if not start:
        return "json"
    if head.startswith((_UTF8_MARK, *_UTF16_MARKS)):
        raise _marked(head, name)
    raise InputError(
        f"{name}: neither its content nor its name tells the format",
        hint=f"name it with -f: {', '.join(FORMATS)}",
        path=name,
        offset=0,
    )


def _marked(head: bytes, name: str) -> InputError:
    if head.startswith(_UTF8_MARK):
        message = "starts with a byte order mark, which JSON must not have"
        hint = "remove its first three bytes: tail -c +4"
    else:
        message = "is UTF-16 text, where UTF-8 was expected"
        hint = "iconv -f UTF-16 -t UTF-8"
    return InputError(f"{name}: {message}", hint=hint, path=name, offset=0, line=1)


def _is_utf16(head: bytes) -> bool:
    """Tell whether a text is UTF-16, by its mark or by the first of its many zero bytes."""
    return head.startswith(_UTF16_MARKS) or b"\0" in head[:2]


def _compression(head: bytes) -> str:
    if head.startswith(_GZIP):
        return "gzip"
    return "zstd" if head.startswith(_ZSTD) else "none"


def _is_plain(head: bytes) -> bool:
    """Tell whether a text that claims to be compressed shows that it is not."""
    return head.startswith((_ION, _PARQUET)) or head.lstrip(_SPACE)[:1] in {b"{", b"["}


def _is_cloudtrail(head: bytes) -> bool:
    if b'"Records":' not in head:
        return False
    import re

    return re.match(_CLOUDTRAIL, head) is not None


def _inflated(head: bytes, compression: str) -> bytes:
    """Give the first bytes of the text; none when they are malformed: the packer will tell."""
    if compression == "gzip":
        import zlib

        try:
            return zlib.decompressobj(wbits=31).decompress(head, HEAD_BYTES)
        except zlib.error:
            return b""
    import zstandard

    try:
        with zstandard.ZstdDecompressor().stream_reader(head, read_across_frames=True) as reader:
            return reader.read(HEAD_BYTES)
    except zstandard.ZstdError:
        return b""
