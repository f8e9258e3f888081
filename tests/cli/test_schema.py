"""`sdb schema` and ALTER TABLE, through the real command line."""

from __future__ import annotations

import json
import shlex
from typing import TYPE_CHECKING

import pytest

import sdb
from sdb.cli.commands import load

if TYPE_CHECKING:
    from pathlib import Path

    from tests.cli.conftest import Run

ROWS = [
    {"id": 1, "user": {"name": "ann", "n": 1}, "items": [{"sku": "a", "n": 2}]},
    {"id": 2, "user": {"name": "bob"}, "items": []},
]


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    db = sdb.connect(tmp_path / "lake")
    db.execute("CREATE TABLE web.t")
    db.append("web.t", ROWS)
    return tmp_path / "lake"


def text(data: bytes) -> str:
    return data.decode()


def test_infer_show_set_and_diff(run: Run, lake: Path) -> None:
    missing = run("schema", "show", "--root", lake, "web.t")
    assert missing.returncode == 3
    assert "web.t has no schema\nhint: sdb schema infer web.t" in text(missing.stderr)
    printed = run("schema", "infer", "--root", lake, "web.t", "--json")
    stored = run("schema", "infer", "--root", lake, "web", "t", "--set")
    assert text(stored.stderr) == "sdb: web.t has a schema of 3 columns, mode observe: version 3\n"
    shown = run("schema", "show", "--root", lake, "web.t", "--json")
    assert shown.stdout == printed.stdout
    again = run("schema", "infer", "--root", lake, "web.t", "--set")
    assert again.returncode == 4
    schema = json.loads(shown.stdout)
    schema["columns"][0]["name"] = "number"
    del schema["columns"][2]
    changed = run("schema", "set", "--root", lake, "web.t", "-", data=json.dumps(schema).encode())
    assert changed.returncode == 0, changed.stderr
    same = run("schema", "set", "--root", lake, "web.t", "-", data=json.dumps(schema).encode())
    assert text(same.stderr) == "sdb: web.t has that schema already: version 4\n"
    lines = text(run("schema", "diff", "--root", lake, "web.t@3").stdout).splitlines()
    first, last = (
        column["name"] for column in (json.loads(shown.stdout)["columns"][at] for at in (0, 2))
    )
    assert f"~ number renamed: {first} -> number" in lines
    assert any(line.startswith(f"- {last} ") for line in lines)
    old = run("schema", "show", "--root", lake, "web.t@3", "--json")
    assert old.stdout == shown.stdout
    removed = run("schema", "set", "--root", lake, "web.t", "--remove")
    assert text(removed.stderr) == "sdb: web.t has no schema any more: version 5\n"


def test_bad_schemas_are_one_line(run: Run, lake: Path, tmp_path: Path) -> None:
    (tmp_path / "bad.json").write_text('[{"name": "a", "type": "intger"}, {"type": "date"}]')
    bad = run("schema", "set", "--root", lake, "web.t", tmp_path / "bad.json")
    assert (bad.returncode, bad.stdout) == (6, b"")
    assert "unknown type 'intger' (did you mean integer?); a column without a name" in text(
        bad.stderr
    )
    assert run("schema", "set", "--root", lake, "web.t").returncode == 2
    assert run("schema", "set", "--root", lake, "web.t", "absent.json").returncode == 3
    nothing = run("schema", "check", "--root", lake, "web.t")
    assert nothing.returncode == 2


def test_check_counts_what_departs(run: Run, lake: Path) -> None:
    wished = '[{"name": "id", "type": "string"}, {"name": "user", "type": "struct<name string>"}]'
    (lake / "wished.json").write_text(wished)
    arguments = ("schema", "check", "--root", lake, "web.t", "--schema", lake / "wished.json")
    checked = run(*arguments)
    assert checked.returncode == 1
    lines = text(checked.stdout).splitlines()
    assert lines[0].startswith("id: expected string, got integer: 2 rows, as 1; row 0 of ")
    assert lines[1].startswith("items: no column has the field: 2 rows, as [{")
    assert lines[2].startswith("user.n: no column has the field: 1 row, as 1; row 0 of ")
    facts = json.loads(run(*arguments, "--json").stdout)
    assert [fact["rows"] for fact in facts["departures"]] == [2, 2, 1]
    run("schema", "infer", "--root", lake, "web.t", "--set")
    fine = run("schema", "check", "--root", lake, "web.t")
    assert (fine.returncode, text(fine.stdout)) == (0, "all rows of web.t conform\n")


def test_alter_table_says_what_it_did(run: Run, lake: Path) -> None:
    run("schema", "infer", "--root", lake, "web.t", "--set", "--quiet")
    done = run("exec", "--root", lake, "ALTER TABLE web.t ADD COLUMN x DATE, DROP COLUMN items")
    assert text(done.stdout + done.stderr) == "changed the columns of web.t: version 4\n"
    explained = run("exec", "--root", lake, "EXPLAIN ALTER TABLE web.t DROP COLUMN x")
    assert b"would have changed the columns of web.t" in explained.stdout + explained.stderr
    near = run("exec", "--root", lake, "ALTER TABLE web.t ADD y NUMBR")
    assert near.returncode == 2
    assert "unknown type 'numbr'" in text(near.stderr)


def test_alter_table_needs_a_schema(run: Run, lake: Path) -> None:
    done = run("exec", "--root", lake, "ALTER TABLE web.t ADD COLUMN x DATE")
    assert done.returncode == 8
    assert "hint: sdb schema infer --set web.t begins one" in text(done.stderr)


@pytest.mark.slow
def test_examples_run(run: Run, lake: Path) -> None:
    db = sdb.connect(lake)
    db.execute("CREATE TABLE web.gha")
    for number in range(14):
        db.append("web.gha", [{"id": number}])
    done: set[str] = set()
    (lake.parent / "columns.json").write_text('[{"name": "id", "type": "integer"}]')
    for leaf in ("infer", "set", "show", "check", "diff"):
        for example in load(f"schema {leaf}").EXAMPLES:
            result = run(*shlex.split(example)[1:])
            assert result.returncode in {0, 3}, (example, result.stderr)
            done |= {leaf} if result.returncode == 0 else set()
    assert done == {"infer", "set", "show", "check", "diff"}
