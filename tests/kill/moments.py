"""`kill -9` at random moments."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import random
    from collections.abc import Callable
    from typing import Self

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


# Runs commands in copies of itself, which kill themselves before the n-th time that they write, as
# Python's audit hooks tell.
_COPIES = """
import json, os, sys
from sdb.cli import main
import numpy, pyarrow, sdb.table.upkeep.maintain
import sdb.packfile.rewrite.rewrite, sdb.table.packfiles.rowscan
EVENTS = {"os.rename", "os.link", "os.remove", "os.mkdir", "os.rmdir", "os.truncate"}
WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT
def hook_for(moment):
    left = [moment]
    def hook(event, words):
        is_write = event == "open" and isinstance(words[2], int) and words[2] & WRITES
        if is_write or event in EVENTS:
            if left[0] == 0:
                os.kill(os.getpid(), 9)
            left[0] -= 1
    return hook
for line in sys.stdin:
    moment, words = json.loads(line)
    if (pid := os.fork()) == 0:
        sys.addaudithook(hook_for(moment))
        code = 70
        try:
            code = main.run(words)
        finally:
            os._exit(code)
    print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), flush=True)
"""


class EachMoment:
    """Kills commands of `sdb` at each of the moments at which they are about to write."""

    def __enter__(self) -> Self:
        """Begin."""
        self._process = subprocess.Popen(
            [sys.executable, "-c", _COPIES],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        return self

    def __exit__(self, *_: object) -> None:
        """Come to an end."""
        self._process.communicate(timeout=60)

    def run(self, moment: int, words: list[str]) -> bool:
        """Run a command, and kill it before it writes for the n-th time; return whether it was."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps([moment, words]) + "\n")
        self._process.stdin.flush()
        code = int(self._process.stdout.readline())
        assert code in {0, -signal.SIGKILL}, code
        return code != 0
