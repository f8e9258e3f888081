"""Operators between values of different types: a value as in DuckDB, or a word about it."""

from __future__ import annotations

import json
import warnings
from typing import TYPE_CHECKING, Any

import pytest

import sdb
from sdb.errors import QueryError, UsageError

if TYPE_CHECKING:
    from pathlib import Path

ROWS = {
    "t": [
        {
            "n": 1,
            "s": "x",
            "b": True,
            "at": "2022-11-18T13:11:24Z",
            "l": [1, 2],
            "o": {"a": 1},
            "mixed": "2022-01-01T00:00:00Z",
        },
        {"n": 2, "s": "2", "b": False, "l": [3], "mixed": "tomorrow"},
    ],
    "u": [{"j": 1, "w": "p"}],
}
VALUES = """
1 || 'x' = ["1x", "1x"]
n || 'x' = ["1x", "2x"]
s || TRUE = ["xtrue", "2true"]
b || s = ["truex", "false2"]
at || '!' = ["2022-11-18T13:11:24Z!", null]
NULL || s = [null, null]
SUBSTRING(NULL::VARCHAR, 1, 1) || NULL::VARCHAR = [null, null]
l || NULLIF(l, l) = [null, null]
MISSING || s = [null, null]
s || NULLIF(NULL, 'x') = [null, null]
SUBSTRING(CASE 'a' WHEN NULL::VARCHAR THEN s END, 1, 1) = [null, null]
n IN (1, 'q') = [true, false]
NOT b AND TRUE = [false, true]
o || s = ["{\\"a\\": 1}x", null]
COUNT(*) OVER () || ' rows' = ["2 rows", "2 rows"]
l || [4] = [[1, 2, 4], [3, 4]]
l || l || [n] = [[1, 2, 1, 2, 1], [3, 3, 2]]
LEN(l) = [2, 1]
LENGTH(s) = [1, 1]
LENGTH([1, 2, 3]) = [3, 3]
n::BIGINT / 2 = [0.5, 1.0]
7 / 2 = [3.5, 3.5]
n::BIGINT // 2 = [0.0, 1.0]
n = '2' = [false, true]
n + 1 = '2' = [true, false]
YEAR(at) = '2022' = [true, null]
n::BIGINT IN ('2', '3') = [false, true]
"""
TOLD = {
    "SELECT s = 2 AS x FROM t": "s has strings and no number",
    "SELECT b = 1 AS x FROM t": "b has booleans and no number",
    "SELECT at = 1 AS x FROM t": "has timestamps and no number",
    "SELECT l = 2 AS x FROM t": "l has lists and no number",
    "SELECT n FROM t WHERE n = s": "n has numbers and no text",
    "SELECT n FROM t WHERE n > 'x'": "n has numbers and no text",
    "SELECT LENGTH(n) AS x FROM t": "n has numbers and no text or list",
    "SELECT i FROM (SELECT n + 1 AS i FROM t) WHERE i = 'x'": "i has numbers and no text",
    "WITH q AS (SELECT COUNT(*) AS i FROM t) SELECT i FROM q WHERE i = 'x'": "no text",
    "SELECT x.n FROM t AS x JOIN t AS y ON x.n = y.s": "x.n has numbers and no text",
    "SELECT n FROM t WHERE n IN (SELECT s FROM t)": "n has numbers and no text",
    "SELECT n FROM t WHERE mixed > TIMESTAMP '2020-01-01'": "1 of 2 values of mixed are texts",
    "SELECT n FROM t WHERE mixed > at": "NULL where mixed is a text",
    "SELECT mixed < NOW() AS x FROM t": "NULL where mixed is a text",
    "SELECT s IN (7, 8) AS x FROM t": "s has strings and no number",
    "SELECT n BETWEEN 'a' AND 'b' AS x FROM t": "n has numbers and no text",
    "SELECT -s AS x FROM t": "s has strings and no number",
    "SELECT NOT n AS x FROM t": "n is no condition, and NULL as one",
    "SELECT n AND b AS x FROM t": "n is no condition, and NULL as one",
    "SELECT n FROM t JOIN u USING (n)": '"n" is no field of u',
    "SELECT s FROM t AS a LEFT JOIN u AS b USING (j)": '"j" is no field of a',
    "SELECT s FROM t AS a JOIN (SELECT j AS n FROM u) AS b USING (j)": '"j" is no field of b',
    "SELECT a.s FROM t AS a JOIN t AS b USING (n) JOIN u USING (n)": '"n" is no field of u',
}
LIKE = [
    "SELECT n FROM t WHERE at > '2020-01-01'",
    "SELECT i FROM (SELECT at AS i FROM t) WHERE i > '2020-01-01'",
    "SELECT i FROM (SELECT at AS i FROM t) AS q WHERE q.i < NOW()",
    "SELECT x.n FROM t AS x JOIN t AS y USING (n) JOIN u ON j = n",
    "SELECT n FROM t JOIN UNNEST([1]) AS e(n) USING (n)",
    "SELECT n FROM t WHERE n IN (SELECT j FROM u) AND mixed = 'tomorrow'",
    "SELECT nix = 1 AS x FROM (SELECT NULL AS nix FROM t)",
]
SUBQUERIES = {
    "SELECT i FROM (SELECT n + 1 AS i FROM t) WHERE i = '2'": [2],
    "SELECT i FROM (SELECT n + 1 AS i FROM t UNION SELECT j + 8 FROM u) WHERE i IN ('9')": [9],
    "WITH q AS (SELECT COUNT(*) AS i FROM t) SELECT i FROM q WHERE i >= '2'": [2],
    "SELECT COUNT(*) AS i FROM t HAVING i = '2'": [2],
    "SELECT b.i FROM t AS a JOIN (SELECT n * 2 AS i FROM t) AS b ON a.n = b.i WHERE b.i = '2'": [2],
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("unlike")
    for name, rows in ROWS.items():
        (folder / f"{name}.json").write_text("".join(json.dumps(row) + "\n" for row in rows))
        sdb.pack([folder / f"{name}.json"], folder / f"{name}.zion")
    return folder


def _answer(query: str, folder: Path, **options: Any) -> tuple[list[Any], str]:
    """Return the only column of an answer, and all notes and warnings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with sdb.sql(query, root=str(folder), threads=1, **options) as result:
            values = [next(iter(row.values()), None) for row in result]
            said = result.notes
    return values, "\n".join([*said, *[str(warning.message) for warning in caught]])


@pytest.mark.parametrize("case", VALUES.strip().splitlines())
def test_operators_of_different_types(case: str, folder: Path) -> None:
    expr, wanted = case.rsplit(" = ", 1)
    values, said = _answer(f"SELECT {expr} AS x FROM t ORDER BY n", folder)
    assert values == json.loads(wanted)
    assert not said


@pytest.mark.parametrize(("query", "wanted"), SUBQUERIES.items())
def test_texts_are_numbers_beside_columns_of_queries(
    query: str, wanted: list[int], folder: Path
) -> None:
    assert _answer(query, folder) == (wanted, "")


@pytest.mark.parametrize(("query", "words"), TOLD.items())
def test_what_never_is_true_is_told(query: str, words: str, folder: Path) -> None:
    assert words in _answer(query, folder)[1]


@pytest.mark.parametrize("query", LIKE)
def test_nothing_is_told_of_types_that_agree(query: str, folder: Path) -> None:
    assert not _answer(query, folder)[1]


def test_a_list_is_joined_with_lists(folder: Path) -> None:
    with pytest.raises(QueryError, match="a list is joined with another list"):
        _answer("SELECT [1] || 4 AS x FROM t", folder)


def test_using_of_what_a_side_lacks_is_an_error_if_strict(folder: Path) -> None:
    with pytest.raises(UsageError, match='"n" is no field of u'):
        _answer("SELECT s FROM t JOIN u USING (n)", folder, strict=True)


def test_the_other_dialect_joins_texts_and_cuts(folder: Path) -> None:
    query = "SELECT n::BIGINT / 2 AS x FROM t ORDER BY n"
    assert _answer(query, folder, dialect="sneller")[0] == [0, 1]
    with pytest.raises(QueryError, match="not compatible with type string"):
        _answer("SELECT 1 || 'x' AS x FROM t", folder, dialect="sneller")
