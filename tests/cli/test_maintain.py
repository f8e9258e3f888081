"""`sdb maintain` on the command line: once, for ever, and told to stop."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest

import sdb
from tests import patience

if TYPE_CHECKING:
    from pathlib import Path

    from tests.cli.conftest import Run


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    """Two tables of nine packfiles each."""
    connection = sdb.connect(tmp_path)
    for name in ("d.t", "d.u"):
        connection.create(name, "in/*.json")
        for number in range(9):
            connection.append(name, [{"n": number}])
    return tmp_path


@pytest.mark.usefixtures("lake")
def test_once(run: Run) -> None:
    foreseen = run("maintain", "--once", "-n")
    assert b"sdb: d.t: 9 packfiles, " in foreseen.stderr
    assert b"would become 1\n" in foreseen.stderr
    assert b"insert" in run("log", "-n", "1", "d.t").stdout
    listed = run("maintain", "--once", "--json", "d.t").stdout.splitlines()
    (line,) = map(json.loads, listed)
    assert (line["table"], line["action"], line["version"]) == ("d.t", "compact", 10)
    assert (line["packfiles"], line["packfiles_made"]) == (9, 1)
    assert b"compact" in run("log", "-n", "1", "d.t").stdout
    assert b"nothing to do" in run("maintain", "--once", "d", "t").stderr
    done = run("maintain", "--once", "d", "u*")
    assert b"became 1 (version 10)" in done.stderr
    assert run("maintain", "--once", "-q").stderr == b""


@pytest.mark.usefixtures("lake")
@pytest.mark.parametrize(
    ("words", "code", "text"),
    [
        (["d.v"], 3, "there is no table d.v"),
        (["e"], 3, "e"),
        (["d", "v*"], 3, "no table of d below . fits 'v*'"),
        (["--cpu", "0%"], 2, "--cpu '0%'"),
        (["--cpu", "x"], 2, "--cpu 'x'"),
        (["--grace", "1"], 2, "'1' is not a span of time"),
        (["--min-free", "x"], 2, "--min-free"),
        (["--once", "--interval", "1s"], 2, "--once ends"),
        (["--once", "--watch"], 2, "--watch keeps running"),
        (["--interval", "0"], 2, "--interval '0'"),
    ],
)
def test_wrong_words(run: Run, words: list[str], code: int, text: str) -> None:
    done = run("maintain", "--root", ".", *words, *([] if "--interval" in words else ["-n"]))
    assert done.returncode == code
    assert text in done.stderr.decode()
    assert b"Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGTERM, 0), (signal.SIGINT, 130)], ids=["term", "int"]
)
def test_it_goes_on_until_it_is_told_to_stop(lake: Path, number: signal.Signals, code: int) -> None:
    command = [sys.executable, "-m", "sdb.cli.main", "maintain", "--json", "--watch"]
    with subprocess.Popen(
        [*command, "--interval", "200ms", "--cpu", "100%", "--root", str(lake)],
        stdout=subprocess.PIPE,
    ) as process:
        assert process.stdout is not None
        tables = {json.loads(process.stdout.readline())["table"] for _ in range(2)}
        assert tables == {"d.t", "d.u"}
        connection = sdb.connect(lake)
        for value in range(8):
            connection.append("d.t", [{"n": value}])
        assert json.loads(process.stdout.readline())["action"] == "compact"
        began = time.monotonic()
        os.kill(process.pid, number)
        process.wait(60)
        assert process.returncode == code
        assert time.monotonic() - began < patience.soon(2.0)
    assert connection.table("d.t").validate().ok
    assert len(connection.table("d.t").to_arrow()) == 17
    assert not json.loads((lake / "db/d/t/upkeep").read_text())["holder"]


def test_a_damaged_table_stops_no_other(run: Run, lake: Path) -> None:
    (lake / "db/d/t/index").write_bytes(b"nonsense")
    done = run("maintain")
    assert done.returncode == 6
    assert b"d.u: 9 packfiles" in done.stderr
    assert b"Traceback" not in done.stderr
