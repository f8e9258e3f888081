"""The service beside roapi and datasette, on the same rows, in the same run.

    .venv/bin/python benchmarks/serve.py --rows 200_000 --clients 16 --seconds 10

prints a line of JSON for each server and question: answers a second, and how long half and 99 % of
them took. `roapi` and `datasette` are found in the folder of Python, in `--peers`, or in PATH;
those that are not there are left out, which a line says. Questions are asked again and again: `sdb`
answers them from what it has kept, as it does for dashboards, and looks at the index each time.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import re
import shutil
import socket
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from urllib.parse import urlencode

import pyarrow as pa
import pyarrow.parquet as pq

import sdb

COUNT = "SELECT COUNT(*) AS n FROM {t}"
WINDOW = "SELECT COUNT(*) AS n, SUM(size) AS s FROM {t} WHERE id >= {low} AND id < {high}"
ALL = "SELECT * FROM {t}"


class Server:
    """A server as a process."""

    def __init__(self, name: str, command: list[str], port: int, probe: str) -> None:
        self.name, self.port = name, port
        began = time.monotonic()
        self.process = subprocess.Popen(
            command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=tempfile.gettempdir()
        )
        while self.ask(probe)[0] != 200:
            if self.process.poll() is not None or time.monotonic() - began > 120:
                raise SystemExit(f"{name} does not begin: {command}")
            time.sleep(0.005)
        self.start_seconds = time.monotonic() - began

    def ask(self, path: str, **headers: str) -> tuple[int, int, str]:
        """Return status, bytes and tag of an answer."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=120)
        try:
            return answered(connection, self.method, path, self.body, headers)
        except OSError:
            return 0, 0, ""
        finally:
            connection.close()

    method, body = "GET", None

    @property
    def memory_mib(self) -> float:
        """The most memory that it has had."""
        text = Path(f"/proc/{self.process.pid}/status").read_text()
        peak = re.search(r"VmHWM:\s+(\d+)", text)
        return int(peak[1]) / 1024 if peak else 0.0

    def close(self) -> None:
        """End it."""
        self.process.kill()
        self.process.wait()


def answered(
    connection: http.client.HTTPConnection,
    method: str,
    path: str,
    body: str | None,
    headers: dict[str, str],
) -> tuple[int, int, str]:
    """Read an answer in pieces."""
    connection.request(method, path, body=body, headers=headers)
    answer = connection.getresponse()
    size = 0
    while piece := answer.read(1 << 18):
        size += len(piece)
    return answer.status, size, answer.headers.get("etag", "")


