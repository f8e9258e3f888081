"""Clustering: what it takes to sort a table, and what an equality reads before and after.

    python benchmarks/clustering.py [--megabytes 300] [--packfiles 8] [--block-size 50MiB]
    python benchmarks/clustering.py --packfiles 4 --spark 'local[2]'
    python benchmarks/clustering.py --orders

Rows are events in the order of time, of users some of whom have many. The table is compacted, and
others like it are compacted and sorted. `--spark` compares one machine with Spark: fewer than
eight packfiles are not merged, and each is sorted by itself. `--orders` compares ways to sort by
several keys, of points at random: cuts as we make them, Z order and Hilbert's curve.
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

import sdb
from sdb import bounds
from sdb.packfile.prune.predicate import Compare
from sdb.packfile.rewrite.cuts import choose_cuts
from sdb.spark.bulk.compact import compact_on_spark
from sdb.spark.session import session
from sdb.table.catalog.root import table_root
from sdb.table.inspect.selectivity import table_sharpness
from sdb.table.maintenance.compact import compact_table
from sdb.table.packfiles.lazy import OpenObjects, TablePackfile

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    Points = NDArray[np.int64]

ROW_BYTES = 300
USERS = 20_000
WORDS = ("alpha", "bravo", "charlie", "delta", "echo", "foxtrot", "golf", "hotel", "india")
BITS = 10
NAMES = {"d.plain": "", "d.sorted": "user", "d.both": "user,time"}


def lines(count: int, part: int, parts: int) -> Iterator[str]:
    """Make a part of the events."""
    rng = random.Random(part)  # noqa: S311 - the same each time
    for number in range(count * part // parts, count * (part + 1) // parts):
        second = number * 28 * 86_400 // count
        row = {
            "time": f"2026-01-{1 + second // 86_400:02}T{second // 3600 % 24:02}:"
            f"{second // 60 % 60:02}:{second % 60:02}Z",
            "user": f"user-{int(rng.paretovariate(0.7)) % USERS:06}",
            "ip": ".".join(str(rng.randrange(256)) for _ in range(4)),
            "status": rng.choice([200, 200, 404, 500]),
            "message": " ".join(rng.choices(WORDS, k=12)),
            "request": {"id": f"{rng.getrandbits(128):032x}", "path": f"/v1/{rng.randrange(9999)}"},
        }
        yield json.dumps(row) + "\n"


def tables(
    folder: Path, megabytes: int, packfiles: int, block_bytes: int, names: Iterable[str] = NAMES
) -> None:
    """Fill tables with the same packfiles."""
    db = sdb.connect(folder)
    rows = folder / "rows.json"
    for name in names:
        db.create(name, "in/*.json")
    for part in range(packfiles):
        with rows.open("w") as file:
            file.writelines(lines(megabytes * 1_000_000 // ROW_BYTES, part, packfiles))
        for name in names:
            db.append(name, rows, block_bytes=block_bytes)
    rows.unlink()


def run(folder: Path, *words: str) -> float:
    """Run a command, and give its time."""
    started = time.perf_counter()
    command = [sys.executable, "-m", "sdb.cli.main", "--root", str(folder), *words]
    subprocess.run(command, check=True)
    return time.perf_counter() - started


def read(folder: Path, name: str, user: str) -> str:
    """Print how many blocks, and bytes of them, an equality reads."""
    handle = sdb.connect(folder).table(name).handle
    blocks = size = count = whole = 0
    for descriptor in handle.descriptors():
        pack = TablePackfile(handle.root, descriptor.checked(), OpenObjects())
        for start, stop in pack.pruned(Compare(("user",), "=", user)):
            for number in range(start, stop):
                first, end = pack.trailer.block_range(number)
                blocks, size = blocks + 1, size + end - first
        count, whole = count + len(pack.blocks), whole + pack.trailer.offset
    return f"{blocks} of {count} blocks, {size / whole:.1%} of the bytes"


def hilbert(points: Points) -> Points:
    """Return the positions of points on Hilbert's curve (after J. Skilling, 2004)."""
    x = points.T.copy()
    bit = 1 << (BITS - 1)
    while bit > 1:
        low = bit - 1
        for at in range(len(x)):
            is_set = (x[at] & bit) > 0
            swapped = np.where(is_set, 0, (x[0] ^ x[at]) & low)
            x[0] ^= np.where(is_set, low, swapped)
            x[at] ^= swapped
        bit >>= 1
    for at in range(1, len(x)):
        x[at] ^= x[at - 1]
    flips = np.zeros_like(x[0])
    bit = 1 << (BITS - 1)
    while bit > 1:
        flips ^= np.where((x[-1] & bit) > 0, bit - 1, 0)
        bit >>= 1
    return z_order((x ^ flips).T)


