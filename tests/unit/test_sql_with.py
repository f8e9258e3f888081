"""WITH: in sub-queries, with names of columns, and recursive; against DuckDB over the same rows."""

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

EDGES = [{"a": a, "b": b} for a, b in ((1, 2), (2, 3), (2, 4), (4, 5), (5, 2), (7, 8))]
PEOPLE = [
    {"id": 1, "boss": None, "name": "Ada", "pay": 9},
    {"id": 2, "boss": 1, "name": "Bo", "pay": 7},
    {"id": 3, "boss": 1, "name": "Cy", "pay": 6},
    {"id": 4, "boss": 3, "name": "Di", "pay": 6},
]
QUERIES = """
SELECT * FROM (WITH q AS (SELECT id FROM {people} WHERE id < 3) SELECT * FROM q) AS x

SELECT id FROM {people} WHERE id IN (WITH q AS (SELECT boss FROM {people}) SELECT boss FROM q)

SELECT p.id FROM {people} AS p WHERE EXISTS (WITH q AS (SELECT u.id FROM {people} AS u WHERE
u.boss = p.id) SELECT 1 FROM q)

SELECT 0 AS id UNION ALL (WITH q AS (SELECT id FROM {people}) SELECT a.id FROM q AS a JOIN q AS
b ON a.id = b.id + 1)

(WITH q AS (SELECT id FROM {people}) SELECT id FROM q) EXCEPT SELECT 2 AS id

WITH q AS (SELECT 1 AS id) SELECT id FROM q UNION ALL (WITH q AS (SELECT 2 AS id) SELECT x.id
FROM q AS x, q AS y)

WITH q AS (WITH q AS (SELECT id FROM {people}) SELECT id + 10 AS id FROM q) SELECT * FROM q

SELECT * FROM (WITH a AS (SELECT id FROM {people}), b AS (SELECT a.id + c.id AS id FROM a, a AS
c) SELECT MAX(b.id) AS m, COUNT(d.id) AS n FROM b, b AS d) AS q

WITH q(x, y) AS (SELECT id, pay FROM {people}) SELECT x, y FROM q

WITH q(x) AS MATERIALIZED (VALUES (1), (2)), r(y) AS NOT MATERIALIZED (SELECT x FROM q) SELECT y
FROM r

WITH q(x) AS (SELECT id FROM {people} UNION ALL SELECT pay FROM {people}) SELECT x FROM q

WITH m AS (SELECT AVG(pay) AS x FROM {people}) SELECT id, pay - (SELECT x FROM m) AS d FROM
{people}

WITH RECURSIVE r AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM r WHERE n < 50) SELECT SUM(n) AS
s, COUNT(*) AS c FROM r

WITH RECURSIVE r(n) AS (VALUES (1) UNION SELECT (n * 2) % 11 FROM r) SELECT n FROM r

WITH RECURSIVE r AS (SELECT 1 AS x UNION SELECT e.b FROM {edges} AS e JOIN r ON e.a = r.x)
SELECT x FROM r

WITH RECURSIVE r AS (SELECT 1 AS x, 0 AS d, '1' AS way UNION ALL SELECT e.b, r.d + 1, r.way ||
'>' || CAST(e.b AS VARCHAR) FROM {edges} AS e JOIN r ON e.a = r.x WHERE r.d < 5) SELECT x, d,
way FROM r

WITH RECURSIVE r AS (SELECT p.id, 0 AS depth, p.name AS top FROM {people} AS p WHERE p.boss IS
NULL UNION ALL SELECT p.id, r.depth + 1, r.top FROM {people} AS p JOIN r ON p.boss = r.id)
SELECT q.id, q.depth, q.top FROM r AS q

WITH RECURSIVE a AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM a WHERE n < 4), b AS (SELECT n
FROM a UNION ALL SELECT n + 10 FROM b WHERE n < 20) SELECT n FROM b

SELECT id, (WITH RECURSIVE r AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM r WHERE n < 4) SELECT
SUM(n) FROM r) AS s FROM {people}

WITH RECURSIVE r AS (SELECT 1 AS n UNION ALL SELECT m FROM (WITH q AS (SELECT n + 1 AS m FROM r)
SELECT m FROM q) AS x WHERE m < 6) SELECT n FROM r

WITH RECURSIVE r AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM r) SELECT n FROM r LIMIT 7

WITH RECURSIVE r AS (SELECT CAST(0.5 AS DOUBLE) AS x UNION ALL SELECT x * 2 FROM r WHERE x < 9)
SELECT x FROM r

WITH RECURSIVE r AS (SELECT id, pay FROM {people} WHERE pay > 8 UNION ALL SELECT p.id, p.pay
FROM {people} AS p, r WHERE p.pay = r.pay - 2) SELECT id, pay FROM r
""".strip().split("\n\n")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("with")
    for name, rows in ("edges", EDGES), ("people", PEOPLE):
        (folder / f"{name}.json").write_text("".join(json.dumps(row) + "\n" for row in rows))
        sdb.pack([str(folder / f"{name}.json")], str(folder / f"{name}.zion"))
    return folder


