"""Measures mirrors: a full export beside DuckDB writing the same rows, and one of 1 % new rows.

    python benchmarks/exchange.py [--size 150MB] [--mode github] [--parts 8] [--rounds 3]

Processor time of whole processes, and seconds by the clock, medians over rounds that take turns.
DuckDB reads the rows from three places: the Parquet files of the mirror, a table of its own, which
is in memory when its clock starts, and the lines of JSON that the table was made of.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from run import GENERATOR, SDB, table

import sdb

COPY = "(FORMAT parquet, COMPRESSION zstd)"
DUCKDB = """
import resource, sys, time, duckdb
source, target, kind = sys.argv[1:]
connection = duckdb.connect(config={"threads": 2})
connection.sql("SET enable_progress_bar = false")
rows = {
    "parquet": f"read_parquet('{source}/*.parquet', union_by_name=true)",
    "json": f"read_json('{source}/*.json', union_by_name=true)",
    "memory": "rows",
}[kind]
if kind == "memory":
    connection.sql(
        f"CREATE TABLE rows AS SELECT * FROM read_parquet('{source}/*.parquet', union_by_name=true)"
    )
def used():
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime
start, before = time.perf_counter(), used()
connection.sql(f"COPY (SELECT * FROM {rows}) TO '{target}' (FORMAT parquet, COMPRESSION zstd)")
print(time.perf_counter() - start, used() - before)
"""


def ran(command: list[str], *, own_clock: bool = False) -> tuple[float, float]:
    """Run a program; seconds by the clock, and of the processor."""
    start = time.perf_counter()
    pipe = subprocess.PIPE if own_clock else subprocess.DEVNULL
    process = subprocess.Popen(command, stdout=pipe, stderr=subprocess.PIPE, text=True)
    said = process.stdout.read() if process.stdout else ""
    errors = process.stderr.read() if process.stderr else ""
    _, status, usage = os.wait4(process.pid, 0)
    if os.waitstatus_to_exitcode(status):
        sys.exit(f"{command} failed:\n{errors}")
    if own_clock:
        clock, processor = map(float, said.split())
        return clock, processor
    return time.perf_counter() - start, usage.ru_utime + usage.ru_stime


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", default="150MB")
    parser.add_argument("--mode", default="github")
    parser.add_argument("--parts", type=int, default=8)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    os.environ.setdefault("SNELLER_INDEX_KEY", "eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHg=")
    with tempfile.TemporaryDirectory() as name:
        measure(Path(name), options)


def measure(folder: Path, options: argparse.Namespace) -> None:
    whole = folder / "events.json"
    words = ["--mode", options.mode, "--bytes", options.size, "--seed", "1", "--out", str(whole)]
    subprocess.run([sys.executable, str(GENERATOR), *words], check=True)
    lines = whole.read_bytes().splitlines(keepends=True)
    parts = folder / "parts"
    parts.mkdir()
    lake = folder / "lake"
    lake.mkdir()
    db = sdb.connect(lake)
    db.create("web.t", "file://in/*.json")
    for number in range(options.parts):
        start, stop = (len(lines) * at // options.parts for at in (number, number + 1))
        some = lines[start:stop]
        (parts / f"{number}.json").write_bytes(b"".join(some))
        db.append("web.t", parts / f"{number}.json")
    few = folder / "few.json"
    few.write_bytes(b"".join(lines[::100]))
    whole.unlink()

    def full(target: Path) -> list[str]:
        shutil.rmtree(target, ignore_errors=True)
        words = ["export", "delta", "--quiet", "--root", str(lake), "web.t", str(target)]
        return [SDB, *words]

    taken: dict[str, list[tuple[float, float]]] = {}
    ran(full(folder / "m"))
    duckdb = [sys.executable, "-c", DUCKDB]
    for number in range(options.rounds + 1):
        done = {"sdb export delta": ran(full(folder / "m"))}
        for kind, source in (("parquet", folder / "m"), ("memory", folder / "m"), ("json", parts)):
            command = [*duckdb, str(source), str(folder / "x.parquet"), kind]
            done[f"DuckDB COPY, rows from {kind}"] = ran(command, own_clock=True)
        shutil.copytree(folder / "m", folder / "n", dirs_exist_ok=True)
        db.append("web.t", few)
        done["sdb export delta, 1 % new rows"] = ran(
            [SDB, "export", "delta", "--quiet", "--root", str(lake), "web.t", str(folder / "n")]
        )
        shutil.rmtree(folder / "n")
        db.table("web.t").restore(options.parts)
        for what, seconds in done.items():
            if number:
                taken.setdefault(what, []).append(seconds)
    packed = sum(path.stat().st_size for path in (lake / "db/web/t/data").rglob("*.zion"))
    parquet = sum(path.stat().st_size for path in (folder / "m").glob("*.parquet"))
    ours = taken["sdb export delta"]
    rows = []
    for what, seconds in taken.items():
        clock, processor = (statistics.median(second[at] for second in seconds) for at in (0, 1))
        ratios = [
            statistics.median(other[at] / own[at] for own, other in zip(ours, seconds, strict=True))
            for at in (0, 1)
        ]
        rows.append([what, f"{clock:.2f}", f"{processor:.2f}", *(f"{r:.3f}" for r in ratios)])
    head = ["", "s", "processor s", "of the full export's s", "of its processor s"]
    table(f"Mirrors: {len(lines):,} rows of {options.mode}, {options.parts} versions", head, rows)
    print(f"\npackfiles {packed:,} bytes, Parquet files {parquet:,} bytes")


if __name__ == "__main__":
    main()
