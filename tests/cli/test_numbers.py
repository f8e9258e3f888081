"""Numbers of options are read, or refused in a line: no value of any option ends in a bug."""

from __future__ import annotations

from shutil import copytree
from typing import TYPE_CHECKING, Any

import pytest

import sdb
from sdb.cli.commands import leaves, load
from sdb.cli.parameters import Option, described
from sdb.table.catalog.root import table_root
from sdb.table.definition.create import create_table, definition_of
from sdb.table.insert.insert import insert

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

NUMBERS = ["0", "-1", "9" * 20, "9" * 5000, "nan", "inf", ""]
SIZES = [*NUMBERS, "16EiB", "0.0000001k"]
LINES = {
    # Were a number fine, it would still be refused to serve others without tokens.
    "serve": ["--listen", "0.0.0.0:0"],
    "token": ["create", "x", "--can", "admin"],
    "pack": ["-o", "x.zion", "events.json"],
    "append": ["events.zion", "events.json"],
    "unpack": ["events.zion", "--fmt", "json"],
    "spark pack": ["-o", "out", "events.json"],
    "fields": ["--stats", "events.zion"],
    "head": ["events.zion"],
    "tail": ["events.zion"],
    "validate-file": ["events.zion"],
    "query": ["SELECT COUNT(*) FROM 'events.zion'"],
    "grep": ["x", "events.zion"],
    "shell": [],
    "insert": ["--root", "lake", "web.gha", "events.json"],
    "sync": ["--root", "lake", "web"],
    "follow": ["--root", "lake", "web"],
    "exec": ["--root", "lake", "UPDATE web.gha SET b = 1"],
    "maintain": ["--once", "--root", "lake", "web.gha"],
    "compact": ["--root", "lake", "web.gha"],
    "expire": ["--root", "lake", "web.gha"],
    "gc": ["--root", "lake", "web.gha"],
    "purge": ["--root", "lake", "web.gha", "--where", "id = 'none'"],
    "export delta": ["--root", "lake", "web.gha", "mirror"],
    "export iceberg": ["--root", "lake", "web.gha", "sqlite:///x.db/web.gha"],
    "export parquet": ["--root", "lake", "web.gha", "dataset"],
    "log": ["--root", "lake", "web.gha"],
    "diff": ["--root", "lake", "web.gha", "web.gha@-1"],
    "inputs": ["--root", "lake", "web", "gha"],
    "validate": ["--root", "lake", "web", "gha"],
}
"""A command line for each command with a numeric option, which it goes behind."""


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Rows as text and packed, and in a table."""
    folder = tmp_path_factory.mktemp("numbers")
    (folder / "events.json").write_text('{"a": 1}\n')
    sdb.pack([folder / "events.json"], folder / "events.zion")
    (folder / "lake").mkdir()
    root = table_root(folder / "lake")
    create_table(root, "web", "gha", definition_of(["file://none/*.json"]))
    insert(root, "web", "gha", [folder / "events.json"])
    return folder


@pytest.fixture(autouse=True)
def events(files: Path, tmp_path: Path) -> None:
    copytree(files, tmp_path, dirs_exist_ok=True)


def numeric() -> Iterator[tuple[str, str, bool]]:
    """Walk the descriptions: each command with each of its options that is a number or a size."""
    for name in leaves():
        for parameter, known in described(load(name).command):
            for option in getattr(known, "__metadata__", ()):
                if not isinstance(option, Option):
                    continue
                is_number = known.__origin__ in {int, int | None}
                # Whatever takes a number has bounds: an option without them is found here.
                assert (option.bounds is not None) == (is_number or option.metavar == "SIZE")
                if option.bounds is not None:
                    flag = (option.names or (f"--{parameter.replace('_', '-')}",))[0]
                    yield name, flag, option.bounds.is_size


def values() -> list[tuple[str, str, str]]:
    return [
        (name, flag, value)
        for name, flag, is_size in numeric()
        for value in (SIZES if is_size else NUMBERS)
    ]


def test_there_are_numeric_options() -> None:
    actual = {(name, flag) for name, flag, _ in numeric()}
    assert {
        ("pack", "--threads"),
        ("pack", "--block-size"),
        ("spark pack", "--tasks"),
        ("spark pack", "--target-size"),
        ("append", "--threads"),
        ("append", "--block-size"),
        ("unpack", "--threads"),
        ("unpack", "--limit"),
        ("head", "--limit"),
        ("tail", "--limit"),
        ("query", "--threads"),
        ("query", "--memory"),
    } <= actual


@pytest.mark.parametrize(("name", "flag", "value"), values())
def test_a_number_is_read_or_refused(
    run: Any, tmp_path: Path, name: str, flag: str, value: str
) -> None:
    before = sorted(tmp_path.rglob("*"))
    done = run(*name.split(), f"{flag}={value}", *LINES[name])
    is_fine = value == "0" and flag in {"--limit", "--max-findings", "-n"}
    fine = 1 if name == "grep" else 0  # no rows are no match
    assert done.returncode == (fine if is_fine else 2), done.stderr
    if not is_fine:
        assert done.stderr.startswith(b"sdb: ")
        assert done.stderr.count(b"\n") <= 2
        assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize(
    "blocks", ["9" * 20, "0-" + "9" * 20, "9" * 5000, "nan", "-1", "0-inf", "0,,1", ""]
)
def test_numbers_of_blocks(run: Any, blocks: str) -> None:
    done = run("unpack", f"--blocks={blocks}", "events.zion")
    assert done.returncode in {2, 3}, done.stderr
    assert done.stdout == b""


@pytest.mark.parametrize("value", ["9" * 50, "-" + "9" * 50, "9" * 5000])
@pytest.mark.parametrize(
    "line",
    [
        ["pack", "--force", "-o", "x.zion", "events.json", "--constant"],
        ["append", "events.zion", "events.json", "--constant"],
        ["query", "SELECT a FROM 'events.zion' WHERE a = $n", "--param"],
    ],
)
def test_integers_beyond_64_bits(run: Any, line: list[str], value: str) -> None:
    done = run(*line, f"n:int={value}")
    assert (done.returncode, done.stdout) == (2, b"")
    assert b"outside -2^63 to 2^64-1" in done.stderr or b"beyond 64 bits" in done.stderr
