from __future__ import annotations

import contextlib
import fcntl
import gzip
import os
import pty
import shutil
import struct
import subprocess
import sys
import termios
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any

import pytest

from tests.cli.forks import Forks

ROOT = Path(__file__).parents[2]
SAMPLE = ROOT / "testdata/gh2015_1k.json.gz"
COMMAND = [sys.executable, "-m", "sdb.cli.main"]

Run = Callable[..., "subprocess.CompletedProcess[bytes]"]
Screen = Callable[..., tuple[int, str]]


PASSED_ON = {"PATH", "HOME", "SDB_CACHE", "OPENBLAS_NUM_THREADS"}


def environment(**more: str) -> dict[str, str]:
    remaining = {name: value for name, value in os.environ.items() if name in PASSED_ON}
    return remaining | {"PYTHONPATH": str(ROOT), "LC_ALL": "C.UTF-8"} | more


@pytest.fixture(scope="session")
def forks() -> Iterator[Forks]:
    """Keep a process at hand that has imported what queries need."""
    pool = Forks(environment())
    yield pool
    pool.close()


REAL = {"serve"}
OF_THE_START = ("PYTHON", "LC_", "LANG")


@pytest.fixture
def run(tmp_path: Path, forks: Forks) -> Run:
    """Run `sdb` in an empty folder, without a terminal."""

    def call(
        *arguments: str | Path,
        data: bytes = b"",
        stdin: IO[bytes] | None = None,
        stdout: IO[bytes] | int = subprocess.PIPE,
        **more: str,
    ) -> object:
        value_: dict[str, Any] = {"input": data} if stdin is None else {"stdin": stdin}
        value_ |= {"stdout": stdout, "cwd": tmp_path, "env": environment(**more), "timeout": 60}
        words = [str(argument) for argument in arguments]
        is_started = any(name.startswith(OF_THE_START) for name in more)
        if words and words[0] not in REAL and not is_started:
            return forks.run(words, **value_)
        return subprocess.run([*COMMAND, *words], **value_, stderr=subprocess.PIPE, check=False)

    return call


@pytest.fixture
def screen(tmp_path: Path) -> Screen:
    """Run `sdb` on a terminal; gives the exit code and what the terminal got."""

    def call(
        *arguments: str | Path, columns: int = 80, typed: str = "", **more: str
    ) -> tuple[int, str]:
        control, terminal = pty.openpty()
        fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        process = subprocess.Popen(
            [*COMMAND, *map(str, arguments)],
            stdin=terminal,
            stdout=terminal,
            stderr=terminal,
            cwd=tmp_path,
            env=environment(TERM="xterm-256color", **more),
        )
        os.close(terminal)
        os.write(control, typed.encode())
        pieces = []
        with contextlib.suppress(OSError):  # the other end was closed
            while piece := os.read(control, 1 << 16):
                pieces.append(piece)
        os.close(control)
        return process.wait(timeout=60), b"".join(pieces).decode().replace("\r\n", "\n")

    return call


@pytest.fixture(scope="session")
def sample() -> Path:
    """Real GitHub events."""
    return SAMPLE


@pytest.fixture(scope="session")
def packed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sample four times over in several small blocks, packed; not to be changed."""
    folder = tmp_path_factory.mktemp("packed")
    text = folder / "events.json"
    text.write_bytes(gzip.decompress(SAMPLE.read_bytes()) * 4)
    target = folder / "events.zion"
    subprocess.run(
        [*COMMAND, "pack", "--block-size", "2MiB", "-o", str(target), str(text)],
        env=environment(),
        check=True,
    )
    return target


@pytest.fixture
def events(tmp_path: Path, packed: Path) -> Path:
    """The packed sample under the name that examples use."""
    return Path(shutil.copy(packed, tmp_path / "events.zion"))
