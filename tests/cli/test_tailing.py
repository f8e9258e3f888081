"""`sdb sync --tail`: log files that grow and are rotated, each line of them once."""

from __future__ import annotations

import gzip
import json
import os
import random
import signal
import subprocess
import threading
import time
from typing import TYPE_CHECKING, Any

import pytest

import sdb
from tests.cli.conftest import COMMAND, environment

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tests.cli.conftest import Run

SECONDS = 60


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    (tmp_path / "lake").mkdir()
    sdb.connect(tmp_path / "lake").create("d.t", "in/*.json")
    return tmp_path / "lake"


class Tailer:
    """A program that follows log files."""

    def __init__(self, folder: Path, *words: str) -> None:
        self.process = subprocess.Popen(
            [*COMMAND, "sync", "--root", "lake", "--json", *words],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=folder,
            env=environment(),
        )

    def event(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        event: dict[str, Any] = json.loads(self.process.stdout.readline())
        return event

    def end(self, number: int) -> tuple[int, str]:
        self.process.send_signal(number)
        _, err = self.process.communicate(timeout=SECONDS)
        return self.process.returncode, err.decode()


@pytest.fixture
def start(lake: Path) -> Iterator[Callable[..., Tailer]]:
    running: list[Tailer] = []

    def begin(*words: str) -> Tailer:
        running.append(Tailer(lake.parent, *words))
        return running[-1]

    yield begin
    for tailer in running:
        tailer.process.kill()
        tailer.process.communicate()


def numbers(lake: Path) -> list[int]:
    rows = sdb.connect(lake).sql("SELECT n FROM d.t").to_arrow().to_pylist()
    return sorted(row["n"] for row in rows)


def write(path: Path, first: int, last: int, end: str = "\n") -> None:
    with path.open("a") as file:
        file.write("\n".join(f'{{"n": {number}}}' for number in range(first, last)) + end)


def wait_for(lake: Path, count: int) -> None:
    until = time.monotonic() + SECONDS
    while len(rows := numbers(lake)) < count:
        assert time.monotonic() < until, sorted(set(range(count)) - set(rows))
        time.sleep(0.1)


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 0)])
def test_lines_come_in_until_a_signal(
    lake: Path, tmp_path: Path, start: Callable[..., Tailer], number: int, code: int
) -> None:
    log = tmp_path / "app.log"
    tailer = start("--tail", "app.log", "d.t", "--interval", "1h")
    assert tailer.process.stderr is not None
    assert b"app.log: not there yet" in tailer.process.stderr.readline()
    write(log, 0, 3)
    assert tailer.event()["rows"] == 3
    write(log, 3, 2000)
    write(log, 2000, 2001, end="")
    ended, said = tailer.end(number)
    assert ended == code
    assert "2,000 rows in 2 versions of d.t" in said
    assert numbers(lake) == list(range(2000))
    write(log, 2001, 2001)  # the end of the line
    again = start("d.t", "--tail", "app.log")
    assert again.event()["rows"] == 1
    assert again.end(signal.SIGTERM)[0] == 0
    assert numbers(lake) == list(range(2001))


def test_a_shell_makes_words_of_a_pattern(lake: Path, tmp_path: Path, run: Run) -> None:
    for at, name in enumerate("abc"):
        write(tmp_path / f"{name}.log", at * 10, at * 10 + 2)
    words = ["sync", "--root", "lake", "--once", "--tail", "a.log", "b.log", "c.log", "d.t"]
    result = run(*words)
    assert (result.returncode, result.stderr) == (0, b"")
    assert numbers(lake) == [0, 1, 10, 11, 20, 21]
    result = run("sync", "--root", "lake", "--once", "d.t", "--tail", "*.log", "--verbose")
    assert (result.returncode, result.stderr) == (0, b"sdb: nothing new\n")


def test_what_is_no_record(lake: Path, tmp_path: Path, run: Run) -> None:
    log = tmp_path / "app.log"
    log.write_text('{"n": 1}\n{bad\n{"n": 2}\n')
    write(tmp_path / "b.log", 5, 6)
    words = ["sync", "--root", "lake", "--once", "--tail", "*.log", "d.t"]
    failed = run(*words)
    assert failed.returncode == 6
    assert b"app.log" in failed.stderr
    assert 1 in numbers(lake)
    quarantined = run(*words, "--on-error", "quarantine:bad.txt")
    assert quarantined.returncode == 0
    assert b"skipped 1 record; kept in bad.txt" in quarantined.stderr
    assert (tmp_path / "bad.txt").read_text() == "{bad\n"
    assert numbers(lake) == [1, 2, 5]
    with log.open("a") as file:
        file.write("  at x.py\n")
    as_rows = run(*words, "--on-error", "keep")
    assert as_rows.returncode == 0
    assert b"kept 1 record as rows of `message`" in as_rows.stderr
    messages = sdb.sql("SELECT message FROM d.t WHERE message IS NOT NULL", root=str(lake))
    assert list(messages) == [{"message": "  at x.py"}]
    refused = run(*words, "--on-error", "quarantine:bad.log")
    assert refused.returncode == 2
    assert b"it is one of the files that are followed" in refused.stderr