def z_order(points: Points) -> Points:
    """Return the positions of points in Z order."""
    code = np.zeros(len(points), np.int64)
    for bit in reversed(range(BITS)):
        for at in range(points.shape[1]):
            code = code << 1 | (points[:, at] >> bit & 1)
    return code


def share(points: Points, parts: Sequence[NDArray[np.int64]]) -> float:
    """Return the share of parts that may have a value of a point, on average."""
    lows = np.array([points[part].min(0) for part in parts])
    highs = np.array([points[part].max(0) for part in parts])
    probes = points[:500, None, :]
    return float(((lows <= probes) & (probes <= highs)).mean())


def orders() -> None:
    """Compare ways to sort by several keys."""
    for keys, count in ((2, 20), (2, 100), (3, 100), (4, 100), (4, 400)):
        points = np.random.default_rng(1).integers(0, 1 << BITS, (40_000, keys))
        results = {}
        for name, code in (("Z", z_order(points)), ("Hilbert", hilbert(points))):
            results[name] = share(points, np.array_split(np.argsort(code, kind="stable"), count))
        rows = [tuple(int(item).to_bytes(2, "big") for item in point) for point in points]
        cuts = choose_cuts(tuple((str(at),) for at in range(keys)), rows, count)
        places: list[list[int]] = [[] for _ in range(cuts.parts)]
        for number, row in enumerate(rows):
            at = 0
            while at >= 0:
                path, least, below, above = cuts.cuts[at]
                at = below if row[path] < least else above
            places[~at].append(number)
        results["cuts"] = share(points, [np.array(location) for location in places])
        text = ", ".join(f"{name} {item:.1%}" for name, item in results.items())
        print(f"{keys} keys, {count} blocks: an equality reads {text}")


def on_spark(folder: Path, master: str) -> None:
    """Compare sorting by this program with that on Spark, once it runs."""
    root = table_root(folder)
    began = time.perf_counter()
    context = session.start_context(master)
    context.parallelize(range(64), 8).map(lambda _: sdb.__name__).collect()
    started = time.perf_counter()
    compact_on_spark(root, "d", "spark", cluster_by=["user"])
    there = time.perf_counter() - started
    context.stop()
    stopped = time.perf_counter()
    compact_table(root, "d", "sorted", cluster_by=["user"])
    here = time.perf_counter() - stopped
    print(f"sorted here: {here:.1f} s; on {master}: {there:.1f} s, {there / here:.2f} of that,")
    print(f"and {started - began:.1f} s to start Spark")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--megabytes", type=int, default=300)
    parser.add_argument("--packfiles", type=int, default=8)
    parser.add_argument("--block-size", type=bounds.BLOCK.read, default=50 << 20)
    parser.add_argument("--spark", metavar="MASTER")
    parser.add_argument("--orders", action="store_true")
    arguments = parser.parse_args()
    if arguments.orders:
        orders()
        return
    with tempfile.TemporaryDirectory() as location:
        folder = Path(location)
        sizes = arguments.megabytes, arguments.packfiles, arguments.block_size
        if arguments.spark:
            tables(folder, *sizes, ("d.sorted", "d.spark"))
            on_spark(folder, arguments.spark)
            return
        tables(folder, *sizes)
        print(f"equality of a user, before: {read(folder, 'd.plain', 'user-000007')}")
        for name, by in NAMES.items():
            seconds = run(folder, "compact", *(["--cluster-by", by] if by else []), name)
            peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss >> 10
            what = f"sorted by {by}" if by else "compacted"
            print(f"{what}: {seconds:.1f} s, {peak} MiB of memory")
            print(f"equality of a user: {read(folder, name, 'user-000007')}")
            actual = table_sharpness(sdb.connect(folder).table(name).handle)
            reported = {item.name: item for item in actual.paths}
            for path in ("user", "time"):
                print(f"expected for any {path}: {reported[path].read:.1%}")


if __name__ == "__main__":
    main()
