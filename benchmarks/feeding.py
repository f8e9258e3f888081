"""Feeding tables: rates of inserts and syncs, each beside what the disk allows in the same run.

``python benchmarks/feeding.py [inserts] [group] [known] [queue] [FOLDER]`` measures in
a folder of that disk.
"""

from __future__ import annotations

import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

import sdb

if TYPE_CHECKING:
    from collections.abc import Callable

INSERTS = 400
THREADS = 64
SECONDS = 5.0
INPUTS = 100_000
MESSAGES = 20_000


def row(number: int) -> dict[str, object]:
    """Return a row."""
    return {"at": "2026-11-01T00:00:00Z", "id": number, "text": "a row of a table that grows"}


def spent(work: Callable[[], object]) -> float:
    """Return how many seconds something takes."""
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
    ours, items, three = [], [], []
    db.append("bench.rows", [row(0)])
    for number in range(INSERTS):
        rows = [row(number)]
        ours.append(spent(lambda rows=rows: db.append("bench.rows", rows)))
        index = (table / "index").read_bytes()
        packfile = b"x" * db.table("bench.rows").handle.index.inline[-1].size_bytes

        def write(number: int = number, index: bytes = index, packfile: bytes = packfile) -> None:
            bare(folder, f"packfile-{number}", packfile)
            bare(folder, f"version-{number}", index)
            bare(folder, "index", index)

        items.append(spent(lambda index=index: bare(folder, "index", index)))
        three.append(spent(write))
    print(f"{INSERTS} inserts of a row, the index has {len(index):,} bytes in the end")
    rate = 1 / statistics.median(ours)
    print(f"{'inserts':40} {rate:8.0f} a second")
    for name, floor in (("its three objects, bare", three), ("its index alone, bare", items)):
        most = 1 / statistics.median(floor)
        print(f"{name:40} {most:8.0f} a second: inserts reach {rate / most:.0%}")


def group(folder: Path) -> None:
    """Append from many threads at the same time."""
    db = sdb.connect(folder)
    db.create("bench.rows", "in/*.json")
    until = time.monotonic() + SECONDS

    def work(number: int) -> int:
        done = 0
        while time.monotonic() < until:
            db.append("bench.rows", [row(number)])
            done += 1
        return done

    start = time.perf_counter()
    with ThreadPoolExecutor(THREADS) as pool:
        done = sum(pool.map(work, range(THREADS)))
    seconds = time.perf_counter() - start
    version = db.table("bench.rows").version or 0
    print(f"{THREADS} threads: {done / seconds:.0f} appends a second", end=", ")
    print(f"{version / seconds:.1f} commits a second")


def known(folder: Path) -> None:
    """Sync a table that knows all of its many inputs, by the command."""
    root, cache = folder / "lake", str(folder / "cache")
    (root / "in").mkdir(parents=True)
    for number in range(INPUTS):
        (root / f"in/{number:06}.json").write_text(f'{{"n": {number}}}\n')
    sdb.connect(root).create("bench.rows", "in/*.json")
    time.sleep(3)  # the ETags of files that are young are not kept
    command = [sys.executable, "-m", "sdb.cli.main", "sync", "--root", str(root), "bench"]

    def sync() -> None:
        subprocess.run(command, check=True, env={**os.environ, "SDB_CACHE": cache})

    print(f"{INPUTS:,} inputs: first sync {spent(sync):.2f} s", end=", ")
    print(f"nothing new {min(spent(sync) for _ in range(3)):.2f} s")


def queue(folder: Path) -> None:
    """Take inputs that messages of a folder name, and those that a sync lists, by the command."""
    command = [sys.executable, "-m", "sdb.cli.main", "sync", "--root"]

    def prepare(name: str) -> Path:
        root = folder / name
        (root / "in").mkdir(parents=True)
        for number in range(MESSAGES):
            (root / f"in/{number:06}.json").write_text(f'{{"n": {number}}}\n')
        sdb.connect(root).create("bench.rows", "in/*.json")
        return root

    def follow(root: Path) -> None:
        asked = [*command, str(root), "--queue", str(folder / "queue"), "--interval", "1s"]
        left = MESSAGES
        with subprocess.Popen([*asked, "--json", "bench"], stdout=subprocess.PIPE) as process:
            while left and process.stdout is not None:
                left -= len(json.loads(process.stdout.readline()).get("taken", []))
            process.terminate()

    listed, named = prepare("listed"), prepare("named")
    (folder / "queue").mkdir()
    for number in range(MESSAGES):
        message = f'{{"uri": "file://in/{number:06}.json"}}'
        (folder / f"queue/{number:06}.json").write_text(message)
    for name, work in (
        (
            "a sync of this many",
            lambda: subprocess.run([*command, str(listed), "bench"], check=True),
        ),
        ("all messages worked on", lambda: follow(named)),
    ):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        seconds = spent(work)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        print(f"{MESSAGES:,} inputs: {name} {seconds:.1f} s, {used:.1f} s of the processor")


BENCHMARKS = {"inserts": inserts, "group": group, "known": known, "queue": queue}


def main() -> None:
    """Run one benchmark, or all."""
    asked = [word for word in sys.argv[1:] if word in BENCHMARKS] or list(BENCHMARKS)
    above = next((word for word in sys.argv[1:] if word not in BENCHMARKS), None)
    for name in asked:
        with tempfile.TemporaryDirectory(dir=above) as folder:
            BENCHMARKS[name](Path(folder))


if __name__ == "__main__":
    main()
