"""A file is what it is called: `unpack` and `query` write what a suffix says, or nothing."""

from __future__ import annotations

import csv
import gzip
import io
import json
from typing import TYPE_CHECKING, Any

import pytest
import zstandard
from pyarrow import ipc, parquet

from tests.cli.conftest import ROOT

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.cli.conftest import Run

FIELDS = ["id", "type", "public", "created_at", "actor"]
SUFFIXES = {
    "json": ("json", "ndjson", "jsonl"),
    "csv": ("csv",),
    "tsv": ("tsv",),
    "ion": ("ion", "10n"),
    "arrow": ("arrow", "arrows"),
    "parquet": ("parquet",),
    "markdown": ("md", "markdown"),
    "html": ("html", "htm"),
}
OUTER: dict[str, Callable[[bytes], bytes]] = {
    "": bytes,
    ".gz": gzip.decompress,
    ".zst": lambda data: zstandard.ZstdDecompressor().decompressobj().decompress(data),
}


def is_of(kind: str, data: bytes) -> bool:
    """Return whether bytes are rows in a format, by reading them."""
    text = "" if kind in {"ion", "arrow", "parquet"} else data.decode()
    match kind:
        case "json":
            return len([json.loads(line)["id"] for line in text.splitlines()]) == 3
        case "csv" | "tsv":
            separator = "," if kind == "csv" else "\t"
            rows = list(csv.reader(io.StringIO(text, newline=""), delimiter=separator))
            return rows[0] == FIELDS and len(rows) == 4
        case "html":
            return text.startswith("<!doctype html>") and text.count("<tr>") == 4
        case "ion":
            return data.startswith(b"\xe0\x01\x00\xea")
        case "arrow":
            return bool(ipc.open_stream(data).read_all().num_rows == 3)
        case "parquet":
            return bool(parquet.read_table(io.BytesIO(data)).num_rows == 3)
    return text.startswith("| id |") and text.count("\n") == 5


@pytest.mark.parametrize("outer", OUTER)
@pytest.mark.parametrize("command", ["unpack", "query"])
def test_a_suffix_means_what_it_says(
    run: Run, events: Path, tmp_path: Path, command: str, outer: str
) -> None:
    for kind, suffixes in SUFFIXES.items():
        for suffix in suffixes if not outer else suffixes[:1]:
            target = tmp_path / f"rows.{suffix}{outer}"
            choice = ["--fields", ",".join(FIELDS), "--limit", "3", events]
            if command == "query":
                choice = [f"SELECT {', '.join(FIELDS)} FROM '{events}' LIMIT 3"]
            ended = run(command, "-o", target, *choice)
            if command == "unpack" and kind in {"markdown", "html"}:
                assert (ended.returncode, target.exists()) == (2, False)
                continue
            assert (ended.returncode, ended.stderr) == (0, b""), target
            assert is_of(kind, OUTER[outer](target.read_bytes())), target


@pytest.mark.parametrize("command", ["unpack", "query"])
@pytest.mark.parametrize(
    ("target", "expected"),
    [
        ("rows.xlsx", "unknown suffix .xlsx of rows.xlsx"),
        ("rows.txt.gz", "unknown suffix .txt of rows.txt.gz"),
        ("rows.zion", "rows.zion is named like a packfile, which this command does not write"),
    ],
)
def test_other_suffixes(run: Run, events: Path, command: str, target: str, expected: str) -> None:
    words = [f"SELECT * FROM '{events}'"] if command == "query" else [str(events)]
    ended = run(command, "-o", target, *words)
    lines = ended.stderr.decode().splitlines()
    assert (ended.returncode, lines[0]) == (2, f"sdb: {expected}")
    assert ".ndjson" in lines[1]
    assert ".parquet" in lines[1]


@pytest.mark.parametrize("command", ["unpack", "query"])
def test_a_format_and_a_suffix(run: Run, events: Path, tmp_path: Path, command: str) -> None:
    words = [f"SELECT * FROM '{events}'"] if command == "query" else [str(events)]
    ended = run(command, "--fmt", "csv", "-o", "x.json", *words)
    assert ended.returncode == 2
    assert ended.stderr.startswith(b"sdb: the suffix of x.json says json, --fmt says csv")
    for fmt, target in [(".ndjson", "x.json"), ("csv", "x.txt"), ("ion-text", "x.ion")]:
        ended = run(command, "--fmt", fmt, "-o", target, *words)
        assert (ended.returncode, ended.stderr) == (0, b"")
    assert json.loads((tmp_path / "x.json").read_text().split("\n")[0])["id"]
    assert (tmp_path / "x.txt").read_bytes().startswith(b"id,type,actor,")
    assert (tmp_path / "x.ion").read_bytes().startswith(b"{id:")


