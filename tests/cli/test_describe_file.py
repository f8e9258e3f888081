from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import sdb
from tests.conftest import golden

TESTDATA = Path(__file__).parents[2] / "testdata"


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
    assert "created_at from" in table[0]  # times are left out last
    assert "size" in table[-1]


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


def test_a_terminal_gets_what_people_ask_for(
    run: Any, screen: Any, events: Path, tmp_path: Path
) -> None:
    (tmp_path / "more.json").write_text('{"id":"1"}\n' * 1000)
    run("pack", "-o", "more.zion", "--constant", "region=eu", "more.json")
    code, text = screen("describe-file", "more.zion", columns=100)
    lines = text.splitlines()
    assert code == 0
    assert lines[:2] == ["more.zion", "  rows      1,000 in 1 block"]
    assert lines[2].startswith("  size      ")
    assert lines[2].endswith("x smaller than the 10.742 KiB of text that went in")
    assert lines[3:] == [
        "  fields    2; sdb fields more.zion",
        "  constants region=eu",
        "  packed as zion+zstd",
        "  largest   fields, shares by raw bytes",
        *lines[-2:],
    ]
    assert sorted(line.split()[0] for line in lines[-2:]) == ["id", "region"]
    code, text = screen("describe-file", events, "more.zion", columns=40)
    assert code == 0
    assert "5,000, " in text.splitlines()[-1]
    path = str(events)
    assert all(len(line) <= 40 or path in line for line in text.splitlines())
    assert "created_at" in text


def test_pipes_and_classic_get_the_lines_of_the_original(
    run: Any, screen: Any, events: Path
) -> None:
    piped = run("describe-file", events).stdout.decode()
    assert piped.startswith("file://")
    assert run("describe-file", "--classic", events).stdout.decode() == piped
    code, text = screen("describe-file", "--classic", events, columns=200)
    assert (code, text.expandtabs().split()) == (0, piped.expandtabs().split())


def test_json_tells_the_text_that_went_in(run: Any, tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text('{"a":1}\n')
    run("pack", "-o", "a.zion", "a.json")
    run("append", "-q", "a.zion", "-", data=b'{"a":2}')
    facts = json.loads(run("describe-file", "--json", "a.zion").stdout)
    assert facts["files"][0]["text_bytes"] == 15
    run("pack", "-o", "b.zion", "a.zion")
    facts = json.loads(run("describe-file", "--json", "b.zion").stdout)
    assert facts["files"][0]["text_bytes"] is None


def shown_largest(text: str) -> tuple[str, list[str]]:
    """Return the heading of the largest fields, and their names."""
    heading, *lines = text.split("  largest   ")[1].splitlines()
    return heading, [line.split()[0] for line in lines]


def test_largest_fields_are_those_of_all_rows(run: Any, screen: Any, tmp_path: Path) -> None:
    run("pack", "-o", "x.zion", TESTDATA / "cloudtrail_sneller.json.gz")
    heading, names = shown_largest(screen("describe-file", "x.zion")[1])
    expected = sdb.field_stats(tmp_path / "x.zion").largest(10)
    assert heading == "fields, shares by raw bytes"
    assert names == [item.name for item in expected]


def test_largest_fields_are_estimated_from_some_blocks(screen: Any, events: Path) -> None:
    with sdb.open(events) as pack:
        count = len(pack.blocks)
    heading, names = shown_largest(screen("describe-file", events, columns=120)[1])
    estimate = f"estimated from the start of {count} of {count} blocks"
    assert heading == f"fields, shares by raw bytes, {estimate}"
    assert names[:3] == ["payload", "repo", "actor"]
    # Nine files are more than the chunks that a command decodes.
    assert "  largest  " not in screen("describe-file", *[events] * 9)[1]


def test_largest_fields_of_any_name_keep_to_the_width(
    run: Any, screen: Any, tmp_path: Path
) -> None:
    row = {"id.orig_h": "10.0.0.1", "a\nb\x1b[2J": "x", "n" * 60: 1}
    (tmp_path / "a.json").write_text(json.dumps(row))
    run("pack", "-o", "a.zion", "a.json")
    code, text = screen("describe-file", "a.zion", columns=40)
    assert code == 0
    assert all(len(line) <= 40 for line in text.splitlines())
    assert "\x1b" not in text
    _, names = shown_largest(text)
    assert len(names) == 3
    assert '"id.orig_h"' in names


def test_damage_leaves_the_largest_fields_out(run: Any, screen: Any, events: Path) -> None:
    with events.open("r+b") as file:
        file.seek(40)
        file.write(b"\xff" * 400)
    code, text = screen("describe-file", events)
    assert (code, "  largest  " in text, "are left out" in text) == (0, False, False)
    code, text = screen("describe-file", "-v", events, columns=400)
    assert code == 0
    assert text.count("the largest fields are left out: ") == 1
    assert run("describe-file", "-v", events).stderr == b""


def test_json_has_the_largest_fields(run: Any, tmp_path: Path, events: Path) -> None:
    run("pack", "-o", "x.zion", TESTDATA / "cloudtrail_sneller.json.gz")
    (file,) = json.loads(run("describe-file", "--json", "x.zion").stdout)["files"]
    stats = json.loads(run("fields", "--stats", "--json", "x.zion").stdout)
    top = [item for item in stats["fields"] if len(item["path"]) == 1]
    top.sort(key=lambda item: -item["compressed_bytes"])
    assert file["largest_fields"] == {
        "exact": True,
        "compressed_bytes": stats["compressed_bytes"],
        "fields": [{key: item[key] for key in ("name", "compressed_bytes")} for item in top[:10]],
    }
    (file,) = json.loads(run("describe-file", "--json", events).stdout)["files"]
    assert file["largest_fields"]["exact"] is False
    many = [tmp_path / f"{number}.zion" for number in range(9)]
    for item in many:
        item.write_bytes((tmp_path / "x.zion").read_bytes())
    files = json.loads(run("describe-file", "--json", *many).stdout)["files"]
    assert [item["largest_fields"] for item in files] == [None] * 9


def test_stats(run: Any, screen: Any, events: Path) -> None:
    sharpness = json.loads(run("describe-file", "--json", "--stats", events).stdout)["sharpness"]
    assert sharpness["blocks"] > 1
    by_name = {path["name"]: path for path in sharpness["paths"]}
    assert by_name["type"]["read"] == 1
    assert 0 < by_name["id"]["read"] <= 1
    assert set(sharpness["cluster_by"]) < set(by_name)
    text = run("describe-file", "--stats", events).stdout.decode()
    assert text.startswith(f"file://{events}")
    assert "if clustered" in text
    code, shown = screen("describe-file", "--stats", events, columns=60)
    assert code == 0
    assert "more, see --json" in shown
