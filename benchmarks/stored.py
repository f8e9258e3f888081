"""Tables on S3, by a real server (SeaweedFS) on the same machine.

``python -m benchmarks.stored [inserts] [compaction] [needles]`` prints the rate of inserts of one
row by one writer, with the requests that each takes, how many bytes a compaction sends and receives
of those that it moves, and what it takes to open a packfile with megabytes of statistics, to read a
window of time and one id of it, there and on the disk.
"""

from __future__ import annotations

import base64
import json
import math
import os
import random
import subprocess
import sys
import tempfile
import time
import tracemalloc
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import sdb
from sdb.packfile.trailer.blockstats import WORDS
from sdb.store.s3 import client as s3
from sdb.table.catalog.root import table_root
from sdb.table.maintenance.compact import compact_table
from tests.store import server

if TYPE_CHECKING:
    from botocore.awsrequest import AWSRequest

BUCKET = "bench"
INSERTS = 200
PACKFILES = 8
ROWS = 100_000
NEEDLES, DAY_SECONDS = 2_000_000, 86_400
VOCABULARY = [f"{chr(97 + n % 26)}{chr(97 + n // 26)}ordinary" for n in range(600)]
FILLER = "a text that is the same in all rows, " * 30


class Traffic:
    """Counts requests, and bytes of objects, in both directions."""

    def __init__(self) -> None:
        self.requests: Counter[str] = Counter()
        self.sent = self.received = 0
        for once in (False, True):
            events = s3.connect(once=once).meta.events
            events.register("before-send.s3.*", self._on_send)
            events.register("after-call.s3.GetObject", self._on_answer)

    def _on_send(self, request: AWSRequest, event_name: str, **_: object) -> None:
        self.requests[event_name.rpartition(".")[2]] += 1
        self.sent += int(request.headers.get("Content-Length", 0))

    def _on_answer(self, parsed: dict[str, Any], **_: object) -> None:
        self.received += parsed.get("ContentLength", 0)

    def clear(self) -> None:
        """Begin to count."""
        self.requests.clear()
        self.sent = self.received = 0


def begin() -> Traffic:
    """Make the S3 bucket, and wait until the server can write."""
    client = s3.connect(once=True)
    client.create_bucket(Bucket=BUCKET)
    until = time.monotonic() + 60
    while True:
        try:
            client.put_object(Bucket=BUCKET, Key="first", Body=b"x")
        except client.exceptions.ClientError:
            if time.monotonic() > until:
                raise
            time.sleep(0.05)
        else:
            return Traffic()


def inserts(root: str, traffic: Traffic) -> None:
    """Insert a row at a time."""
    db = sdb.connect(root)
    db.create("bench.rows", f"{root}/in/*.json")
    for number in range(5):
        db.append("bench.rows", [{"id": number}])
    traffic.clear()
    start, busy = time.perf_counter(), time.process_time()
    for number in range(INSERTS):
        db.append("bench.rows", [{"id": number}])
    seconds = time.perf_counter() - start
    busy = time.process_time() - busy
    each = busy / INSERTS * 1000
    print(f"{INSERTS / seconds:.0f} inserts a second, {each:.0f} ms of a processor")
    for name, count in traffic.requests.items():
        print(f"  {name:16} {count / INSERTS:.2f} for each")


def write_events(path: Path) -> None:
    """Write rows, more than a block of them, that compress as well as logs do."""
    with path.open("w", encoding="utf-8") as file:
        for number in range(ROWS):
            row = {
                "at": "2026-11-01T00:00:00Z",
                "id": number,
                "text": FILLER + os.urandom(120).hex(),
            }
            file.write(json.dumps(row) + "\n")


def compaction(root: str, traffic: Traffic) -> None:
    """Merge packfiles of one block and a short one each."""
    db = sdb.connect(root)
    db.create("bench.large", f"{root}/in/*.json")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "events.json"
        for _ in range(PACKFILES):
            write_events(path)
            db.append("bench.large", str(path))
    traffic.clear()
    start = time.perf_counter()
    done = compact_table(table_root(root), "bench", "large")
    seconds = time.perf_counter() - start
    moved = sum(run.input_bytes for run in done.runs)
    print(f"{done.packfiles} packfiles of {moved:,} bytes to {done.packfiles_after}", end=" ")
    print(f"in {seconds:.1f} s, {dict(traffic.requests)}")
    for name, size in (("sent", traffic.sent), ("received", traffic.received)):
        print(f"  {name:9} {size:12,} bytes: {size / moved:.1%} of what was moved")


