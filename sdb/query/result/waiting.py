"""Waiting for rows in a way that hears of signals: Ctrl-C ends a query soon, wherever it is."""

from __future__ import annotations

import threading

# Not from `queue`, which would load `heapq` for classes that nothing here needs.
from _queue import Empty, SimpleQueue
from contextlib import suppress
from weakref import ref

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator
    from typing import TypeVar

    _T = TypeVar("_T")

_PATIENCE_SECONDS = 0.1
_MOST_TRIES = 100
"""So often a call is asked to stop before it is left alone."""
_LOOK_SECONDS = 1.0
_END = object()


class Waiter:
    """Runs calls in a separate thread, while the main thread waits and runs signal handlers.

    Engines do not return to Python while they compute, so that no handler would run there. When a
    handler raises an exception, as that of Ctrl-C does, the call is made to stop first. In other
    threads, which run no handlers, calls are plain calls.

    * ``interrupt``: Makes a call that is under way stop soon.
    """

    def __init__(self, interrupt: Callable[[], None]) -> None:
        self._interrupt = interrupt
        self._jobs: SimpleQueue[_Job | None] | None = None
        self._thread: threading.Thread | None = None

    def __call__(self, call: Callable[[], _T]) -> _T:
        """Return what a call returns, or raise what it raises."""
        if threading.current_thread() is not threading.main_thread():
            return call()
        job = _Job(call)
        try:
            self._started().put(job)
            while not job.is_done:
                job.wait()
        except BaseException:
            self._stop(job)
            raise
        if job.error is not None:
            self.close()  # there are no more rows, or there is nothing to go on with
            try:
                raise job.error
            finally:
                job.error = None  # it has this frame: a circle would keep the engine
        return job.value  # type: ignore[return-value]  # it is that of the call

    def each(self, make: Callable[[], Iterator[_T]]) -> Generator[_T]:
        """Iterate over what an iterator gives; both it and each next one are waited for."""
        iterator = self(make)
        while True:
            item = self(lambda: next(iterator, _END))
            if item is _END:
                return
            yield item  # type: ignore[misc]  # it is of the iterator

    def close(self) -> None:
        """End the thread, when the call that it may be in has ended."""
        if self._jobs is not None and self._thread is not None:
            self._jobs.put(None)
            self._jobs = None
            self._thread.join(_PATIENCE_SECONDS)

    def _started(self) -> SimpleQueue[_Job | None]:
        if self._jobs is None:
            # Kept only once it runs: Ctrl-C may come while the thread starts.
            jobs: SimpleQueue[_Job | None] = SimpleQueue()
            thread = threading.Thread(
                target=_serve, args=(jobs, ref(self)), name="query", daemon=True
            )
            thread.start()
            self._jobs, self._thread = jobs, thread
        return self._jobs

    def _stop(self, job: _Job) -> None:
        """Make a call stop: again and again, for the engine may not have begun at the first try."""
        for _ in range(_MOST_TRIES):
            if job.is_done or job.claim():
                return
            self._interrupt()
            job.wait()


class _Job:
    """A call, and what came of it."""

    def __init__(self, call: Callable[[], object]) -> None:
        self._call = call
        self._claimed = threading.Lock()
        self._wakes: SimpleQueue[None] = SimpleQueue()
        self.value: object = None
        self.error: BaseException | None = None
        self.is_done = False

    def claim(self) -> bool:
        """Return whether nobody has begun it before; from now on somebody has."""
        return self._claimed.acquire(blocking=False)

    def run(self) -> None:
        """Carry it out, unless it is not wanted any more."""
        if not self.claim():
            return
        try:
            self.value = self._call()
        except BaseException as error:  # noqa: BLE001 - raised again by the thread that waits
            self.error = error
        self.is_done = True
        self._wakes.put(None)

    def wait(self) -> None:
        """Wait until it is over, but not for long: signals are to be looked at in between."""
        with suppress(Empty):
            self._wakes.get(timeout=_PATIENCE_SECONDS)


def _serve(jobs: SimpleQueue[_Job | None], waiter: ref[Waiter]) -> None:
    """Run calls until there are no more, or nobody is left who could ask for one.

    A finalizer could say so at once, but an exception that a signal handler raises there is lost.
    """
    while True:
        try:
            job = jobs.get(timeout=_LOOK_SECONDS)
        except Empty:
            if waiter() is None:
                return
            continue
        if job is None:
            return
        job.run()
        del job  # nothing is kept alive by a thread that waits
