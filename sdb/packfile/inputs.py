"""Recognise inputs by their content: files, pipes and standard input.

The content decides where it can: gzip and zstd by their first bytes, Parquet and Ion by their
markers, a packfile by its trailer, JSON by its first bracket, a CloudTrail file by its first field.
CSV and TSV have no such mark, so their names decide; `format` decides before everything else
(docs/inputs.md).
"""

from __future__ import annotations

import os
from itertools import groupby

from sdb import formats
from sdb.errors import CorruptError, InputError, SdbError, UsageError
from sdb.packfile.pieces import (
    Unclosed,
    content_digest,
    is_stream,
    open_stream,
    read_some,
    rest,
    standard_input,
    unpacked,
    whole,
)
from sdb.packfile.resolve import resolve
from sdb.records import field, record, replace
from sdb.store.url import open_read, store_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable
    from typing import Any, BinaryIO, TypeAlias

    from sdb.packfile.pieces import Readable
    from sdb.packfile.trailer import Trailer
    from sdb.store.base import Location, Reader

    One: TypeAlias = "Location | BinaryIO | Input"

FORMATS = ("json", "cloudtrail", "csv", "tsv", "ion", "parquet", "packfile")
_CORE_FORMATS = {"parquet": "rows", "packfile": "rows"}
_WITH_HINTS = {"json", "csv", "tsv"}
_IN_PLACE = {"parquet", "packfile"}

_GZIP = b"\x1f\x8b"
_ZSTD = b"\x28\xb5\x2f\xfd"
_ION = b"\xe0\x01\x00\xea"
_PARQUET = b"PAR1"
_FRAME = b"\xae"
_UTF8_MARK = b"\xef\xbb\xbf"
_UTF16_MARKS = (b"\xff\xfe", b"\xfe\xff")
_SPACE = b" \t\n\r\v\f"
_CLOUDTRAIL = rb'[\s]*\{[\s]*"Records":[\s]*[\[{]'

_HEAD_BYTES = 64 << 10


@record
class Input:
    """One input, ready to be read.

    Attributes
    ----------
    name : str
        Its name in messages.
    format : str
        What the packer is told: ``json``, ``cloudtrail``, ``csv``, ``tsv``, ``ion`` or ``rows``.
    compression : str
        ``none``, ``gzip`` or ``zstd``.
    hints : bytes or None
        The text of the hints that apply.
    size_bytes : int or None
        Sum of the lengths of its pieces in bytes, if it is known before they are read.
    once : bool
        Whether it can be read only once, like a pipe.
    is_packfile : bool
        Whether it is a packfile, whose rows are packed again.
    source : callable
        Begins to read, and gives the pieces.
    file : callable, optional
        Opens the local file whose bytes are those of the pieces.
    stored : callable, optional
        Tells size and digest of the file itself, where the pieces are rows of it; the digest is
        empty where it would have to be transferred once more.
    """

    name: str
    format: str
    compression: str = "none"
    hints: bytes | None = None
    size_bytes: int | None = None
    once: bool = False
    is_packfile: bool = False
    source: Callable[[], Generator[bytes]] = field(kw_only=True, repr=False)
    file: Callable[[], Reader] | None = field(default=None, kw_only=True, repr=False)
    stored: Callable[[], tuple[int, bytes]] | None = field(default=None, kw_only=True, repr=False)

    def pieces(self) -> Generator[bytes]:
        """Give the bytes of the input, piece by piece; a pipe can be read only once.

        Returns
        -------
        generator of bytes
            Close it to release the file early.

        Raises
        ------
        NotFoundError, AccessError
            The input went away.
        InputError, CorruptError
            A Parquet file or packfile is malformed.
        """
        return self.source()


