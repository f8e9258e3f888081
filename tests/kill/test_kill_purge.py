"""`kill -9` of a purge at random moments: the next run comes to the same end."""

from __future__ import annotations

import random
import sys
from typing import TYPE_CHECKING

import pytest

import sdb
from tests.kill.moments import Killer, timed

if TYPE_CHECKING:
    from pathlib import Path

CANARY = "canary-7d1f"


@pytest.mark.parametrize("moments", [2, pytest.param(20, marks=pytest.mark.slow)])
def test_a_purge_that_was_killed_goes_on(tmp_path: Path, moments: int) -> None:
    dice = random.Random(2908)
    first = tmp_path / "first"
    make(first)
    killer = Killer(timed(command(first)), dice)
    is_killed, runs = False, 0
    while runs < moments or not is_killed:
        folder = tmp_path / str(runs)
        make(folder)
        is_killed |= killer.kill(command(folder))
        table = sdb.connect(folder).table("d.t")
        rows = sorted(table.to_arrow().column("n").to_pylist())
        assert rows in (list(range(8)), [0, 1, 3, 4, 5, 7]), "all, or all but two"
        timed(command(folder))
        assert numbers(folder, "d.t") == [0, 1, 3, 4, 5, 7]
        assert numbers(folder, "d.t@audit") == [0, 1, 3, 4, 5, 7]
        for path in folder.rglob("*"):
            if path.suffix == ".zion":
                assert CANARY not in str(list(sdb.sql(f"SELECT * FROM '{path}'")))
        assert sdb.connect(folder).table("d.t").validate().ok
        runs += 1


def make(folder: Path) -> None:
    folder.mkdir()
    db = sdb.connect(folder)
    db.execute("CREATE TABLE d.t")
    for number in range(8):
        db.append("d.t", [{"n": number, "who": CANARY if number in (2, 6) else "u"}])
    db.table("d.t").tag("report")
    db.table("d.t").compact()
    db.table("d.t").branch("audit")


def command(folder: Path) -> list[str]:
    words = ["--root", str(folder), "purge", "d.t", "--where", f"who = '{CANARY}'"]
    return [sys.executable, "-m", "sdb.cli.main", *words]


def numbers(folder: Path, table: str) -> list[int]:
    with sdb.connect(folder).sql(f"SELECT n FROM {table} ORDER BY n") as result:
        return [row["n"] for row in result]
