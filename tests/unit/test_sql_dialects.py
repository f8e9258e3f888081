"""What people of other dialects write, against DuckDB over the same rows where it knows it."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime
from typing import TYPE_CHECKING, Any

import duckdb
import pytest

import sdb
from sdb.errors import QueryError, SdbWarning

if TYPE_CHECKING:
    from pathlib import Path

ROWS = [
    {"id": 1, "g": "a", "n": 3, "s": "Alpha", "ts": "2026-01-01T00:10:00Z", "tags": ["x", "y"]},
    {"id": 2, "g": "a", "n": 1, "s": "beta", "ts": "2026-01-01T03:00:00Z", "tags": ["x"]},
    {"id": 3, "g": "b", "n": 4, "s": "Gamma", "ts": "2026-01-04T23:30:00Z", "tags": ["z"]},
    {"id": 4, "g": "b", "n": 1, "s": "delta", "ts": "2026-06-30T22:30:00Z", "tags": ["y", "z"]},
]
TYPES = (
    "{id: 'BIGINT', g: 'VARCHAR', n: 'BIGINT', s: 'VARCHAR', ts: 'TIMESTAMPTZ', tags: 'VARCHAR[]'}"
)
# Those that DuckDB knows, too.
SAME = [
    "SELECT n ISNULL AS a, n NOTNULL AS b FROM t ORDER BY id",
    "SELECT id FROM t WHERE n NOTNULL AND n > 1 ORDER BY id",
    "SELECT id FROM t WHERE g == 'a' ORDER BY id",
    "SELECT id, FROM t ORDER BY id",
    "SELECT id FROM t WHERE 'x' IN tags ORDER BY id",
    "SELECT id FROM t WHERE 'x' NOT IN tags ORDER BY id",
    "SELECT COUNT() AS n, COUNT(*) FILTER (g = 'a') AS m FROM t",
    "SELECT STRING_AGG(DISTINCT g, ',' ORDER BY g DESC) AS x FROM t",
    "SELECT GROUP_CONCAT(s, '/' ORDER BY s) AS x, MODE() WITHIN GROUP (ORDER BY n) AS y FROM t",
    "SELECT QUANTILE_CONT(n, [0.25, 0.75]) AS x, APPROX_QUANTILE(n, 0.5) AS y FROM t",
    "SELECT COLUMNS(*) FROM (SELECT id, g FROM t) AS q ORDER BY id",
    "SELECT DATE_TRUNC('week', ts) AS x, EXTRACT(ISODOW FROM ts) AS y FROM t ORDER BY id",
    "SELECT DAYNAME(ts) AS a, MONTHNAME(ts) AS b, LAST_DAY(ts) AS c FROM t ORDER BY id",
    "SELECT DATE_TRUNC('month', ts) AS m, COUNT(*) AS n FROM t GROUP BY 1 ORDER BY 1",
    "SELECT DATEDIFF('day', TIMESTAMP '2026-01-01 23:00', ts) AS a FROM t ORDER BY id",
    "SELECT DATE_SUB('day', TIMESTAMP '2026-01-01 23:00', ts) AS a FROM t ORDER BY id",
    "SELECT EPOCH_MS(ts) AS a, EPOCH_US(ts) AS b, EPOCH_MS(1600000000123) AS c FROM t ORDER BY id",
    "SELECT ts + '1 day'::INTERVAL AS a, ts::DATE - 7 AS b FROM t ORDER BY id",
    "SELECT STRING_SPLIT(s, 'a') AS a, ARRAY_TO_STRING(tags, '-') AS b FROM t ORDER BY id",
    "SELECT REGEXP_EXTRACT_ALL(s, '[a-z]') AS c, REGEXP_MATCHES(s, '^a') AS d FROM t ORDER BY id",
    "SELECT x FROM (SELECT UNNEST(STRING_SPLIT(s, 'a')) AS x FROM t) AS q GROUP BY x ORDER BY x",
    "SELECT STRUCT_EXTRACT({'k': n}, 'k') AS a, LIST_VALUE(n, id) AS b FROM t ORDER BY id",
    "SELECT XOR(5, 3) AS a, UCASE(s) AS b, ORD(s) AS c, PREFIX(s, 'A') AS d FROM t ORDER BY id",
    "SELECT TRIM(BOTH FROM ' a ') AS a, TRIM(LEADING 'x' FROM 'xax') AS b",
    "SELECT STRING_AGG(n, ',' ORDER BY id) AS a, STRING_AGG(DISTINCT n ORDER BY n) AS b FROM t",
    (
        "SELECT STRING_AGG(n > 1, ';' ORDER BY id) AS a, ARRAY_AGG(DISTINCT -n ORDER BY -n) AS b"
        " FROM t"
    ),
    "SELECT ARRAY_TO_STRING([n, id], '-') AS a, ARRAY_TO_STRING([], ',') AS b FROM t ORDER BY id",
    "SELECT id FROM t WHERE ts < COALESCE(NULLIF(ts, '2026-01-01T00:10:00Z'), '2099-01-01')",
    (
        "SELECT id FROM t WHERE COALESCE(NULLIF(ts, '2026-01-01 00:10:00'), '2026-01-02') ="
        " '2026-01-02'"
    ),
    "SELECT id FROM t WHERE ts >= CASE WHEN n > 1 THEN ts ELSE '2026-02-01' END ORDER BY id",
    "SELECT id FROM t WHERE LEAST(ts, '2026-01-02') = '2026-01-02' ORDER BY id",
    (
        "SELECT GREATEST(ts, '2026-01-02') AS x, DATE_DIFF('day', '2026-01-01', ts) AS y FROM t"
        " ORDER BY id"
    ),
    "SELECT ALL g FROM t ORDER BY id",
    "SELECT MAX(DISTINCT n) AS a, MIN(DISTINCT s) AS b, BOOL_AND(DISTINCT n > 0) AS c FROM t",
    "SELECT * FROM (VALUES ((SELECT 42), 2), ((SELECT MAX(n) FROM t), 3)) AS v(a, b)",
    "SELECT x FROM UNNEST([(SELECT 1), 2]) AS u(x)",
    "SELECT x FROM GENERATE_SERIES(1, (SELECT MAX(n) FROM t)) AS u(x)",
    "SELECT * FROM (SELECT id, n FROM t) AS q ORDER BY 2, 1 DESC",
    "SELECT * FROM (SELECT n, id FROM t) AS q ORDER BY ALL DESC",
    "SELECT *, n * 2 AS m FROM (SELECT id, n FROM t) AS q ORDER BY 3 DESC, 1",
    "SELECT * EXCLUDE (id) FROM (SELECT id, n, s FROM t) AS q ORDER BY 2",
    "SELECT * FROM (SELECT n FROM t) UNION SELECT * FROM (SELECT id AS n FROM t) ORDER BY 1",
    "SELECT DISTINCT * FROM (SELECT g, n > 3 AS m FROM t) AS q ORDER BY g, m",
    "SELECT DISTINCT ON (1) g, id FROM t ORDER BY g, id DESC",
    "SELECT DISTINCT ON (2) * FROM (SELECT id, g FROM t) AS q ORDER BY g, id DESC",
    "SELECT id FROM t ORDER BY n DESC, id LIMIT (SELECT 2) OFFSET (SELECT 1)",
    "SELECT g, COUNT(*) AS c FROM t GROUP BY g ORDER BY g DESC LIMIT (SELECT COUNT(*) - 3 FROM t)",
    "SELECT a, b FROM (SELECT id, g FROM t) AS q(a, b) ORDER BY a",
    "SELECT x.a, x.b, x.n FROM t AS x(a, b) ORDER BY a",
    "SELECT x.a, y.c FROM t AS x(a) JOIN t AS y(c) ON x.a = y.c ORDER BY 1",
    "WITH w(a, b) AS (SELECT * FROM t) SELECT a, b, n FROM w AS v(a) ORDER BY a",
    r"SELECT 'a_b' LIKE 'a\_b' ESCAPE '\' AS a, 'axb' LIKE 'a\_b' ESCAPE '\' AS b",
    r"SELECT 'C:\x' ILIKE '%\\X' ESCAPE '\' AS a, 'a%' NOT LIKE 'a\%' ESCAPE '\' AS b",
]
# Each with what DuckDB writes for it, behind "=".
_PAIRS = """
SELECT id FROM t WHERE n BETWEEN SYMMETRIC 4 AND 2 ORDER BY id
= SELECT id FROM t WHERE n BETWEEN 2 AND 4 ORDER BY id

