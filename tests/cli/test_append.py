from __future__ import annotations

import gzip
import json
import os
import shutil
import signal
import subprocess
import time
from typing import TYPE_CHECKING, Any

import pytest

from tests.cli.conftest import COMMAND, environment
from tests.patience import soon

if TYPE_CHECKING:
    from pathlib import Path

ROWS = b'{"a": 1, "t": "2021-01-02T03:04:05Z"}\n{"a": 2, "t": "2021-01-02T03:04:06Z"}\n'


@pytest.fixture
def pack(run: Any, tmp_path: Path) -> Path:
    assert run("pack", "-o", "x.zion", "-", data=ROWS).returncode == 0
    return tmp_path / "x.zion"


def rows(run: Any, path: str = "x.zion") -> list[dict[str, Any]]:
    result = run("unpack", "--fmt", "json", path)
    assert result.returncode == 0, result.stderr
    return [json.loads(line) for line in result.stdout.splitlines()]


def test_append(run: Any, pack: Path) -> None:
    (pack.parent / "more.json").write_bytes(ROWS)
    result = run("append", "x.zion", "more.json", "-", data=b'{"a": 3}')
    assert (result.returncode, result.stdout) == (0, b"")
    assert result.stderr.startswith(b"appended 3 rows to 2, 1 block now\n")
    assert [row["a"] for row in rows(run)] == [1, 2, 1, 2, 3]
    assert run("validate-file", "x.zion").returncode == 0


def test_json(run: Any, pack: Path) -> None:
    facts = json.loads(run("append", "--json", "x.zion", "-", data=ROWS).stdout)
    assert 0 <= facts.pop("seconds") < 60
    size = pack.stat().st_size
    assert facts.pop("read_bytes") > 0
    assert facts.pop("copied_by") in {"copy", "reflink"}
    assert facts == {
        "known": ["standard input"],
        "skipped": [],
        "path": "x.zion",
        "algorithm": "zion+zstd",
        "inputs": 1,
        "rows_added": 2,
        "rows": 4,
        "rejected": 0,
        "kept": 0,
        "blocks": 1,
        "text_bytes": len(ROWS),
        "output_bytes": size,
        "copied_bytes": 0,
        "written_bytes": size,
        "attempts": 1,
        "indexes": [
            {
                "path": ["t"],
                "first_at": "2021-01-02T03:04:05Z",
                "last_at": "2021-01-02T03:04:06Z",
            }
        ],
    }
    nothing = json.loads(run("append", "--json", "x.zion", "-").stdout)
    assert (nothing["rows_added"], nothing["rows"], nothing["copied_by"]) == (0, 4, None)


def test_what_is_told(run: Any, screen: Any, pack: Path) -> None:
    messages = run("append", "x.zion", "-", data=ROWS).stderr.decode()
    warning = "warning: x.zion had the rows of standard input already, and has them once more now\n"
    assert messages.startswith(warning + "appended 2 rows to 2, 1 block now\nsize ")
    assert run("append", "x.zion", "-").stderr == (
        b"nothing to append: x.zion has the rows that were there\n"
    )
    assert run("append", "-q", "x.zion", "-").stderr == b""
    (pack.parent / "more.json").write_bytes(ROWS)
    code, text = screen("append", "x.zion", "more.json")
    assert (code, text.splitlines()[0]) == (0, "appended 2 rows to 4, 1 block now")
    code, text = screen("append", "-q", "x.zion", "more.json")
    assert (code, text) == (0, "")


def test_elsewhere(run: Any, pack: Path) -> None:
    before = pack.read_bytes()
    assert run("append", "-o", "y.zion", "x.zion", "-", data=ROWS).returncode == 0
    assert (len(rows(run, "y.zion")), pack.read_bytes()) == (4, before)
    again = run("append", "-o", "y.zion", "x.zion", "-", data=ROWS)
    assert again.returncode == 4
    assert b"y.zion exists already" in again.stderr
    assert run("append", "--force", "-o", "y.zion", "x.zion", "-").returncode == 0
    assert (pack.parent / "y.zion").read_bytes() == before
    stdout = run("append", "-o", "-", "x.zion", "-", data=ROWS)
    assert stdout.returncode == 2
    assert sorted(path.name for path in pack.parent.iterdir()) == ["x.zion", "y.zion"]


