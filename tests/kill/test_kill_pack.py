"""`kill -9` of `sdb pack --force` leaves the old file or the new one, never a third thing."""

from __future__ import annotations

import gzip
import random
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def command(source: Path, output: Path) -> list[str]:
    return [sys.executable, "-m", "sdb.cli.main", "pack", "--force", "-o", str(output), str(source)]


def pack(source: Path, output: Path) -> float:
    """Pack undisturbed; the seconds it takes."""
    start = time.monotonic()
    subprocess.run(command(source, output), check=True, cwd=ROOT)
    return time.monotonic() - start


@pytest.mark.parametrize("moments", [5, pytest.param(50, marks=pytest.mark.slow)])
def test_output_is_old_or_new(tmp_path: Path, moments: int) -> None:
    text = gzip.decompress((ROOT / "testdata/gh2015_1k.json.gz").read_bytes())
    sources = [tmp_path / "old.json", tmp_path / "new.json"]
    sources[0].write_bytes(text)
    sources[1].write_bytes(text * 20)
    references = [tmp_path / "old.zion", tmp_path / "new.zion"]
    seconds = [pack(*pair) for pair in zip(sources, references, strict=True)][1]
    whole = [path.read_bytes() for path in references]

    output = tmp_path / "out.zion"
    dice = random.Random(20240501)
    unfinished = 0
    for _ in range(moments):
        output.write_bytes(whole[0])
        process = subprocess.Popen(command(sources[1], output), cwd=ROOT)
        time.sleep(dice.uniform(0.1, 1.1) * seconds)
        process.kill()
        unfinished += process.wait() != 0
        assert output.read_bytes() in whole
    assert unfinished, "every run was over before it was killed: the test shows nothing"
    pack(sources[1], output)
    assert output.read_bytes() == whole[1], "a run after the killed ones is not disturbed by them"