SELECT id FROM t WHERE n NOT BETWEEN SYMMETRIC 4 AND 2 ORDER BY id
= SELECT id FROM t WHERE n NOT BETWEEN 2 AND 4 ORDER BY id

SELECT g, n, COUNT(*) AS c FROM t GROUP BY g, n WITH ROLLUP ORDER BY g, n, c
= SELECT g, n, COUNT(*) AS c FROM t GROUP BY ROLLUP (g, n) ORDER BY g, n, c

SELECT COUNT(DISTINCT g, n) AS c FROM t
= SELECT COUNT(DISTINCT (g, n)) AS c FROM t

SELECT LISTAGG(s, '/') WITHIN GROUP (ORDER BY s DESC) AS x FROM t
= SELECT STRING_AGG(s, '/' ORDER BY s DESC) AS x FROM t

SELECT ts AT TIME ZONE 'Europe/Berlin' AS a, EXTRACT(HOUR FROM ts AT TIME ZONE
  'America/New_York') AS b, TIMEZONE('Asia/Tokyo', ts) AS c FROM t ORDER BY id
= SELECT timezone('Europe/Berlin', ts AT TIME ZONE 'UTC') AS a, EXTRACT(HOUR FROM
  timezone('America/New_York', ts AT TIME ZONE 'UTC')) AS b, timezone('Asia/Tokyo', ts AT TIME
  ZONE 'UTC') AS c FROM t ORDER BY id

