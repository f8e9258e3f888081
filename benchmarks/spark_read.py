"""Compares reading three columns of events with Spark: packfiles, zstd Parquet, lines of JSON.

Of packfiles also without the names of the columns, and by a query that `sdb` answers.

The packfile and the Parquet file are made from the lines of JSON, next to each other in a temporary
folder. One session, local[2]; the formats take turns, and the fastest round of each counts: wall
time, and processor time of the whole session with its Python workers.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from run import settings

import sdb
from sdb.spark import register
from sdb.spark.session import session

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import DataFrame, SparkSession

# Next to nothing is computed, so that the time is that of reading; Spark looks into each value.
QUERY = (
    "SELECT MIN(type), COUNT(actor.login), MAX(LENGTH(actor.login)), COUNT(created_at) FROM {view}"
)
FIELDS = "type,actor.login,created_at"


def processor_seconds() -> float:
    """Return the processor time of this process and of all processes below it, so far."""
    parents: dict[int, int] = {}
    ticks: dict[int, int] = {}
    for entry in os.scandir("/proc"):
        if entry.name.isdigit():
            try:
                fields = Path(entry.path, "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            parents[int(entry.name)] = int(fields[1])
            ticks[int(entry.name)] = sum(map(int, fields[11:15]))
    below = {os.getpid()}
    for _ in range(8):
        below |= {process for process, parent in parents.items() if parent in below}
    return sum(ticks[process] for process in below) / os.sysconf("SC_CLK_TCK")


def readers(spark: SparkSession, text: Path, packed: Path, parquet: Path) -> dict[str, DataFrame]:
    """Return what loads each format anew."""
    zion: Callable[[], DataFrame] = lambda: (  # noqa: E731
        spark.read.format("zion").option("fields", FIELDS).load(str(packed))
    )
    counts = (
        f"SELECT MIN(type) AS type, COUNT(actor.login) AS n, MAX(CHAR_LENGTH(actor.login)) AS m,"
        f" COUNT(created_at) AS t FROM read_file('{packed}')"
    )
    return {
        "zion": zion,
        "all columns": lambda: spark.read.format("zion").load(str(packed)),
        "query": lambda: spark.read.format("zion").option("query", counts).load(),
        "parquet": lambda: spark.read.parquet(str(parquet)),
        "json": lambda: spark.read.json(str(text)),
    }


def main() -> None:
    """Measure, and print a table."""
    text, _, rounds = settings(__doc__, "1GB")
    with tempfile.TemporaryDirectory() as folder:
        packed, parquet = Path(folder, "events.zion"), Path(folder, "events.parquet")
        sdb.pack([text], packed)
        spark = session.start("local[2]", conf={"spark.driver.memory": "4g"})
        register(spark)
        with sdb.open(packed) as pack:
            rows = pack.trailer.rows or 0
        spark.read.json(str(text)).write.option("compression", "zstd").parquet(str(parquet))
        results: dict[str, list[tuple[float, float]]] = {}
        answers = set()
        for _ in range(rounds):
            for name, load in readers(spark, text, packed, parquet).items():
                start, before = time.perf_counter(), processor_seconds()
                frame = load()
                frame.createOrReplaceTempView("v")
                asked = "SELECT * FROM v" if name == "query" else QUERY.format(view="v")
                answer = spark.sql(asked).collect()
                wall = time.perf_counter() - start
                results.setdefault(name, []).append((wall, processor_seconds() - before))
                answers.add(tuple(answer))
                print(f"{name:12} {wall:8.2f} s wall", file=sys.stderr)
        spark.stop()
    assert len(answers) == 1, answers
    print(f"{rows:,} rows, {text.stat().st_size:,} bytes of JSON, {rounds} rounds")
    best = {name: tuple(map(min, zip(*times, strict=True))) for name, times in results.items()}
    for name, (wall, processor) in best.items():
        against = best["zion"][0]
        print(f"{name:12} {wall:8.2f} s wall {processor:8.2f} s cpu {wall / against:6.2f} x zion")


if __name__ == "__main__":
    main()
