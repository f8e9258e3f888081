"""Programs that stand still for longer than the grace time, while others compact and collect."""

from __future__ import annotations

import json
import random
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest

import sdb
from tests.kill.moments import ROOT, timed

if TYPE_CHECKING:
    from pathlib import Path

ROWS = list(range(30))
GRACE_SECONDS = 1
PAUSE_SECONDS = 3.5  # the grace time, and the margin for clocks
MANY = [2, pytest.param(20, marks=[pytest.mark.slow, pytest.mark.timeout(1800)])]

READER = """
import sys, time
import sdb
from sdb.table.catalog import leases
from sdb.table.catalog.handle import open_table
from sdb.table.catalog.root import table_root

leases.RENEWAL_SECONDS, leases._LOOK_SECONDS = 0.2, 0.05
handle = open_table(table_root(sys.argv[1]), "d", "t")
lease = leases.hold(handle)
lease.renew()
print("reading", flush=True)
for _ in range(16):
    time.sleep(0.5)
    with sdb.sql("SELECT n FROM d.t", root=sys.argv[1], tables={"d.t": handle}) as result:
        assert sorted(row["n"] for row in result) == list(range(30))
lease.release()
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Make a table of many versions and packfiles."""
    folder = tmp_path / "lake"
    db = sdb.connect(folder)
    db.create("d.t", "in/*.json")
    for number in ROWS:
        db.append("d.t", [{"n": number}])
    return folder


def command(root: Path, *words: str) -> list[str]:
    return [sys.executable, "-m", "sdb.cli.main", "--root", str(root), *words]


def rows_of(root: Path) -> list[int]:
    return sorted(sdb.connect(root).table("d.t").to_arrow()["n"].to_pylist())


def keep(root: Path, grace: str) -> list[list[str]]:
    """Return the commands that merge packfiles, forget versions and delete what is left."""
    expire = command(root, "expire", "d.t", "--all-but-head")
    return [command(root, "compact", "d.t"), expire, command(root, "gc", "d.t", "--grace", grace)]


def run_all(commands: list[list[str]]) -> None:
    for command in commands:
        timed(command)


@pytest.mark.parametrize("moments", MANY)
def test_a_writer_that_was_paused_loses_and_breaks_nothing(root: Path, moments: int) -> None:
    dice = random.Random(20261123)
    path = root / "x.json"
    path.write_text('{"n": 1000}\n')
    seconds = timed(command(root, "insert", "d.t", str(path)))
    expected = sorted([*ROWS, 1000])
    ends = []
    for number in range(moments):
        path.write_text(json.dumps({"n": 2000 + number}))
        writer = subprocess.Popen(
            command(root, "insert", "d.t", str(path)), cwd=ROOT, stderr=subprocess.PIPE
        )
        time.sleep(dice.uniform(0.4, 1.0) * seconds)
        writer.send_signal(signal.SIGSTOP)
        time.sleep(PAUSE_SECONDS)
        collect = subprocess.Popen(
            command(root, "gc", "d.t", "--grace", f"{GRACE_SECONDS}s"),
            cwd=ROOT,
            stderr=subprocess.DEVNULL,
        )
        time.sleep(2 * seconds)  # it may be waiting for the lock that the writer has
        writer.send_signal(signal.SIGCONT)
        _, reported = writer.communicate()
        assert collect.wait() == 0
        assert writer.returncode in {0, 5}, reported
        ends.append(writer.returncode)
        expected += [2000 + number] if writer.returncode == 0 else []
        assert rows_of(root) == expected
        assert sdb.connect(root).table("d.t").validate().ok
    assert 0 in ends or moments < 20, "some are paused when they have committed"


@pytest.mark.parametrize("moments", MANY)
def test_a_query_that_was_paused_answers_right_or_fails(root: Path, moments: int) -> None:
    dice = random.Random(20261123)
    query = command(root, "query", "SELECT n FROM d.t")
    seconds = timed(query)
    for number in range(moments):
        reader = subprocess.Popen(query, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        time.sleep(dice.uniform(0.4, 1.0) * seconds)
        reader.send_signal(signal.SIGSTOP)
        is_short = number % 2 == 1
        time.sleep(PAUSE_SECONDS if is_short else 0)
        sdb.connect(root).append("d.t", [{"n": -1 - number}])
        expected = rows_of(root)
        run_all(keep(root, f"{GRACE_SECONDS}s" if is_short else "1h"))
        reader.send_signal(signal.SIGCONT)
        answer, reported = reader.communicate()
        if is_short and reader.returncode == 6:
            assert b"missing" in reported
            continue
        assert reader.returncode == 0, reported
        names = sorted(json.loads(line)["n"] for line in answer.splitlines())
        assert names in (expected, [item for item in expected if item != -1 - number])


def test_who_holds_a_lease_reads_on_for_longer_than_the_grace_time(root: Path) -> None:
    reader = subprocess.Popen(
        [sys.executable, "-c", READER, str(root)], cwd=ROOT, stdout=subprocess.PIPE
    )
    assert reader.stdout is not None
    assert reader.stdout.readline() == b"reading\n"
    old = {str(path) for path in (root / "db/d/t/data").rglob("*.zion")}
    time.sleep(PAUSE_SECONDS)
    run_all(keep(root, f"{GRACE_SECONDS}s"))
    assert reader.poll() is None, "it was done before anything was collected"
    reader.communicate()
    assert reader.returncode == 0
    assert old <= {str(path) for path in (root / "db/d/t/data").rglob("*.zion")}
    time.sleep(PAUSE_SECONDS)
    run_all(keep(root, f"{GRACE_SECONDS}s"))
    assert not old & {str(path) for path in (root / "db/d/t/data").rglob("*.zion")}
    assert not list((root / "db/d/t/leases").iterdir())
    assert rows_of(root) == ROWS
