"""Spark writes to tables with a schema: the mode of the schema holds, and names are no surprise."""

from __future__ import annotations

import json
import warnings
from dataclasses import replace
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

pytest.importorskip("pyspark")

import sdb
from sdb.errors import SdbWarning, UnsupportedError
from sdb.spark import register
from sdb.spark.bulk.sync import SparkSyncs
from sdb.spark.options.namedtable import NamedTable
from sdb.spark.write.tablewriter import TableWriter
from sdb.table.catalog.root import table_root
from sdb.table.packfiles.rules import DepartingRowsError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

    from sdb.client.connection import Connection

pytestmark = pytest.mark.spark

COLUMNS: list[Mapping[str, object]] = [
    {"name": "id", "type": "integer", "required": True},
    {"name": "name", "type": "string"},
    {"name": "user", "type": "struct<tag string>"},
]


@pytest.fixture
def db(tmp_path: Path) -> Connection:
    db = sdb.connect(tmp_path / "lake")
    db.create("web.t", "in/*.json")
    db.append("web.t", [{"id": -1}])
    return db


def with_mode(db: Connection, mode: str) -> None:
    db.table("web.t").set_schema(COLUMNS, mode=mode)


def save(frame: DataFrame, tmp_path: Path, mode: str = "append", **options: str) -> None:
    register(frame.sparkSession)
    writer = frame.write.format("zion").mode(mode).options(root=str(tmp_path / "lake"), **options)
    writer.save("web.t")


def last(db: Connection) -> tuple[int | None, str, int]:
    version = next(iter(db.table("web.t").log()))
    return version.version, version.operation, version.rows


def rows(db: Connection, what: str = "*") -> list[dict[str, object]]:
    with db.sql(f"SELECT {what} FROM web.t ORDER BY id") as result:
        return list(result)


def test_observe_takes_all_rows(spark: SparkSession, db: Connection, tmp_path: Path) -> None:
    with_mode(db, "observe")
    save(spark.range(0, 4, 1, 2).selectExpr("CAST(id AS STRING) AS id", "1 AS more"), tmp_path)
    assert last(db) == (3, "insert", 5)
    listed = [(each.column, each.rows) for each in db.table("web.t").check_schema()]
    assert listed == [("id", 4), ("more", 4)]


def test_a_good_job_is_one_version_and_a_bad_one_none(
    spark: SparkSession, db: Connection, tmp_path: Path
) -> None:
    with_mode(db, "reject")
    good = spark.range(0, 4, 1, 2).selectExpr("id", "'ann' AS name")
    for _ in range(2):
        save(good, tmp_path, txnId="once")
    assert last(db) == (3, "insert", 5)
    # One task has a bad row, the other has none; neither comes in, whatever the mode of the job.
    bad = spark.range(0, 10, 1, 2).selectExpr(
        "id", "IF(id = 7, NAMED_STRUCT('a', 1), NULL) AS user"
    )
    for mode in ("append", "overwrite"):
        with pytest.raises(Exception, match=r"web\.t: rows depart") as caught:
            save(bad, tmp_path, mode)
        text = str(caught.value)
        expected = (
            "web.t: rows depart from its schema: task 1: row 3: user.a: no column has the field"
        )
        assert text.count(expected) == 1
        assert "hint: sdb schema show web.t; sdb schema set web.t --mode observe" in text
    with pytest.raises(Exception, match='task 0: row 1: id: expected integer, got string, as "x"'):
        save(spark.sql("SELECT 'x' AS id"), tmp_path)
    with pytest.raises(Exception, match="row 1: id: it is required, and has no value"):
        save(spark.sql("SELECT 'ann' AS name"), tmp_path)
    assert last(db) == (3, "insert", 5)
    assert not db.table("web.t").validate().findings
    loaded = spark.read.format("zion").options(root=str(tmp_path / "lake")).load("web.t")
    assert loaded.columns == ["id", "name", "user"]
    assert sorted((row.id, row.name, row.user) for row in loaded.collect()) == [
        (number, None if number < 0 else "ann", None) for number in range(-1, 4)
    ]


def test_quarantine_is_refused(spark: SparkSession, db: Connection, tmp_path: Path) -> None:
    with_mode(db, "quarantine")
    with pytest.raises(
        Exception, match=r"quarantines rows\nhint: sdb schema set web.t --mode reject, or observe"
    ):
        save(spark.range(4), tmp_path)
    (tmp_path / "lake/in").mkdir(parents=True)
    (tmp_path / "lake/in/a.json").write_text('{"id": 1}\n')
    with (
        SparkSyncs(spark=spark) as syncs,
        pytest.raises(UnsupportedError, match="quarantines rows") as caught,
    ):
        syncs.sync(table_root(tmp_path / "lake"), "web", "t")
    assert "--mode reject" in str(caught.value.hint)
    assert last(db)[:2] == (2, "schema")