def load(
    server: Server, path: str, body: str | None, clients: int, seconds: float, tag: str = ""
) -> dict[str, object]:
    """Ask one thing again and again, over connections that stay."""
    method = "POST" if body else "GET"
    headers = {"if-none-match": tag} if tag else {}
    times: list[float] = []
    statuses: set[int] = set()
    stop = time.monotonic() + seconds

    def run() -> None:
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=120)
        while time.monotonic() < stop:
            began = time.perf_counter()
            status, _, _ = answered(connection, method, path, body, headers)
            times.append(time.perf_counter() - began)
            statuses.add(status)
        connection.close()

    threads = [threading.Thread(target=run) for _ in range(clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    ordered = sorted(times)
    return {
        "answers_per_second": round(len(times) / seconds),
        "p50_ms": round(statistics.median(ordered) * 1000, 2),
        "p99_ms": round(ordered[int(len(ordered) * 0.99)] * 1000, 2),
        "statuses": sorted(statuses),
    }


def wrk(server: Server, path: str, clients: int, seconds: float, tag: str) -> dict[str, object]:
    """Ask with wrk, which takes less of the processors than threads of Python."""
    command = ["wrk", "-t1", f"-c{clients}", f"-d{seconds:g}s", "--latency"]
    command += ["-H", f"If-None-Match: {tag}", f"http://127.0.0.1:{server.port}{path}"]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    rate, p50, p99 = (
        re.search(pattern, text)
        for pattern in (r"Requests/sec:\s+([\d.]+)", r"\n\s+50%\s+(\S+)", r"\n\s+99%\s+(\S+)")
    )
    assert rate
    assert p50
    assert p99
    return {"answers_per_second": round(float(rate[1])), "p50": p50[1], "p99": p99[1]}


def free_port() -> int:
    """Return a port that nobody listens on."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def rows(count: int) -> pa.Table:
    """Make rows like those of a log of requests."""
    numbers = range(count)
    return pa.table(
        {
            "id": pa.array(numbers),
            "size": pa.array([number * 7919 % 100_003 for number in numbers]),
            "user": pa.array([f"user{number * 31 % 5_000:05}" for number in numbers]),
            "path": pa.array(
                [f"/items/{number % 977}/{number * 13 % 10_007}" for number in numbers]
            ),
            "agent": pa.array(
                ["Mozilla/5.0 (X11; Linux x86_64) " * 3 + str(n % 40) for n in numbers]
            ),
        }
    )


def made(folder: Path, count: int) -> None:
    """Write the rows for each server."""
    table = rows(count)
    pq.write_table(table, folder / "logs.parquet")
    db = sdb.connect(folder / "lake")
    db.create("web.logs", "in/*.parquet")
    db.append("web.logs", folder / "logs.parquet")
    with sqlite3.connect(folder / "logs.db") as connection:
        columns = ", ".join(table.column_names)
        connection.execute(f"CREATE TABLE logs ({columns})")
        marks = ", ".join("?" * table.num_columns)
        values = zip(*(column.to_pylist() for column in table.columns), strict=True)
        connection.executemany(f"INSERT INTO logs VALUES ({marks})", values)
        connection.execute("CREATE INDEX of_id ON logs (id)")


def begun(name: str, folder: Path, peers: str) -> Server | None:
    """Begin a server; None: it is not installed."""
    port = free_port()
    path = os.pathsep.join([str(Path(sys.executable).parent), peers, os.environ["PATH"]])
    program = shutil.which(name, path=path)
    if program is None:
        print(json.dumps({"server": name, "left_out": "it is not installed"}), flush=True)
        return None
    where = f"127.0.0.1:{port}"
    match name:
        case "sdb":
            root = str(folder / "lake")
            command = [program, "serve", "--root", root, "--listen", where, "--quiet"]
            return Server(name, command, port, "/healthz")
        case "datasette":
            command = [program, "serve", str(folder / "logs.db"), "-p", str(port)]
            command += ["--setting", "max_returned_rows", "1000000000"]
            command += ["--setting", "sql_time_limit_ms", "60000"]
            return Server(name, command, port, "/-/versions.json")
        case _:
            table = f"logs={folder / 'logs.parquet'}"
            command = [program, "-t", table, "--addr-http", where]
            command += ["--addr-postgres", f"127.0.0.1:{free_port()}"]
            command += ["--addr-flight-sql", f"127.0.0.1:{free_port()}"]
            return Server(name, command, port, "/health")


def path_of(server: Server, sql: str) -> tuple[str, str | None]:
    """Return how a server is asked a query: its path, and the body if it takes one."""
    match server.name:
        case "sdb":
            return "/v1/query?" + urlencode({"sql": sql.format(t="web.logs")}), None
        case "datasette":
            shape = {"_shape": "arrays", "sql": sql.format(t="logs")}
            return "/logs.json?" + urlencode(shape), None
        case _:
            return "/api/sql", sql.format(t="logs")


def measured(server: Server, count: int, clients: int, seconds: float) -> None:
    """Ask a server everything, and print what it takes."""

    def say(what: str, facts: dict[str, object]) -> None:
        print(json.dumps({"server": server.name, "what": what, **facts}), flush=True)

    say("begin", {"seconds": round(server.start_seconds, 3)})
    low = count // 2
    window = WINDOW.replace("{low}", str(low)).replace("{high}", str(low + count // 100))
    for what, sql in (("count", COUNT), ("window of 1 %", window)):
        path, body = path_of(server, sql)
        load(server, path, body, 1, min(2.0, seconds))
        say(f"{what}, 1 client", load(server, path, body, 1, seconds))
        say(f"{what}, {clients} clients", load(server, path, body, clients, seconds))
    path, body = path_of(server, COUNT)
    _, _, tag = server.ask(path) if body is None else (0, 0, "")
    if not tag:
        say("304", {"left_out": "it has no tags"})
    elif shutil.which("wrk"):
        say(f"304, {clients} clients", wrk(server, path, clients, seconds, tag))
    else:
        say(f"304, {clients} clients", load(server, path, None, clients, seconds, tag))
    path, server.body = path_of(server, ALL)
    server.method = "GET" if server.body is None else "POST"
    began = time.perf_counter()
    status, size, _ = server.ask(path)
    spent = time.perf_counter() - began
    facts = {"status": status, "bytes": size, "mib_per_second": round(size / spent / (1 << 20), 1)}
    say("all rows", {**facts, "peak_mib": round(server.memory_mib, 1)})


def main() -> None:
    """Measure each server in turn."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--clients", type=int, default=16)
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--peers", default="", help="a folder with roapi and datasette")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        made(folder, options.rows)
        began = time.perf_counter()
        with (folder / "all.json").open("wb") as output:
            sdb.sql("SELECT * FROM web.logs", root=str(folder / "lake"), typed=False).write(output)
        size = (folder / "all.json").stat().st_size
        speed = round(size / (time.perf_counter() - began) / (1 << 20), 1)
        print(json.dumps({"server": "none", "what": "all rows in Python", "mib_per_second": speed}))
        for each in ("sdb", "roapi", "datasette"):
            server = begun(each, folder, options.peers)
            if server is not None:
                try:
                    measured(server, options.rows, options.clients, options.seconds)
                finally:
                    server.close()


if __name__ == "__main__":
    main()
