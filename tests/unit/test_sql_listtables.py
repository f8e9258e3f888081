"""Tables that are made of values: UNNEST, GENERATE_SERIES, RANGE and VALUES."""

from __future__ import annotations

import json
from datetime import datetime
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
    {"id": number, "tags": tags}
    for number, tags in enumerate([["a", "b"], [], ["b"], ["c", "a", "c"]])
]
MIXED: list[dict[str, Any]] = [
    {"id": 1, "x": [1, "1", None, {"a": 2}, [3]]},
    {"id": 2, "x": "no list", "e": 7},
    {"id": 3},
    {"id": 4, "x": None},
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("lists")
    for name, rows in ("plain", PLAIN), ("mixed", MIXED):
        (folder / f"{name}.json").write_text("".join(json.dumps(row) + "\n" for row in rows))
        sdb.pack([str(folder / f"{name}.json")], str(folder / f"{name}.zion"))
    return folder


def rows(folder: Path, query: str) -> list[tuple[Any, ...]]:
    with sdb.sql(query, root=str(folder)) as result:
        return [
            tuple([v.replace(tzinfo=None) if isinstance(v, datetime) else v for v in row.values()])
            for row in result
        ]


@pytest.mark.parametrize(
    "query",
    [
        "SELECT id, t, o FROM $T, UNNEST(tags) WITH ORDINALITY AS u(t, o)",
        "SELECT a.id, t FROM $T AS a CROSS JOIN UNNEST(a.tags) AS u(t) WHERE t = 'a'",
        "SELECT a.id FROM $T AS a WHERE EXISTS (SELECT 1 FROM UNNEST(a.tags) AS u(t) WHERE t='a')",
        "SELECT t, COUNT(*) AS c FROM $T, UNNEST(tags) AS u(t) GROUP BY t",
        "SELECT x FROM UNNEST(['a', 'b']) AS u(x)",
        "SELECT * FROM (VALUES (1, 'a'), (2, 'b')) AS v(x, y)",
        "SELECT v.y FROM (VALUES (1, 'a'), (2, 'b')) AS v(x, y) WHERE v.x = 2",
        "SELECT a.id, v.y FROM $T AS a JOIN (VALUES (1, 'p'), (2, 'q')) AS v(x, y) ON a.id = v.x",
        "VALUES (1, 'a'), (2, NULL)",
        "SELECT x FROM GENERATE_SERIES(1, 5) AS g(x)",
        "SELECT x FROM GENERATE_SERIES(5, 1, -2) AS g(x)",
        "SELECT x FROM RANGE(3) AS g(x)",
        "SELECT x FROM RANGE(2, 9, 3) AS g(x)",
        "SELECT x FROM RANGE(-3) AS g(x)",
        "SELECT x FROM RANGE(-1, 2) AS g(x)",
        "SELECT x FROM GENERATE_SERIES(9223372036854775806, 9223372036854775807) AS g(x)",
        "SELECT COUNT(*) AS c, SUM(x) AS s FROM RANGE(3000000) AS g(x)",
        "SELECT x FROM GENERATE_SERIES(3, 1) AS g(x)",
        "SELECT SUM(x) AS s FROM GENERATE_SERIES(1, 1000) AS g(x)",
        (
            "SELECT d FROM GENERATE_SERIES(TIMESTAMP '2024-01-30', TIMESTAMP '2024-04-01',"
            " INTERVAL '1 month') AS g(d)"
        ),
        (
            "SELECT d FROM RANGE(TIMESTAMP '2024-01-01', TIMESTAMP '2024-01-02',"
            " INTERVAL '6 hours') AS g(d)"
        ),
        (
            "SELECT x, COUNT(a.id) AS c FROM GENERATE_SERIES(0, 5) AS g(x)"
            " JOIN $T AS a ON a.id = x GROUP BY x"
        ),
        "SELECT a.id, g.x FROM $T AS a, GENERATE_SERIES(1, a.id) AS g(x)".replace("g.x", "x"),
    ],
)
def test_answers_are_those_of_duckdb(folder: Path, query: str) -> None:
    with duckdb.connect() as connection:
        connection.execute(
            "CREATE TABLE plain AS SELECT * FROM read_json(?)", [str(folder / "plain.json")]
        )
        theirs = connection.execute(query.replace("$T", "plain")).fetchall()
    assert sorted(rows(folder, query.replace("$T", "'plain.zion'")), key=str) == sorted(
        theirs, key=str
    )


def test_a_calendar_keeps_days_without_rows(folder: Path) -> None:
    query = (
        "SELECT g, COUNT(a.id) AS c FROM GENERATE_SERIES(2, 5) AS g"
        " LEFT JOIN 'plain.zion' AS a ON a.id = g GROUP BY g ORDER BY g"
    )
    assert rows(folder, query) == [(2, 1), (3, 1), (4, 0), (5, 0)]


def test_a_left_join_of_elements_keeps_rows_without(folder: Path) -> None:
    query = (
        "SELECT a.id, COALESCE(t, '-') AS t FROM 'plain.zion' AS a"
        " LEFT JOIN UNNEST(a.tags) AS t ON TRUE"
    )
    assert sorted(rows(folder, query)) == [
        (0, "a"), (0, "b"), (1, "-"), (2, "b"), (3, "a"), (3, "c"), (3, "c"),
    ]  # fmt: skip


def test_elements_of_any_type(folder: Path) -> None:
    """A value that is no list has no elements; the name hides a field of the same name."""
    query = "SELECT id, TYPE_BIT(e) AS t, o FROM 'mixed.zion', UNNEST(x) WITH ORDINALITY AS u(e, o)"
    assert sorted(rows(folder, query)) == [(1, 1, 3), (1, 4, 1), (1, 16, 2), (1, 32, 5), (1, 64, 4)]


@pytest.mark.parametrize(
    "query",
    [
        "SELECT t FROM a, UNNEST(a.b) WITH ORDINALITY AS u(t, o)",
        "SELECT x FROM GENERATE_SERIES(1, 2) AS g(x), b AS c",
        "SELECT v.x FROM (VALUES (1, 'a')) AS v(x, y)",
        "VALUES (1, 2), (3, 4)",
    ],
)
def test_what_is_written_is_read_again(query: str) -> None:
    statement = parse(query)
    assert parse(printer.statement(statement)) == statement


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("SELECT * FROM UNNEST(1, 2) AS x", "1 is no list"),
        ("SELECT * FROM UNNEST('a') AS x", "'a' is no list"),
        ("SELECT * FROM GENERATE_SERIES(1, 'a') AS x", "takes whole numbers, not 'a'"),
        ("SELECT * FROM GENERATE_SERIES(1, 2.5) AS x", "takes whole numbers, not 2.5"),
        ("SELECT * FROM GENERATE_SERIES(1, 2, 0) AS x", "the step of a series has to go"),
        ("SELECT * FROM GENERATE_SERIES(1, 2) AS g(x, y)", "GENERATE_SERIES has 1 column"),
        ("VALUES (1, 2), (3)", "a row has 1 values, the first one 2"),
        ("SELECT * FROM (VALUES (1)) AS v(x, y)", "VALUES has 1 columns, 2 have a name"),
        ("SELECT * FROM UNNEST([1]) WITH TIES AS x", "ORDINALITY is expected"),
    ],
)
def test_faults_are_said_in_words(folder: Path, query: str, message: str) -> None:
    with pytest.raises(QueryError) as caught:
        rows(folder, query)
    assert message in caught.value.message


