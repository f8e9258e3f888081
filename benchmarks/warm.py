"""Queries of a process that stays: `sdb.connect`, `sdb serve`, and DuckDB on the rows as Parquet.

    .venv/bin/python -m benchmarks.warm [--rows 200000] [--seconds 3] [--clients 1,16,64]
                                        [--only avg,like] [--folder FOLDER]

Each query has other constants each time. Clients are threads that wait for nothing but answers. A
line has milliseconds of a query as clients see it, at the median and at 99 of 100; milliseconds of
processor time of the process that answers, for each query; and the peak of its memory so far, with
64 clients at last. `sdb` keeps decoded columns as it does by default; SDB_COLUMN_CACHE=0 shows what
that is worth.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import random
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

import duckdb

import sdb

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Ask = Callable[[str], object]

JSON = {"content-type": "application/json"}
QUERIES = {
    "none": "SELECT {n} AS n FROM {table} LIMIT 1",
    "count": "SELECT COUNT(*) AS n, {n} AS other FROM {table}",
    "window": "SELECT COUNT(*) AS n FROM {table} WHERE created_at BETWEEN {time} AND {later}",
    "group": "SELECT type, COUNT(*) AS n FROM {table} WHERE size > {n} GROUP BY type",
    "avg": "SELECT AVG(payload.size) AS a FROM {table} WHERE size <> {n}",
    "like": "SELECT COUNT(*) AS n FROM {table} WHERE payload.ref LIKE '%/{n}%'",
    "needle": "SELECT id, payload.ref AS r FROM {table} WHERE id = {n}",
}
_random = random.Random()  # noqa: S311 - for constants
TABLE = "web.events"
FIRST_S = 1_700_000_000
TICK = os.sysconf("SC_CLK_TCK")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--seconds", type=float, default=3, help="for each query and engine")
    parser.add_argument("--clients", default="1,16,64")
    parser.add_argument("--only", default=",".join(QUERIES))
    parser.add_argument("--folder", type=Path, help="where files are kept for another run")
    parser.add_argument("--answer", choices=["sdb", "duckdb"], help=argparse.SUPPRESS)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    if options.answer is not None:
        answer(options.answer, options.folder)
        return
    with tempfile.TemporaryDirectory() as scratch:
        folder = options.folder or Path(scratch)
        make(folder, options.rows)
        print("query    clients engine        p50      p99      cpu    MiB")
        engines = [Process(folder, "sdb"), Process(folder, "duckdb"), Server(folder)]
        try:
            for clients in map(int, options.clients.split(",")):
                for name in options.only.split(","):
                    for engine in engines:
                        measure(engine, name, clients, options)
        finally:
            for engine in engines:
                engine.close()


def make(folder: Path, count: int) -> None:
    """Make the rows, once: as a table, and as Parquet with types."""
    folder.mkdir(parents=True, exist_ok=True)
    parquet, text = (folder / f"events.{end}" for end in ("parquet", "json"))
    if parquet.exists():
        return
    with text.open("w") as file:
        file.writelines(f"{json.dumps(row)}\n" for row in rows(count))
    lake = sdb.connect(folder)
    lake.create("web.events", "events.json")
    lake.sync("web.events")
    duckdb.sql(f"COPY (FROM read_json('{text}')) TO '{parquet}' (FORMAT parquet, COMPRESSION zstd)")


def rows(count: int) -> Iterator[dict[str, object]]:
    chosen = random.Random(1)  # noqa: S311 - for rows
    for number in range(count):
        yield {
            "id": number,
            "type": chosen.choice(("PushEvent", "WatchEvent", "IssuesEvent", "CreateEvent")),
            "size": chosen.randrange(100_000),
            "created_at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(FIRST_S + number)),
            "actor": {"id": chosen.randrange(50_000), "login": f"user{chosen.randrange(50_000)}"},
            "payload": {
                "size": chosen.randrange(30),
                "ref": f"refs/heads/{chosen.randrange(1 << 24)}",
                "commits": [{"sha": f"{chosen.getrandbits(160):040x}", "message": "a fix of it"}],
            },
        }


def text_of(name: str, table: str) -> str:
    """Return a query with constants that it had not before."""
    number = _random.randrange(90_000)

    def at(seconds: int) -> str:
        shown = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(FIRST_S + seconds))
        return f"TIMESTAMP '{shown}'"

    later = at(number + 60)
    return QUERIES[name].format(n=number, table=table, time=at(number), later=later)


def answer(engine: str, folder: Path) -> None:
    """Measure what comes as lines in this process: name of a query, clients, seconds."""
    ask: Ask
    if engine == "sdb":
        connection, table = sdb.connect(folder), TABLE

        def ask(text: str) -> object:
            with connection.sql(text) as result:
                return list(result)
    else:
        database, table = duckdb.connect(), f"'{folder}/events.parquet'"
        database.execute("SET TimeZone = 'UTC'; SET enable_progress_bar = false")

        def ask(text: str) -> object:
            return database.cursor().sql(text).fetchall()

    for line in sys.stdin:
        name, clients, seconds = json.loads(line)
        before = time.process_time()
        taken = load(lambda: ask, partial(text_of, name, table), clients, seconds)
        spent = 1000 * (time.process_time() - before) / (len(taken) + clients)
        print(json.dumps([taken, spent]), flush=True)


def load(
    client: Callable[[], Ask], text: Callable[[], str], clients: int, seconds: float
) -> list[float]:
    """Ask as clients do; return the milliseconds of each answer, but for the first of each."""
    taken: list[float] = []
    failures: list[BaseException] = []
    ready = threading.Barrier(clients)
    until = 0.0

    def run() -> None:
        nonlocal until
        try:
            ask = client()
            ask(text())
            ready.wait()
            until = until or time.monotonic() + seconds
            while time.monotonic() < until:
                before = time.perf_counter()
                ask(text())
                taken.append(1000 * (time.perf_counter() - before))
        except BaseException as error:  # noqa: BLE001 - told below
            failures.append(error)
            ready.abort()

    threads = [threading.Thread(target=run) for _ in range(clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]
    return sorted(taken)


class Process:
    """A Python process whose threads ask."""

    def __init__(self, folder: Path, name: str) -> None:
        self.name = name
        command = [sys.executable, "-m", "benchmarks.warm", "--answer", name, "--folder", folder]
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def run(self, name: str, clients: int, seconds: float) -> tuple[list[float], float]:
        """Return the milliseconds of answers, and those of processor time for each."""
        to, of = self._pipes()
        print(json.dumps([name, clients, seconds]), file=to, flush=True)
        taken, spent = json.loads(of.readline())
        return taken, spent

    def _pipes(self) -> tuple[TextIO, TextIO]:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        return self.process.stdin, self.process.stdout  # type: ignore[return-value]

    def close(self) -> None:
        self._pipes()[0].close()
        self.process.wait()


class Server:
    """`sdb serve`, which clients ask over connections that stay open."""

    name = "serve"

    def __init__(self, folder: Path) -> None:
        command = Path(sys.executable).parent / "sdb"
        options = ["--listen", "127.0.0.1:0", "--root", folder, "--waiting", "256"]
        self.process = subprocess.Popen(
            [command, "serve", *options], stderr=subprocess.PIPE, text=True
        )
        assert self.process.stderr is not None
        line = next(line for line in self.process.stderr if "http://" in line)
        self.address = line.split("http://")[1].split()[0].rstrip("/,.")
        threading.Thread(target=self.process.stderr.read, daemon=True).start()

    def run(self, name: str, clients: int, seconds: float) -> tuple[list[float], float]:
        """Return the milliseconds of answers, and those of processor time for each."""
        before = self._spent()
        taken = load(self._client, lambda: text_of(name, TABLE),
                     clients, seconds)  # fmt: skip
        return taken, 1000 * (self._spent() - before) / (len(taken) + clients)

    def _client(self) -> Ask:
        connection = http.client.HTTPConnection(self.address, timeout=60)

        def ask(text: str) -> object:
            connection.request("POST", "/v1/query", body=json.dumps({"sql": text}), headers=JSON)
            response = connection.getresponse()
            body = response.read()
            if response.status != http.HTTPStatus.OK:
                sys.exit(f"{response.status}: {body.decode()}")
            return body

        return ask

    def _spent(self) -> float:
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / TICK

    def close(self) -> None:
        self.process.terminate()
        self.process.wait()


def measure(engine: Process | Server, name: str, clients: int, options: argparse.Namespace) -> None:
    taken, spent = engine.run(name, clients, options.seconds)
    status = Path(f"/proc/{engine.process.pid}/status").read_text()
    peak = int(status.split("VmHWM:")[1].split()[0]) >> 10
    middle, late = taken[len(taken) // 2], taken[len(taken) * 99 // 100]
    print(
        f"{name:8} {clients:7} {engine.name:8} {middle:8.1f} {late:8.1f} {spent:8.2f} {peak:6}",
        flush=True,
    )


if __name__ == "__main__":
    main()
