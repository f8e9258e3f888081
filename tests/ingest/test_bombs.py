"""Inputs made to exhaust memory: a clear error or right rows, within a stated bound."""

from __future__ import annotations

import gzip
import subprocess
import sys
from pathlib import Path
from typing import IO

import pytest
import zstandard

ROOT = Path(__file__).parents[2]
MIB = 1 << 20
BOUND_BYTES = 400 * MIB


# A child's peak starts as that of the process it was forked from, and pytest has grown large by
# now: a small process in between starts the command, and writes its exit code and peak in bytes.
MEASURE = """
import os, subprocess, sys
process = subprocess.Popen(sys.argv[1:])
_, status, usage = os.wait4(process.pid, 0)
print(os.waitstatus_to_exitcode(status), usage.ru_maxrss * 1024)
"""


def pack(source: Path, *options: str) -> tuple[int, str, int]:
    """Run ``sdb pack -j2``; its exit code, standard error and peak memory in bytes."""
    output = source.with_suffix(".zion")
    command = [sys.executable, "-m", "sdb.cli.main", "pack", "-j", "2", "-o", str(output)]
    errors = source.with_suffix(".stderr")
    with errors.open("wb") as stderr:
        measured = subprocess.run(
            [sys.executable, "-S", "-c", MEASURE, *command, *options, str(source)],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=stderr,
            check=True,
        )
    code, peak = map(int, measured.stdout.split())
    return code, errors.read_text(), peak


def fill(file: IO[bytes], head: bytes, piece: bytes, times: int, tail: bytes) -> None:
    file.write(head)
    for _ in range(times):
        file.write(piece)
    file.write(tail)


ROW = b'{"at":"2024-01-01T00:00:00Z","text":"' + b"x" * 200 + b'"}'
GOOD = {
    "rows": (b"", (ROW + b"\n") * 4000, b""),
    "one line of records": (b"", ROW * 4000, b""),
    "one line, an array": (b"[{}", (b"," + ROW) * 4000, b"]"),
    "white space": (b"{}", b" " * MIB, b"{}"),
}
BAD = {
    "one string": (b'{"a":"', b"x" * MIB, b'"}'),
    "one string without end": (b'{"a":"', b"x" * MIB, b""),
    "escapes": (b'{"a":"', b"\\\\" * (MIB // 2), b'"}'),
    "one number": (b'{"a":', b"1" * MIB, b"}"),
    "one list": (b'{"a":[1', b",1" * (MIB // 2), b"]}"),
    "one record": (b'{"a":1', b',"b":1' * (MIB // 6), b"}"),
    "new names": (b"{", b"".join(b'"%06d":1,' % i for i in range(100_000)), b'"a":1}'),
    "white space in a record": (b'{"a":', b" " * MIB, b"1}"),
    "deep": (b"", b'{"a":' * (MIB // 5), b""),
    "nonsense": (b"", b"x" * MIB, b""),
}


@pytest.mark.parametrize("name", GOOD)
def test_100_mb_single_line_and_rows(tmp_path: Path, name: str) -> None:
    head, piece, tail = GOOD[name]
    source = tmp_path / "input.json"
    with source.open("wb") as file:
        fill(file, head, piece, 100 * 1_000_000 // len(piece) + 1, tail)
    code, errors, peak = pack(source)
    assert (code, errors) == (0, "")
    assert peak < BOUND_BYTES


@pytest.mark.parametrize("name", BAD)
def test_100_mb_record(tmp_path: Path, name: str) -> None:
    head, piece, tail = BAD[name]
    source = tmp_path / "input.json"
    with source.open("wb") as file:
        fill(file, head, piece, 100 * 1_000_000 // len(piece) + 1, tail)
    code, errors, peak = pack(source)
    assert code == 6, errors
    assert errors.startswith("sdb: ")
    assert len(errors) < 2000
    assert peak < BOUND_BYTES


@pytest.mark.parametrize("compression", ["gzip", "zstd"])
@pytest.mark.parametrize("name", [*GOOD, *BAD])
def test_bombs(tmp_path: Path, name: str, compression: str) -> None:
    """Half a gigabyte from a file a thousandth of the size and smaller."""
    head, piece, tail = {**GOOD, **BAD}[name]
    times = 500 * MIB // len(piece)
    if compression == "gzip":
        source = tmp_path / "input.json.gz"
        with source.open("wb") as raw:
            member = gzip.compress(piece, mtime=0)
            raw.write(gzip.compress(head))
            for _ in range(times):
                raw.write(member)
            raw.write(gzip.compress(tail))
    else:
        source = tmp_path / "input.json.zst"
        with zstandard.open(source, "wb") as file:
            fill(file, head, piece, times, tail)
    code, errors, peak = pack(source)
    assert code == (0 if name in GOOD else 6), errors
    assert peak < BOUND_BYTES


@pytest.mark.parametrize("count", [1, 50])
def test_many_small_inputs_do_not_add_up(tmp_path: Path, count: int) -> None:
    """Memory for inputs is given back when they are done."""
    source = tmp_path / "input.json"
    source.write_bytes((ROW + b"\n") * 5000)
    code, errors, peak = pack(source, *[str(source)] * (count - 1))
    assert code == 0
    assert ("is given more than once" in errors) == (count > 1)
    assert peak < BOUND_BYTES


@pytest.mark.parametrize("line", [b"x\n", b'{"a":}\n'])
def test_many_malformed_records(tmp_path: Path, line: bytes) -> None:
    """Memory for records that are passed over is in proportion to their text."""
    source = tmp_path / "input.json"
    source.write_bytes(line * (32 * MIB // len(line)))
    code, errors, peak = pack(source, "--on-error", "skip")
    assert code == 0
    assert f"skipped {32 * MIB // len(line):,} records" in errors
    assert peak < BOUND_BYTES
