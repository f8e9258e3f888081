"""Rows that come into a table with a schema: the same rules in every way in."""

from __future__ import annotations

import json
import warnings
from typing import TYPE_CHECKING, Any

import pandas as pd
import pyarrow as pa
import pytest

import sdb
from sdb.errors import InputError, QueryError, SdbWarning, UnsupportedError
from sdb.table.format.keys import era_of
from sdb.table.packfiles.rules import DepartingRowsError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from sdb.client.connection import Connection

COLUMNS: list[dict[str, object]] = [
    {"name": "id", "type": "integer", "required": True},
    {"name": "user", "type": "struct<name string, tags list<string>>"},
    {"name": "day", "type": "date"},
    {"name": "price", "type": "decimal(6,2)"},
    {"name": "share", "type": "double"},
    {"name": "any", "type": "variant"},
]
GOOD: dict[str, Any] = {"id": 1, "user": {"name": "ann", "tags": ["a"]}, "any": [1, "x"]}
BAD: dict[str, Any] = {"id": "2", "user": {"name": "bob"}}
REASON = "id: expected integer, got string"


@pytest.fixture
def db(tmp_path: Path) -> Connection:
    db = sdb.connect(tmp_path / "lake")
    db.create("web.t", "in/*.json")
    db.append("web.t", [{"id": 0}])
    return db


def with_mode(db: Connection, mode: str) -> None:
    db.table("web.t").set_schema(COLUMNS, mode=mode)


def stored(db: Connection, table: str = "web.t") -> list[dict[str, Any]]:
    """Read rows as they are stored, whatever columns there are."""
    from contextlib import closing

    from sdb.table.packfiles.lazy import OpenObjects, whole_packfile

    handle = db.table(table).handle
    rows: list[dict[str, Any]] = []
    with closing(OpenObjects()) as objects:
        for descriptor in handle.descriptors():
            pack = whole_packfile(handle.root, descriptor, objects)
            rows += pack.selected_rows(pack.select())
    return rows


def same_rows(rows: list[dict[str, Any]], expected: list[dict[str, Any]]) -> bool:
    """Compare rows whose order a join may change."""
    return sorted(map(json.dumps, rows)) == sorted(map(json.dumps, expected))


def by_append(db: Connection, rows: list[dict[str, Any]], _: Path) -> None:
    db.append("web.t", rows)


def by_file(db: Connection, rows: list[dict[str, Any]], folder: Path) -> None:
    (folder / "rows.json").write_text("".join(json.dumps(row) + "\n" for row in rows))
    db.append("web.t", folder / "rows.json")


def by_values(db: Connection, rows: list[dict[str, Any]], _: Path) -> None:
    db.execute(f"INSERT INTO web.t VALUES {', '.join(f'({row})' for row in rows)}")


def by_query(db: Connection, rows: list[dict[str, Any]], folder: Path) -> None:
    (folder / "rows.json").write_text("".join(json.dumps(row) + "\n" for row in rows))
    db.execute(f"INSERT INTO web.t SELECT * FROM '{folder}/rows.json'")


def by_merge(db: Connection, rows: list[dict[str, Any]], folder: Path) -> None:
    (folder / "rows.json").write_text("".join(json.dumps(row) + "\n" for row in rows))
    db.execute(
        f"MERGE INTO web.t AS t USING '{folder}/rows.json' AS s ON t.id = s.id "
        "WHEN NOT MATCHED THEN INSERT"
    )


def on_a_branch(db: Connection, rows: list[dict[str, Any]], _: Path) -> None:
    db.table("web.t").branch("b")
    db.append("web.t@b", rows)
    db.table("web.t").merge("b")


WAYS = [by_append, by_file, by_values, by_query, by_merge, on_a_branch]


@pytest.mark.parametrize("way", WAYS)
def test_reject_refuses_in_every_way_and_changes_nothing(
    db: Connection, tmp_path: Path, way: Callable[..., None]
) -> None:
    with_mode(db, "reject")
    with pytest.raises(DepartingRowsError, match=f'row [12]: {REASON}, as "2"') as caught:
        way(db, [GOOD, BAD], tmp_path)
    assert caught.value.exit_code == 6
    assert stored(db) == [{"id": 0}]
    if way is not on_a_branch:
        way(db, [GOOD], tmp_path)
        assert stored(db) == [{"id": 0}, GOOD]


