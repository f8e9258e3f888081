"""`sdb fields --stats`."""

from __future__ import annotations

import gzip
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

import sdb
from tests.cli.conftest import environment
from tests.patience import soon
from tests.statistics import facts_of, naive

TESTDATA = Path(__file__).parents[2] / "testdata"
ZEEK = "".join(
    json.dumps(
        {"ts": f"2021-01-02T03:{at // 60:02}:{at % 60:02}Z", "id.orig_h": f"10.0.{at % 7}.{at % 9}"}
        | ({"id.orig_p": 1000 + at} if at % 3 else {"id.orig_p": None})
    )
    + "\n"
    for at in range(500)
)


@pytest.fixture
def zeek(run: Any, tmp_path: Path) -> Path:
    (tmp_path / "conn.json").write_text(ZEEK)
    assert run("pack", "-o", "conn.zion", "conn.json").returncode == 0
    return tmp_path / "conn.zion"


@pytest.mark.parametrize("algorithm", ["zion+zstd", "zion+iguana_v0", "zstd"])
@pytest.mark.parametrize("name", ["cloudtrail_sneller", "gh2015_1k"])
def test_numbers_are_those_of_the_rows(run: Any, tmp_path: Path, name: str, algorithm: str) -> None:
    """Real rows of CloudTrail and GitHub, counted once more in Python."""
    source = TESTDATA / f"{name}.json.gz"
    assert run("pack", "-c", algorithm, "-o", "x.zion", source).returncode == 0
    facts = json.loads(run("fields", "--stats", "--json", "x.zion").stdout)
    with sdb.open(tmp_path / "x.zion") as pack:
        expected = naive(pack.rows())
        # What the trailer tells without reading any row.
        reported = {field.name: (field.types, field.rows) for field in pack.fields}
    assert {
        field["name"]: (tuple(field["types"]), field["rows"]) for field in facts["fields"]
    } == reported
    assert {tuple(field["path"]): facts_of(field) for field in facts["fields"]} == {
        path: item.facts() for path, item in expected.items()
    }


def test_bytes_add_up(run: Any, events: Path) -> None:
    facts = json.loads(run("fields", "--stats", "--json", events).stdout)
    fields = {tuple(field["path"]): field for field in facts["fields"]}
    top = [field for path, field in fields.items() if len(path) == 1]
    size = events.stat().st_size
    compressed = sum(field["compressed_bytes"] for field in top)
    assert 0.9 * size < compressed <= facts["compressed_bytes"] <= size
    decoded = sum(field["decompressed_bytes"] for field in top)
    assert decoded <= run("unpack", "--fmt", "ion", events).stdout.__len__()
    for path, field in fields.items():
        if len(path) > 1:
            above = fields[path[:-1]]
            assert field["decompressed_bytes"] <= above["decompressed_bytes"]
            assert field["compressed_bytes"] <= above["compressed_bytes"]


@pytest.mark.usefixtures("zeek")
def test_text_says_what_is_in_names_with_dots(screen: Any) -> None:
    code, text = screen("fields", "--stats", "conn.zion", columns=100)
    assert code == 0
    lines = [" ".join(line.split()) for line in text.splitlines()]
    assert lines[0].startswith("500 rows in ")
    assert lines[0].endswith(", 3 fields")
    assert lines[2].startswith("ts timestamp 100 % 500 ")
    assert lines[3] == "2021-01-02T03:00:00Z to 2021-01-02T03:08:19Z"
    assert lines[4].startswith('"id.orig_h" string 100 % 63 ')
    assert lines[5] == '"10.0.0.0" to "10.0.6.8"'
    assert lines[6].startswith('mostly "10.0.')
    assert lines[7].startswith('"id.orig_p" null, int 100 % 33.4 % 333 ')


@pytest.mark.usefixtures("zeek")
def test_match_and_several_files(run: Any) -> None:
    result = run("fields", "--stats", "--json", "--match", "*.orig_p*", "conn.zion", "conn.zion")
    facts = json.loads(result.stdout)
    assert facts["rows"] == 1000
    (field,) = facts["fields"]
    assert (field["rows"], field["nulls"], field["distinct"]) == (1000, 334, 333)
    assert field["ranges"] == [{"type": "int", "min": 1001, "max": 1499}]


