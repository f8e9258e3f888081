"""Values and names come back as they went in, through every way out."""

from __future__ import annotations

import json
from datetime import datetime
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.conftest import VECTORS

if TYPE_CHECKING:
    from pathlib import Path

ALGORITHMS = ["zion+zstd", "zion+iguana_v0", "zstd"]
SYSTEM = [
    "$0",
    "$ion",
    "$ion_1_0",
    "$ion_symbol_table",
    "name",
    "version",
    "imports",
    "symbols",
    "max_id",
    "$ion_shared_symbol_table",
]
EMPTY_NAME: list[dict[str, Any]] = [
    {"": 1},
    {"a": "", "b": ["", {"": ""}]},
    {"": 1, "$10": 2, "c": {"": 3, "$10": 4}},
    {"$10": 5, "a": "$11", "d": "$10"},
]


def lines(rows: list[Any]) -> bytes:
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows).encode()


def parsed(result: Any) -> list[Any]:
    assert (result.returncode, result.stderr) == (0, b"")
    return [json.loads(line) for line in result.stdout.splitlines()]


def packed(run: Any, data: bytes, *options: str, name: str = "a.json", warning: bytes = b"") -> str:
    result = run("pack", "--force", "-f", name[1:], "-o", "a.zion", *options, "-", data=data)
    assert result.returncode == 0
    assert warning in result.stderr if warning else result.stderr == b""
    checked = run("validate-file", "a.zion")
    assert (checked.returncode, checked.stdout, checked.stderr) == (0, b"", b"")
    return "a.zion"


def unpacked(run: Any, name: str = "a.zion", *options: str) -> list[Any]:
    return parsed(run("unpack", "--fmt", "json", *options, name))


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_an_empty_name_is_no_substitute_for_values(run: Any, algorithm: str) -> None:
    packed(run, lines(EMPTY_NAME), "-c", algorithm)
    assert unpacked(run) == EMPTY_NAME
    assert parsed(run("head", "a.zion")) == EMPTY_NAME
    assert parsed(run("query", "--fmt", "json", "SELECT * FROM 'a.zion'")) == EMPTY_NAME
    done = run(
        "query", "--fmt", "json", "SELECT COUNT(*) AS n, a FROM 'a.zion' GROUP BY a ORDER BY a"
    )
    assert done.stderr == b""
    grouped = [json.loads(line) for line in done.stdout.splitlines()]
    assert grouped == [{"n": 1, "a": ""}, {"n": 1, "a": "$11"}, {"n": 2, "a": None}]


def test_an_empty_name_in_tables(run: Any, tmp_path: Path) -> None:
    packed(run, lines(EMPTY_NAME))
    assert run("unpack", "-o", "a.parquet", "a.zion").returncode == 0
    table = pq.read_table(tmp_path / "a.parquet")
    assert table.column_names == ["", "a", "b", "$10", "c", "d"]
    assert table.column("a").to_pylist() == [None, "", None, "$11"]
    assert table.column("").to_pylist() == [1, None, 1, None]
    assert table.column("c").to_pylist()[2] == {"": 3, "$10": 4}
    assert run("pack", "-o", "b.zion", "a.parquet").returncode == 0
    bare = [
        {name: value for name, value in row.items() if value is not None}
        for row in unpacked(run, "b.zion", "--fields", "a,$10")
    ]
    assert bare == [{}, {"a": ""}, {"$10": 2}, {"a": "$11", "$10": 5}]


def test_an_empty_name_in_csv(run: Any) -> None:
    packed(run, lines([{"": 1, "a": "x"}, {"a": ""}]))
    result = run("query", "--fmt", "csv", "SELECT * FROM 'a.zion'")
    assert result.stdout.decode().splitlines() == [",a", "1,x", ","]


def test_an_empty_name_goes_through_ion(run: Any) -> None:
    packed(run, lines(EMPTY_NAME))
    ion = run("unpack", "--fmt", "ion", "a.zion").stdout
    packed(run, ion, name="a.ion")
    assert unpacked(run) == EMPTY_NAME


