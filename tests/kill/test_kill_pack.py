"""`kill -9` of `sdb pack --force` leaves the old file or the new one, never a third thing."""

from __future__ import annotations

import gzip
import random
import sys
from typing import TYPE_CHECKING

import pytest

from tests.kill.moments import ROOT, kill, timed

if TYPE_CHECKING:
    from pathlib import Path


def command(source: Path, output: Path) -> list[str]:
    return [sys.executable, "-m", "sdb.cli.main", "pack", "--force", "-o", str(output), str(source)]


@pytest.mark.parametrize("moments", [5, pytest.param(50, marks=pytest.mark.slow)])
def test_output_is_old_or_new(tmp_path: Path, moments: int) -> None:
    text = gzip.decompress((ROOT / "testdata/gh2015_1k.json.gz").read_bytes())
    sources = [tmp_path / "old.json", tmp_path / "new.json"]
    sources[0].write_bytes(text)
    sources[1].write_bytes(text * 20)
    references = [tmp_path / "old.zion", tmp_path / "new.zion"]
    seconds = [timed(command(*pair)) for pair in zip(sources, references, strict=True)][1]
    whole = [path.read_bytes() for path in references]

    output = tmp_path / "out.zion"

    def is_whole() -> None:
        assert output.read_bytes() in whole

    kill(
        command(sources[1], output),
        moments,
        seconds,
        random.Random(20240501),
        before=lambda: output.write_bytes(whole[0]),
        after=is_whole,
    )
    timed(command(sources[1], output))
    assert output.read_bytes() == whole[1], "a run after the killed ones is not disturbed by them"
