"""Recognise inputs by their content: files, pipes and standard input.

The content decides where it can: gzip and zstd by their first bytes, Parquet and Ion by their
markers, a packfile by its trailer, JSON by its first bracket, a CloudTrail file by its first field.
CSV and TSV have no such mark, so their names decide; `format` decides before everything else
(docs/inputs.md).
"""

from __future__ import annotations

import os
import time

from sdb import formats
from sdb.errors import ConflictError, CorruptError, InputError, UnsupportedError, UsageError
from sdb.packfile.inputs.archives import is_archive, members, start
from sdb.packfile.inputs.heads import Heads
from sdb.packfile.inputs.sniff import BYTES, HEAD_BYTES, Sniffed, sniff, trailer_offset
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
from sdb.packfile.inputs.unpacking import CutShortError, compression_of, unpack
from sdb.records import field, record, replace
from sdb.store.url import open_read, store_of
from sdb.times import ALL, Times

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Generator
    from typing import Any, BinaryIO, TypeAlias

    from sdb.errors import SdbError
    from sdb.packfile.inputs.streams import Readable
    from sdb.packfile.inputs.unpacking import Unpacking
    from sdb.packfile.trailer.declared import Columns
    from sdb.packfile.trailer.trailer import Trailer
    from sdb.store.base import Location, Reader
    from sdb.times import Path

    InputSource: TypeAlias = "Location | BinaryIO | Input"


NOT_READ = (InputError, CorruptError, UnsupportedError)
"""Errors of an input by itself; the other inputs can be read."""

_MOST_LAYERS = 3  # of compressions that are read here: each takes memory


@record
class Input:
    """One input, ready to be read."""

    name: str  # its name in messages
    format: str  # the parser of the core, as the registry of formats names it
    compression: str = "none"  # ``none``, ``gzip`` or ``zstd``
    hints: bytes | None = None  # the text of the hints that apply
    # Sum of the lengths of its pieces in bytes, if it is known before they are read
    size_bytes: int | None = None
    is_direct: bool = True  # whether its bytes are its text, compressed at most
    once: bool = False  # whether it can be read only once, like a pipe
    is_far: bool = False  # whether its bytes come over a network, and more than its head
    log: str = ""  # the form of logs that its first lines were found to have
    is_packfile: bool = False  # whether it is a packfile, whose rows are packed again
    defaults: bytes | None = None  # fields that its rows get where they lack them, a struct of Ion
    times: Times = ALL  # how times in it are read
    forms: tuple[tuple[Path, str], ...] = ()  # of its times, as its content tells, unless told
    origin: str = ""  # the input that its rows are recorded as those of; empty: its name
    on_error: str = "fail"  # what becomes of its malformed records: fail, skip or keep
    # The columns that its rows had, see :mod:`sdb.packfile.trailer.declared`; none: no schema
    columns: Columns = ()
    # Whether its texts may be times; None: unless it is of a format that has a type for times
    reads_texts: bool | None = None
    # Begins to read, and yields the pieces
    source: Callable[[], Generator[bytes]] = field(kw_only=True, repr=False)
    # Opens the local file whose bytes are those of the pieces
    file: Callable[[], Reader] | None = field(default=None, kw_only=True, repr=False)
    # Tells size and digest of the file itself, where the pieces are rows of it; the digest is empty
    # where it would have to be transferred once more
    stored: Callable[[], tuple[int, bytes]] | None = field(default=None, kw_only=True, repr=False)

    @property
    def for_core(self) -> tuple[str, str, bytes | None, bytes | None, Any, str]:
        """Return what the core takes of it.

        Returns: Format, compression, hints, defaults, times and the fate of malformed records.
        Raises `UsageError` if hints have a form of times that cannot be read.
        """
        hints, times = self.hints, self.times
        parser, nested = formats.taken_apart(self.format)
        if hints is not None and parser not in {"csv", "tsv"}:
            from sdb.packfile.inputs.hintedtimes import without_forms

            hints, forms = without_forms(hints)
            times = replace(times, forms=(*times.forms, *forms))
            times.check()
        named = {path for path, _ in times.forms}
        own = [(path, form) for path, form in self.forms if path not in named]
        own = [entry for entry in own if times.mode == "all" or entry == BYTES]
        apart = [(path, "json") for path in nested]
        if apart or own:
            times = replace(times, forms=(*apart, *times.forms, *own))
        reads = parser not in {"ion", "rows"} if self.reads_texts is None else self.reads_texts
        read = times.for_core(reads_texts=reads)
        return parser, self.compression, hints, self.defaults, read, self.on_error

    @property
    def is_plain(self) -> bool:
        """True if its bytes are the text, so that it can be cut and followed by lines."""
        return self.compression == "none" and self.is_direct

    def pieces(self) -> Generator[bytes]:
        """Return the bytes of the input, piece by piece; a pipe can be read only once.

        Raises `NotFoundError` or `AccessError` if the input went away and `InputError` or
        `CorruptError` if a Parquet file or packfile is malformed.
        """
        return self.source()


