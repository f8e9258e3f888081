"""The budget of upkeep: a share of a processor, free space, and when to stop."""

from __future__ import annotations

import os
import shutil
import tempfile
import time

from sdb.errors import SdbError
from sdb.records import changing_record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from threading import Event

    from sdb.table.catalog.root import TableRoot

MIN_FREE_BYTES = 1 << 30
_SLICE_SECONDS = 0.2


class StoppedError(SdbError):
    """The program was told to stop; what was begun has left nothing behind."""


@changing_record
class Budget:
    """Resources that one program may use."""

    cpu_share: float | None = None  # of one processor, on average; None: as much as there is
    # Free space that a compaction leaves on each disk that it writes to.
    min_free_bytes: int = MIN_FREE_BYTES
    stop: Event | None = None  # set to stop
    renew: Callable[[], None] = lambda: None  # called now and then while work goes on
    _debt_seconds: float = 0.0
    _cpu_at: float = 0.0
    _at: float = 0.0

    def begin(self) -> None:
        """Begin to count."""
        self._cpu_at, self._at = time.process_time(), time.monotonic()

    def progress(self, _done: int, _total: int | None, /) -> None:
        """Record progress: see :meth:`pace`."""
        self.pace()

    def pace(self) -> None:
        """Wait as long as the share demands.

        Raises `StoppedError` if the program was told to stop.
        """
        self.renew()
        self.check()
        if self.cpu_share is None:
            return
        cpu, now = time.process_time(), time.monotonic()
        self._debt_seconds += (cpu - self._cpu_at) / self.cpu_share - (now - self._at)
        self._debt_seconds = max(0.0, self._debt_seconds)
        self._cpu_at, self._at = cpu, now
        while self._debt_seconds > _SLICE_SECONDS / 2:
            self._wait(min(_SLICE_SECONDS, self._debt_seconds))
            self.check()
            self.renew()
            now = time.monotonic()
            self._debt_seconds -= now - self._at
            self._cpu_at, self._at = time.process_time(), now

    def _wait(self, seconds: float) -> None:
        if self.stop is None:
            time.sleep(seconds)
        else:
            self.stop.wait(seconds)

    def check(self) -> None:
        """Raise `StoppedError` if the program was told to stop."""
        if self.stop is not None and self.stop.is_set():
            raise StoppedError("stopped")

    def room_bytes(self, root: TableRoot, *, is_sorted: bool) -> int | None:
        """Return how large what is merged may be for the free space; None: any size.

        * ``is_sorted``: Whether rows are sorted, which needs twice their size in `$TMPDIR`.
        """
        rooms = []
        folder = root.store.path_of(root.place("db"))
        if folder is not None:
            rooms.append(self._free(folder))
        if is_sorted:
            rooms.append(self._free(tempfile.gettempdir()) // 2)
        return max(0, min(rooms)) if rooms else None

    def _free(self, folder: str) -> int:
        while not os.path.isdir(folder):  # noqa: PTH112 - a path as the store has it
            folder = os.path.dirname(folder) or "."  # noqa: PTH120
        return shutil.disk_usage(folder).free - self.min_free_bytes