def test_a_sync_rejects_inputs_with_rows_that_depart(
    spark: SparkSession, db: Connection, tmp_path: Path
) -> None:
    with_mode(db, "reject")
    folder = tmp_path / "lake/in"
    folder.mkdir(parents=True)
    for name, values in {"a": [1, 2], "b": [3, "x"], "c": [5]}.items():
        (folder / f"{name}.json").write_text("".join(f"{json.dumps({'id': v})}\n" for v in values))
    with SparkSyncs(spark=spark) as syncs:
        done = syncs.sync(table_root(tmp_path / "lake"), "web", "t")
    (bad,) = done.synced.rejected
    assert bad.uri.endswith("b.json")
    assert "row 2: id: expected integer, got string" in bad.reason
    assert [row["id"] for row in rows(db)] == [-1, 1, 2, 5]


def test_a_stream_writes_by_the_same_rules(
    spark: SparkSession, db: Connection, tmp_path: Path
) -> None:
    with_mode(db, "reject")
    source = tmp_path / "source"

    def write(batch: DataFrame, number: int) -> None:
        save(batch, tmp_path, txnId=f"job-{number}")

    def run() -> None:
        frame = spark.readStream.schema("id STRING, n BIGINT").json(str(source))
        writer = frame.selectExpr("COALESCE(n, 0) AS id", "id AS name").writeStream
        writer = writer.option("checkpointLocation", str(tmp_path / "at"))
        writer.foreachBatch(write).trigger(availableNow=True).start().awaitTermination()

    source.mkdir()
    (source / "a.json").write_text('{"n": 1, "id": "ann"}\n')
    run()
    run()
    assert last(db) == (3, "insert", 2)
    (source / "b.json").write_text('{"n": 2, "id": "bob"}\n')
    db.execute("ALTER TABLE web.t DROP COLUMN name")
    with pytest.raises(Exception, match='row 1: name: no column has the field, as "bob"'):
        run()
    assert last(db) == (4, "schema", 2)
    with_mode(db, "reject")
    run()
    assert last(db) == (6, "insert", 3)
    assert [row["id"] for row in rows(db)] == [-1, 1, 2]


RENAME = "ALTER TABLE web.t RENAME COLUMN name TO login, RENAME COLUMN user.tag TO mark"
TOLD = [
    (
        "no column has the field login of the new rows: "
        "the column login lies in the field name of rows"
    ),
    (
        "no column has the field user.mark of the new rows: "
        "the column mark lies in the field user.tag of rows"
    ),
]
STORED: dict[str, object] = {"id": 1, "name": "ann"}
NAMED: dict[str, object] = {"id": 2, "login": "bob", "user": {"mark": "x"}}


def test_a_frame_with_names_of_renamed_columns_is_rejected(
    spark: SparkSession, db: Connection, tmp_path: Path
) -> None:
    with_mode(db, "reject")
    db.execute(RENAME)
    frame = spark.range(2).selectExpr("id", "'x' AS login", "NAMED_STRUCT('mark', 'x') AS user")
    with pytest.raises(Exception, match="login: no column has the field, as") as caught:
        save(frame, tmp_path)
    assert f"hint: {'; '.join(TOLD)}" in str(caught.value)
    assert last(db)[2] == 1


def job(tmp_path: Path, *tasks: dict[str, object]) -> list[str]:
    """Run the writer without Spark, whose workers write warnings to the standard error of Java."""
    named = NamedTable.of({"root": str(tmp_path / "lake"), "path": "web.t"})
    assert named is not None
    writer = TableWriter(named, {}, overwrite=False)
    results = [writer.write(iter(pa.Table.from_pylist([row]).to_batches())) for row in tasks]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        writer.commit([replace(result, task=number) for number, result in enumerate(results)])
    return [str(each.message) for each in caught]


def test_departing_rows_of_many_tasks_are_one_error(db: Connection, tmp_path: Path) -> None:
    with_mode(db, "reject")
    bad: dict[str, object] = {"id": "x"}
    with pytest.raises(DepartingRowsError) as caught:
        job(tmp_path, bad, STORED, bad, bad, bad)
    reason = 'row 1: id: expected integer, got string, as "x"'
    listed = "; ".join(f"task {number}: {reason}" for number in (0, 2, 3))
    expected = f"web.t: rows depart from its schema: {listed}; and some of 1 more task"
    assert caught.value.message == expected
    assert last(db) == (2, "schema", 1)


def test_names_of_renamed_columns_are_told(db: Connection, tmp_path: Path) -> None:
    with_mode(db, "observe")
    db.execute(RENAME)
    assert job(tmp_path, STORED) == []
    assert job(tmp_path, NAMED, STORED, NAMED) == [f"web.t: {text}" for text in TOLD]
    logins = [row.get("login") for row in rows(db)]
    assert logins == [None, "ann", "ann", None, None]
    # A column is added whose name is the field of the renamed one: a frame can mean either.
    with pytest.warns(SdbWarning, match="name is stored in the field name_2"):
        db.execute("ALTER TABLE web.t ADD COLUMN name STRING")
    assert job(tmp_path, STORED | {"name_2": "new"}) == []
    text = "the field name of the new rows is the column login: "
    text += "the column name lies in the field name_2 of rows"
    assert job(tmp_path, STORED) == [f"web.t: {text}"]
