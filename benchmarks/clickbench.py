"""Compares queries of public benchmarks with DuckDB's on Parquet of the same rows.

    .venv/bin/python -m benchmarks.clickbench [--bench clickbench|tpch|jsonbench] [--size 200MB]
                                              [--rounds 3] [--only 28,29] [--folder FOLDER]

Each query runs in processes of its own, `sdb query` and DuckDB in turn, over files that the cache
of the system has; what counts is the processor time of the process, with its start and the
system's, in the round in which it was least, and the peak of its memory. Answers are compared, but
for ties. At the end stand the geometric mean and the worst of the ratios.

`--size` is the size of the rows as JSON; the aim's is 1GB. Files are made once in FOLDER.
"""

from __future__ import annotations

import argparse
import math
import os
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb

import sdb
from sdb import sizes
from tests.interop.public import clickbench, comparing, jsonbench, tpch

if TYPE_CHECKING:
    from collections.abc import Callable

    import pyarrow as pa

SDB = str(Path(sys.executable).parent / "sdb")
PEER = """
import sys, duckdb
connection = duckdb.connect(config={"threads": int(sys.argv[3])})
connection.execute("SET enable_progress_bar = false; SET TimeZone = 'UTC'")
for name in sys.argv[2].split(","):
    connection.execute(f"CREATE VIEW {name} AS SELECT * FROM '{sys.argv[1]}/{name}.parquet'")
connection.sql(sys.argv[4]).to_arrow_table()
"""
STARTER = """
import os, sys
null = os.open("/dev/null", os.O_WRONLY)
child = os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ,
                       file_actions=[(os.POSIX_SPAWN_DUP2, null, 1)])
_, status, usage = os.wait4(child, 0)
print(1000 * (usage.ru_utime + usage.ru_stime), usage.ru_maxrss / 1024)
sys.exit(os.waitstatus_to_exitcode(status))
"""
TPCH_BYTES = 2_300_000_000  # of scale 1, as JSON, about


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument(
        "--bench", choices=["clickbench", "tpch", "jsonbench"], default="clickbench"
    )
    parser.add_argument("--size", type=sizes.parse, default=sizes.parse("200MB"))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", help="numbers of queries, from 0 for ClickBench and 1 for others")
    parser.add_argument("--folder", type=Path, help="where files are kept for another run")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as scratch:
        folder = options.folder or Path(scratch)
        bench = Bench(options.bench, options.size, folder / f"{options.bench}-{options.size}")
        only = None if options.only is None else {int(number) for number in options.only.split(",")}
        bench.run(options.rounds, only)


