from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.conftest import golden

if TYPE_CHECKING:
    from pathlib import Path

WITH_ROWS = [folder for folder in golden() if (folder / "unpack.ndjson").exists()]


@pytest.mark.parametrize("folder", WITH_ROWS[:4], ids=lambda folder: folder.name)
def test_json_is_that_of_the_original(run: Any, folder: Path) -> None:
    (pack,) = folder.glob("pack.*")
    result = run("unpack", "-fmt", "json", pack)
    assert (result.returncode, result.stderr) == (0, b"")
    assert result.stdout == (folder / "unpack.ndjson").read_bytes()


def test_ion_is_the_default(run: Any, events: Path) -> None:
    result = run("unpack", events)
    assert result.returncode == 0
    assert result.stdout[:4] == b"\xe0\x01\x00\xea"


def test_choices(run: Any, events: Path) -> None:
    words = ["unpack", "-fmt=json", "--fields", "id,type", "--blocks", "1-", "--limit", "5"]
    rows = [json.loads(line) for line in run(*words, events).stdout.splitlines()]
    assert [row.keys() for row in rows] == [{"id", "type"}] * 5
    words = ["unpack", "--fmt=json", "--since", "2000-01-01", "--time-field", "created_at"]
    assert len(run(*words, events).stdout.splitlines()) == 4000
    assert run(*words, "--until", "2000-01-02", events).stdout == b""


def test_output_file(run: Any, events: Path, tmp_path: Path) -> None:
    assert run("unpack", "-o", "x.ndjson", "--limit", "3", events).returncode == 0
    assert len((tmp_path / "x.ndjson").read_text().splitlines()) == 3
    assert run("unpack", "-o", "x.ndjson", events).returncode == 4
    assert run("unpack", "--force", "-o", "x.ndjson", events).returncode == 0
    assert len((tmp_path / "x.ndjson").read_text().splitlines()) == 4000


def test_suffix_tells_the_format(run: Any, events: Path, tmp_path: Path) -> None:
    assert run("unpack", "-o", "x.parquet", events).returncode == 0
    assert (tmp_path / "x.parquet").read_bytes()[:4] == b"PAR1"
    assert run("unpack", "-o", "x.ion", events).returncode == 0
    assert (tmp_path / "x.ion").read_bytes()[:4] == b"\xe0\x01\x00\xea"


def test_several_files(run: Any, events: Path) -> None:
    result = run("unpack", "--fmt", "json", events, events)
    assert len(result.stdout.splitlines()) == 8000


def test_no_binary_on_a_terminal(screen: Any, events: Path) -> None:
    code, text = screen("unpack", events)
    assert code == 2
    assert text.startswith("sdb: binary data would go to the terminal\nhint: ")
    code, text = screen("unpack", "--fmt", "json", "--limit", "1", events)
    assert code == 0
    assert json.loads(text)["id"]


def test_failures(run: Any, events: Path, tmp_path: Path) -> None:
    assert run("unpack", "--fmt", "xml", events).returncode == 2
    assert run("unpack", "--blocks", "999", events).returncode == 3
    assert run("unpack", "-j", "0", events).returncode == 2
    data = bytearray(events.read_bytes())
    data[1000] ^= 0xFF
    events.write_bytes(data)
    broken = run("unpack", "--fmt", "json", "-o", "x.json", events)
    assert broken.returncode == 6
    assert b"block 0" in broken.stderr
    assert b"hint: sdb validate" in broken.stderr
    assert not (tmp_path / "x.json").exists()


def test_ion_text(run: Any, events: Path) -> None:
    text = run("unpack", "--fmt", "ion-text", "--fields", "id", "--blocks", "1", events)
    rows = run("unpack", "--fmt", "json", "--fields", "id", "--blocks", "1", events)
    assert text.returncode == 0
    assert text.stdout.replace(b"{id:", b'{"id":') == rows.stdout
    limited = run("unpack", "--fmt", "ion-text", "--limit", "3", events, events)
    assert len(limited.stdout.splitlines()) == 3
