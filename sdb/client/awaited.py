"""The asyncio face: calls in threads, which a cancelled task interrupts where that is safe."""

from __future__ import annotations

import asyncio
from functools import partial

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeVar

    from sdb.query.result.result import Result

    _T = TypeVar("_T")

_PATIENCE_SECONDS = 0.1


async def finished(call: Callable[[], _T]) -> _T:
    """Return what a call returns that changes something, and is never left half done.

    A task that is cancelled meanwhile waits for the end of the call before it ends.
    """
    future = _begun(call)
    try:
        result, error = await asyncio.shield(future)
    except asyncio.CancelledError:
        await asyncio.wait([future])
        raise
    if error is not None:
        raise error
    return result  # type: ignore[return-value]  # there was no error


async def queried(query: Callable[[], Result]) -> Result:
    """Return the result of a query with all of its rows; cancelling the task interrupts it."""
    results: list[Result] = []

    def compute() -> Result:
        result = query()
        results.append(result)
        len(result)  # reads and keeps all rows
        return result

    future = _begun(compute)
    try:
        computed, error = await asyncio.shield(future)
    except asyncio.CancelledError:
        # Again and again, for the engine may not have begun at the first call.
        while not future.done():
            for result in results:
                result.interrupt()
            await asyncio.wait([future], timeout=_PATIENCE_SECONDS)
        for result in results:
            result.close()
        raise
    if error is not None:
        for result in results:
            result.close()
        raise error
    return computed  # type: ignore[return-value]  # there was no error


def _begun(call: Callable[[], _T]) -> asyncio.Future[tuple[_T | None, BaseException | None]]:
    """Begin a call in a thread of the loop."""
    return asyncio.get_running_loop().run_in_executor(None, partial(_outcome, call))


def _outcome(call: Callable[[], _T]) -> tuple[_T | None, BaseException | None]:
    # An interrupted query raises KeyboardInterrupt, which would end the loop.
    try:
        return call(), None
    except BaseException as error:  # noqa: BLE001 - raised again by who waits
        return None, error