SELECT DATEADD(DAY, -1, ts) AS a, DATE_ADD(ts, INTERVAL 1 DAY) AS b, TIMESTAMP_SUB(ts, INTERVAL
  '1 hour') AS c, TIMESTAMP_TRUNC(ts, DAY) AS d, DATE_TRUNC(ts, MONTH) AS e, DATEDIFF(DAY,
  TIMESTAMP '2026-01-01 23:00', ts) AS f, TIMESTAMP_DIFF(ts, TIMESTAMP '2026-01-01 23:00', HOUR)
  AS g FROM t ORDER BY id
= SELECT ts - INTERVAL 1 DAY AS a, ts + INTERVAL 1 DAY AS b, ts - INTERVAL 1 HOUR AS c,
  date_trunc('day', ts) AS d, date_trunc('month', ts) AS e, datediff('day', TIMESTAMP
  '2026-01-01 23:00', ts) AS f, date_sub('hour', TIMESTAMP '2026-01-01 23:00', ts) AS g FROM t
  ORDER BY id

SELECT NVL2(NULLIF(n, 1), 'y', 'n') AS a, ZEROIFNULL(NULLIF(n, 1)) AS b, ISNULL(NULLIF(n, 1), 9)
  AS c, SAFE_CAST(s AS INT64) AS d FROM t ORDER BY id
= SELECT CASE WHEN n <> 1 THEN 'y' ELSE 'n' END AS a, COALESCE(NULLIF(n, 1), 0) AS b,
  COALESCE(NULLIF(n, 1), 9) AS c, NULL AS d FROM t ORDER BY id

SELECT STRFTIME('%H', ts) AS a, FORMAT_TIMESTAMP('%H', ts) AS b, PARSE_TIMESTAMP('%Y-%m-%d',
  '2026-01-02') AS c, TO_DATE('2026-01-02 10:00') AS d, TO_TIMESTAMP('2026-01-02 10:00:00') AS e
  FROM t ORDER BY id
= SELECT strftime(ts, '%H') AS a, strftime(ts, '%H') AS b, TIMESTAMP '2026-01-02' AS c,
  TIMESTAMP '2026-01-02' AS d, TIMESTAMP '2026-01-02 10:00' AS e FROM t ORDER BY id

