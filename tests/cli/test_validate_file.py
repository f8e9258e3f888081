from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

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
    found = json.loads(result.stdout)
    assert found["ok"] is False
    assert found["files"][0]["findings"]


def test_no_packfile(run: Any, sample: Path) -> None:
    assert run("validate-file", "nope").returncode == 3
    assert run("validate-file", sample).returncode in {1, 6}
