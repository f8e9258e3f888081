"""Ctrl-C while the program waits for code that does not look at signals."""

from __future__ import annotations

import os
import signal
import sys
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_OURS = {signal.SIGINT, signal.SIGTERM}


@contextmanager
def interruptible(stop: Callable[[], None]) -> Iterator[None]:
    """Call a function as soon as a signal comes that ends the program.

    Parameters
    ----------
    stop : callable
        Makes what runs return soon; called from another thread.
    """
    seen: list[int] = []
    reading, writing = os.pipe()
    os.set_blocking(writing, False)

    def watch() -> None:
        while number := os.read(reading, 1):
            if number[0] in _OURS:
                seen.append(number[0])
                stop()

    watcher = threading.Thread(target=watch, name="signals", daemon=True)
    watcher.start()
    before = signal.set_wakeup_fd(writing, warn_on_full_buffer=False)

    def finish() -> None:
        signal.set_wakeup_fd(before)
        os.close(writing)
        watcher.join()
        os.close(reading)

    try:
        yield
    except KeyboardInterrupt:
        finish()
        # What ran may have taken the exception of the handler for an interrupt like any other.
        if signal.SIGTERM in seen:
            sys.exit(128 + signal.SIGTERM)
        raise
    except BaseException:
        finish()
        raise
    finish()
