"""Large answers on their way: in pieces, and cut where something fails or nobody reads."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import cast

from sdb.errors import SdbError
from sdb.serve.running import GoneError, stalled

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.types import Message, Send

    from sdb.serve.pipe import Pipe
    from sdb.serve.running import Running

_PIECE_BYTES = 64 << 10
_END_SECONDS = 1.0
TOLD_BEHIND = ("sdb-notes", "sdb-warnings")
"""Headers that come behind an answer which is sent while it is made."""


class CutError(Exception):
    """An answer that was cut: its status had been sent when something failed."""

    def __init__(self, error: SdbError) -> None:
        super().__init__(error.message)
        self.error = error


async def pieces(running: Running, pipe: Pipe) -> AsyncIterator[bytes]:
    """Iterate over the bytes of a pipe, also those that a query has written when it had to stop.

    Raises `BaseException` for what went wrong in the thread that writes, and for why the query has
    to stop.
    """
    reading = asyncio.ensure_future(pipe.read())
    try:
        while data := await running.until(reading):
            yield data
            reading = asyncio.ensure_future(pipe.read())
    except SdbError as error:
        if not isinstance(error, GoneError):
            with suppress(TimeoutError):
                async with asyncio.timeout(_END_SECONDS):
                    while data := await reading:
                        yield data
                        reading = asyncio.ensure_future(pipe.read())
        raise
    finally:
        reading.cancel()
    if pipe.error is not None:
        raise pipe.error


async def told_behind(
    data: AsyncIterator[bytes], made: asyncio.Future[dict[str, str]], request: Request
) -> AsyncIterator[bytes]:
    """Iterate over the bytes of an answer, and have what they have come to told behind them.

    * ``made``: Brings the headers of the answer, when all of it was made.
    """
    async for piece in data:
        yield piece
    trailer: bytearray | None = request.scope.get("sdb.trailer")
    if trailer is not None:
        more = await made
        for name in TOLD_BEHIND:
            if name in more:
                trailer += f"{name}: {more[name]}\r\n".encode()


async def sent(data: AsyncIterator[bytes], head: Response, send: Send) -> BaseException | None:
    """Send an answer in pieces; return what went wrong, and the answer has no end then."""
    try:
        start = {"type": "http.response.start", "status": 200, "headers": head.raw_headers}
        await send(start)
        async for piece in data:
            for at in range(0, len(piece), _PIECE_BYTES):
                body = piece[at : at + _PIECE_BYTES]
                await send({"type": "http.response.body", "body": body, "more_body": True})
        await send({"type": "http.response.body", "body": b"", "more_body": False})
    except (asyncio.CancelledError, CutError):
        raise
    except BaseException as error:  # noqa: BLE001 - the caller cuts the answer
        return error
    return None


async def patiently(send: Send, message: Message, request: Request, seconds: float) -> None:
    """Send a message to a client that goes on reading.

    Raises `CutError` if it does not: its connection is closed, whatever is left in its buffers.
    """
    try:
        async with asyncio.timeout(seconds):
            await send(message)
    except TimeoutError:
        abort(request)
        raise CutError(stalled()) from None


def abort(request: Request) -> None:
    """Close a connection at once, and forget what its client has not read."""
    close = request.scope.get("sdb.abort")
    if close is not None:
        cast("Callable[[], None]", close)()
