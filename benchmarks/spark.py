"""Compares packing on Spark, on two processors of this machine, with `sdb pack -j2`."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING

from run import Contender, race, settings, table

if TYPE_CHECKING:
    from pathlib import Path

SDB = [sys.executable, "-m", "sdb"]
SESSION = """
from sdb.spark.session import session
with session.start("local[2]") as spark:
    spark.sparkContext.parallelize([0, 1], 2).map(str).collect()
"""


def bench(text: Path, folder: Path, rounds: int) -> None:
    target = folder / "spark"
    shutil.rmtree(target, ignore_errors=True)
    words = ["pack", "--force", str(text), "-o"]
    alone = [*SDB, *words, str(folder / "alone.zion"), "-j", "2"]
    spark = [*SDB, "spark", *words, str(target), "--master", "local[2]"]
    ours = Contender("sdb spark pack", spark)
    peers = [
        Contender("sdb pack -j2", alone),
        Contender(
            "a session alone, with a Python worker for each processor",
            [sys.executable, "-c", SESSION],
        ),
    ]
    race(rounds, ours, *peers)
    result = subprocess.run([*spark, "--json"], check=True, capture_output=True, text=True)
    tasks = json.loads(result.stdout)["packing_seconds"]
    limit = 1.3 * peers[0].median + peers[1].median
    rows = [[item.name, f"{item.median:.2f}"] for item in (ours, *peers)]
    rows += [["1.3 times sdb pack -j2, and that", f"{limit:.2f}"]]
    rows += [["of sdb spark pack: all tasks (one more run)", f"{tasks:.2f}"]]
    table(f"Packing {text.name} on Spark, {rounds} rounds", ["", "seconds"], rows)


def main() -> None:
    bench(*settings(__doc__, "1GB"))


if __name__ == "__main__":
    main()