def recognise(
    source: One,
    format: str | None = None,  # noqa: A002 - the word users know
    *,
    hints: bytes | None = None,
    verify: bool = True,
) -> Input:
    """Find out what an input is.

    Parameters
    ----------
    source : path, URL, binary file or Input
        The input; ``-`` is standard input. An open file is read on from where it is, and left open.
        An `Input` is given back as it is.
    format : str, optional
        What it is, instead of finding out: one of `FORMATS`, or a suffix like ``.json.gz``.
    hints : bytes, optional
        A hints file; JSON, CSV and TSV take one.
    verify : bool
        Whether a wrong checksum in a packfile is an error.

    Returns
    -------
    Input
        What to read, and how.

    Raises
    ------
    NotFoundError, AccessError
        There is no such file, or it may not be read.
    InputError
        It is in no known format, or in an encoding other than UTF-8.
    UsageError
        The format is unknown, does not take hints, or cannot be read from a pipe.

    Examples
    --------
    >>> import pathlib
    >>> _ = pathlib.Path("/tmp/sdb-example.csv").write_text("a,b")
    >>> recognise("/tmp/sdb-example.csv").format
    'csv'
    """
    if isinstance(source, Input):
        return source
    forced = None if format is None else _named_format(format)
    if not isinstance(source, str | os.PathLike):
        name = getattr(source, "name", None)
        called = name if isinstance(name, str) else "the open file"
        return _Found(called, forced, hints).stream(Unclosed(source))
    name = os.fspath(source)
    if name == "-":
        return _Found("standard input", forced, hints).stream(standard_input())
    path = store_of(source).path_of(source)
    if path is not None and is_stream(path):
        return _Found(name, forced, hints).stream(open_stream(path))
    return _Found(name, forced, hints, verify).file(source)


def recognise_all(
    sources: Iterable[One],
    format: str | None = None,  # noqa: A002 - the word users know
    *,
    hints: bytes | None = None,
    verify: bool = True,
) -> list[Input]:
    """Find out what inputs are, and which ones patterns of S3 stand for.

    Parameters
    ----------
    sources : iterable of path, URL, binary file or Input
        The inputs; ``s3://bucket/2026/*.json.gz`` stands for all objects that it matches.
    format, hints, verify
        See :func:`recognise`.

    Returns
    -------
    list of Input
        In the order of `sources`; what a pattern matches is sorted by name.

    Raises
    ------
    NotFoundError
        Nothing matches a pattern; others as :func:`recognise`.
    """
    found: list[One] = []
    for is_named, run in groupby(sources, lambda source: isinstance(source, str | os.PathLike)):
        some: list[Any] = list(run)
        found += [one.name for one in resolve(some, folders=False)] if is_named else some
    return [recognise(source, format, hints=hints, verify=verify) for source in found]


def _named_format(text: str) -> tuple[str, str]:
    """Give format and compression that ``-f`` names."""
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


def _of_name(name: str) -> tuple[str | None, str]:
    """Give the format that a name tells, if it can be packed, and the compression."""
    kind, compression = formats.of_name(name)
    return (kind if kind in FORMATS else None), compression