def rows_of(folder: Path, query: str) -> list[dict[str, Any]]:
    query = query.format(people="'people.zion'", edges="'edges.zion'")
    with sdb.sql(query, root=str(folder)) as result:
        return [dict(row) for row in result]


def in_order(rows: list[list[Any]]) -> list[list[Any]]:
    return sorted(rows, key=lambda row: repr([float(x) if type(x) is int else x for x in row]))


@pytest.mark.parametrize("query", QUERIES)
def test_answers_are_those_of_duckdb(folder: Path, query: str) -> None:
    with duckdb.connect() as connection:
        for name in ("people", "edges"):
            path = str(folder / f"{name}.json")
            connection.execute(f"CREATE TABLE {name} AS SELECT * FROM read_json(?)", [path])
        cursor = connection.execute(query.format(people="people", edges="edges"))
        theirs = [
            [float(v) if type(v).__name__ == "Decimal" else v for v in row]
            for row in cursor.fetchall()
        ]
    ours = [list(row.values()) for row in rows_of(folder, query)]
    assert in_order(ours) == in_order(theirs)


@pytest.mark.parametrize("query", QUERIES)
def test_what_is_written_is_read_again(query: str) -> None:
    statement = parse(query.format(people="people", edges="edges"))
    assert parse(printer.statement(statement)) == statement


def test_steps_may_make_values_of_other_types(folder: Path) -> None:
    query = (
        "WITH RECURSIVE r AS (SELECT 'a' AS x, [1] AS l, {'b': 1, 'a': 2} AS s UNION ALL SELECT "
        "CASE WHEN x = 'a' THEN 9007199254740993 WHEN x = 9007199254740993 THEN TIMESTAMP "
        "'2026-01-02' WHEN x = TIMESTAMP '2026-01-02' THEN NULL END, [x, l], s FROM r "
        "WHERE x IS NOT MISSING) SELECT x, l[1][0] AS one, s FROM r"
    )
    struct = {"b": 1, "a": 2}
    query = query.replace("{", "{{").replace("}", "}}")
    rows = rows_of(folder, f"SET dialect = sneller; {query}")
    # No CASE gives MISSING in the dialect standard, where NULL ends the recursion.
    standard = rows_of(folder, query.replace("IS NOT MISSING", "IS NOT NULL"))
    assert standard == rows[:4]
    assert [row.get("x", "none") for row in rows][:2] == ["a", 9007199254740993]
    assert [row.get("x", "none") for row in rows][3:] == [None, "none"]
    assert [list(row["s"]) for row in rows] == [list(struct)] * 5
    assert [row.get("one") for row in rows] == [None, 1, "a", 9007199254740993, rows[2]["x"]]


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("WITH RECURSIVE r AS (SELECT n FROM r) SELECT 1", "r: a recursive query is a UNION"),
        ("WITH RECURSIVE r AS (SELECT 1 AS n INTERSECT SELECT n FROM r) SELECT 1", "is a UNION"),
        (
            "WITH RECURSIVE r AS (SELECT 1 AS n UNION SELECT n FROM r LIMIT 3) SELECT 1",
            "r: ORDER BY and LIMIT do not go with recursion",
        ),
        (
            "WITH RECURSIVE r AS (SELECT 1 AS n UNION SELECT n, 2 FROM r) SELECT n FROM r",
            "the first rows of r have 1 columns, the next ones 2",
        ),
        ("WITH q(x, y) AS (SELECT 1) SELECT * FROM q", "the query has 1 columns, 2 have a name"),
        ("WITH q AS (SELECT 1 AS a), q AS (SELECT 2 AS a) SELECT * FROM q", "more than once"),
        (
            "SELECT id FROM {people} WHERE pay = (SELECT pay FROM {people} WHERE id > 1)",
            "a sub-query that stands for one value has several rows",
        ),
    ],
)
def test_faults_are_said_in_words(folder: Path, query: str, message: str) -> None:
    with pytest.raises(QueryError) as caught:
        rows_of(folder, query)
    assert message in caught.value.message


def test_a_query_of_with_hides_a_file_only_where_it_is_known(folder: Path) -> None:
    """`people` in the sub-query is its own; beside it, it is the file."""
    query = (
        "SELECT p.name, (WITH people AS (SELECT 5 AS n) SELECT a.n + b.n FROM people AS a,"
        " people AS b) AS n FROM people AS p WHERE p.id = 2"
    )
    assert rows_of(folder, query) == [{"name": "Bo", "n": 10}]
