"""`sdb unpack --where`: rows for which a condition is true."""

from __future__ import annotations

import io
import json
import re
from typing import TYPE_CHECKING, Any

import pytest

import sdb

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def needles(tmp_path: Path) -> Path:
    """Return packfiles with many blocks, in which values rise and ids are all different."""
    for day in (1, 2):
        rows = (
            {
                "ts": f"2026-01-{day:02}T{number // 250:02}:00:00Z",
                "id": f"{day}-{number * 7919 % 4000:06}",
                "n": day * 4000 + number,
                "s": {"a": [number, "x"], "noise": str(number) * 30},
            }
            for number in range(4000)
        )
        lines = "".join(json.dumps(row) + "\n" for row in rows).encode()
        sdb.pack(
            [io.BytesIO(lines)],
            tmp_path / f"{day}.zion",
            block_bytes=1 << 16,
            align_bytes=1 << 13,
            stats="id,n",
        )
    return tmp_path


def blocks(stderr: bytes) -> tuple[int, int]:
    match = re.search(r": ([\d,]+) of ([\d,]+) blocks", stderr.decode())
    assert match is not None, stderr
    return int(match[1]), int(match[2])


@pytest.mark.usefixtures("needles")
@pytest.mark.parametrize("fmt", ["json", "csv", "tsv", "ion-text", "arrow", "parquet", "ion"])
def test_all_formats(run: Any, fmt: str) -> None:
    choice = ["--fmt", fmt, "--fields", "ts,id,n"]
    whole = run("unpack", *choice, "1.zion", "2.zion")
    true = run("unpack", *choice, "--where", "n >= 0 -- all", "1.zion", "2.zion")
    assert (true.returncode, true.stderr) == (0, b"")
    if fmt == "ion":
        assert len(true.stdout) > 0
    else:
        assert true.stdout == whole.stdout
    sought = ["--where", "id = '1-000042' OR id = '2-000017'"]
    result = run("unpack", "-v", *choice, *sought, "?.zion")
    read, there = blocks(result.stderr)
    assert read <= 6 < there
    if fmt in {"json", "ion-text", "csv", "tsv"}:
        remaining = [
            line for line in whole.stdout.split(b"\n") if re.search(b"1-000042|2-000017", line)
        ]
        rows = result.stdout.split(b"\n")[fmt in {"csv", "tsv"} : -1]
        assert rows == remaining
        assert len(rows) == 2


def test_choices(run: Any, needles: Path) -> None:
    base = ["unpack", "-v", "--fmt", "json", "--fields", "n"]
    result = run(*base, "--where", "n % 2 = 0", "--limit", "3", "1.zion", "2.zion")
    assert result.stdout == b'{"n": 4000}\n{"n": 4002}\n{"n": 4004}\n'
    times = ["--since", "2026-01-02T03:00:00Z", "--until", "2026-01-02T04:00:00Z"]
    result = run(*base, "--where", "n < 8800", *times, ".")
    assert [json.loads(row)["n"] for row in result.stdout.splitlines()] == [*range(8750, 8800)]
    read, there = blocks(result.stderr)
    assert read < there / 4
    assert run(*base, "--where", "n = 4000.0", "1.zion").stdout == b'{"n": 4000}\n'
    assert run(*base, "--where", "n = 4000.5", "1.zion").stdout == b""
    nested = run("unpack", "--fmt", "json", "--where", "ARRAY_CONTAINS(s.a, 17)", "1.zion")
    assert [json.loads(row)["n"] for row in nested.stdout.splitlines()] == [4017]
    written = run("unpack", "-o", "x.csv.gz", "--where", "n = 4001", "--fields", "n", "1.zion")
    assert (written.returncode, (needles / "x.csv.gz").stat().st_size > 0) == (0, True)
    assert run("unpack", "-o", "x.csv.gz", "--where", "TRUE", "1.zion").returncode == 4
    assert run("unpack", "-o", "1.zion", "--force", "--where", "TRUE", "1.zion").returncode == 2


@pytest.mark.usefixtures("needles")
def test_what_is_wrong_is_told(run: Any) -> None:
    base = ["unpack", "--fmt", "json"]
    result = run(*base, "--fields", "id,nn", "--where", "s.nois = 'x'", "1.zion", "2.zion")
    assert (result.returncode, result.stdout) == (0, b"")
    assert result.stderr.decode().splitlines() == [
        'warning: no row of 1.zion and 1 more has "nn"',
        "warning: no row of 1.zion and 2.zion has s.nois; did you mean s.noise?",
    ]
    assert run(*base, "--strict", "--where", "nn = 1", "1.zion").returncode == 2
    for words, code, why in (
        (["--where", "n ="], 2, b"syntax error"),
        (["--where", "TRUE) LIMIT 1 --"], 2, b"syntax error"),
        (["--where", "TRUE", "--blocks", "1"], 2, b"neither --blocks"),
        (["--where", "TRUE", "--no-verify"], 2, b"neither --blocks"),
        (["--where", "TRUE", "--fmt", "xml"], 2, b"xml"),
        (["--where", "TRUE", "nosuch.zion"], 3, b"nosuch.zion"),
    ):
        bad = run(*base, *words, "1.zion")
        assert (bad.returncode, bad.stdout) == (code, b""), words
        assert why in bad.stderr, words


def test_tables(run: Any, needles: Path) -> None:
    db = sdb.connect(str(needles / "lake"))
    db.execute("CREATE TABLE web.t")
    db.append("web.t", needles / "1.zion")
    db.append("web.t", needles / "2.zion")
    words = ["unpack", "--fmt", "json", "--where", "n IN (4001, 8002)", "--fields", "n"]
    result = run("--root", "lake", *words, "web.t")
    assert (result.returncode, result.stdout) == (0, b'{"n": 4001}\n{"n": 8002}\n')
    assert run("--root", "lake", *words, "web.t@1").stdout == b""
    assert run("--root", "lake", *words, needles / "1.zion", "web.t").stdout == (
        b'{"n": 4001}\n{"n": 4001}\n{"n": 8002}\n'
    )
    shown = run("--root", "lake", "head", "--where", "n = 8002", "--fields", "n", "web.t")
    assert shown.stdout == b'{"n": 8002}\n'
    wrong = run("--root", "lake", *words[:-1], "nn", "web.t")
    assert b'no row of web.t has "nn"' in wrong.stderr


def test_names_are_no_patterns_once_they_are_found(run: Any, needles: Path) -> None:
    odd = needles / 'it\'s [1] \\ "q".zion'
    (needles / "1.zion").rename(odd)
    words = ["unpack", "--fmt", "json", "--where", "n = 4001", "--fields", "n"]
    assert run(*words, odd.name).stdout == b'{"n": 4001}\n'
    assert run(*words, odd, odd).stdout == b'{"n": 4001}\n' * 2


def test_in_python(needles: Path) -> None:
    out = io.BytesIO()
    sdb.unpack(needles / "1.zion", out, where="n = 4003", fields=["n"])
    sdb.unpack([needles / "1.zion"], out, fields=["n"], limit=1)
    assert out.getvalue() == b'{"n": 4003}\n{"n": 4000}\n'
    with pytest.raises(sdb.errors.UsageError):
        sdb.unpack([], out, where="TRUE")
    with pytest.raises(sdb.errors.UsageError):
        sdb.unpack(needles / "1.zion", out, where="TRUE", blocks="0")
    with pytest.raises(sdb.errors.UsageError):
        sdb.unpack(needles / "1.zion", out, where="TRUE", fmt="xml")
