"""Load on a server with little memory: queries of all kinds, rows that come in, and bad clients.

    python benchmarks/serve_load.py --minutes 10 --limit 512MiB

Prints answers by status, times, and the most memory that the server took; the exit code is 1 if it
took more than it may, answered 500, lost a row that it had acknowledged, or ended. With `--limit`
the server is killed as soon as it takes more, as the kernel does it in a container.
"""

from __future__ import annotations

import argparse
import json
import random
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import requests

import sdb
from sdb import sizes

if TYPE_CHECKING:
    from collections.abc import Iterable

ROWS = Path(__file__).resolve().parent.parent / "testdata/gh2015_1k.json.gz"
_random = random.Random()  # noqa: S311 - for a mix
LINES = {"content-type": "application/x-ndjson"}
QUERIES = (
    "SELECT COUNT(*) AS n FROM web.gha WHERE id > '{n}'",
    "SELECT type, COUNT(*) AS n FROM web.gha GROUP BY type",
    "SELECT * FROM web.gha LIMIT 500",
    "SELECT actor.login AS login, MAX(id) AS m FROM web.gha GROUP BY actor.login ORDER BY m",
    "SELECT COUNT(*) AS n FROM logs.app WHERE n % 7 = {n} % 7",
)
BOMBS = (
    "SELECT MAX(LENGTH(REPEAT(id, 1000000))) AS n FROM web.gha WHERE id <> '{n}'",
    "SELECT MAX(LENGTH(LPAD(id, 9000000, 'xy'))) AS n FROM web.gha WHERE id <> '{n}'",
    "SELECT ARRAY_AGG(REPEAT(a.id, 9)) AS x FROM web.gha a, web.gha b WHERE a.id <> '{n}'",
    "SELECT COUNT(*) AS n FROM web.gha a, web.gha b, web.gha c WHERE LENGTH(a.id || b.id) > {n}",
)


class Load:
    """What clients share.

    * ``url``: Where the server is.
    * ``until``: When they end.
    """

    def __init__(self, url: str, until: float) -> None:
        self.url, self.until = url, until
        self.statuses: Counter[str] = Counter()
        self.seconds: list[float] = []
        self.acknowledged = 0
        self._lock = threading.Lock()
        self._numbers = iter(range(1 << 60))

    @property
    def is_over(self) -> bool:
        """True if clients end."""
        return time.monotonic() > self.until

    def number(self) -> int:
        """Return a number that no other request has."""
        with self._lock:
            return next(self._numbers)

    def ask(
        self, kind: str, session: requests.Session, method: str, path: str, **more: object
    ) -> int:
        """Send a request, and count its answer."""
        begun = time.monotonic()
        try:
            status = session.request(method, self.url + path, timeout=120, **more).status_code  # type: ignore[arg-type]
        except requests.RequestException as error:
            status = 0
            kind = f"{kind} {type(error).__name__}"
        with self._lock:
            self.statuses[f"{kind}: {status}"] += 1
            if kind == "repeat":
                self.seconds.append(time.monotonic() - begun)
        return status

    def repeats(self) -> None:
        """Ask the same again and again, as dashboards do."""
        session = requests.Session()
        while not self.is_over:
            self.ask("repeat", session, "GET", "/v1/query", params={"sql": QUERIES[1]})
            time.sleep(0.02)

    def queries(self) -> None:
        """Ask queries that no cache has, in all formats."""
        session = requests.Session()
        while not self.is_over:
            sql = _random.choice(QUERIES).format(n=self.number())
            form = _random.choice(("ndjson", "json", "csv", "arrow", "parquet", "html"))
            self.ask("query", session, "GET", "/v1/query", params={"sql": sql, "format": form})

    def bombs(self) -> None:
        """Ask for more than there is memory or time for."""
        session = requests.Session()
        while not self.is_over:
            sql = _random.choice(BOMBS).format(n=self.number())
            self.ask("bomb", session, "GET", "/v1/query", params={"sql": sql, "timeout": "5s"})

    def inserts(self) -> None:
        """Insert rows, some of them in large bodies."""
        session = requests.Session()
        while not self.is_over:
            count = _random.choice((1, 100, 20_000))
            first = self.number()
            rows = (json.dumps({"n": first + n, "s": f"{n * 7919:0100x}"}) for n in range(count))
            body = "\n".join(rows)
            path = "/v1/tables/logs.app/rows"
            status = self.ask("insert", session, "POST", path, data=body, headers=LINES)
            with self._lock:
                self.acknowledged += count if status == 201 else 0
            time.sleep(0.5)

    def trickles(self) -> None:
        """Send most of a large body, and then hardly anything."""
        host, port = self.url.removeprefix("http://").split(":")
        while not self.is_over:
            with socket.create_connection((host, int(port)), timeout=60) as client:
                head = "POST /v1/tables/logs.app/rows HTTP/1.1\r\nHost: localhost\r\n"
                head += "Content-Type: application/x-ndjson\r\nContent-Length: 60000000\r\n\r\n"
                try:
                    client.sendall(head.encode())
                    for _ in range(50):
                        client.sendall(b" " * 1_000_000)
                    while not self.is_over:
                        client.sendall(b" ")
                        time.sleep(1)
                except OSError:
                    self.statuses["trickle: cut"] += 1
            time.sleep(1)

    def slow_readers(self) -> None:
        """Ask for all rows, and read a little of them."""
        host, port = self.url.removeprefix("http://").split(":")
        while not self.is_over:
            with socket.create_connection((host, int(port)), timeout=60) as client:
                path = f"/v1/query?sql=SELECT+*+FROM+web.gha+WHERE+id+<>+'{self.number()}'"
                client.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
                client.recv(1000)
                time.sleep(_random.random() * 10)


