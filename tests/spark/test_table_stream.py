from __future__ import annotations

import json
import random
from typing import TYPE_CHECKING, Any

import pytest

pytest.importorskip("pyspark")
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadMaxRows
from pyspark.sql.types import LongType, StructField, StructType

import sdb
from sdb.errors import ConflictError, NotFoundError, SdbError, UnsupportedError
from sdb.records import replace
from sdb.spark.options.namedtable import LoadedTable
from sdb.spark.options.settings import read_options
from sdb.spark.read.reader import ZionReader
from sdb.spark.read.schema import schema_of
from sdb.spark.read.tablelisting import described
from sdb.spark.stream.versionstream import TableStreamReader
from tests.table.roots import LOCAL, unpacked

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

NAME = "web.ids"
SCHEMA = StructType([StructField("id", LongType())])


class Follower:
    """A stream, run as Spark does it: offsets are texts, and each batch may be run again."""

    def __init__(self, root: Path, **options: str) -> None:
        argument = {"path": NAME, "root": str(root), **options}
        self.options = read_options(argument)
        self.text = json.dumps(self.reader().initialOffset())
        self.ids: list[int] = []

    def reader(self) -> TableStreamReader:
        assert self.options.table is not None
        return TableStreamReader(SCHEMA, self.options, self.options.table)

    def batch(self, reader: TableStreamReader, most: int | None = None) -> list[int]:
        """Read one batch."""
        limit = ReadAllAvailable() if most is None else ReadMaxRows(most)
        start = json.loads(self.text)
        end = json.dumps(reader.latestOffset(start, limit))
        actual = rows(reader, start, json.loads(end))
        assert actual == rows(self.reader(), start, json.loads(end))
        self.text = end
        self.ids += actual
        return actual

    def catch_up(self, most: int | None = None) -> list[int]:
        """Read until there is nothing new."""
        reader, actual, before = self.reader(), list[int](), ""
        while self.text != before:
            before = self.text
            actual += self.batch(reader, most)
        return sorted(actual)


def rows(reader: TableStreamReader, start: dict[str, Any], end: dict[str, Any]) -> list[int]:
    results = []
    for partition in reader.partitions(start, end):
        for batch in reader.read(partition):
            results += batch.column("id").to_pylist()
    return results


@pytest.fixture
def db(tmp_path: Path) -> Any:
    connection = sdb.connect(tmp_path)
    connection.execute(f"CREATE TABLE {NAME}")
    return connection


def add(db: Any, first: int, last: int) -> None:
    db.append(NAME, [{"id": number} for number in range(first, last)])


@pytest.mark.parametrize("seed", range(8))
def test_each_row_arrives_once(db: Any, tmp_path: Path, seed: int) -> None:
    dice = random.Random(seed)
    follower, total = Follower(tmp_path), 0
    for _ in range(40):
        match dice.randrange(6):
            case 0 | 1 | 2:
                step = dice.choice([1, 1, 5, 40])
                add(db, total, total + step)
                total += step
            case 3:
                db.table(NAME).compact()
            case 4:
                follower.batch(follower.reader(), dice.choice([None, 1, 7, 30]))
            case _:
                db.execute(f"DELETE FROM {NAME} WHERE id < 0")
    follower.catch_up(dice.choice([None, 10]))
    assert sorted(follower.ids) == list(range(total))
    assert Follower(tmp_path).catch_up(3) == list(range(total))


def test_compaction_adds_no_row(db: Any, tmp_path: Path) -> None:
    follower = Follower(tmp_path)
    for number in range(9):
        add(db, number * 10, number * 10 + 10)
    assert follower.catch_up(25) == list(range(90))
    assert db.table(NAME).compact().version is not None
    add(db, 90, 93)
    assert follower.catch_up() == [90, 91, 92]


@pytest.mark.parametrize(
    "change", ["DELETE FROM {} WHERE id = 3", "UPDATE {} SET id = 99 WHERE id = 3", "TRUNCATE {}"]
)
def test_changed_rows_are_told_or_passed_over(db: Any, tmp_path: Path, change: str) -> None:
    add(db, 0, 10)
    strict, skipping = Follower(tmp_path), Follower(tmp_path, skipChangeCommits="true")
    for follower in (strict, skipping):
        assert follower.catch_up() == list(range(10))
    add(db, 10, 12)
    db.execute(change.format(f"TABLE {NAME}" if change.startswith("TR") else NAME))
    add(db, 12, 14)
    with pytest.raises(ConflictError, match=r"version 4 of web.ids \((delete|update|truncate)\)"):
        strict.catch_up()
    assert skipping.catch_up() == [10, 11, 12, 13]


