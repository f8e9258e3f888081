"""`sdb export` on the command line."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import sdb
from tests.exchange.mirrors import by_delta_rs, check, versions

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path(__file__).parents[2]
COMMAND = [sys.executable, "-m", "sdb.cli.main", "export"]


@pytest.fixture
def lake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SNELLER_INDEX_KEY", "eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHg=")
    folder = tmp_path / "lake"
    folder.mkdir()
    sdb.connect(folder).create("web.t", "file://in/*.json")
    sdb.connect(folder).append("web.t", [{"id": 1}])
    return folder


def export(*words: str | Path) -> subprocess.CompletedProcess[str]:
    command = [*COMMAND, *map(str, words)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


def wait_for(condition: Callable[[], bool]) -> None:
    give_up_at = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < give_up_at
        time.sleep(0.05)


def test_it_says_what_was_done(lake: Path, tmp_path: Path) -> None:
    done = export("delta", "--root", lake, "web.t", tmp_path / "m")
    assert done.returncode == 0
    assert done.stderr.startswith(
        f"sdb: {tmp_path}/m has version 1 of web.t: 1 commit, 1 file, 1 row"
    )
    done = export("delta", "--root", lake, "--json", "web", "t", tmp_path / "m")
    facts = json.loads(done.stdout)
    assert (facts["version"], facts["delta_version"], facts["versions"]) == (1, 0, 0)
    check(lake, tmp_path / "m", engines=(by_delta_rs,))


def test_times_and_numbers_load_no_pandas(lake: Path, tmp_path: Path) -> None:
    row = {"at": datetime(2026, 11, 1, tzinfo=UTC), "x": 1.5, "y": {"z": 2.5}}
    sdb.connect(lake).append("web.t", [row, {"id": 2}])
    words = ["sdb", "export", "delta", "--quiet", "--root", str(lake), "web.t", str(tmp_path / "m")]
    program = (
        "import sys\n"
        "from sdb.cli.main import run\n"
        "assert run(sys.argv[1:]) == 0\n"
        "assert not {'pandas', 'pyarrow.compute', 'duckdb'} & sys.modules.keys()\n"
    )
    subprocess.run([sys.executable, "-c", program, *words[1:]], cwd=ROOT, check=True)
    check(lake, tmp_path / "m", engines=(by_delta_rs,))


def test_usage(lake: Path, tmp_path: Path) -> None:
    for words, code, text in (
        (["web.t"], 2, "Missing argument 'DEST'"),
        (["web.t@1", tmp_path / "m"], 2, "is a version"),
        (["web.x", tmp_path / "m"], 3, "no table web.x"),
        (["web.t", tmp_path / "m", "--interval", "1s"], 2, "--interval is for --follow"),
        (["web.t", "gs://bucket/x"], 2, "unknown scheme gs://"),
    ):
        done = export("delta", "--root", lake, *words)
        assert (done.returncode, "Traceback" in done.stderr) == (code, False), done.stderr
        assert text in done.stderr
        assert not (tmp_path / "m").exists()


def test_a_table_is_followed(lake: Path, tmp_path: Path) -> None:
    command = [*COMMAND, "delta", "--root", str(lake), "web.t", str(tmp_path / "m"), "--follow"]
    command += ["--interval", "100ms", "--json"]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        wait_for((tmp_path / "m/_delta_log" / f"{0:020d}.json").exists)
        for number in range(3):
            sdb.connect(lake).append("web.t", [{"id": number}])
        assert process.stdout is not None
        reported = 0
        while reported < 4:
            reported += json.loads(process.stdout.readline())["versions"]
        os.kill(process.pid, signal.SIGTERM)
        assert process.wait(60) == 0
    assert reported == 4
    assert versions(tmp_path / "m") == {1: 0, 2: 1, 3: 2, 4: 3}
    check(lake, tmp_path / "m", engines=(by_delta_rs,))