def test_root(run: Any, pack: Path, tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    shutil.move(pack, tmp_path / "folder/x.zion")
    assert run("--root", "folder", "append", "x.zion", "-", data=ROWS).returncode == 0
    assert len(rows(run, "folder/x.zion")) == 4


def test_malformed_records(run: Any, pack: Path) -> None:
    bad = ROWS + b"nonsense\n" + ROWS
    failed = run("append", "-f", "json", "x.zion", "-", data=bad)
    assert failed.returncode == 6
    assert b"line 3" in failed.stderr
    assert len(rows(run)) == 2
    options = ("-f", "json", "--on-error", "quarantine:bad.json")
    result = run("append", *options, "x.zion", "-", data=bad)
    assert result.returncode == 0
    assert b"skipped 1 record; kept in bad.json" in result.stderr
    assert (pack.parent / "bad.json").read_bytes() == b"nonsense\n"
    assert len(rows(run)) == 6


@pytest.mark.parametrize(
    ("code", "arguments", "message"),
    [
        (2, ["append"], "Usage"),
        (2, ["append", "--json"], "Missing argument 'PACKFILE'"),
        (2, ["append", "x.zion", "-", "--constant", "a=1"], "x.zion has other constants: none"),
        (2, ["append", "-", "x.zion"], "must be a file and not a pipe"),
        (2, ["append", ".", "-"], "is a folder"),
        (2, ["apend", "x.zion", "-"], "append"),
        (3, ["append", "none.zion", "-"], "opening none.zion"),
        (3, ["append", "x.zion", "none.json"], "opening none.json"),
        (6, ["append", "cut.zion", "-"], "reading trailer from cut.zion"),
        (6, ["append", "text.json", "-"], "reading trailer from text.json"),
        (6, ["append", "damaged.zion", "-"], "damaged.zion: block 0 at byte"),
    ],
)
def test_errors(run: Any, pack: Path, code: int, arguments: list[str], message: str) -> None:
    data = pack.read_bytes()
    folder = pack.parent
    (folder / "cut.zion").write_bytes(data[:-9])
    (folder / "text.json").write_bytes(ROWS)
    (folder / "damaged.zion").write_bytes(data[:20] + b"????" + data[24:])
    before = {path: path.read_bytes() for path in folder.iterdir()}
    result = run(*arguments, data=ROWS)
    assert result.returncode == code, result.stderr
    assert message in result.stderr.decode()
    assert {path: path.read_bytes() for path in folder.iterdir()} == before


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_interrupted(pack: Path, number: signal.Signals, code: int) -> None:
    before = pack.read_bytes()
    command = [*COMMAND, "append", "x.zion", "-"]
    process = subprocess.Popen(
        command, stdin=subprocess.PIPE, cwd=pack.parent, env=environment(), stderr=subprocess.PIPE
    )
    assert process.stdin
    process.stdin.write(ROWS * 100_000)
    process.stdin.flush()
    time.sleep(0.3)
    started = time.monotonic()
    process.send_signal(number)
    assert process.wait(10) == code
    assert time.monotonic() - started < soon(5)
    process.stdin.close()
    assert process.stderr
    assert process.stderr.read() == b""
    process.stderr.close()
    assert list(pack.parent.iterdir()) == [pack]
    assert pack.read_bytes() == before


def test_a_missing_packfile_is_told_before_input_is_read(pack: Path) -> None:
    command = [*COMMAND, "append", "none.zion", "-"]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, cwd=pack.parent, env=environment(), stderr=subprocess.PIPE
    ) as process:
        assert process.wait(10) == 3
        assert process.stderr
        process.stderr.read()


def test_compressed_and_named_inputs(run: Any, pack: Path) -> None:
    (pack.parent / "more.json.gz").write_bytes(gzip.compress(ROWS))
    (pack.parent / "more.csv").write_bytes(b"a,t\n7,2021-01-02T03:04:07Z\n")
    fifo = pack.parent / "fifo"
    os.mkfifo(fifo)
    feeder = subprocess.Popen(["sh", "-c", f"echo '{{}}' > {fifo}"])
    shutil.copy(pack, pack.parent / "y.zion")
    result = run("append", "x.zion", "more.json.gz", "more.csv", "y.zion", "fifo")
    assert result.returncode == 0, result.stderr
    assert feeder.wait(10) == 0
    assert [row.get("a") for row in rows(run)] == [1, 2, 1, 2, 7, 1, 2, None]
