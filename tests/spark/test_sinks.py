"""Streams, partitions, modes and the catalog of Spark, as sinks and sources."""

from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("pyspark")

import sdb
from sdb.packfile.read import manifest
from sdb.spark import register

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.timeout(600)]


@pytest.fixture(autouse=True)
def registered(spark: SparkSession) -> None:
    register(spark)


def load(spark: SparkSession, *path: str, **options: str) -> DataFrame:
    return spark.read.format("zion").options(**options).load(*path)


def numbers(source: Path, name: str, *ids: int) -> None:
    source.mkdir(exist_ok=True)
    (source / f"{name}.json").write_text("".join(f'{{"id": {number}}}\n' for number in ids))


def follow(
    spark: SparkSession, source: Path, checkpoint: Path, target: str, **options: str
) -> None:
    stream = spark.readStream.schema("id INT").json(str(source))
    writer = stream.writeStream.format("zion").options(**options)
    writer = writer.option("checkpointLocation", str(checkpoint)).trigger(availableNow=True)
    writer.start(target).awaitTermination()


def forget_the_last(checkpoint: Path) -> None:
    """Bring a checkpoint to where Spark was killed after a batch was written."""
    last = max((checkpoint / "commits").glob("[0-9]*"), key=lambda path: int(path.name))
    last.unlink()
    (checkpoint / "commits" / f".{last.name}.crc").unlink(missing_ok=True)


def test_batches_of_a_stream_are_written_once(spark: SparkSession, tmp_path: Path) -> None:
    source, root, folder = tmp_path / "in", str(tmp_path / "lake"), str(tmp_path / "out")
    numbers(source, "a", 1, 2)
    targets = [("web.t", {"root": root}), (folder, {})]
    for number, (target, options) in enumerate(targets):
        checkpoint = tmp_path / f"at{number}"
        follow(spark, source, checkpoint, target, **options)
        forget_the_last(checkpoint)
        follow(spark, source, checkpoint, target, **options)
    numbers(source, "b", 1, 2)
    for number, (target, options) in enumerate(targets):
        follow(spark, source, tmp_path / f"at{number}", target, **options)
        frame = load(spark, target, **options)
        assert frame.dtypes == [("id", "int")]
        assert sorted(row.id for row in frame.collect()) == [1, 1, 2, 2]
    assert [version.operation for version in sdb.connect(root).table("web.t").log()] == [
        "insert"
    ] * 2
    # Another checkpoint is another stream, which takes all rows again.
    follow(spark, source, tmp_path / "anew", "web.t", root=root)
    assert load(spark, "web.t", root=root).count() == 8


def test_partitions_by_columns(spark: SparkSession, tmp_path: Path) -> None:
    frame = spark.sql(
        "SELECT CAST(id AS INT) AS id, DATE'2026-01-31' + CAST(id % 2 AS INT) AS day, "
        "IF(id < 3, 'eu', 'us') AS region FROM RANGE(0, 6, 1, 1)"
    )
    folder = tmp_path / "out"
    writer = frame.write.format("zion").mode("append").option("partitionBy", "day,region")
    writer.save(str(folder))
    assert len(manifest.read(str(folder)).files) == 4  # type: ignore[union-attr]
    loaded = load(spark, str(folder))
    assert loaded.dtypes == frame.dtypes
    assert sorted(loaded.collect()) == sorted(frame.collect())
    # A table with partitions takes the values of their columns.
    db = sdb.connect(str(tmp_path / "lake"))
    parts = [{"field": "day", "type": "date"}, {"field": "region"}]
    definition = {"input": [{"pattern": "file://in/{day}/{region}/*.json"}], "partitions": parts}
    folder_of_table = tmp_path / "lake/db/web/t"
    folder_of_table.mkdir(parents=True)
    (folder_of_table / "definition.json").write_text(json.dumps(definition))
    root = str(tmp_path / "lake")
    frame.write.format("zion").mode("append").option("root", root).save("web.t")
    text = "SELECT id, region FROM web.t WHERE day = TIMESTAMP '2026-02-01' ORDER BY id"
    with db.sql(text) as seen:
        assert [(row["id"], row["region"]) for row in seen] == [(1, "eu"), (3, "us"), (5, "us")]
    assert sorted(load(spark, "web.t", root=root).select(*frame.columns).collect()) == sorted(
        frame.collect()
    )
    with pytest.raises(Exception, match="there is no column 'nope'"):
        frame.write.format("zion").mode("append").option("partitionBy", "nope").save(str(folder))
    nulls = frame.selectExpr("id", "CAST(NULL AS STRING) AS region")
    with pytest.raises(Exception, match="partition column region has NULL"):
        nulls.write.format("zion").mode("append").option("partitionBy", "region").save(str(folder))
    assert load(spark, str(folder)).count() == 6