@pytest.mark.parametrize("way", [by_append, by_merge, on_a_branch])
def test_quarantine_puts_rows_aside_with_their_reason(
    db: Connection, tmp_path: Path, way: Callable[..., None]
) -> None:
    with_mode(db, "quarantine")
    with pytest.warns(SdbWarning, match="web.rejected"):
        way(db, [GOOD, BAD, {"id": 3}, BAD], tmp_path)
    assert same_rows(stored(db), [{"id": 0}, GOOD, {"id": 3}])
    aside = stored(db, "web.rejected")
    assert [(row["table"], row["reason"], row["row"]) for row in aside] == [
        ("web.t", REASON, BAD),
        ("web.t", REASON, BAD),
    ]
    assert db.table("web.t").validate().ok
    assert db.table("web.rejected").validate().ok


@pytest.mark.parametrize("way", [by_file, by_query])
def test_observe_takes_all_and_check_tells(
    db: Connection, tmp_path: Path, way: Callable[..., None]
) -> None:
    with_mode(db, "observe")
    way(db, [GOOD, BAD, {"more": 1}], tmp_path)
    assert same_rows(stored(db), [{"id": 0}, GOOD, BAD, {"more": 1}])
    assert {(each.column, each.reason, each.rows) for each in db.table("web.t").check_schema()} == {
        ("id", "expected integer, got string", 1),
        ("id", "it is required, and has no value", 1),
        ("more", "no column has the field", 1),
    }


DEPARTING: list[tuple[dict[str, Any], str]] = [
    ({}, "id: it is required"),
    ({"id": None}, "id: it is required"),
    ({"id": 1 << 63}, "id: expected integer, got an integer beyond 64 bits"),
    ({"id": 1.5}, "id: expected integer, got double"),
    ({"id": 1, "user": {"nam": "x"}}, "user.nam: no column has the field"),
    ({"id": 1, "user": "x"}, "user: expected struct, got string"),
    ({"id": 1, "user": {"tags": "x"}}, "user.tags: expected list, got string"),
    ({"id": 1, "user": {"tags": ["a", [1]]}}, 'user.tags."[]": expected string, got list'),
    ({"id": 1, "day": "2026-11-31"}, "day: expected date, got string"),
    ({"id": 1, "price": 1.234}, "price: expected decimal(6,2), got double"),
    ({"id": 1, "price": 12345.5}, "price: expected decimal(6,2), got double"),
    ({"id": 1, "share": (1 << 53) + 1}, "share: expected double, got integer"),
    ({"id": 1, "other": 1}, "other: no column has the field"),
]


@pytest.mark.parametrize(("row", "reason"), DEPARTING)
def test_what_departs(db: Connection, row: dict[str, Any], reason: str) -> None:
    with_mode(db, "reject")
    with pytest.raises(DepartingRowsError) as caught:
        db.append("web.t", [{"id": 7, "price": 1.25}, row])
    assert f"row 2: {reason}" in caught.value.message


def test_what_conforms(db: Connection) -> None:
    with_mode(db, "reject")
    from datetime import UTC, datetime

    rows = [
        {"id": 1, "user": None, "day": datetime(2026, 11, 1, tzinfo=UTC)},
        {"id": 2, "price": 1234.56, "share": 1},
        {"id": 3, "price": 7, "share": 0.5, "any": {"a": 1}},
        {"id": 4, "user": {"tags": [None, "x"]}, "any": None},
    ]
    db.append("web.t", rows)
    assert stored(db)[1:] == rows


