"""HTTP as uvicorn speaks it, with bounds on what one connection may hold."""

from __future__ import annotations

from typing import TYPE_CHECKING

from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from sdb.serve.process.repeats import key_of

if TYPE_CHECKING:
    import asyncio
    from typing import Any

    from sdb.serve.process.repeats import Repeats

MOST_URL_BYTES = 96 << 10
_MOST_HEADER_BYTES = 64 << 10
_MOST_HEADERS = 100
_HEAD_SECONDS = 30.0
_LAST_CHUNK = b"0\r\n\r\n"


class _TooLargeError(Exception):
    """The head of a request is larger than it may be."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


class _Trailing:
    """A connection that sends fields behind the last chunk of an answer, if it has some.

    * ``trailer``: These, as lines.
    """

    def __init__(self, transport: asyncio.Transport, trailer: bytearray) -> None:
        self._transport, self._trailer = transport, trailer

    def write(self, data: bytes) -> None:
        """Write bytes."""
        if data == _LAST_CHUNK and self._trailer:
            data = _LAST_CHUNK[:-2] + bytes(self._trailer) + b"\r\n"
        self._transport.write(data)

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - whatever it has
        return getattr(self._transport, name)


class BoundedProtocol(HttpToolsProtocol):
    """A connection, whose requests begin with heads of a bounded size, and in time."""

    _refusal: _TooLargeError | None = None
    _head_bytes = 0
    _is_reading_head = False
    _is_answered = False
    _watch: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin."""
        super().connection_made(transport)
        self._look_later()

    def connection_lost(self, exc: Exception | None) -> None:
        """End."""
        if self._watch is not None:
            self._watch.cancel()
        super().connection_lost(exc)

    def _look_later(self) -> None:
        was_reading = self._is_reading_head
        self._watch = self.loop.call_later(_HEAD_SECONDS, self._look, was_reading)

    def _look(self, was_reading: bool) -> None:  # noqa: FBT001 - an argument of a timer
        """End a connection whose client does not go on: with its request, or reading the end."""
        transport = self.transport
        if transport.is_closing() or (was_reading and self._is_reading_head):
            transport.abort()
            return
        if self.cycle is None and not self._is_reading_head and self._is_old():
            transport.close()
            return
        self._look_later()

    _looks = 0

    def _is_old(self) -> bool:
        """Return whether a connection has had no request for long."""
        self._looks += 1
        return self._looks * _HEAD_SECONDS > self.timeout_keep_alive

    def on_message_begin(self) -> None:
        """Begin a request."""
        super().on_message_begin()
        self._head_bytes = 0
        self._is_reading_head = True
        self._is_answered = False
        self.scope["sdb.abort"] = self.transport.abort  # type: ignore[typeddict-unknown-key]

    def on_url(self, url: bytes) -> None:
        """Take a part of the URL."""
        if len(self.url) + len(url) > MOST_URL_BYTES:
            self._refuse(414, "The URL is too long.")
        super().on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        """Take a header."""
        self._head_bytes += len(name) + len(value)
        if self._head_bytes > _MOST_HEADER_BYTES or len(self.headers) >= _MOST_HEADERS:
            self._refuse(431, "The headers are too large.")
        super().on_header(name, value)

    def on_headers_complete(self) -> None:
        """Answer the request."""
        self._is_reading_head = False
        if not self._answer_again():
            trailer = bytearray()
            self.scope["sdb.trailer"] = trailer  # type: ignore[typeddict-unknown-key]
            super().on_headers_complete()
            if self.cycle is not None:
                self.cycle.transport = _Trailing(self.transport, trailer)  # type: ignore[assignment]

    def on_message_complete(self) -> None:
        """End the request."""
        if not self._is_answered:
            super().on_message_complete()

    def _answer_again(self) -> bool:
        """Answer a request that came before, and return whether that is done."""
        repeats: Repeats | None = self.app_state.get("repeats")
        parser = self.parser
        if (
            repeats is None
            or parser.get_method() != b"GET"
            or parser.get_http_version() != "1.1"
            or not parser.should_keep_alive()
        ):
            return False
        key = key_of(self.url, self.client and self.client[0], self.headers)
        if key is None:
            return False
        self.scope["sdb.key"] = key  # type: ignore[typeddict-unknown-key]
        is_busy = self.cycle is not None and not self.cycle.response_complete
        if is_busy or self.flow.write_paused or self.transport.is_closing():
            return False
        answer = repeats.answer(key, self.server_state.default_headers)
        if answer is None:
            return False
        self._is_answered = True
        self._looks = 0
        self.transport.write(answer)
        self.on_response_complete()
        return True

    def _refuse(self, status: int, message: str) -> None:
        self._refusal = _TooLargeError(status, message)
        raise self._refusal

    def send_400_response(self, msg: str) -> None:
        """Refuse what is no request, or too large."""
        refusal = self._refusal
        if refusal is None:
            super().send_400_response(msg)
            return
        body = str(refusal).encode()
        head = b"content-type: text/plain\r\ncontent-length: %d\r\nconnection: close\r\n\r\n"
        self.transport.write(STATUS_LINE[refusal.status] + head % len(body) + body)
        self.transport.close()

    def timeout_keep_alive_handler(self) -> None:
        """End a connection without a new request, also when its client has not read the answer."""
        if self.transport.get_write_buffer_size():
            self.transport.abort()
        else:
            super().timeout_keep_alive_handler()
