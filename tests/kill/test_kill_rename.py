"""`kill -9` of a rename at random moments: rows have one name, and the next run finishes it."""

from __future__ import annotations

import random
import sys
from typing import TYPE_CHECKING

import pytest

import sdb
from sdb.errors import NotFoundError
from tests.kill.moments import Killer, timed

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("moments", [3, pytest.param(20, marks=pytest.mark.slow)])
def test_a_rename_that_was_killed_goes_on(tmp_path: Path, moments: int) -> None:
    dice = random.Random(3201)
    first = tmp_path / "first"
    make(first)
    killer = Killer(timed(command(first)), dice)
    is_killed, runs = False, 0
    while runs < moments or not is_killed:
        folder = tmp_path / str(runs)
        make(folder)
        is_killed |= killer.kill(command(folder))
        before = [rows_of(folder, "d.old"), rows_of(folder, "d.new")]
        assert before in ([list(range(6)), None], [None, list(range(6))]), "one of both"
        if before[1] is None or not (folder / "db/d/new/definition.json").exists():
            timed(command(folder))
        assert rows_of(folder, "d.old") is None
        assert rows_of(folder, "d.new") == list(range(6))
        assert (folder / "db/d/new/definition.json").exists()
        assert sdb.connect(folder).table("d.new").validate().ok
        sdb.execute("UNDROP TABLE d.old", root=folder)
        assert rows_of(folder, "d.old") == list(range(6))
        runs += 1


def make(folder: Path) -> None:
    folder.mkdir()
    db = sdb.connect(folder)
    db.create("d.old", "in/*.json")
    for number in range(6):
        db.append("d.old", [{"n": number}])


def command(folder: Path) -> list[str]:
    words = ["--root", str(folder), "rename", "d.old", "d.new"]
    return [sys.executable, "-m", "sdb.cli.main", *words]


def rows_of(folder: Path, table: str) -> list[int] | None:
    """Return the numbers of a table; None: it is not there."""
    try:
        with sdb.connect(folder).sql(f"SELECT n FROM {table} ORDER BY n") as result:
            return [row["n"] for row in result]
    except NotFoundError:
        return None
