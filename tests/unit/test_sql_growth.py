"""Texts and lists that grow: each way to multiply them ends within the memory of the query."""

from __future__ import annotations

import json
import resource
import threading
import time
from typing import TYPE_CHECKING, Any

import pytest

import sdb
from sdb.errors import ExhaustedError
from tests.patience import soon

if TYPE_CHECKING:
    from pathlib import Path

MEMORY_BYTES = 64 << 20
ROWS = "read_file('rows.zion')"
LONG = f"(SELECT STRING_AGG(REPEAT(s, 3000), 'x') AS s FROM {ROWS}) AS r"
LISTED = f"(SELECT ARRAY_AGG(REPEAT(s, 900)) AS s FROM {ROWS}) AS r"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("growth")
    lines = (json.dumps({"s": f"{n:010}", "n": n}) for n in range(1000))
    (folder / "rows.json").write_text("\n".join(lines))
    sdb.pack([str(folder / "rows.json")], str(folder / "rows.zion"))
    return folder


def found(folder: Path, query: str) -> list[Any]:
    with sdb.sql(query, root=str(folder), memory_bytes=MEMORY_BYTES, threads=1) as result:
        return list(result)


def nested(expression: str, levels: int, first: str = f"SELECT s FROM {ROWS}") -> str:
    """Put an expression over `s` into a query over another one, and so on."""
    query = first
    for _ in range(levels):
        query = f"SELECT {expression} AS s FROM ({query}) AS q"
    return query


def longest(expression: str, levels: int) -> str:
    return f"SELECT MAX(LENGTH(s)) AS n FROM ({nested(expression, levels)}) AS q"


def chained(levels: int) -> str:
    """Make a query whose entries of WITH double what the one before has."""
    parts = [f"c0 AS (SELECT s FROM {ROWS})"]
    parts += [f"c{n + 1} AS (SELECT s || s AS s FROM c{n})" for n in range(levels)]
    return f"WITH {', '.join(parts)} SELECT MAX(LENGTH(s)) AS n FROM c{levels}"


BOMBS = {
    "|| in WITH": chained(30),
    "CONCAT": longest("CONCAT(s, s)", 26),
    "CONCAT_WS": longest("CONCAT_WS('-', s, s)", 26),
    "FORMAT": longest("FORMAT('{0}{0}{0}{0}', s)", 13),
    "PRINTF": longest("PRINTF('%s%s', s, s)", 26),
    "TO_JSON": longest("TO_JSON([s, s])", 26),
    "HEX": longest("HEX(s)", 26),
    "REGEXP_REPLACE": longest(r"REGEXP_REPLACE(s, '(.*)', '\\1\\1\\1\\1\\1\\1\\1\\1')", 9),
    "REPLACE": longest("REPLACE(s, '0', '0000000000000000000')", 12),
    "OVERLAY": longest("OVERLAY(s PLACING s || s FROM 1 FOR 1)", 16),
    "ARRAY_TO_STRING": longest("ARRAY_TO_STRING([s, s, s, s], '-')", 13),
    "ARRAY_TO_STRING, computed separator": longest("ARRAY_TO_STRING([s, s, s, s], s)", 8),
    "STRING_SPLIT": longest("ARRAY_TO_STRING(STRING_SPLIT(s, ''), 'abc')", 13),
    "ARRAY_CONCAT": nested("ARRAY_CONCAT(s, s)", 26, f"SELECT [s] AS s FROM {ROWS}"),
    "a long separator": "SELECT LENGTH(ARRAY_TO_STRING(x, REPEAT('y', 10000000))) AS n"
    f" FROM (SELECT ARRAY_AGG(s) AS x FROM {ROWS}) AS q",
    "a long replacement": "SELECT MAX(LENGTH(REPLACE(s, '0', REPEAT('y', 9000000)))) AS n"
    f" FROM {ROWS}",
    "STRING_AGG of a join": f"SELECT STRING_AGG(a.s, 'y') AS x FROM {ROWS} a, {ROWS} b, {ROWS} c",
    "ARRAY_AGG of a range": "SELECT SIZE(ARRAY_AGG(r)) AS n FROM RANGE(1000000000) AS r",
    "a recursion": "WITH RECURSIVE r(s) AS (SELECT 'xxxxxxxx' AS s UNION ALL"
    " SELECT s || s AS s FROM r WHERE LENGTH(s) < 1000000000) SELECT MAX(LENGTH(s)) AS n FROM r",
    "many constants": "SELECT "
    + ", ".join(f"LENGTH(REPEAT('{n:04}', 4000000)) AS c{n}" for n in range(30)),
    "constants beside rows": f"SELECT MAX(LENGTH(s || LPAD('y', 9000000))) AS n FROM {ROWS}",
    "a text beside rows": f"SELECT MAX(LENGTH(r.s || t.s)) AS n FROM {LONG}, {ROWS} AS t",
    "its parts": f"SELECT MAX(LENGTH(SUBSTRING(r.s, t.n))) AS n FROM {LONG}, {ROWS} AS t",
    "replacements by it": "SELECT MAX(LENGTH(REPLACE(t.s, '1', r.s))) AS n"
    f" FROM {LONG}, {ROWS} AS t",
    "searches in it": f"SELECT COUNT(*) AS n FROM {LONG}, {ROWS} AS t WHERE r.s ILIKE t.s",
    "all of it": f"SELECT r.s AS s FROM {LONG}, {ROWS} AS t",
    "a text that a row repeats": "SELECT MAX(LENGTH(REPEAT(r.s, 15000000) || t.s)) AS n"
    f" FROM (SELECT MAX(LEFT(s, 1)) AS s FROM {ROWS}) AS r, {ROWS} AS t",
    "a list beside rows": "SELECT MAX(SIZE(ARRAY_CONCAT(r.s, [t.s]))) AS n"
    f" FROM {LISTED}, {ROWS} AS t",
    "a sub-query beside rows": "SELECT MAX(LENGTH(t.s || (SELECT STRING_AGG(REPEAT(s, 3000), 'x')"
    f" AS s FROM {ROWS}))) AS n FROM {ROWS} AS t",
    "a window": "SELECT MAX(LENGTH(w || s)) AS n FROM (SELECT s, STRING_AGG(REPEAT(s, 900), 'x')"
    f" OVER () AS w FROM {ROWS}) AS q",
    "texts compared": f"SELECT COUNT(*) AS n FROM {ROWS}"
    f" WHERE CONTAINS_FUZZY(REPEAT(s, 3000), '{'abcdefgh' * 50}', 200)",
    "texts alike": "SELECT MAX(JARO_WINKLER_SIMILARITY(REPEAT(s, 900), REPEAT(s, 901))) AS n"
    f" FROM {ROWS}",
}


