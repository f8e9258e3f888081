"""`kill -9` of a table that is sorted: nothing has happened, or all of it, and nothing is left."""

from __future__ import annotations

import random
import shutil
import sys
from typing import TYPE_CHECKING

import pytest

import sdb
from tests.kill.moments import kill, timed

if TYPE_CHECKING:
    from pathlib import Path

ROWS = 12_000


@pytest.mark.parametrize("moments", [2, pytest.param(25, marks=pytest.mark.slow)])
def test_tables_are_whole(tmp_path: Path, moments: int, monkeypatch: pytest.MonkeyPatch) -> None:
    dice = random.Random(20261124)
    first, folder, temporary = (tmp_path / name for name in ("first", "lake", "temporary"))
    temporary.mkdir()
    monkeypatch.setenv("TMPDIR", str(temporary))
    connection = sdb.connect(first)
    connection.create("d.t", "in/*.json")
    rows = [{"n": n, "k": n * 7 % 501, "pad": f"{dice.getrandbits(999):x}"} for n in range(ROWS)]
    connection.append("d.t", rows, block_bytes=256 << 10)
    command = [sys.executable, "-m", "sdb.cli.main", "--root", str(folder), "compact"]
    command += ["--cluster-by", "k", "d.t"]
    shutil.copytree(first, folder)
    seconds = timed(command)

    def before() -> None:
        shutil.rmtree(folder)
        shutil.copytree(first, folder)

    def after() -> None:
        table = sdb.connect(folder).table("d.t")
        assert sorted(table.to_arrow(fields=["n"])["n"].to_pylist()) == list(range(ROWS))
        assert table.validate().ok
        assert not list(temporary.iterdir())
        (reported,) = table.handle.descriptors()
        timed(command)
        (later,) = sdb.connect(folder).table("d.t").handle.descriptors()
        assert later.trailer.sparse.clustered == (("k",),)
        assert reported.trailer.sparse.clustered in {(), (("k",),)}
        table = sdb.connect(folder).table("d.t")
        table.expire(all_but_head=True)
        table.gc(grace=-10)
        assert [path.name for path in (folder / "db/d/t/data").iterdir()] == [later.name]

    kill(command, moments, seconds, dice, before=before, after=after)
