"""Log records of `sdb`, for people who want to see it work.

They go to the loggers of :mod:`logging` that are named like the modules, below ``sdb``. Off, they
cost a look into a dictionary: `logging` is imported by :func:`setup` and by programs that want it,
and a program that has not imported it has set up no handler. What users are told is in
:mod:`sdb.notes`.
"""

from __future__ import annotations

import sys

from sdb.errors import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    import logging
    from typing import Any

LEVELS = ("debug", "info", "warning", "error")
_DEBUG, _INFO = 10, 20  # as in `logging`
_HANDLER = "sdb.log.setup"
_LINE_BREAKS = str.maketrans({"\n": r"\n", "\r": r"\r"})


class Logger:
    """A logger of a module, which is one of :mod:`logging` as soon as that is there."""

    __slots__ = ("_logger", "_name")

    def __init__(self, name: str) -> None:
        self._name = name
        self._logger: logging.Logger | None = None

    def _enabled(self, level: int) -> logging.Logger | None:
        """Return the logger if records of a level are wanted."""
        if self._logger is None:
            # While another thread imports `logging`, the module is there and incomplete.
            get_logger: Any = getattr(sys.modules.get("logging"), "getLogger", None)
            if get_logger is None:
                return None
            self._logger = get_logger(self._name)
        return self._logger if self._logger.isEnabledFor(level) else None

    @property
    def wants_debug(self) -> bool:
        """True if debug records go anywhere: what is dear to tell is made only then."""
        return self._enabled(_DEBUG) is not None

    def debug(self, text: str, *values: object) -> None:
        """Log what is done all the time: requests, pauses, blocks that are skipped."""
        logger = self._enabled(_DEBUG)
        if logger is not None:
            logger.debug(text, *values, stacklevel=2)

    def info(self, text: str, *values: object) -> None:
        """Log what happens now and then: retries, lost races, versions, recoveries."""
        logger = self._enabled(_INFO)
        if logger is not None:
            logger.info(text, *values, stacklevel=2)


def setup(level: str) -> None:
    """Write log records to standard error, one line each: time, level, logger, message.

    A second call changes the level.

    * ``level``: One of `LEVELS`, in any case.

    Raises `UsageError` if it is no level.
    """
    name = level.strip().lower()
    if name not in LEVELS:
        raise UsageError(f"unknown log level {level!r}", expected=", ".join(LEVELS))
    import logging
    import time

    class OneLine(logging.Formatter):
        converter = staticmethod(time.gmtime)

        def format(self, record: logging.LogRecord) -> str:
            return super().format(record).translate(_LINE_BREAKS)

    top = logging.getLogger("sdb")
    for before in [
        old_handler for old_handler in top.handlers if old_handler.get_name() == _HANDLER
    ]:
        top.removeHandler(before)
    handler = logging.StreamHandler(sys.stderr)
    handler.set_name(_HANDLER)
    form = "%(asctime)s.%(msecs)03dZ %(levelname)s %(name)s: %(message)s"
    handler.setFormatter(OneLine(form, "%Y-%m-%dT%H:%M:%S"))
    top.addHandler(handler)
    top.setLevel(name.upper())
    top.propagate = False  # a handler of the root logger would write each line once more
