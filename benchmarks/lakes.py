"""Measures first queries on Delta and Iceberg tables, beside their libraries with pyarrow.

    python benchmarks/lakes.py [--size 200MB] [--mode github] [--rounds 5]

Processor seconds of whole processes that take turns, with nothing in the cache; medians, and the
median of the ratios. The tables have the same rows, the one of Delta in a file,
as `sdb export delta` writes it.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from run import GENERATOR, SDB, table

import sdb

QUERIES = {
    "count": "SELECT COUNT(*) FROM {}",
    "fields": "SELECT type, actor.login FROM {} WHERE type = 'ForkEvent'",
    "group": "SELECT type, COUNT(*) FROM {} GROUP BY type",
    "needle": "SELECT * FROM {} WHERE actor.login = '{needle}'",
}
OTHERS = """
import sys
folder, kind, query, needle = sys.argv[1:]
if kind == "delta":
    from deltalake import DeltaTable
    from pyarrow.dataset import field
    rows = DeltaTable(f"{folder}/delta").to_pyarrow_dataset()
    if query == "count":
        print(rows.count_rows())
    elif query == "fields":
        columns = {"type": field("type"), "login": field("actor", "login")}
        print(rows.to_table(columns, filter=field("type") == "ForkEvent").to_pylist())
    elif query == "group":
        print(rows.to_table(["type"]).group_by("type").aggregate([([], "count_all")]).to_pylist())
    else:
        print(rows.to_table(filter=field("actor", "login") == needle).to_pylist())
else:
    from pathlib import Path
    from pyiceberg.table import StaticTable
    metadata = max(Path(folder, "iceberg/n/t/metadata").glob("*.metadata.json"))
    rows = StaticTable.from_metadata(str(metadata))
    if query == "count":
        print(rows.scan().count())
    elif query == "fields":
        fields = ("type", "actor.login")
        print(rows.scan("type == 'ForkEvent'", fields).to_arrow().to_pylist())
    elif query == "group":
        counted = rows.scan(selected_fields=("type",)).to_arrow().group_by("type")
        print(counted.aggregate([([], "count_all")]).to_pylist())
    else:
        print(rows.scan(f"actor.login == '{needle}'").to_arrow().to_pylist())
"""


def make(folder: Path, options: argparse.Namespace) -> str:
    """Make both tables; gives a name that few rows have."""
    import pyarrow.parquet as pq
    from pyiceberg.catalog.sql import SqlCatalog

    text = folder / "events.json"
    words = ["--mode", options.mode, "--bytes", options.size, "--seed", "1", "--out", str(text)]
    subprocess.run([sys.executable, str(GENERATOR), *words], check=True)
    root = sdb.connect(folder)
    root.create("web.t", "events.json")
    root.sync("web.t")
    words = ["export", "delta", "--quiet", "--root", folder, "web.t", folder / "delta"]
    subprocess.run([str(SDB), *words], check=True, stderr=subprocess.DEVNULL)
    catalog = SqlCatalog("c", uri=f"sqlite:///{folder}/c.db", warehouse=f"file://{folder}/iceberg")
    catalog.create_namespace("n")
    (file,) = (folder / "delta").glob("*.parquet")
    rows = pq.read_table(file)
    catalog.create_table("n.t", rows.schema).append(rows)
    with text.open() as lines:
        needle: str = json.loads(next(lines))["actor"]["login"]
    text.unlink()
    return needle


def ran(words: list[str]) -> float:
    """Run a program; gives processor seconds."""
    process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    if os.waitstatus_to_exitcode(status):
        sys.exit(f"{words} failed")
    return usage.ru_utime + usage.ru_stime


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", default="200MB")
    parser.add_argument("--mode", default="github")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    os.environ["SDB_CACHE_SIZE"] = "0"
    rows = []
    with tempfile.TemporaryDirectory() as name:
        needle = make(Path(name), options)
        for kind, path in (("delta", f"{name}/delta"), ("iceberg", f"{name}/iceberg/n/t")):
            for query, text in QUERIES.items():
                asked = text.format(f"'{kind}:{path}'", needle=needle)
                other = [sys.executable, "-c", OTHERS, name, kind, query, needle]
                runs = [
                    (ran([str(SDB), "query", asked]), ran(other)) for _ in range(options.rounds)
                ]
                ours, theirs = map(statistics.median, zip(*runs, strict=True))
                ratio = statistics.median(own / their for own, their in runs)
                rows.append([kind, query, f"{ours:.2f}", f"{theirs:.2f}", f"{ratio:.2f}"])
    head = ["", "query", "sdb", "library", "ratio"]
    table("First queries on Delta and Iceberg tables", head, rows)


if __name__ == "__main__":
    main()