def test_where_a_stream_begins(db: Any, tmp_path: Path) -> None:
    for number in range(3):
        add(db, number, number + 1)
    at = db.table(NAME).at(3).handle.state.at_us
    begins = {"3": [1, 2], "1": [0, 1, 2], "5": [], sdb.instants.text(at): [2]}
    for text, expected in begins.items():
        assert Follower(tmp_path, startingVersion=text).catch_up() == expected
    latest = Follower(tmp_path, startingVersion="latest")
    add(db, 3, 4)
    # The first batch, killed, is run again: its start is asked anew, and is not the same.
    reader = latest.reader()
    end = reader.latestOffset(json.loads(latest.text), ReadAllAvailable())
    add(db, 4, 5)
    again = latest.reader()
    assert rows(again, again.initialOffset(), end) == [3]
    with pytest.raises(SdbError, match="has no version 8"):
        Follower(tmp_path, startingVersion="9")


def test_what_a_stream_cannot_go_on_with(db: Any, tmp_path: Path) -> None:
    add(db, 0, 10)
    resumed, expired, replaced = (Follower(tmp_path) for _ in range(3))
    for follower in (resumed, expired, replaced):
        follower.catch_up()
    for number in range(1, 9):
        add(db, number * 10, number * 10 + 10)
    table = db.table(NAME)
    table.compact()
    table.expire(all_but_head=True)
    assert resumed.catch_up() == list(range(10, 90))  # what expired is there until it is collected
    for path in sorted((tmp_path / "db/web/ids/versions").iterdir())[:-1]:
        path.unlink()
    with pytest.raises(NotFoundError, match="up to version 2, and that, or one since, has expired"):
        expired.catch_up()
    (tmp_path / "db/web/ids/index").unlink()
    db.execute(f"CREATE TABLE {NAME}")
    with pytest.raises(ConflictError, match="was made anew"):
        replaced.catch_up()
    with pytest.raises(NotFoundError, match=r"there is no table web.idx"):
        TableStreamReader(SCHEMA, *named(tmp_path, "web.idx")).latestOffset(
            {"table": "", "version": [0, ""]}, ReadAllAvailable()
        )


def test_rows_that_another_program_overwrites_for_a_while_arrive_once(
    db: Any, tmp_path: Path
) -> None:
    add(db, 0, 10)
    add(db, 10, 20)
    follower = Follower(tmp_path)
    follower.catch_up()
    before = db.table(NAME).at(2).handle.index
    index = replace(before, created_us=before.created_us + 1)
    (tmp_path / "db/web/ids/index").write_bytes(index.encode(LOCAL))
    assert db.sql(f"SELECT COUNT(*) AS n FROM {NAME}").to_arrow()["n"].to_pylist() == [10]
    assert follower.catch_up() == []
    add(db, 20, 25)
    assert follower.catch_up() == list(range(20, 25))
    assert Follower(tmp_path).catch_up() == list(range(25))


@pytest.mark.parametrize("name", ["03-partitions-2", "07-indirect-3", "11-legacy-csv-1"])
@pytest.mark.usefixtures("vectors")
def test_tables_of_the_original_are_read_and_not_followed(tmp_path: Path, name: str) -> None:
    options, table = named(unpacked(name, tmp_path), "demo.t")
    loaded = LoadedTable.of(table)
    schema = schema_of(described(loaded.handle()), options)
    reader = ZionReader(schema, options, loaded)
    batches = [batch for part in reader.partitions() for batch in reader.read(part)]
    with sdb.connect(tmp_path).sql("SELECT * FROM demo.t") as result:
        expected = result.to_arrow()
    assert sum(batch.num_rows for batch in batches) == expected.num_rows
    assert schema.names == sorted(expected.column_names)
    with pytest.raises(UnsupportedError, match=r"no sdb has written to demo.t"):
        TableStreamReader(schema, options, table).latestOffset(
            {"table": "", "version": [0, ""]}, ReadAllAvailable()
        )


def named(root: Path, name: str) -> tuple[Any, Any]:
    options = read_options({"path": name, "root": str(root)})
    return options, options.table


@pytest.mark.spark
def test_spark_follows_a_table(spark: SparkSession, db: Any, tmp_path: Path) -> None:
    from sdb.spark import register

    register(spark)

    def run(**options: str) -> list[int]:
        reader = spark.readStream.format("zion").schema("id BIGINT").options(**options)
        writer = reader.option("root", str(tmp_path)).load(NAME).writeStream.format("parquet")
        writer = writer.option("path", str(tmp_path / "out"))
        writer = writer.option("checkpointLocation", str(tmp_path / "at"))
        query = writer.trigger(availableNow=True).start()
        query.awaitTermination()
        return [progress["numInputRows"] for progress in query.recentProgress]

    add(db, 0, 100)
    add(db, 100, 150)
    run(maxRowsPerTrigger="100")
    for number in range(150, 158):
        add(db, number, number + 1)
    db.table(NAME).compact()
    assert max(run(maxRowsPerTrigger="3")) <= 8
    assert sum(run()) == 0
    collected = spark.read.parquet(str(tmp_path / "out")).collect()
    assert sorted(row.id for row in collected) == list(range(158))
