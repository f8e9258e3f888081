"""`sdb insert -`: the lines of a pipe that goes on, each of them once."""

from __future__ import annotations

import json
import random
import signal
import subprocess
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import sdb
from tests.cli.conftest import COMMAND, environment

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.cli.conftest import Run

SECONDS = 30


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    (tmp_path / "lake").mkdir()
    sdb.connect(tmp_path / "lake").create("d.t", "in/*.json")
    return tmp_path / "lake"


class Writer:
    """An insert that reads from a pipe that the test writes to."""

    def __init__(self, folder: Path, *more: str) -> None:
        self.process = subprocess.Popen(
            [*COMMAND, "insert", "--root", "lake", "d.t", "-", "--json", *more],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=folder,
            env=environment(),
            bufsize=0,
        )

    def write(self, data: bytes) -> None:
        assert self.process.stdin is not None
        view = memoryview(data)
        while view:
            view = view[self.process.stdin.write(view) :]

    def event(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        facts: dict[str, Any] = json.loads(self.process.stdout.readline())
        return facts

    def end(self, number: int = 0) -> tuple[int, list[dict[str, Any]], str]:
        if number:
            self.process.send_signal(number)
            self.process.wait(SECONDS)  # who writes is not at its end
        out, err = self.process.communicate(timeout=SECONDS)
        return (
            self.process.returncode,
            [json.loads(line) for line in out.splitlines()],
            err.decode(),
        )

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.communicate()


@pytest.fixture
def start(lake: Path) -> Iterator[Any]:
    running: list[Writer] = []

    def begin(*more: str) -> Writer:
        running.append(Writer(lake.parent, *more))
        return running[-1]

    yield begin
    for writer in running:
        writer.close()


def numbers(lake: Path) -> list[int]:
    actual = sdb.connect(lake).sql("SELECT n FROM d.t").to_arrow().to_pylist()
    return sorted(row["n"] for row in actual)


def rows(first: int, last: int) -> bytes:
    return b"".join(b'{"n": %d}\n' % number for number in range(first, last))


def test_lines_are_committed_while_the_pipe_is_open(lake: Path, start: Any) -> None:
    writer = start("--interval", "200ms")
    writer.write(rows(0, 3))
    assert (first := writer.event())["rows"] == 3
    assert numbers(lake) == [0, 1, 2]
    writer.write(rows(3, 5) + b'{"n": ')
    assert writer.event()["version"] > first["version"]
    assert numbers(lake) == [0, 1, 2, 3, 4]
    writer.write(b"5}\n")
    assert writer.event()["rows"] == 1
    code, events, said = writer.end()
    assert (code, events) == (0, [])
    assert "6 rows in 3 versions of d.t, the newest 3" in said
    assert numbers(lake) == list(range(6))


def test_a_batch_does_not_wait(lake: Path, start: Any) -> None:
    writer = start("--interval", "1h", "--batch", "100")
    writer.write(rows(0, 250))
    assert [writer.event()["rows"] for _ in range(2)] == [100, 100]
    assert numbers(lake) == list(range(200))
    code, events, _ = writer.end()
    assert (code, [event["rows"] for event in events]) == (0, [50])
    sized = start("--interval", "1h", "--batch", "1KiB")
    sized.write(rows(250, 1000))
    assert sum(sized.event()["rows"] for _ in range(5)) > 300
    assert sized.end()[0] == 0
    assert numbers(lake) == list(range(1000))


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 0)])
def test_signals_commit_what_was_read(lake: Path, start: Any, number: int, code: int) -> None:
    writer = start("--interval", "1h")
    writer.write(rows(0, 1))
    time.sleep(1)
    writer.write(rows(1, 2000) + b'{"n": 2000')
    ended, events, said = writer.end(number)
    assert ended == code
    assert sum(event["rows"] for event in events) == 2000
    assert "not taken: 10 bytes of a line whose end was not read" in said
    assert numbers(lake) == list(range(2000))


def test_a_line_cut_by_the_end(lake: Path, run: Run) -> None:
    result = run("insert", "--root", "lake", "d.t", "-", data=rows(0, 2) + b'{"n": 2}')
    assert result.returncode == 0
    assert b"the last line has no end: it was taken as it is" in result.stderr
    assert numbers(lake) == [0, 1, 2]
    cut = run("insert", "--root", "lake", "d.t", "-", data=rows(3, 5) + b'{"n": ')
    assert cut.returncode == 6
    assert b"line 3" in cut.stderr
    assert b"1 line that had been read: not in the table" in cut.stderr
    assert numbers(lake) == list(range(5))


def test_lines_that_are_no_records(lake: Path, run: Run, tmp_path: Path) -> None:
    data = rows(0, 2) + b"{bad\n" + rows(2, 3) + b"worse\n"
    words = ["insert", "--root", "lake", "d.t", "-", "--batch", "2"]
    failed = run(*words, data=data)
    assert failed.returncode == 6
    assert b"standard input behind line 2: line 1: " in failed.stderr
    assert numbers(lake) == [0, 1]
    result = run(
        *words, "--on-error", "quarantine:bad.txt", data=data.replace(rows(0, 2), rows(5, 7))
    )
    assert result.returncode == 0
    assert b"skipped 2 records; kept in bad.txt; first standard input" in result.stderr
    assert (tmp_path / "bad.txt").read_bytes() == b"{bad\nworse\n"
    again = run(*words, "--on-error", "quarantine:bad.txt", data=b'{"n": 9}\nx\n')
    assert again.returncode == 0
    assert (tmp_path / "bad.txt").read_bytes() == b"{bad\nworse\nx\n"
    assert numbers(lake) == [0, 1, 2, 5, 6, 9]
    as_rows = run(*words, "--on-error", "keep", "--json", data=b'{"n": 10}\ny\n')
    assert b"kept 1 record as rows of `message`" in as_rows.stderr
    assert json.loads(as_rows.stdout.splitlines()[-1])["kept"] == 1


