"""Rows of tables with a schema, as commands print them."""

from __future__ import annotations

import io
import json
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sdb

if TYPE_CHECKING:
    from pathlib import Path

    from tests.cli.conftest import Run

ROWS = [
    {"id": 1, "user": {"name": "ann", "n": 1}, "ms": 7, "x": "y"},
    {"id": 2, "user": {"name": "bob"}, "ms": "no"},
]
COLUMNS = [
    {"name": "id", "type": "integer"},
    {"name": "more", "type": "integer", "default": 0},
    {"name": "millis", "path": ["ms"], "type": "integer"},
    {
        "name": "user",
        "type": {
            "type": "struct",
            "columns": [{"name": "login", "path": ["name"], "type": "string"}],
        },
    },
]
FIRST = '{"id": 1, "more": 0, "millis": 7, "user": {"login": "ann"}}'
SECOND = '{"id": 2, "more": 0, "millis": "no", "user": {"login": "bob"}}'


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    db = sdb.connect(tmp_path / "lake")
    db.execute("CREATE TABLE web.t")
    db.append("web.t", ROWS)
    db.table("web.t").set_schema(COLUMNS)
    return tmp_path / "lake"


def test_commands_give_columns_in_their_order(run: Run, lake: Path) -> None:
    lines = f"{FIRST}\n{SECOND}\n".encode()
    table = ("--root", lake, "web.t")
    assert run("query", "--root", lake, "SELECT * FROM web.t").stdout == lines
    assert run("head", *table).stdout == lines
    assert run("unpack", "--fmt", "json", *table).stdout == lines
    assert run("tail", "-n", "1", *table).stdout == f"{SECOND}\n".encode()
    head = b"id,more,millis,user\n"
    for command in ("head", "tail", "unpack"):
        assert run(command, "--fmt", "csv", *table).stdout.startswith(head), command
    chosen = run("tail", "--fmt", "csv", "-n", "1", "--fields", "user,id", *table)
    assert chosen.stdout == b'user,id\n"{""login"": ""bob""}",2\n'
    wrong = run("tail", "--fields", "ms", *table)
    assert wrong.returncode == 2
    assert b"the schema has no column ms" in wrong.stderr
    assert run("head", "--root", lake, "web.t@2").stdout.startswith(b'{"id": 1, "user": {"name"')


def test_files_with_types_have_those_of_the_schema(run: Run, lake: Path, tmp_path: Path) -> None:
    made = run("unpack", "--root", lake, "-o", tmp_path / "t.parquet", "web.t")
    assert made.returncode == 0, made.stderr
    assert b"1 value is no integer, as the schema says of millis: null here" in made.stderr
    table = pq.read_table(tmp_path / "t.parquet")
    user = pa.struct([("login", pa.utf8())])
    assert table.schema.types == [pa.int64(), pa.int64(), pa.int64(), user]
    assert table.column("millis").to_pylist() == [7, None]
    text = "SELECT * FROM web.t WHERE id = 9"
    none = run("query", "--root", lake, "--fmt", "arrow", text)
    assert pa.ipc.open_stream(io.BytesIO(none.stdout)).schema.types == table.schema.types


def test_fields_mark_what_departs(run: Run, lake: Path) -> None:
    listed = run("fields", "--root", lake, "web.t").stdout.decode().splitlines()
    assert "! ms: expected integer, there is string" in listed
    assert "! x: no column has the field" in listed
    assert "  user.name is the column user.login" in listed
    facts = json.loads(run("fields", "--json", "--root", lake, "web.t").stdout)
    marks = {field["name"]: (field["column"], field["departs"]) for field in facts["fields"]}
    assert marks["id"] == ("id", None)
    assert marks["ms"] == ("millis", "expected integer, there is string")
    assert marks["user.n"] == (None, "no column has the field")


def test_what_reads_stored_rows_says_so(run: Run, lake: Path) -> None:
    searched = run("grep", "--root", lake, "ann", "web.t")
    assert searched.stdout.startswith(b'{"id": 1, "user": {"name": "ann"')
    assert b"web.t has a schema: grep searches rows as they are stored" in searched.stderr
    blocks = run("unpack", "--blocks", "0", "--fmt", "json", "--root", lake, "web.t")
    assert b"--blocks writes rows as they are stored" in blocks.stderr
    erased = run("purge", "--root", lake, "--dry-run", "--where", "millis = 7", "web.t")
    assert b"the column millis of web.t is stored as ms" in erased.stderr


def test_plans_tell_of_the_schema(run: Run, lake: Path) -> None:
    plan = run("query", "--root", lake, "--explain", "SELECT id FROM web.t WHERE millis = 7")
    assert b"  schema: 4 columns, mode observe\n" in plan.stdout + plan.stderr
    fields = run("query", "--root", lake, "DESCRIBE web.t").stdout.decode().splitlines()
    assert json.loads(fields[2]) == {"field": "millis", "types": "integer", "rows": 2}
    error = run("query", "--root", lake, "SELECT milis FROM web.t")
    assert error.returncode == 2
    assert b"the schema has no column milis\nhint: did you mean millis?" in error.stderr