def test_a_sync_lists_inputs_that_depart_and_takes_the_others(db: Connection) -> None:
    with_mode(db, "reject")
    from pathlib import Path

    folder = Path(db.root.location) / "in"
    folder.mkdir()
    for name, row in {"a": GOOD, "b": BAD, "c": {"id": 3}}.items():
        (folder / f"{name}.json").write_text(json.dumps({"id": 9}) + "\n" + json.dumps(row))
    db.sync("web.t")
    assert stored(db) == [{"id": 0}, {"id": 9}, GOOD, {"id": 9}, {"id": 3}]
    failed = [entry for entry in db.table("web.t").inputs() if "depart" in str(entry)]
    assert len(failed) == 1
    assert f"row 2: {REASON}" in str(failed[0])
    db.table("web.t").set_schema(COLUMNS, mode="observe")
    db.sync("web.t", retry=True)
    assert len(stored(db)) == 7


def test_updates_and_merges_keep_to_the_rules(db: Connection) -> None:
    with_mode(db, "quarantine")
    db.append("web.t", [{"id": 5}, {"id": 6}])
    with pytest.raises(DepartingRowsError, match=REASON):
        db.execute("UPDATE web.t SET id = 'x' WHERE id = 5")
    with pytest.raises(QueryError, match="no column idd") as caught:
        db.execute("UPDATE web.t SET idd = 1")
    assert caught.value.hint == "did you mean id?"
    db.execute("UPDATE web.t SET id = 7, user.name = 'cy' WHERE id = 5")
    assert {"id": 7, "user": {"name": "cy"}} in stored(db)


def test_sql_writes_by_names_and_rows_by_fields(db: Connection) -> None:
    with_mode(db, "reject")
    db.execute("ALTER TABLE web.t RENAME COLUMN id TO number, RENAME COLUMN user.name TO login")
    db.execute("INSERT INTO web.t (number, user.login) VALUES (1, 'ann')")
    db.execute("INSERT INTO web.t VALUES ({'number': 2, 'user': {'login': 'bob', 'tags': ['x']}})")
    db.execute("INSERT INTO web.t SELECT 3 AS number, {'login': 'cy'} AS user")
    db.append("web.t", [{"id": 4, "user": {"name": "dan"}}])
    assert stored(db)[1:] == [
        {"id": 1, "user": {"name": "ann"}},
        {"id": 2, "user": {"name": "bob", "tags": ["x"]}},
        {"id": 3, "user": {"name": "cy"}},
        {"id": 4, "user": {"name": "dan"}},
    ]
    with pytest.raises(DepartingRowsError, match="number: no column has the field"):
        db.append("web.t", [{"id": 5, "number": 5}])
    with pytest.raises(QueryError, match="no column id"):
        db.execute("INSERT INTO web.t (id) VALUES (1)")


def test_rows_of_another_era_get_no_value_of_a_column_that_they_do_not_have(
    db: Connection,
) -> None:
    with_mode(db, "observe")
    db.append("web.t", [{"id": 1, "share": 0.5}])
    db.execute("ALTER TABLE web.t DROP COLUMN share, ADD COLUMN share STRING")
    db.append("web.t", [{"id": 2, "share": "half"}])
    schema = db.table("web.t").schema
    assert schema is not None
    eras = [era_of(descriptor.key) for descriptor in db.table("web.t").handle.descriptors()]
    assert eras == [0, 0, schema.era]
    with pytest.raises(UnsupportedError, match="share was dropped and added again"):
        db.execute("UPDATE web.t SET share = 'x' WHERE id = 1")
    db.execute("UPDATE web.t SET share = 'x' WHERE id = 2")
    db.execute("UPDATE web.t SET id = 3 WHERE id = 1")
    assert db.table("web.t").check_schema() == []


def test_one_thread_with_bad_rows_stops_no_other(db: Connection) -> None:
    from concurrent.futures import ThreadPoolExecutor

    with_mode(db, "reject")

    def append(number: int) -> str:
        try:
            db.append("web.t", [{"id": number if number % 3 else "x"}])
        except InputError:
            return "refused"
        return "done"

    with ThreadPoolExecutor(6) as pool:
        results = list(pool.map(append, range(12)))
    assert results.count("refused") == 4
    assert len(stored(db)) == 9


