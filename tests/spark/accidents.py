"""Accidents of workers: each flag in a folder makes one happen once, to the worker that is first.

The folder of this file's copy, named `sitecustomize.py`, is on the PYTHONPATH of the workers.
"""

from __future__ import annotations

import os
import shutil
import signal
import time
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
STALL_SECONDS = 600


def prepare(folder: Path, **accidents: int) -> str:
    """Say what shall happen how often; gives what comes first on the PYTHONPATH of workers.

    `middle`: killed while it packs; `end`: killed when its packfile is there, before it could tell;
    `stall`: as good as dead; `executor`: killed with its executor while it packs.
    """
    folder.mkdir()
    shutil.copy(__file__, folder / "sitecustomize.py")
    for name, count in accidents.items():
        for number in range(count):
            (folder / f"{name}.{number}").touch()
    return str(folder)


def left(folder: Path) -> list[str]:
    """Return the accidents that have not happened."""
    return sorted(path.name for path in folder.iterdir() if path.suffix[1:].isdigit())


def _happens(name: str) -> bool:
    for flag in HERE.glob(f"{name}.*"):
        try:
            flag.unlink()
        except FileNotFoundError:
            continue
        return True
    return False


def _install() -> None:
    from sdb.packfile.write.pack import Feeder
    from sdb.spark.bulk import attempt

    drain, packed = Feeder._drain, attempt.packed

    def draining(feeder: Feeder) -> None:
        drain(feeder)
        if _happens("stall"):
            time.sleep(STALL_SECONDS)
        if _happens("middle"):
            os.kill(os.getpid(), signal.SIGKILL)
        if _happens("executor"):
            daemon = Path(f"/proc/{os.getppid()}/stat").read_text()
            os.kill(int(daemon.rpartition(")")[2].split()[1]), signal.SIGKILL)
            time.sleep(STALL_SECONDS)

    def packing(*arguments: Any) -> object:
        result = packed(*arguments)
        if _happens("end"):
            os.kill(os.getpid(), signal.SIGKILL)
        return result

    Feeder._drain = draining  # type: ignore[method-assign]
    attempt.packed = packing  # type: ignore[assignment]


if __name__ == "sitecustomize":
    _install()
