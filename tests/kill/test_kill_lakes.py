"""`kill -9` of syncs of a Delta table: each version comes once, whole."""

from __future__ import annotations

import json
import random
import sys
from typing import TYPE_CHECKING

import pytest
from deltalake import DeltaTable

import sdb
from tests.kill.moments import Killer, timed
from tests.lake.made import oracle, stored, write

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.timeout(900)
@pytest.mark.parametrize("rounds", [2, pytest.param(20, marks=pytest.mark.slow)])
def test_each_version_comes_once(tmp_path: Path, rounds: int) -> None:
    dice = random.Random(20261127)
    root, path = tmp_path / "lake", tmp_path / "lake/in/t"
    folder = root / "db/d/t"
    folder.mkdir(parents=True)
    definition = {"input": [{"pattern": "delta+file://in/t"}]}
    (folder / "definition.json").write_text(json.dumps(definition))
    write(path, [{"n": n, "p": n % 3} for n in range(3_000)], partition_by=["p"])
    command = [sys.executable, "-m", "sdb.cli.main", "sync", "--root", str(root), "d.t"]
    killer = Killer(timed(command), dice)
    killed = number = 0
    while killed < rounds:
        for _ in range(3):
            number += 1
            if number % 3:
                rows = [{"n": 10_000 * number + more, "p": more % 3} for more in range(500)]
                write(path, rows)
            else:
                DeltaTable(str(path)).delete(f"n % 37 = {number % 37}")
        killed += killer.kill(command)
    timed(command)
    log = sdb.connect(str(root)).table("d.t").log()
    versions = {int(entry.message.split()[1]): entry.version for entry in log}
    assert sorted(versions) == list(range(number + 1))
    assert len(versions) == max(versions.values())
    for version in [*dice.sample(sorted(versions), 3), number]:
        assert stored(f"d.t@{versions[version]}", root) == oracle(path, version)
