"""Bytes of log files, plain or with gzip, and the lines behind a position in them."""

from __future__ import annotations

import os
import stat
import zlib

from sdb._core import file_born_ns
from sdb.errors import CorruptError, from_os
from sdb.packfile.inputs.lines import LINE_BYTES
from sdb.records import record, replace
from sdb.table.format.positions import SAMPLE_BYTES, digest
from sdb.typed import Protocol

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Self

    from sdb.table.format.positions import LogPosition

_GZIP = b"\x1f\x8b"
_OTHERS = {b"\x28\xb5\x2f\xfd": "zstd", b"\xfd7zXZ": "xz", b"BZh": "bzip2"}
_SCAN_BYTES = 1 << 20


class ChangedTextError(Exception):
    """A file has other bytes now where it was read before: it was truncated and written anew."""


class Text(Protocol):
    """The bytes of a file, decompressed."""

    is_packed: bool

    def read(self, offset: int, count: int) -> bytes:
        """Return bytes from a position on: fewer at the end."""

    def close(self) -> None:
        """Close the file."""


@record
class FileFacts:
    """Facts of a file, as the system has them."""

    device: int
    inode: int
    size_bytes: int
    written: float  # when, in seconds since 1970
    links: int  # names that it has; 0: it was deleted, and is open still
    born: int  # when it was made, in nanoseconds since 1970; 0: unknown

    @property
    def identity(self) -> tuple[int, int]:
        """Key that no other file has now; once it is deleted, a new one may get it."""
        return self.device, self.inode

    def is_of(self, device: int, inode: int, born: int) -> bool:
        """Return whether a file is the one that had these, as far as that is known."""
        is_unknown = 0 in (self.born, born)
        return self.identity == (device, inode) and (is_unknown or self.born == born)

    @classmethod
    def of(cls, target: str | int) -> Self | None:
        """Return those of a regular file; None: it is not there, or is something else.

        * ``target``: Its path or descriptor.
        """
        try:
            facts = os.stat(target)  # noqa: PTH116 - a plain string
            born = file_born_ns(target if isinstance(target, str) else f"/dev/fd/{target}")
            if os.stat(target).st_ino != facts.st_ino:  # noqa: PTH116
                return cls.of(target)  # another file came to this name meanwhile
        except OSError:
            return None
        if not stat.S_ISREG(facts.st_mode):
            return None
        size, written = facts.st_size, facts.st_mtime
        return cls(facts.st_dev, facts.st_ino, size, written, facts.st_nlink, born)


class PlainText:
    """A file that is read as it is, under whatever name it has by then."""

    is_packed = False

    def __init__(self, descriptor: int, path: str) -> None:
        self.descriptor = descriptor
        self._path = path

    def read(self, offset: int, count: int) -> bytes:
        """Return bytes from a position on."""
        pieces: list[bytes] = []
        try:
            # By the descriptor, so that a rename changes nothing.
            while count > 0 and (piece := os.pread(self.descriptor, count, offset)):
                pieces.append(piece)
                offset, count = offset + len(piece), count - len(piece)
        except OSError as error:
            raise from_os(error, "reading", self._path) from error
        return b"".join(pieces)

    def close(self) -> None:
        """Close the file."""
        os.close(self.descriptor)


class PackedText:
    """A file with gzip: what was read last is read on, anything before it from the start."""

    is_packed = True

    def __init__(self, descriptor: int, path: str) -> None:
        import gzip

        self._file = os.fdopen(descriptor, "rb")
        self._text = gzip.GzipFile(fileobj=self._file)
        self._path = path

    def read(self, offset: int, count: int) -> bytes:
        """Return bytes from a position on."""
        try:
            self._text.seek(offset)
            return self._text.read(count) if self._text.tell() == offset else b""
        except (EOFError, zlib.error) as error:
            raise CorruptError(f"{self._path}: damaged gzip: {error}", path=self._path) from error
        except OSError as error:
            if error.errno is None:  # BadGzipFile
                message = f"{self._path}: damaged gzip: {error}"
                raise CorruptError(message, path=self._path) from error
            raise from_os(error, "reading", self._path) from error

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def open_text(path: str) -> tuple[PlainText | PackedText, FileFacts] | None:
    """Open a log file; None: it has gone, or is no regular file.

    Raises `AccessError` if it may not be read and `CorruptError` if it is compressed otherwise than
    with gzip.
    """
    try:
        # Without O_NONBLOCK the opening of a pipe that nobody writes to would wait for ever.
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise from_os(error, "opening", path) from error
    facts = FileFacts.of(descriptor)
    if facts is None:
        os.close(descriptor)
        return None
    head = os.pread(descriptor, 8, 0)
    for mark, name in _OTHERS.items():
        if head.startswith(mark):
            os.close(descriptor)
            raise CorruptError(f"{path}: compressed with {name}, of which only gzip is read")
    return (PackedText if head.startswith(_GZIP) else PlainText)(descriptor, path), facts