def memory_bytes(process: int) -> int:
    """Return the memory that a process has of its own: the code of libraries can be read again."""
    lines = Path(f"/proc/{process}/status").read_text().splitlines()
    return next((int(line.split()[1]) << 10 for line in lines if line.startswith("RssAnon")), 0)


def main() -> int:
    """Run it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--memory", default="512MiB", help="what the server should take at most")
    parser.add_argument("--limit", help="kill the server as soon as it takes more")
    asked = parser.parse_args()
    most = sizes.parse(asked.limit or asked.memory)
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "lake"
        db = sdb.connect(root)
        db.create("web.gha", "in/*.json")
        db.append("web.gha", ROWS)
        db.create("logs.app", "in/*.json")
        db.append("logs.app", [{"n": -1}])
        command = [sys.executable, "-m", "sdb.cli.main", "serve", "--root", str(root), "--write"]
        options = [
            "--listen",
            "127.0.0.1:0",
            "--quiet",
            "--memory",
            "64MiB",
            "--max-pending",
            "64MiB",
        ]
        server = subprocess.Popen([*command, *options], stderr=subprocess.PIPE, text=True)
        assert server.stderr is not None
        url = server.stderr.readline().split(" at ")[1].strip()
        lines: list[str] = []
        threading.Thread(target=lambda: lines.extend(server.stderr or ()), daemon=True).start()
        load = Load(url, time.monotonic() + asked.minutes * 60)
        kinds = (load.repeats, load.queries, load.bombs, load.inserts)
        clients = [*kinds * 4, *[load.trickles] * 20, *[load.slow_readers] * 8]
        threads = [threading.Thread(target=client) for client in clients]
        for thread in threads:
            thread.start()
        peak = 0
        while any(thread.is_alive() for thread in threads) and server.poll() is None:
            peak = max(peak, memory_bytes(server.pid))
            if asked.limit and peak > most:
                print(f"killed: it has {sizes.human(peak)}")
                server.kill()
                load.until = 0.0
            time.sleep(0.01 if asked.limit else 0.1)
        for thread in threads:
            thread.join()
        try:
            counted = db.sql("SELECT COUNT(*) AS n FROM logs.app")
            return report(load, lines, counted, peak, most) or int(server.poll() is not None)
        finally:
            server.terminate()
            server.wait(60)


def report(
    load: Load, lines: list[str], counted: Iterable[dict[str, int]], peak: int, most: int
) -> int:
    """Print what came of it, and return the exit code."""
    (row,) = counted
    for kind, count in sorted(load.statuses.items()):
        print(f"{kind:32} {count:9,}")
    load.seconds.sort()
    for share in (50, 99):
        at = min(len(load.seconds) * share // 100, len(load.seconds) - 1)
        print(f"repeat, {share} %: {load.seconds[at] * 1000:.1f} ms")
    print(f"rows: {row['n'] - 1:,} are there, {load.acknowledged:,} were acknowledged")
    print(f"memory: {sizes.human(peak)} at most, of {sizes.human(most)}")
    print("".join(lines[:20]), end="")
    faults = [kind for kind in load.statuses if kind.endswith(": 500")]
    is_lost = row["n"] - 1 < load.acknowledged
    return int(peak > most or bool(faults) or is_lost)


if __name__ == "__main__":
    sys.exit(main())
