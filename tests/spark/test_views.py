"""Views of sdb in Spark: the rows of their query, computed where they are loaded."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import sdb
from sdb.spark.read import computed

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.spark


@pytest.fixture(autouse=True)
def registered(spark: SparkSession) -> None:
    from sdb.spark import register

    register(spark)


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    db = sdb.connect(str(tmp_path))
    db.execute("CREATE TABLE web.t")
    db.append("web.t", [{"id": n, "kind": "ab"[n % 2], "user": {"n": n}} for n in range(10)])
    db.execute("CREATE VIEW web.v AS SELECT kind, id FROM web.t")
    return tmp_path


def load(spark: SparkSession, lake: Path, name: str, **options: str) -> DataFrame:
    return spark.read.format("zion").options(root=str(lake), **options).load(name)


def test_a_view_has_the_rows_of_its_query(spark: SparkSession, lake: Path) -> None:
    db = sdb.connect(str(lake))
    db.execute(
        "CREATE OR REPLACE VIEW web.v AS SELECT kind, COUNT(*) AS n FROM web.t GROUP BY kind"
    )
    frame = load(spark, lake, "web.v")
    assert frame.dtypes == [("kind", "string"), ("n", "bigint")]
    db.append("web.t", [{"id": 10, "kind": "a"}])
    assert sorted(map(tuple, frame.collect())) == [("a", 5), ("b", 5)]
    assert sorted(map(tuple, load(spark, lake, "web.v").collect())) == [("a", 6), ("b", 5)]
    assert load(spark, lake, "web.v", fields="n").columns == ["n"]
    assert load(spark, lake, "web.v").where("kind = 'a'").count() == 1


def test_a_version_of_a_view_is_that_of_its_time(spark: SparkSession, lake: Path) -> None:
    db = sdb.connect(str(lake))
    db.append("web.t", [{"id": 10, "kind": "c"}])
    db.execute("CREATE OR REPLACE VIEW web.v AS SELECT id FROM web.t")
    assert load(spark, lake, "web.v").count() == 11
    first = load(spark, lake, "web.v@1")
    assert set(first.columns) == {"kind", "id"}
    assert first.count() == 10


def test_nobody_writes_to_a_view(spark: SparkSession, lake: Path) -> None:
    rows = spark.createDataFrame([(1,)], ["id"])
    writer = rows.write.format("zion").mode("append").option("root", str(lake))
    with pytest.raises(Exception, match=r"web\.v is a view"):
        writer.save("web.v")
    stream = spark.readStream.format("zion").option("root", str(lake)).load("web.v")
    query = stream.writeStream.format("noop").start()
    with pytest.raises(Exception, match=r"web\.v is a view"):
        query.processAllAvailable()


def test_large_views_are_refused(lake: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from sdb.errors import UnsupportedError
    from sdb.spark.options.namedtable import NamedTable

    monkeypatch.setattr(computed, "MOST_BYTES", 10)
    named = NamedTable.of({"root": str(lake), "path": "web.v"})
    assert named is not None
    with pytest.raises(UnsupportedError, match="may go from the driver") as caught:
        computed.view_rows(named)
    assert caught.value.hint
    assert "CREATE TABLE" in caught.value.hint
