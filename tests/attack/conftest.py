from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import pytest

from tests.attack import harness
from tests.attack.harness import Findings, Sdb
from tests.cli.conftest import COMMAND, environment

if TYPE_CHECKING:
    from pathlib import Path

MIB = 1 << 20

# A small process in between sets the limits, and tells the exit code and the peak of memory. (That
# of a child starts as that of the process it was forked from, and pytest is large.)
LAUNCH = """
import os, resource, subprocess, sys
memory, seconds = int(sys.argv[1]), int(sys.argv[2])
resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
process = subprocess.Popen(sys.argv[4:])
_, status, usage = os.wait4(process.pid, 0)
with open(sys.argv[3], "w") as told:
    print(os.waitstatus_to_exitcode(status), usage.ru_maxrss * 1024, file=told)
"""


class Ended(NamedTuple):
    """How a command ended."""

    code: int
    output: bytes
    errors: str
    peak_bytes: int


Limited = Callable[..., Ended]


@pytest.fixture
def limited(tmp_path: Path) -> Limited:
    """Run `sdb` in an empty folder with so much address space and processor time."""

    def call(
        *arguments: str | Path, memory_bytes: int = 1024 * MIB, seconds: int = 30, **more: str
    ) -> Ended:
        path, stderr = tmp_path / "told", tmp_path / "stderr"
        limits = [str(memory_bytes), str(seconds), str(path)]
        with stderr.open("wb") as errors:
            launched = subprocess.run(
                [sys.executable, "-S", "-c", LAUNCH, *limits, *COMMAND, *map(str, arguments)],
                stdout=subprocess.PIPE,
                stderr=errors,
                cwd=tmp_path,
                env=environment(**more),
                check=True,
            )
        code, peak = map(int, path.read_text().split())
        return Ended(code, launched.stdout, stderr.read_text(), peak)

    return call


def pytest_report_header() -> str:
    return f"attack: SDB_ATTACK_SEED={harness.SEED} SDB_ATTACK_ROUNDS={harness.ROUNDS}"


@pytest.fixture
def sdb(tmp_path: Path) -> Sdb:
    """Run commands in an empty folder, one after the other."""
    folder = tmp_path / "work"
    folder.mkdir()
    return Sdb(folder)


@pytest.fixture
def findings(request: pytest.FixtureRequest, tmp_path: Path) -> Findings:
    """Gather what is wrong; the test checks in the end that there is nothing."""
    return Findings(request.node.nodeid, tmp_path)
