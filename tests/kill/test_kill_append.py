"""`kill -9` of `sdb append` leaves the old packfile or the longer one, never a third thing."""

from __future__ import annotations

import gzip
import random
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

import sdb

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("moments", [5, pytest.param(50, marks=pytest.mark.slow)])
def test_packfile_is_old_or_longer(tmp_path: Path, moments: int) -> None:
    text = gzip.decompress((ROOT / "testdata/gh2015_1k.json.gz").read_bytes())
    source, base, grown, target = (tmp_path / name for name in ("x.json", "old", "new", "x.zion"))
    source.write_bytes(text * 20)
    sdb.pack([ROOT / "testdata/gh2015_1k.json.gz"], base)
    command = [sys.executable, "-m", "sdb.cli.main", "append", str(target), str(source)]

    shutil.copy(base, target)
    start = time.monotonic()
    subprocess.run(command, check=True, cwd=ROOT)
    seconds = time.monotonic() - start
    target.rename(grown)
    whole = [base.read_bytes(), grown.read_bytes()]

    dice = random.Random(20240501)
    unfinished = 0
    for _ in range(moments):
        target.write_bytes(whole[0])
        process = subprocess.Popen(command, cwd=ROOT)
        time.sleep(dice.uniform(0.1, 1.1) * seconds)
        process.kill()
        unfinished += process.wait() != 0
        assert target.read_bytes() in whole
    assert unfinished, "every run was over before it was killed: the test shows nothing"
    target.write_bytes(whole[0])
    subprocess.run(command, check=True, cwd=ROOT)
    assert target.read_bytes() == whole[1], "a run after the killed ones is not disturbed by them"