@pytest.mark.parametrize(
    "query",
    [
        "SELECT id, UNNEST(tags) AS tag FROM {t}",
        "SELECT UNNEST([1, 2, 3]) AS x, UNNEST(['a']) AS y",
        "SELECT UPPER(UNNEST(tags)) AS tag FROM {t} WHERE id > 1",
        "SELECT DISTINCT UNNEST(tags) AS tag FROM {t}",
        "SELECT tag, COUNT(*) AS n FROM (SELECT UNNEST(tags) AS tag FROM {t}) AS q GROUP BY tag",
        "SELECT p.id, UNNEST(p.tags) AS tag FROM {t} AS p JOIN {t} AS u ON p.id = u.id + 1",
        "SELECT id, UNNEST(tags) AS x, UNNEST([id, id, id, id]) AS y FROM {t}",
        "SELECT id FROM {t} WHERE id IN (SELECT UNNEST([1, 3]))",
        "SELECT x, n FROM UNNEST([7, 8]) WITH ORDINALITY AS u(x, n)",
        "SELECT UNNEST(GENERATE_SERIES(2, 4)) AS x",
        "SELECT x FROM UNNEST(RANGE(3)) AS u(x)",
    ],
)
def test_unnest_is_that_of_duckdb(tmp_path: Path, query: str) -> None:
    rows = [{"id": 1, "tags": ["a", "b"]}, {"id": 2, "tags": []}, {"id": 3, "tags": ["b"]}]
    rows.append({"id": 4, "tags": ["x", "y", "z"]})
    (tmp_path / "t.json").write_text("".join(json.dumps(row) + "\n" for row in rows))
    sdb.pack([str(tmp_path / "t.json")], str(tmp_path / "t.zion"))
    with duckdb.connect() as connection:
        connection.execute(
            "CREATE TABLE t AS SELECT * FROM read_json(?)", [str(tmp_path / "t.json")]
        )
        theirs = connection.execute(query.format(t="t"))
        names = [column[0] for column in theirs.description or ()]
        expected = [list(row) for row in theirs.fetchall()]
    with sdb.sql(query.format(t="'t.zion'"), root=str(tmp_path)) as result:
        # What a shorter list lacks is NULL there.
        answer = [[row.get(name) for name in names] for row in result]
    assert sorted(answer, key=repr) == sorted(expected, key=repr)
    statement = parse(query.format(t="'t.zion'"))
    assert parse(printer.statement(statement)) == statement


