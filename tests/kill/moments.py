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
        How many times.
    seconds : float
        How long it takes when nobody disturbs it.
    dice : Random
        Chooses the moments.
    before, after : callable
        What is done before each start and after each end.
    """
    unfinished = 0
    for _ in range(count):
        before()
        with subprocess.Popen(command, cwd=ROOT, stderr=subprocess.DEVNULL) as process:
            time.sleep(dice.uniform(0.1, 1.1) * seconds)
            process.kill()
        unfinished += process.returncode != 0
        after()
    assert unfinished, "every run was over before it was killed: the test shows nothing"