@pytest.mark.parametrize("algorithm", ["zion+zstd", "zstd"])
def test_text_is_no_system_symbol(run: Any, algorithm: str) -> None:
    texts = [*SYSTEM, "$1", "$9", "$10", "$ion_1_1", "$ion_anything"]
    rows = [{"a": text, "b": [text, {text: text}], text: 1} for text in texts]
    packed(run, lines(rows), "-c", algorithm)
    assert unpacked(run) == rows
    assert unpacked(run, "a.zion", "--fields", "$0") == [{"$0": 1}] + [{}] * (len(rows) - 1)
    # Its packfile and its Ion are inputs like others.
    ion = run("unpack", "--fmt", "ion", "a.zion").stdout
    assert run("append", "-q", "a.zion", "-f", "ion", "-", data=ion).stderr == b""
    assert run("pack", "-o", "b.zion", "a.zion").stderr == b""
    assert run("append", "-q", "b.zion", "a.zion").stderr == b""
    assert run("validate-file", "b.zion").returncode == 0
    assert unpacked(run, "b.zion") == rows * 4


def test_text_is_no_system_symbol_in_other_inputs(run: Any, tmp_path: Path) -> None:
    row = {**{text: text for text in SYSTEM}, "b": "$0"}
    text = "\n".join([",".join(row), ",".join(row.values())])
    packed(run, text.encode(), name="a.csv")
    assert unpacked(run) == [row]
    packed(run, b'{"Records":[' + json.dumps(row).encode() + b"]}", name="a.cloudtrail.json")
    assert unpacked(run) == [row]
    pq.write_table(pa.Table.from_pylist([row]), tmp_path / "a.parquet")
    assert run("pack", "--force", "-o", "a.zion", "a.parquet").stderr == b""
    assert run("validate-file", "a.zion").stderr == b""
    assert unpacked(run) == [row]


def test_text_is_no_system_symbol_in_constants(run: Any) -> None:
    options = [option for text in SYSTEM for option in ("--constant", f"{text}=1")]
    packed(run, b'{"a":1}\n', *options, "--constant", "x:str=$0")
    row = {**dict.fromkeys(SYSTEM, 1), "x": "$0", "a": 1}
    assert unpacked(run) == [row]
    assert run("append", "-q", "a.zion", "-", data=b'{"a":1}\n').stderr == b""
    assert run("validate-file", "a.zion").stderr == b""
    assert unpacked(run) == [row, row]


def test_symbol_0_of_the_original_is_read_as_its_text(run: Any, vectors: Path) -> None:
    """The original writes `$0` as symbol 0, and says so: such files can be packed again."""
    assert vectors == VECTORS
    (pack,) = (vectors / "packfile/golden/d14-text").glob("pack.*")
    assert run("validate-file", pack).returncode == 1
    (row,) = unpacked(run, str(pack))
    assert (row["$0"], row["name"], row[""]) == ("x", "version", "empty key")
    ion = run("unpack", "--fmt", "ion", pack).stdout
    assert run("pack", "-o", "b.zion", pack).stderr == b""
    assert run("append", "-q", "b.zion", "-f", "ion", "-", data=ion).stderr == b""
    assert run("validate-file", "b.zion").stderr == b""
    assert unpacked(run, "b.zion") == [row, row]


def nested(depth: int, inner: str) -> str:
    return '{"a":' * depth + inner + "}" * depth


REPEATED = [
    '{"x":1,"x":2}',
    '{"x":1,"x":2,"x":3,"y":4}',
    '{"x":1,"y":2,"y":{"z":3},"x":4,"w":5,"w":6}',
    '{"y":1,"x":2,"y":3}',
    '{"x":{"y":1,"y":2},"x":[{"y":3,"y":4}]}',
    '{"l":[{"x":1,"x":2},{"x":"2020-01-01T00:00:00Z","x":"2021-01-01T00:00:00Z"}]}',
]


@pytest.mark.parametrize("many", [False, True], ids=["few paths", "many paths"])
def test_of_repeated_names_the_first_counts_at_every_depth(run: Any, many: bool) -> None:
    """The tree of paths ends at 32 levels and 16,384 paths; the rule does not."""
    texts = [nested(depth, text) for depth in (1, 2, 30, 31, 32, 33, 50) for text in REPEATED]
    if many:
        texts.insert(0, json.dumps({f"f{number}": number for number in range(17_000)}))
    packed(run, "\n".join(texts).encode(), warning=b"values are dropped")
    rows = [json.loads(text, object_pairs_hook=lambda pairs: dict(pairs[::-1])) for text in texts]
    assert unpacked(run) == rows


