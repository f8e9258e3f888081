"""Shows how far a query is while its rows are made."""

from __future__ import annotations

import threading

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Generator
    from contextlib import AbstractContextManager
    from types import TracebackType
    from typing import Self

    from sdb.cli.interrupts import Interruptible
    from sdb.cli.meter import Meter
    from sdb.query.result.result import Result

_PERIOD_SECONDS = 0.1


def followed(
    signals: Interruptible, meter: Meter, verb: str
) -> Callable[[Result], AbstractContextManager[None]]:
    """Return what goes around each query of a statement: it can be interrupted, and is shown.

    * ``verb``: What the meter says behind each query.
    """
    from contextlib import contextmanager

    @contextmanager
    def follow(result: Result) -> Generator[None]:
        signals.arm(result.interrupt)
        with Following(result, meter):
            yield
        meter.turn(verb)

    return follow


class Following:
    """A context manager that looks now and then how many blocks a query has read.

    * ``meter``: Shows the bytes of these blocks, and of all that are to be read.
    """

    def __init__(self, result: Result, meter: Meter) -> None:
        self._result = result
        self._meter = meter
        self._blocks = 0
        self._bytes = 0
        self._is_over = threading.Event()
        self._thread: threading.Thread | None = None

    def __enter__(self) -> Self:
        """Begin to look, if it is shown."""
        if not self._meter.is_off:
            reading = self._result.reading
            self._blocks, self._bytes = reading.blocks, reading.stored_bytes
            self._meter.turn("reading")
            self._thread = threading.Thread(target=self._look, name="progress", daemon=True)
            self._thread.start()
        return self

    def _look(self) -> None:
        while not self._is_over.wait(_PERIOD_SECONDS):
            self._tell()

    def _tell(self) -> None:
        read = min(self._result.blocks_read, self._blocks)
        self._meter(self._bytes * read // max(self._blocks, 1), self._bytes)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Remove what is shown: the rows come."""
        if self._thread is not None:
            self._is_over.set()
            self._thread.join()
            if kind is None:
                self._tell()
            self._meter.stop()
