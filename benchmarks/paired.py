"""Compares two checkouts, in turn: short commands, and work on several kinds of data.

    python benchmarks/paired.py BEFORE AFTER [--rounds 20] [--only short|work] [--size 50MB]
                                              [--match pack]

BEFORE and AFTER are folders with a built package `sdb`. Each round runs each command once in each
of them, in an order that changes. What is printed are medians of processor time in milliseconds
(the clock would show what else the machine does), the median of the ratios within rounds, how far
half of the ratios are from it, and the peak memory. Both read the packfiles that BEFORE has made.
"""

from __future__ import annotations

import argparse
import gzip
import os
import random
import statistics
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
GENERATOR = Path(os.environ.get("SDB_GENERATOR", ROOT / "../shared/tools/gen_events.py"))
SAMPLES = Path(os.environ.get("SDB_SAMPLES", ROOT / "../shared/data"))
RUN = "from sdb.cli.main import main; main()"
SHORT = {
    "version": ["version"],
    "describe-file": ["describe-file", "events.zion"],
    "head": ["head", "-n", "3", "events.zion"],
    "pack": ["pack", "--force", "-o", "x.zion", "events.json"],
    "query": ["query", "SELECT type, COUNT(*) AS n FROM 'events.zion' GROUP BY type"],
}
GENERATED = ("github", "cloudtrail", "logs")
REPEATED = {"windows": "winevents_sample", "access": "nginxplus"}
QUERIES = {
    "github": {
        "filter": "SELECT COUNT(*) FROM {} WHERE actor.login = 'ken'",
        "group": "SELECT type, COUNT(*) AS n FROM {} GROUP BY type",
        "sum": "SELECT SUM(actor.id) FROM {}",
        "sort": "SELECT type, payload FROM {} ORDER BY actor.id LIMIT 10",
        "engine": "SELECT type, actor.login, COUNT(DISTINCT repo.id) AS n FROM {} "
        "GROUP BY type, actor.login ORDER BY n DESC LIMIT 10",
    },
    "cloudtrail": {
        "filter": "SELECT COUNT(*) FROM {} WHERE eventName = 'AssumeRole'",
        "group": "SELECT eventSource, COUNT(*) AS n FROM {} GROUP BY eventSource",
        "rows": "SELECT * FROM {} WHERE errorCode = 'AccessDenied'",
    },
}


def compiled() -> dict[str, str]:
    """Return an environment in which modules stay compiled, as those of installed packages do."""
    return {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}


@dataclass(slots=True)
class Runs:
    """What the runs of one command in one checkout took."""

    checkout: Path
    milliseconds: list[float] = field(default_factory=list)
    peak_bytes: int = 0

    def run(self, words: list[str], folder: Path) -> None:
        """Run it once: the processor time, the system's included, and the peak memory."""
        process = subprocess.Popen(
            [sys.executable, "-c", RUN, *words],
            cwd=folder,
            env=compiled() | {"PYTHONPATH": str(self.checkout)},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert process.stderr is not None
        errors = process.stderr.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            sys.exit(f"{words} in {self.checkout} ended with {process.returncode}: {errors}")
        self.milliseconds.append(1000 * (usage.ru_utime + usage.ru_stime))
        self.peak_bytes = max(self.peak_bytes, usage.ru_maxrss * 1024)


def compare(
    name: str, words: list[str], checkouts: tuple[Path, Path], folder: Path, rounds: int
) -> None:
    """Print the line of a command."""
    dice = random.Random(1)  # noqa: S311 - no secret
    before, after = (Runs(checkout) for checkout in checkouts)
    for _ in range(rounds + 1):
        for runs in dice.sample([before, after], 2):
            runs.run(words, folder)
    # The first round fills caches.
    pairs = list(zip(before.milliseconds[1:], after.milliseconds[1:], strict=True))
    ratios = [b / a for a, b in pairs]
    middle = statistics.median(ratios)
    spread = statistics.median(abs(ratio - middle) for ratio in ratios)
    item, other = (statistics.median(side) for side in zip(*pairs, strict=True))
    change = statistics.median(b - a for a, b in pairs)
    peaks = f"{before.peak_bytes >> 20:6} {after.peak_bytes >> 20:6}"
    print(
        f"{name:28} {item:9.1f} {other:9.1f} {change:+8.1f} {middle:7.3f} +-{spread:.3f} {peaks}",
        flush=True,
    )


def texts(folder: Path, size: str) -> dict[str, Path]:
    """Make the inputs: generated events, and real samples repeated up to 20 MB."""
    made = {}
    for mode in GENERATED:
        made[mode] = folder / f"{mode}.json"
        words = ["--mode", mode, "--bytes", size, "--seed", "1", "--out", str(made[mode])]
        subprocess.run([sys.executable, str(GENERATOR), *words], check=True)
    for name, sample in REPEATED.items():
        text = gzip.decompress((SAMPLES / f"{sample}.json.gz").read_bytes())
        made[name] = folder / f"{name}.json"
        made[name].write_bytes(text * (1 + 20_000_000 // len(text)))
    return made


def short(checkouts: tuple[Path, Path], folder: Path, rounds: int) -> None:
    """Compare commands that take no longer than their start."""
    text = gzip.decompress((ROOT / "testdata/gh2015_1k.json.gz").read_bytes())
    (folder / "events.json").write_bytes(text)
    Runs(checkouts[0]).run(["pack", "-o", "events.zion", "events.json"], folder)
    for name, words in SHORT.items():
        compare(name, words, checkouts, folder, rounds)


def work(checkouts: tuple[Path, Path], folder: Path, rounds: int, size: str, match: str) -> None:
    """Compare packing, unpacking and queries."""
    for name, text in texts(folder, size).items():
        packed = f"{name}.zion"
        pack = ["pack", "--force", "--progress", "off", "-o"]
        Runs(checkouts[0]).run([*pack, packed, str(text)], folder)
        commands = {"pack -j1": [*pack, "again.zion", "-j1", str(text)]}
        commands["pack -j2"] = [*pack, "again.zion", "-j2", str(text)]
        commands["append"] = ["append", "--force", "-o", "again.zion", packed, str(text)]
        for fmt in ("json", "ion"):
            commands[f"unpack {fmt}"] = [
                "unpack",
                "--fmt",
                fmt,
                "--force",
                "-o",
                "/dev/null",
                packed,
            ]
        for label, query in QUERIES.get(name, {}).items():
            asked = query.format(f"'{packed}'")
            commands[f"query {label}"] = ["query", "--fmt", "json", asked]
        for label, words in commands.items():
            if match in label:
                compare(f"{name} {label}", words, checkouts, folder, rounds)


def main() -> None:
    """Compare what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("before", type=Path)
    parser.add_argument("after", type=Path)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--only", choices=["short", "work"])
    parser.add_argument("--size", default="50MB", help="of each generated input")
    parser.add_argument("--match", default="", help="only work with this in its name")
    asked = parser.parse_args()
    checkouts = (asked.before.resolve(), asked.after.resolve())
    head = f"{'before':>9} {'after':>9} {'change':>8} {'ratio':>7} {'':7} {'MiB':>6} {'MiB':>6}"
    print(f"{f'{asked.rounds} rounds, ms of processor':28} {head}")
    with tempfile.TemporaryDirectory() as name:
        if asked.only != "work":
            short(checkouts, Path(name), asked.rounds)
        if asked.only != "short":
            work(checkouts, Path(name), asked.rounds, asked.size, asked.match)


if __name__ == "__main__":
    main()
