from __future__ import annotations

import io
import json
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

    register(spark, pushdown=True)


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


def ids(found: DataFrame) -> list[int]:
    return sorted(row.id for row in found.select("id").collect())


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
    from sdb.spark.planned import plan

    hidden = root / "hidden"
    (root / "db/web/gha/data").rename(hidden)
    given = "id BIGINT, created_at TIMESTAMP"
    reader = spark.read.format("zion").schema(given).option("root", str(root))
    times = {"since": at(310), "until": at(320), "timeField": "created_at"}
    chosen = reader.options(**times).load(NAME)
    (found,) = plan(chosen)
    assert (found.files, found.files_total, found.blocks) == (1, 3, 1)
    pushed = spark.read.format("zion").schema(given).options(root=str(root), pushdown="true")
    (narrow,) = plan(pushed.load(NAME).where(f"created_at < timestamp'{at(5)}'"))
    assert (narrow.files, narrow.blocks) == (1, 1)
    hidden.rename(root / "db/web/gha/data")
    assert ids(chosen) == list(range(310, 320))


def test_what_is_wrong_is_told(spark: SparkSession, root: Path) -> None:
    for name, told in {
        "web.ghi": "did you mean web.gha?",
        f"{NAME}@99": "has no version 99",
        "gha": "is not the name of a table",
    }.items():
        with pytest.raises(Exception, match="(?s)" + told.replace("?", r"\?")):
            load(spark, root, name).count()
    loaded = load(spark, root)
    (root / "db/web/gha/data").rename(root / "gone")
    with pytest.raises(Exception, match="is missing: the table leads to it"):
        loaded.count()