SELECT OVERLAY('abcdef' PLACING 'XX' FROM 2 FOR 3) AS a, OVERLAY('abcdef' PLACING 'XX' FROM 2)
  AS b, LOCATE('c', 'abc') AS c
= SELECT 'aXXef' AS a, 'aXXdef' AS b, 3 AS c

SELECT '{"a": {"b": [1, 5]}}' #>> '{a,b,1}' AS x, JSON_ARRAY_LENGTH('[1, 2]') AS y
= SELECT '5' AS x, 2 AS y

SELECT '{"a": {"b": [1, 5]}}' ->> '$.a.b[1]' AS a, {'a': {'b': 'x'}} ->> '$.a.b' AS b,
  '{"$ref": 2}'::JSON ->> '$ref' AS c, '{"a": {"b": 7}}' -> '$.a' ->> '$.b' AS d
= SELECT '5' AS a, 'x' AS b, '2' AS c, '7' AS d

SELECT ARRAY_AGG(id ORDER BY n DESC, id LIMIT 2) AS a, STRING_AGG(s, '' ORDER BY id LIMIT 1) AS b
  FROM t
= SELECT [3, 1] AS a, 'Alpha' AS b

SELECT id FROM t UNION SELECT 9 AS id ORDER BY id DESC LIMIT (SELECT 2)
= SELECT UNNEST([9, 4]) AS id
"""
OTHERS = [
    tuple(" ".join(text.split()) for text in pair.split("\n= ")) for pair in _PAIRS.split("\n\n")
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dialects")
    (folder / "t.json").write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    sdb.pack([folder / "t.json"], folder / "t.zion")
    (folder / "m.json").write_text('{"x": 1}\n{"x": "1"}\n{"x": null}\n{}\n{"x": [1]}\n')
    sdb.pack([folder / "m.json"], folder / "m.zion")
    return folder


def _rows(folder: Path, query: str) -> list[dict[str, Any]]:
    with sdb.sql(query, root=str(folder), threads=1) as result:
        return [{name: _plain(value) for name, value in row.items()} for row in result]


def _plain(value: Any) -> Any:
    if isinstance(value, date) and not isinstance(value, datetime):
        return datetime(value.year, value.month, value.day, tzinfo=UTC)
    return value.replace(tzinfo=UTC) if isinstance(value, datetime) else value


@pytest.mark.parametrize(
    ("query", "other"), [*((query, query) for query in SAME), *OTHERS], ids=lambda text: text[:60]
)
def test_answers_are_those_of_duckdb(folder: Path, query: str, other: str) -> None:
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'UTC'")
        connection.execute(
            f"CREATE TABLE t AS SELECT * REPLACE (ts::TIMESTAMP AS ts)"
            f" FROM read_json('{folder}/t.json', columns = {TYPES})"
        )
        result = connection.sql(other)
        rows = [dict(zip(result.columns, row, strict=True)) for row in result.fetchall()]
    expected = [{name: _plain(value) for name, value in row.items()} for row in rows]
    answer = _rows(folder, query)
    # NULL of DuckDB may be MISSING here.
    names = expected[0].keys()
    assert [{name: row.get(name) for name in names} for row in answer] == expected


def test_weeks_without_quotes_begin_on_sunday(folder: Path) -> None:
    query = "SELECT DATE_TRUNC(WEEK, ts) AS x FROM t WHERE id = 3"
    assert _rows(folder, query) == [{"x": datetime(2026, 1, 4, tzinfo=UTC)}]


def test_types_have_names(folder: Path) -> None:
    rows = _rows(folder, "SELECT TYPEOF(x) AS t FROM m")
    assert [row["t"] for row in rows] == ["number", "string", "null", "missing", "list"]


def test_names_of_members_need_no_quotes(folder: Path) -> None:
    assert _rows(folder, "SELECT {a: 1, 'b': 2} AS x") == [{"x": {"a": 1, "b": 2}}]


def test_texts_and_times_of_seconds(folder: Path) -> None:
    query = "SELECT TO_TIMESTAMP(s) AS x, TO_TIMESTAMP(n) AS y FROM t WHERE id = 1"
    assert _rows(folder, query) == [{"x": None, "y": datetime(1970, 1, 1, 0, 0, 3, tzinfo=UTC)}]


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("SELECT ts AT TIME ZONE 'Nowhere/X' FROM t", "no time zone 'Nowhere/X'"),
        ("SELECT ts AT TIME OF 'UTC' FROM t", "ZONE is expected"),
        ("SELECT DATE_TRUNC(FOO, ts) FROM t", 'bad DATE_TRUNC part "FOO"'),
        ("SELECT DATEADD(FOO, 1, ts) FROM t", "a part of a time is expected"),
        ("SELECT DATE_SUB(ts, 3) FROM t", "an interval is expected behind the time"),
        ("SELECT TIMESTAMP_TRUNC(ts, FOO) FROM t", "a part of a time is expected"),
        ("SELECT '1 dya'::INTERVAL", "'1 dya' is no interval"),
        ("SELECT g FROM t GROUP BY ROLLUP (g) WITH ROLLUP", "WITH ROLLUP goes with plain keys"),
        ("SELECT STRING_AGG(DISTINCT s, ',' ORDER BY n) FROM t", "no key beside DISTINCT"),
        ("SELECT MODE() FROM t", "WITHIN GROUP with one ascending key"),
        ("SELECT OVERLAY('a', 'b', 1)", "PLACING is expected"),
        ("SELECT QUANTILE(n, [0.5, 2]) FROM t", "range"),
        ("SELECT DISTINCT n FROM t LIMIT (SELECT 1)", "LIMIT by a query does not go with DISTINCT"),
        ("SELECT * FROM (SELECT n FROM t) AS q(a, b)", "the query has 1 columns, 2 have a name"),
        ("SELECT * FROM t AS q(n)", "two columns are named n"),
        ("SELECT * FROM m AS q(a, b)", "the table has 1 columns, 2 have a name"),
    ],
)
def test_errors(folder: Path, query: str, message: str) -> None:
    with pytest.raises(QueryError, match=message):
        _rows(folder, query)


def test_rows_are_numbered_without_an_order(folder: Path) -> None:
    rows = _rows(folder, "SELECT ROW_NUMBER() OVER (PARTITION BY g) AS x FROM t ORDER BY x")
    assert [row["x"] for row in rows] == [1, 1, 2, 2]


def test_columns_that_a_star_leaves_out_are_named(folder: Path) -> None:
    query = "SELECT * FROM t JOIN (SELECT id, 9 AS n FROM t) AS q USING (id) ORDER BY id LIMIT 1"
    with pytest.warns(SdbWarning, match=r"\* leaves out t\.n, of which .*; t\.\* shows them"):
        assert _rows(folder, query)[0]["n"] == 9
    both = "SELECT t.*, q.n AS m FROM t JOIN (SELECT id, 9 AS n FROM t) AS q USING (id) LIMIT 1"
    assert _rows(folder, f"{both}")[0]["m"] == 9


def test_numbers_of_rows_are_parameters(folder: Path) -> None:
    def ids(query: str, **params: object) -> list[int]:
        with sdb.sql(query, root=str(folder), params=params) as result:
            return [row["id"] for row in result]

    assert ids("SELECT id FROM t ORDER BY id LIMIT $n OFFSET $m", n=2, m=1) == [2, 3]
    assert ids("SELECT id FROM t UNION ALL SELECT id FROM t ORDER BY id LIMIT $n", n=3) == [1, 1, 2]
    assert ids("SELECT id FROM t ORDER BY n FETCH FIRST $n ROWS WITH TIES", n=1) == [2, 4]
    assert ids("SELECT id FROM t ORDER BY id LIMIT $n", n=None) == [1, 2, 3, 4]
    assert ids("SELECT id FROM t ORDER BY id LIMIT ALL") == [1, 2, 3, 4]
    for wrong, message in (("x", "whole number, and not 'x'"), (-1, "negative LIMIT")):
        with pytest.raises(QueryError, match=message):
            ids("SELECT id FROM t LIMIT $n", n=wrong)
