"""Commands on S3 whose requests take 50 ms each: a real server (SeaweedFS) behind a proxy.

``python -m benchmarks.distant [WORD...]`` prints for each command, or for those with a word in
their names, its seconds, how many requests it waited for one after the other, how many were under
way at a time, the bytes received, and the requests.
``MILLISECONDS`` is the delay. ``MANY=100,1000`` looks at roots of this many tables, and tables of
this many inputs, instead.
"""

from __future__ import annotations

import base64
import gzip
import io
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING

import sdb
from benchmarks import stored
from sdb.store.s3 import client as s3
from sdb.store.url import atomic_write
from tests.store import proxy as proxies
from tests.store import server

if TYPE_CHECKING:
    from tests.store.proxy import Proxy, Request

PACKFILES, BLOCKS = 200, 13
ROWS, BLOCK_ROWS = 200, 30_000


class Distance:
    """Requests that wait each, and the number of those that are under way."""

    def __init__(self, seconds: float) -> None:
        self._lock, self._now = Lock(), 0
        self._seconds = seconds
        self.most = 0
        self.trips = 0  # requests that waited for others before them
        self.kinds: Counter[str] = Counter()

    def __call__(self, request: Request) -> str:
        with self._lock:
            self._now += 1
            self.most = max(self.most, self._now)
            self.kinds[request.kind] += 1
            trips = self.trips + 1
        time.sleep(self._seconds)
        with self._lock:
            self._now -= 1
            self.trips = max(self.trips, trips)
        return ""


def run(name: str, proxy: Proxy, words: list[str]) -> None:
    """Run a command and tell what it took."""
    proxy.choose = distance = Distance(int(os.environ.get("MILLISECONDS", "50")) / 1000)
    proxy.sent_bytes = 0
    start, busy = time.perf_counter(), processor_seconds()
    command = [sys.executable, "-m", "sdb", *words]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    seconds, busy = time.perf_counter() - start, processor_seconds() - busy
    if done.returncode:
        print(done.stderr, file=sys.stderr)
    kinds = ", ".join(f"{count} {kind}" for kind, count in distance.kinds.items())
    print(f"{name:27} {seconds:6.2f} s, {busy:5.2f} of a processor,", end=" ")
    print(f"{distance.trips:3} round trips, {distance.most:2} at a time,", end=" ")
    print(f"{proxy.sent_bytes:11,} bytes; {kinds}", flush=True)


