"""Spark reads and writes packfiles on S3, from end to end."""

from __future__ import annotations

import base64
import os
from itertools import chain
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("pyspark")
from pyspark.sql.streaming.datasource import ReadAllAvailable
from pyspark.sql.types import LongType, StructField, StructType

import sdb
from sdb.spark import register
from sdb.spark.options.settings import read_options
from sdb.spark.read.planned import plan
from sdb.spark.stream.versionstream import TableStreamReader
from tests.spark import events

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

    from tests.store.conftest import S3Backend

pytestmark = pytest.mark.s3


@pytest.fixture
def reaching(
    spark: SparkSession, bucket: S3Backend, monkeypatch: pytest.MonkeyPatch
) -> tuple[SparkSession, S3Backend]:
    """Configure the workers of the session for the server."""
    for name, value in os.environ.items():
        if name.startswith("AWS_"):
            monkeypatch.setitem(spark.sparkContext.environment, name, value)
    register(spark)
    return spark, bucket


def test_packfiles_of_sdb_are_read(
    reaching: tuple[SparkSession, S3Backend], tmp_path: Path
) -> None:
    spark, bucket = reaching
    for name, start in (("a", 0), ("b", 250)):
        text = events.make(tmp_path / "a.zion", start, start + 500).with_suffix(".json")
        sdb.pack([text], bucket.at(f"in/{name}.zion"), block_bytes=1 << 15, align_bytes=1 << 13)
    cache = str(tmp_path / "cache")
    reader = spark.read.format("zion").option("cache", cache)
    for _ in range(2):
        frame = reader.load(bucket.at("in/*.zion"))
        actual = frame.groupBy("id").count().where("count = 2").count()
        assert (frame.count(), actual) == (1000, 250)
    (whole,) = plan(reader.load(bucket.at("in/*.zion")))
    assert (whole.files, whole.blocks) == (2, whole.blocks_total)
    assert len(list((tmp_path / "cache").rglob("*.block"))) == whole.blocks


def test_what_spark_writes_sdb_and_spark_read(reaching: tuple[SparkSession, S3Backend]) -> None:
    spark, bucket = reaching
    folder = bucket.at("out/")
    frame = spark.range(1000).selectExpr("id", "concat('n', id % 7) AS name").repartition(3)
    frame.write.format("zion").mode("append").save(folder)
    frame.write.format("zion").mode("append").save(folder)
    assert spark.read.format("zion").load(folder).where("name = 'n3'").count() == 2 * 143
    (row,) = sdb.sql(f"SELECT COUNT(*) AS n, SUM(id) AS total FROM read_file('{folder}*.zion')")
    assert row == {"n": 2000, "total": 999000}
    frame.limit(10).write.format("zion").mode("overwrite").save(folder)
    assert spark.read.format("zion").load(folder).count() == 10
    assert bucket.uploads() == []


def test_a_table_is_written_read_and_followed(
    reaching: tuple[SparkSession, S3Backend], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spark, bucket = reaching
    key = base64.b64encode(bytes(range(32))).decode()
    monkeypatch.setenv("SNELLER_INDEX_KEY", key)
    root = bucket.at("lake")
    rows = spark.range(0, 100, 1, 2).write.format("zion").option("root", root).mode("append")
    with pytest.raises(Exception, match="SNELLER_INDEX_KEY"):
        rows.save("web.ids")
    monkeypatch.setitem(spark.sparkContext.environment, "SNELLER_INDEX_KEY", key)
    register(spark)
    rows.save("web.ids")
    rows.save("web.ids")
    table = spark.read.format("zion").option("root", root)
    assert table.load("web.ids").groupBy().sum("id").collect()[0][0] == 2 * sum(range(100))
    assert table.option("cache", str(tmp_path / "cache")).load("web.ids@1").count() == 100
    argument = {"path": "web.ids", "root": root, "startingVersion": "2"}
    schema = StructType([StructField("id", LongType())])
    options = read_options(argument)
    assert options.table is not None
    stream = TableStreamReader(schema, options, options.table)
    begin = stream.initialOffset()
    parts = stream.partitions(begin, stream.latestOffset(begin, ReadAllAvailable()))
    actual = [batch.column("id").to_pylist() for part in parts for batch in stream.read(part)]
    assert sorted(chain.from_iterable(actual)) == list(range(100))
