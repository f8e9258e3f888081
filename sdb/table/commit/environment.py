"""The environment of a writer: clocks, sleep, randomness and local queue, all injectable."""

from __future__ import annotations

import os
import time
from contextlib import nullcontext

from sdb.log import Logger
from sdb.records import record
from sdb.retry import Backoff, Clock, default_patience
from sdb.table.commit.localqueue import queued
from sdb.table.format.limits import USUAL, Limits

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager

    from sdb.table.format.keys import TableKeys

_log = Logger("sdb.table.commit")
_FIRST_PAUSE_SECONDS = 0.04
_LONGEST_PAUSE_SECONDS = 2.0


def _now_us() -> int:
    return time.time_ns() // 1000


def _no_queue(_: str) -> AbstractContextManager[None]:
    return nullcontext()


@record
class Environment(Clock):
    """The clocks, sleep, randomness and local queue of a writer."""

    now_us: Callable[[], int] = _now_us  # returns microseconds since 1970; it may jump
    random_bytes: Callable[[int], bytes] = os.urandom  # returns a number of random bytes
    limits: Limits = USUAL  # when lists spill, how many requests run at once
    # Waits in the local queue of writers that replace an object, by its location; not by default
    queue: Callable[[str], AbstractContextManager[None]] = _no_queue


REAL = Environment(queue=queued)


def backoff_of(keys: TableKeys, env: Environment, patience_seconds: float | None = None) -> Backoff:
    """Return the pauses between attempts to replace the index of a table."""
    return Backoff(
        f"committing to {keys.database}.{keys.table}",
        _log,
        first_seconds=_FIRST_PAUSE_SECONDS,
        longest_seconds=_LONGEST_PAUSE_SECONDS,
        patience_seconds=default_patience() if patience_seconds is None else patience_seconds,
        clock=env,
    )