@record
class _Found:
    """An input, as far as its name and options tell."""

    name: str
    forced: tuple[str, str] | None
    hints: bytes | None
    verify: bool = True

    def file(self, location: Location) -> Input:
        """Recognise an object that can be read at any position."""
        reader = open_read(location, head_bytes=_HEAD_BYTES)
        try:
            size = reader.size_bytes
            head = reader.read(0, min(size, _HEAD_BYTES))
            trailer = self._trailer(reader, head)
            is_file = reader.descriptor is not None
        finally:
            reader.close()
        kind, compression = self._decide(head, "packfile" if trailer else None)
        if kind == "parquet":
            from sdb.packfile.parquet import rows

            return self._rows(kind, compression, lambda: rows(reader.reopen(), self.name), reader)
        if kind == "packfile":
            found = trailer or self._read_trailer(reader)
            packed = self._rows(
                kind,
                compression,
                lambda: unpacked(reader.reopen(), found, self.name, verify=self.verify),
                reader,
            )
            return replace(packed, is_packfile=True)
        text = self._input(kind, compression, lambda: whole(reader.reopen()), size)
        return replace(text, file=reader.reopen) if is_file else text

    def stream(self, file: Readable) -> Input:
        """Recognise what can be read only once."""
        head = b""
        while len(head) < _HEAD_BYTES and (piece := read_some(file, self.name)):
            head += piece
        kind, compression = self._decide(head, None)
        if kind in _IN_PLACE:
            what = "a Parquet file" if kind == "parquet" else "a packfile"
            raise UsageError(
                f"{self.name}: {what} is read at any position, so it must be a file and not a pipe"
            )
        read = self._input(kind, compression, lambda: rest(head, file, self.name), None)
        return replace(read, once=True)

    def _input(
        self,
        kind: str,
        compression: str,
        source: Callable[[], Generator[bytes]],
        size_bytes: int | None,
    ) -> Input:
        if self.hints is not None and kind not in _WITH_HINTS:
            raise UsageError(f"{self.name}: hints apply to JSON, CSV and TSV, this is {kind}")
        core = _CORE_FORMATS.get(kind, kind)
        return Input(self.name, core, compression, self.hints, size_bytes, source=source)

    def _rows(
        self, kind: str, compression: str, source: Callable[[], Generator[bytes]], reader: Reader
    ) -> Input:
        """Give an input whose pieces are made of what the file holds."""
        found = self._input(kind, compression, source, None)
        size, is_file = reader.size_bytes, reader.descriptor is not None

        def stored() -> tuple[int, bytes]:
            return size, content_digest(whole(reader.reopen()))[1] if is_file else b""

        return replace(found, stored=stored)

    def _trailer(self, reader: Reader, head: bytes) -> Trailer | None:
        """Read the trailer, if the object looks like a packfile from both ends."""
        if self.forced is not None or not head.startswith((_FRAME, _ION)) or reader.size_bytes < 8:  # noqa: PLR2004 - marker and length
            return None
        size = reader.size_bytes
        start = size - 4 - int.from_bytes(reader.read(size - 4, size), "little")
        if start < 0 or (start > 0) != head.startswith(_FRAME):
            return None
        if reader.read(start, min(start + 4, size)) != _ION:
            return None
        from sdb.packfile.trailer import read_trailer

        try:
            return read_trailer(reader, self.name)
        except CorruptError:
            if start == 0:
                return None
            raise

    def _read_trailer(self, closed: Reader) -> Trailer:
        from sdb.packfile.trailer import read_trailer

        reader = closed.reopen()
        try:
            return read_trailer(reader, self.name)
        finally:
            reader.close()

    def _decide(self, head: bytes, known: str | None) -> tuple[str, str]:
        """Give format and compression."""
        suffix, named = _of_name(self.name) if self.forced is None else self.forced
        compression = _compression(head)
        if compression != "none":
            head = _inflated(head, compression)
        elif known is None and not _is_plain(head):
            compression = named
        kind = (suffix if self.forced else known) or self._by_content(head, suffix)
        if kind in {"json", "cloudtrail"} and head.startswith(_UTF8_MARK):
            raise self._marked(head)
        if kind in {"json", "cloudtrail", "csv", "tsv"} and _is_utf16(head):
            raise self._marked(head)
        if kind in _IN_PLACE and compression != "none":
            raise UsageError(
                f"{self.name}: a {kind} inside {compression} cannot be read; unpack it first"
            )
        return kind, compression

    def _by_content(self, head: bytes, suffix: str | None) -> str:
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
            raise self._marked(head)
        raise InputError(
            f"{self.name}: neither its content nor its name tells the format",
            hint=f"name it with -f: {', '.join(FORMATS)}",
            path=self.name,
            offset=0,
        )

    def _marked(self, head: bytes) -> SdbError:
        if head.startswith(_UTF8_MARK):
            message = "starts with a byte order mark, which JSON must not have"
            hint = "remove its first three bytes: tail -c +4"
        else:
            message = "is UTF-16 text, where UTF-8 was expected"
            hint = "iconv -f UTF-16 -t UTF-8"
        return InputError(f"{self.name}: {message}", hint=hint, path=self.name, offset=0, line=1)


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
            return zlib.decompressobj(wbits=31).decompress(head, _HEAD_BYTES)
        except zlib.error:
            return b""
    import zstandard

    try:
        with zstandard.ZstdDecompressor().stream_reader(head, read_across_frames=True) as reader:
            return reader.read(_HEAD_BYTES)
    except zstandard.ZstdError:
        return b""
