"""PIVOT and UNPIVOT against DuckDB over the same rows, and TABLESAMPLE."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import duckdb
import pytest

import sdb
from sdb.errors import QueryError
from sdb.query.syntax import printer
from sdb.query.syntax.parser import parse

if TYPE_CHECKING:
    from pathlib import Path

SALES = [
    {"city": city, "year": 2020 + number % 3, "n": number, "paid": number % 2 == 0}
    for number, city in enumerate(["Oslo", "Rome", "Oslo", "Bern", "Rome", "Oslo", "Bern", "Oslo"])
]
MIXED: list[dict[str, Any]] = [
    {"k": "a", "v": 1, "w": "x"},
    {"k": "a", "v": 2},
    {"k": "b", "v": 3, "w": None},
    {"v": 4, "w": "x"},
    {"k": 5, "v": 5, "w": "x"},
]
ROWS = 2000
QUERIES = """
SELECT * FROM {sales} PIVOT (SUM(n) FOR year IN (2020, 2021))

SELECT * FROM (SELECT city, year, n FROM {sales}) AS q PIVOT (SUM(n) FOR year IN (2020, 2021, 2022))

SELECT * FROM {sales} PIVOT (COUNT(*) FOR year IN (2020, 2021) GROUP BY city)

SELECT * FROM {sales} PIVOT (SUM(n) AS total, MAX(n) AS most FOR year IN (2020, 2021)
GROUP BY city)

SELECT * FROM {sales} PIVOT (COUNT(*) FOR city IN ('Oslo' AS north, 'Rome') GROUP BY year) AS p
WHERE p.north > 0

SELECT city, "2020" FROM {sales} PIVOT (SUM(n) FOR year IN (2020) GROUP BY city)

WITH q AS (SELECT city, year, n FROM {sales}) SELECT * FROM q PIVOT (MIN(n) FOR year IN (2022))

SELECT a.city, b.name, b.value FROM {sales} AS a JOIN (SELECT * FROM (SELECT city, year, n FROM
{sales}) AS s UNPIVOT (value FOR name IN (year, n))) AS b ON a.city = b.city

SELECT * FROM (SELECT city, year, n FROM {sales}) AS q UNPIVOT (value FOR name IN (year, n))

