"""A first user's notebook: from a sample file to tables, frames and questions, as cells."""

from __future__ import annotations

import asyncio
import datetime as dt
import time
import warnings
from typing import TYPE_CHECKING

import duckdb
import polars as pl
import pyarrow.parquet as pq
import pytest

import sdb
from sdb.errors import InputError, NotFoundError, SdbWarning
from tests.examples import ROOT

if TYPE_CHECKING:
    from pathlib import Path

GITHUB = ROOT / "testdata/gh2015_1k.json.gz"
TRAIL = ROOT / "testdata/cloudtrail_sneller.json.gz"


@pytest.fixture
def db(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> sdb.Connection:
    monkeypatch.chdir(tmp_path)
    db = sdb.connect("lake")
    db.create("web.gha", "in/*.json.gz")
    db.append("web.gha", GITHUB)
    return db


def test_look_around(db: sdb.Connection) -> None:
    events = db.table("web.gha")
    assert len(events) == 1000
    assert "created_at" in [field.name for field in events.fields]
    assert events.head(1)[0]["type"] == "PushEvent"
    assert "<table>" in events._repr_html_()
    assert events._repr_html_().count("<tr>") == 12  # a head and eleven rows
    with db.sql("SELECT * FROM web.gha LIMIT 3") as first:
        assert "<table>" in first._repr_html_()


def test_from_sql_to_a_frame_and_back(db: sdb.Connection) -> None:
    query = "SELECT type, COUNT(*) AS n FROM web.gha GROUP BY type ORDER BY n DESC, type"
    with db.sql(query) as result:
        counts = result.to_polars()
    assert counts.row(0) == ("PushEvent", 596)
    db.create("web.counts", "in/*.json")
    assert db.append("web.counts", counts).packed.rows == len(counts)
    with db.sql("SELECT SUM(n) AS n FROM web.counts") as result:
        assert result.head() == [{"n": 1000}]
    wanted = ["PushEvent", "ForkEvent"]
    with db.sql(
        "SELECT COUNT(*) AS n FROM web.gha WHERE type IN ($wanted)", params={"wanted": wanted}
    ) as result:
        assert result.head() == [{"n": 596 + 25}]


def test_pandas_there_and_back(db: sdb.Connection) -> None:
    pd = pytest.importorskip("pandas")
    frame = db.table("web.gha").to_pandas(fields=["id", "type", "created_at"])
    assert len(frame) == 1000
    assert str(frame.created_at.dtype).endswith("UTC]")
    frame["hour"] = frame.created_at.dt.hour
    pushes = frame[frame.type == "PushEvent"]
    db.create("web.pushes", "in/*.json")
    assert db.append("web.pushes", pushes).packed.rows == 596
    again = db.table("web.pushes").to_pandas()
    pd.testing.assert_frame_equal(again, pushes.reset_index(drop=True), check_dtype=False)


def test_lazy_frames_and_duckdb_agree(db: sdb.Connection) -> None:
    events = db.table("web.gha")
    late = dt.datetime(2015, 1, 1, 1, 5, tzinfo=dt.UTC)
    condition = (pl.col("created_at") >= late) & (pl.col("type") == "PushEvent")
    by_polars = events.lazy().filter(condition).select(pl.len()).collect().item()
    connection = duckdb.connect()
    registered = sdb.register(connection, "events", events)
    (by_duckdb,) = connection.sql(
        f"SELECT count(*) FROM events WHERE created_at >= TIMESTAMPTZ '{late}' "
        "AND type = 'PushEvent'"
    ).fetchall()[0]
    connection.close()
    registered.close()
    with db.sql(
        "SELECT COUNT(*) AS n FROM web.gha WHERE created_at >= $late AND type = 'PushEvent'",
        params={"late": late},
    ) as result:
        assert result.head() == [{"n": by_polars}] == [{"n": by_duckdb}]
    assert by_polars > 0


def test_a_parquet_export_and_its_return(db: sdb.Connection, tmp_path: Path) -> None:
    events = db.table("web.gha").to_arrow(fields=["id", "type", "created_at", "public"])
    pq.write_table(events, tmp_path / "events.parquet")
    db.create("web.copy", "in/*.json")
    db.append("web.copy", pq.ParquetFile(tmp_path / "events.parquet").iter_batches(100))
    assert db.table("web.copy").to_arrow().equals(events)


def test_mixed_data_stays_what_it_is(db: sdb.Connection) -> None:
    """Fields with values of several types go from table to table without a loss."""
    db.create("aws.trail", "in/*.json")
    db.append("aws.trail", TRAIL)
    db.create("aws.copy", "in/*.json")
    trail = db.table("aws.trail")
    db.append("aws.copy", trail)
    assert list(db.table("aws.copy")) == list(trail)
    assert trail.to_polars().height == 1000


def test_an_application_that_logs(db: sdb.Connection) -> None:
    db.create("app.log", "in/*.json")
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        db.append("app.log", [{"at": dt.datetime(2026, 11, 1, 9), "level": "info"}])  # noqa: DTZ001
    log = db.table("app.log")
    assert [(warning.category, warning.filename) for warning in heard] == [(SdbWarning, __file__)]
    with pytest.raises(InputError, match=r"row 1: field detail\.error: values of the type"):
        log.append([{"level": "info"}, {"level": "error", "detail": {"error": ValueError("x")}}])
    assert len(log) == 1

    async def serve() -> float:
        began = time.monotonic()
        rows = [{"at": dt.datetime.now(dt.UTC), "request": number} for number in range(200)]
        await asyncio.gather(*[log.aappend([row]) for row in rows])
        return time.monotonic() - began

    assert asyncio.run(serve()) < 30
    assert len(db.table("app.log")) == 201
    assert len(list(db.table("app.log").log())) < 100  # requests shared commits


def test_undo(db: sdb.Connection) -> None:
    events = db.table("web.gha")
    events.delete("type = 'PushEvent'")
    assert (len(events), len(events.at(1)), len(events.at(-1))) == (404, 1000, 1000)
    events.restore(1)
    assert len(events) == 1000


def test_a_table_without_rows_says_how_they_come(db: sdb.Connection) -> None:
    db.create("web.new", "in/*.json")
    with pytest.raises(NotFoundError, match="no rows yet") as raised:
        db.table("web.new")
    assert raised.value.hint == "append('web.new', rows) of the connection inserts the first ones"
    db.append("web.new", [{"n": 1}])
    assert len(db.table("web.new")) == 1
    db.execute("DROP TABLE web.new")
    with pytest.raises(NotFoundError, match="dropped"):
        len(db.table("web.new"))
