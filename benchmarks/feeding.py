"""Feeding tables: rates of inserts and syncs, each beside what the disk allows in the same run.

``python benchmarks/feeding.py [inserts] [FOLDER]`` measures in a folder of the disk that is meant.
"""

from __future__ import annotations

import os
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

import sdb

if TYPE_CHECKING:
    from collections.abc import Callable

ROW = {"at": "2026-11-01T00:00:00Z", "id": 1, "text": "a row of a table that grows"}
INSERTS = 400


def spent(work: Callable[[], object]) -> float:
    """Give how many seconds something takes."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def bare(folder: Path, name: str, data: bytes) -> None:
    """Write a file, flush it, and give it its name."""
    fd = os.open(folder / "new.tmp", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.write(fd, data)
    os.fsync(fd)
    os.close(fd)
    os.rename(folder / "new.tmp", folder / name)  # noqa: PTH104 - what a C program does


def inserts(folder: Path) -> None:
    """Compare inserts of a row with bare writes of the same bytes, in turn."""
    db = sdb.connect(folder)
    db.create("bench.rows", "in/*.json")
    table = folder / "db/bench/rows"
    ours, one, three = [], [], []
    db.append("bench.rows", [ROW])
    for number in range(INSERTS):
        ours.append(spent(lambda: db.append("bench.rows", [ROW])))
        index = (table / "index").read_bytes()
        packfile = b"x" * db.table("bench.rows").handle.index.inline[-1].size_bytes

        def write(number: int = number, index: bytes = index, packfile: bytes = packfile) -> None:
            bare(folder, f"packfile-{number}", packfile)
            bare(folder, f"version-{number}", index)
            bare(folder, "index", index)

        one.append(spent(lambda index=index: bare(folder, "index", index)))
        three.append(spent(write))
    print(f"{INSERTS} inserts of a row, the index has {len(index):,} bytes in the end")
    rate = 1 / statistics.median(ours)
    print(f"{'inserts':40} {rate:8.0f} a second")
    for name, floor in (("its three objects, bare", three), ("its index alone, bare", one)):
        most = 1 / statistics.median(floor)
        print(f"{name:40} {most:8.0f} a second: inserts reach {rate / most:.0%}")


BENCHMARKS = {"inserts": inserts}


def main() -> None:
    """Run one benchmark, or all."""
    asked = [word for word in sys.argv[1:] if word in BENCHMARKS] or list(BENCHMARKS)
    above = next((word for word in sys.argv[1:] if word not in BENCHMARKS), None)
    for name in asked:
        with tempfile.TemporaryDirectory(dir=above) as folder:
            BENCHMARKS[name](Path(folder))


if __name__ == "__main__":
    main()
