"""Joins against DuckDB on typed rows, and by hand where values are MISSING, NULL or mixed."""

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

_RNG = random.Random(31)
TYPED = {
    name: [
        {"k": _RNG.randrange(6), "t": _RNG.randrange(40), name: number} for number in range(count)
    ]
    for name, count in (("x", 25), ("y", 18), ("z", 9))
}
MIXED = {
    "m": [{"i": 1, "k": 1}, {"i": 2, "k": None}, {"i": 3}, {"i": 4, "k": "1"}, {"i": 5, "k": 2}],
    "n": [{"j": 1, "k": 1.0}, {"j": 2, "k": None}, {"j": 3}, {"j": 4, "k": True}],
    "ticks": [
        {"at": "2026-11-01T00:00:00Z", "host": "a", "v": 1},
        {"at": "2026-11-01T01:00:00Z", "host": "a", "v": 2},
        {"at": "2026-11-01T00:30:00Z", "host": "b", "v": 3},
        {"at": 7, "host": "a", "v": 4},
        {"host": "a", "v": 5},
        {"at": "2026-11-01T00:10:00Z", "v": 6},
    ],
    "logs": [
        {"at": "2026-11-01T00:59:00Z", "host": "a", "e": "one"},
        {"at": "2026-11-01T09:00:00Z", "host": "b", "e": "two"},
        {"at": "2026-10-01T00:00:00Z", "host": "b", "e": "early"},
        {"at": 8.5, "host": "a", "e": "number"},
        {"at": "never", "host": "a", "e": "text"},
        {"host": "a", "e": "none"},
        {"at": "2026-11-01T09:00:00Z", "e": "no host"},
    ],
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("joins")
    for name, rows in (TYPED | MIXED).items():
        (folder / f"{name}.json").write_text("".join(json.dumps(row) + "\n" for row in rows))
        sdb.pack([str(folder / f"{name}.json")], str(folder / f"{name}.zion"))
    return folder


def _rows(folder: Path, query: str) -> list[dict[str, Any]]:
    with sdb.sql(query, root=str(folder), threads=1) as result:
        return [json.loads(line) for line in b"".join(result.lines()).splitlines()]


def _expected(query: str) -> list[dict[str, Any]]:
    with duckdb.connect() as connection:
        for name, rows in TYPED.items():
            values = ", ".join(str(tuple(row.values())) for row in rows)
            connection.execute(f"CREATE TABLE {name} AS FROM (VALUES {values}) AS v(k, t, {name})")
        result = connection.sql(query)
        names = result.columns
        return [
            {name: value for name, value in zip(names, row, strict=True) if value is not None}
            for row in result.fetchall()
        ]


def _counted(rows: list[dict[str, Any]]) -> Counter[str]:
    """Count rows; what is NULL there may be absent here."""
    present = [{name: value for name, value in row.items() if value is not None} for row in rows]
    return Counter(json.dumps(row, sort_keys=True) for row in present)


QUERIES = [
    "SELECT x, y FROM x JOIN y USING (k)",
    "SELECT k, x, y FROM x JOIN y USING (k)",
    "SELECT k, a.x, b.y FROM x AS a FULL JOIN y AS b USING (k)",
    "SELECT k, a.x, b.y FROM x AS a RIGHT JOIN y AS b USING (k) WHERE a.x > 3",
    "SELECT k, t, x, y FROM x LEFT JOIN y USING (k, t)",
    "SELECT k, x, y, z FROM x JOIN y USING (k) JOIN z USING (k)",
    "SELECT k, COUNT(*) AS n FROM x AS a FULL OUTER JOIN y AS b USING (k) GROUP BY k",
    "SELECT x, y, k FROM x NATURAL JOIN y",
    "SELECT k, x, y FROM x NATURAL LEFT JOIN y",
    "SELECT a.x, b.y FROM x AS a FULL JOIN y AS b ON a.k = b.k AND a.t > b.t",
    "SELECT a.x, b.y FROM x AS a FULL JOIN y AS b ON a.t < b.t",
    "SELECT a.x, b.y FROM x AS a LEFT JOIN y AS b ON a.k = b.k AND b.t > 20 AND a.t < 9",
    "SELECT a.x, b.y FROM x AS a LEFT JOIN y AS b ON a.k = b.k WHERE b.t > 20",
    "SELECT a.x FROM x AS a LEFT JOIN y AS b ON a.k = b.k AND b.t > 20 WHERE b.t IS MISSING",
    "SELECT a.x, b.y FROM x AS a FULL JOIN y AS b ON a.k = b.k WHERE a.t > 20 OR b.t < 3",
    "SELECT a.x, b.y FROM x AS a JOIN y AS b ON a.t BETWEEN b.t AND b.t + 3",
    "SELECT a.x, b.y FROM x AS a JOIN y AS b ON a.k = b.k OR a.t = b.t",
    "SELECT a.x FROM x AS a SEMI JOIN y AS b ON a.k = b.k AND a.t < b.t",
    "SELECT a.x FROM x AS a ANTI JOIN y AS b ON a.t = b.t",
    "SELECT a.x, c.z FROM x AS a SEMI JOIN y AS b ON a.t < b.t JOIN z AS c ON a.k = c.k",
    "SELECT a.x FROM x AS a ANTI JOIN y AS b USING (k, t) WHERE a.t > 10",
    "SELECT a.x, b.y, c.z FROM x AS a JOIN y AS b ON a.t = b.t RIGHT JOIN z AS c ON c.k = a.k",
    "SELECT a.x, b.y, c.z FROM x AS a LEFT JOIN y AS b ON a.t = b.t FULL JOIN z AS c ON c.k = b.k",
    (
        "SELECT a.x, MAX(b.t) AS t FROM x AS a ASOF JOIN y AS b ON a.k = b.k AND a.t >= b.t"
        " GROUP BY a.x"
    ),
    "SELECT a.x, b.t FROM x AS a ASOF JOIN y AS b ON a.t > b.t AND a.k = b.k WHERE b.t < 20",
    "SELECT a.x, b.t FROM x AS a ASOF LEFT JOIN y AS b ON b.k = a.k AND b.t <= a.t",
    "SELECT a.x, b.t FROM x AS a ASOF JOIN y AS b ON a.t < b.t",
    "SELECT a.x, b.t AS u FROM x AS a ASOF LEFT JOIN y AS b USING (k, t)",
    "SELECT a.x, q.n FROM x AS a, LATERAL (SELECT COUNT(*) AS n FROM y AS b WHERE b.k = a.k) AS q",
    (
        "SELECT a.x, q.t FROM x AS a JOIN LATERAL"
        " (SELECT b.t FROM y AS b WHERE b.k = a.k ORDER BY b.t DESC LIMIT 1) AS q ON TRUE"
    ),
    "SELECT a.x FROM x AS a WHERE EXISTS (SELECT 1 FROM y AS b WHERE b.k = a.k AND b.t > a.t)",
    "SELECT a.x, (SELECT COUNT(*) FROM y AS b WHERE b.t < a.t) AS n FROM x AS a",
    "SELECT a.x FROM x AS a WHERE a.t IN (SELECT b.t FROM y AS b WHERE b.k >= a.k)",
]


@pytest.mark.parametrize("query", QUERIES)
def test_joins_answer_as_duckdb_does(folder: Path, query: str) -> None:
    expected = _expected(query.replace("MISSING", "NULL"))
    assert _counted(_rows(folder, query)) == _counted(expected)
    assert parse(printer.statement(parse(query))) == parse(query)


@pytest.mark.parametrize(
    ("join", "pairs"),
    [
        ("JOIN n USING (k)", {(1, 1)}),
        ("FULL JOIN n USING (k)", {(1, 1), (2, 0), (3, 0), (4, 0), (5, 0), (0, 2), (0, 3), (0, 4)}),
        ("LEFT JOIN n USING (k)", {(1, 1), (2, 0), (3, 0), (4, 0), (5, 0)}),
        ("NATURAL JOIN n", {(1, 1)}),
    ],
)
def test_nulls_join_nothing(folder: Path, join: str, pairs: set[tuple[int, int]]) -> None:
    rows = _rows(folder, f"SELECT i, j FROM m {join}")
    assert sorted((row.get("i") or 0, row.get("j") or 0) for row in rows) == sorted(pairs)


def test_semi_and_anti_joins_part_the_rows(folder: Path) -> None:
    with_partner = _rows(folder, "SELECT i FROM m SEMI JOIN n USING (k) ORDER BY i")
    without = _rows(folder, "SELECT i FROM m ANTI JOIN n USING (k) ORDER BY i")
    assert [row["i"] for row in with_partner] == [1]
    assert [row["i"] for row in without] == [2, 3, 4, 5]


def test_order_joins_values_of_one_type(folder: Path) -> None:
    rows = _rows(folder, "SELECT a.i, b.j FROM m AS a JOIN n AS b ON a.k > b.k")
    assert rows == [{"i": 5, "j": 1}]


def test_asof_joins_the_nearest_of_the_same_type(folder: Path) -> None:
    query = (
        "SELECT a.e, b.v FROM logs AS a ASOF LEFT JOIN ticks AS b"
        " ON a.host = b.host AND a.at >= b.at"
    )
    rows = {row["e"]: row.get("v") for row in _rows(folder, query)}
    assert rows == {
        "one": 1,
        "two": 3,
        "early": None,
        "number": 4,
        "text": None,
        "none": None,
        "no host": None,
    }
    inner = _rows(folder, query.replace("LEFT ", "") + " WHERE b.v < 3")
    assert inner == [{"e": "one", "v": 1}]


def test_the_star_has_a_common_field_once(folder: Path) -> None:
    query = "SELECT * FROM (SELECT 1 AS k, 2 AS a) AS p FULL JOIN (SELECT 3 AS k) AS q USING (k)"
    assert _rows(folder, f"{query} ORDER BY k") == [{"k": 1, "a": 2}, {"k": 3}]
    rows = _rows(folder, "SELECT * EXCLUDE (t) FROM x ANTI JOIN y USING (k, t) LIMIT 1")
    assert set(rows[0]) == {"k", "x"}


@pytest.mark.parametrize(
    "query",
    [
        "SELECT a.p FROM lots AS a LEFT JOIN few AS b ON a.p = b.p WHERE b.s IS MISSING",
        "SELECT a.p FROM few AS a FULL JOIN lots AS b ON a.p = b.p WHERE a.p IS MISSING",
        "SELECT a.p FROM lots AS a LEFT JOIN few AS b ON a.p = b.p WHERE COALESCE(b.s, 0) = 0",
        "SELECT a.p FROM lots AS a ANTI JOIN few AS b ON a.p = b.p WHERE a.p < 3000",
        "SELECT a.p FROM lots AS a ASOF JOIN few AS b ON a.p >= b.p WHERE b.p > 4000",
        "SELECT a.p FROM lots AS a FULL JOIN few AS b ON a.p = b.p WHERE b.s > 3 AND a.p > 40",
        (
            "SELECT a.p FROM few AS a RIGHT JOIN lots AS b ON a.p = b.p JOIN few AS c ON c.p = b.p"
            " WHERE a.s = 3"
        ),
    ],
)
def test_no_block_is_left_out_that_matters(tmp_path: Path, query: str) -> None:
    lots = [{"p": n, "s": n // 1000, "text": f"{n:0200}"} for n in range(6000)]
    few = [row for row in lots if row["p"] % 7 == 0]
    for name, rows in (("lots", lots), ("few", few)):
        text = "".join(json.dumps(row) + "\n" for row in rows)
        (tmp_path / f"{name}.json").write_text(text)
        source, path = str(tmp_path / f"{name}.json"), str(tmp_path / f"{name}.zion")
        sdb.pack([source], path, align_bytes=32 << 10, block_bytes=64 << 10)
    with duckdb.connect() as connection:
        for name in ("lots", "few"):
            path = tmp_path / f"{name}.json"
            connection.execute(f"CREATE TABLE {name} AS FROM read_json('{path}')")
        rows = connection.sql(query.replace("MISSING", "NULL")).fetchall()
    answer = [row.get("p") for row in _rows(tmp_path, query)]
    assert Counter(answer) == Counter(value for (value,) in rows)
    assert answer


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("SELECT 1 FROM x AS a ASOF JOIN y AS b ON a.k = b.k", "the condition has none"),
        ("SELECT 1 FROM x AS a ASOF JOIN y AS b ON a.k < b.k AND a.t > b.t", "more than one"),
        ("SELECT 1 FROM x AS a ASOF JOIN y AS b ON a.k LIKE 'x'", "takes comparisons"),
        ("SELECT 1 FROM x AS a ASOF JOIN y AS b ON a.k >= a.t", "one table with those"),
        ("SELECT 1 FROM x AS a ASOF JOIN y AS b ON a.k + b.k >= b.t", "one table with those"),
        ("SELECT 1 FROM x ASOF JOIN y ON k >= t", "a field of several tables"),
        ("SELECT 1 FROM x NATURAL ASOF JOIN y", "has no order"),
        ("SELECT 1 FROM (SELECT 1 AS a) AS p NATURAL JOIN (SELECT 2 AS b) AS q", "in common"),
        ("SELECT 1 FROM x JOIN y ON x = y JOIN z USING (k)", "several tables on the left have k"),
        ("SELECT b.y FROM x AS a SEMI JOIN y AS b ON a.k = b.k", "undefined variable"),
        ("SELECT 1 FROM x JOIN y WHERE k = 1", "ON or USING is expected"),
        ("SELECT 1 FROM UNPIVOT x AS v AT n FULL JOIN y AS b ON b.k = v", "not UNPIVOT"),
    ],
)
def test_what_is_refused_is_said_in_words(folder: Path, query: str, words: str) -> None:
    with pytest.raises(QueryError, match=words):
        _rows(folder, query)


def test_words_of_joins_stay_names(folder: Path) -> None:
    assert _rows(folder, "SELECT full.k FROM x AS full WHERE full.x = 0") == [
        {"k": TYPED["x"][0]["k"]}
    ]
    assert len(_rows(folder, "SELECT anti.k FROM x anti WHERE anti.x < 2")) == 2


@pytest.mark.parametrize(
    "query",
    [
        "SELECT x, t FROM x AS a WHERE k > 2 ORDER BY x",
        "SELECT x FROM x AS a WHERE EXISTS (SELECT 1 FROM y AS b WHERE b.k = a.k AND y < x)",
        "SELECT x, y FROM x AS a JOIN y AS b ON a.k = b.k",
        "SELECT k, COUNT(*) AS n FROM x AS a GROUP BY k",
    ],
)
def test_a_bare_name_is_the_field_of_the_table_that_has_it(folder: Path, query: str) -> None:
    assert _counted(_rows(folder, query)) == _counted(_expected(query))


def test_a_bare_name_of_several_tables_is_refused(folder: Path) -> None:
    with pytest.raises(QueryError, match="k is a field of several tables"):
        _rows(folder, "SELECT k FROM x AS a JOIN y AS b ON a.x = b.y")
    with pytest.raises(QueryError, match="undefined variable"):
        _rows(folder, "SELECT nothing FROM x AS a JOIN y AS b ON a.x = b.y")
