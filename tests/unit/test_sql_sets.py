"""UNION, INTERSECT and EXCEPT against DuckDB on typed rows, and by hand where it has no rule."""

from __future__ import annotations

import json
import random
from collections import Counter
from typing import TYPE_CHECKING, Any

import duckdb
import pytest

import sdb
from sdb.errors import QueryError
from sdb.query.syntax import printer
from sdb.query.syntax.parser import parse

if TYPE_CHECKING:
    from pathlib import Path

TYPED = {
    "p": [{"k": n % 7, "s": f"t{n % 3}"} for n in range(20)],
    "q": [{"k": n % 5, "s": f"t{n % 4}"} for n in range(12)],
    "r": [{"k": n % 9, "s": f"t{n % 2}"} for n in range(9)],
}
MIXED = {
    "m": [{"a": 1}, {"a": 1}, {"a": None}, {"b": 1}, {}, {"a": "1"}, {"a": 1.0, "b": None}],
    "n": [{"a": 1}, {}, {"a": None, "b": None}, {"a": True}, {"b": 1}, {"b": 1}],
}
OPERATORS = [
    f"{word}{every}" for word in ("UNION", "INTERSECT", "EXCEPT") for every in ("", " ALL")
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sets")
    for name, rows in (TYPED | MIXED).items():
        (folder / f"{name}.json").write_text("".join(json.dumps(row) + "\n" for row in rows))
        sdb.pack([str(folder / f"{name}.json")], str(folder / f"{name}.zion"))
    return folder


def _rows(folder: Path, query: str) -> list[dict[str, Any]]:
    with sdb.sql(query, root=str(folder), threads=1) as result:
        return [json.loads(line) for line in b"".join(result.lines()).splitlines()]


def _expected(query: str) -> list[tuple[Any, ...]]:
    with duckdb.connect() as connection:
        for name, rows in TYPED.items():
            values = ", ".join(f"({row['k']}, '{row['s']}')" for row in rows)
            connection.execute(f"CREATE TABLE {name} AS FROM (VALUES {values}) AS v(k, s)")
        return connection.sql(query).fetchall()


def _random_query(rng: random.Random, depth: int) -> str:
    if depth == 0 or rng.random() < 0.2:
        where = rng.choice(["", f" WHERE k < {rng.randrange(8)}"])
        return f"SELECT k, s FROM {rng.choice('pqr')}{where}"
    parts = [_random_query(rng, depth - 1) for _ in range(rng.randrange(2, 4))]
    # A SELECT may stand without parentheses: precedence decides.
    parts = [f"({part})" if rng.random() < 0.6 or " ALL" in part else part for part in parts]
    text = parts[0]
    for part in parts[1:]:
        text += f" {rng.choice(OPERATORS)} {part}"
    return text


@pytest.mark.parametrize("seed", range(40))
def test_set_operators_answer_as_duckdb_does(folder: Path, seed: int) -> None:
    query = _random_query(random.Random(seed), 2)
    answer = Counter((row["k"], row["s"]) for row in _rows(folder, query))
    assert answer == Counter(_expected(query)), query
    assert parse(printer.statement(parse(query))) == parse(query)


@pytest.mark.parametrize(
    "query",
    [
        "SELECT COUNT(*) FROM (SELECT k FROM p EXCEPT SELECT k FROM q) AS x",
        "SELECT COUNT(*) FROM p WHERE k IN (SELECT k FROM q INTERSECT SELECT k FROM r)",
        "SELECT COUNT(*) FROM p WHERE k IN ((SELECT k FROM q) EXCEPT (SELECT 3 AS k))",
        (
            "SELECT COUNT(*) FROM p AS x WHERE EXISTS"
            " (SELECT y.k FROM q AS y WHERE y.k = x.k EXCEPT SELECT 2 AS k)"
        ),
        "WITH u AS (SELECT k FROM p INTERSECT SELECT k FROM r) SELECT SUM(k) FROM u",
        "SELECT ((SELECT MAX(k) FROM p) INTERSECT (SELECT 6 AS k) LIMIT 1)",
        "SELECT k FROM p EXCEPT SELECT k FROM q ORDER BY k DESC LIMIT 1",
        (
            "(SELECT k FROM p ORDER BY k LIMIT 3) UNION ALL "
            "(SELECT k FROM q ORDER BY 1 DESC LIMIT 2)"
            " ORDER BY k LIMIT 4 OFFSET 1"
        ),
        "(SELECT k FROM p) ORDER BY 1 LIMIT 2",
    ],
)
def test_set_operators_stand_where_queries_do(folder: Path, query: str) -> None:
    assert [tuple(row.values()) for row in _rows(folder, query)] == _expected(query)


def _as_keys(rows: list[dict[str, Any]]) -> Counter[str]:
    return Counter(json.dumps(row, sort_keys=True).replace("1.0", "1") for row in rows)


@pytest.mark.parametrize("items", ["*", "a, b"])
@pytest.mark.parametrize("operator", OPERATORS)
def test_rows_are_compared_with_what_they_miss(folder: Path, operator: str, items: str) -> None:
    left, right = (_as_keys(MIXED[name]) for name in "mn")
    every = operator.endswith("ALL")
    match operator.split(maxsplit=1)[0]:
        case "UNION":
            expected = left + right
        case "INTERSECT":
            expected = left & right
        case _:
            expected = left - (right if every else Counter(dict.fromkeys(right, 99)))
    if not every:
        expected = Counter(dict.fromkeys(expected, 1))
    rows = _rows(
        folder, f"SET dialect = sneller; SELECT {items} FROM m {operator} SELECT {items} FROM n"
    )
    assert _as_keys(rows) == expected


def test_columns_are_compared_by_position_and_must_be_as_many(folder: Path) -> None:
    assert _rows(folder, "SELECT 1 AS a EXCEPT SELECT 1 AS b") == []
    with pytest.raises(QueryError, match="equally many columns, not of 2 and 1"):
        _rows(folder, "SELECT k, s FROM p EXCEPT SELECT k FROM q")


@pytest.mark.parametrize("operator", OPERATORS)
def test_columns_go_by_position_and_missing_is_null(tmp_path: Path, operator: str) -> None:
    """As in DuckDB, to which absent fields are NULL."""
    query = f"SELECT a, b FROM {{}} {operator} SELECT c AS x, b FROM {{}}"
    names = {"a": "INTEGER", "b": "INTEGER", "c": "INTEGER"}
    left = [{"a": 1, "b": 2}, {"a": 1}, {"a": 1, "b": None}, {}, {"b": None}]
    right = [{"c": 1, "b": None}, {"c": None}, {"c": 7}]
    with duckdb.connect() as connection:
        for name, rows in (("l", left), ("r", right)):
            (tmp_path / f"{name}.json").write_text("".join(json.dumps(row) + "\n" for row in rows))
            sdb.pack([tmp_path / f"{name}.json"], tmp_path / f"{name}.zion")
            source = f"read_json('{tmp_path}/{name}.json', columns = {names})"
            connection.execute(f"CREATE TABLE {name} AS SELECT * FROM {source}")
        expected = connection.sql(query.format("l", "r")).fetchall()
    rows = _rows(tmp_path, query.format("l", "r"))
    actual = [(row.get("a"), row.get("b")) for row in rows]
    assert sorted(actual, key=str) == sorted(expected, key=str)
    assert all(row.keys() <= {"a", "b"} for row in rows)


def test_union_takes_as_many_columns(folder: Path) -> None:
    with pytest.raises(QueryError, match="equally many columns, not of 2 and 1"):
        _rows(folder, "SELECT k, s FROM p UNION ALL SELECT k FROM q")
    with pytest.raises(QueryError, match="are not known"):
        _rows(folder, "SELECT * FROM p UNION ALL SELECT k FROM q")


def test_union_goes_by_name_in_the_dialect_of_the_original(folder: Path) -> None:
    query = "SELECT 1 AS a UNION SELECT 2 AS b ORDER BY a"
    assert _rows(folder, f"SET dialect = sneller; {query}") == [{"a": 1}]


def test_order_of_a_part_is_refused_without_parentheses() -> None:
    with pytest.raises(QueryError, match="go behind the last SELECT of EXCEPT"):
        parse("SELECT a FROM t ORDER BY a EXCEPT SELECT a FROM t")


def test_words_stay_names_and_the_star_stays_short(folder: Path) -> None:
    assert _rows(folder, "SELECT * EXCEPT (s) FROM p LIMIT 1") == [{"k": 0}]
    assert _rows(folder, "SELECT except.k FROM p AS except LIMIT 1") == [{"k": 0}]


def test_union_by_name_joins_columns_by_their_names(folder: Path) -> None:
    text = (
        "SELECT k, s AS t FROM p WHERE k = 1 UNION {} BY NAME "
        "SELECT s AS t, k AS n FROM q WHERE k = 2"
    )
    with duckdb.connect() as connection:
        for name in ("p", "q"):
            source = f"read_json('{folder}/{name}.json')"
            connection.execute(f"CREATE VIEW {name} AS SELECT * FROM {source}")
        for every in ("ALL", ""):
            query = text.format(every)
            assert printer.statement(parse(printer.statement(parse(query)))).count("BY NAME") == 1
            expected = connection.execute(f"SELECT k, t, n FROM ({query})").fetchall()
            with sdb.sql(query, root=str(folder)) as result:
                rows = [(row.get("k"), row.get("t"), row.get("n")) for row in result]
            assert Counter(rows) == Counter(expected)
    with pytest.raises(QueryError, match="NAME was expected"):
        parse("SELECT k FROM p UNION BY k SELECT k FROM q")
