"""Random queries of the whole grammar, by DuckDB, and values of any type, by an evaluator."""

from __future__ import annotations

import json
import math
from datetime import datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import duckdb
import pytest

import sdb
from sdb.errors import QueryError
from tests import mixedvalues, sqlqueries
from tests.amounts import usual

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    Engines = tuple[Path, duckdb.DuckDBPyConnection]

QUERIES = 120
EXPRESSIONS = 40


def packed(folder: Path, name: str, rows: list[dict[str, Any]]) -> Path:
    path = folder / f"{name}.json"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    sdb.pack([path], folder / f"{name}.zion")
    return path


@pytest.fixture(scope="module")
def engines(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engines]:
    folder = tmp_path_factory.mktemp("random")
    types = ", ".join(f"{name}: '{kind}'" for name, kind in sqlqueries.TYPES.items())
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'UTC'")
        for name, rows in sqlqueries.rows().items():
            path = packed(folder, name, rows)
            connection.execute(
                f"CREATE TABLE {name} AS SELECT * FROM read_json('{path}', columns = {{{types}}})"
            )
        yield folder, connection


@pytest.fixture(scope="module")
def mixed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("mixed")
    packed(folder, "m", mixedvalues.rows())
    return folder


def plain(value: Any) -> Any:
    """Return a value so that those of both engines sort and compare."""
    if isinstance(value, datetime):
        return value.replace(tzinfo=None).isoformat()
    if isinstance(value, list):
        return [plain(item) for item in value]
    if isinstance(value, int | float | Decimal) and not isinstance(value, bool):
        number = float(value)
        return 0.0 if abs(number) < 1e-9 else float(f"{number:.9g}")
    return value


def differs(tables: Engines, seed: int) -> str:
    """Return what is different in the answers to a query; nothing if they are equal."""
    folder, duck = tables
    query = sqlqueries.Queries(seed).query()
    cursor = duck.execute(query)
    names = [column[0] for column in cursor.description or ()]
    expected = sorted(([plain(value) for value in row] for row in cursor.fetchall()), key=repr)
    try:
        with sdb.sql(query, root=str(folder), threads=1) as result:
            rows = [[plain(row.get(name)) for name in names] for row in result]
    except QueryError as error:
        return f"seed {seed}: {error}\n{query}"
    actual = sorted(rows, key=repr)
    if actual == expected:
        return ""
    ours = [row for row in actual if row not in expected][:3]
    theirs = [row for row in expected if row not in actual][:3]
    return f"seed {seed}: {len(actual)}, not {len(expected)} rows, {ours}, not {theirs}\n{query}"


@pytest.mark.seeds
@pytest.mark.timeout(1800)  # on a busy machine
def test_random_queries_are_answered_as_by_duckdb(engines: Engines) -> None:
    for seed in range(usual(QUERIES)):
        assert not differs(engines, seed)


def evaluated(folder: Path, seed: int) -> bool:
    """Compare an expression, and the rows that it selects; return whether it is accepted."""
    is_condition = bool(seed % 2)
    mixed = mixedvalues.Mixed(seed)
    text, function = (mixed.condition if is_condition else mixed.value)(3)
    query = f"SELECT id, {text} AS v FROM m"
    try:
        with sdb.sql(query, root=str(folder), threads=1) as result:
            answers = {row["id"]: row.get("v") for row in result}
        where = f"WHERE {text}" if is_condition else f"WHERE {text} IS NOT NULL"
        with sdb.sql(f"SELECT id FROM m {where}", root=str(folder), threads=1) as result:
            selected = {row["id"] for row in result}
    except QueryError as error:
        assert "ill-typed" in error.message, f"seed {seed}: {query}: {error}"  # noqa: PT017
        return False
    for row in mixedvalues.rows():
        ours, wanted = answers[row["id"]], function(row)
        assert is_same(ours, wanted), f"seed {seed}: {query}: {row}: {ours}, not {wanted}"
        is_kept = wanted is True if is_condition else wanted is not None
        assert (row["id"] in selected) is is_kept, f"seed {seed}: {where}: {row}"
    return True


def is_same(ours: Any, wanted: Any) -> bool:
    if all(isinstance(value, int | float) and value is not True for value in (ours, wanted)):
        is_boolean = isinstance(ours, bool) or isinstance(wanted, bool)
        return ours is wanted if is_boolean else math.isclose(ours, wanted, rel_tol=1e-9)
    return type(ours) is type(wanted) and bool(ours == wanted)


@pytest.mark.seeds
@pytest.mark.timeout(600)  # on a busy machine
def test_values_of_any_type_are_as_evaluated(mixed: Path) -> None:
    accepted = sum(evaluated(mixed, seed) for seed in range(usual(EXPRESSIONS)))
    assert accepted > usual(EXPRESSIONS) // 2


@pytest.mark.slow
@pytest.mark.timeout(36_000)
@pytest.mark.parametrize("part", range(50))
def test_fifty_thousand_random_queries(engines: Engines, part: int) -> None:
    first = QUERIES + 1000 * part
    wrong = [text for seed in range(first, first + 1000) if (text := differs(engines, seed))]
    assert not wrong, "\n".join(wrong)


@pytest.mark.slow
@pytest.mark.timeout(36_000)
def test_ten_thousand_expressions_of_any_type(mixed: Path) -> None:
    for seed in range(EXPRESSIONS, EXPRESSIONS + 10_000):
        evaluated(mixed, seed)
