"""Compares `sdb grep -c` with `sdb unpack --fmt json | grep -c`, in processor time.

`without` is the same search by a pattern of the same meaning that asks what stands beside a match,
so that whole chunks and rows cannot be passed over before their values are looked at: what it takes
more is what the prefilter of `rust/zion/src/search` is worth, which only patterns have whose
matches begin with a text.
"""

from __future__ import annotations

import os
import shlex
import statistics
import subprocess
import sys
from typing import TYPE_CHECKING

from run import SDB, settings, table

if TYPE_CHECKING:
    from pathlib import Path

PATTERNS = {
    "in no row": "no such text anywhere",
    "in few rows": "refs/heads/release-1[0-9]",
    "in many rows": "https://api",
    "a class of letters, in no row": "[q-z]{4}#[0-9]{9}",
    "ignoring case, in no row": "(?i)no such text",
    "a value that repeats": "ForkEvent",
}
BESIDE = r"(?:\b|\B)"


def seconds(command: str) -> float:
    """Return the processor time of a command and of all that it starts."""
    process = subprocess.Popen(["sh", "-c", command], stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode > 1:  # 1: no row
        sys.exit(f"failed: {command}")
    return usage.ru_utime + usage.ru_stime


def bench(text: Path, folder: Path, rounds: int) -> None:
    packed = folder / "grep.zion"
    subprocess.run([SDB, "pack", "--force", "-o", str(packed), str(text)], check=True)
    rows = []
    for name, pattern in PATTERNS.items():
        unpack = f"{SDB} unpack --fmt json {packed} | LC_ALL=C grep -cP {shlex.quote(pattern)}"
        commands = {
            "grep": f"{SDB} grep -c {shlex.quote(pattern)} {packed}",
            "without": f"{SDB} grep -c {shlex.quote(pattern + BESIDE)} {packed}",
            "unpack": unpack,
        }
        actual: dict[str, list[float]] = {who: [] for who in commands}
        for number in range(rounds):
            order = list(commands)
            for who in order[number % 3 :] + order[: number % 3]:
                actual[who].append(seconds(commands[who]))
        pairs = list(zip(*actual.values(), strict=True))
        rows.append(
            [
                name,
                *(f"{statistics.median(times):.2f}" for times in actual.values()),
                f"{statistics.median(off / on for on, off, _ in pairs):.2f}",
                f"{statistics.median(peer / on for on, _, peer in pairs):.2f}",
            ]
        )
    head = ["", "sdb grep, s", "without, s", "unpack | grep, s", "without /", "unpack /"]
    title = f"Counting rows of {text.name}, {rounds} rounds; last columns: times `sdb grep`"
    table(title, head, rows)
    packed.unlink()


def main() -> None:
    bench(*settings(__doc__, "100MB"))


if __name__ == "__main__":
    main()