def recognise(
    source: InputSource,
    format: str | None = None,  # noqa: A002 - the word users know
    *,
    hints: bytes | None = None,
    verify: bool = True,
    version: str = "",
) -> Input:
    """Find out what an input is.

    * ``source``: The input; ``-`` is standard input. An open file is read on from where it is, and
      left open. An `Input` is given back as it is.
    * ``format``: What it is, instead of finding out: a name as ``-f`` takes it, or a suffix like
      ``.json.gz``.
    * ``hints``: A hints file; JSON, CSV and TSV take one.
    * ``verify``: Whether a wrong checksum in a packfile is an error.
    * ``version``: The version that is meant, as :meth:`sdb.store.base.Store.version` gave it; any
      if empty.

    Raises `NotFoundError` or `AccessError` if there is no such file, or it may not be read;
    `ConflictError` if it has another version by now; `InputError` if it is in no known format, or
    in an encoding other than UTF-8; `UsageError` if the format is unknown, does not take hints, or
    cannot be read from a pipe.

    >>> import pathlib
    >>> _ = pathlib.Path("/tmp/sdb-example.csv").write_text("a,b")
    >>> recognise("/tmp/sdb-example.csv").format
    'csv'
    """
    inputs = recognise_each(source, format, hints=hints, verify=verify, version=version)
    first = next(inputs)
    if (second := next(inputs, None)) is not None:
        message = f"{source}: is an archive of several files, {first.name}, {second.name} ..."
        raise UsageError(message, hint="sdb pack, append and query take it")
    return first


def recognise_each(
    source: InputSource,
    format: str | None = None,  # noqa: A002 - the word users know
    *,
    hints: bytes | None = None,
    verify: bool = True,
    version: str = "",
    heads: Heads | None = None,
    refused: list[SdbError] | None = None,
) -> Generator[Input]:
    """Yield an input, or the files of an archive as separate inputs.

    * ``heads``: Those of all inputs that are recognised before the first of them is read.
    * ``refused``: Gets the errors of files of an archive, whose other files are yielded.

    The other parameters and exceptions are those of :func:`recognise`.
    """
    if isinstance(source, Input):
        yield source
        return
    forced, asked = (None, "") if format is None else formats.found_or_named(format)
    base = _NamedInput("", forced, hints, verify, version, asked, heads or Heads(), refused)
    if not isinstance(source, str | os.PathLike):
        name = getattr(source, "name", None)
        called = name if isinstance(name, str) else "the open file"
        yield replace(base, name=called).stream(Unclosed(source))
        return
    name = os.fspath(source)
    path = None if name == "-" else store_of(source).path_of(source)
    if name == "-":
        yield replace(base, name="standard input").stream(standard_input())
    elif path is not None and is_stream(path):
        yield replace(base, name=name).stream(open_stream(path))
    else:
        yield from replace(base, name=name).file(source)


