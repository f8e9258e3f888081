"""Prints the tables of the README: sizes and times beside gzip, Parquet and the original.

    python benchmarks/compare.py [--size 200MB] [--rounds 5]

Sizes are those of the samples in `testdata`. Times are processor seconds of whole processes, start
of Python included, medians of rounds in which all take turns. They are taken on the GitHub sample,
written again and again with other ids and later times until there are as many bytes as asked for,
and the last one on as many bytes of the flat sample, taxi rides. Sizes of these tell nothing, since
rows repeat.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
from datetime import datetime, timedelta
from pathlib import Path

from query import PARQUET, PEER
from run import SDB, Contender, race, table
from size import ORIGINAL, measured, sample

from sdb import sizes

SAMPLES = {
    "gh2021_800": "GitHub events",
    "winevents_sample": "Windows events",
    "cloudtrail_stratus": "CloudTrail",
    "nginxplus": "status of nginx",
    "wikiticker_20k": "edits of Wikipedia",
    "nyc_taxi": "taxi rides, flat and typed",
}
FLAT = "SELECT payment_type, AVG(total_amount) AS a FROM {} GROUP BY payment_type"
SPAN = timedelta(minutes=8)
"""How much later each copy of the sample is."""
QUERIES = {
    "rows of each type": "SELECT type, COUNT(*) AS n FROM {} GROUP BY type",
    "rows of one hour": "SELECT COUNT(*) AS n FROM {} WHERE created_at >= TIMESTAMP "
    "'2015-01-01 03:00:00Z' AND created_at < TIMESTAMP '2015-01-01 04:00:00Z'",
    "one event by its id": "SELECT * FROM {} WHERE id = '2489395767-7'",
    "the newest 10 rows": "SELECT * FROM {} ORDER BY created_at DESC LIMIT 10",
    "average of a nested number": "SELECT AVG(payload.size) AS a FROM {}",
    "a word in a nested text": "SELECT COUNT(*) AS n FROM {} "
    "WHERE payload.comment.body LIKE '%memory%'",
}


def repeated(path: Path, size: int) -> None:
    """Write the GitHub sample again and again, until the file has its size."""
    rows = [json.loads(line) for line in sample("gh2015_1k").splitlines()]
    times = [datetime.fromisoformat(row["created_at"]) for row in rows]
    ids = [row["id"] for row in rows]
    with path.open("w") as out:
        copy = 0
        while out.tell() < size:
            for row, first, number in zip(rows, times, ids, strict=True):
                row["id"] = f"{number}-{copy}"
                row["created_at"] = (first + copy * SPAN).strftime("%Y-%m-%dT%H:%M:%SZ")
                out.write(json.dumps(row, separators=(",", ":")) + "\n")
            copy += 1


def bytes_of_samples(folder: Path) -> None:
    rows = []
    for name, about in SAMPLES.items():
        made = measured(name, folder)
        numbers = [made["json"], made["gzip"], made["parquet"], ORIGINAL[name], made["zion+zstd"]]
        rows.append([about, *(f"{number:,}" for number in numbers)])
    table("Bytes", ["", "JSON", "gzip -6", "Parquet", "original", "`sdb`"], rows)


class Race:
    """A text packed by all, in a folder; and the processor seconds that each needs."""

    def __init__(self, text: Path, rounds: int) -> None:
        self._rounds = rounds
        self._packed, self._parquet = text.with_suffix(".zion"), text.with_suffix(".parquet")
        self._zipped = text.with_suffix(".gz")
        self.packing = [
            Contender("gzip", ["sh", "-c", f"gzip -6 < {text} > {self._zipped}"]),
            Contender("DuckDB", [sys.executable, "-c", PARQUET, str(text), str(self._parquet)]),
            Contender("sdb", [SDB, "pack", "-q", "--force", "-o", str(self._packed), str(text)]),
        ]
        race(rounds, *self.packing)
        self._scan = Contender("gzip", ["sh", "-c", f"gzip -dc {self._zipped} | grep -c e"])
        race(rounds, self._scan)

    def row(self, about: str, query: str) -> list[str]:
        """Run a query in all ways, and return a row of the table."""
        ours, theirs = query.format(f"'{self._packed}'"), query.format(f"'{self._parquet}'")
        peer = Contender("DuckDB", [sys.executable, "-c", PEER, theirs])
        own = Contender("sdb", [SDB, "query", "--fmt", "json", ours])
        race(self._rounds, peer, own)
        return [about, *map(cell, (self._scan, peer, own))]


def cell(contender: Contender) -> str:
    return f"{statistics.median(contender.processor_seconds):.2f}"


def seconds(folder: Path, size: int, rounds: int) -> None:
    events, flat = folder / "events.json", folder / "flat.json"
    repeated(events, size)
    rides = sample("nyc_taxi")
    with flat.open("wb") as out:
        for _ in range(size // len(rides)):
            out.write(rides)
    nested = Race(events, rounds)
    rows = [["packing the JSON", *map(cell, nested.packing)]]
    memory = [f"{contender.peak_bytes / 2**20:.0f} MiB" for contender in nested.packing[1:]]
    rows += [nested.row(about, query) for about, query in QUERIES.items()]
    rows.append(Race(flat, rounds).row("average by a key, flat table", FLAT))
    rows.append(["memory while packing", "", *memory])
    head = ["", "gzip and grep", "DuckDB, Parquet", "`sdb`"]
    table(f"Processor seconds, {events.stat().st_size / 1e6:.0f} MB of JSON", head, rows)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--size", type=sizes.parse, default=200_000_000)
    parser.add_argument("--rounds", type=int, default=5)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as made:
        # First, as long as this process is small: the peak of a child is at least its parent's.
        seconds(Path(made), asked.size, asked.rounds)
        bytes_of_samples(Path(made))


if __name__ == "__main__":
    main()
