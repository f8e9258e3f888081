"""Retry with exponential backoff and jitter: the pauses between the attempts of one piece of work.

Loops stay where the work is, since each knows which errors another attempt can cure:

    backoff = Backoff("committing to web.logs", log, first_seconds=0.04, longest_seconds=2.0)
    while True:
        try:
            return attempt()
        except ConflictError as error:
            if not backoff.may_retry(error):
                raise backoff.exhausted(error) from error
        backoff.pause()
"""

from __future__ import annotations

import os
import time

from sdb import durations
from sdb.errors import UsageError
from sdb.records import record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeVar

    from sdb.errors import SdbError
    from sdb.log import Logger

    _AnyError = TypeVar("_AnyError", bound=SdbError)

VARIABLE = "SDB_PATIENCE"
PATIENCE_SECONDS = 60.0
_MOST_SECONDS = 86_400.0
_MOST_DOUBLINGS = 32

_patience: float | None = None


def default_patience() -> float:
    """Return how long work that loses races is tried again: ``SDB_PATIENCE``, or 60 seconds.

    The variable is read once.
    Raises `UsageError` if it is not a duration of at most a day.
    """
    global _patience  # noqa: PLW0603 - a setting of the process
    if _patience is None:
        text = os.environ.get(VARIABLE, "")
        _patience = _read(text) if text else PATIENCE_SECONDS
    return _patience


def _read(text: str) -> float:
    expected = "a time like 90s or 5m, at most a day"
    try:
        seconds = durations.seconds(text, bare=True, expected=expected)
    except UsageError as error:
        raise error.within(VARIABLE) from None
    if seconds > _MOST_SECONDS:
        raise UsageError(f"{VARIABLE}: {text[:40]!r} is too long", expected=expected)
    return seconds


def _elapsed() -> float:
    return time.monotonic()


def _sleep(seconds: float) -> None:
    time.sleep(seconds)


def _uniform(least: float, most: float) -> float:
    import random  # takes 2 ms, and most commands never wait

    return random.uniform(least, most)  # noqa: S311 - nothing to guess


@record
class Clock:
    """The time and the randomness of pauses; simulations inject their own."""

    elapsed: Callable[[], float] = _elapsed  # returns seconds since some moment; never jumps
    sleep: Callable[[float], None] = _sleep  # waits, seconds
    uniform: Callable[[float, float], float] = _uniform  # returns a random number between two


REAL = Clock()


class Backoff:
    """The pauses between attempts, each twice as long as the one before at most, at random.

    * ``what``: The work, for log records: ``"committing to web.logs"``.
    * ``log``: The logger of who works.
    * ``first_seconds``: The longest that the first pause may be.
    * ``longest_seconds``: The longest that any pause may be.
    * ``patience_seconds``: After how long no attempt follows; None: only their number counts.
    * ``attempts``: How many attempts there are; None: only the time counts.
    * ``factor``: How much longer a pause may be than the one before.
    * ``hurried_seconds``: A writer that has waited for n times as long pauses n times shorter,
      for the sake of fairness; 0: never.
    """

    def __init__(  # noqa: PLR0913 - by name
        self,
        what: str,
        log: Logger,
        *,
        first_seconds: float,
        longest_seconds: float,
        patience_seconds: float | None = None,
        attempts: int | None = None,
        factor: float = 2.0,
        hurried_seconds: float = 0.0,
        clock: Clock = REAL,
    ) -> None:
        self.failures = 0
        self.excused_seconds = 0.0  # time that the work has taken for others, which does not count
        self._what, self._log, self._clock = what, log, clock
        self._first, self._longest, self._factor = first_seconds, longest_seconds, factor
        self._patience, self._attempts = patience_seconds, attempts
        self._hurried = hurried_seconds
        self._cause: BaseException | None = None
        self._began = clock.elapsed()

    @property
    def waited_seconds(self) -> float:
        """Seconds since the first attempt began."""
        return self._clock.elapsed() - self._began

    @property
    def is_over(self) -> bool:
        """True if no attempt follows any more."""
        if self._attempts is not None and self.failures >= self._attempts:
            return True
        spent = self.waited_seconds - self.excused_seconds
        return self._patience is not None and spent >= self._patience

    def may_retry(self, cause: BaseException | None = None) -> bool:
        """Count an attempt that failed, and return whether another may follow."""
        self.failures += 1
        self._cause = cause
        if not self.is_over:
            return True
        self._log.info("%s: %s: %s", self._what, self._tried, cause)
        return False

    def pause(self) -> None:
        """Wait before the next attempt, and log that."""
        self._clock.sleep(self.next_seconds())

    def next_seconds(self) -> float:
        """Return how long to wait before the next attempt, and log that; the caller waits."""
        pauses = min(max(self.failures, 1) - 1, _MOST_DOUBLINGS)
        most = min(self._longest, self._first * self._factor**pauses)
        if self._hurried:
            most = min(most, self._longest / max(1.0, self.waited_seconds / self._hurried))
        seconds = self._clock.uniform(0, most)
        report = self._log.debug if self._cause is None else self._log.info
        cause = "" if self._cause is None else f": {self._cause}"
        report(
            "%s: attempt %d failed%s; retry in %.3f s", self._what, self.failures, cause, seconds
        )
        return seconds

    @property
    def _tried(self) -> str:
        count = f"{self.failures} attempt{'s' if self.failures > 1 else ''}"
        return f"gave up after {count} in {durations.written(self.waited_seconds)}"

    def exhausted(self, error: _AnyError) -> _AnyError:
        """Return an error whose message says, if it did not, how often and long it was tried."""
        if self.failures > 1:
            error.message = f"{error.message}; {self._tried}"
        return error