def test_modes_of_folders(spark: SparkSession, tmp_path: Path) -> None:
    folder = str(tmp_path / "out")

    def save(**options: str) -> None:
        spark.range(3).write.format("zion").mode("append").options(**options).save(folder)

    save(ifExists="error", txnId="once")
    save(txnId="once")
    save(ifExists="ignore")
    assert load(spark, folder).count() == 3
    with pytest.raises(Exception, match="has packfiles already"):
        save(ifExists="error")
    with pytest.raises(Exception, match="author is an option of tables"):
        save(author="ann")
    save()
    assert load(spark, folder).count() == 6


def test_columns_on_request(spark: SparkSession, tmp_path: Path) -> None:
    sdb.pack([{"id": 1, "s": {"at": "x", "n": 2.5}}, {"id": 2}], tmp_path / "a.zion")
    sdb.pack([{"id": 3}], tmp_path / "b.zion")
    frame = load(spark, str(tmp_path), metadata="true")
    assert frame.columns == ["id", "s", "_metadata"]
    rows = frame.select("_metadata.file_name", "id").collect()
    assert sorted(rows) == [("a.zion", 1), ("a.zion", 2), ("b.zion", 3)]
    (row,) = frame.where("id = 3").select("_metadata.*").collect()
    assert row.file_path == str(tmp_path / "b.zion")
    assert row.file_size == (tmp_path / "b.zion").stat().st_size
    texts = load(spark, str(tmp_path), primitivesAsString="true")
    assert texts.dtypes == [("id", "string"), ("s", "struct<at:string,n:string>")]
    assert texts.where("id = '1'").select("s.n").collect() == [("2.5",)]


def test_tables_of_the_catalog(spark: SparkSession, tmp_path: Path) -> None:
    root = str(tmp_path / "lake")
    db = sdb.connect(root)
    db.create("web.t", "in/*.json")
    db.append("web.t", [{"id": 1, "kind": "a"}])
    try:
        options = f"root '{root}', path 'web.t', fields 'id'"
        spark.sql(f"CREATE TABLE named USING zion OPTIONS ({options})")
        sdb.pack([{"id": 7}], tmp_path / "a.zion")
        spark.sql(f"CREATE TABLE plain USING zion LOCATION '{tmp_path / 'a.zion'}'")
        assert spark.sql("SELECT * FROM named").collect() == [(1,)]
        assert spark.sql("SELECT * FROM plain").collect() == [(7,)]
        db.append("web.t", [{"id": 2}])
        assert spark.sql("SELECT COUNT(*) FROM named").collect() == [(2,)]
    finally:
        spark.sql("DROP TABLE IF EXISTS named")
        spark.sql("DROP TABLE IF EXISTS plain")
        shutil.rmtree("spark-warehouse", ignore_errors=True)


def test_all_tables_of_a_root_are_views(spark: SparkSession, tmp_path: Path) -> None:
    root = tmp_path / "lake"
    db = sdb.connect(str(root))
    db.execute("CREATE TABLE web.t")
    db.append("web.t", [{"id": 1, "kind": "a"}])
    db.execute("CREATE VIEW web.v AS SELECT id FROM web.t")
    assert register(spark, root) == ["web_t", "web_v"]
    assert spark.sql("SELECT kind FROM web_t JOIN web_v USING (id)").collect() == [("a",)]
    spark.range(3).createOrReplaceTempView("other")
    plan = spark.sql("EXPLAIN SELECT * FROM other JOIN web_t USING (id)").collect()[0][0]
    assert "BroadcastHashJoin" in plan
    db.execute("CREATE TABLE web_t.x")
    db.execute("CREATE TABLE web.t_x")
    with pytest.raises(Exception, match="would both be the view web_t_x"):
        register(spark, root)


def test_it_is_said_once_that_all_columns_are_decoded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    from pyspark import SparkFiles
    from pyspark.sql.types import LongType, StructField, StructType

    from sdb.spark.read.wide import say_once

    monkeypatch.setattr(SparkFiles, "getRootDirectory", lambda: str(tmp_path))
    user = StructType([StructField(f"c{number:02}", LongType()) for number in range(29)])
    say_once(user)
    assert not caplog.messages
    for _ in range(3):
        say_once(StructType([StructField("id", LongType()), StructField("user", user)]))
    (text,) = caplog.messages
    assert text.startswith("all 30 columns are decoded")
    assert '.option("fields", "id,user")' in text


def test_values_that_become_null_are_said(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    from pyspark.sql.types import IntegerType, StructField, StructType

    from sdb.spark.source import ZionSource

    sdb.pack([{"id": 1}, {"id": "x"}, {"id": "y"}], tmp_path / "m.zion")
    source = ZionSource({"path": str(tmp_path), "mode": "PERMISSIVE"})
    reader = source.reader(StructType([StructField("id", IntegerType())]))
    (partition,) = reader.partitions()
    (batch,) = reader.read(partition)
    assert batch.column("id").to_pylist() == [1, None, None]
    assert [text for text in caplog.messages if "NULL" in text] == [
        f"{tmp_path}/m.zion: 2 values that column id cannot hold: NULL"
    ]
