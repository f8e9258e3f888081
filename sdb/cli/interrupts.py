"""Ctrl-C while the program waits for code that does not look at signals, or swallows them."""

from __future__ import annotations

import os
import signal
import sys
import threading

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType
    from typing import Self

_OURS = {signal.SIGINT, signal.SIGTERM}
_TERMINATED = 128 + signal.SIGTERM


class Interruptible:
    """A context manager that is left soon after a signal that ends the program."""

    def __init__(self) -> None:
        self._seen: list[int] = []
        self._stops: list[Callable[[], None]] = []

    @property
    def is_interrupted(self) -> bool:
        """True after a Ctrl-C."""
        return signal.SIGINT in self._seen

    def arm(self, stop: Callable[[], None]) -> None:
        """Say what makes the code that runs now stop; it is called from another thread."""
        self._stops.append(stop)
        if self._seen:
            stop()

    def __enter__(self) -> Self:
        """Begin to watch."""
        self._reading, self._writing = os.pipe()
        os.set_blocking(self._writing, False)
        self._watcher = threading.Thread(target=self._watch, name="signals", daemon=True)
        self._watcher.start()
        self._before = signal.set_wakeup_fd(self._writing, warn_on_full_buffer=False)
        return self

    def _watch(self) -> None:
        while number := os.read(self._reading, 1):
            if number[0] in _OURS:
                self._seen.append(number[0])
                for stop in self._stops:
                    stop()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Stop watching; leave the program if what ran made its own error of the signal."""
        signal.set_wakeup_fd(self._before)
        os.close(self._writing)
        self._watcher.join()
        os.close(self._reading)
        if kind is None or not self._seen:
            return
        if signal.SIGTERM in self._seen:
            sys.exit(_TERMINATED)
        if kind is not KeyboardInterrupt:
            raise KeyboardInterrupt


def until_stopped(stop: threading.Event, run: Callable[[], object]) -> int:
    """Run what goes on until a signal ends it: SIGTERM is how a service is stopped, and no error.

    * ``stop``: Set by the signal, also where code swallows the interrupt.

    Returns: The exit code.
    Raises `KeyboardInterrupt` if it was Ctrl-C.
    """
    watch = Interruptible()
    try:
        with watch:
            watch.arm(stop.set)
            run()
    except SystemExit as ended:
        if ended.code != _TERMINATED:
            raise
    if watch.is_interrupted:
        raise KeyboardInterrupt
    return 0
