"""Queries on Delta and Iceberg tables that read fields and rows alone which they need."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable, QueryBuilder

import sdb
from sdb import notes
from sdb.errors import InputError
from sdb.query.catalog import lakeparts
from tests.lake.bothways import answer, ask_both_ways, reading
from tests.lake.made import commit, delete_by_vector, write

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.cli.conftest import Run

pytestmark = pytest.mark.filterwarnings("ignore:column far. times outside:sdb.errors.SdbWarning")

MOMENT = datetime(2026, 11, 27, 1, 2, 3, 4567, tzinfo=UTC)


@pytest.fixture
def said() -> list[str]:
    texts: list[str] = []
    notes.listen(texts.append, details=False)
    return texts


@pytest.fixture
def parts() -> Iterator[None]:
    with reading("parts"):
        yield


def mixed(start: int, count: int) -> pa.Table:
    """Return rows with values of many types, some of them missing."""
    numbers = range(start, start + count)
    days = [date(2026, 11, 1) + timedelta(n % 3) for n in numbers]
    return pa.table(
        {
            "n": pa.array(numbers, pa.int64()),
            "day": days,
            "small": pa.array([None if n % 4 == 1 else n % 5 for n in numbers], pa.int8()),
            "rare": pa.array([n if n % 20 == 13 else None for n in numbers], pa.int64()),
            "text": [None if n % 7 == 3 else f"t{n % 6}" for n in numbers],
            "code": [str(n % 4) for n in numbers],
            "at": pa.array(
                [MOMENT + timedelta(hours=n) for n in numbers], pa.timestamp("us", "UTC")
            ),
            # The year 20000 is text in rows.
            "far": pa.array(
                [(1 + 568_972 * (n % 4 == 3)) * 10**12 for n in numbers], pa.timestamp("us", "UTC")
            ),
            "share": [n / 4 if n % 3 else None for n in numbers],
            "price": pa.array([Decimal(n * 25) / 100 for n in numbers], pa.decimal128(10, 2)),
            "who": [
                None
                if n % 5 == 2
                else {"name": f"u{n % 3}", "at": {"ip": (n % 2 and f"1.1.1.{n}") or None}}
                for n in numbers
            ],
            "tags": [[{"k": f"k{n % 2}", "v": n}] if n % 3 else [] for n in numbers],
            "map": pa.array([[("k", n)] for n in numbers], pa.map_(pa.string(), pa.int64())),
        }
    )


def made(path: Path, **options: Any) -> Path:
    """Make a table of several files, with deleted rows and a column that older files lack."""
    write(path, mixed(0, 30), **options)
    write(path, mixed(30, 30).append_column("late", [list(range(30))]), schema_mode="merge")
    delete_by_vector(path, 2, "u", [0, 2])
    return path


@pytest.mark.parametrize("partitions", [None, ["day"], ["small"]])
def test_answers_are_those_of_whole_rows(tmp_path: Path, partitions: list[str] | None) -> None:
    path = made(tmp_path / "t", partition_by=partitions)
    count, parts = ask_both_ways(f"'delta:{path}'", most=75)
    assert count > 60
    assert parts > count * 2 // 3


@pytest.mark.usefixtures("parts")
@pytest.mark.parametrize("partitions", [None, ["day"]])
def test_answers_are_those_of_another_reader(tmp_path: Path, partitions: list[str] | None) -> None:
    path = made(tmp_path / "t", partition_by=partitions)
    rows = pa.table(QueryBuilder().register("t", DeltaTable(path)).execute("SELECT * FROM t"))
    numbers = sorted(rows["n"].to_pylist())
    assert len(numbers) == 58
    assert answer(f"SELECT COUNT(*) AS c FROM 'delta:{path}'")[0]["rows"] == ["{'c': 58}"]
    outcome, _ = answer(f"SELECT n FROM 'delta:{path}' ORDER BY n")
    assert outcome["rows"] == [repr({"n": number}) for number in numbers]
    for number in (*({*range(60)} - {*numbers}), 1, 31):
        for what in ("n", "*"):
            outcome, _ = answer(f"SELECT {what} FROM 'delta:{path}' WHERE n = {number}")
            assert len(outcome["rows"]) == (number in numbers), number


@pytest.mark.parametrize(
    "query",
    [
        # No row that passes has the field, or a value in it.
        "SELECT late FROM {} WHERE n = 3",
        "SELECT * FROM {} WHERE n = 5 AND late = '7'",
        "SELECT n FROM {} WHERE n BETWEEN 3 AND 4 AND who.name = '7' AND late = 'x'",
        "SELECT * FROM {} WHERE n = 5 AND rare = 'x'",
        "SELECT * FROM {} WHERE n = 5 AND (rare = '13' OR rare IS NULL)",
        # Times that are texts in rows are compared as such.
        "SELECT * FROM {} WHERE far < '1960-01-01'",
        "SELECT n, far FROM {} WHERE far < '1960-01-01'",
        "SELECT n FROM {} WHERE far > '2026-01-01'",
        "SELECT n FROM {} WHERE at < '1960-01-01'",
        "SELECT t.late FROM {} t, t.tags AS tag WHERE tag.k = 'k1'",
        "WITH q AS (SELECT who.name, n FROM {}) SELECT name, MAX(n) AS m FROM q GROUP BY name",
        "SELECT who.nam FROM {}",
        "SELECT n::TEXT AS s FROM {} WHERE n::TEXT = '7'",
        "SELECT n FROM {} WHERE n = 7 LIMIT 1 OFFSET 0",
        "SELECT * FROM {} WHERE n = 1000",
        "SELECT text FROM {} WHERE small = NULL OR text = 't1' ORDER BY n",
    ],
)
def test_parts_say_what_the_whole_says(tmp_path: Path, query: str) -> None:
    path = made(tmp_path / "t")
    asked = query.format(f"'delta:{path}'")
    with reading("whole"):
        whole, _ = answer(asked)
    with reading("parts"):
        assert answer(asked)[0] == whole


def data_files(path: Path, day: str) -> list[Path]:
    return sorted(path.glob(f"day={day}/*.parquet"))


@pytest.mark.usefixtures("parts")
def test_files_of_other_partitions_are_not_read(tmp_path: Path) -> None:
    path = tmp_path / "t"
    write(path, mixed(0, 30), partition_by=["day"])
    query = f"SELECT COUNT(*) AS c, MAX(n) AS m FROM 'delta:{path}' WHERE day = '2026-11-02'"
    outcome, _ = answer(query)
    assert outcome["rows"] == ["{'c': 10, 'm': 28}"]
    for file in data_files(path, "2026-11-03"):
        file.unlink()
    assert answer(query)[0] == outcome
    rows, _ = answer(f"SELECT * FROM 'delta:{path}' WHERE day = TIMESTAMP '2026-11-02T00:00:00Z'")
    assert len(rows["rows"]) == 10
    assert "no such file" in answer(query.replace("11-02", "11-03"))[0]["error"][1]


def grouped(path: Path, rows: pa.Table, **options: Any) -> Path:
    """Make a table of one file with several row groups; gives the file."""
    write(path, rows.slice(0, 1))
    (first,) = DeltaTable(str(path)).file_uris()
    file = path / "groups.parquet"
    pq.write_table(rows, file, row_group_size=10, **options)
    add = {"path": file.name, "partitionValues": {}, "size": file.stat().st_size}
    add |= {"modificationTime": 1, "dataChange": True, "stats": json.dumps({"numRecords": 30})}
    remove = {"path": first.rpartition("/")[2], "deletionTimestamp": 1, "dataChange": True}
    commit(path, 1, [{"commitInfo": {"operation": "x"}}, {"remove": remove}, {"add": add}])
    return file


def damage(file: Path, group: int, column: str) -> None:
    """Overwrite the pages of a column in a row group, or in all."""
    metadata = pq.read_metadata(file)
    data = bytearray(file.read_bytes())
    for number in range(metadata.num_row_groups) if group < 0 else [group]:
        chunks = metadata.row_group(number)
        for chunk in map(chunks.column, range(chunks.num_columns)):
            if chunk.path_in_schema.startswith(column):
                start = chunk.dictionary_page_offset or chunk.data_page_offset
                length = chunk.total_compressed_size
                data[start : start + length] = b"\xff" * length
    file.write_bytes(data)


@pytest.mark.usefixtures("parts")
@pytest.mark.parametrize(
    "condition",
    [
        "n = 14",
        "n >= 10 AND n < 20",
        "at BETWEEN '2026-11-27T12:00:00Z' AND '2026-11-27T13:30:00Z'",
        "t.n IN (11, 12)",
    ],
)
def test_row_groups_whose_values_are_others_are_not_read(tmp_path: Path, condition: str) -> None:
    file = grouped(tmp_path / "t", mixed(0, 30))
    source = f"FROM 'delta:{tmp_path}/t' AS t WHERE {condition}"
    queries = [f"SELECT t.who.name, t.share {source}", f"SELECT * {source}"]
    before = [answer(query)[0] for query in queries]
    damage(file, 2, "share")
    assert [answer(query)[0] for query in queries] == before
    assert "rows" in before[0]
    damage(file, 1, "share")
    assert [answer(query)[0]["error"][0] for query in queries] == ["InputError"] * 2


@pytest.mark.usefixtures("parts")
def test_what_is_not_needed_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "t"
    file = grouped(path, mixed(0, 30))
    for column in ("price", "who.at", "tags", "map"):
        damage(file, -1, column)
    source = f"'delta:{path}'"
    with sdb.sql(f"SELECT who.name, COUNT(*) AS c FROM {source} GROUP BY 1 ORDER BY 1") as result:
        assert [row["c"] for row in result] == [8, 8, 8, 6]
    with pytest.raises(InputError, match="groups"):
        list(sdb.sql(f"SELECT who.at.ip FROM {source}"))
    for column in mixed(0, 1).column_names:
        damage(file, -1, column)
    assert answer(f"SELECT COUNT(*) AS c FROM {source}")[0]["rows"] == ["{'c': 30}"]


def test_rows_are_tested_before_the_rest_of_them_is_read(tmp_path: Path) -> None:
    """The values of a row group may say nothing, and no row of it pass all the same."""
    rows = mixed(0, 30)
    shuffled = rows.take([n * 7 % 30 for n in range(30)])
    file = grouped(tmp_path / "t", shuffled)
    query = f"SELECT * FROM 'delta:{tmp_path}/t' WHERE n = {shuffled['n'][15]}"
    with reading("whole"):
        whole, _ = answer(query)
    damage(file, 2, "price")
    with reading("parts"):
        assert answer(query)[0] == whole


def test_parts_are_kept_until_the_whole_is_there(
    tmp_path: Path, said: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SDB_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(lakeparts, "SMALL_BYTES", 0)
    path = made(tmp_path / "t")

    def asked(what: str) -> list[str]:
        said.clear()
        query = what.replace("FROM T", f"FROM 'delta:{path}'")
        list(sdb.sql(f"SELECT {query}"))
        return [line.partition(f"delta:{path}")[0] for line in said]

    assert asked("n FROM T") == ["packed n of "]
    assert asked("MAX(n) FROM T WHERE n > 7") == []
    assert asked("COUNT(*) FROM T") == ["packed the number of rows of "]
    assert asked("* FROM T WHERE n = 7") == ["packed rows of "]
    assert asked("* FROM T") == ["packed "]
    for what in ("n FROM T", "text FROM T", "* FROM T WHERE n = 8", "COUNT(*) FROM T"):
        assert asked(what) == []


def test_small_versions_are_packed_as_a_whole(run: Run, tmp_path: Path) -> None:
    made(tmp_path / "t")
    done = run("query", "SELECT n FROM 'delta:t' LIMIT 1")
    assert b"sdb: packed delta:t@2 (" in done.stderr
