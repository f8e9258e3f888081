"""Engines that wait for the next query: a new one takes longer than most queries.

An engine is a DuckDB that runs one query at a time. Each query has a connection to it, and its
relations and temporary tables go with that connection. A few engines whose query was not stopped
wait for another one.
"""

from __future__ import annotations

import atexit
import os
import time
from collections import deque
from contextlib import suppress
from functools import lru_cache

from sdb.query.exec import freememory, udfs
from sdb.store.local.scratch import Scratch

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

MOST_WAITING = 4
_SETTINGS = {
    "enable_external_access": "false",
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "python_enable_replacements": "false",
    "error_on_division_by_zero": "false",
    "order_by_non_integer_literal": "true",
}


class _Engine:
    """A DuckDB, with a folder for what does not fit into memory."""

    __slots__ = ("database", "spill", "threads")

    def __init__(self, threads: int) -> None:
        import duckdb

        self.threads = threads
        # DuckDB would take a folder in the current one.
        self.spill = Scratch()
        settings: dict[str, str | bool | int | float | list[str]] = {**_SETTINGS}
        settings["temp_directory"] = self.spill.path
        if threads:
            settings["threads"] = str(threads)
        try:
            self.database = duckdb.connect(":memory:", config=settings)
        except BaseException:
            self.spill.close()
            raise

    def close(self) -> None:
        self.database.close()
        self.spill.close()


# The operations of a deque are atomic: a finalizer may run anywhere, and must not wait for a lock.
_waiting: deque[_Engine] = deque()


class QuerySession:
    """An engine for one query, and the connection of that query.

    * ``threads``: Number of threads; 0 for as many as there are cores.
    * ``memory_bytes``: What the query may take; None: most of what is free.
    """

    def __init__(self, threads: int, memory_bytes: int | None) -> None:
        import duckdb

        self._memory_bytes = _free_bytes() if memory_bytes is None else memory_bytes
        self._functions: list[str] = []
        self._engine: _Engine | None = None
        self._is_stopped = False
        while (waiting := _waiting_engine(threads)) is not None:
            try:
                self._begin(waiting)
            except (duckdb.Error, OSError):  # broken by its last query, or its folder is gone
                waiting.close()
            else:
                return
        engine = _Engine(threads)
        try:
            self._begin(engine)
        except BaseException:
            engine.close()
            raise

    def _begin(self, engine: _Engine) -> None:
        os.stat(engine.spill.path)  # noqa: PTH116 - a plain string
        self.connection = engine.database.cursor()
        limit = "RESET memory_limit"
        if self._memory_bytes is not None:
            limit = f"SET memory_limit = '{self._memory_bytes}B'"
        # The bar would be written among the rows.
        self.connection.execute(f"SET enable_progress_bar = false; {limit}")
        self._engine = engine

    def add_functions(self, names: Iterable[str]) -> None:
        """Add functions of ours; they are of the whole engine until the query ends."""
        self._functions = sorted(names)
        udfs.register(self.connection, self._functions, self._memory_bytes)

    def interrupt(self) -> None:
        """Stop the query soon; may be called from any thread, at any time."""
        import duckdb

        self._is_stopped = True
        with suppress(duckdb.ConnectionException):  # it is over already
            self.connection.interrupt()

    def close(self) -> None:
        """End the query, and its engine."""
        engine, self._engine = self._engine, None
        if engine is not None:
            self.connection.close()
            engine.close()

    def release(self) -> None:
        """End the query; its engine waits for another one, unless it was stopped."""
        engine = self._engine
        if engine is None or self._is_stopped:
            self.close()
            return
        import duckdb

        try:
            for name in self._functions:
                self.connection.remove_function(name)
            self.connection.close()
        except duckdb.Error:  # the query has broken the engine, which says so itself
            self.close()
        else:
            self._engine = None
            _wait(engine)

    def __del__(self) -> None:
        """Return the engine; readers of rows keep the connection."""
        engine = getattr(self, "_engine", None)
        if engine is not None and not self._functions and not self._is_stopped:
            _wait(engine)


def _waiting_engine(threads: int) -> _Engine | None:
    """Return an engine that waits, if one has this number of threads."""
    with suppress(IndexError):
        while True:
            engine = _waiting.pop()
            if engine.threads == threads:
                return engine
            engine.close()
    return None


def _wait(engine: _Engine) -> None:
    _waiting.append(engine)
    if len(_waiting) > MOST_WAITING:
        with suppress(IndexError):
            _waiting.popleft().close()


def _close_waiting() -> None:
    with suppress(IndexError):
        while True:
            _waiting.pop().close()


atexit.register(_close_waiting)
# Of threads, a copy of the process has only the one that made it.
os.register_at_fork(before=_close_waiting)


def _free_bytes() -> int | None:
    """Return what a query may take if nothing is said; what is free is asked each second."""
    return _free_bytes_at(int(time.monotonic()))


@lru_cache(maxsize=1)
def _free_bytes_at(_second: int) -> int | None:
    return freememory.default_bytes()
