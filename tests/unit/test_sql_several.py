"""Comparisons with several values: ANY, ALL, rows of values, lists as parameters."""

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

PLAIN: list[dict[str, Any]] = [
    {"id": number, "n": number % 4, "s": text, "tags": tags}
    for number, (text, tags) in enumerate(
        [("www.x.com", ["a", "b"]), ("abc", []), ("Web", ["b"]), ("a%b", ["c", "a"]), ("x", ["x"])]
    )
]
MIXED: list[dict[str, Any]] = [
    {"id": 1, "n": 1, "tags": ["a"]},
    {"id": 2, "n": "1"},
    {"id": 3, "n": None, "tags": "a"},
    {"id": 4, "tags": [1, None]},
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("several")
    for name, rows in ("plain", PLAIN), ("mixed", MIXED):
        (folder / f"{name}.json").write_text("".join(json.dumps(row) + "\n" for row in rows))
        sdb.pack([str(folder / f"{name}.json")], str(folder / f"{name}.zion"))
    return folder


def ids(folder: Path, name: str, test: str, params: dict[str, Any] | None = None) -> list[int]:
    query = f"SELECT id FROM '{name}.zion' WHERE {test} ORDER BY id"
    with sdb.sql(query, root=str(folder), params=params) as result:
        return [row["id"] for row in result]


@pytest.mark.parametrize(
    "test",
    [
        "n = ANY([1, 2])",
        "n <> ALL([1, 2])",
        "n > ALL([0, 1])",
        "n >= ANY([2, 3])",
        "n < ANY([1])",
        "NOT n = ANY([1, 2])",
        "'a' = ANY(tags)",
        "NOT ('a' = ANY(tags))",
        "n = ANY(SELECT 2)",
        "n <> ALL(SELECT 2)",
        "n > ANY(SELECT id FROM {t})",
        "n >= ALL(SELECT n FROM {t})",
        "n < ALL(SELECT id FROM {t} WHERE id > 2)",
        "n = ALL(SELECT 1 WHERE FALSE)",
        "n <> ANY(SELECT 1)",
        "n = ALL(SELECT 1)",
        "n > ANY(SELECT u.id FROM {t} AS u WHERE u.n = p.n)",
        "NOT n > ALL(SELECT u.id FROM {t} AS u WHERE u.n = p.n)",
        "(id, n) IN (SELECT u.n, u.id FROM {t} AS u)",
        "(id, n) NOT IN (SELECT u.n, u.id FROM {t} AS u)",
        "id IN (WITH q AS (SELECT id, n FROM {t}) SELECT a.id FROM q AS a JOIN q ON a.id = q.n)",
        "n = (SELECT u.n FROM {t} AS u WHERE u.id = p.id + 1)",
        "s LIKE 'a' || '%'",
        "s LIKE '%' || SUBSTRING(s, 2, 1)",
        "s GLOB 'a*'",
        "s GLOB '?b[!d]'",
        "s GLOB 'a%b'",
        "NOT s GLOB '*.*'",
        "s GLOB '*[.%]*'",
        "(id, n) IN ((1, 1), (2, 3), (4, 0))",
        "(id, n) NOT IN ((1, 1), (2, 3))",
        "(n, id) = (0, 4)",
        "(n, id) <> (0, 4)",
        "(n, id) < (1, 1)",
        "(n, id) <= (1, 1)",
        "(n, s, id) > (1, 'a', 2)",
        "(n, id) >= (1, 1) AND n = ANY([1, 2, 3])",
    ],
)
def test_answers_are_those_of_duckdb(folder: Path, test: str) -> None:
    with duckdb.connect() as connection:
        connection.execute(
            "CREATE TABLE plain AS SELECT * FROM read_json(?)", [str(folder / "plain.json")]
        )
        query = f"SELECT id FROM plain AS p WHERE {test.format(t='plain')} ORDER BY id"
        theirs = connection.execute(query).fetchall()
    test = test.format(t="'plain.zion'")
    query = f"SELECT p.id FROM 'plain.zion' AS p WHERE {test} ORDER BY p.id"
    with sdb.sql(query, root=str(folder)) as result:
        assert [row["id"] for row in result] == [number for (number,) in theirs]


@pytest.mark.parametrize(
    ("test", "matches"),
    [
        ("s ILIKE ANY ('A%', 'w%')", [0, 1, 2, 3]),
        ("s LIKE ANY (['a%', 'x'])", [1, 3, 4]),
        ("s LIKE ALL ('w%', '%com')", [0]),
        ("s NOT LIKE ALL ('a%', '%com')", [2, 4]),
        ("s NOT LIKE ANY ('a%', '%c')", [0, 2, 3, 4]),
        ("s LIKE ANY ('a!%%' ESCAPE '!', 'nothing')", [3]),
        ("n = SOME (1, 2)", [1, 2]),
    ],
)
def test_patterns(folder: Path, test: str, matches: list[int]) -> None:
    assert ids(folder, "plain", test) == matches


@pytest.mark.parametrize(
    ("test", "value", "matches"),
    [
        ("n IN $x", [1, 3], [1, 3]),
        ("n IN ($x, 0)", [1], [0, 1, 4]),
        ("n = ANY($x)", (1, 3), [1, 3]),
        ("n <> ALL($x)", [1, 3], [0, 2, 4]),
        ("n IN $x", [], []),
        ("NOT n IN $x", [], [0, 1, 2, 3, 4]),
        ("n IN $x", 2, [2]),
        ("tags = $x", ["b"], [2]),
        ("n > ALL($x)", [0, 1], [2, 3]),
        ("n > ANY($x, 2)", [2], [3]),
        ("n < ALL($x)", [], [0, 1, 2, 3, 4]),
        ("n < ANY($x)", [], []),
        ("n < ANY($x)", 1, [0, 4]),
        ("s LIKE $x", "%b%", [1, 2, 3]),
        ("s NOT LIKE $x ESCAPE '!'", "a!%%", [0, 1, 2, 4]),
        ("s ILIKE '%' || $x", "EB", [2]),
        ("s LIKE ANY($x)", ["w%", "x"], [0, 4]),
        ("s NOT LIKE ALL($x)", ["w%", "x"], [1, 2, 3]),
        ("s LIKE ANY('x', $x)", ["w%"], [0, 4]),
        ("s ~ $x", "^[wx]", [0, 4]),
        ("s ~* $x", "^W", [0, 2]),
        ("NOT (s ~ $x)", "^[wx]", [1, 2, 3]),
    ],
)
def test_lists_as_parameters(folder: Path, test: str, value: object, matches: list[int]) -> None:
    assert ids(folder, "plain", test, {"x": value}) == matches


@pytest.mark.parametrize(
    ("test", "matches"),
    [
        ("n = ANY([1, 2])", [1]),
        ("n = ANY(['1', 1])", [1, 2]),
        ("n <> ALL([1])", [2]),
        ("'a' = ANY(tags)", [1]),
        ("NULL = ANY(tags)", []),
        ("(id, n) IN ((1, 1), (2, 1), (4, 1))", [1]),
        ("n = ANY([NULL])", []),
        ("n = ANY(SELECT n FROM 'mixed.zion')", [1, 2]),
        ("n >= ANY(SELECT n FROM 'mixed.zion')", [1, 2]),
        ("n >= ALL(SELECT n FROM 'mixed.zion')", []),
        ("n >= ALL(SELECT n FROM 'mixed.zion' WHERE id IN (1, 4))", []),
        ("n > ALL(SELECT n FROM 'mixed.zion' WHERE id = 4)", []),
        ("NOT n > ALL(SELECT n FROM 'mixed.zion' WHERE id = 2)", [2]),
        ("1 >= ANY(tags)", [4]),
        ("(id, n) IN (SELECT id, n FROM 'mixed.zion')", [1, 2]),
        ("(id, n) NOT IN (SELECT id, n FROM 'mixed.zion' WHERE id < 3)", [3, 4]),
        ("(id, n) IN (SELECT id + 1, n FROM 'mixed.zion')", []),
        ("(n, id) IN (SELECT u.n, id FROM 'mixed.zion' AS u WHERE u.id < 2)", [1]),
    ],
)
def test_mixed_types(folder: Path, test: str, matches: list[int]) -> None:
    """A value of another type equals none; NULL is neither in a list nor out of it."""
    assert ids(folder, "mixed", test) == matches


@pytest.mark.parametrize(
    "test",
    [
        "a > ANY (SELECT b FROM u)",
        "NOT a <= ALL (SELECT 1)",
        "a + 1 < ANY ($x)",
        "(a, b) IN (SELECT c, d FROM u)",
        "NOT (a, b + 1) IN (SELECT c, d FROM u)",
        "a LIKE ANY ($x)",
        "a NOT ILIKE ALL ($x)",
        "a LIKE b || '%'",
        "a ILIKE $x ESCAPE '!'",
        "a GLOB '*.[ch]?'",
        "a < ANY (b)",
        "a = ANY (ARRAY[1, 2])",
        "a = ANY([1, 2])",
        "a LIKE ALL ('x', 'y')",
        "(a, b) > (1, 2)",
    ],
)
def test_what_is_written_is_read_again(test: str) -> None:
    statement = parse(f"SELECT a FROM t WHERE {test}")
    assert parse(printer.statement(statement)) == statement


@pytest.mark.parametrize(
    ("test", "message"),
    [
        ("(id, n)", "a row of values is compared with others"),
        ("(id, n) IN ((1, 2), (3))", "a row of 2 values is compared with 1"),
        ("(id, n) IN (SELECT 1)", "IN sub-query should have 2 columns; have 1"),
        ("(id, n) IN (SELECT * FROM 'plain.zion')", "IN sub-query should have 2 columns; have 4"),
        ("n > ANY(SELECT 1, 2)", "ANY sub-query should have 1 column; have 2"),
        ("n LIKE ANY (1)", "a text in single quotes is expected"),
        ("s SIMILAR TO $x", "SIMILAR TO takes a constant text"),
    ],
)
def test_faults_are_said_in_words(folder: Path, test: str, message: str) -> None:
    with pytest.raises(QueryError) as caught:
        ids(folder, "plain", test, {"x": [1]} if "$" in test else None)
    assert message in caught.value.message


def test_a_parameter_of_no_such_type_is_refused(folder: Path) -> None:
    with pytest.raises(QueryError, match="object is no type of a constant"):
        ids(folder, "plain", "n = $x", {"x": object()})
