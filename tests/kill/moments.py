"""`kill -9` at random moments."""

from __future__ import annotations

import subprocess
import time
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import random
    from collections.abc import Callable

ROOT = Path(__file__).parents[2]


def timed(command: list[str]) -> float:
    """Run a command undisturbed; the seconds it takes."""
    start = time.monotonic()
    subprocess.run(command, check=True, cwd=ROOT, stderr=subprocess.DEVNULL)
    return time.monotonic() - start


class Killer:
    """Kills commands at random moments of the time that they take.

    Parameters
    ----------
    seconds : float
        How long a command takes when nobody disturbs it. On a busy machine the first run takes
        longest: whenever a later one is over before it is killed, the next is killed earlier.
    dice : Random
        Chooses the moments.
    """

    def __init__(self, seconds: float, dice: random.Random) -> None:
        self._seconds = seconds
        self._dice = dice

    def kill(self, command: list[str]) -> bool:
        """Start a command and kill it; tell whether it was not over by then."""
        with subprocess.Popen(command, cwd=ROOT, stderr=subprocess.DEVNULL) as process:
            time.sleep(self._dice.uniform(0.1, 1.1) * self._seconds)
            process.kill()
        is_killed = process.returncode != 0
        self._seconds *= 1 if is_killed else 0.7
        return is_killed


def kill(
    command: list[str],
    count: int,
    seconds: float,
    dice: random.Random,
    *,
    before: Callable[[], object],
    after: Callable[[], object],
) -> None:
    """Start a command again and again, and kill it while it works.

    Parameters
    ----------
    command : list of str
        The command.
    count : int
        How many times, or more, until one was killed.
    seconds : float
        How long it takes when nobody disturbs it.
    dice : Random
        Chooses the moments.
    before, after : callable
        What is done before each start and after each end.
    """
    killer = Killer(seconds, dice)
    is_killed = False
    runs = 0
    while runs < count or not is_killed:
        before()
        is_killed |= killer.kill(command)
        after()
        runs += 1
