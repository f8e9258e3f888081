"""`kill -9` of `sdb append` leaves the old packfile or the longer one, never a third thing."""

from __future__ import annotations

import gzip
import random
import shutil
import sys
from typing import TYPE_CHECKING

import pytest

import sdb
from tests.kill.moments import ROOT, kill, timed

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("moments", [5, pytest.param(50, marks=pytest.mark.slow)])
def test_packfile_is_old_or_longer(tmp_path: Path, moments: int) -> None:
    text = gzip.decompress((ROOT / "testdata/gh2015_1k.json.gz").read_bytes())
    source, base, grown, target = (tmp_path / name for name in ("x.json", "old", "new", "x.zion"))
    source.write_bytes(text * 20)
    sdb.pack([ROOT / "testdata/gh2015_1k.json.gz"], base)
    command = [sys.executable, "-m", "sdb.cli.main", "append", str(target), str(source)]

    shutil.copy(base, target)
    seconds = timed(command)
    target.rename(grown)
    whole = [base.read_bytes(), grown.read_bytes()]

    def is_whole() -> None:
        assert target.read_bytes() in whole

    kill(
        command,
        moments,
        seconds,
        random.Random(20240501),
        before=lambda: target.write_bytes(whole[0]),
        after=is_whole,
    )
    target.write_bytes(whole[0])
    timed(command)
    assert target.read_bytes() == whole[1], "a run after the killed ones is not disturbed by them"
