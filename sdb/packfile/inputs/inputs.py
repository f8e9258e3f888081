"""Recognise inputs by their content: files, pipes and standard input.

The content decides where it can: gzip and zstd by their first bytes, Parquet and Ion by their
markers, a packfile by its trailer, JSON by its first bracket, a CloudTrail file by its first field.
CSV and TSV have no such mark, so their names decide; `format` decides before everything else
(docs/inputs.md).
"""

from __future__ import annotations

import os
from itertools import groupby

from sdb.errors import ConflictError, CorruptError, UsageError
from sdb.packfile.inputs.sniff import HEAD_BYTES, IN_PLACE, named_format, sniff, trailer_offset
from sdb.packfile.inputs.streams import (
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
from sdb.packfile.read.resolve import resolve
from sdb.records import field, record, replace
from sdb.store.url import open_read, store_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable
    from typing import Any, BinaryIO, TypeAlias

    from sdb.packfile.inputs.streams import Readable
    from sdb.packfile.trailer.trailer import Trailer
    from sdb.store.base import Location, Reader

    One: TypeAlias = "Location | BinaryIO | Input"

_CORE_FORMATS = {"parquet": "rows", "packfile": "rows"}
_WITH_HINTS = {"json", "csv", "tsv"}


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
    version: str = "",
) -> Input:
    """Find out what an input is.

    Parameters
    ----------
    source : path, URL, binary file or Input
        The input; ``-`` is standard input. An open file is read on from where it is, and left open.
        An `Input` is given back as it is.
    format : str, optional
        What it is, instead of finding out: a name as ``-f`` takes it, or a suffix like
        ``.json.gz``.
    hints : bytes, optional
        A hints file; JSON, CSV and TSV take one.
    verify : bool
        Whether a wrong checksum in a packfile is an error.
    version : str
        The version that is meant, as :meth:`sdb.store.base.Store.version` gave it; any if empty.

    Returns
    -------
    Input
        What to read, and how.

    Raises
    ------
    NotFoundError, AccessError
        There is no such file, or it may not be read.
    ConflictError
        It has another version by now.
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
    forced = None if format is None else named_format(format)
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
    return _Found(name, forced, hints, verify, version).file(source)


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


@record
class _Found:
    """An input, as far as its name and options tell."""

    name: str
    forced: tuple[str, str] | None
    hints: bytes | None
    verify: bool = True
    version: str = ""

    def file(self, location: Location) -> Input:
        """Recognise an object that can be read at any position."""
        reader = open_read(location, head_bytes=HEAD_BYTES)
        try:
            if self.version and reader.version != self.version:
                message = f"opening {self.name}: someone has changed it meanwhile"
                raise ConflictError(message, path=self.name, hint="run it again")
            size = reader.size_bytes
            head = reader.read(0, min(size, HEAD_BYTES))
            trailer = self._trailer(reader, head)
            is_file = reader.descriptor is not None
        finally:
            reader.close()
        kind, compression = sniff(
            head, self.name, forced=self.forced, known="packfile" if trailer else None
        )
        if kind == "parquet":
            from sdb.packfile.inputs.parquet import rows

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
        while len(head) < HEAD_BYTES and (piece := read_some(file, self.name)):
            head += piece
        kind, compression = sniff(head, self.name, forced=self.forced, known=None)
        if kind in IN_PLACE:
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
        """Read the trailer, if the object looks like a packfile."""
        offset = None if self.forced is not None else trailer_offset(reader, head)
        if offset is None:
            return None
        from sdb.packfile.trailer.read import read_trailer

        try:
            return read_trailer(reader, self.name)
        except CorruptError:
            if offset == 0:
                return None
            raise

    def _read_trailer(self, closed: Reader) -> Trailer:
        from sdb.packfile.trailer.read import read_trailer

        reader = closed.reopen()
        try:
            return read_trailer(reader, self.name)
        finally:
            reader.close()
