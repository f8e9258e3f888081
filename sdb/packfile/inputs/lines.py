"""Lines of a pipe that goes on: read by a thread, only so far ahead, and taken in batches."""

from __future__ import annotations

import os
import select
import threading
import time

from sdb import formats
from sdb.errors import InputError, from_os
from sdb.packfile.inputs.inputs import Input
from sdb.packfile.inputs.sniff import HEAD_BYTES, journal_forms
from sdb.records import record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Generator
    from types import TracebackType
    from typing import Self

BATCH_BYTES = 32 << 20
LINE_BYTES = 4 << 20
"""A line may be so long; it is more than a row can be."""

_PIECE_BYTES = 1 << 18
_DRAINED_BYTES = 1 << 20
_SIGNAL_SECONDS = 0.1


@record
class LineBatch:
    """Lines that were taken together."""

    data: bytes
    # Whether the last of them has no end: that of the pipe came first
    is_cut: bool = False
    is_shortened: bool = False  # whether the last of them was too long, and this is its beginning


class LineSource:
    """A context manager that reads a pipe in a separate thread.

    * ``descriptor``: The pipe.
    * ``head``: What was read of it before.
    * ``most_bytes``: So much is read ahead, or a line of `LINE_BYTES`; then who writes has to wait.
    """

    def __init__(
        self, descriptor: int, head: bytes = b"", *, most_bytes: int = BATCH_BYTES
    ) -> None:
        self._descriptor = descriptor
        self._room_bytes = max(most_bytes, LINE_BYTES)
        self._news = threading.Condition()
        self._buffer = bytearray(head)
        self._since = time.monotonic()
        self._lines = head.count(b"\n")
        self._is_over = False
        self._is_stopped = False
        self._is_dropping = False
        self._error: BaseException | None = None
        self.dropped_bytes = 0

    def __enter__(self) -> Self:
        """Begin to read."""
        self._waking, self._wake = os.pipe()
        self._thread = threading.Thread(target=self._read, name="lines", daemon=True)
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Stop reading."""
        self.stop()
        with self._news:
            self._room_bytes = 1 << 62
            self._news.notify_all()
        self._thread.join()
        os.close(self._waking)
        os.close(self._wake)

    @property
    def waiting_bytes(self) -> int:
        """Bytes that were read and not taken."""
        return len(self._buffer)

    @property
    def waiting_lines(self) -> int:
        """Lines that were read and not taken, without one that has no end."""
        return self._lines

    def stop(self) -> None:
        """Read what is in the pipe by now, and nothing more. A handler of signals may call it."""
        os.write(self._wake, b"x")

    def take(
        self, seconds: float, most_bytes: int, most_lines: int | None = None
    ) -> LineBatch | None:
        """Wait for lines, and take those that came so long after the first of them.

        * ``most_bytes, most_lines``: What is enough not to wait longer. A longer line counts.

        Returns: None at the end.
        Raises `InputError` if the pipe cannot be read.
        """
        with self._news:
            while not self._is_enough(seconds, most_bytes, most_lines):
                left = self._since + seconds - time.monotonic() if self._lines else None
                self._news.wait(left)
            taken = self._cut(most_bytes, most_lines)
            self._lines -= taken.data.count(b"\n") if not taken.is_shortened else 0
            self._since = time.monotonic()
            self._news.notify_all()
        if not taken.data and self._error is not None:
            raise self._error
        return taken if taken.data else None

    def _is_enough(self, seconds: float, most_bytes: int, most_lines: int | None) -> bool:
        size = len(self._buffer)
        if self._is_over or (size >= self._room_bytes) or (size >= most_bytes and self._lines):
            return True
        if most_lines is not None and self._lines >= most_lines:
            return True
        return self._lines > 0 and time.monotonic() >= self._since + seconds

    def _cut(self, most_bytes: int, most_lines: int | None) -> LineBatch:
        """Take whole lines out of the buffer; at the end of the pipe also one without its end."""
        buffer = self._buffer
        is_last = self._is_over and not self._is_stopped and len(buffer) <= most_bytes
        if is_last and (most_lines is None or self._lines < most_lines):
            return self._taken(len(buffer), is_cut=bool(buffer) and not buffer.endswith(b"\n"))
        if not self._lines:
            if self._is_over:  # who stopped reading has cut the last line, and who wrote may go on
                return self._taken(0 if self._is_stopped else len(buffer), is_cut=True)
            shortened = LineBatch(bytes(buffer[:LINE_BYTES]) + b"\n", is_shortened=True)
            self.dropped_bytes += len(buffer) - LINE_BYTES
            buffer.clear()
            self._is_dropping = True
            return shortened
        end = buffer.rfind(b"\n", 0, most_bytes) + 1 or buffer.find(b"\n") + 1
        if most_lines is not None and self._lines > most_lines:
            at = 0
            for _ in range(most_lines):
                at = buffer.find(b"\n", at) + 1
            end = min(end, at)
        return self._taken(end)

    def _taken(self, end: int, *, is_cut: bool = False) -> LineBatch:
        data = bytes(memoryview(self._buffer)[:end])
        del self._buffer[:end]
        return LineBatch(data, is_cut=is_cut)

    def _read(self) -> None:
        try:
            self._follow()
        except OSError as error:
            self._error = from_os(error, "reading", "standard input")
        except Exception as error:  # noqa: BLE001 - told to who takes
            self._error = InputError(f"reading standard input: {error}")
        with self._news:
            self._is_over = True
            self._news.notify_all()

    def _follow(self) -> None:
        ready = select.poll()
        ready.register(self._descriptor, select.POLLIN | select.POLLHUP | select.POLLERR)
        ready.register(self._waking, select.POLLIN)
        while True:
            with self._news:
                while len(self._buffer) >= self._room_bytes:
                    self._news.wait()
            if any(number == self._waking for number, _ in ready.poll()):
                self._is_stopped = True
                self._drain()
                return
            if not self._add(os.read(self._descriptor, _PIECE_BYTES)):
                self._is_stopped = self._may_be_stopped()
                return

    def _may_be_stopped(self) -> bool:
        """Return whether a signal came with the end: Ctrl-C ends who writes, too."""
        if not self._buffer or self._buffer.endswith(b"\n"):
            return False
        return bool(select.select([self._waking], [], [], _SIGNAL_SECONDS)[0])

    def _drain(self) -> None:
        """Read what was written before reading was stopped."""
        ready = select.poll()
        ready.register(self._descriptor, select.POLLIN | select.POLLHUP | select.POLLERR)
        drained_bytes = 0
        while drained_bytes < _DRAINED_BYTES and ready.poll(0):
            piece = os.read(self._descriptor, _PIECE_BYTES)
            drained_bytes += len(piece)
            if not self._add(piece):
                self._is_stopped = False  # it had ended before
                return

    def _add(self, piece: bytes) -> bool:
        """Record a piece; return False at the end."""
        more = bool(piece)
        with self._news:
            if self._is_dropping:
                end = piece.find(b"\n") + 1
                self.dropped_bytes += end or len(piece)
                self._is_dropping = not end
                piece = piece[end:] if end else b""
            if not self._lines and piece:
                self._since = time.monotonic()
            self._buffer += piece
            self._lines += piece.count(b"\n")
            self._news.notify_all()
        return more


def text_input(name: str, form: str, data: bytes, hints: bytes | None = None) -> Input:
    """Return lines of a text as an input.

    * ``form``: The parser of the lines, as an :class:`Input` has it.
    """

    def pieces() -> Generator[bytes]:
        yield data

    form = formats.parser_at(form, time.time(), is_later=True)
    forms = journal_forms(data[:HEAD_BYTES]) if formats.get(form).name == "json" else ()
    return Input(name, form, hints=hints, size_bytes=len(data), forms=forms, source=pieces)


def stream_form(head: bytes, form: str) -> str:
    """Return the parser that takes the lines of a pipe one by one; empty: it is taken as a whole.

    * ``head``: Its first bytes, with the first line if it has one.
    * ``form``: What it is, as :class:`Input` has it.
    """
    name = form.partition(":")[0]
    if name not in formats.INPUTS or not formats.get(name).is_streamed:
        return ""
    if name != "json":
        return form
    if "records=" in form:
        return ""
    # Records over several lines, and arrays of records, are told by how they begin.
    first = head.lstrip().split(b"\n", 1)[0].rstrip()
    is_open = first in {b"{", b""} or first.startswith(b"[") or first.endswith((b"{", b"[", b","))
    return "" if is_open else form
