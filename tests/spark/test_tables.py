from __future__ import annotations

import io
import json
import os
from typing import TYPE_CHECKING

import pytest

import sdb
from sdb import instants
from tests.spark import events

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.spark

NAME = "web.gha"


@pytest.fixture(autouse=True)
def registered(spark: SparkSession) -> None:
    from sdb.spark import register

    register(spark)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A root with a table of three versions, each with 300 rows more, after the one without."""
    root = tmp_path / "root"
    db = sdb.connect(root)
    db.execute(f"CREATE TABLE {NAME}")
    for first in range(0, 900, 300):
        add(root, first, first + 300)
    return root


def add(root: Path, first: int, last: int) -> None:
    rows = io.BytesIO(
        b"\n".join(json.dumps(events.event(no)).encode() for no in range(first, last))
    )
    sdb.connect(root).append(NAME, rows, block_bytes=1 << 15, align_bytes=1 << 13)


def load(spark: SparkSession, root: Path, name: str = NAME, **options: str) -> DataFrame:
    reader = spark.read.format("zion").option("root", str(root)).options(**options)
    return reader.load(name)


def ids(frame: DataFrame) -> list[int]:
    return sorted(row.id for row in frame.select("id").collect())


def at(number: int) -> str:
    return instants.text(events.START_US + number * events.STEP_US)


def test_any_version_is_read_and_stays_what_it_was(spark: SparkSession, root: Path) -> None:
    loaded = load(spark, root)
    assert ids(loaded) == list(range(900))
    assert loaded.where("actor.login = 'user31'").count() == len(range(1, 900, 97))
    assert ids(load(spark, root, f"{NAME}@3")) == list(range(600))
    assert ids(load(spark, root, at="-2")) == list(range(300))
    add(root, 900, 1000)
    assert ids(loaded) == list(range(900))
    assert ids(load(spark, root)) == list(range(1000))


def test_plans_open_no_packfile_and_read_what_times_leave(spark: SparkSession, root: Path) -> None:
    from sdb.spark.read.planned import plan

    hidden = root / "hidden"
    (root / "db/web/gha/data").rename(hidden)
    argument = "id BIGINT, created_at TIMESTAMP"
    reader = spark.read.format("zion").schema(argument).option("root", str(root))
    times = {"since": at(310), "until": at(320), "timeField": "created_at"}
    chosen = reader.options(**times).load(NAME)
    (actual,) = plan(chosen)
    assert (actual.files, actual.files_total, actual.blocks) == (1, 3, 1)
    hidden.rename(root / "db/web/gha/data")
    assert ids(chosen) == list(range(310, 320))


def test_what_is_wrong_is_told(spark: SparkSession, root: Path) -> None:
    for name, item in {
        "web.ghi": "did you mean web.gha?",
        f"{NAME}@99": "has no version 99",
        "gha": "invalid table name",
    }.items():
        with pytest.raises(Exception, match="(?s)" + item.replace("?", r"\?")):
            load(spark, root, name).count()
    loaded = load(spark, root)
    (root / "db/web/gha/data").rename(root / "gone")
    with pytest.raises(Exception, match="is missing: the table leads to it"):
        loaded.count()


def save(rows: DataFrame, root: Path, mode: str = "append", **options: str) -> None:
    writer = rows.write.format("zion").mode(mode).option("root", str(root)).options(**options)
    writer.save(NAME)


def log(root: Path) -> list[tuple[int | None, str, int, int]]:
    actual = sdb.connect(root).table(NAME).log()
    return [
        (item.version, item.operation, item.rows, item.changes.packfiles_added) for item in actual
    ]


def test_a_job_is_one_version(spark: SparkSession, tmp_path: Path) -> None:
    rows = spark.range(0, 1000, 1, 2)
    save(rows, tmp_path, ifExists="error")
    save(rows.where("id < 10"), tmp_path, message="few of them")
    save(rows.where("id < 0"), tmp_path)
    assert log(tmp_path) == [(2, "insert", 1010, 1), (1, "insert", 1000, 2)]
    before = load(spark, tmp_path)
    # Tasks with the same rows have separate packfiles, and what is read may be written to.
    ones = spark.range(0, 4, 1, 2).selectExpr("7 AS id")
    save(before.where("id < 3").select("id").unionAll(ones).repartition(2), tmp_path, "overwrite")
    assert ids(load(spark, tmp_path)) == [0, 0, 1, 1, 2, 2, 7, 7, 7, 7]
    assert before.count() == 1010
    save(ones, tmp_path, "overwrite")
    assert ids(load(spark, tmp_path)) == [7] * 4
    assert log(tmp_path)[0] == (4, "overwrite", 4, 2)
    newest = next(iter(sdb.connect(tmp_path).table(NAME).log()))
    assert newest.changes.row_counts is not None
    assert newest.changes.row_counts.inserted == 4
    save(ones.where("id < 0"), tmp_path, "overwrite")
    assert log(tmp_path)[0] == (5, "overwrite", 0, 0)
    assert not sdb.connect(tmp_path).table(NAME).validate().findings


def test_statistics_are_those_of_the_definition_or_an_option(
    spark: SparkSession, tmp_path: Path
) -> None:
    rows = spark.range(0, 2000, 1, 1).selectExpr("id", "id * 2 AS n")
    sdb.connect(tmp_path).execute(f"CREATE TABLE {NAME}")
    definition = tmp_path / "db/web/gha/definition.json"
    seen: set[Path] = set()
    results = []
    for stats, options in (("off", {}), ("n", {}), ("n", {"stats": "id"})):
        definition.write_text(json.dumps({"input": [{"pattern": "file://x"}], "stats": stats}))
        save(rows, tmp_path, **options)
        (path,) = set((tmp_path / "db/web/gha/data").rglob("*.zion")) - seen
        seen.add(path)
        with sdb.open(path) as pack:
            known = pack.known[1]
            results.append([] if known is None else sorted({field for field, _ in known.sizes}))
    assert results == [[], [("n",)], [("id",)]]
    with pytest.raises(Exception, match="invalid paths for statistics"):
        save(rows, tmp_path, stats="a,,b")


def test_the_same_transaction_is_one_version(spark: SparkSession, root: Path) -> None:
    for _ in range(2):
        save(spark.range(5), root, txnId="batch-1")
    with pytest.raises(Exception, match="the id of a transaction has 129 bytes"):
        save(spark.range(5), root, txnId="x" * 129)
    assert log(root)[0][:3] == (5, "insert", 905)
    sdb.connect(root).table(NAME).branch("trial")
    writer = spark.range(9).write.format("zion").mode("append").option("root", str(root))
    writer.save(f"{NAME}@trial")
    assert load(spark, root, f"{NAME}@trial").count() == 914
    assert log(root)[0][:3] == (5, "insert", 905)


def test_killed_and_failed_tasks_write_no_row_twice(spark: SparkSession, root: Path) -> None:
    from pyspark.sql.functions import udf

    @udf("bigint", useArrow=False)
    def dies(number: int, most: int) -> int:
        from pyspark import TaskContext

        context = TaskContext.get()
        attempt = context.attemptNumber() if context else 0
        if number == 1999 and attempt == 0:
            os.kill(os.getpid(), 9)
        if number == 1999 and attempt < most:
            message = "a task that fails late"
            raise RuntimeError(message)
        return number

    rows = spark.range(0, 2000, 1, 2)
    with pytest.raises(Exception, match="a task that fails late"):
        save(rows.selectExpr("id", "9 AS most").select(dies("id", "most").alias("id")), root)
    assert log(root)[0][:3] == (4, "insert", 900)
    save(rows.selectExpr("id", "2 AS most").select(dies("id", "most").alias("id")), root)
    assert log(root)[0] == (5, "insert", 2900, 2)
    assert load(spark, root).select("id").distinct().count() == 2000


def test_what_cannot_be_written_is_refused(spark: SparkSession, root: Path) -> None:
    writer = spark.range(5).write.format("zion").option("root", str(root))
    with pytest.raises(Exception, match='either the "Append" or "Overwrite" mode'):
        writer.save(NAME)
    with pytest.raises(Exception, match=r"web.gha below .* is there already"):
        writer.mode("append").option("ifExists", "error").save(NAME)
    writer.mode("append").option("ifExists", "ignore").save(NAME)
    writer.option("ifExists", "append")
    with pytest.raises(Exception, match=r"which never changes\nhint: web.gha, or web.gha@branch"):
        writer.mode("append").save(f"{NAME}@2")
    parts = '"partitions": [{"field": "day", "type": "date"}]'
    definition = f'{{"input": [{{"pattern": "file://in/{{day}}/*.json"}}], {parts}}}'
    (root / "db/web/gha/definition.json").write_text(definition)
    with pytest.raises(
        Exception, match=r"partitions by day\nhint: columns day, option\(.partition., .field=val"
    ):
        writer.mode("append").save(NAME)
    assert log(root)[0][:3] == (4, "insert", 900)
    writer.option("partition", "day=2026-01-31").mode("append").save(NAME)
    days = load(spark, root).where("day = timestamp'2026-01-31T00:00:00Z'")
    assert days.count() == 5
    with pytest.raises(Exception, match="has partitions: they are not overwritten"):
        writer.mode("overwrite").save(NAME)