def processor_seconds() -> float:
    """Return what commands have taken of processors so far."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def rows_of(number: int, rows: int) -> bytes:
    """Return rows of a day, as JSON."""
    lines = []
    for at in range(rows):
        clock = f"{at // 3600 % 24:02}:{at // 60 % 60:02}:{at % 60:02}"
        row = {"at": f"2026-{1 + number // 28:02}-{1 + number % 28:02}T{clock}Z"}
        row |= {"id": number * rows + at, "type": f"type{(number * 7 + at) % 1000}"}
        lines.append(json.dumps(row | {"text": os.urandom(24).hex()}))
    return "\n".join(lines).encode()


def prepare(root: str) -> None:
    """Write a table and patterns of many packfiles and inputs, and a packfile of some blocks."""
    db = sdb.connect(root)
    db.execute("CREATE TABLE web.t")
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "rows.json"
        for number in range(PACKFILES):
            rows = rows_of(number, ROWS)
            db.append("web.t", io.BytesIO(rows))
            source.write_bytes(rows)
            sdb.pack([source], f"{root}/many/{number:03}.zion")
            for name, count in (("inputs", ROWS), ("larger", 8 * ROWS)):
                with atomic_write(f"{root}/{name}/{number:03}.json.gz") as file:
                    file.write(gzip.compress(rows_of(number, count), 1))
        source.write_bytes(rows_of(1, BLOCKS * BLOCK_ROWS))
        sdb.pack([source], f"{root}/long.zion", block_bytes=4 << 20)


def prepare_many(root: str, count: int) -> dict[str, list[str]]:
    """Write many tables, and inputs of another one; return the commands by their names."""
    db = sdb.connect(root)
    db.create("web.t", f"{root}/inputs/*.json")

    def write(number: int) -> None:
        db.create(f"all.t{number}", f"{root}/nothing/*.json")
        with atomic_write(f"{root}/inputs/{number:05}.json") as file:
            file.write(rows_of(number, 1))

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(write, range(count)))
    words = ["--root", root]
    inputs = f"'{root}/inputs/*.json'"
    return {
        f"{count:,} tables: ls": ["ls", *words, "all"],
        f"{count:,} tables: status": ["status", *words],
        f"{count:,} inputs: sync": ["sync", *words, "web"],
        f"{count:,} inputs: sync again": ["sync", *words, "web"],
        f"{count:,} inputs: query": ["query", f"SELECT MAX(type) AS m FROM {inputs}"],
    }


def commands(root: str) -> dict[str, list[str]]:
    """Return the commands by their names."""
    table, many, long = "web.t", f"'{root}/many/*.zion'", f"'{root}/long.zion'"
    named = {"table": table, "pattern": many, "long": long}
    listed = {}
    for name, source in named.items():
        listed[f"{name}: all of a column"] = ["query", f"SELECT MAX(type) AS m FROM {source}"]
        listed[f"{name}: needle"] = ["query", f"SELECT text FROM {source} WHERE id = 12345"]
        since = "at >= '2026-02-01' AND at < '2026-02-03'"
        listed[f"{name}: window"] = ["query", f"SELECT MAX(type) AS m FROM {source} WHERE {since}"]
        listed[f"{name}: first row"] = ["query", f"SELECT type FROM {source} LIMIT 1"]
    many, long = f"{root}/many/*.zion", f"{root}/long.zion"
    listed |= {
        "pattern: describe-file": ["describe-file", many],
        "pattern: fields": ["fields", many],
        "pattern: grep": ["grep", "type42", many],
        "pattern: unpack": ["unpack", "-o", "/dev/null", "--force", many],
        "pattern: validate-file": ["validate-file", many],
        "pattern: concat": ["concat", "-o", f"{root}/joined.zion", many],
        "pattern: pack": ["pack", "-o", f"{root}/packed.zion", many],
        "inputs: pack": ["pack", "-o", f"{root}/small.zion", f"{root}/inputs/*.json.gz"],
        "larger: pack": ["pack", "-o", f"{root}/larger.zion", f"{root}/larger/*.json.gz"],
        "long: describe-file": ["describe-file", long],
        "long: unpack": ["unpack", "-o", "/dev/null", "--force", long],
        "long: grep": ["grep", "type42", long],
        "long: field statistics": ["fields", "--stats", long],
        "long: tail": ["tail", long],
        "table: describe": ["describe", table],
        "table: validate": ["validate", table],
        "table: compact": ["compact", table],
        "table: gc": ["gc", "--dry-run", table],
    }
    return listed


def main() -> None:
    """Run the commands."""
    os.environ["SNELLER_INDEX_KEY"] = base64.b64encode(b"k" * 32).decode()
    root = f"s3://{stored.BUCKET}/distant"
    with tempfile.TemporaryDirectory() as folder, server.running(Path(folder)) as url:
        os.environ |= server.environment(url) | {"SNELLER_BUCKET": root}
        stored.begin()
        listed: dict[str, list[str]] = {}
        for count in filter(None, os.environ.get("MANY", "").split(",")):
            listed |= prepare_many(f"{root}/{count}", int(count))
        if not listed:
            prepare(root)
            listed = commands(root)
        s3.disconnect()
        with proxies.running(url) as proxy:
            os.environ["AWS_ENDPOINT_URL_S3"] = proxy.url
            for name, words in listed.items():
                if not sys.argv[1:] or any(word in name for word in sys.argv[1:]):
                    run(name, proxy, words)


if __name__ == "__main__":
    main()