def write_needles(path: Path) -> None:
    """Write events in the order of time, with ids that occur once."""
    rng = random.Random(1)  # noqa: S311 - the same each time
    with path.open("w", encoding="utf-8") as file:
        for number in range(NEEDLES):
            second = number * DAY_SECONDS // NEEDLES
            row = {
                "time": f"2026-01-01T{second // 3600:02}:{second // 60 % 60:02}:{second % 60:02}Z",
                "id": f"{rng.getrandbits(64):016x}",
                "user": f"user-{rng.randrange(20_000):06}",
                "request": {"id": f"{rng.getrandbits(128):032x}", "status": rng.choice([200, 404])},
                "message": " ".join(rng.choices(VOCABULARY, k=12)),
            }
            file.write(json.dumps(row) + "\n")


def needles(root: str, traffic: Traffic) -> None:
    """Ask a packfile with large statistics for little; bytes are those of its end alone."""
    with tempfile.TemporaryDirectory() as folder:
        source, local = Path(folder) / "events.json", f"{folder}/x.zion"
        write_needles(source)
        options: dict[str, Any] = {"stats": "auto,id,words", "block_bytes": 4 << 20}
        sdb.pack([source], local, **options)
        sdb.pack([source], f"{root}/x.zion", **options)
        with sdb.open(local) as pack:
            known, last = pack.known[1], next(iter(pack))["id"]
            assert known is not None
            size = pack.size_bytes - pack.trailer.offset
        print(f"{pack.size_bytes:,} bytes, {size:,} of them the trailer", end=", ")
        print(f"{known.bytes_of(WORDS):,} words")
        table = "SELECT COUNT(*) FROM read_file('{}')"
        texts = {
            "opened": table,
            "ten minutes": f"{table} WHERE time < '2026-01-01T00:10:00Z' AND user > ''",
            "one id": f"{table} WHERE id = '{last}'",
        }
        for name, text in texts.items():
            stored(name, text.format(f"{root}/x.zion"), traffic)
            on_disk(text.format(local))
        memory(local)


def stored(name: str, text: str, traffic: Traffic) -> None:
    """Run a query on S3."""
    best = math.inf
    for _ in range(5):
        traffic.clear()
        start = time.perf_counter()
        with sdb.sql(text) as result:
            list(result)
            reading = result.reading
        best = min(best, time.perf_counter() - start)
    # Rows that metadata count are read by nobody.
    is_read = traffic.received > reading.stored_bytes
    blocks, size = (reading.blocks, reading.stored_bytes) if is_read else (0, 0)
    print(f"  {name:12} {traffic.requests['GetObject'] - blocks} requests", end=", ")
    print(f"{traffic.received - size:11,} bytes, {blocks} blocks,", end=" ")
    print(f"{best * 1000:4.0f} ms", end="; ")


def on_disk(text: str) -> None:
    """Run a query on a file, as a process."""
    best = math.inf
    for _ in range(5):
        start = time.perf_counter()
        command = [sys.executable, "-m", "sdb", "query", text]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        best = min(best, time.perf_counter() - start)
    print(f"on the disk {best * 1000:.0f} ms")


def memory(location: str) -> None:
    """Open a packfile, and tell what memory of Python it takes at most."""
    tracemalloc.start()
    with sdb.open(location):
        _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    print(f"  to open it takes {peak:,} bytes of memory")


BENCHMARKS = {"inserts": inserts, "compaction": compaction, "needles": needles}


def main() -> None:
    """Run one benchmark, or all."""
    os.environ["SNELLER_INDEX_KEY"] = base64.b64encode(b"k" * 32).decode()
    with tempfile.TemporaryDirectory() as folder, server.running(Path(folder)) as url:
        os.environ |= server.environment(url)
        traffic = begin()
        for name in sys.argv[1:] or BENCHMARKS:
            BENCHMARKS[name](f"s3://{BUCKET}/{name}", traffic)


if __name__ == "__main__":
    main()
