"""Queries read packfiles where they are, and of S3 objects only what they need."""

from __future__ import annotations

import glob
import io
import json
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import sdb
from sdb.errors import NotFoundError
from sdb.query.catalog.catalog import Catalog
from sdb.query.catalog.dataset import QueryRequest, TableName

if TYPE_CHECKING:
    from tests.store.conftest import Backend, Requests, S3Backend

ROOT = Path(__file__).parents[2]
DAYS = 4


def fill(backend: Backend, folder: Path) -> None:
    """Pack a file for each day, with a few blocks for its hours."""
    for day in range(1, DAYS + 1):
        source = folder / f"{day}.json"
        with source.open("w") as file:
            for minute in range(0, 1440, 2):
                at = f"2021-01-{day:02}T{minute // 60:02}:{minute % 60:02}:00Z"
                file.write(json.dumps({"ts": at, "day": day, "noise": str(minute) * 40}) + "\n")
        sdb.pack(
            [source], backend.at(f"logs/day{day}.zion"), block_bytes=32 << 10, align_bytes=4096
        )


def test_an_object_is_found_by_a_name_with_characters_of_patterns(backend: Backend) -> None:
    for name in ("a[1].zion", "b?c.zion", "d*.zion"):
        sdb.pack([{"n": name}], backend.at(name))
        with sdb.open(backend.at(name)) as packfile:
            assert [row["n"] for row in packfile] == [name]
        with sdb.sql(f"SELECT n FROM '{backend.at(name)}'") as result:
            assert list(result) == [{"n": name}]
    sdb.pack([{"n": "matches"}], backend.at("a1.zion"))
    with pytest.raises(NotFoundError, match=r"no (object|file) matches"):
        sdb.open(backend.at("e*.zion"))


def test_patterns_and_roots(backend: Backend, tmp_path: Path) -> None:
    (tmp_path / "logs").mkdir(exist_ok=True)
    fill(backend, tmp_path)
    query = "SELECT COUNT(*) AS n, MAX(day) AS d FROM read_file('{}') WHERE day <> 2"
    table = Catalog(QueryRequest(root=backend.root))(
        (TableName("file", ("logs/day1.zion",), (0, 0)),), None
    )
    assert table.is_remote is ("://" in backend.root)
    for name in ("logs/*.zion", "**/day?.zion", f"{glob.escape(backend.root)}/logs/day[1-9].zion"):
        with sdb.sql(query.format(name), root=backend.root) as result:
            assert list(result) == [{"n": 720 * (DAYS - 1), "d": DAYS}], name
    with sdb.sql("SELECT COUNT(*) AS n FROM logs.day1", root=backend.root) as result:
        assert list(result) == [{"n": 720}]
    with sdb.sql('SELECT COUNT(*) AS n FROM TABLE_GLOB(logs."day*")', root=backend.root) as result:
        assert list(result) == [{"n": 720 * DAYS}]
    for name in ("logs/nosuch.zion", "logs/no*.zion"):
        with pytest.raises(sdb.errors.NotFoundError):
            sdb.sql(query.format(name), root=backend.root)


@pytest.mark.s3
def test_only_blocks_of_interest_are_fetched(
    bucket: S3Backend, tmp_path: Path, requests: Requests
) -> None:
    fill(bucket, tmp_path)
    hour = "ts >= `2021-01-03T10:00:00Z` AND ts < `2021-01-03T11:00:00Z`"
    query = f"SELECT day, noise FROM read_file('{bucket.at('logs/*.zion')}') WHERE {hour}"
    requests.clear()
    with sdb.sql(query) as result:
        assert [row["day"] for row in result] == [3] * 30
        reading = result.reading
    assert (reading.files, reading.all_files) == (1, DAYS)
    assert reading.blocks <= 2 < reading.all_blocks
    # One request lists, one opens each file and brings its end, one fetches each block.
    assert requests.count("GetObject", "HeadObject") <= DAYS + reading.blocks
    requests.clear()
    with sdb.sql(f"SELECT COUNT(*) AS n FROM read_file('{bucket.at('logs/*.zion')}')") as result:
        assert list(result) == [{"n": 720 * DAYS}]
    assert requests.count("GetObject", "HeadObject") <= DAYS


@pytest.mark.s3
def test_unpack_where_fetches_blocks_of_interest(
    bucket: S3Backend, tmp_path: Path, requests: Requests
) -> None:
    fill(bucket, tmp_path)
    out = io.BytesIO()
    requests.clear()
    hour = "ts >= `2021-01-03T10:00:00Z` AND ts < `2021-01-03T11:00:00Z`"
    sdb.unpack(bucket.at("logs/*.zion"), out, where=hour, fields=["day"])
    assert out.getvalue() == b'{"day": 3}\n' * 30
    assert requests.count("GetObject", "HeadObject") <= DAYS + 2


@pytest.mark.s3
def test_the_latest_rows_are_in_the_last_block(
    bucket: S3Backend, tmp_path: Path, requests: Requests
) -> None:
    fill(bucket, tmp_path)
    query = f"SELECT * FROM read_file('{bucket.at('logs/*.zion')}') ORDER BY {{}} DESC LIMIT 3"
    for key, most in (("ts", 1), ("noise DESC, day", 1000)):
        requests.clear()
        with sdb.sql(query.format(key)) as result:
            assert [row["day"] for row in result] == ([DAYS] * 3 if most == 1 else [4, 3, 2])
            reading = result.reading
        assert reading.blocks <= most
        # Nothing is fetched twice.
        assert requests.count("GetObject", "HeadObject") <= DAYS + reading.blocks


@pytest.mark.s3
def test_the_command_reads_and_writes_there(bucket: S3Backend, tmp_path: Path) -> None:
    fill(bucket, tmp_path)
    command = [sys.executable, "-m", "sdb.cli.main", "--root", bucket.root, "query"]
    query = "SELECT day, COUNT(*) AS n FROM read_file('logs/*.zion') GROUP BY day ORDER BY day"
    target = bucket.at("out.csv")
    subprocess.run([*command, "-o", target, query], cwd=ROOT, check=True, timeout=60)
    assert bucket.get("out.csv") == b"day,n\n1,720\n2,720\n3,720\n4,720\n"