def test_skipping_leaves_the_neighbours_in_arrays(run: Any, tmp_path: Path) -> None:
    one_line = b'[{"a":1},{"a":x},{"a":3}]\n'
    lines_of = b'[\n{"a":1},\n{"a":x}\n,\n{"a":3}\n]\n'
    for text in (one_line, lines_of):
        words = ["pack", "--force", "-o", "a.zion", "--on-error", "quarantine:bad.json", "-"]
        result = run(*words, data=text)
        assert result.returncode == 0
        assert b"skipped 1 record; kept in bad.json" in result.stderr
        assert (tmp_path / "bad.json").read_bytes() == b'{"a":x}\n'
        assert unpacked(run) == [{"a": 1}, {"a": 3}]
        (tmp_path / "bad.json").unlink()


def test_skipping_in_an_array_of_many_parts(run: Any) -> None:
    record = b'{"text":"' + b"x" * 10_000 + b'"}'
    text = b"[" + b",\n".join([record] * 2500) + b"\n]\n"  # parts have 16 MiB
    result = run("pack", "-q", "--json", "--on-error", "skip", "-o", "a.zion", "-", data=text)
    assert (result.returncode, result.stderr) == (0, b"")
    facts = json.loads(result.stdout)
    assert (facts["rows"], facts["rejected"]) == (2500, 0)


def test_a_time_before_the_year_0_stays_text(run: Any) -> None:
    texts = ["0000-01-01T00:30:00+01:00", "0000-01-01 00:00:00.5+00:01"]
    rows = [{"a": text} for text in texts]
    packed(run, lines([*rows, {"a": "0000-01-01T01:00:00+01:00"}]))
    assert unpacked(run) == [*rows, {"a": "0000-01-01T00:00:00Z"}]
    packed(run, ("a\n" + "\n".join(texts)).encode(), name="a.csv")
    assert unpacked(run) == rows


@pytest.mark.parametrize("text", ["1e400", "-1e400", "1.8e308"])
@pytest.mark.parametrize("name", ["x", "x:float"])
def test_a_constant_beyond_floats(run: Any, text: str, name: str) -> None:
    result = run("pack", "-o", "a.zion", "--constant", f"{name}={text}", "-", data=b"{}")
    assert (result.returncode, result.stdout) == (2, b"")
    assert b"constant 'x': '" + text.encode() + b"' is beyond what float can hold" in result.stderr


def test_a_zero_byte_in_a_name(run: Any, tmp_path: Path) -> None:
    rows = [{"a\0b": 1, "c": {"\0": "\0"}}]
    packed(run, lines(rows))
    assert unpacked(run) == rows
    assert parsed(run("query", "--fmt", "json", "SELECT * FROM 'a.zion'")) == rows
    result = run("unpack", "-o", "a.parquet", "a.zion")
    assert (result.returncode, result.stderr) == (0, b"")
    assert pq.read_table(tmp_path / "a.parquet").to_pylist() == [{"a␀b": 1, "c": {"␀": "\0"}}]


def test_text_of_ion_that_looks_like_a_time_stays_text(run: Any) -> None:
    from amazon.ion import simpleion

    time = "2024-05-01T00:00:00Z"
    text = f'{{a: "{time}", b: ["{time}"], c: {{d: "{time}", e: {time}}}}}'
    binary = simpleion.dumps(simpleion.loads(text), binary=True)
    packed(run, binary, name="x.10n")
    for query in ("SELECT * FROM read_file('a.zion')", "SELECT a, b, c FROM 'a.zion'"):
        result = run("query", "--fmt", "ion-text", query)
        assert (result.returncode, result.stderr) == (0, b"")
        shown = simpleion.loads(result.stdout)
        assert [str(shown["a"]), str(shown["b"][0]), str(shown["c"]["d"])] == [time] * 3
        assert isinstance(shown["c"]["e"], datetime)
