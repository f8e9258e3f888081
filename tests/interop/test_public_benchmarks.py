"""Queries of public benchmarks in their public form: answers are DuckDB's over the same rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import duckdb
import pytest

import sdb
from sdb.errors import QueryError
from tests.interop.public import clickbench, comparing, jsonbench, tpch

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_HITS = 20_000
_EVENTS = 20_000


@pytest.fixture(scope="module")
def engine() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'UTC'")
        yield connection


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("public")


@pytest.fixture(scope="module")
def hits(engine: duckdb.DuckDBPyConnection, folder: Path) -> None:
    comparing.write(engine, "hits", clickbench.table(_HITS), folder)


@pytest.fixture(scope="module")
def business(engine: duckdb.DuckDBPyConnection, folder: Path) -> None:
    for name, rows in tpch.tables(0.01).items():
        comparing.write(engine, name, rows, folder)


@pytest.fixture(scope="module")
def bluesky(engine: duckdb.DuckDBPyConnection, folder: Path) -> None:
    text = folder / "bluesky.json"
    text.write_text("\n".join(jsonbench.lines(_EVENTS)))
    engine.execute(f"CREATE TABLE bluesky AS SELECT * FROM read_json('{text}')")
    sdb.pack([text], folder / "bluesky.zion", block_bytes=1 << 18)


@pytest.mark.usefixtures("hits")
@pytest.mark.parametrize("number", range(43))
def test_clickbench(engine: duckdb.DuckDBPyConnection, folder: Path, number: int) -> None:
    query = clickbench.queries(_HITS)[number]
    assert comparing.differences(engine, query, folder) is None
    assert engine.sql(query).fetchall(), "a query without rows shows nothing"


@pytest.mark.usefixtures("business")
@pytest.mark.parametrize("number", range(1, 23))
def test_tpch(engine: duckdb.DuckDBPyConnection, folder: Path, number: int) -> None:
    query = tpch.queries()[number - 1]
    assert comparing.differences(engine, query, folder) is None
    assert engine.sql(query).fetchall(), "a query without rows shows nothing"


@pytest.mark.usefixtures("bluesky")
@pytest.mark.parametrize("number", range(1, 6))
def test_jsonbench(engine: duckdb.DuckDBPyConnection, folder: Path, number: int) -> None:
    query = jsonbench.queries()[number - 1]
    assert comparing.differences(engine, query, folder) is None


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_tpch_at_a_tenth(tmp_path: Path) -> None:
    with duckdb.connect() as engine:
        for name, rows in tpch.tables(0.1, seed=2).items():
            comparing.write(engine, name, rows, tmp_path)
        wrong = {
            number: difference
            for number, query in enumerate(tpch.queries(), 1)
            if (difference := comparing.differences(engine, query, tmp_path)) is not None
        }
    assert not wrong


@pytest.mark.usefixtures("hits")
def test_wrong_answers_would_be_seen(engine: duckdb.DuckDBPyConnection, folder: Path) -> None:
    query = "SELECT URL, COUNT(*) AS c FROM hits GROUP BY URL ORDER BY c DESC LIMIT 10"
    for standard in (
        query.replace("DESC", "ASC"),
        query.replace("COUNT(*)", "COUNT(*) + 1"),
        query.replace("LIMIT 10", "LIMIT 9"),
        query.replace("LIMIT 10", "LIMIT 10 OFFSET 3"),
    ):
        assert comparing.differences(engine, query, folder, standard=standard) is not None
    ties = "SELECT RegionID FROM hits ORDER BY IsLink LIMIT 5"
    assert comparing.differences(engine, ties, folder) is None
    assert comparing.differences(engine, ties, folder, standard=ties + " OFFSET 19999")


@pytest.mark.parametrize(
    ("query", "rows"),
    [
        ("SELECT * FROM (SELECT 1, 2) AS q (a, b)", [{"a": 1, "b": 2}]),
        ("SELECT * FROM (SELECT 1 AS x, 2 AS y) q(a)", [{"a": 1, "y": 2}]),
        ("WITH q (a, b) AS (SELECT 1, 2) SELECT b, a FROM q", [{"b": 2, "a": 1}]),
        ("WITH q (a) AS (SELECT 1 AS b UNION ALL SELECT 2 AS b) SELECT SUM(a) AS s FROM q",
         [{"s": 3}]),
        # ORDER BY of the query inside means what it meant without the names.
        (("SELECT q.y FROM (SELECT x FROM (VALUES (1, 4), (2, 3)) AS v(x, y) ORDER BY y LIMIT 1)\n"
         "AS q (y)"), [{"y": 2}]),
        (("SELECT substring('abcdef' from 2 for 3) AS a, substring('abcdef' from 4) AS b,\n"
         "SUBSTRING('abcdef' FOR 2) AS c, SUBSTR('abcdef', 2, 1) AS d"),
         [{"a": "bcd", "b": "def", "c": "ab", "d": "b"}]),
        ("SELECT 0.06 + 0.01 AS a, 0.1 * 3 AS b, 1.1 - 1 AS c, 0.1 + 0.2 = 0.3 AS d",
         [{"a": 0.07, "b": 0.3, "c": 0.1, "d": True}]),
        ("WITH q (a) AS (SELECT * FROM (SELECT 1 AS x) AS r) SELECT a FROM q", [{"a": 1}]),
    ],
)  # fmt: skip
def test_forms_of_standard_sql(query: str, rows: list[dict[str, object]]) -> None:
    with sdb.sql(query) as result:
        assert [dict(row) for row in result] == rows


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("SELECT * FROM (SELECT 1 AS x) AS q (a, b)", "has 1 columns, 2 have a name"),
        ("SELECT * FROM (SELECT 1 AS x, 2 AS y) AS q (a, a)", "two columns are named a"),
        ("WITH q (a, b) AS (SELECT 1 AS x, 2 AS x) SELECT a FROM q", "the same name"),
        ("SELECT substring('abc' from 1 for) AS x", "expected"),
    ],
)
def test_names_that_fit_nothing(query: str, words: str) -> None:
    with pytest.raises(QueryError, match=words):
        sdb.sql(query).close()
