from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import sdb
from sdb.errors import ConflictError
from sdb.spark.read.rowranges import RowRange, RowsRead, row_count
from tests.spark import events

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession


def test_rows_stay_where_they_are_however_a_file_grows(tmp_path: Path) -> None:
    path = events.make(tmp_path / "a.zion", 0, 300)
    total, offsets = 300, []
    for step in (1, 2, 40, 700, 1, 300, 0, 5):
        with sdb.open(path) as pack:
            assert row_count(pack) == total
            offsets.append(RowsRead.of(pack, total))
            for before in offsets:
                before.check(pack)
            for first, last in zip([None, *offsets], offsets, strict=False):
                rows = RowRange(str(path), first.rows if first else 0, last.rows, last)
                if rows.start == rows.stop:
                    continue
                parts = list(rows.split(pack, 1 << 16))
                assert parts[0].start == rows.start
                assert parts[-1].stop == rows.stop
                assert [part.start for part in parts[1:]] == [part.stop for part in parts[:-1]]
                for part in parts:
                    blocks, skipped = part.blocks(pack)
                    ids = [row["id"] for row in pack.rows(blocks=blocks, fields=["id"])]
                    count = part.stop - part.start
                    assert ids[skipped : skipped + count] == list(range(part.start, part.stop))
        if step:
            events.append(path, total, total + step)
            total += step


@pytest.mark.parametrize("count", [5, 300])
def test_a_file_in_the_place_of_another_is_noticed(tmp_path: Path, count: int) -> None:
    path = events.make(tmp_path / "a.zion", 0, count)
    with sdb.open(path) as pack:
        before = RowsRead.of(pack, count)
    events.make(path, 1, 1 + count)
    with sdb.open(path) as pack, pytest.raises(ConflictError, match="was replaced"):
        before.check(pack)
    events.make(path, 0, count - 1)
    with sdb.open(path) as pack, pytest.raises(ConflictError, match="was replaced"):
        before.check(pack)


class Stream:
    """A stream from a folder of packfiles to one of Parquet files, run until it has all rows."""

    def __init__(self, spark: SparkSession, folder: Path) -> None:
        self.spark = spark
        self.folder = folder
        self.source = folder / "in"
        self.source.mkdir()

    def run(self, **options: str) -> list[int]:
        """Read what is new; give the numbers of rows of the batches."""
        reader = self.spark.readStream.format("zion").options(**options).schema("id BIGINT")
        writer = reader.load(str(self.source)).writeStream.format("parquet")
        places = {"path": self.folder / "out", "checkpointLocation": self.folder / "at"}
        for name, path in places.items():
            writer = writer.option(name, str(path))
        query = writer.trigger(availableNow=True).start()
        query.awaitTermination()
        return [progress["numInputRows"] for progress in query.recentProgress]

    def ids(self) -> list[int]:
        """Return what has arrived."""
        rows = self.spark.read.parquet(str(self.folder / "out")).collect()
        return sorted(row.id for row in rows)


@pytest.fixture
def stream(spark: SparkSession, tmp_path: Path) -> Stream:
    """Return a stream without a packfile."""
    from sdb.spark import register

    register(spark)
    return Stream(spark, tmp_path)


@pytest.mark.spark
def test_each_row_arrives_once(stream: Stream) -> None:
    grown = events.make(stream.source / "a.zion", 0, 500)
    stream.run()
    events.append(grown, 500, 503)
    events.make(stream.source / "b.zion", 503, 600)
    stream.run()
    assert stream.ids() == list(range(600))
    events.append(grown, 600, 2000)
    assert max(stream.run(maxRowsPerTrigger="600")) == 600
    assert stream.ids() == list(range(2000))


@pytest.mark.spark
@pytest.mark.slow
def test_a_stream_refuses_a_file_that_was_replaced(stream: Stream) -> None:
    path = events.make(stream.source / "a.zion", 0, 10)
    stream.run()
    events.make(path, 5, 50)
    with pytest.raises(Exception, match="was replaced"):
        stream.run()
    assert stream.ids() == list(range(10))


@pytest.mark.spark
@pytest.mark.slow
def test_many_appends_while_a_stream_runs(stream: Stream) -> None:
    grown = events.make(stream.source / "a.zion", 0, 100)
    total = 100
    for step in (1, 1, 30, 1000, 7, 2500, 1):
        stream.run(maxRowsPerTrigger="900")
        events.append(grown, total, total + step)
        total += step
    stream.run()
    assert sum(stream.run()) == 0
    assert stream.ids() == list(range(total))
