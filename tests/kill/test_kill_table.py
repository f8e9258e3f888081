"""`kill -9` of commands that change a table leaves what was there or what should be, whole."""

from __future__ import annotations

import json
import random
import sys
from typing import TYPE_CHECKING

import pytest

import sdb
from tests.kill.moments import Killer, timed

if TYPE_CHECKING:
    from pathlib import Path

COMMANDS = (
    "sync d t",
    "insert d.t x.json",
    "compact d.t",
    "expire d.t --all-but-head",
    "gc d.t",
    "maintain --once d.t",
)


def rows_of(root: Path, name: str = "d.t") -> list[int]:
    actual = sdb.connect(root).table(name).to_arrow().column("n").to_pylist()
    return sorted(actual)


@pytest.mark.parametrize("moments", [1, pytest.param(20, marks=pytest.mark.slow)])
def test_tables_are_whole(tmp_path: Path, moments: int) -> None:
    dice = random.Random(20261123)
    folder = tmp_path / "first"
    _make(folder, ["compact"])
    seconds = timed(_command(folder, ["compact", "d.t"]))
    for words in map(str.split, COMMANDS):
        killer = Killer(seconds, dice)
        is_killed = False
        runs = 0
        while runs < moments or not is_killed:
            # A separate table for each moment: what is done is not done again.
            is_killed |= _kill_once(tmp_path / f"{words[0]}{runs}", words, killer)
            runs += 1


def _make(folder: Path, words: list[str]) -> None:
    connection = sdb.connect(folder)
    (folder / "in").mkdir(parents=True)
    connection.create("d.t", "in/*.json")
    if words[0] == "maintain":
        path = folder / "db/d/t/definition.json"
        versions = {"keep_last": 1}
        upkeep = {"sync": True, "grace": "0s"}
        path.write_text(
            json.dumps(json.loads(path.read_text()) | {"upkeep": upkeep, "versions": versions})
        )
    for number in range(9):
        connection.append("d.t", [{"n": number}])
    (folder / "in/a.json").write_text('{"n": 100}\n{"n": 101}\n')
    (folder / "x.json").write_text('{"n": 200}\n')
    if words[0] == "gc":
        table = connection.table("d.t")
        table.compact()
        table.expire(all_but_head=True)


def _command(folder: Path, words: list[str]) -> list[str]:
    words = [str(folder / word) if word == "x.json" else word for word in words]
    words += ["--grace", "0s"] if words[0] == "gc" else []
    return [sys.executable, "-m", "sdb.cli.main", "--root", str(folder), *words]


def _kill_once(folder: Path, words: list[str], killer: Killer) -> bool:
    _make(folder, words)
    before = list(range(9))
    added = {"sync": [100, 101], "maintain": [100, 101], "insert": [200]}.get(words[0], [])
    command = _command(folder, words)
    is_killed = killer.kill(command)
    actual = rows_of(folder)
    assert actual in (before, before + added)
    table = sdb.connect(folder).table("d.t")
    assert table.validate().ok
    timed(command)  # a run after the killed one is not disturbed by it
    assert rows_of(folder) == (actual + added if words[0] == "insert" else before + added)
    _check_collected(folder)
    return is_killed


def _check_collected(folder: Path) -> None:
    """What a killed program has left is found, and nothing else goes."""
    table = sdb.connect(folder).table("d.t")
    rows = rows_of(folder)
    table.expire(all_but_head=True)
    table.gc(grace=-10)
    assert rows_of(folder) == rows
    assert table.validate().ok
    needed = {descriptor.key for descriptor in table.handle.descriptors()}
    data = folder / "db/d/t/data"
    there = {str(path.relative_to(folder)) for path in data.rglob("*") if path.is_file()}
    assert there == needed
