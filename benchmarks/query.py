"""Compares `sdb query` with Python and DuckDB on Parquet and on NDJSON, as whole processes.

What a scan takes in process is compared with what cannot be avoided, see `buckets.py`.
"""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

from buckets import bench_buckets
from run import SDB, Contender, race, settings, table

if TYPE_CHECKING:
    from pathlib import Path

PEER = """
import sys, duckdb
connection = duckdb.connect(config={"threads": 2})
connection.sql("SET enable_progress_bar = false")
connection.sql(sys.argv[1]).materialize()
"""
PARQUET = """
import sys, duckdb
duckdb.sql(f"COPY (SELECT * FROM read_json('{sys.argv[1]}')) TO '{sys.argv[2]}'"
           " (FORMAT parquet, COMPRESSION zstd)")
"""
# Of the 19.6 hours of 1 GB; `{}` is the table.
WINDOW = "created_at >= {t}2015-01-01T10:00:00Z{t} AND created_at < {t}2015-01-01T"
ONE_PERCENT = WINDOW + "10:12:00Z{t}"
TEN_PERCENT = WINDOW + "12:00:00Z{t}"
QUERIES = {
    "COUNT(*)": "SELECT COUNT(*) FROM {}",
    "count in a 1 % window": f"SELECT COUNT(*) FROM {{}} WHERE {ONE_PERCENT}",
    "count in a 10 % window": f"SELECT COUNT(*) FROM {{}} WHERE {TEN_PERCENT}",
    "group by type": "SELECT type, COUNT(*) AS n FROM {} GROUP BY type",
    "filter on a nested path": "SELECT COUNT(*) FROM {} WHERE actor.login = 'ken'",
    "sum of a nested number": "SELECT SUM(actor.id) FROM {}",
    "SELECT * LIMIT 10": "SELECT * FROM {} LIMIT 10",
    # Of 1 GB: 2.0 s of CPU time when all rows were made and sorted, 0.12 s since only these are.
    "latest 10 rows": "SELECT * FROM {} ORDER BY created_at DESC LIMIT 10",
    # 1.6 s before, 0.17 s since; no index helps.
    "first 10 by a number": "SELECT type, payload FROM {} ORDER BY actor.id LIMIT 10",
}


def bench(text: Path, folder: Path, rounds: int) -> None:
    packed, parquet = folder / f"{text.stem}.query.zion", folder / f"{text.stem}.query.parquet"
    subprocess.run([SDB, "pack", "-q", "--force", "-o", str(packed), str(text)], check=True)
    if not parquet.exists():
        subprocess.run([sys.executable, "-c", PARQUET, str(text), str(parquet)], check=True)
    rows = []
    for name, query in QUERIES.items():
        tables = {"sdb": packed, "parquet": parquet, "NDJSON": text}
        texts = {
            who: query.replace("{t}", "`" if who == "sdb" else "'").replace("{}", f"'{path}'")
            for who, path in tables.items()
        }
        ours = Contender("sdb", [SDB, "query", "--fmt", "json", texts["sdb"]])
        peers = [
            Contender(who, [sys.executable, "-c", PEER, texts[who]])
            for who in ("parquet", "NDJSON")
        ]
        race(rounds, ours, *peers)
        times = [f"{contender.median:.3f}" for contender in (ours, *peers)]
        ratios = [f"{ours.times_as_fast_as(peer):.2f}" for peer in peers]
        rows.append([name, *times, *ratios, f"{ours.peak_bytes / 2**20:.0f}"])
    head = ["", "sdb, s", "on Parquet, s", "on NDJSON, s", "times Parquet", "times NDJSON", "MiB"]
    table(f"Queries on {text.name}, whole processes, {rounds} rounds", head, rows)
    bench_buckets(packed, 5 * rounds)


def main() -> None:
    bench(*settings(__doc__, "100MB"))


if __name__ == "__main__":
    main()
