from __future__ import annotations

import datetime as dt
import json
import os
import struct
from typing import TYPE_CHECKING

import pytest

import sdb
from sdb.packfile.read import manifest
from tests.folders import contents
from tests.spark import events

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.spark


def listed(folder: str) -> list[str]:
    return [key.location for key in contents(folder)]


@pytest.fixture(autouse=True)
def registered(spark: SparkSession) -> None:
    from sdb.spark import register

    register(spark)


def load(spark: SparkSession, path: Path, **options: str) -> DataFrame:
    return spark.read.format("zion").options(**options).load(str(path))


def save(rows: DataFrame, path: Path, mode: str = "append", **options: str) -> None:
    rows.write.format("zion").mode(mode).options(**options).save(str(path))


def test_what_is_written_is_read_again(spark: SparkSession, tmp_path: Path) -> None:
    source = events.make(tmp_path / "events.zion", 0, 500)
    rows = load(spark, source, inference="rows").drop("org")  # null in each row
    save(rows.repartition(3), tmp_path / "out", timeFields="created_at")
    again = load(spark, tmp_path / "out", inference="rows")
    assert again.schema == rows.schema
    lines = [
        sorted(row[0] for row in df.selectExpr("to_json(struct(*))").collect())
        for df in (again, rows)
    ]
    assert lines[0] == lines[1]
    assert len(lines[0]) == 500
    paths = listed(str(tmp_path / "out"))
    assert 1 <= len(paths) <= 3
    for path in paths:
        assert not sdb.validate(path).findings
        with sdb.open(path) as pack:
            assert ("created_at",) in pack.time_indexes


LONG_DECIMAL = "12345678901234567890.5"


def test_any_type_of_spark(spark: SparkSession, tmp_path: Path) -> None:
    texts = [
        *("1", "-129", "70000", "5000000000", "1.5", LONG_DECIMAL, "1e300", "true"),
        *('"x"', f'"{"é" * 64}"', "null", "[]", "{}", '[null, 1, {"b": [false]}]'),
        *('{"b": {"a": null, "": 0.25}, "a": "x"}', str(list(range(300))).replace(" ", "")),
    ]
    frame = spark.createDataFrame([(text,) for text in texts], "text STRING").selectExpr(
        "parse_json(text) AS v",
        "array(parse_json(text), NULL) AS vs",
        "map('k', named_struct('v', parse_json(text), 'n', CAST(NULL AS INT))) AS m",
        "CAST(TIMESTAMP '2021-01-02 03:04:05.678901+00:00' AS VARIANT) AS t",
        "CAST(DATE '1960-02-29' AS VARIANT) AS d",
        "CAST(X'00ff' AS VARIANT) AS b",
        "CAST(CAST(0.1 AS FLOAT) AS VARIANT) AS f",
        "CAST(12.50 AS DECIMAL(9, 2)) AS c",
        "DATE '2021-01-02' AS day",
        "TIMESTAMP_NTZ '2021-01-02 03:04:05' AS ntz",
        "X'00ff' AS bytes",
        "INTERVAL '1 00:00:01.5' DAY TO SECOND AS i",
        "map(1, 'x') AS numbered",
    )
    at = dt.datetime(2021, 1, 2, 3, 4, 5, 678901, tzinfo=dt.UTC)
    fixed = {
        "t": at,
        "d": dt.datetime(1960, 2, 29, tzinfo=dt.UTC),
        "b": "AP8=",
        "f": struct.unpack("f", struct.pack("f", 0.1))[0],
        "c": 12.5,
        "bytes": "AP8=",
        "i": 86401.5,
        "numbered": {"1": "x"},
        "day": dt.datetime(2021, 1, 2, tzinfo=dt.UTC),
        "ntz": at.replace(microsecond=0),
    }
    save(frame.coalesce(1), tmp_path / "out", ignoreNullFields="false")
    (path,) = listed(str(tmp_path / "out"))
    with sdb.open(path) as pack:
        for row, text in zip(pack.rows(), texts, strict=True):
            # No number shows all digits of this one: it is kept exactly.
            value = text if text == LONG_DECIMAL else json.loads(text)
            variants = {"v": value, "vs": [value, None], "m": {"k": {"v": value, "n": None}}}
            assert row == variants | fixed


def test_rows_are_added_and_replaced(spark: SparkSession, tmp_path: Path) -> None:
    folder = tmp_path / "out"
    save(spark.range(10), folder)
    save(spark.range(10, 30), folder)
    assert sorted(row.id for row in load(spark, folder).collect()) == list(range(30))
    save(spark.range(5), folder, "overwrite")
    assert sorted(row.id for row in load(spark, folder).collect()) == list(range(5))
    names = {path.name for path in folder.glob("*.zion")}
    assert {f"{folder}/{name}" for name in names} == set(listed(str(folder)))


def test_killed_and_failed_tasks_write_no_row_twice(spark: SparkSession, tmp_path: Path) -> None:
    from pyspark.sql.functions import udf

    @udf("bigint", useArrow=False)
    def dies(number: int) -> int:
        from pyspark import TaskContext

        context = TaskContext.get()
        attempt = context.attemptNumber() if context else 0
        if number == 3999 and attempt == 0:
            os.kill(os.getpid(), 9)
        if number == 3999 and attempt == 1:
            message = "a task that fails late"
            raise RuntimeError(message)
        return number

    folder = tmp_path / "out"
    save(spark.range(0, 8000, 1, 4).select(dies("id").alias("id")), folder)
    actual = load(spark, folder)
    assert actual.count() == 8000
    assert actual.distinct().count() == 8000
    assert len(list(folder.glob("*.zion"))) == 4


def test_a_job_that_fails_leaves_nothing(spark: SparkSession, tmp_path: Path) -> None:
    from pyspark.sql.functions import udf

    @udf("bigint", useArrow=False)
    def fails(number: int) -> int:
        if number == 3999:
            message = "a task that always fails"
            raise RuntimeError(message)
        return number

    folder = tmp_path / "out"
    save(spark.range(10), folder)
    with pytest.raises(Exception, match="a task that always fails"):
        save(spark.range(0, 8000, 1, 4).select(fails("id").alias("id")), folder)
    assert load(spark, folder).count() == 10
    names = {f"{folder}/{path.name}" for path in folder.glob("*.zion")}
    # A task that was still running when the job was given up may leave a file that does not count.
    assert names >= set(listed(str(folder)))


def test_other_packfiles_are_not_replaced(spark: SparkSession, tmp_path: Path) -> None:
    events.make(tmp_path / "mine.zion", 0, 10)
    with pytest.raises(Exception, match="packfiles that no job wrote"):
        save(spark.range(5), tmp_path, "overwrite")
    assert load(spark, tmp_path).count() == 10


def test_packfiles_stay_while_it_is_unknown_whether_they_count(tmp_path: Path) -> None:
    from sdb.spark.write.writer import Written, ZionWriter, _number

    writer = ZionWriter({"path": str(tmp_path)}, overwrite=False)
    packfile = tmp_path / manifest.attempt_name(0, _number(writer._job))
    events.make(packfile, 0, 10)
    everyone = [Written(0), Written(1)]
    writer.abort(everyone)  # so publishing failed
    assert packfile.exists()
    writer.abort([*everyone, None])
    assert not packfile.exists()
