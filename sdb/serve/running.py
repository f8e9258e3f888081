"""Queries that run: separate threads, their time, and the client who may go."""

from __future__ import annotations

import asyncio
import ctypes
import secrets
import threading
import time
from contextlib import asynccontextmanager

from sdb.cancellation import Cancellation
from sdb.serve.admission import BusyError
from sdb.serve.problems import HttpError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable
    from typing import Any, TypeVar

    from starlette.requests import Request

    from sdb.errors import SdbError
    from sdb.serve.access import Rights, TokenLimits

    _T = TypeVar("_T")

_AGAIN_SECONDS = 0.1
_END_SECONDS = 1.0
_STALLED_SECONDS = 2.0
_TRIM_SECONDS = 2.0


class GoneError(HttpError):
    """The client is gone."""

    def __init__(self) -> None:
        super().__init__(499, "the client is gone", code="client_gone")


class Running:
    """A query that runs.

    * ``limits``: What it may take.
    """

    def __init__(self, rights: Rights, limits: TokenLimits) -> None:
        self.id = secrets.token_hex(16)
        self.rights, self.limits = rights, limits
        self.cancellation = Cancellation()
        self.error: SdbError | None = None
        self.is_done = False
        self.paused_at: float | None = None
        self._began = time.monotonic()
        self._paused_seconds = 0.0
        self.stopped: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def cancel(self, error: SdbError) -> None:
        """Make it stop; the first reason is what its client hears. Called by the loop."""
        if self.error is None:
            self.error = error
        self.cancellation.cancel(error.message)
        if not self.stopped.done():
            self.stopped.set_result(None)

    def check(self, *_: object) -> None:
        """Raise if it has to stop; a progress of work in its thread.

        Raises `CancelledError` if it has to.
        """
        self.cancellation.check()

    def pause(self) -> None:
        """Stop its clock: it waits for its client."""
        self.paused_at = time.monotonic()

    def resume(self) -> None:
        """Start its clock again."""
        began, self.paused_at = self.paused_at, None
        if began is not None:
            self._paused_seconds += time.monotonic() - began

    @property
    def seconds(self) -> float:
        """Time that it has computed, or waited for others."""
        began = self.paused_at
        paused = self._paused_seconds + (0 if began is None else time.monotonic() - began)
        return time.monotonic() - self._began - paused

    async def until(self, future: asyncio.Future[_T]) -> _T:
        """Return what a future brings, which is left alone when the query has to stop.

        Raises `SdbError` for why it has to stop, at most a second later.
        """
        both: set[asyncio.Future[Any]] = {future, self.stopped}
        await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
        if not future.done():
            await asyncio.wait({future}, timeout=_END_SECONDS)
        if self.error is not None:
            raise self.error
        return future.result()


