"""Ctrl-C in separate processes: soon, without a traceback, and with nothing half done."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import tarfile
import time
from contextlib import suppress
from random import Random
from typing import TYPE_CHECKING

import pytest

import sdb
from tests.cli.conftest import COMMAND, environment
from tests.patience import soon

if TYPE_CHECKING:
    from pathlib import Path

_ROWS = 60_000
_SOON_SECONDS = 5
"""A second is what users should wait; the machines that run tests may be busy."""
_WHERE = " WHERE s LIKE '%a%b%'"
_STATEMENT = f"UPDATE d.t SET n = n + 1{_WHERE}"
_CROSS = "SELECT SUM(a.i * b.i) AS n FROM 't.zion' AS a CROSS JOIN 't.zion' AS b WHERE a.s <> b.k"
_SORT = (
    "SELECT a.s || b.s AS x FROM 't.zion' AS a JOIN (SELECT s, k FROM 't.zion' LIMIT 2000) AS b "
    "ON a.k = b.k ORDER BY x DESC"
)
_CALLS = {
    "rows": f'list(sdb.sql("{_CROSS}"))',
    "lines": f'list(sdb.sql("{_CROSS}", typed=False).lines())',
    "polars": f'sdb.sql("{_CROSS}").to_polars()',
    "stream": f'pyarrow.table(sdb.sql("{_CROSS}"))',
    "sort": f'sdb.sql("{_SORT}").write(open(os.devnull, "wb"), "csv")',
    "scan": "while True: list(sdb.sql(\"SELECT * FROM 't.zion' ORDER BY s LIMIT 5\"))",
    "group": "while True: list(sdb.sql(\"SELECT s, COUNT(*) FROM 't.zion' GROUP BY s LIMIT 5\"))",
    "pack": "while True: sdb.pack(['t.json'], 'o.zion', overwrite=True)",
    "archive": "while True: sdb.pack(['t.tar.gz'], 'o.zion', overwrite=True)",
}
_PROGRAM = """
import os, sys, pyarrow, sdb
sdb.sql("SELECT COUNT(*) FROM 't.zion' WHERE s || s = 'x'").to_polars()
print("begun", flush=True)
try:
    {call}
except KeyboardInterrupt:
    print("interrupted")
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("interrupts")
    rng = Random(29)
    with (folder / "t.json").open("w") as file:
        for i in range(_ROWS):
            row = {"i": i, "n": 0, "k": rng.choice("abcd"), "s": rng.randbytes(16).hex()}
            file.write(json.dumps(row) + "\n")
    sdb.pack([folder / "t.json"], folder / "t.zion")
    with tarfile.open(folder / "t.tar.gz", "w:gz") as archive:
        for name in ("a.json", "b.json"):
            archive.add(folder / "t.json", name)
    sdb.execute("CREATE TABLE d.t", root=folder / "lake")
    insert = f"INSERT INTO d.t SELECT * FROM '{folder}/t.zion'"
    sdb.execute(insert, root=folder / "lake")
    return folder


def _state(folder: Path) -> dict[str, int]:
    query = "SELECT COUNT(*) AS rows, SUM(n) AS sum, MAX(n) AS most FROM d.t"
    with sdb.sql(query, root=str(folder / "lake")) as result:
        return dict(next(iter(result)))


def test_ctrl_c_in_update_leaves_a_whole_table(folder: Path, tmp_path: Path) -> None:
    rng = Random(11)
    codes: list[int] = []
    with sdb.sql(f"SELECT COUNT(*) AS c FROM d.t{_WHERE}", root=str(folder / "lake")) as result:
        updated = next(iter(result))["c"]
    while len(codes) < 8 or (130 not in codes and len(codes) < 40):
        before = _state(folder)
        process = subprocess.Popen(
            [*COMMAND, "exec", "--root", str(folder / "lake"), _STATEMENT],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment(TMPDIR=str(tmp_path)),
            start_new_session=True,
        )
        try:
            process.wait(rng.uniform(0.15, 1.0))
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGINT)
        started = time.monotonic()
        output, complaints = process.communicate(timeout=60)
        assert time.monotonic() - started < soon(_SOON_SECONDS)
        assert complaints == b""
        codes.append(process.returncode)
        assert list(tmp_path.iterdir()) == []
        # What is committed is so in whole, also when the signal comes a moment later.
        changed = {**before, "sum": before["sum"] + updated, "most": before["most"] + 1}
        if process.returncode == 0:
            assert b"updated" in output
            assert _state(folder) == changed
        else:
            # Before it has begun to listen it ends as any program does.
            assert process.returncode in {130, -signal.SIGINT}
            assert _state(folder) in (before, changed)
    assert 130 in codes


@pytest.mark.parametrize("name", _CALLS)
def test_ctrl_c_in_python(folder: Path, tmp_path: Path, name: str) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", _PROGRAM.format(call=_CALLS[name])],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=folder,
        env=environment(TMPDIR=str(tmp_path)),
    )
    assert process.stdout
    assert process.stdout.readline() == b"begun\n"
    time.sleep(0.5)
    assert process.poll() is None
    started = time.monotonic()
    try:
        for _ in range(3):
            process.send_signal(signal.SIGINT)
            with suppress(subprocess.TimeoutExpired):
                output, complaints = process.communicate(timeout=_SOON_SECONDS)
                break
        else:
            pytest.fail("it goes on")
    finally:
        process.kill()
    if b"Exception ignored in" in complaints:
        return  # Python was just freeing an object, where exceptions are lost: the next one counts
    assert time.monotonic() - started < soon(_SOON_SECONDS)
    assert (process.returncode, output, complaints) == (0, b"interrupted\n", b"")
    assert list(tmp_path.iterdir()) == []
    assert [path.name for path in folder.iterdir() if path.name.startswith(".")] == []


def test_ctrl_c_ends_a_join_of_long_series(tmp_path: Path) -> None:
    query = "SELECT a.x FROM RANGE(100000000) AS a(x), RANGE(1000000) AS b(y) WHERE a.x + b.y = 1"
    process = subprocess.Popen(
        [*COMMAND, "query", query],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(TMPDIR=str(tmp_path)),
        start_new_session=True,
    )
    time.sleep(3)
    process.send_signal(signal.SIGINT)
    started = time.monotonic()
    answer = process.communicate(timeout=60)
    assert time.monotonic() - started < soon(_SOON_SECONDS)
    assert (process.returncode, *answer) == (130, b"", b"")
    assert list(tmp_path.iterdir()) == []


def test_a_result_that_is_left_open_leaves_nothing(folder: Path, tmp_path: Path) -> None:
    program = "import sdb; r = sdb.sql(\"SELECT DISTINCT k FROM 't.zion'\"); print(len(list(r)))"
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        cwd=folder,
        env=environment(TMPDIR=str(tmp_path)),
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, b"4\n", b"")
    assert list(tmp_path.iterdir()) == []
