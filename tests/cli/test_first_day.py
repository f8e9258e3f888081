"""The first day of somebody with a folder of logs: two commands, then answers."""

from __future__ import annotations

import gzip
import json
import os
import pty
import shutil
import signal
import subprocess
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.cli.conftest import COMMAND, environment

if TYPE_CHECKING:
    from tests.cli.conftest import Run

SAMPLES = Path(__file__).parents[2] / "testdata/field/logs"


def fill(target: Path) -> None:
    """Fill a folder with some thirty files of many forms; three of them are broken."""
    target.mkdir()
    for path in SAMPLES.glob("*.log"):
        shutil.copy(path, target)
    for day in range(4, 8):
        rows = [
            {"time": f"2026-03-{day:02}T{hour:02}:00:00Z", "level": level, "ms": hour * 10}
            for hour in range(20)
            for level in ("INFO", "ERROR")[: 1 + hour % 2]
        ]
        (target / f"app-{day}.json").write_text("".join(json.dumps(row) + "\n" for row in rows))
        (target / f"items-{day}.csv").write_text("id,n\n007,1\n008,2\n")
    lines = [f'{{"ms": 100, "id": "{sha256(b"%d" % n).hexdigest()}"}}\n' for n in range(3000)]
    zipped = gzip.compress("".join(lines).encode())
    (target / "whole.json.gz").write_bytes(zipped)
    (target / "torn.json.gz").write_bytes(zipped[: len(zipped) // 2])
    (target / "blob.bin").write_bytes(b"\x00\x01\x02 no format at all\n")
    (target / "cut.json").write_text('{"level":"INFO","ms":1}\n{"level":"INF')


def test_thirty_files_are_packed_in_two_commands_and_answer(run: Run, tmp_path: Path) -> None:
    fill(tmp_path / "day")
    assert len(list((tmp_path / "day").iterdir())) == 32
    refused = run("pack", "-o", "day.zion", "day")
    assert refused.returncode == 6
    said = refused.stderr.decode()
    assert "day/blob.bin: unknown format" in said
    assert "-f text makes a row of each line" in said
    packed = run("pack", "--on-error", "skip", "-o", "day.zion", "day")
    assert packed.returncode == 0, packed.stderr
    said = packed.stderr.decode()
    assert "day/blob.bin: unknown format" in said
    assert "; left out\n" in said
    assert "skipped 2 records" in said
    assert "day/torn.json.gz: gzip: the data is cut off" in said
    assert "the rows before that are packed" in said
    assert (
        "day/cut.json"
        in run("pack", "--on-error", "fail", "-o", "x.zion", "day/cut.json").stderr.decode()
    )

    def rows(sql: str) -> list[dict[str, object]]:
        result = run("query", "--fmt", "json", sql)
        assert result.returncode == 0, result.stderr
        return [json.loads(line) for line in result.stdout.splitlines()]

    by_hour = rows(
        "SELECT DATE_TRUNC(HOUR, time) AS hour, COUNT(*) AS n FROM 'day.zion'"
        " WHERE UPPER(level) = 'ERROR' GROUP BY DATE_TRUNC(HOUR, time) ORDER BY hour"
    )
    assert sum(int(str(row["n"])) for row in by_hour) > 40
    assert {"hour": "2026-03-04T01:00:00Z", "n": 1} in by_hour
    top = rows(
        "SELECT host, COUNT(*) AS n FROM 'day.zion' WHERE host IS NOT NULL"
        " GROUP BY host ORDER BY n DESC, host LIMIT 3"
    )
    assert [row["n"] for row in top] == sorted((row["n"] for row in top), reverse=True)
    assert {row["host"] for row in top} >= {"gw1", "host1"}
    (counts,) = rows(
        "SELECT COUNT(*) AS n, COUNT(DISTINCT id) AS ids FROM 'day.zion' WHERE ms = 100"
    )
    assert counts["ids"] == 3000
    assert 4000 < int(str(counts["n"])) < 6000
    (p95,) = rows("SELECT APPROX_PERCENTILE(ms, 0.95) AS p95 FROM 'day.zion' WHERE ms <> 100")
    assert 170 <= float(str(p95["p95"])) <= 190
    counted = run("grep", "-c", "-F", "192.0.2.7", "day.zion")
    assert int(counted.stdout) >= 10


def test_a_file_that_is_not_there_has_a_similar_one(run: Run, tmp_path: Path) -> None:
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs/events.json").write_text('{"a": 1}\n')
    meant = b"hint: did you mean logs/events.json?\n"
    for words in (
        ["pack", "logs/event.json"],
        ["head", "logs/event.json"],
        ["query", "SELECT * FROM 'logs/event.json'"],
    ):
        done = run(*words)
        assert (done.returncode, done.stderr.endswith(meant)) == (3, True), done.stderr
    for other in ("logs/visits.csv", "lags/events.json"):
        assert b"hint" not in run("head", other).stderr


def test_a_pipe_needs_the_name_of_its_packfile(run: Run) -> None:
    done = run("pack", data=b'{"a": 1}\n')
    assert done.returncode == 2
    assert done.stderr == b"sdb: no output given\nhint: -o PACKFILE; one file needs none\n"


def test_packfiles_among_texts_of_a_folder_are_told(run: Run, tmp_path: Path) -> None:
    (tmp_path / "day").mkdir()
    (tmp_path / "day/a.json").write_text('{"a": 1}\n')
    assert run("pack", "-o", "day/a.zion", "day").stderr == b""
    done = run("pack", "-o", "twice.zion", "day")
    assert done.stderr == b"sdb: reading 2 files: 1 json, 1 packfile\n"
    assert done.returncode == 0


@pytest.mark.parametrize("words", ["follow --root lake web.logs", "maintain --watch --root lake"])
def test_what_keeps_running_says_how_it_ends(run: Run, tmp_path: Path, words: str) -> None:
    (tmp_path / "lake").mkdir()
    assert run("create", "--root", "lake", "web.logs", "--input", "logs/*.log").returncode == 0
    control, terminal = pty.openpty()
    command = [*COMMAND, *words.split()]
    with subprocess.Popen(
        command, stderr=terminal, cwd=tmp_path, env=environment(), text=True
    ) as process:
        os.close(terminal)  # so that reading ends with the command
        screen = b""
        while b"; Ctrl-C ends it" not in screen:
            screen += os.read(control, 1 << 10)
        process.send_signal(signal.SIGINT)
    os.close(control)
    assert process.returncode == 130
