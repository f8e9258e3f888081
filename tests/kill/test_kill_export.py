"""`kill -9` of exporters, and of the writers of their table: each version is mirrored once."""

from __future__ import annotations

import random
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest

import sdb
from tests.exchange.mirrors import by_delta_rs, check, mirrored, versions
from tests.kill.moments import ROOT

if TYPE_CHECKING:
    from pathlib import Path

WRITER = """
import sys, sdb
from sdb.table.catalog.root import table_root
from sdb.table.maintenance.compact import compact_table
db, number = sdb.connect(sys.argv[1]), int(sys.argv[2])
while True:
    number += 1
    db.append("web.t", [{"id": number, "v": [number], "s": {f"f{number % 7}": "x"}}])
    if number % 5 == 0:
        db.execute(f"UPDATE web.t SET w = 0.5 WHERE id = {number - 2}")
    if number % 7 == 0:
        db.execute(f"DELETE FROM web.t WHERE id = {number - 3}")
    if number % 11 == 0:
        compact_table(table_root(sys.argv[1]), "web", "t")
"""


@pytest.mark.filterwarnings("ignore::sdb.errors.SdbWarning")
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("moments", [3, pytest.param(100, marks=pytest.mark.slow)])
def test_each_version_is_mirrored_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, moments: int
) -> None:
    monkeypatch.setenv("SNELLER_INDEX_KEY", "eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHg=")
    dice = random.Random(20261127)
    lake, mirror = tmp_path / "lake", tmp_path / "m"
    lake.mkdir()
    sdb.connect(lake).create("web.t", "file://in/*.json")
    sdb.connect(lake).append("web.t", [{"id": 0}])
    words = ["export", "delta", "--follow", "--interval", "100ms", "--root", str(lake)]
    exporter = [sys.executable, "-m", "sdb.cli.main", *words, "web.t", str(mirror)]
    running: dict[str, subprocess.Popen[bytes]] = {}

    def started(name: str, number: int) -> subprocess.Popen[bytes]:
        writer = [sys.executable, "-c", WRITER, str(lake), str(number * 1000)]
        command = writer if name == "writer" else exporter
        return subprocess.Popen(command, cwd=ROOT, stderr=subprocess.DEVNULL)

    killed = 0
    try:
        for number in range(moments):
            for name in ("writer", "one", "other"):
                if name not in running:
                    running[name] = started(name, number)
            time.sleep(dice.uniform(0.3, 2.5))
            name = dice.choice(["writer", "one", "other", "one"])
            assert running[name].poll() is None, "none of them ends by itself"
            process = running.pop(name)
            process.kill()
            process.wait()
            killed += 1
    finally:
        for process in running.values():
            process.kill()
        for process in running.values():
            process.wait()
    assert killed == moments
    mirrored(lake, mirror)
    newest = sdb.connect(lake).table("web.t").version
    assert newest is not None
    assert sorted(versions(mirror)) == list(range(1, newest + 1))
    check(lake, mirror, engines=(by_delta_rs,))
