"""Tables with a schema in Spark: its columns, in its order and types, also where no row has any."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING

import pytest

import sdb

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.spark

COLUMNS = [
    {"name": "at", "type": "timestamp"},
    {"name": "id", "type": "integer"},
    {"name": "user", "type": {"type": "struct", "columns": [{"name": "name", "type": "string"}]}},
    {"name": "gone", "type": "decimal(10,2)"},
]
AT = dt.datetime(2026, 11, 1, tzinfo=dt.UTC)


@pytest.fixture(autouse=True)
def registered(spark: SparkSession) -> None:
    from sdb.spark import register

    register(spark)


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    db = sdb.connect(str(tmp_path))
    db.execute("CREATE TABLE web.t")
    db.append("web.t", [{"id": 1, "user": {"name": "ann", "x": 1}, "at": AT, "z": 5}, {"id": 2}])
    db.table("web.t").set_schema(COLUMNS)
    return tmp_path


def load(spark: SparkSession, lake: Path, **options: str) -> DataFrame:
    return spark.read.format("zion").options(root=str(lake), **options).load("web.t")


def test_the_schema_gives_types_and_order(spark: SparkSession, lake: Path) -> None:
    frame = load(spark, lake)
    assert frame.dtypes == [
        ("at", "timestamp"),
        ("id", "bigint"),
        ("user", "struct<name:string>"),
        ("gone", "decimal(10,2)"),
    ]
    rows = frame.select("id", "user.name", "gone").orderBy("id").collect()
    assert [tuple(row) for row in rows] == [(1, "ann", None), (2, None, None)]
    assert load(spark, lake, fields="id,gone").columns == ["id", "gone"]


def test_renamed_columns_and_defaults_are_read(spark: SparkSession, lake: Path) -> None:
    db = sdb.connect(str(lake))
    db.execute("ALTER TABLE web.t RENAME COLUMN user.name TO login, ADD COLUMN n INTEGER DEFAULT 7")
    db.append("web.t", [{"id": 3, "n": 8}])
    frame = load(spark, lake)
    assert frame.columns == ["at", "id", "user", "gone", "n"]
    rows = frame.where("id > 0").select("id", "user.login", "n").orderBy("id").collect()
    assert [tuple(row) for row in rows] == [(1, "ann", 7), (2, None, 7), (3, None, 8)]
    old = load(spark, lake, at="3")
    assert old.columns == ["at", "id", "user", "gone"]
    assert old.count() == 2
    with pytest.raises(Exception, match="since and until do not go"):
        load(spark, lake, since="2026-01-01", timeField="at").count()
    with pytest.raises(Exception, match="no column nope"):
        load(spark, lake, fields="nope").count()
