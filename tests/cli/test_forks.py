"""Commands that are copies of a process behave like commands that a shell begins."""

from __future__ import annotations

import os
import subprocess
import time
from typing import TYPE_CHECKING

import pytest

from tests.cli.conftest import COMMAND, environment

if TYPE_CHECKING:
    from pathlib import Path

    from tests.cli.forks import Forks

QUERY = "SELECT type, UPPER(actor.login) AS who FROM '../events.zion' ORDER BY who LIMIT 3"


@pytest.mark.parametrize(
    ("arguments", "data", "more"),
    [
        (["query", QUERY], b"", {}),
        (["query"], QUERY.encode(), {}),
        (["query", "-o", "x.csv", QUERY], b"", {}),
        (["query", "SELECT 1 +"], b"", {}),
        (["query", "SELECT x FROM nothere.zion"], b"", {"SDB_DEBUG": "1"}),
        (["query", "--help"], b"", {"COLUMNS": "60"}),
        (["query", "--nonsense"], b"", {}),
    ],
)
def test_both_ways_are_the_same(
    forks: Forks, events: Path, arguments: list[str], data: bytes, more: dict[str, str]
) -> None:
    folder = events.parent / "folder"
    folder.mkdir()
    env = environment(**more)
    usual = subprocess.run(
        [*COMMAND, *arguments],
        input=data,
        capture_output=True,
        cwd=folder,
        env=env,
        timeout=60,
        check=False,
    )
    wrote = {path.name: path.read_bytes() for path in folder.iterdir()}
    for path in folder.iterdir():
        path.unlink()
    copied = forks.run(arguments, input=data, cwd=folder, env=env, timeout=60)
    assert (copied.returncode, copied.stdout) == (usual.returncode, usual.stdout)
    assert copied.stderr.splitlines()[-1:] == usual.stderr.splitlines()[-1:]
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == wrote


def test_a_command_that_hangs_is_killed(forks: Forks, tmp_path: Path) -> None:
    source, sink = os.pipe()
    begun = time.monotonic()
    with os.fdopen(sink, "wb"), os.fdopen(source, "rb") as never:
        with pytest.raises(TimeoutError):
            forks.run(["query"], stdin=never, cwd=tmp_path, env=environment(), timeout=1)
        assert time.monotonic() - begun < 50