def has_position(text: Text, position: LogPosition) -> bool:
    """Return whether a file begins with what was taken up to a position."""
    count = position.sample_bytes
    if digest(text.read(0, count)) != position.head:
        return False
    return digest(text.read(position.offset - count, count)) == position.last


@record
class LogPiece:
    """Lines of a file that were read together."""

    data: bytes
    end: int  # the position behind them
    # The first bytes of the file, and the last ones before the end, `SAMPLE_BYTES` at most
    head: bytes
    last: bytes
    lines: int
    is_cut: bool = False  # whether the last of them has no end
    is_shortened: bool = False  # whether it is the beginning of a line that is too long
    skipped_bytes: int = 0  # bytes that are no text: a hole that truncation has left


@record
class LogCursor:
    """Where in a file reading goes on."""

    offset: int = 0
    head: bytes = b""
    last: bytes = b""

    @classmethod
    def at(cls, text: Text, position: LogPosition) -> Self:
        """Return that of a position which the file has."""
        count = position.sample_bytes
        return cls(position.offset, text.read(0, count), text.read(position.offset - count, count))

    def behind(self, piece: LogPiece) -> LogCursor:
        """Return that behind lines."""
        return LogCursor(piece.end, piece.head, piece.last)

    def piece(
        self, text: Text, most_bytes: int, most_lines: int | None = None, *, is_ended: bool = False
    ) -> LogPiece | None:
        """Read whole lines; None: there are none yet.

        * ``most_bytes, most_lines``: How many at most, but at least a line.
        * ``is_ended``: Whether nobody writes to it any more, so that the last line needs no end.

        Raises `ChangedTextError` if the bytes before are not those that were read.
        """
        # The sample and the lines come with one read: between two the file could be truncated.
        before = 0 if text.is_packed else len(self.last)  # what is packed does not change
        raw = text.read(self.offset - before, before + max(most_bytes, LINE_BYTES) + 1)
        if raw[:before] != self.last[:before]:
            raise ChangedTextError
        if self.offset == 0 and raw.startswith(b"\0"):
            return self._behind_hole(text, most_bytes, most_lines, is_ended=is_ended)
        data = raw[before:]
        # A line that is longer than the bound is taken alone.
        end = data.rfind(b"\n", 0, most_bytes) + 1 or data.find(b"\n") + 1
        if most_lines is not None and data.count(b"\n", 0, end) > most_lines:
            end = _end_of_lines(data, most_lines)
        if end:
            return self.taken(data[:end])
        if len(data) > LINE_BYTES:
            return self._shortened(text, data[:LINE_BYTES], is_ended=is_ended)
        return self.taken(data, is_cut=True) if is_ended and data else None

    def taken(self, data: bytes, *, is_cut: bool = False) -> LogPiece:
        """Return lines that follow.

        * ``is_cut``: Whether the last one has no end.
        """
        head = (self.head + data[:SAMPLE_BYTES])[:SAMPLE_BYTES]
        last = (self.last + data[-SAMPLE_BYTES:])[-SAMPLE_BYTES:]
        lines = data.count(b"\n") + is_cut
        return LogPiece(data, self.offset + len(data), head, last, lines, is_cut=is_cut)

    def _behind_hole(
        self, text: Text, most_bytes: int, most_lines: int | None, *, is_ended: bool
    ) -> LogPiece | None:
        """Read behind the hole that a program leaves which writes on where it was before."""
        at = 0
        while raw := text.read(at, _SCAN_BYTES):
            data = raw.lstrip(b"\0")
            at += len(raw) - len(data)
            if data:
                break
        else:
            return None
        sample = bytes(min(at, SAMPLE_BYTES))
        behind = LogCursor(at, sample, sample)
        piece = behind.piece(text, most_bytes, most_lines, is_ended=is_ended)
        return None if piece is None else replace(piece, skipped_bytes=at)

    def _shortened(self, text: Text, data: bytes, *, is_ended: bool) -> LogPiece | None:
        """Take the beginning of a line that is too long, once its end is there."""
        at = self.offset + LINE_BYTES
        while piece := text.read(at, _SCAN_BYTES):
            end = piece.find(b"\n") + 1
            at += end or len(piece)
            if end:
                break
        else:
            if not is_ended:
                return None
        count = min(at, SAMPLE_BYTES)
        samples = text.read(0, count), text.read(at - count, count)
        return LogPiece(data + b"\n", at, *samples, 1, is_shortened=True)


def _end_of_lines(data: bytes, count: int) -> int:
    at = 0
    for _ in range(count):
        at = data.find(b"\n", at) + 1
    return at