def test_unnest_in_the_select_list(tmp_path: Path) -> None:
    """It may be a key; what is no list has no rows; names are `unnest` and `unnest_2`."""
    rows = [{"l": [1, 2], "u": 5}, {"l": "x"}, {"l": None}, {}, {"l": [2, None, {"a": 1}]}]
    (tmp_path / "t.json").write_text("".join(json.dumps(row) + "\n" for row in rows))
    sdb.pack([str(tmp_path / "t.json")], str(tmp_path / "t.zion"))

    def answer(items: str) -> list[dict[str, Any]]:
        with sdb.sql(items.replace("{t}", "'t.zion'"), root=str(tmp_path)) as result:
            return [dict(row) for row in result]

    grouped = [{"x": None, "n": 1}, {"x": 1, "n": 1}, {"x": 2, "n": 2}, {"x": {"a": 1}, "n": 1}]
    for key in ("x", "1", "UNNEST(l)", "ALL"):
        query = f"SELECT UNNEST(l) AS x, COUNT(*) AS n FROM {{t}} GROUP BY {key}"
        assert sorted(answer(query), key=repr) == sorted(grouped, key=repr)
    assert answer("SELECT UNNEST(l) FROM {t} WHERE u = 5") == [{"unnest": 1}, {"unnest": 2}]
    both = "SELECT UNNEST(l), UNNEST([7, 8, 9]) FROM {t} WHERE u = 5"
    assert answer(both) == [
        {"unnest": 1, "unnest_2": 7},
        {"unnest": 2, "unnest_2": 8},
        {"unnest_2": 9},
    ]
    whole = answer("SELECT *, UNNEST(l) AS x FROM {t} WHERE u = 5")
    assert whole == [{"l": [1, 2], "u": 5, "x": 1}, {"l": [1, 2], "u": 5, "x": 2}]
    nested = answer("SELECT UNNEST(UNNEST([[1, 2], [3]])) AS x")
    assert sorted(row["x"] for row in nested) == [1, 2, 3]
    beside = answer("SELECT x, y, n FROM UNNEST([1, 2], ['a']) WITH ORDINALITY AS u(x, y, n)")
    assert beside == [{"x": 1, "y": "a", "n": 1}, {"x": 2, "n": 2}]
    for query, message in (
        ("SELECT u FROM {t} WHERE UNNEST(l) = 1", "UNNEST makes rows: no condition takes it"),
        ("SELECT COUNT(UNNEST(l)) FROM {t}", "UNNEST makes rows: no aggregate takes it"),
        ("SELECT UNNEST(ARRAY_AGG(u)) FROM {t}", "UNNEST takes no aggregate"),
        ("SELECT UNNEST(l), COUNT(*) FROM {t}", "UNNEST in a grouped query has to be a key"),
        ("SELECT UNNEST(l), RANK() OVER (ORDER BY u) FROM {t}", "not go with window functions"),
        ("SELECT UNNEST(l, u) FROM {t}", "UNNEST got 2 arguments"),
        ("SELECT [u] AS a, UNNEST(a) FROM {t}", "a, which is a name of the select list"),
        ("SELECT x FROM UNNEST(NOTHING(1)) AS x", "unrecognized builtin"),
        ("SELECT GENERATE_SERIES(1, 2)", "unrecognized builtin"),
    ):
        with pytest.raises(QueryError) as caught:
            answer(query)
        assert message in caught.value.message