def test_the_answer_does_not_depend_on_the_number_of_threads(run: Any, tmp_path: Path) -> None:
    rows = [
        {"id": at, "kind": f"k{at % 50 * at % 90}", f"f{at % 40}": "x" * (at % 60)}
        for at in range(60_000)
    ]
    sdb.pack(rows, tmp_path / "many.zion", block_bytes=2 << 20, threads=1)
    item, four = (
        run("fields", "--stats", "--json", "-j", n, "many.zion").stdout for n in ("1", "4")
    )
    assert item == four
    actual = {field["name"]: field for field in json.loads(item)["fields"]}
    assert not actual["id"]["distinct_exact"]
    assert abs(actual["id"]["distinct"] / 60_000 - 1) < 0.02
    assert actual["id"]["uncounted"] > 0
    assert actual["id"]["frequent"] == []


def test_a_million_names_are_left_out_and_it_is_said(run: Any, tmp_path: Path) -> None:
    rows = ({"a": at, **{f"n{at}_{number}": 1 for number in range(50)}} for at in range(2000))
    (tmp_path / "wide.json").write_text("".join(json.dumps(row) + "\n" for row in rows))
    run("pack", "-o", "wide.zion", "wide.json")
    result = run("fields", "--stats", "--json", "wide.zion")
    assert result.returncode == 0
    assert result.stderr.startswith(b"warning: more than 4,096 fields")
    assert result.stderr.count(b"\n") == 1
    facts = json.loads(result.stdout)
    assert facts["complete"] is False
    actual = {field["name"]: field for field in facts["fields"]}
    assert len(actual) <= 4096
    assert actual["a"]["rows"] == 2000


def test_long_texts_are_cut(run: Any, tmp_path: Path) -> None:
    (tmp_path / "long.json").write_text(json.dumps({"a": "é" * 4000}) + "\n" + '{"a":"x"}\n')
    run("pack", "-o", "long.zion", "long.json")
    (field,) = json.loads(run("fields", "--stats", "--json", "long.zion").stdout)["fields"]
    assert field["ranges"] == [{"type": "string", "min": "x", "max": "é" * 48 + "…"}]
    actual = sdb.field_stats(tmp_path / "long.zion").fields[0]
    assert [value.is_cut for value in actual.ranges[0]] == [False, True]


def test_python_tells_the_same(zeek: Path) -> None:
    stats = sdb.field_stats(zeek)
    assert [field.name for field in stats.fields] == ["ts", '"id.orig_h"', '"id.orig_p"']
    first, last = stats.fields[0].ranges[0]
    assert (first.type, first.value.isoformat()) == ("timestamp", "2021-01-02T03:00:00+00:00")
    assert last.value.minute == 8
    assert {field.name for field in stats.largest(2)} <= {field.name for field in stats.fields}
    with sdb.open(zeek) as pack:
        assert pack.field_stats() == stats
        assert pack.field_stats(match="ts").fields == stats.fields[:1]


def test_a_narrow_terminal_is_kept_to(screen: Any, events: Path) -> None:
    for columns in (40, 60, 120):
        code, text = screen("fields", "--stats", events, columns=columns)
        assert code == 0
        assert max(map(len, text.splitlines())) <= columns


def test_damage_is_told(run: Any, events: Path, tmp_path: Path) -> None:
    data = events.read_bytes()
    (tmp_path / "cut.zion").write_bytes(data[:-9])
    assert run("fields", "--stats", "cut.zion").returncode == 6
    (tmp_path / "bad.zion").write_bytes(data[:2000] + bytes(50) + data[2050:])
    result = run("fields", "--stats", "--json", "bad.zion")
    assert (result.returncode, result.stdout) == (6, b"")
    assert b"bad.zion: block 0 at byte" in result.stderr
    assert result.stderr.count(b"\n") <= 2
    assert run("fields", "--stats", "nope.zion").returncode == 3


def test_nothing_is_in_no_rows(run: Any, tmp_path: Path) -> None:
    (tmp_path / "none.json").write_text("")
    run("pack", "-o", "none.zion", "none.json")
    result = run("fields", "--stats", "none.zion")
    assert (result.returncode, result.stdout) == (0, b"0 rows, 0 fields\n")


@pytest.mark.slow
def test_ctrl_c_ends_it_soon(tmp_path: Path) -> None:
    with gzip.open(TESTDATA / "gh2015_1k.json.gz") as source:
        rows = source.read()
    (tmp_path / "big.json").write_bytes(rows * 200)
    sdb.pack(tmp_path / "big.json", tmp_path / "big.zion")
    command = [sys.executable, "-m", "sdb.cli.main", "fields", "--stats", "-j1", "big.zion"]
    with subprocess.Popen(
        command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment()
    ) as process:
        time.sleep(0.5)
        os.kill(process.pid, signal.SIGINT)
        start = time.monotonic()
        output, _ = process.communicate(timeout=20)
    assert process.returncode == 130
    assert output == b""
    assert time.monotonic() - start < soon(2)