@record
class _NamedInput:
    """An input by its name and options, not yet opened."""

    name: str
    forced: tuple[str, str] | None
    hints: bytes | None
    verify: bool
    version: str
    asked: str  # options of a format that is found
    heads: Heads
    refused: list[SdbError] | None

    def file(self, location: Location) -> Generator[Input]:
        """Recognise an object that can be read at any position, or all that is in it."""
        reader = open_read(location, head_bytes=HEAD_BYTES)
        try:
            if self.version and reader.version != self.version:
                message = f"opening {self.name}: someone has changed it meanwhile"
                raise ConflictError(message, path=self.name, hint="run it again")
            size = reader.size_bytes
            head = reader.read(0, min(size, HEAD_BYTES))
            trailer = self._trailer(reader, head)
            known_bytes = self.heads.keep(reader, head)
        finally:
            reader.close()
        if trailer is None and is_archive(head):
            for member in members(reader, self.name, head, HEAD_BYTES):
                try:
                    yield replace(self, name=member.name).text(member.head, member.pieces)
                except NOT_READ as error:
                    if self.refused is None:
                        raise
                    self.refused.append(error)
        elif trailer is None and compression_of(head) is not None:
            yield self.text(head, lambda: whole(reader.reopen()))
        else:
            yield self._stored(reader, head, trailer, known_bytes)

    def text(self, head: bytes, pieces: Callable[[], Generator[bytes]]) -> Input:
        """Recognise what is in an archive, or compressed by what the core does not read."""
        name = self.name
        layers = 0
        while (kind := compression_of(head)) is not None:
            layers += 1
            if layers > _MOST_LAYERS:
                message = f"{self.name}: is compressed more than {_MOST_LAYERS} times"
                raise UnsupportedError(message, hint="unpack it first", path=self.name)
            name = name[: -len(kind.suffix)] if name.lower().endswith(kind.suffix) else name
            pieces = _unpacked(kind, pieces, self.name)
            head = start(pieces(), HEAD_BYTES)
        if is_archive(head):
            message = f"{self.name}: is an archive in another input"
            raise UnsupportedError(message, hint="unpack it first", path=self.name)
        sniffed = sniff(head, name, forced=self.forced, seen=None)
        if (form := formats.get(sniffed.format)).at_any_position:
            message = f"{self.name}: {form.title} is not read inside another file"
            raise UnsupportedError(message, hint="unpack it first", path=self.name)
        return replace(self._input(sniffed, pieces, None), is_direct=False)

    def _stored(
        self, reader: Reader, head: bytes, trailer: Trailer | None, known_bytes: int
    ) -> Input:
        """Recognise an object that the core reads, or its rows."""
        size, is_file = reader.size_bytes, reader.descriptor is not None
        sniffed = sniff(head, self.name, forced=self.forced, seen="packfile" if trailer else None)
        kind = sniffed.format
        if kind == "parquet":
            from sdb.packfile.inputs.parquet import rows

            texts = self._rows(sniffed, lambda: rows(reader.reopen(), self.name), reader)
            return replace(texts, reads_texts=True)
        if kind == "packfile":
            packfile_trailer = trailer or self._read_trailer(reader)
            packed = self._rows(
                sniffed,
                lambda: unpacked(reader.reopen(), packfile_trailer, self.name, verify=self.verify),
                reader,
            )
            return replace(packed, is_packfile=True)
        file = reader.reopen if is_file else None
        is_far = not is_file and size > known_bytes
        return self._input(sniffed, lambda: whole(reader.reopen()), size, file, is_far=is_far)

    def stream(self, file: Readable) -> Input:
        """Recognise what can be read only once."""
        head = b""
        while len(head) < HEAD_BYTES and (piece := read_some(file, self.name)):
            head += piece
        if is_archive(head):
            message = f"{self.name}: an archive is read twice, so it must be a file and not a pipe"
            raise UsageError(message, hint="tar -xOf - | sdb pack -o OUTPUT -, or save it first")
        pieces: Generator[bytes] = rest(head, file, self.name)
        if (kind := compression_of(head)) is not None:
            text = unpack(kind, pieces, self.name)
            head = b""
            try:
                while len(head) < HEAD_BYTES and (piece := next(text, b"")):
                    head += piece
                pieces = _behind(head, text)
            except CutShortError as error:
                pieces = _cut_short(head, error)
        sniffed = sniff(head, self.name, forced=self.forced, seen=None)
        self._check_forwards(sniffed)
        read = self._input(sniffed, lambda: pieces, None)
        return replace(read, once=True, is_direct=read.is_direct and kind is None)

    def _check_forwards(self, sniffed: Sniffed) -> None:
        if (form := formats.get(sniffed.format)).at_any_position:
            message = f"{form.title} is read at any position, so it must be a file and not a pipe"
            raise UsageError(f"{self.name}: {message}")

    def _input(
        self,
        sniffed: Sniffed,
        source: Callable[[], Generator[bytes]],
        size_bytes: int | None,
        file: Callable[[], Reader] | None = None,
        *,
        is_far: bool = False,
    ) -> Input:
        kind = sniffed.format
        form = formats.get(kind)
        if self.hints is not None and form.name == "postgres-csv":
            kind, form = "csv", formats.get("csv")  # hints name the columns
        if self.hints is not None and not form.takes_hints:
            *others, last = [other.title for other in formats.FORMATS if other.takes_hints]
            titles = f"{', '.join(others)} and {last}"
            raise UsageError(f"{self.name}: hints apply to {titles}, this is {form.title}")
        kind, nested = formats.taken_apart(kind)
        has_text = form.name == formats.PATTERN or ":" in kind
        parser = kind if has_text else form.parser
        parser = formats.said(parser, nested=map(".".join, nested)) or parser
        if self.asked:
            parser = formats.with_options(parser, self.asked, self.name)
        if form.lacks_year:
            parser = formats.parser_at(parser, self._written_at())
        return Input(
            self.name,
            parser,
            sniffed.compression,
            self.hints,
            size_bytes,
            is_direct=sniffed.is_utf8,
            is_far=is_far,
            log=form.name if (form.is_log or form.is_unfolded) and self.forced is None else "",
            forms=sniffed.forms,
            source=source,
            file=file,
        )

    def _written_at(self) -> int:
        """Return about when the input was written: times without a year are not later."""
        now = int(time.time())
        try:
            return min(now, int(os.stat(self.name).st_mtime))  # noqa: PTH116 - a plain string
        except (OSError, ValueError):
            return now  # a pipe, or an object of S3

    def _rows(
        self, sniffed: Sniffed, source: Callable[[], Generator[bytes]], reader: Reader
    ) -> Input:
        """Return an input whose pieces are made of what the file holds."""
        recognised = self._input(sniffed, source, None)
        size, is_file = reader.size_bytes, reader.descriptor is not None

        def stored() -> tuple[int, bytes]:
            return size, content_digest(whole(reader.reopen()))[1] if is_file else b""

        return replace(recognised, stored=stored)

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


def _unpacked(
    kind: Unpacking, pieces: Callable[[], Generator[bytes]], name: str
) -> Callable[[], Generator[bytes]]:
    return lambda: unpack(kind, pieces(), name)


def _cut_short(head: bytes, error: CutShortError) -> Generator[bytes]:
    yield head
    raise error


def _behind(head: bytes, text: Generator[bytes]) -> Generator[bytes]:
    try:
        yield head
        yield from text
    finally:
        text.close()