SELECT city, SUM(value) AS total FROM (SELECT city, year, n FROM {sales}) AS q
UNPIVOT (value FOR name IN (year, n)) AS u WHERE u.name = 'n' GROUP BY city
""".strip().split("\n\n")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("pivots")
    numbers = [{"id": number} for number in range(ROWS)]
    for name, rows in ("sales", SALES), ("mixed", MIXED), ("numbers", numbers):
        (folder / f"{name}.json").write_text("".join(json.dumps(row) + "\n" for row in rows))
        sdb.pack([str(folder / f"{name}.json")], str(folder / f"{name}.zion"), block_bytes=4096)
    return folder


def rows_of(folder: Path, query: str) -> list[dict[str, Any]]:
    for name in ("sales", "mixed", "numbers"):
        query = query.replace(f"{{{name}}}", f"'{name}.zion'")
    with sdb.sql(query, root=str(folder)) as result:
        return [dict(row) for row in result]


@pytest.mark.parametrize("query", QUERIES)
def test_answers_are_those_of_duckdb(folder: Path, query: str) -> None:
    with duckdb.connect() as connection:
        path = str(folder / "sales.json")
        connection.execute("CREATE TABLE sales AS SELECT * FROM read_json(?)", [path])
        cursor = connection.execute(query.format(sales="sales"))
        names = [column[0] for column in cursor.description or ()]
        theirs = [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]
    ours = rows_of(folder, query)
    assert ours
    assert sorted(ours, key=repr) == sorted(theirs, key=repr)


@pytest.mark.parametrize(
    "query",
    [
        *QUERIES,
        "SELECT a FROM t TABLESAMPLE 2.5 PERCENT",
        "SELECT a FROM t AS x TABLESAMPLE 5 ROWS REPEATABLE (3) JOIN u ON x.a = u.a",
        "SELECT x FROM (SELECT 1 AS x) TABLESAMPLE 10 PERCENT AS q",
        "SELECT x FROM t PIVOT (COUNT(*) FOR a IN (-1, 2.5, TRUE AS yes, NULL)) AS p",
    ],
)
def test_what_is_written_is_read_again(query: str) -> None:
    statement = parse(query.format(sales="sales"))
    assert parse(printer.statement(statement)) == statement


def test_pivot_keeps_rows_without_a_key(folder: Path) -> None:
    """Its own keys are NULL where a row lacks them; those of GROUP BY leave such rows out."""
    of = "SET dialect = sneller; SELECT * FROM {mixed}"
    rows = rows_of(folder, f"{of} PIVOT (SUM(v) FOR k IN ('a', 'b', 5))")
    assert rows_in_order(rows) == [
        {"w": "x", "a": 1, "b": None, "5": 5},
        {"w": None, "a": 2, "b": 3, "5": None},
    ]
    query = f"{of} PIVOT (SUM(v) FOR k IN ('a') GROUP BY w)"
    assert rows_in_order(rows_of(folder, query)) == [{"w": "x", "a": 1}, {"w": None, "a": None}]


def rows_in_order(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return sorted(rows, key=repr)


def test_unpivot_leaves_out_what_has_no_value(folder: Path) -> None:
    query = "SELECT v, name, x FROM {mixed} UNPIVOT (x FOR name IN (k, w AS 'word'))"
    named = [
        {"v": row["v"], "name": {"k": "k", "w": "word"}[name], "x": row[name]}
        for row in MIXED
        for name in ("k", "w")
        if row.get(name) is not None
    ]
    assert rows_in_order(rows_of(folder, query)) == rows_in_order(named)
    query = query.replace("UNPIVOT (", "UNPIVOT INCLUDE NULLS (")
    assert len(rows_of(folder, query)) == 2 * len(MIXED)


def test_samples(folder: Path) -> None:
    """A seed gives the same rows again, whatever reads them; WHERE comes after the sample."""

    def ids(sample: str, where: str = "", threads: int = 1) -> set[int]:
        text = f"SELECT id FROM 'numbers.zion' {sample} {where}"
        with sdb.sql(text, root=str(folder), threads=threads) as result:
            return {row["id"] for row in result}

    tenth = ids("TABLESAMPLE 10 PERCENT REPEATABLE (1)")
    assert 120 < len(tenth) < 280
    assert tenth == ids("TABLESAMPLE BERNOULLI (10) REPEATABLE (1)", threads=4)
    assert tenth != ids("TABLESAMPLE 10% REPEATABLE (2)")
    low = {number for number in tenth if number < 300}
    assert low == ids("TABLESAMPLE 10 PERCENT REPEATABLE (1)", "WHERE id < 300")
    assert low == ids("", "WHERE id < 300 USING SAMPLE 10 PERCENT REPEATABLE (1)")
    some = ids("TABLESAMPLE 50 ROWS REPEATABLE (1)")
    assert len(some) == 50
    few = {number for number in some if number >= 1900}
    assert few == ids("TABLESAMPLE (50 ROWS) REPEATABLE (1)", "WHERE id >= 1900")
    assert 120 < len(ids("TABLESAMPLE SYSTEM (10 PERCENT)")) < 280
    assert len(ids("USING SAMPLE 50 ROWS")) == len(ids("TABLESAMPLE RESERVOIR (50 ROWS)")) == 50
    assert ids("TABLESAMPLE 0 PERCENT") == ids("TABLESAMPLE 0 ROWS") == set()
    assert ids("TABLESAMPLE 0 PERCENT REPEATABLE (4)") == set()
    every = set(range(ROWS))
    assert ids("TABLESAMPLE 100 PERCENT REPEATABLE (4)") == ids("USING SAMPLE 100%") == every
    assert ids("AS t TABLESAMPLE 9999 ROWS JOIN 'numbers.zion' AS u USING (id)") == every


def test_unnest_in_the_select_list_reads_only_blocks_that_may_matter(folder: Path) -> None:
    query = "SELECT id, UNNEST([id, -id]) AS x FROM 'numbers.zion' WHERE id >= 1990"
    with sdb.sql(query, root=str(folder)) as result:
        rows = [(row["id"], row["x"]) for row in result]
        read = result.blocks_read
    assert sorted(rows) == sorted((i, x) for i in range(1990, ROWS) for x in (i, -i))
    assert read == 1


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("SELECT * FROM {sales} PIVOT (n FOR year IN (1))", "PIVOT takes aggregates"),
        ("SELECT * FROM {sales} PIVOT (SUM(n) FOR year IN (n))", "PIVOT takes constants behind IN"),
        (
            "SELECT * FROM {sales} PIVOT (SUM(n) FOR year IN (SELECT 1))",
            "PIVOT takes values that are written out",
        ),
        (
            "SELECT * FROM {sales} PIVOT (SUM(n) FOR year IN (1, 1))",
            "two values have the same name",
        ),
        (
            "SELECT * FROM {sales} PIVOT (SUM(n) FOR year IN (1 AS city) GROUP BY city)",
            "two columns are named city",
        ),
        ("SELECT * FROM {sales} PIVOT (SUM(n) year IN (1))", "FOR is expected, not IN"),
        ("PIVOT {sales} ON year USING SUM(n)", "PIVOT stands behind a table"),
        ("SELECT * FROM {sales} UNPIVOT ((a, b) FOR c IN (d))", "makes one column of values"),
        ("SELECT * FROM {sales} UNPIVOT (v FOR k IN (nothing))", 'there is no column "nothing"'),
        ("SELECT * FROM {sales} TABLESAMPLE 101 PERCENT", "101 percent is not between 0 and 100"),
        ("SELECT * FROM {sales} TABLESAMPLE 10", "a sample has a number of PERCENT or ROWS"),
        ("SELECT * FROM {sales} TABLESAMPLE 1.5 ROWS", "1.5 is not a number of rows"),
        (
            "SELECT * FROM (SELECT 1 AS x) TABLESAMPLE 5 ROWS REPEATABLE (1)",
            "REPEATABLE takes a table",
        ),
        ("SELECT * FROM {sales} AS a, {sales} AS b USING SAMPLE 5 ROWS", "takes one table"),
    ],
)
def test_faults_are_said_in_words(folder: Path, query: str, message: str) -> None:
    with pytest.raises(QueryError) as caught:
        rows_of(folder, query)
    assert message in caught.value.message