class Bench:
    """The queries of one benchmark, and its tables as packfiles and as Parquet."""

    def __init__(self, name: str, size: int, folder: Path) -> None:
        self.folder = folder
        self.first = 0 if name == "clickbench" else 1
        if name == "clickbench":
            rows = size // clickbench.ROW_BYTES
            self.queries = clickbench.queries(rows)
            self.tables = ["hits"]
            self._make(lambda: {"hits": clickbench.table(rows)})
        elif name == "tpch":
            self.queries = tpch.queries()
            self.tables = list(tpch.tables(0))
            self._make(lambda: tpch.tables(size / TPCH_BYTES))
        else:
            self.queries = jsonbench.queries()
            self.tables = ["bluesky"]
            self._make_events(size // jsonbench.ROW_BYTES)

    def run(self, rounds: int, only: set[int] | None) -> None:
        """Compare the queries and print a line for each."""
        self._describe()
        with duckdb.connect() as engine:
            engine.execute("SET TimeZone = 'UTC'")
            for name in self.tables:
                path = self.folder / f"{name}.parquet"
                engine.execute(f"CREATE VIEW {name} AS SELECT * FROM '{path}'")
            print(f"{'query':>5} {'sdb ms':>8} {'DuckDB ms':>9} {'ratio':>6} {'MiB':>6} {'MiB':>6}")
            ratios, wrong = [], []
            for number, query in enumerate(self.queries, self.first):
                if only is None or number in only:
                    ours, theirs = self._race(query, rounds)
                    ratios.append(ours[0] / theirs[0])
                    if (difference := self._difference(engine, query)) is not None:
                        wrong.append(f"{number}: {difference}")
                    print(
                        f"{number:5} {ours[0]:8.0f} {theirs[0]:9.0f} {ratios[-1]:6.2f} "
                        f"{ours[1]:6.0f} {theirs[1]:6.0f}",
                        flush=True,
                    )
        mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
        print(f"geometric mean {mean:.2f}, worst {max(ratios):.2f}; {len(wrong)} wrong answers")
        if wrong:
            sys.exit("\n".join(wrong))

    def _difference(self, engine: duckdb.DuckDBPyConnection, query: str) -> str | None:
        return comparing.differences(engine, query, self.folder)

    def _race(self, query: str, rounds: int) -> tuple[tuple[float, float], tuple[float, float]]:
        """Return milliseconds and MiB of both; a first round fills the caches."""
        ours = [SDB, "query", "--root", str(self.folder), "--fmt", "json", query]
        threads = str(os.cpu_count())
        names = ",".join(self.tables)
        theirs = [sys.executable, "-c", PEER, str(self.folder), names, threads, query]
        runs = [(_run(ours), _run(theirs)) for _ in range(rounds + 1)][1:]
        return (
            (min(run[0] for run, _ in runs), max(run[1] for run, _ in runs)),
            (min(other[0] for _, other in runs), max(other[1] for _, other in runs)),
        )

    def _make(self, make: Callable[[], dict[str, pa.Table]]) -> None:
        if self.folder.exists():
            return
        self.folder.mkdir(parents=True)
        with duckdb.connect() as engine:
            for name, rows in make().items():
                engine.register("rows", rows)
                text, parquet = (self.folder / f"{name}.{suffix}" for suffix in ("json", "parquet"))
                engine.execute(f"COPY rows TO '{text}' (FORMAT json)")
                engine.execute(f"COPY rows TO '{parquet}' (FORMAT parquet, COMPRESSION zstd)")
                engine.unregister("rows")
                self._pack(name)

    def _make_events(self, rows: int) -> None:
        if self.folder.exists():
            return
        self.folder.mkdir(parents=True)
        text, parquet = (self.folder / f"bluesky.{suffix}" for suffix in ("json", "parquet"))
        with text.open("w") as file:
            file.writelines(f"{line}\n" for line in jsonbench.lines(rows))
        duckdb.sql(
            f"COPY (SELECT * FROM read_json('{text}')) TO '{parquet}'"
            " (FORMAT parquet, COMPRESSION zstd)"
        )
        self._pack("bluesky")

    def _pack(self, name: str) -> None:
        sdb.pack([self.folder / f"{name}.json"], self.folder / f"{name}.zion")

    def _describe(self) -> None:
        for name in self.tables:
            json, packed, parquet = (
                (self.folder / f"{name}.{suffix}").stat().st_size / 1e6
                for suffix in ("json", "zion", "parquet")
            )
            print(f"{name}: {json:.1f} MB of JSON, packfile {packed:.1f}, Parquet {parquet:.1f}")


def _run(command: list[str]) -> tuple[float, float]:
    """Run a command; return its milliseconds of processor time and the peak of its MiB."""
    # A small program starts it: the peak of a process counts what was there before its program.
    answer = subprocess.run(
        [sys.executable, "-S", "-c", STARTER, *command], capture_output=True, check=False
    )
    if answer.returncode:
        sys.exit(f"{command} failed:\n{answer.stderr.decode()}")
    milliseconds, mebibytes = answer.stdout.split()
    return float(milliseconds), float(mebibytes)


if __name__ == "__main__":
    main()