class RunningQueries:
    """All that run, by their names.

    * ``most``: How many may be open at the same time.
    """

    def __init__(self, most: int, patience_seconds: float) -> None:
        self._most, self._patience_seconds = most, patience_seconds
        self._all: dict[str, Running] = {}
        self._threads = 0
        self._memory = _Memory()

    def get(self, name: str) -> Running | None:
        """Return a query; None: it does not run."""
        return self._all.get(name)

    @asynccontextmanager
    async def run(
        self, request: Request, rights: Rights, limits: TokenLimits
    ) -> AsyncIterator[Running]:
        """Run a query until its time is over, or its client is gone.

        Raises `BusyError` if there are too many.
        """
        if max(len(self._all), self._threads) >= self._most:
            self._make_room()
        running = Running(rights, limits)
        self._all[running.id] = running
        watch = asyncio.create_task(_watched(running, request))
        try:
            yield running
        except asyncio.CancelledError:
            running.cancel(GoneError())
            raise
        finally:
            del self._all[running.id]
            watch.cancel()
            if not running.is_done:
                running.cancel(GoneError())

    def thread(self, running: Running, call: Callable[[], _T]) -> asyncio.Future[_T]:
        """Run something of a query in a thread, which stops soon when the query has to."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[_T] = loop.create_future()
        future.add_done_callback(lambda done: done.cancelled() or done.exception())

        def settle(result: _T | None, error: BaseException | None) -> None:
            self._threads -= 1
            running.is_done = True
            if future.done():
                return
            if error is None:
                future.set_result(result)  # type: ignore[arg-type]  # there was no error
            else:
                future.set_exception(error)

        def work() -> None:
            result, error = None, None
            try:
                running.cancellation.check()
                result = call()
            except BaseException as raised:  # noqa: BLE001 - the future has it
                error = raised
                forget_frames(error)
            self._memory.give_back()
            # The loop may have ended.
            if not loop.is_closed():
                loop.call_soon_threadsafe(settle, result, error)

        running.is_done = False
        self._threads += 1
        threading.Thread(target=work, name=f"query-{running.id[:8]}", daemon=True).start()

        def interrupt(_: object) -> None:
            task = loop.create_task(_interrupted(running, future))
            future.add_done_callback(lambda _: task.cancel())

        running.stopped.add_done_callback(interrupt)
        future.add_done_callback(lambda _: running.stopped.remove_done_callback(interrupt))
        return future

    def close(self, error: SdbError) -> None:
        """Stop all of them."""
        for running in list(self._all.values()):
            running.cancel(error)

    def _make_room(self) -> None:
        """Stop the query whose client has read nothing for longest: it holds what others need."""
        now = time.monotonic()
        waiting = [(each.paused_at or now, each) for each in self._all.values()]
        since, slowest = min(waiting, key=lambda pair: pair[0])
        if now - since < _STALLED_SECONDS:
            raise BusyError(self._patience_seconds)
        slowest.cancel(stalled())


class _Memory:
    """Memory that queries have freed, and the allocator keeps."""

    def __init__(self) -> None:
        self._due = 0.0
        self._lock = threading.Lock()
        self._trim = getattr(ctypes.CDLL(None), "malloc_trim", None)  # of glibc

    def give_back(self) -> None:
        """Return it to the system, now and then."""
        if (
            self._trim is None
            or time.monotonic() < self._due
            or not self._lock.acquire(blocking=False)
        ):
            return
        try:
            self._due = time.monotonic() + _TRIM_SECONDS
            self._trim(0)
        finally:
            self._lock.release()


def forget_frames(error: BaseException | None) -> None:
    """Forget what the frames of an error hold: engines with their threads, files and memory."""
    while error is not None and error.__traceback__ is not None:
        error.__traceback__ = None
        error = error.__cause__ or error.__context__


def stalled() -> HttpError:
    """Return the error for a client that does not read."""
    return HttpError(408, "the client has not read its answer", code="client_slow")


def late(seconds: float) -> HttpError:
    """Return the error for a query whose time is over."""
    hint = "ask for less, or for more time with timeout, if the server allows it"
    return HttpError(504, f"the query ran for {seconds:g} s", code="query_timeout", hint=hint)


async def _watched(running: Running, request: Request) -> None:
    """Stop a query when its time is over, or its client is gone."""
    seconds = running.limits.timeout_seconds
    gone = asyncio.ensure_future(disconnected(request))
    try:
        while not gone.done():
            left = None if seconds is None else seconds - running.seconds
            if left is not None and left <= 0:
                break
            await asyncio.wait({gone}, timeout=left and max(left, _AGAIN_SECONDS / 2))
        running.cancel(GoneError() if gone.done() else late(seconds or 0.0))
    finally:
        gone.cancel()


async def _interrupted(running: Running, future: asyncio.Future[_T]) -> None:
    """Interrupt a thread of a query that has to stop, until it has: it may only just begin."""
    while not future.done():
        running.cancellation.cancel(running.cancellation.reason)
        await asyncio.sleep(_AGAIN_SECONDS)


async def disconnected(request: Request) -> None:
    """Wait until the client is gone."""
    while (await request.receive())["type"] != "http.disconnect":
        pass
