from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.conftest import golden

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("folder", golden(), ids=lambda folder: folder.name)
def test_text_is_that_of_the_original(run: Any, folder: Path) -> None:
    if not folder.name.startswith(("d01", "d07", "s07", "a15")):
        pytest.skip("all of them are compared in process")
    (pack,) = folder.glob("pack.*")
    result = run("-root", folder, "describe-file", pack.name)
    assert result.stdout == (folder / "describe.txt").read_bytes()
    assert (result.returncode, result.stderr) == (0, b"")


def test_json(run: Any, events: Path) -> None:
    facts = json.loads(run("describe-file", "--json", events).stdout)
    assert facts["total"] == {
        "files": 1,
        "blocks": facts["files"][0]["blocks"],
        "rows": 4000,
        "size_bytes": events.stat().st_size,
        "decompressed_bytes": facts["files"][0]["decompressed_bytes"],
    }
    assert "block_list" not in facts["files"][0]
    listed = json.loads(run("describe-file", "--json", "--blocks", events).stdout)
    assert sum(block["rows"] for block in listed["files"][0]["block_list"]) == 4000


def test_blocks(run: Any, screen: Any, events: Path) -> None:
    lines = run("describe-file", "--blocks", events).stdout.decode().split("\n\n")[1].splitlines()
    assert lines[0].split()[:6] == ["block", "offset", "size", "ratio", "chunks", "rows"]
    assert "created_at from" in lines[0]
    assert len(lines) > 2
    code, text = screen("describe-file", "--blocks", events, columns=60)
    assert code == 0
    table = text.split("\n\n")[1].splitlines()
    assert max(map(len, table[:-1])) <= 60
    assert "created_at from" in table[-1]


def test_timeline(run: Any, screen: Any, events: Path) -> None:
    for columns in (60, 120):
        code, text = screen("describe-file", "--timeline", events, columns=columns)
        drawn = text.split("\n\n", 1)[1].splitlines()
        assert code == 0
        assert max(map(len, drawn)) <= columns
        assert any("█" in line for line in drawn)
    plain = run("describe-file", "--timeline", events, PYTHONIOENCODING="ascii")
    assert plain.returncode == 0
    assert b"#" in plain.stdout


def test_html(run: Any, events: Path, tmp_path: Path) -> None:
    assert run("describe-file", "--html", "x.html", events).returncode == 0
    page = (tmp_path / "x.html").read_text()
    assert page.startswith("<!doctype html>")
    again = run("describe-file", "--html", "x.html", events)
    assert again.returncode == 4
    assert b"--force" in again.stderr
    assert run("describe-file", "--force", "--html", "x.html", events).returncode == 0


def test_failures(run: Any, tmp_path: Path, sample: Path) -> None:
    missing = run("describe-file", "nope")
    assert (missing.returncode, missing.stdout) == (3, b"")
    assert missing.stderr == b"sdb: opening nope: no such file or directory\n"
    other = run("describe-file", sample)
    assert (other.returncode, other.stdout) == (6, b"")
    assert other.stderr.count(b"\n") == 2
    assert run("describe-file", tmp_path).returncode == 2
    assert run("describe-file", "--json", "--timeline", "x").returncode == 2


def test_names_cannot_steer_the_terminal(run: Any, events: Path, tmp_path: Path) -> None:
    events.rename(tmp_path / "\x1b[2J.zion")
    result = run("describe-file", "\x1b[2J.zion")
    assert b"\x1b" not in result.stdout
    assert b"\\u001b[2J.zion" in result.stdout
    assert b"\x1b" not in run("describe-file", "\x1b[3J").stderr
