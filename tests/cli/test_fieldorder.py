"""Columns stand in the order in which the inputs first had them, whatever their symbols."""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING

import pyarrow.parquet as pq
import pytest

import sdb

if TYPE_CHECKING:
    from pathlib import Path

    from tests.cli.conftest import Run

NAMES = ["version", "zone", "a", "name", "é"]
COMMANDS = [
    ("unpack", "--fmt", "csv", "a.zion"),
    ("query", "--fmt", "csv", "SELECT * FROM 'a.zion'"),
]


@pytest.fixture(params=["json", "csv"])
def path(request: pytest.FixtureRequest, tmp_path: Path, run: Run) -> Path:
    """A packfile, in the folder in which commands run."""
    text = ",".join(NAMES) + "\n1,2,3,4,5\n6,7,8,9,10\n"
    if request.param == "json":
        rows = [[f'"{name}":{at}' for at, name in enumerate(NAMES)], ['"late":1', '"a":2']]
        text = "".join("{" + ",".join(row) + "}\n" for row in rows)
    (tmp_path / f"in.{request.param}").write_text(text)
    assert run("pack", "-o", "a.zion", f"in.{request.param}").returncode == 0
    return tmp_path / "a.zion"


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[0])
def test_csv_has_the_columns_in_the_order_of_the_input(
    path: Path, run: Run, command: tuple[str, ...]
) -> None:
    assert path.exists()
    header, *rows = csv.reader(io.StringIO(run(*command).stdout.decode()))
    assert header[: len(NAMES)] == NAMES
    assert header[len(NAMES) :] in ([], ["late"])
    assert len(rows) == 2


def test_tables_have_the_columns_in_the_order_of_the_input(
    path: Path, run: Run, tmp_path: Path
) -> None:
    assert run("unpack", "-o", "a.parquet", "a.zion").returncode == 0
    assert pq.read_schema(tmp_path / "a.parquet").names[: len(NAMES)] == NAMES
    with sdb.sql(f"SELECT * FROM read_file('{path}')") as result:
        assert result.to_arrow().column_names[: len(NAMES)] == NAMES
