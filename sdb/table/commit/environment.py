"""The surroundings of a writer: clock, patience, turns and dice. Simulations bring their own."""

from __future__ import annotations

import os
import random
import time
from contextlib import nullcontext

from sdb.records import record
from sdb.table.commit.localqueue import turn

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager


def _now_us() -> int:
    return time.time_ns() // 1000


def _no_turn(_: str) -> AbstractContextManager[None]:
    return nullcontext()


@record
class Surroundings:
    """The surroundings of a writer.

    Attributes
    ----------
    now_us : callable
        Gives the time, in microseconds since 1970. It may jump.
    elapsed : callable
        Gives seconds since some moment, which never jump.
    sleep : callable
        Waits so many seconds.
    random_bytes : callable
        Gives so many random bytes.
    uniform : callable
        Gives a random number between two.
    turn : callable
        Waits for a turn among those who replace an object, by the place of it; nobody waits for
        another one if not given.
    """

    now_us: Callable[[], int] = _now_us
    elapsed: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep
    random_bytes: Callable[[int], bytes] = os.urandom
    uniform: Callable[[float, float], float] = random.uniform
    turn: Callable[[str], AbstractContextManager[None]] = _no_turn


REAL = Surroundings(turn=turn)
