"""Compares tables of text of queries with lines of JSON, as whole processes.

    python benchmarks/texts.py [--rows 100000] [--rounds 5]

prints processor seconds of NDJSON, and how many times as long the others take: medians of the
ratios within rounds.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from manyfiles import processor_seconds
from run import GENERATOR, SDB, table

FORMATS = ("csv", "tsv", "markdown", "html")
FIELDS = (
    "ts, host, region, service, cpu_user, cpu_sys, mem_used_pct, load1, disk_pct, rx_bytes,"
    " tx_bytes, latency_ms, requests, errors, healthy"
)
QUERIES = {
    "metrics, 15 fields": ("metrics", f"SELECT {FIELDS} FROM '{{}}'"),
    "metrics, whole rows": ("metrics", "SELECT * FROM '{}'"),
    "logs, fields, some nested": (
        "logs",
        "SELECT stream, message, kubernetes, http, status FROM '{}'",
    ),
    "logs, whole rows": ("logs", "SELECT * FROM '{}'"),
}


def main() -> None:
    """Measure each query in each format."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", default="100000")
    parser.add_argument("--rounds", type=int, default=5)
    asked = parser.parse_args()
    lines = []
    with tempfile.TemporaryDirectory() as folder:
        for name, (mode, query) in QUERIES.items():
            packed = Path(folder) / f"{mode}.zion"
            if not packed.exists():
                text = packed.with_suffix(".json")
                words = ["--mode", mode, "--rows", asked.rows, "--seed", "1", "--out", str(text)]
                subprocess.run([sys.executable, str(GENERATOR), *words], check=True)
                subprocess.run([SDB, "pack", "-q", "-o", str(packed), str(text)], check=True)
            rounds = [
                [
                    processor_seconds([SDB, "query", "--fmt", fmt, query.format(packed)])
                    for fmt in ("json", *FORMATS)
                ]
                for _ in range(asked.rounds + 1)
            ][1:]
            ratios = [
                statistics.median(each[at + 1] / each[0] for each in rounds)
                for at in range(len(FORMATS))
            ]
            seconds = statistics.median(each[0] for each in rounds)
            lines.append([name, f"{seconds:.3f}", *(f"{ratio:.2f}" for ratio in ratios)])
    table("Tables of text", ["", "NDJSON, s", *FORMATS], lines)


if __name__ == "__main__":
    main()
