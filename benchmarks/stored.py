"""Tables on S3, by a real server (SeaweedFS) on the same machine.

``python -m benchmarks.stored [inserts] [compaction]`` prints the rate of inserts of one row by one
writer, with the requests that each takes, and how many bytes a compaction sends and receives of
those that it moves.
"""

from __future__ import annotations

import base64
import json
import os
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import sdb
from sdb.store.s3 import client as s3
from sdb.table.compaction import compact_table
from sdb.table.tableroot import table_root
from tests.store import server

if TYPE_CHECKING:
    from botocore.awsrequest import AWSRequest

BUCKET = "bench"
INSERTS = 200
PACKFILES = 8
ROWS = 100_000
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
    moved = sum(one.input_bytes for one in done.runs)
    print(f"{done.packfiles} packfiles of {moved:,} bytes to {done.packfiles_after}", end=" ")
    print(f"in {seconds:.1f} s, {dict(traffic.requests)}")
    for name, size in (("sent", traffic.sent), ("received", traffic.received)):
        print(f"  {name:9} {size:12,} bytes: {size / moved:.1%} of what was moved")


BENCHMARKS = {"inserts": inserts, "compaction": compaction}


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
