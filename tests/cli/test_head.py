from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path


def test_lines_in_a_pipe(run: Any, events: Path) -> None:
    result = run("head", events)
    assert (result.returncode, result.stderr) == (0, b"")
    rows = [json.loads(line) for line in result.stdout.splitlines()]
    assert len(rows) == 10
    few = run("head", "-n", "2", "--fields", "id,type", events)
    assert [json.loads(line).keys() for line in few.stdout.splitlines()] == [{"id", "type"}] * 2
    assert run("head", "-n", "0", events).stdout == b""


def test_layout_on_a_terminal(run: Any, screen: Any, events: Path) -> None:
    code, text = screen("head", "-n", "1", "--fields", "id,type,actor", events, columns=60)
    assert code == 0
    assert "\x1b[" in text
    bare = re.sub(r"\x1b\[\d*m", "", text)
    assert len(bare.splitlines()) > 3
    piped = run("head", "-n", "1", "--fields", "id,type,actor", events).stdout
    assert json.loads(bare) == json.loads(piped)


def test_colors_can_be_turned_off(screen: Any, events: Path) -> None:
    code, text = screen("head", "-n", "1", events, NO_COLOR="1")
    assert code == 0
    assert "\x1b" not in text
    assert json.loads(text)["id"]
    assert screen("head", "-n", "0", events) == (0, "")


def test_times(run: Any, events: Path) -> None:
    assert run("head", "--until", "2000-01-01", "--time-field", "created_at", events).stdout == b""
    bad = run("head", "--since", "soon", events)
    assert bad.returncode == 2
    assert b"'soon' is not a time" in bad.stderr


def test_ion_text(run: Any, screen: Any, events: Path) -> None:
    piped = run("head", "-n", "2", "--fmt", "ion-text", "--fields", "id,created_at", events)
    assert (piped.returncode, piped.stderr) == (0, b"")
    first = '{id: "2489395767", created_at: 2015-01-01T01:00:00Z}'
    assert piped.stdout.decode().splitlines()[0] == first
    code, text = screen("head", "-n", "1", "--fmt", "ion-text", "--fields", "id", events)
    assert (code, text) == (0, '{\n  id: "2489395767"\n}\n')
    assert run("head", "--fmt", "xml", events).returncode == 2