@pytest.mark.parametrize("query", BOMBS.values(), ids=BOMBS)
def test_what_grows_is_refused_before_it_fills_the_memory(folder: Path, query: str) -> None:
    found(folder, f"SELECT MAX(LENGTH(UPPER(REPEAT(s, 2)))) AS n FROM {ROWS}")  # what it imports
    before, begun = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.monotonic()
    with pytest.raises(ExhaustedError, match=r"more memory than it may|more than 64 MiB|too long"):
        found(folder, query)
    assert time.monotonic() - begun < soon(5)
    grown_kb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert grown_kb < 5 * MEMORY_BYTES >> 10


FEW = f"""
WITH few AS (SELECT RIGHT(s, 3) AS s FROM {ROWS} WHERE n < 3),
r AS (SELECT STRING_AGG(s, ',' ORDER BY s) AS x, ARRAY_AGG(s ORDER BY s) AS l FROM few),
t AS (SELECT s, n FROM {ROWS} WHERE n = 7)
"""


@pytest.mark.parametrize(
    ("query", "wanted"),
    [
        ("SELECT r.x || t.s AS x FROM r, t", "000,001,0020000000007"),
        ("SELECT t.s || (SELECT STRING_AGG(s, ',') FROM few) AS x FROM t", "0000000007000,001,002"),
        ("SELECT SUBSTRING(r.x, 5, 3) AS x FROM r LEFT JOIN t ON t.s = r.x", "001"),
        ("SELECT ARRAY_CONCAT(r.l, [t.n]) AS x FROM r, t", ["000", "001", "002", 7]),
        ("SELECT r.l[1] AS x FROM r, t", "001"),
        ("SELECT REPEAT(r.x, 2) AS x FROM r, t", "000,001,002000,001,002"),
        ("SELECT STRING_AGG(s, ',') OVER () AS x FROM few LIMIT 1", "000,001,002"),
        ("SELECT ARRAY_TO_STRING(['a', NULL, 'b'], t.s) AS x FROM t", "a0000000007b"),
        ("SELECT ARRAY_TO_STRING(['a', 'b'], NULLIF(t.s, t.s)) AS x FROM t", None),
        ("SELECT LENGTH(REPEAT('ab', 1000000)) AS x", 2_000_000),
        ("SELECT LENGTH(REPEAT('ab', 1000)) AS x FROM t", 2_000),
        ("SELECT COUNT(*) AS x FROM r, few WHERE r.x LIKE '%' || few.s || '%'", 3),
    ],
)
def test_lengths_that_are_looked_at_change_no_answer(
    folder: Path, query: str, wanted: object
) -> None:
    bare = query if "FROM" not in query else f"{FEW}{query}"
    assert found(folder, bare) == [{"x": wanted}]


def test_joins_of_many_rows_can_be_stopped(folder: Path) -> None:
    tables = ", ".join(f"{ROWS} AS t{n}" for n in range(4))
    query = f"SELECT COUNT(*) AS n FROM {tables} WHERE t0.n * t1.n + t2.n * t3.n = -1"
    with sdb.sql(query, root=str(folder), memory_bytes=MEMORY_BYTES, threads=1) as result:
        stop = threading.Timer(0.3, result.interrupt)
        stop.start()
        begun = time.monotonic()
        with pytest.raises(KeyboardInterrupt):
            list(result)
        assert time.monotonic() - begun < soon(2)


BESIDE = f"(SELECT s, n FROM {ROWS} WHERE n < 3) AS t"
SHORT = f"(SELECT STRING_AGG(REPEAT(s, 30), 'x') AS s FROM {ROWS} WHERE n < 9) AS r"


@pytest.mark.parametrize(
    "query",
    [
        f"SELECT DISTINCT ON (r.s) r.s, t.n FROM {BESIDE}, {SHORT} ORDER BY r.s, t.n",
        f"SELECT DISTINCT ON (t.n * 0) r.s FROM {BESIDE}, {SHORT} ORDER BY r.s",
        f"SELECT r.s FROM {BESIDE}, {SHORT} WHERE n < 2 EXCEPT ALL SELECT r.s FROM {SHORT}",
        f"SELECT MAX(n) OVER (PARTITION BY r.s) AS n FROM {BESIDE}, {SHORT} LIMIT 1",
    ],
)
def test_texts_beside_rows_are_keys_of_windows(folder: Path, query: str) -> None:
    assert len(found(folder, query)) == 1
