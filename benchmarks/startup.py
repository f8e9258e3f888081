"""Compares what short commands cost in two checkouts, in turn.

    python benchmarks/startup.py BEFORE AFTER [ROUNDS]

BEFORE and AFTER are folders with a built package `sdb`. Each round runs each command once in each
of them, in an order that changes. What is printed are medians of processor time in milliseconds,
the median of the differences within rounds, and how far half of the differences are from it. Time
of the clock would depend on what else the machine does.
"""

from __future__ import annotations

import gzip
import os
import random
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
RUN = "from sdb.cli.main import main; main()"
COMMANDS = {
    "version": ["version"],
    "describe-file": ["describe-file", "events.zion"],
    "head": ["head", "-n", "3", "events.zion"],
    "pack": ["pack", "--force", "-o", "x.zion", "events.json"],
    "query": ["query", "SELECT type, COUNT(*) AS n FROM 'events.zion' GROUP BY type"],
}


def cost_ms(checkout: Path, words: list[str], folder: Path) -> float:
    """Give the processor time of one run, the system's included."""
    process = subprocess.Popen(
        [sys.executable, "-c", RUN, *words],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(checkout)},
        stdout=subprocess.DEVNULL,
    )
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{words} ended with exit code {process.returncode}")
    return 1000 * (usage.ru_utime + usage.ru_stime)


def compare(before: Path, after: Path, rounds: int) -> None:
    """Print a line for each command."""
    dice = random.Random(1)  # noqa: S311 - no secret
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        text = gzip.decompress((ROOT / "testdata/gh2015_1k.json.gz").read_bytes())
        (folder / "events.json").write_bytes(text)
        cost_ms(after, ["pack", "-o", "events.zion", "events.json"], folder)
        print(f"{'command':14} {'before':>8} {'after':>8} {'change':>8}   ms, {rounds} rounds")
        for command, words in COMMANDS.items():
            found: dict[Path, list[float]] = {before: [], after: []}
            for number in range(rounds + 1):
                for checkout in dice.sample([before, after], 2):
                    took = cost_ms(checkout, words, folder)
                    if number:  # the first round fills caches
                        found[checkout].append(took)
            one, other = found[before], found[after]
            changes = [b - a for a, b in zip(one, other, strict=True)]
            middle = statistics.median(changes)
            spread = statistics.median(abs(change - middle) for change in changes)
            medians = f"{statistics.median(one):8.1f} {statistics.median(other):8.1f}"
            print(f"{command:14} {medians} {middle:+8.1f}   +-{spread:.1f}")


if __name__ == "__main__":
    compare(Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]) if len(sys.argv) > 3 else 30)
