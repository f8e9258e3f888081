from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import pytest

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
    code, text = screen("head", "-n", "1", "--fmt", "json", "--fields", "id,type,actor", events)
    assert code == 0
    assert "\x1b[" in text
    bare = re.sub(r"\x1b\[\d*m", "", text)
    assert len(bare.splitlines()) > 3
    piped = run("head", "-n", "1", "--fields", "id,type,actor", events).stdout
    assert json.loads(bare) == json.loads(piped)


@pytest.mark.parametrize("command", ["head", "tail"])
def test_rows_on_a_terminal_are_the_table_of_queries(
    screen: Any, events: Path, command: str
) -> None:
    code, text = screen(command, "-n", "3", "--fields", "id,type", events)
    lines = text.splitlines()
    assert (code, lines[0].split(), lines[-1]) == (0, ["id", "type"], "(3 rows)")
    if command == "head":
        query = f"SELECT id, type FROM '{events}' LIMIT 3"
        assert screen("query", "--progress", "off", query) == (0, text)


def test_colors_can_be_turned_off(screen: Any, events: Path) -> None:
    code, text = screen("head", "-n", "1", "--fmt", "json", events, NO_COLOR="1")
    assert code == 0
    assert "\x1b" not in text
    assert json.loads(text)["id"]
    assert screen("head", "-n", "0", events) == (0, "(0 rows)\n")


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


def test_as_many_as_the_flag_says(run: Any, events: Path) -> None:
    for words in (["-3"], ["-n", "3"], ["-n3"], ["--rows", "3"]):
        for command in ("head", "tail"):
            assert len(run(command, *words, events).stdout.splitlines()) == 3


def test_formats(run: Any, events: Path) -> None:
    for command in ("head", "tail"):
        rows = [json.loads(line) for line in run(command, "-3", events).stdout.splitlines()]
        choice = ["-3", "--fields", "id,type", events]
        table = [f"{row['id']},{row['type']}" for row in rows]
        output = run(command, "--fmt", "csv", *choice).stdout.decode()
        assert output.splitlines() == ["id,type", *table]
        output = run(command, "--fmt", "tsv", *choice).stdout.decode()
        assert output.splitlines() == ["id\ttype", *(line.replace(",", "\t") for line in table)]
        output = run(command, "--fmt", "table", *choice).stdout.decode()
        assert output.splitlines()[2].split() == table[0].split(",")
        assert output.endswith("(3 rows)\n")
        output = run(command, "--fmt", "md", *choice).stdout.decode()
        assert output.splitlines()[2] == f"| {rows[0]['id']} | {rows[0]['type']} |"
        output = run(command, "--fmt", "ion-text", *choice).stdout.decode()
        assert output.splitlines()[0] == f'{{id: "{rows[0]["id"]}", type: "{rows[0]["type"]}"}}'
        assert run(command, "--fmt", "xml", *choice).returncode == 2


def test_where(run: Any, events: Path) -> None:
    everything = run("unpack", "--fmt", "json", events).stdout.splitlines(keepends=True)
    wanted = [line for line in everything if json.loads(line)["type"] == "ForkEvent"]
    result = run("head", "-5", "--where", "type = 'ForkEvent' -- those", events)
    assert (result.returncode, result.stderr) == (0, b"")
    assert result.stdout == b"".join(wanted[:5])
    words = ["--where", "type = 'ForkEvent' OR id = '1'", "--fields", "type", "--fmt", "csv"]
    assert run("head", "-2", *words, events).stdout == b"type\nForkEvent\nForkEvent\n"
    bad = run("head", "--where", "type =", events)
    assert (bad.returncode, bad.stdout) == (2, b"")
    assert run("head", "--where", "TRUE", "--since", "1h", events).stdout == b""
    until = ["--until", "2015-01-01T01:00:00Z"]
    early = run("unpack", "--fmt", "json", *until, events).stdout
    assert run("head", "-9999", "--where", "TRUE", *until, events).stdout == early


def test_tail(run: Any, events: Path, tmp_path: Path) -> None:
    """Blocks are read from the end on: damage before them is not even seen."""
    lines = run("unpack", "--fmt", "json", events).stdout.splitlines(keepends=True)
    for count in (0, 1, 10, 3999, 4000, 4001):
        assert run("tail", "-n", str(count), events).stdout == b"".join(lines[-count or 4000 :])
    late = run("tail", "-2", "--until", "2015-01-01T01:01:00Z", events).stdout
    before = [line for line in lines if json.loads(line)["created_at"] < "2015-01-01T01:01:00Z"]
    assert late == b"".join(before[-2:])
    (tmp_path / "other").mkdir()
    for name in ("a.zion", "b.zion"):
        (tmp_path / "other" / name).write_bytes(events.read_bytes())
    assert run("tail", "-5000", "other/").stdout == b"".join([*lines[-1000:], *lines])
    data = bytearray(events.read_bytes())
    data[1000] ^= 0xFF
    events.write_bytes(data)
    assert run("tail", "-1", events).stdout == lines[-1]
    assert run("tail", "-4000", events).returncode == 6


def test_tail_on_a_terminal(screen: Any, run: Any, events: Path) -> None:
    code, text = screen("tail", "-1", "--fmt", "json", "--fields", "id,type", events, NO_COLOR="1")
    assert code == 0
    assert json.loads(text) == json.loads(run("tail", "-1", "--fields", "id,type", events).stdout)