def test_nothing_is_lost_while_the_table_cannot_be_written(lake: Path, start: Any) -> None:
    writer = start("--interval", "100ms", "--batch", "64KiB")
    writer.write(rows(0, 10))
    assert writer.event()["rows"] == 10
    data = lake / "db/d/t/data"
    data.rename(lake / "saved")
    data.touch()  # nothing can be written below a file
    total = 600_000
    feeder = threading.Thread(target=writer.write, args=(rows(10, total),))
    feeder.start()
    time.sleep(2)
    assert feeder.is_alive()  # who writes has to wait
    data.unlink()
    (lake / "saved").rename(data)
    feeder.join(SECONDS)
    code, _, said = writer.end()
    assert code == 0
    assert "trying again" in said
    assert "it works again" in said
    assert numbers(lake) == list(range(total))


def test_what_is_lost_is_told(lake: Path, start: Any) -> None:
    writer = start("--interval", "100ms")
    writer.write(rows(0, 1))
    assert writer.event()["rows"] == 1
    (lake / "db").rename(lake / "gone")
    writer.write(rows(1, 8))
    code, _, said = writer.end()
    assert code == 3
    assert "7 lines that had been read: not in the table" in said


def test_several_pipes_at_once(lake: Path, start: Any) -> None:
    chance = random.Random(3)
    writers = [start("--interval", "100ms") for _ in range(3)]
    at = 0
    for _ in range(60):
        count = chance.randrange(1, 40)
        chance.choice(writers).write(rows(at, at + count))
        at += count
        time.sleep(chance.random() / 50)
    ends = [writer.end() for writer in writers]
    assert [code for code, _, _ in ends] == [0, 0, 0]
    assert numbers(lake) == list(range(at))


def test_kills_lose_nothing_that_was_committed(lake: Path, start: Any) -> None:
    chance = random.Random(11)
    at, reported = 0, 0
    for _ in range(6):
        writer = start("--interval", "100ms")
        first = at
        for _ in range(4):
            writer.write(rows(at, at + 50))
            at += 50
        told_here = 0
        while told_here < 50:
            told_here += writer.event()["rows"]
        reported += told_here
        time.sleep(chance.random() / 4)
        writer.process.kill()
        writer.close()
        here = [number for number in numbers(lake) if number >= first]
        assert here == list(range(first, first + len(here)))  # no gap, and none twice
        assert len(here) >= told_here


def test_long_lines_and_empty_ones(lake: Path, run: Run) -> None:
    data = b'\n\n{"n": 1}\n{"n": 2, "x": "' + b"y" * (9 << 20) + b'"}\n{"n": 3}\n'
    words = ["insert", "--root", "lake", "d.t", "-", "--batch", "1MiB", "--on-error", "skip"]
    result = run(*words, data=data)
    assert result.returncode == 0
    assert b"longer than a row can be" in result.stderr
    assert numbers(lake) == [1, 3]


def test_records_over_several_lines_are_one_version(lake: Path, run: Run) -> None:
    pretty = json.dumps({"n": 1}, indent=2).encode() + b"\n"
    array = json.dumps([{"n": 2}, {"n": 3}]).encode()
    for data in (pretty, array):
        assert run("insert", "--root", "lake", "d.t", "-", data=data).returncode == 0
    assert numbers(lake) == [1, 2, 3]
    for data in (pretty, array):
        refused = run("insert", "--root", "lake", "d.t", "--batch", "5", data=data)
        assert refused.returncode == 2
        assert b"standard input is not one record a line" in refused.stderr
    csv = run("insert", "--root", "lake", "d.t", "-f", "csv", "-", data=b"n\n4\n5\n")
    assert csv.returncode == 0
    assert numbers(lake) == [1, 2, 3, 4, 5]


def test_options_that_do_not_go_together(lake: Path, run: Run) -> None:
    assert lake.is_dir()
    for words in (
        ["x.json", "--interval", "1s"],
        ["-", "--interval", "1s", "--txn-id", "a"],
        ["-", "--batch", "0"],
        ["-", "--batch", "2GiB"],
        ["-", "--batch", "many"],
        ["-", "--interval", "0s"],
    ):
        result = run("insert", "--root", "lake", "d.t", *words, data=rows(0, 1))
        assert result.returncode == 2, words
    once = [
        run("insert", "--root", "lake", "d.t", "-", "--txn-id", "a", data=rows(0, 2)) for _ in "12"
    ]
    assert [result.returncode for result in once] == [0, 0]
    assert numbers(lake) == [0, 1]


def test_memory_is_bounded(lake: Path, start: Any) -> None:
    writer = start("--interval", "100ms", "--batch", "1MiB")
    line = b'{"n": 1, "x": "%b"}\n' % (b"y" * 1000)
    for _ in range(60):
        writer.write(line * 1000)
    status = Path(f"/proc/{writer.process.pid}/status").read_text()
    peak = next(line for line in status.splitlines() if line.startswith("VmHWM"))
    assert int(peak.split()[1]) < 400 << 10
    assert writer.end()[0] == 0
    assert len(numbers(lake)) == 60_000