def test_words_and_options_that_do_not_fit(lake: Path, tmp_path: Path, run: Run) -> None:
    assert lake.is_dir()
    write(tmp_path / "a.log", 0, 1)
    os.mkfifo(tmp_path / "pipe")
    for words, code in (
        (["--tail", "a.log", "d.none"], 3),
        (["--tail", "a.log", "none"], 2),
        (["--tail", "a.log", "d.t@b"], 2),
        (["--tail", "s3://bucket/a.log", "d.t"], 2),
        (["--tail", "-", "d.t"], 2),
        (["--tail", "a.log", "d.t", "--dry-run"], 2),
        (["--tail", "a.log", "d.t", "--changed", "replace"], 2),
        (["--tail", "a.log", "d.t", "--branch", "b"], 2),
        (["--tail", "a.log", "d.t", "--batch", "0"], 2),
        (["--once", "d.t"], 2),
        (["--tail", "none.log", "--once", "d.t"], 3),
        (["--tail", "lake", "d.t"], 2),
        (["--tail", "pipe", "d.t"], 2),
        (["-f", "text", "d.t"], 2),
        (["--times", "none", "d.t"], 2),
        (["--tail", "a.log", "d.t", "--timezone", "Nowhere/There"], 2),
        (["d", "t", "x"], 2),
    ):
        result = run("sync", "--root", "lake", *words)
        assert result.returncode == code, (words, result.stderr)
        assert result.stderr.count(b"\n") <= 3, result.stderr


def test_follow_needs_a_source_and_a_table(lake: Path, tmp_path: Path, run: Run) -> None:
    write(tmp_path / "a.log", 0, 2)
    write(tmp_path / "b.log", 2, 3)
    assert run("follow", "--root", "lake", "a.log", "b.log", "--once", "d.t").returncode == 0
    assert numbers(lake) == [0, 1, 2]
    (tmp_path / "inbox").mkdir()
    (tmp_path / "inbox/app.log").write_text("no message\n")
    for words, message in (
        (["a.log"], b"a.log: which table takes its lines?"),
        (["inbox", "d.t"], b"a queue with --queue"),
        (["a.log", "s3://bucket/b.log", "d.t"], b"no log file of this machine"),
        (["--queue", "inbox"], b"a queue and its tables are two or three words"),
        (["--queue", "inbox", "d.t", "--settle", "1s"], b"--settle: not for a queue"),
        (["--queue", "inbox", "d.t", "--batch", "5"], b"--batch: not for a queue"),
        (["d.t", "--once"], b"--once: not for inputs of definitions"),
        (["a.log", "d.t", "--changed", "keep"], b"--changed: not for log files"),
    ):
        refused = run("follow", "--root", "lake", *words)
        assert refused.returncode == 2, (words, refused.stderr)
        assert message in refused.stderr, (words, refused.stderr)
    assert (tmp_path / "inbox/app.log").read_text() == "no message\n"


def test_lines_of_logs_and_their_times(lake: Path, tmp_path: Path, run: Run) -> None:
    (tmp_path / "access.log").write_text(
        '1.2.3.4 - bo [10/Oct/2026:13:55:36 -0700] "GET /a HTTP/1.1" 200 5 "-" "curl/8"\n'
    )
    words = ["sync", "--root", "lake", "--once", "--tail", "access.log", "d.t"]
    assert run(*words).returncode == 0
    rows = sdb.connect(lake).sql("SELECT status, time FROM d.t").to_arrow().to_pylist()
    assert (rows[0]["status"], rows[0]["time"].isoformat()[:16]) == (200, "2026-10-10T20:55")


def test_times_of_lines_are_read_as_they_are_told(lake: Path, tmp_path: Path, run: Run) -> None:
    (tmp_path / "app.log").write_text('{"ts":1709528767.5,"at":"04/03/2024 06:06"}\n')
    words = ["sync", "--root", "lake", "--once", "--tail", "app.log", "d.t"]
    fields = ["--time-field", "ts:unix", "--time-field", "at:%d/%m/%Y %H:%M"]
    assert run(*words, *fields, "--timezone", "Europe/Berlin").returncode == 0
    (row,) = sdb.connect(lake).sql("SELECT ts, at FROM d.t").to_arrow().to_pylist()
    times = [row[name].isoformat()[:21] for name in ("ts", "at")]
    assert times == ["2024-03-04T05:06:07.5", "2024-03-04T05:06:00+0"]


