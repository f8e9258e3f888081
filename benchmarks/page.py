"""The requests of the page on a table of 10^8 rows in 1,000 packfiles, with 10^6 versions.

    .venv/bin/python -m benchmarks.page ROOT

makes the table below ROOT, which takes some minutes and 650 MB, unless it is there, starts a server
and prints how long the requests of each screen take, in milliseconds: the first time, and half of
the later ones. Versions are made as metadata: all but the newest are only listed. Each zoom is to
another place.
"""

from __future__ import annotations

import argparse
import statistics
import time
from pathlib import Path
from urllib.parse import urlencode

import numpy as np
import pyarrow as pa

import sdb
from sdb.records import replace
from sdb.table.catalog.handle import open_table
from sdb.table.catalog.root import TableRoot, table_root
from sdb.table.commit.chain import head_version
from sdb.table.commit.change import TableChange
from sdb.table.commit.commit import commit
from sdb.table.commit.objects import ObjectWriter, put_in_place, put_new
from sdb.table.format import etags
from sdb.table.format.descriptor import Descriptor, slim
from sdb.table.format.history import PastVersion, listing_of
from sdb.table.format.keys import TableKeys
from sdb.table.format.limits import USUAL
from tests.serve.conftest import Server

KEYS = TableKeys("big", "events")
TABLE = "/v1/tables/big.events"
START = np.datetime64("2026-01-01T00:00:00", "us")
HOUR = np.timedelta64(1, "h")
REAL_VERSIONS = 100  # the newest
TIMES = 7
SECONDS = 600  # for an answer at most


def rows_of(number: int, count: int) -> pa.Table:
    """Make the rows of an hour."""
    dice = np.random.default_rng(number)
    times = np.sort(dice.integers(0, 3_600_000_000, count)).astype("timedelta64[us]")
    kinds = np.array(["Push", "Watch", "Fork", "Issues", "Release"])
    return pa.table(
        {
            "time": pa.array(START + number * HOUR + times, pa.timestamp("us", "UTC")),
            "type": kinds[dice.integers(0, len(kinds), count)],
            "size": dice.integers(0, 1000, count),
        }
    )


def fill(root: TableRoot, packfiles: int, rows: int) -> None:
    """Commit packfiles of an hour each, all in one version."""
    added = []
    for number in range(packfiles):
        key = KEYS.content("", f"{number:032}")
        path = Path(root.place(key))
        path.parent.mkdir(parents=True, exist_ok=True)
        made = sdb.pack(rows_of(number, rows), path, overwrite=True)
        etag = etags.of_content([path.read_bytes()])
        added.append(Descriptor(key, etag, made.output_bytes, slim(made.trailer)))
    commit(root, KEYS, TableChange("sync", tuple(added), since_us=0), is_new=True)


def age(root: TableRoot, versions: int) -> None:
    """Have the table look as if it had as many versions, of which all but the newest are listed."""
    head = open_table(root, KEYS.database, KEYS.table)
    chain = head_version(head, ObjectWriter(root, KEYS))
    assert chain.state is not None
    at_us = chain.state.at_us + 1
    first_us = at_us - versions
    older = []
    for first in range(1, versions, USUAL.listed_versions):
        numbers = range(first, min(first + USUAL.listed_versions, versions))
        listed = tuple(past(number, first_us + number) for number in numbers)
        older.append(listing_of(listed, chain.writer.history))
    state = replace(chain.state, version=versions, adopted=versions, at_us=at_us, created_us=at_us)
    state = replace(state, history=(), older=tuple(older), parent=None)
    index = replace(chain.index, created_us=at_us)
    (made,) = chain._with(index, state, ()).pending  # noqa: SLF001 - no commit jumps ahead
    put_new(root, made.key, made.data)
    put_in_place(root, KEYS.index, made.data, root.open(KEYS.index))
    for number in range(REAL_VERSIONS):
        commit(root, KEYS, TableChange("alter", message=f"step {number}"), is_new=True)


def past(number: int, at_us: int) -> PastVersion:
    """Make what a list says of a version."""
    key = KEYS.version(number, f"{number:032x}")
    return PastVersion(number, at_us, key, f'"{number:032x}"', "insert", number)


def query(sql: str) -> str:
    """Return the request that reads rows."""
    return "/v1/query?" + urlencode({"sql": sql, "format": "ndjson", "end": 1})


def hits(step: str, **more: str) -> str:
    """Return the request that counts rows by time."""
    return f"{TABLE}/hits?" + urlencode({**more, "step": step, "format": "json"})


def screens(number: int) -> dict[str, list[str]]:
    """Return the requests that wait for each other, by what their reader waits for.

    * ``number``: Another one zooms to another place, which nobody has asked for before.
    """
    rows = "SELECT * FROM big.events"
    since = str(START + (300 + number) * HOUR)[:19] + "Z"
    until = str(START + (310 + number) * HOUR)[:19] + "Z"
    zoomed = {"since": since, "until": until}
    return {
        "tables": ["/v1/tables?q=&limit=500"],
        "a line of the tables": [
            f"{TABLE}/versions?limit=40",
            f"{TABLE}/timeline?buckets=1",
            query(f"{rows} LIMIT 100"),
        ],
        "table to the first histogram": [TABLE, f"{TABLE}/timeline?buckets=100"],
        "table, fields": [f"{TABLE}/fields?limit=2000"],
        "table, rows counted": [hits("50400s")],
        "table, newest rows": [query(f"{rows} ORDER BY time DESC LIMIT 50")],
        "zoom to the first histogram": [f"{TABLE}/timeline?{urlencode(zoomed)}&buckets=100"],
        "zoom, rows counted": [hits("600s", **zoomed)],
        "versions": [f"{TABLE}/branches", f"{TABLE}/tags", f"{TABLE}/versions?limit=100"],
        "an old version": [f"{TABLE}/versions?limit=100&before=999950"],
        "layout": [f"{TABLE}/packfiles?limit=5000", f"{TABLE}/status"],
    }


def measured(server: Server, paths: list[str]) -> float:
    """Ask, and return how many milliseconds it takes."""
    began = time.perf_counter()
    for path in paths:
        headers = {"accept": "application/json"}
        answer = server.session.get(server.url + path, headers=headers, timeout=SECONDS)
        if answer.status_code != 200:
            print(path, answer.status_code, answer.text[:300])
    return (time.perf_counter() - began) * 1000


def main() -> None:
    """Make the table and print what was measured."""
    parser = argparse.ArgumentParser()
    parser.add_argument("root", type=Path)
    parser.add_argument("--packfiles", type=int, default=1000)
    parser.add_argument("--rows", type=int, default=100_000, help="of a packfile")
    parser.add_argument("--versions", type=int, default=1_000_000)
    asked = parser.parse_args()
    root = table_root(asked.root)
    if not root.has(KEYS.index):
        fill(root, asked.packfiles, asked.rows)
        age(root, asked.versions)
    server = Server(asked.root, "--timeout", f"{SECONDS}s")
    try:
        print(f"{'':32}{'first':>9}{'later':>9}")
        for screen in screens(0):
            first = measured(server, screens(0)[screen])
            later = [measured(server, screens(number)[screen]) for number in range(1, 1 + TIMES)]
            print(f"{screen:32}{first:8.0f} {statistics.median(later):8.0f}")
    finally:
        server.close()


if __name__ == "__main__":
    main()