def test_without_a_suffix(run: Run, events: Path, tmp_path: Path) -> None:
    """Of `unpack` it is Ion, as in the original; versions and dates at the end are no suffix."""
    for name in ("rows", "rows.2026", "rows.2026-01-02"):
        assert run("unpack", "-o", name, events).returncode == 0
        assert is_of("ion", (tmp_path / name).read_bytes())
        assert run("query", "--force", "-o", name, f"SELECT * FROM '{events}'").returncode == 0
        assert (tmp_path / name).read_bytes().startswith(b"{")


def test_tables_have_the_columns_that_rows_have(run: Run, tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(
        '{"a": "x,\\"y\\"\\n", "t": "2024-05-01T00:00:00Z"}\n{"b": [1, {"c": null}], "a": 0.5}\n'
        '{"a": null, "b": ""}\n'
    )
    assert run("pack", "-o", "a.zion", "a.json").returncode == 0
    expected = 'a,t,b\n"x,""y""\n",2024-05-01T00:00:00Z,\n0.5,,"[1, {""c"": null}]"\n,,\n'
    assert run("unpack", "--fmt", "csv", "a.zion").stdout.decode() == expected
    asked = run("unpack", "--fmt", "tsv", "--fields", "b,none,a,b", "a.zion").stdout.decode()
    assert asked == 'b\tnone\ta\n\t\t"x,""y""\n"\n"[1, {""c"": null}]"\t\t0.5\n\t\t\n'
    limited = run("unpack", "--fmt", "csv", "--limit", "1", "--fields", "t", "a.zion").stdout
    assert limited == b"t\n2024-05-01T00:00:00Z\n"
    output = run("unpack", "--fmt", "csv", "--fields", "b", "a.zion").stdout.decode()
    assert output == 'b\n""\n"[1, {""c"": null}]"\n""\n'


def test_tables_are_those_of_queries(run: Run, samples: list[Path]) -> None:
    for pack in samples:
        for fmt in ("csv", "tsv"):
            queried = run("query", "--fmt", fmt, f"SELECT * FROM '{pack}'")
            unpacked = run("unpack", "--fmt", fmt, "--progress", "json", pack)
            assert (unpacked.returncode, queried.returncode) == (0, 0)
            assert unpacked.stdout == queried.stdout, pack
            last = json.loads(unpacked.stderr.splitlines()[-1])
            assert last["consumed_bytes"] == last["total_bytes"]


@pytest.fixture
def samples(run: Run, tmp_path: Path) -> list[Path]:
    results: list[Any] = []
    for name in ("gh2015_1k", "cloudtrail_sneller", "parking2"):
        source = ROOT / f"testdata/{name}.json.gz"
        assert run("pack", "--block-size", "1MiB", "-o", f"{name}.zion", source).returncode == 0
        results.append(tmp_path / f"{name}.zion")
    return results


WRONG = {
    "x.json": "json",
    "x.ndjson.gz": "json",
    "x.CSV": "csv",
    "x.tsv.zst": "tsv",
    "x.10n": "ion",
    "x.arrow": "arrow",
    "x.parquet": "parquet",
    "x.md": "markdown",
    "x.zion.gz": "gzip",
    "x.zst": "zstd",
}


@pytest.mark.parametrize("name", WRONG)
def test_no_packfile_gets_the_name_of_something_else(run: Run, tmp_path: Path, name: str) -> None:
    (tmp_path / "in.json").write_bytes(b'{"a": 1}\n')
    assert run("pack", "-o", "in.zion", "in.json").returncode == 0
    for words in (
        ["pack", "--force", "-o", name, "in.json"],
        ["append", "-o", name, "in.zion", "in.json"],
        ["append", "--create", name, "in.json"],
        ["concat", "-o", name, "in.zion", "in.zion"],
        ["spark", "pack", "-o", name, "in.json"],
    ):
        ended = run(*words)
        assert (ended.returncode, ended.stdout) == (2, b""), words
        messages = ended.stderr.decode()
        expected = f"sdb: the suffix of {name} says {WRONG[name]}, and the output is a packfile\n"
        assert messages == f"{expected}hint: call it x.zion\n", words
        assert not (tmp_path / name).exists()


@pytest.mark.parametrize("name", ["events", "x.ZION", "x.dat", "2026.01", "x.json.bak"])
def test_packfiles_of_other_names(run: Run, tmp_path: Path, name: str) -> None:
    assert run("pack", "-o", name, data=b'{"a": 1}\n').returncode == 0
    assert run("query", f"SELECT a FROM './{name}'").stdout == b'{"a": 1}\n'
    del tmp_path


def test_a_packfile_that_has_such_a_name_grows_and_is_joined(run: Run, tmp_path: Path) -> None:
    assert run("pack", "-o", "x.zion", data=b'{"a": 1}\n').returncode == 0
    (tmp_path / "x.zion").rename(tmp_path / "x.json")
    assert run("append", "x.json", data=b'{"a": 2}\n').returncode == 0
    assert run("concat", "--force", "-o", "x.json", "x.json", "x.json").returncode == 0
    assert run("head", "x.json").stdout == b'{"a": 1}\n{"a": 2}\n' * 2
