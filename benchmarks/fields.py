"""Compares `fields --stats` and SNELLER_DATASHAPE with unpacking to /dev/null: time and memory.

All are whole processes. The aim is three times the time of `unpack --fmt ion`, in 256 MiB.
"""

from __future__ import annotations

import os
import subprocess
import time
from typing import TYPE_CHECKING

from run import SDB, settings, table

if TYPE_CHECKING:
    from pathlib import Path


def measured(command: list[str]) -> tuple[float, float]:
    """Run a command; give its seconds and the MiB that it took at most."""
    began = time.perf_counter()
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as process:
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{command} ends with {process.returncode}")
    return time.perf_counter() - began, usage.ru_maxrss / 1024


def bench(text: Path, folder: Path, rounds: int) -> None:
    packed = folder / "fields.zion"
    subprocess.run([SDB, "pack", "--force", "-o", packed, text], check=True)
    shape = f"SELECT SNELLER_DATASHAPE(*) FROM '{packed}'"
    commands = {
        "unpack --fmt ion": [SDB, "unpack", "--fmt", "ion", "-o", "/dev/null", "--force", packed],
        "fields --stats --json": [SDB, "fields", "--stats", "--json", packed],
        "SNELLER_DATASHAPE(*)": [SDB, "query", "--fmt", "json", shape],
    }
    actual: dict[str, list[tuple[float, float]]] = {name: [] for name in commands}
    for _ in range(rounds):
        for name, command in commands.items():
            actual[name].append(measured([str(part) for part in command]))
    packed.unlink()
    base = min(seconds for seconds, _ in actual["unpack --fmt ion"])
    rows = []
    for name, runs in actual.items():
        best, most = min(seconds for seconds, _ in runs), max(size for _, size in runs)
        rows.append([name, f"{best:.3f}", f"{best / base:.2f}", f"{most:.0f}"])
    title = f"Fields of {text.name}, best of {rounds}"
    table(title, ["", "s", "of unpack", "MiB at most"], rows)


def main() -> None:
    bench(*settings(__doc__, "200MB"))


if __name__ == "__main__":
    main()