def test_positions_are_listed(lake: Path, tmp_path: Path, run: Run) -> None:
    write(tmp_path / "a.log", 0, 1)
    assert run("sync", "--root", "lake", "--once", "--tail", "a.log", "d.t").returncode == 0
    listed = json.loads(run("inputs", "--root", "lake", "d.t", "--json").stdout)["inputs"]
    assert len(listed) == 1
    assert listed[0]["state"] == "tailed"
    assert listed[0]["reason"] == f"9 bytes of {tmp_path}/a.log"
    assert lake.is_dir()
    assert run("validate", "--root", "lake", "d.t").returncode == 0
    # A sync of the table's own inputs is not in the way.
    assert run("sync", "--root", "lake", "d.t").returncode == 0


class Logger:
    """A program that writes lines to a log, and rotates it as logrotate does."""

    def __init__(self, folder: Path, dice: random.Random) -> None:
        self.folder, self.log = folder, folder / "app.log"
        self._dice = dice
        self._stop = threading.Event()
        self.count = 1
        self._file = self.log.open("ab", buffering=0)
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def end(self) -> None:
        self._stop.set()
        self._thread.join()
        self._file.close()

    def _run(self) -> None:
        while not self._stop.is_set():
            for _ in range(self._dice.randrange(1, 60)):
                line = b'{"n": %d, "x": "%b"}\n' % (self.count, b"y" * self._dice.randrange(200))
                cut = self._dice.randrange(len(line))
                self._file.write(line[:cut])
                self._file.write(line[cut:])
                self.count += 1
            time.sleep(self._dice.random() / 40)
            if self._dice.random() < 0.06:
                self._rotate()

    def _rotate(self) -> None:
        numbers = [int(path.name.split(".")[2]) for path in self.folder.glob("app.log.*")]
        for old in sorted(numbers, reverse=True):
            for ending in ("", ".gz"):
                path = self.folder / f"app.log.{old}{ending}"
                if path.exists():
                    path.rename(self.folder / f"app.log.{old + 1}{ending}")
        self.log.rename(self.folder / "app.log.1")
        if self._dice.random() < 0.5:  # it hears of the rotation later
            self._file.write(b'{"n": %d}\n' % self.count)
            self.count += 1
        self._file.close()
        self._file = self.log.open("ab", buffering=0)
        second = self.folder / "app.log.2"
        if second.exists():
            subprocess.run(["gzip", second], check=True)


@pytest.mark.timeout(600)
@pytest.mark.parametrize("kills", [5, pytest.param(60, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", ["app.log", "app.log*"])
def test_kills_and_rotations(
    lake: Path, tmp_path: Path, start: Callable[..., Tailer], name: str, kills: int
) -> None:
    dice = random.Random(20261126)
    write(tmp_path / "app.log", 0, 1)
    wait = start("--tail", name, "d.t", "--interval", "100ms")
    wait.event()  # what was rotated before that is not of interest without a pattern
    logger = Logger(tmp_path, dice)
    try:
        for _ in range(kills):
            time.sleep(dice.random())
            wait.process.kill()
            wait.process.communicate()
            wait = start("--tail", name, "d.t", "--interval", "100ms")
            time.sleep(0.5 + dice.random())
    finally:
        logger.end()
    wait_for(lake, logger.count)
    assert wait.end(signal.SIGTERM)[0] == 0
    assert numbers(lake) == list(range(logger.count))
    names = [path.name for path in tmp_path.glob("app.log.*")]
    assert any(name.endswith(".gz") for name in names), names


def test_several_programs_and_files(
    lake: Path, tmp_path: Path, start: Callable[..., Tailer]
) -> None:
    words = ("d.t", "--interval", "100ms", "--tail")
    tailers = [start(*words, "a.log"), start(*words, "a.log"), start(*words, "b.log")]
    for at in range(0, 400, 20):
        write(tmp_path / "a.log", at, at + 10)
        write(tmp_path / "b.log", at + 10, at + 20)
        time.sleep(0.1)
    wait_for(lake, 400)
    assert [tailer.end(signal.SIGTERM)[0] for tailer in tailers] == [0, 0, 0]
    assert numbers(lake) == list(range(400))


def test_damaged_gzip_is_said(lake: Path, tmp_path: Path, run: Run) -> None:
    write(tmp_path / "app.log", 0, 1)
    data = gzip.compress(b'{"n": 5}\n' * 1000)
    (tmp_path / "app.log.1.gz").write_bytes(data[: len(data) // 2])
    words = ["sync", "--root", "lake", "--once", "--tail", "app.log*", "d.t", "--settle", "0s"]
    result = run(*words)
    assert result.returncode == 0
    assert b"app.log.1.gz: damaged gzip" in result.stderr
    assert numbers(lake) == [0]
