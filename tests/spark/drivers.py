"""Drivers that run as commands, with accidents of their workers."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from typing import TYPE_CHECKING

from tests.cli.conftest import COMMAND, environment
from tests.spark import accidents

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

SECONDS = 120


def with_accidents(folder: Path, **flags: int) -> list[str]:
    """Return the options by which accidents happen to workers, see `accidents.prepare`."""
    first = accidents.prepare(folder / "accidents", **flags)
    path = os.pathsep.join([first, environment()["PYTHONPATH"]])
    return ["--conf", f"spark.executorEnv.PYTHONPATH={path}"]


def kill_driver(words: list[str], folder: Path, *, when: Callable[[], bool]) -> None:
    """Run a command in a folder, and kill it with all that it started once something is so."""
    with subprocess.Popen(
        [*COMMAND, *words],
        cwd=folder,
        env=environment(),
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    ) as process:
        try:
            stop = time.monotonic() + SECONDS
            while not when():
                assert time.monotonic() < stop
                assert process.poll() is None
                time.sleep(0.1)
        finally:
            os.killpg(process.pid, signal.SIGKILL)