def test_a_repeated_transaction_quarantines_once(db: Connection) -> None:
    with_mode(db, "quarantine")
    with pytest.warns(SdbWarning, match="web.rejected"):
        first = db.append("web.t", [GOOD, BAD], txn_id="once")
    assert db.append("web.t", [GOOD, BAD], txn_id="once").version == first.version
    assert len(stored(db)) == 2
    assert len(stored(db, "web.rejected")) == 1


def test_an_append_of_rows_that_all_depart_makes_no_version(db: Connection) -> None:
    with_mode(db, "quarantine")
    before = db.table("web.t").version
    with pytest.warns(SdbWarning, match=r"web.rejected got 2 rows"):
        done = db.append("web.t", [BAD, BAD])
    assert (done.version, db.table("web.t").version) == (0, before)
    with pytest.warns(SdbWarning, match=r"web.rejected got 1 row "):
        done = db.append("web.t", [BAD, GOOD])
    assert done.packed is not None
    assert done.packed.rows == 1


def test_lines_of_a_pipe_and_of_logs_keep_to_the_rules(db: Connection, tmp_path: Path) -> None:
    import subprocess
    import sys

    with_mode(db, "quarantine")
    root = str(db.root.location)
    lines = "".join(json.dumps(row) + "\n" for row in (GOOD, BAD, {"id": 3}))
    command = [sys.executable, "-m", "sdb.cli.main"]
    piped = subprocess.run(
        [*command, "insert", "--root", root, "--format", "json", "web.t", "-"],
        input=lines, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert piped.returncode == 0, piped.stderr
    assert "web.rejected got 1 row" in piped.stderr
    assert stored(db) == [{"id": 0}, GOOD, {"id": 3}]
    log = tmp_path / "app.json"
    log.write_text(lines)
    tailed = subprocess.run(
        [*command, "sync", "--root", root, "--once", "--tail", str(log), "web.t"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert tailed.returncode == 0, tailed.stderr
    assert stored(db) == [{"id": 0}, GOOD, {"id": 3}, GOOD, {"id": 3}]
    assert len(stored(db, "web.rejected")) == 2


def named_again(db: Connection) -> None:
    """Rename a column, and add another of its name."""
    db.execute("ALTER TABLE web.t RENAME COLUMN any TO other, RENAME COLUMN user.name TO login")
    with pytest.warns(SdbWarning, match="any is stored in the field any_2"):
        db.execute("ALTER TABLE web.t ADD COLUMN any VARIANT")


@pytest.mark.parametrize("of", [list, pa.Table.from_pylist, pd.DataFrame, "polars"])
def test_names_of_renamed_columns_are_told(db: Connection, of: Any) -> None:
    made = pytest.importorskip("polars").DataFrame if of == "polars" else of
    with_mode(db, "observe")
    named_again(db)
    with pytest.warns(SdbWarning) as caught:
        db.append("web.t", made([{"id": 1, "user": {"login": "ann"}, "other": 1}]))
    assert [str(each.message) for each in caught] == [
        (
            "web.t: no column has the field user.login of the new rows: "
            "the column login lies in the field user.name of rows"
        ),
        (
            "web.t: no column has the field other of the new rows: "
            "the column other lies in the field any of rows"
        ),
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        db.append("web.t", made([{"id": 2, "user": {"name": "ann"}, "any": 1, "any_2": 2}]))
    # Of a frame the name alone may mean either column; other rows are as they are stored.
    with warnings.catch_warnings(record=True) as listed:
        warnings.simplefilter("always")
        db.append("web.t", made([{"id": 3, "any": 1}]))
    assert [str(each.message) for each in listed] == (
        []
        if of is list
        else [
            (
                "web.t: the field any of the new rows is the column other: "
                "the column any lies in the field any_2 of rows"
            )
        ]
    )
    db.table("web.t").set_schema(db.table("web.t").schema, mode="reject")
    with pytest.raises(DepartingRowsError, match="row 1: other: no column has") as error:
        db.append("web.t", made([{"id": 4, "other": 1}]))
    assert "the column other lies in the field any of rows" in str(error.value.hint)
