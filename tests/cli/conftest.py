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
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

import pytest

ROOT = Path(__file__).parents[2]
SAMPLE = ROOT / "testdata/gh2015_1k.json.gz"
COMMAND = [sys.executable, "-m", "sdb.cli.main"]

Run = Callable[..., "subprocess.CompletedProcess[bytes]"]
Screen = Callable[..., tuple[int, str]]


def environment(**more: str) -> dict[str, str]:
    kept = {
        name: value for name, value in os.environ.items() if name in {"PATH", "HOME", "SDB_CACHE"}
    }
    return kept | {"PYTHONPATH": str(ROOT), "LC_ALL": "C.UTF-8"} | more


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Run `sdb` in an empty folder, without a terminal."""

    def call(
        *arguments: str | Path,
        data: bytes = b"",
        stdin: IO[bytes] | None = None,
        stdout: IO[bytes] | int = subprocess.PIPE,
        **more: str,
    ) -> object:
        given: dict[str, Any] = {"input": data} if stdin is None else {"stdin": stdin}
        return subprocess.run(
            [*COMMAND, *map(str, arguments)],
            **given,
            stdout=stdout,
            stderr=subprocess.PIPE,
            cwd=tmp_path,
            env=environment(**more),
            timeout=60,
            check=False,
        )

    return call


@pytest.fixture
def screen(tmp_path: Path) -> Screen:
    """Run `sdb` on a terminal; gives the exit code and what the terminal got."""

    def call(*arguments: str | Path, columns: int = 80, **more: str) -> tuple[int, str]:
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
