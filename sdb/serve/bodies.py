"""Bodies of requests: of a bounded size, in time, and of a bounded size together.

A body that trickles holds what has come of it. So bodies have a least speed, and where all of them
hold as much as they may, one that goes on waits a while, and is refused then.
"""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

from starlette.requests import ClientDisconnect

from sdb.serve.problems import HttpError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from starlette.requests import Request

_BODY_SECONDS = 300.0
_FIRST_SECONDS = 20.0
"""So long a body may take however slow it is."""
_LEAST_BYTES_PER_SECOND = 1024
_PATIENCE_SECONDS = 5.0
_MOST = 256
_SMALL_BYTES = 1 << 20


class Bodies:
    """The bodies that are held in memory at the same time.

    * ``most_bytes``: How many bytes all of them may have.
    """

    def __init__(self, most_bytes: int) -> None:
        self.most_bytes, self.held_bytes = most_bytes, 0
        self._held: dict[object, int] = {}  # by what a request is known by
        self._freed = asyncio.Condition()

    async def take(self, request: Request, size: int) -> None:
        """Hold some more of the body of a request, when there is room.

        Raises `HttpError` if it does not get any in time, or never can.
        """
        key = _key(request)
        if self._held.get(key, 0) + size > self.most_bytes:
            raise HttpError(413, f"the body is larger than {self.most_bytes:,} bytes")
        if not self._fits(key, size):
            try:
                async with asyncio.timeout(_PATIENCE_SECONDS), self._freed:
                    await self._freed.wait_for(lambda: self._fits(key, size))
            except TimeoutError:
                raise HttpError(
                    429,
                    "other requests hold all the memory for bodies",
                    code="busy",
                    hint="try again in 2 s",
                    headers={"retry-after": "2"},
                ) from None
        self._held[key] = self._held.get(key, 0) + size
        self.held_bytes += size

    def _fits(self, key: object, size: int) -> bool:
        has_place = key in self._held or len(self._held) < _MOST
        return has_place and self.held_bytes + size <= self.most_bytes

    async def release(self, request: Request) -> None:
        """Forget the body of a request, which was answered."""
        size = self._held.pop(_key(request), None)
        if size is not None:
            self.held_bytes -= size
            async with self._freed:
                self._freed.notify_all()


def _key(request: Request) -> object:
    return request.scope.setdefault("sdb.body", object())  # the scope may be copied


async def bounded(request: Request, most_bytes: int) -> bytes:
    """Read the body of a request.

    A large one counts among those that are held until the request was answered.
    Raises `HttpError` if it is larger, or does not come in time, or there is no memory for it.
    """
    bodies: Bodies = request.app.state.service.bodies
    pieces = []
    async for piece in streamed(request, most_bytes):
        await bodies.take(request, len(piece))
        pieces.append(piece)
    body = b"".join(pieces)
    if len(body) < _SMALL_BYTES:
        await bodies.release(request)
    return body


async def streamed(request: Request, most_bytes: int) -> AsyncIterator[bytes]:
    """Read the body of a request as it comes.

    Raises `HttpError` if it is larger, or does not come in time.
    """
    declared = request.headers.get("content-length", "")
    if declared.isdecimal() and int(declared) > most_bytes:
        raise _too_large(most_bytes)
    size, begun = 0, time.monotonic()
    pieces = aiter(request.stream())
    while True:
        least = begun + max(_FIRST_SECONDS, size / _LEAST_BYTES_PER_SECOND)
        try:
            async with asyncio.timeout(min(least, begun + _BODY_SECONDS) - time.monotonic()):
                piece = await anext(pieces)
        except StopAsyncIteration:
            return
        except TimeoutError:
            seconds = time.monotonic() - begun
            raise HttpError(
                408,
                f"of the body {size:,} bytes have come in {seconds:.0f} s",
                hint=f"it takes {_LEAST_BYTES_PER_SECOND:,} bytes a second, and at most"
                f" {_BODY_SECONDS:g} s",
            ) from None
        except ClientDisconnect:
            raise HttpError(499, "the client is gone", code="client_gone") from None
        size += len(piece)
        if size > most_bytes:
            raise _too_large(most_bytes)
        yield piece


def _too_large(most_bytes: int) -> HttpError:
    return HttpError(413, f"the body is larger than {most_bytes:,} bytes")
