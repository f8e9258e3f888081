from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

import sdb
from sdb.errors import CorruptError
from tests.cli.conftest import SAMPLE
from tests.unit.test_reader import make, rows

if TYPE_CHECKING:
    from pathlib import Path


def damage(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[1000] ^= 0xFF
    path.write_bytes(data)


def test_good_file(run: Any, events: Path) -> None:
    result = run("validate-file", events)
    assert (result.returncode, result.stdout, result.stderr) == (0, b"", b"")
    assert run("validate-file", "-v", events).stderr == f"checking {events}\n".encode()


def test_damaged_file(run: Any, events: Path) -> None:
    damage(events)
    result = run("validate-file", events)
    assert result.returncode == 1
    assert result.stdout == b""
    assert b"block 0" in result.stderr


def test_json(run: Any, events: Path) -> None:
    good = json.loads(run("validate-file", "--json", events).stdout)
    assert good["ok"] is True
    assert good["files"][0]["rows"] == 4000
    damage(events)
    result = run("validate-file", "--json", events)
    assert result.returncode == 1
    facts = json.loads(result.stdout)
    assert facts["ok"] is False
    assert facts["files"][0]["findings"]


def test_no_packfile(run: Any, sample: Path) -> None:
    assert run("validate-file", "nope").returncode == 3
    assert run("validate-file", sample).returncode in {1, 6}


def test_findings_beyond_the_limit_are_counted(run: Any, tmp_path: Path) -> None:
    make(tmp_path / "bad.zion", rows(1000), hide=True)
    every = run("validate-file", "bad.zion")
    assert every.returncode == 1
    count = every.stderr.count(b"\n")
    assert count > 3
    for most in (3, 1, 0):
        done = run("validate-file", "--max-findings", str(most), "bad.zion")
        assert (done.returncode, done.stdout) == (1, b"")
        *shown, last = done.stderr.splitlines()
        assert shown == every.stderr.splitlines()[:most]
        assert last.startswith(f"bad.zion: {count - most:,} more findings; ".encode())
    facts = json.loads(run("validate-file", "--max-findings", "0", "--json", "bad.zion").stdout)
    assert facts["ok"] is False
    assert facts["files"][0]["more_findings"] == count
    suggested = last.split(b"--max-findings ")[1].split()[0].decode()
    assert run("validate-file", "--max-findings", suggested, "bad.zion").stderr == every.stderr


def test_a_time_needs_a_field(run: Any, tmp_path: Path) -> None:
    (tmp_path / "none.json").write_text('{"a": 1}\n')
    (tmp_path / "two.json").write_text(
        '{"a": "2021-01-01T00:00:00Z", "b": "2021-01-01T00:00:00Z"}\n'
    )
    for name, message in [("none", b"no field is indexed"), ("two", b"have times at 2 paths")]:
        times = ["--time-field", "a", "--time-field", "b"] if name == "two" else []
        assert run("pack", "-o", f"{name}.zion", f"{name}.json", *times).returncode == 0
        done = run("head", "--since", "2021-01-01", f"{name}.zion")
        assert done.returncode == 2
        assert message in done.stderr
        assert b"--time-field" in done.stderr


def test_a_packfile_without_its_end_is_called_that(tmp_path: Path) -> None:
    path = tmp_path / "a.zion"
    sdb.pack([SAMPLE], path)
    whole = path.read_bytes()
    for size in (0, 3, 4, 5, 1000, len(whole) // 2):
        path.write_bytes(whole[:size])
        with pytest.raises(CorruptError) as caught:
            sdb.open(path)
        text = str(caught.value)
        assert "not a packfile, or its end is missing: " in text, (size, text)
        assert caught.value.hint == "is it a packfile, and complete?"
