"""Closed streams, odd files, full disks and killed programs: nothing goes wrong in silence."""

from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import sdb
from sdb.store.local import scratch
from tests.cli.conftest import COMMAND, ROOT, environment

if TYPE_CHECKING:
    from collections.abc import Iterator

WIDE = "SELECT k, COUNT(*) AS n FROM 'wide.zion' GROUP BY k ORDER BY k LIMIT 1 OFFSET 59000"


def shell(line: str, folder: Path) -> subprocess.CompletedProcess[bytes]:
    """Run a line of the shell in which `sdb` is the command."""
    sdb_ = " ".join(COMMAND)
    return subprocess.run(
        ["bash", "-c", f'sdb() {{ {sdb_} "$@"; }}; {line}'],
        cwd=folder,
        env=environment(),
        capture_output=True,
        timeout=60,
        check=False,
    )


@pytest.mark.parametrize(
    "line",
    [
        "version",
        "--version",
        "version --json",
        "describe-file events.zion",
        "head events.zion",
        "unpack --fmt json events.zion",
        "query 'SELECT COUNT(*) FROM \"events.zion\"'",
        "pack -o - rows.json",
        "--help",
    ],
)
def test_an_answer_that_nobody_gets_is_an_error(events: Path, tmp_path: Path, line: str) -> None:
    assert events.exists()
    (tmp_path / "rows.json").write_text('{"a": 1}\n')
    for closed in (">&-", "<&- >&-", ">/dev/full"):
        done = shell(f"sdb {line} {closed}", tmp_path)
        assert done.returncode == 1, (closed, done.stderr)
        assert b"standard output" in done.stderr
        assert done.stderr.count(b"\n") == 1


def test_who_writes_nothing_needs_no_standard_output(tmp_path: Path) -> None:
    (tmp_path / "rows.json").write_text('{"a": 1}\n')
    done = shell("sdb pack -o x.zion rows.json <&- >&- 2>&-", tmp_path)
    assert done.returncode == 0
    assert sdb.validate(tmp_path / "x.zion").rows == 1


@pytest.mark.parametrize("line", ["pack -f json -o x.zion -", "append events.zion -", "query -f -"])
def test_closed_standard_input(events: Path, tmp_path: Path, line: str) -> None:
    before = events.read_bytes()
    done = shell(f"sdb {line} <&-", tmp_path)
    assert (done.returncode, done.stdout) == (6, b"")
    assert done.stderr == b"sdb: standard input is closed\n"
    assert sorted(os.listdir(tmp_path)) == ["events.zion"]  # noqa: PTH208
    assert events.read_bytes() == before


@pytest.mark.parametrize(
    "line", ["--help", "pack --help", "query --help", "describe-file events.zion"]
)
def test_a_reader_that_goes_away(events: Path, tmp_path: Path, line: str) -> None:
    assert events.exists()
    done = shell(f"sdb {line} | true; exit ${{PIPESTATUS[0]}}", tmp_path)
    assert (done.returncode, done.stderr) == (141, b"")


def test_files_that_tell_no_size(run: Any, tmp_path: Path) -> None:
    """Files of /proc say that they are empty."""
    status = run("pack", "-f", "tsv", "-o", "y.zion", "/proc/self/status")
    assert status.returncode == 0, status.stderr
    assert sdb.validate(tmp_path / "y.zion").rows > 10
    (tmp_path / "empty.json").write_bytes(b"")
    assert run("pack", "-o", "z.zion", "empty.json").returncode == 0
    assert run("append", "y.zion", "-f", "tsv", "/proc/self/status").returncode == 0


def test_a_read_only_packfile_is_not_replaced(run: Any, events: Path, tmp_path: Path) -> None:
    (tmp_path / "rows.json").write_text('{"a": 1}\n')
    events.chmod(0o444)
    before = events.read_bytes()
    done = run("append", "events.zion", "rows.json")
    assert done.returncode == 7, done.stderr
    assert b"read-only" in done.stderr
    assert events.read_bytes() == before
    assert run("append", "-o", "longer.zion", "events.zion", "rows.json").returncode == 0
    assert run("append", "--force", "-q", "events.zion", "rows.json").returncode == 0
    assert events.stat().st_mode & 0o777 == 0o444
    assert len(events.read_bytes()) > 0
    assert events.read_bytes() != before


@pytest.fixture
def small(tmp_path: Path) -> Iterator[Path]:
    """Yield a file system of 2 MiB."""
    folder = tmp_path / "small"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(folder)]
    if subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("only root may mount a small file system")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)


@pytest.fixture
def wide(tmp_path: Path) -> Path:
    lines = (f'{{"k": "{number:0120}"}}\n' for number in range(60_000))
    (tmp_path / "wide.json").write_text("".join(lines))
    sdb.pack([tmp_path / "wide.json"], tmp_path / "wide.zion")
    return tmp_path / "wide.zion"


def test_a_full_temporary_folder_is_no_lack_of_memory(run: Any, small: Path, wide: Path) -> None:
    assert wide.exists()
    # Far more than the memory, which is enough to move it out of the way.
    query = WIDE.replace("k,", "k || k || k || k || k AS k,").replace("BY k O", "BY 1 O")
    done = run("query", "--memory", "24MiB", "-j", "1", query, TMPDIR=str(small))
    assert (done.returncode, done.stdout) == (1, b"")
    assert b"has no room" in done.stderr
    assert b"TMPDIR" in done.stderr
    assert b"more memory than" not in done.stderr
    assert os.listdir(small) == []  # noqa: PTH208
    data = b'{"a": "' + b"x" * 1000 + b'"}\n'
    spooled = run("append", wide, "-", data=data * 12_000, TMPDIR=str(small))
    assert spooled.returncode == 1
    assert b"keeping a part of the input in" in spooled.stderr


def _is_locked(path: Path) -> bool:
    """Return whether a process has locked a folder, without getting in its way."""
    return f":{path.stat().st_ino} " in Path("/proc/locks").read_text()


def test_a_killed_query_leaves_nothing_for_long(
    run: Any, wide: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "temporary"
    folder.mkdir()
    endless = "SELECT COUNT(*) FROM 'wide.zion' a JOIN 'wide.zion' b ON a.k <> b.k"
    process = subprocess.Popen(
        [*COMMAND, "query", endless], cwd=wide.parent, env=environment(TMPDIR=str(folder))
    )
    try:
        while not any(map(_is_locked, folder.iterdir())):
            assert process.poll() is None
            time.sleep(0.01)
        (mine,) = folder.iterdir()
        monkeypatch.setattr(scratch, "_YOUNG_SECONDS", -1)
        scratch.remove_abandoned(str(folder))
        assert mine.exists(), "the query that has it is alive"
    finally:
        process.kill()
        process.wait()
    monkeypatch.setattr(scratch, "_YOUNG_SECONDS", 3600)
    scratch.remove_abandoned(str(folder))
    assert mine.exists(), "it is young: its maker may not have locked it yet"
    monkeypatch.setattr(scratch, "_YOUNG_SECONDS", -1)
    (folder / "sdb-scratch-file").write_text("no folder")
    (folder / "sdb-scratch-link").symlink_to(tmp_path)
    scratch.remove_abandoned(str(folder))
    assert not mine.exists()
    assert len(list(folder.iterdir())) == 2
    assert wide.exists()
    assert ROOT.exists()
    assert run("query", WIDE, TMPDIR=str(folder)).returncode == 0
