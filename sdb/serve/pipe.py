"""Bytes on their way from a thread that computes to a client that may be slow."""

from __future__ import annotations

import asyncio
import io
import threading
import time
import zlib

import zstandard

from sdb.cancellation import CancelledError
from sdb.serve.problems import HttpError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from sdb.cancellation import Cancellation

_MOST_BYTES = 1 << 20
_LOOK_SECONDS = 0.1
_FLUSH_SECONDS = 0.2
_ZSTD_LEVEL = 1


class Output(io.RawIOBase):
    """The file that an answer is written to: bounded, and compressed if its client wants that.

    * ``target``: Takes its bytes.
    * ``cancellation``: What ends the writer.
    * ``most_bytes``: How many may be written.
    * ``coding``: How its bytes are compressed, as Content-Encoding has it; empty: not at all.
    """

    def __init__(
        self,
        target: Callable[[bytes], object],
        cancellation: Cancellation,
        *,
        most_bytes: int | None,
        coding: str = "",
    ) -> None:
        super().__init__()
        self._target, self._cancellation, self._most = target, cancellation, most_bytes
        self._compress = _COMPRESSORS[coding]() if coding else None
        self._flushed = time.monotonic()
        self._size = 0
        self.headers: dict[str, str] = {}  # of the answer, known before its first byte

    def writable(self) -> bool:
        """Return that it can be written to."""
        return True

    def tell(self) -> int:
        """Return how many bytes were written to it."""
        return self._size

    def write(self, data: Any, /) -> int:  # noqa: ANN401 - anything with a buffer
        """Write bytes, all of them.

        Raises `CancelledError` if the query was cancelled and `HttpError` if the answer is too
        large.
        """
        self._cancellation.check()
        piece = bytes(data)
        self._size += len(piece)
        if self._most is not None and self._size > self._most:
            raise HttpError(
                422,
                f"the answer is larger than {self._most:,} bytes",
                code="answer_too_large",
                hint="ask for fewer rows or columns",
            )
        if self._compress is None:
            self._target(piece)
            return len(piece)
        packed = self._compress.compress(piece)
        now = time.monotonic()
        if now - self._flushed > _FLUSH_SECONDS:  # the client waits for rows
            packed += self._compress.sync()
            self._flushed = now
        if packed:
            self._target(packed)
        return len(piece)

    def finish(self) -> None:
        """Write what is left."""
        if self._compress is not None:
            self._target(self._compress.finish())
            self._compress = None

    def last(self, data: bytes) -> bytes:
        """Return bytes as they follow on what was written, where nothing else follows."""
        if self._compress is None:
            return data
        return self._compress.compress(data) + self._compress.sync()


class _Gzip:
    """A stream of gzip."""

    def __init__(self) -> None:
        self._stream = zlib.compressobj(1, zlib.DEFLATED, 16 + zlib.MAX_WBITS)
        self.compress = self._stream.compress

    def sync(self) -> bytes:
        """Return all that a reader needs for what was compressed."""
        return self._stream.flush(zlib.Z_SYNC_FLUSH)

    def finish(self) -> bytes:
        """End it."""
        return self._stream.flush()


class _Zstd:
    """A stream of zstd."""

    def __init__(self) -> None:
        self._stream = zstandard.ZstdCompressor(level=_ZSTD_LEVEL).compressobj()
        self.compress = self._stream.compress

    def sync(self) -> bytes:
        """Return all that a reader needs for what was compressed."""
        return self._stream.flush(zstandard.COMPRESSOBJ_FLUSH_BLOCK)

    def finish(self) -> bytes:
        """End it."""
        return self._stream.flush()


_COMPRESSORS: dict[str, type[_Gzip | _Zstd]] = {"zstd": _Zstd, "gzip": _Gzip}
CODINGS = tuple(_COMPRESSORS)
"""Content codings of answers, the better ones first."""


class Pipe:
    """A bounded pipe: a thread writes, and waits without its slot while the client is slow.

    * ``cancellation``: What ends the writer.
    * ``pause, resume``: Called by the writer before and after it waits.
    """

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        cancellation: Cancellation,
        *,
        pause: Callable[[], None],
        resume: Callable[[], None],
    ) -> None:
        self._loop, self._cancellation = loop, cancellation
        self._pause, self._resume = pause, resume
        self._changed = threading.Condition()
        self._pieces: list[bytes] = []
        self._size = 0
        self._ready = asyncio.Event()
        self.is_ended = False
        self.error: BaseException | None = None
        self._count = 0

    # The side of the thread

    def write(self, data: bytes) -> None:
        """Write bytes; waits while the client has more than a megabyte to read.

        Raises `CancelledError` if the query was cancelled meanwhile.
        """
        with self._changed:
            is_full = self._size >= _MOST_BYTES
        if is_full:
            self._wait()
        self._put(data)

    def end(self, error: BaseException | None = None, last: bytes = b"") -> None:
        """End it, with what went wrong.

        * ``last``: What the client reads before that.
        """
        if last:
            self._put(last)
        self.error = error
        self.is_ended = True
        self._wake()

    def _put(self, data: bytes) -> None:
        with self._changed:
            self._pieces.append(data)
            self._size += len(data)
        self._wake()

    def _wait(self) -> None:
        # Others compute while this one waits for its client.
        self._pause()
        try:
            with self._changed:
                while self._size >= _MOST_BYTES:
                    self._changed.wait(_LOOK_SECONDS)
                    self._cancellation.check()
        finally:
            self._resume()

    def _wake(self) -> None:
        self._count += 1
        try:
            self._loop.call_soon_threadsafe(self._ready.set)
        except RuntimeError:  # the loop is closed: the server has ended
            raise CancelledError("the server has ended") from None

    # The side of the loop

    async def gather(self, most_bytes: int, seconds: float) -> None:
        """Wait for enough bytes, for the end, or, after some seconds, for one byte."""
        until = time.monotonic() + seconds
        while (seen := self._count) >= 0 and not self.is_ended and self._size < most_bytes:
            rest = until - time.monotonic()
            if rest <= 0 and self._size:
                return
            await self._changes(seen, max(rest, 0) or None)

    async def read(self) -> bytes:
        """Return what was written since; empty: it has ended."""
        while (seen := self._count) >= 0 and not self._size and not self.is_ended:
            await self._changes(seen, None)
        return self.taken()

    def taken(self) -> bytes:
        """Return what was written since, without waiting."""
        with self._changed:
            data = b"".join(self._pieces)
            self._pieces.clear()
            self._size = 0
            self._changed.notify_all()
        return data

    async def _changes(self, seen: int, seconds: float | None) -> None:
        """Wait until something is written; `seen` is what the caller has looked at."""
        self._ready.clear()
        if self._count != seen:
            return
        try:
            async with asyncio.timeout(seconds):
                await self._ready.wait()
        except TimeoutError:
            return
