"""Multiples of intervals, CONCAT of any type, and sums of decimals."""

from __future__ import annotations

import json
import random
from datetime import UTC, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import duckdb
import pytest

import sdb
from sdb.errors import QueryError
from sdb.query.syntax import printer
from sdb.query.syntax.parser import parse

if TYPE_CHECKING:
    from pathlib import Path

ROWS = [
    {"id": number, "a": f"2026-01-{number + 1:02}T03:04:05Z", "n": n, "x": number / 4}
    for number, n in enumerate([0, 1, -2, 3, 7])
]
TIMES = [
    "a + 2 * INTERVAL '1 day'",
    "a + INTERVAL '1 day' * 3",
    "a - 2 * INTERVAL '90 minutes'",
    "a + n * INTERVAL '1 day'",
    "a - n * INTERVAL '1 hour'",
    "a + INTERVAL '1 hour' * n * 2",
    "a + x * INTERVAL '1 day'",
    "a + n * INTERVAL '1 month'",
    "a + (INTERVAL '1 day' + INTERVAL '2 hours')",
    "a + INTERVAL '1 day' - INTERVAL '2 hours'",
    "a - (INTERVAL '1 day' - INTERVAL '2 hours')",
    "INTERVAL '1 day' + a",
    "-INTERVAL '1 day' + a",
    "a + INTERVAL '1 day' / 4",
    "a + INTERVAL (n) DAY",
    "a - INTERVAL (n + 1) HOUR",
    "a + INTERVAL '2 months' / 2",
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("spans")
    (folder / "t.json").write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    sdb.pack([folder / "t.json"], folder / "t.zion")
    return folder


def values(folder: Path, expression: str) -> list[Any]:
    query = f"SELECT id, {expression} AS v FROM 't.zion' ORDER BY id"
    with sdb.sql(query, root=str(folder)) as result:
        return [row.get("v", ...) for row in result]


def one(query: str, **options: Any) -> Any:
    with sdb.sql(query, **options) as result:
        (row,) = [dict(row) for row in result]
    return next(iter(row.values()), ...)


@pytest.mark.parametrize("expression", TIMES)
def test_multiples_of_intervals_are_those_of_duckdb(folder: Path, expression: str) -> None:
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'UTC'")
        read = "read_json(?, columns = {id: 'BIGINT', a: 'TIMESTAMP', n: 'BIGINT', x: 'DOUBLE'})"
        connection.execute(f"CREATE TABLE t AS FROM {read}", [str(folder / "t.json")])
        query = f"SELECT {expression} FROM t ORDER BY id"
        theirs = [row[0].replace(tzinfo=UTC) for row in connection.execute(query).fetchall()]
    assert values(folder, expression) == theirs
    statement = parse(f"SELECT {expression} AS v FROM 't.zion'")
    assert parse(printer.statement(statement)) == statement


@pytest.mark.parametrize(
    ("expression", "wanted"),
    [
        ("(TIMESTAMP '2026-01-02' - TIMESTAMP '2026-01-01') - INTERVAL '1 hour'", 82800),
        ("(TIMESTAMP '2026-01-02' - TIMESTAMP '2026-01-01') / INTERVAL '1 hour'", 24),
        ("INTERVAL '1 day' / INTERVAL '6 hours'", 4),
        ("INTERVAL '1 day' * 1.5", 129600),
        ("-INTERVAL '90 seconds'", -90),
        ("TIMESTAMP '2026-01-31' + 1 * INTERVAL '1 month'", datetime(2026, 3, 3, tzinfo=UTC)),
        (
            "CONCAT('a', 1, TRUE, 2.5, NULL, MISSING, TIMESTAMP '2026-01-01')",
            "a1true2.52026-01-01T00:00:00Z",
        ),
        ("CONCAT()", None),
        ("CONCAT(NULL)", ""),
        ("CONCAT([1, 'x'], {'a': NULL})", '[1, "x"]{"a": null}'),
        ("'a' LIKE CONCAT('%', 'a')", True),
        ("0.1::DECIMAL(5, 2) + 0.2::DECIMAL(5, 2) = 0.3", True),
        ("0.1 + 0.2 = 0.3", True),
        ("3 * 0.1::DECIMAL(5, 2) - 1", -0.7),
        ("1.1::DECIMAL(5, 2) * 1.1::DECIMAL(5, 2)", 1.21),
        ("'1.005'::DECIMAL(5, 2)", 1.01),
        ("'12345.67'::DECIMAL(5, 2)", None),
        ("'x'::text::DECIMAL(5, 2)", None),
    ],
)
def test_constants(expression: str, wanted: Any) -> None:
    if expression == "CONCAT()":
        with pytest.raises(QueryError):
            one(f"SELECT {expression} AS v")
        return
    assert one(f"SELECT {expression} AS v") == wanted


def test_a_span_by_another_name(folder: Path) -> None:
    spans = values(folder, "a - TIMESTAMP '2026-01-01'")
    moved = values(folder, "a - TIMESTAMP '2026-01-01' AS d, d - INTERVAL '1 hour'")
    assert moved == [span - 3600 for span in spans]
    assert (
        one(
            "SELECT SUM(a - TIMESTAMP '2026-01-01') - INTERVAL '1 hour' AS v FROM 't.zion'",
            root=str(folder),
        )
        == sum(spans) - 3600
    )


def test_concat_of_fields(tmp_path: Path) -> None:
    rows = [{"v": 1}, {"v": 2.5}, {"v": "t"}, {"v": True}, {"v": None}, {}, {"v": [1]}]
    (tmp_path / "m.json").write_text("".join(json.dumps(row) + "\n" for row in rows))
    sdb.pack([tmp_path / "m.json"], tmp_path / "m.zion")
    with sdb.sql("SELECT CONCAT('<', v, '>') AS v FROM 'm.zion'", root=str(tmp_path)) as result:
        texts = [row["v"] for row in result]
    assert texts == ["<1>", "<2.5>", "<t>", "<true>", "<>", "<>", "<[1]>"]
    with sdb.sql("SELECT '<' || v AS v FROM 'm.zion'", root=str(tmp_path)) as result:
        assert [row.get("v") for row in result] == ["<1", "<2.5", "<t", "<true", None, None, "<[1]"]


@pytest.mark.parametrize("is_text", [True, False])
def test_sums_of_decimals_are_exact(tmp_path: Path, *, is_text: bool) -> None:
    chance = random.Random(5)
    cents = [chance.randint(-(10**9), 10**9) for _ in range(5000)]
    prices = [Decimal(cent).scaleb(-2) for cent in cents]
    rows = [
        {"p": str(price) if is_text else float(price), "g": n % 3} for n, price in enumerate(prices)
    ]
    (tmp_path / "d.json").write_text("".join(json.dumps(row) + "\n" for row in rows))
    sdb.pack([tmp_path / "d.json"], tmp_path / "d.zion")
    total = sum(prices)
    for query, wanted in (
        ("SELECT SUM(p::DECIMAL(12, 2)) AS v FROM 'd.zion'", float(total)),
        ("SELECT SUM(-1 * p::DECIMAL(12, 2)) AS v FROM 'd.zion'", float(-total)),
        ("SELECT AVG(p::DECIMAL(12, 2)) AS v FROM 'd.zion'", float(total / 5000)),
        (
            "SELECT SUM(x) AS v FROM (SELECT p::DECIMAL(12, 2) AS x FROM 'd.zion') AS q",
            float(total),
        ),
        (
            (
                "WITH q AS (SELECT g, SUM(p::DECIMAL(12, 2)) AS s FROM 'd.zion' GROUP BY g) "
                "SELECT SUM(s) AS v FROM q"
            ),
            float(total),
        ),
        (
            (
                "SELECT SUM(p::DECIMAL(12, 2)) FILTER (WHERE g = 1) - SUM(p::DECIMAL(12, 2)) AS v "
                "FROM 'd.zion'"
            ),
            float(sum(prices[1::3]) - total),
        ),
    ):
        assert one(query, root=str(tmp_path)) == wanted, query
    with sdb.sql("SELECT SUM(p::DECIMAL(12, 2)) AS v FROM 'd.zion'", root=str(tmp_path)) as result:
        table = result.to_arrow()
    assert str(table.schema.field("v").type) == "double"


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("SELECT INTERVAL '1 month' * 2", "months and years have no fixed length"),
        ("SELECT INTERVAL (5) APPLES", "a unit is expected behind INTERVAL"),
        ("SET dialect = sneller; SELECT 'a' || 1", "not compatible with type string"),
        ("SELECT TIMESTAMP '2026-01-01' + n * 5 FROM 'x.zion'", "arguments are not numeric"),
    ],
)
def test_faults_are_said_in_words(query: str, message: str) -> None:
    with pytest.raises(QueryError) as caught:
        one(query)
    assert message in caught.value.message
