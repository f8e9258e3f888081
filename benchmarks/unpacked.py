"""Compares queries on NDJSON that is not packed with DuckDB's, as whole processes.

`first` is a file that was written just now and an empty cache; `second` the same file once more,
whose content is compared; `later` a file that is more than a minute old.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from typing import TYPE_CHECKING

from query import PEER
from run import SDB, settings, table

if TYPE_CHECKING:
    from pathlib import Path

QUERIES = {
    "COUNT(*)": "SELECT COUNT(*) FROM '{}'",
    "group by type": "SELECT type, COUNT(*) AS n FROM '{}' GROUP BY type",
    "filter on a nested path": "SELECT COUNT(*) FROM '{}' WHERE actor.login = 'ken'",
}
SETTLED_SECONDS = 61


def seconds(command: list[str]) -> float:
    began = time.perf_counter()
    subprocess.run(command, check=True, capture_output=True)
    return time.perf_counter() - began


def bench(text: Path, folder: Path, rounds: int) -> None:
    cache = folder / "cache"
    os.environ["SDB_CACHE"] = str(cache)
    copy = folder / "unpacked.json"
    rows = []
    for name, query in QUERIES.items():
        actual: dict[str, list[float]] = {"first": [], "second": [], "later": [], "duckdb": []}
        ours = [SDB, "query", "--fmt", "json", query.format(copy)]
        peer = [sys.executable, "-c", PEER, query.format(copy)]
        for _ in range(rounds):
            shutil.rmtree(cache, ignore_errors=True)
            shutil.copyfile(text, copy)
            actual["duckdb"].append(seconds(peer))
            actual["first"].append(seconds(ours))
            actual["second"].append(seconds(ours))
        time.sleep(SETTLED_SECONDS)
        seconds(ours)  # becomes one that is known by its times
        actual["later"] += [seconds(ours) for _ in range(rounds)]
        best = {who: min(times) for who, times in actual.items()}
        ratios = [f"{best[who] / best['duckdb']:.2f}" for who in ("first", "second", "later")]
        rows.append([name, *(f"{best[who]:.3f}" for who in actual), *ratios])
    copy.unlink()
    shutil.rmtree(cache, ignore_errors=True)
    head = [
        "",
        "first, s",
        "second, s",
        "later, s",
        "DuckDB, s",
        *("first /", "second /", "later /"),
    ]
    table(
        f"Queries on {text.name}, not packed, best of {rounds}; last columns: of DuckDB's time",
        head,
        rows,
    )


def main() -> None:
    bench(*settings(__doc__, "100MB"))


if __name__ == "__main__":
    main()
