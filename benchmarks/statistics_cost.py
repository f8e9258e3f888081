"""Measures what block statistics cost: the time to pack, and the size of packfiles.

    python benchmarks/statistics_cost.py [--size 60MB] [--rounds 5]

Packs five kinds of data with `--stats off` and `--stats auto`, in turn and with one thread. What is
printed are medians of processor time in milliseconds, the median of the ratios within rounds, and
the sizes.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
from pathlib import Path

from paired import ROOT, Runs, texts


def main() -> None:
    """Measure."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--size", default="60MB", help="of each generated input")
    parser.add_argument("--rounds", type=int, default=5)
    asked = parser.parse_args()
    print(f"{f'{asked.rounds} rounds':12} {'off':>9} {'auto':>9} {'time':>7} {'size':>7}")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for kind, text in texts(folder, asked.size).items():
            runs = {stats: Runs(ROOT) for stats in ("off", "auto")}
            for _ in range(asked.rounds + 1):
                for stats, run in runs.items():
                    words = ["pack", "--force", "--progress", "off", "-j1", "--stats", stats]
                    run.run([*words, "-o", f"{stats}.zion", str(text)], folder)
            # The first round fills caches.
            off, auto = (run.milliseconds[1:] for run in runs.values())
            time = statistics.median(b / a for a, b in zip(off, auto, strict=True))
            sizes = [(folder / f"{stats}.zion").stat().st_size for stats in runs]
            medians = f"{statistics.median(off):9.1f} {statistics.median(auto):9.1f}"
            print(f"{kind:12} {medians} {time:7.3f} {sizes[1] / sizes[0]:7.4f}", flush=True)


if __name__ == "__main__":
    main()
