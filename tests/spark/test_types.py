"""Columns of frames come back as they were written: names, order and types."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest

pytest.importorskip("pyspark")

from pyspark.sql import functions as f
from pyspark.sql.types import Row, StructType

import sdb
from sdb.packfile.inspect.describe import file_dict
from sdb.spark import register

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.timeout(600)]

COLUMNS = """
    zz LONG, bool BOOLEAN, byte BYTE, short SHORT, int INT, float FLOAT, double DOUBLE,
    money DECIMAL(10,2), long DECIMAL(38,6), whole DECIMAL(20,0), text STRING, bytes BINARY,
    day DATE, at TIMESTAMP, local TIMESTAMP_NTZ, took INTERVAL DAY TO SECOND,
    ints ARRAY<INT>, days ARRAY<STRUCT<d: DATE, b: BINARY>>, tags MAP<STRING, INT>,
    codes MAP<INT, STRUCT<d: DATE, m: MAP<STRING, BINARY>>>, inner STRUCT<b: BINARY, a: SHORT>,
    never DATE, aa INT
"""
UTC = dt.UTC
FULL: list[Any] = [
    -1,
    True,
    -128,
    32767,
    -(2**31),
    0.1,
    1e300,
    Decimal("12345678.90"),
    Decimal("12345678901234567890123456789012.123456"),
    Decimal(18446744073709551617),
    "täxt\n",
    b"\x00\xff",
    dt.date(1969, 12, 31),
    dt.datetime(2026, 1, 31, 12, 0, 0, 1, tzinfo=UTC),
    dt.datetime(2026, 1, 31, 12, 0, 0, 1),  # noqa: DTZ001 - it has no zone
    dt.timedelta(days=-1, microseconds=5),
    [1, None, -3],
    [(dt.date(2026, 1, 1), b"x"), None],
    {"a": 1, "b": None},
    {1: (dt.date(2026, 1, 1), {"k": b"v"}), -7: None},
    (b"", 5),
    None,
    7,
]
EMPTY: list[Any] = [0, *(None for _ in FULL[1:])]
HOLLOW: list[Any] = [1, *(None for _ in FULL[1:16]), [], [], {}, {}, (None, None), None, None]


@pytest.fixture
def frame(spark: SparkSession) -> DataFrame:
    register(spark)
    schema = StructType.fromDDL(COLUMNS)
    return spark.createDataFrame([tuple(FULL), tuple(EMPTY), tuple(HOLLOW)], schema)


def rows(frame: DataFrame) -> list[Row]:
    return frame.orderBy("zz").collect()


def types(frame: DataFrame) -> list[tuple[str, str]]:
    return [(field.name, field.dataType.simpleString()) for field in frame.schema]


def test_all_types_come_back(spark: SparkSession, frame: DataFrame, tmp_path: Path) -> None:
    folder, root = str(tmp_path / "out"), str(tmp_path / "lake")
    frame.write.format("zion").mode("append").save(folder)
    frame.write.format("zion").mode("append").option("root", root).save("web.t")
    table = spark.read.format("zion").option("root", root).load("web.t")
    for loaded in (spark.read.format("zion").load(folder), table):
        assert types(loaded) == types(frame)
        assert rows(loaded) == rows(frame)
    fields = spark.read.format("zion").option("fields", "money,inner.a").load(folder)
    assert types(fields) == [("money", "decimal(10,2)"), ("inner", "struct<a:smallint>")]
    inferred = spark.read.format("zion").option("inference", "rows").load(folder)
    assert dict(types(inferred))["day"] == "timestamp"
    # Other readers see the values as rows have them.
    with sdb.sql(
        f"SELECT day, money, bytes, tags FROM read_file('{folder}/*.zion') WHERE aa = 7"
    ) as seen:
        (row,) = seen
    assert row["day"].date() == dt.date(1969, 12, 31)
    assert row["money"] == 12345678.9
    assert row["bytes"] == "AP8="
    assert row["tags"] == {"a": 1, "b": None}


def test_variants_and_types_without_columns(spark: SparkSession, tmp_path: Path) -> None:
    register(spark)
    folder = str(tmp_path / "out")
    frame = spark.range(1).select(
        f.parse_json(f.lit('{"k": [1, "x"]}')).alias("v"),
        f.lit(None).alias("nothing"),
        f.expr("TIME '12:30:00'").alias("clock"),
        f.expr("MAP(DATE'2026-01-31', 1)").alias("days"),
    )
    frame.write.format("zion").mode("append").save(folder)
    loaded = spark.read.format("zion").load(folder)
    # What rows do not become a column of comes back as what it is stored as.
    assert types(loaded) == [
        ("v", "variant"),
        ("nothing", "void"),
        ("clock", "string"),
        ("days", "struct<2026-01-31T00:00:00Z:bigint>"),
    ]
    (row,) = loaded.select(f.to_json("v").alias("v"), "nothing", "clock").collect()
    assert row == Row(v='{"k":[1,"x"]}', nothing=None, clock="12:30:00")


def test_a_declared_type_counts_where_all_packfiles_have_it(
    spark: SparkSession, tmp_path: Path
) -> None:
    register(spark)
    folder = tmp_path / "out"
    frame = spark.sql("SELECT CAST(1 AS INT) AS n, DATE'2026-01-31' AS day, 'x' AS z")
    frame.write.format("zion").mode("append").save(str(folder))
    (described,) = sdb.describe([str(path) for path in folder.glob("*.zion")]).files
    assert file_dict(described)["columns"] == [
        {"name": "n", "type": "integer"},
        {"name": "day", "type": "date"},
        {"name": "z", "type": "string"},
    ]
    frame.select("day", f.lit(2.5).alias("n")).write.format("zion").mode("append").save(str(folder))
    loaded = spark.read.format("zion").load(str(folder))
    assert types(loaded) == [("n", "double"), ("day", "date"), ("z", "string")]
    # A packfile without columns of a frame has its own types, which count as well.
    mixed = tmp_path / "mixed"
    mixed.mkdir()
    for number, path in enumerate(folder.glob("*.zion")):
        sdb.concat([path], mixed / f"{number}.zion")
    sdb.pack([{"day": "someday", "more": 1}], mixed / "own.zion")
    loaded = spark.read.format("zion").load(str(mixed))
    # The order is that of the packfiles, whose names are random.
    assert sorted(types(loaded)) == [
        ("day", "string"),
        ("more", "bigint"),
        ("n", "double"),
        ("z", "string"),
    ]
    assert loaded.where("day = 'someday'").count() == 1


def test_compaction_keeps_columns(spark: SparkSession, tmp_path: Path) -> None:
    register(spark)
    root = str(tmp_path / "lake")
    frame = spark.sql("SELECT CAST(1 AS INT) AS n, DATE'2026-01-31' AS day")
    for _ in range(2):
        frame.write.format("zion").mode("append").option("root", root).save("web.t")
    db = sdb.connect(root)
    for work in (
        lambda: db.table("web.t").compact(),
        lambda: db.table("web.t").compact(cluster_by=["n"]),
        lambda: db.execute("UPDATE web.t SET n = 3 WHERE n = 1"),
    ):
        work()
        loaded = spark.read.format("zion").option("root", root).load("web.t")
        assert types(loaded) == [("n", "int"), ("day", "date")]
        assert loaded.count() == 2
