"""Shows how far work is, on standard error."""

from __future__ import annotations

import os
import stat
import sys
import time

from sdb.cli.output import is_quiet, say
from sdb.errors import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    import threading
    from collections.abc import Callable, Generator
    from contextlib import AbstractContextManager
    from types import TracebackType
    from typing import Self

    from rich.progress import Progress, TaskID

    from sdb.cli.interrupts import Interruptible
    from sdb.query.result.result import Result

MODES = ("auto", "on", "off", "json")
_PATIENCE_SECONDS = 0.5
_LOOK_SECONDS = 0.1
_PERIODS = {"bar": 0.1, "json": 0.5, "lines": 2.0, "off": 0.0}


class Meter:
    """A context manager that can be called as the progress of a library function.

    * ``mode``: ``auto``: a bar, when standard error is a terminal, and standard output no pipe to
      a program that may write there, too. ``on``: lines, when it is no terminal. ``json``: one
      JSON object a line.
    * ``quiet``: Whether ``auto`` shall show nothing.

    Raises `UsageError` for another mode.
    """

    def __init__(self, label: str, mode: str, *, quiet: bool = False) -> None:
        if mode not in MODES:
            raise UsageError(f"unknown progress {mode!r}", hint=f"it is one of {', '.join(MODES)}")
        terminal = sys.stderr.isatty()
        self._label = label
        self._form = "json" if mode == "json" else "bar" if terminal else "lines"
        is_shown = mode != "auto" or not (quiet or is_quiet() or not terminal or _is_piped())
        if mode == "off" or not is_shown:
            self._form = "off"
        self._start = time.monotonic()
        self._next = self._start + (0.0 if mode == "json" else _PATIENCE_SECONDS)
        self._state: tuple[int, int | None] = (0, None)
        self._bar: tuple[Progress, TaskID] | None = None

    @property
    def seconds(self) -> float:
        """Seconds since the work began."""
        return time.monotonic() - self._start

    @property
    def is_off(self) -> bool:
        """True if nothing is ever shown."""
        return self._form == "off"

    def turn(self, label: str) -> None:
        """Turn to other work, which begins now."""
        self.stop()
        self._label, self._state = label, (0, None)
        self._start = time.monotonic()
        self._next = self._start + (0.0 if self._form == "json" else _PATIENCE_SECONDS)

    def stop(self) -> None:
        """Remove the bar."""
        if self._bar is not None:
            self._bar[0].stop()
            self._bar = None

    def __call__(self, consumed_bytes: int, total_bytes: int | None, /) -> None:
        """Record the progress, and show it when it is time."""
        self._state = (consumed_bytes, total_bytes)
        now = time.monotonic()
        if self._form != "off" and now >= self._next:
            self._next = now + _PERIODS[self._form]
            self._show()

    def _show(self) -> None:
        if self._form == "bar":
            self._draw()
        elif self._form == "json":
            self._write_json()
        else:
            self._write_line()

    def _write_json(self) -> None:
        import json

        done, total = self._state
        event = {"event": "progress", "consumed_bytes": done, "total_bytes": total}
        say(json.dumps(event | {"seconds": round(self.seconds, 3)}), to=sys.stderr)

    def _write_line(self) -> None:
        done, total = self._state
        share = f"{100 * done // total}% of {total:,}" if total else f"{done:,}"
        rate = done / 1e6 / max(self.seconds, 1e-9)
        say(f"{self._label}: {share} bytes, {rate:.0f} MB/s", to=sys.stderr)

    def _draw(self) -> None:
        done, total = self._state
        if self._bar is None:
            self._bar = _start_bar(self._label)
        progress, task = self._bar
        progress.update(task, completed=done, total=total, refresh=True)

    def __enter__(self) -> Self:
        """Start; nothing is shown yet."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Remove the bar."""
        if self._form == "json" and kind is None:
            self._write_json()
        self.stop()


def _is_piped() -> bool:
    try:
        return stat.S_ISFIFO(os.fstat(sys.stdout.fileno()).st_mode)
    except (OSError, ValueError):  # no file behind it, or closed
        return False


def _start_bar(label: str) -> tuple[Progress, TaskID]:
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        DownloadColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
        TransferSpeedColumn,
    )

    progress = Progress(
        TextColumn("{task.description}"),
        BarColumn(bar_width=None),
        DownloadColumn(),
        TransferSpeedColumn(),
        TimeRemainingColumn(compact=True),
        console=Console(stderr=True),
        auto_refresh=False,
        transient=True,
        expand=True,
    )
    progress.start()
    return progress, progress.add_task(label, total=None)


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
        self._is_over: threading.Event | None = None
        self._thread: threading.Thread | None = None

    def __enter__(self) -> Self:
        """Begin to look, if it is shown."""
        if not self._meter.is_off:
            reading = self._result.reading
            self._blocks, self._bytes = reading.blocks, reading.stored_bytes
            self._meter.turn("reading")
            from threading import Event, Thread

            self._is_over = Event()
            self._thread = Thread(target=self._look, name="progress", daemon=True)
            self._thread.start()
        return self

    def _look(self) -> None:
        while self._is_over is not None and not self._is_over.wait(_LOOK_SECONDS):
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
        if self._thread is not None and self._is_over is not None:
            self._is_over.set()
            self._thread.join()
            if kind is None:
                self._tell()
            self._meter.stop()
