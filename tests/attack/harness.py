"""The command line under attack: seeds, limits, and what must never happen.

``make attack`` runs everything here. ``SDB_ATTACK_SEED`` chooses other attacks, and
``SDB_ATTACK_ROUNDS`` is how many times as many of them there are. Every batch has a seed of its
own, made from that seed and the name of the test: to run one test again is to repeat it exactly.
"""

from __future__ import annotations

import json
import os
import random
import resource
import subprocess
import sys
import threading
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

ROOT = Path(__file__).parents[2]
SAMPLE = ROOT / "testdata/gh2015_1k.json.gz"
COMMAND = [sys.executable, "-m", "sdb.cli.main"]
ALGORITHMS = ("zstd", "zion+zstd", "zion+iguana_v0", "zion+iguana_v0/specialized")
SEED = int(os.environ.get("SDB_ATTACK_SEED", "20240501"))
ROUNDS = int(os.environ.get("SDB_ATTACK_ROUNDS", "1"))
MIB = 1 << 20
CPU_SECONDS = 20.0
"""What a command on a small file may take; time of processors, as machines may be busy."""
HANG_SECONDS = 120.0
MEMORY_BYTES = 1536 * MIB
ADDRESS_BYTES = 4096 * MIB
"""Addresses are more than what is used: of threads, DuckDB and Arrow. No command needs as many."""
MOST_OUTPUT_BYTES = 256 * MIB
DOCUMENTED = frozenset(range(10))
BROKEN_PIPE = 141
_SHOWN = 20


def batches(count: int) -> list[Any]:
    """Number the batches of an attack. All of them are slow."""
    return [pytest.param(n, id=str(n), marks=pytest.mark.slow) for n in range(count * ROUNDS)]


def dice(*names: object) -> random.Random:
    """Make the random numbers of a batch."""
    return random.Random("/".join(map(str, (SEED, *names))))


@dataclass(slots=True)
class Outcome:
    """What a command did."""

    command: str
    code: int
    out: bytes
    err: str
    cpu_seconds: float
    peak_bytes: int
    is_hanging: bool = False

    def complaints(self, allowed: Iterable[int] = DOCUMENTED) -> list[str]:
        """Say what a command must not do and this one did."""
        results = []
        if self.is_hanging:
            results.append(f"not done after {HANG_SECONDS:.0f} s")
        elif self.code < 0:
            results.append(f"ended by signal {-self.code}")
        elif self.code not in allowed:
            results.append(f"exit code {self.code}")
        if "Traceback" in self.err or "panicked" in self.err or "this is a bug" in self.err:
            results.append("traceback")
        if 1 < self.code < BROKEN_PIPE and "sdb: " not in self.err:
            results.append("no message")
        if self.cpu_seconds > CPU_SECONDS:
            results.append(f"took {self.cpu_seconds:.0f} s of a processor")
        if self.peak_bytes > MEMORY_BYTES:
            results.append(f"took {self.peak_bytes // MIB:,} MiB")
        return [f"{what}: {self}" for what in results]

    def __str__(self) -> str:
        """Show the command and the end of what it said."""
        return (
            f"{self.command} -> {self.code} ({self.cpu_seconds:.1f} s): {self.err.strip()[-300:]}"
        )


@dataclass(slots=True)
class Sdb:
    """Runs `sdb` in a folder, within limits of time, memory and output."""

    folder: Path
    environment: Mapping[str, str] = field(default_factory=dict)

    def __call__(self, *arguments: object, data: bytes | None = None) -> Outcome:
        """Run a command to its end, or to the limits."""
        words = [str(word) for word in arguments]
        with (self.folder / ".stderr").open("w+b") as errors:
            process = self.start(*words, data=data, errors=errors)
            timer = threading.Timer(HANG_SECONDS, process.kill)
            timer.start()
            out = self._read(process)
            _, status, usage = os.wait4(process.pid, 0)
            is_hanging = timer.finished.is_set()
            timer.cancel()
            process.returncode = os.waitstatus_to_exitcode(status)
            errors.seek(0)
            err = errors.read().decode(errors="replace")
        (self.folder / ".stderr").unlink()
        seconds, peak = usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024
        return Outcome(" ".join(words), process.returncode, out, err, seconds, peak, is_hanging)

    def start(
        self, *arguments: object, data: bytes | None = None, errors: Any = subprocess.DEVNULL
    ) -> subprocess.Popen[bytes]:
        """Start a command."""
        remaining = {
            name: value for name, value in os.environ.items() if not name.startswith("SDB_")
        }
        process = subprocess.Popen(
            [*COMMAND, *map(str, arguments)],
            cwd=self.folder,
            env={**remaining, "PYTHONPATH": str(ROOT), **self.environment},
            stdin=subprocess.DEVNULL if data is None else subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
        )
        # The parent's memory may be more than the limit already; the child has just begun.
        resource.prlimit(process.pid, resource.RLIMIT_AS, (ADDRESS_BYTES, ADDRESS_BYTES))
        resource.prlimit(process.pid, resource.RLIMIT_CORE, (0, 0))
        if data is not None:
            threading.Thread(target=_feed, args=(process, data), daemon=True).start()
        return process

    @staticmethod
    def _read(process: subprocess.Popen[bytes]) -> bytes:
        """Read what comes, up to a limit; a command that writes more loses its reader."""
        assert process.stdout is not None
        with process.stdout as stream:
            return stream.read(MOST_OUTPUT_BYTES)


def _feed(process: subprocess.Popen[bytes], data: bytes) -> None:
    assert process.stdin is not None
    try:
        process.stdin.write(data)
        process.stdin.close()
    except OSError:
        pass


class Findings:
    """Gathers what is wrong, and shows all of it in the end."""

    def __init__(self, name: str, folder: Path) -> None:
        self.name = name
        self.folder = folder
        self.found: list[str] = []
        self.attacks = 0

    def add(self, complaints: Iterable[str], data: bytes | None = None, note: str = "") -> None:
        """Keep complaints, with what caused them."""
        complaints = list(complaints)
        if not complaints:
            return
        path = self.folder / f"finding-{len(self.found)}"
        path.with_suffix(".txt").write_text("\n".join([self.name, note, *complaints]) + "\n")
        if data is not None:
            path.write_bytes(data)
            note += f" [{path}]"
        self.found += [f"{note} {complaint}".strip() for complaint in complaints]

    def check(self) -> None:
        """Fail when anything is wrong."""
        assert self.attacks, "nothing was attacked: the test shows nothing"
        if self.found:
            text = "\n".join(self.found[:_SHOWN])
            more = f"\n... and {len(self.found) - _SHOWN} more" * (len(self.found) > _SHOWN)
            head = f"{len(self.found)} findings in {self.attacks} attacks, SDB_ATTACK_SEED={SEED}"
            pytest.fail(f"{self.name}: {head}\n{text}{more}", pytrace=False)


def is_same(text: bytes, other: bytes) -> bool:
    """Compare lines of JSON: numbers as they are printed, members in any order."""
    return text == other or _rows(text) == _rows(other)


def _rows(text: bytes) -> list[Any]:
    keep = {"parse_int": str, "parse_float": str, "parse_constant": str}
    return [json.loads(line.replace(b"Inf", b"Infinity"), **keep) for line in text.splitlines()]


def strays(folder: Path, known: Iterable[str]) -> list[str]:
    """List what a command left in a folder that does not belong there."""
    return [f"left behind: {path.name}" for path in folder.iterdir() if path.name not in set(known)]
