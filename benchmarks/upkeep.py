"""Feeds that never end, and `sdb maintain` beside them: what grows, and what does not.

    python benchmarks/upkeep.py --seconds 600

Threads of one program append events one by one to `web.events`, and a pipe brings lines to
`web.app`; a third program maintains both. Every ten seconds it is counted what is there. With
`--short` versions are kept for minutes instead of days, so that ten minutes show what days do.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import sdb
from sdb.table.catalog.lookup import Versions

SHORT = {
    "versions": {"keep_last": 10, "thin": "1m:all,10m:10s"},
    "upkeep": {"grace": "1m"},
}
SDB = [sys.executable, "-m", "sdb.cli.main"]
TICKS = os.sysconf("SC_CLK_TCK")


def define(root: Path, name: str, *, short: bool) -> None:
    sdb.connect(root).create(name, "in/*.json")
    path = root / "db" / name.replace(".", "/") / "definition.json"
    definition = json.loads(path.read_text())
    path.write_text(json.dumps(definition | (SHORT if short else {})))


class Threads:
    """Threads that append one event each time, so many a second together."""

    def __init__(self, root: Path, count: int, rate: float) -> None:
        self._db = sdb.connect(root)
        self._pause = count / rate
        self._latencies: list[float] = []
        self._guard = threading.Lock()
        self.events = 0
        self.failures = 0
        self._stop = threading.Event()
        self._threads = [threading.Thread(target=self._work, args=(n,)) for n in range(count)]

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def _work(self, number: int) -> None:
        due = time.monotonic() + self._pause * number / len(self._threads)
        while not self._stop.wait(max(0.0, due - time.monotonic())):
            began = time.monotonic()
            try:
                self._db.append(
                    "web.events", [{"thread": number, "at": time.time(), "text": "x" * 80}]
                )
            except sdb.SdbError:
                self.failures += 1
            with self._guard:
                self.events += 1
                self._latencies.append(time.monotonic() - began)
            due = max(due + self._pause, time.monotonic() - 1)

    def latencies(self) -> list[float]:
        with self._guard:
            taken, self._latencies = self._latencies, []
        return taken

    def stop(self) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join()


def pour(process: subprocess.Popen[bytes], rate: float, stop: threading.Event) -> None:
    """Write lines to a pipe, ten times a second."""
    assert process.stdin is not None
    number, began = 0, time.monotonic()
    while not stop.wait(0.1):
        due = int((time.monotonic() - began) * rate)
        lines = [
            b'{"n": %d, "level": "info", "text": "a line of a log"}\n' % n
            for n in range(number, due)
        ]
        process.stdin.write(b"".join(lines))
        number = due
    process.stdin.close()


def cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def counted(root: Path, name: str) -> tuple[int, int, int, int, int]:
    """Count packfiles, versions that can be read, objects, bytes of metadata and of packfiles."""
    handle = sdb.connect(root).table(name).handle
    objects, metadata, data = 0, 0, 0
    for path in (root / "db" / name.replace(".", "/")).rglob("*"):
        try:
            size = path.stat().st_size if path.is_file() else -1
        except FileNotFoundError:
            continue
        if size >= 0:
            objects += 1
            metadata += 0 if path.suffix == ".zion" else size
            data += size if path.suffix == ".zion" else 0
    return handle.index.objects, Versions(handle).count, objects, metadata, data


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--events", type=float, default=1000)
    parser.add_argument("--threads", type=int, default=50)
    parser.add_argument("--lines", type=float, default=10_000)
    parser.add_argument("--interval", default="10s")
    parser.add_argument("--short", action="store_true")
    parser.add_argument("--without", action="store_true", help="do not maintain")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        run(asked, Path(folder))


def run(asked: argparse.Namespace, root: Path) -> None:
    for name in ("web.events", "web.app"):
        define(root, name, short=asked.short)
    maintain = None
    if not asked.without:
        command = [*SDB, "maintain", "-q", "--interval", asked.interval, "--min-free", "1MiB"]
        maintain = subprocess.Popen([*command, "--root", str(root)])
    pipe = subprocess.Popen(
        [*SDB, "insert", "-q", "--root", str(root), "web.app", "-"], stdin=subprocess.PIPE
    )
    stop = threading.Event()
    pourer = threading.Thread(target=pour, args=(pipe, asked.lines, stop))
    threads = Threads(root, asked.threads, asked.events)
    pourer.start()
    threads.start()
    began = time.monotonic()
    print("seconds table      packfiles versions objects metadata_kB data_kB p50_ms p95_ms max_ms")
    while time.monotonic() - began < asked.seconds:
        time.sleep(10)
        seconds = time.monotonic() - began
        for name in ("web.events", "web.app"):
            try:
                numbers = counted(root, name)
            except sdb.SdbError:
                continue
            latencies = sorted(threads.latencies()) if name == "web.events" else []
            shown = ""
            if latencies:
                p95 = latencies[int(len(latencies) * 0.95)]
                values = (statistics.median(latencies), p95, latencies[-1])
                shown = " ".join(f"{1e3 * value:6.0f}" for value in values)
            packfiles, versions, objects, metadata, data = numbers
            print(
                f"{seconds:7.0f} {name:10} {packfiles:9} {versions:8} {objects:7} "
                f"{metadata // 1024:11} {data // 1024:7} {shown}",
                flush=True,
            )
    cpu = 0.0 if maintain is None else cpu_seconds(maintain.pid)
    stop.set()
    pourer.join()
    threads.stop()
    pipe.wait()
    if maintain is not None:
        maintain.terminate()
        maintain.wait()
    seconds = time.monotonic() - began
    table = sdb.connect(root).table("web.events")
    rows = {name: len(sdb.connect(root).table(name)) for name in ("web.events", "web.app")}
    print(f"{threads.events / seconds:,.0f} events/s, {rows['web.app'] / seconds:,.0f} lines/s")
    print(f"rows {rows}, appends {threads.events:,}, failures {threads.failures}")
    print(f"maintain: {cpu:.1f} s of processor in {seconds:.0f} s, version {table.version:,}")
    if maintain is not None:
        print("exit code of maintain:", maintain.returncode)


if __name__ == "__main__":
    main()
