"""Compares DELETE and UPDATE of one row with DuckDB, which writes a Parquet file again.

Whole processes, in turn; ``python benchmarks/writes.py --size 1GB`` packs generated events into a
table, and has the same rows as Parquet with zstd.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from typing import TYPE_CHECKING

from run import SDB, settings, table

if TYPE_CHECKING:
    from pathlib import Path

PEER = """
import duckdb, os, sys
source, target, condition, change = sys.argv[1:]
rows = f"SELECT * FROM '{source}' WHERE NOT ({condition}) IS TRUE"
if change:
    new = f"CASE WHEN {condition} THEN 'x' ELSE type END AS type"
    rows = f"SELECT * REPLACE ({new}) FROM '{source}'"
duckdb.sql(f"COPY ({rows}) TO '{target}.new' (FORMAT parquet, COMPRESSION zstd)")
os.replace(target + '.new', target)
"""


def seconds(command: list[str]) -> tuple[float, str]:
    began = time.perf_counter()
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return time.perf_counter() - began, done.stdout


def bench(text: Path, folder: Path, rounds: int) -> None:
    lake, parquet = folder / "lake", folder / "gh.parquet"
    shutil.rmtree(lake, ignore_errors=True)
    execute = [SDB, "exec", "--root", str(lake), "--json"]
    lake.mkdir()
    seconds([*execute, "CREATE TABLE a.t"])
    seconds([SDB, "insert", "--root", str(lake), "a.t", str(text)])
    load = f"COPY (SELECT * FROM '{text}') TO '{parquet}' (FORMAT parquet, COMPRESSION zstd)"
    seconds([sys.executable, "-c", f"import duckdb; duckdb.sql({load!r})"])
    query = f"SELECT id, created_at FROM a.t LIMIT 1 OFFSET {text.stat().st_size // 5000}"
    _, answer = seconds([SDB, "query", "--root", str(lake), "--fmt", "json", query])
    row = json.loads(answer)
    ours = f"created_at = `{row['created_at']}` AND id = '{row['id']}'"
    theirs = f"created_at = '{row['created_at']}' AND id = '{row['id']}'"
    results = []
    for name, statement, change in (
        ("delete", f"DELETE FROM a.t WHERE {ours}", ""),
        ("update", f"UPDATE a.t SET type = 'x' WHERE {ours}", "x"),
    ):
        mine, peers, written = [], [], 0.0
        for number in range(rounds):
            copy = folder / f"lake{number}"
            shutil.copytree(lake, copy)
            spent, reported = seconds([SDB, "exec", "--root", str(copy), "--json", statement])
            (effect,) = json.loads(reported)[0]["statements"]
            assert effect["blocks_rewritten"] == 1, effect
            written = effect["written_bytes"] / (effect["written_bytes"] + effect["copied_bytes"])
            mine.append(spent)
            shutil.rmtree(copy)
            target = folder / "new.parquet"
            peer = [sys.executable, "-c", PEER, str(parquet), str(target), theirs, change]
            peers.append(seconds(peer)[0])
        times = [f"{min(mine):.2f}", f"{min(peers):.2f}", f"{min(peers) / min(mine):.1f}"]
        results.append([name, *times, f"{written:.1%}"])
    head = ["statement", "sdb s", "duckdb s", "times as fast", "bytes written again"]
    table("One row", head, results)


if __name__ == "__main__":
    os.environ.setdefault("SNELLER_INDEX_KEY", "azAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDA=")
    bench(*settings(__doc__, "1GB"))
