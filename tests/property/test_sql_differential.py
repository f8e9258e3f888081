"""Random queries over typed rows, answered by DuckDB over the same rows, and by a small evaluator.

The grammar has a typed model: each expression is made with its type, and as a pair of texts, ours
and DuckDB's. Rows that lack values have the answers of DuckDB's NULL. What MISSING and NULL do in
the dialect of the original is evaluated row by row in Python, over rows whose fields have any type.
"""

from __future__ import annotations

import json
import random
from typing import TYPE_CHECKING, Any

import duckdb
import pytest

import sdb
from sdb.errors import QueryError
from tests import sqlshapes
from tests.amounts import usual
from tests.sqlgrammar import agree, plain
from tests.sqlshapes import Shapes, Sparse

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    Engines = tuple[Path, duckdb.DuckDBPyConnection]
    Evaluate = Callable[[dict[str, Any]], Any]

QUERIES = 120
SPARSE = 60
EXPRESSIONS = 60
MISSING = ...
KINDS = [1, 2.5, -3, "", "a", "b", True, False, None, MISSING]
MIXED = [
    {"id": number}
    | {name: value for name, value in (("x", x), ("y", y), ("z", z)) if value is not MISSING}
    for number, (x, y, z) in enumerate(
        (x, y, KINDS[(3 * i + j) % len(KINDS)])
        for i, x in enumerate(KINDS)
        for j, y in enumerate(KINDS)
    )
]


class Evaluated:
    """Random expressions over fields of any type, each with a function that evaluates it."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def value(self, depth: int) -> tuple[str, Evaluate]:
        if depth <= 0 or self.random.random() < 0.2:
            name = self.random.choice("xyz")
            return name, lambda row: row.get(name, MISSING)
        makers = [self.arithmetic, self.text, self.condition, self.coalesce, self.nullif, self.case]
        return self.random.choice(makers)(depth - 1)

    def arithmetic(self, depth: int) -> tuple[str, Evaluate]:
        (first, a), (second, b) = self.value(depth), self.value(depth)
        op = self.random.choice("+-*")
        by = {"+": lambda x, y: x + y, "-": lambda x, y: x - y, "*": lambda x, y: x * y}[op]
        return f"({first} {op} {second})", lambda row: strict(by, is_number, a(row), b(row))

    def text(self, depth: int) -> tuple[str, Evaluate]:
        (first, a), (second, b) = self.value(depth), self.value(depth)
        name = self.random.choice(["UPPER", "CHAR_LENGTH", "||", "STRPOS", "REPEAT"])
        if name == "||":
            return f"({first} || {second})", lambda row: strict(
                lambda x, y: x + y, is_text, a(row), b(row)
            )
        if name == "STRPOS":
            return f"STRPOS({first}, {second})", lambda row: strict(
                lambda x, y: x.find(y) + 1, is_text, a(row), b(row)
            )
        if name == "REPEAT":
            return f"REPEAT({first}, 2)", lambda row: strict(lambda x: x * 2, is_text, a(row))
        by = str.upper if name == "UPPER" else len
        return f"{name}({first})", lambda row: strict(by, is_text, a(row))

    def condition(self, depth: int) -> tuple[str, Evaluate]:
        (first, a), (second, b) = self.value(depth), self.value(depth)
        op = self.random.choice(["=", "<>", "<", ">=", "AND", "OR", "NOT", "IS", "IS NOT"])
        if op in {"IS", "IS NOT"}:
            what = self.random.choice(["NULL", "MISSING", "TRUE", "FALSE"])
            negated = op == "IS NOT"
            # MISSING is not NULL, and not anything else than NULL.
            known = negated and what == "NULL"
            return (
                f"({first} {op} {what})",
                lambda row: is_(a(row), what) != negated and not (known and a(row) is MISSING),
            )
        if op == "NOT":
            return f"(NOT {first})", lambda row: strict(lambda x: not x, is_boolean, a(row))
        if op in {"AND", "OR"}:
            return f"({first} {op} {second})", lambda row: logic(op, a(row), b(row))
        return f"({first} {op} {second})", lambda row: comparison(op, a(row), b(row))

    def coalesce(self, depth: int) -> tuple[str, Evaluate]:
        (first, a), (second, b) = self.value(depth), self.value(depth)

        def evaluate(row: dict[str, Any]) -> Any:
            values = [value for value in (a(row), b(row)) if value not in (None, MISSING)]
            return values[0] if values else None

        return f"COALESCE({first}, {second})", evaluate

    def nullif(self, depth: int) -> tuple[str, Evaluate]:
        (first, a), (second, b) = self.value(depth), self.value(depth)
        return (
            f"NULLIF({first}, {second})",
            lambda row: None if comparison("=", a(row), b(row)) is True else a(row),
        )

    def case(self, depth: int) -> tuple[str, Evaluate]:
        (test, c), (first, a), (second, b) = (
            self.condition(depth),
            self.value(depth),
            self.value(depth),
        )
        return (
            f"CASE WHEN {test} THEN {first} ELSE {second} END",
            lambda row: a(row) if c(row) is True else b(row),
        )


def is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def is_text(value: Any) -> bool:
    return isinstance(value, str)


def is_boolean(value: Any) -> bool:
    return isinstance(value, bool)


def strict(function: Callable[..., Any], takes: Callable[[Any], bool], *values: Any) -> Any:
    return function(*values) if all(map(takes, values)) else MISSING


def is_(value: Any, what: str) -> bool:
    return value is {"NULL": None, "MISSING": MISSING, "TRUE": True, "FALSE": False}[what]


def logic(op: str, first: Any, second: Any) -> Any:
    """Return AND or OR of TRUE, FALSE and MISSING; other values count as FALSE."""
    decides = op == "OR"
    values = [
        value if is_boolean(value) or value is MISSING else False for value in (first, second)
    ]
    if decides in values:
        return decides
    return MISSING if MISSING in values else not decides


def comparison(op: str, first: Any, second: Any) -> Any:
    """Return a comparison: values of different types are different, and in no order."""
    if first is MISSING or second is MISSING:
        return MISSING
    kinds = (is_number, is_text, is_boolean)
    is_ordered = any(kind(first) and kind(second) for kind in kinds)
    is_same = (is_ordered and first == second) or (first is None and second is None)
    if op in {"=", "<>"}:
        return is_same == (op == "=")
    if not is_ordered:
        return (op == ">=") if is_same else MISSING
    return first < second if op == "<" else first >= second


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("differential")
    return packed(folder, {"m": MIXED})


@pytest.fixture(scope="module")
def typed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engines]:
    yield from engines(tmp_path_factory.mktemp("typed"), sqlshapes.rows())


@pytest.fixture(scope="module")
def sparse(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engines]:
    yield from engines(tmp_path_factory.mktemp("sparse"), sqlshapes.sparse_rows())


def packed(folder: Path, tables: Mapping[str, list[dict[str, Any]]]) -> Path:
    for name, rows in tables.items():
        (folder / f"{name}.json").write_text("".join(json.dumps(row) + "\n" for row in rows))
        sdb.pack([folder / f"{name}.json"], folder / f"{name}.zion")
    return folder


def engines(folder: Path, tables: Mapping[str, list[dict[str, Any]]]) -> Iterator[Engines]:
    packed(folder, tables)
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'UTC'")
        types = "{id: 'BIGINT', i: 'DOUBLE', f: 'DOUBLE', s: 'VARCHAR', p: 'VARCHAR', "
        types += "b: 'BOOLEAN', t: 'TIMESTAMPTZ'}"
        for name in tables:
            connection.execute(
                f"CREATE TABLE {name} AS SELECT * REPLACE (t::TIMESTAMP AS t)"
                f" FROM read_json('{folder}/{name}.json', columns = {types})"
            )
        yield folder, connection


def compare(tables: Engines, seed: int, shapes: type[Shapes]) -> None:
    """Compare the answers to a query; each kind comes around, whatever the number of queries."""
    folder, duck = tables
    ours, theirs = shapes(seed).query(shapes.KINDS[seed % len(shapes.KINDS)])
    cursor = duck.execute(theirs)
    names = [column[0] for column in cursor.description or ()]
    expected = [[plain(value) for value in row] for row in cursor.fetchall()]
    try:
        with sdb.sql(ours, root=str(folder)) as result:
            answer = [[plain(row.get(name)) for name in names] for row in result]
    except QueryError as error:
        raise AssertionError(f"seed {seed}: {ours}\n{error}") from None
    assert agree(answer, expected), f"seed {seed}:\n{ours}\n{theirs}\n{answer}\n{expected}"


@pytest.mark.seeds
@pytest.mark.timeout(1800)  # on a busy machine
def test_typed_queries_are_answered_as_by_duckdb(typed: Engines) -> None:
    for seed in range(usual(QUERIES)):
        compare(typed, seed, Shapes)


@pytest.mark.seeds
@pytest.mark.timeout(1800)  # on a busy machine
def test_rows_without_values_are_those_of_null(sparse: Engines) -> None:
    for seed in range(usual(SPARSE)):
        compare(sparse, seed, Sparse)


def evaluate(folder: Path, seed: int) -> bool:
    """Compare an expression, and the rows that it selects; return whether it is accepted."""
    text, function = Evaluated(seed).value(3)
    query = f"SELECT id, {text} AS v FROM read_file('m.zion') ORDER BY id"
    chosen = f"SELECT id FROM read_file('m.zion') WHERE {text} ORDER BY id"
    try:
        with sdb.sql(query, root=str(folder), dialect="sneller") as result:
            answer = [row.get("v", MISSING) for row in result]
        with sdb.sql(chosen, root=str(folder), dialect="sneller") as result:
            selected = [row["id"] for row in result]
    except QueryError as error:
        assert "ill-typed" in error.message, f"seed {seed}: {query}: {error}"  # noqa: PT017
        return False
    expected = [function(row) for row in MIXED]
    wrong = [
        (row, ours, wanted)
        for row, ours, wanted in zip(MIXED, answer, expected, strict=True)
        if not (agree(ours, wanted) and is_boolean(ours) == is_boolean(wanted))
    ]
    assert not wrong, f"seed {seed}: {query}\n{wrong[:3]}"
    is_true = [row["id"] for row, value in zip(MIXED, expected, strict=True) if value is True]
    assert selected == is_true, f"seed {seed}: {chosen}"
    return True


@pytest.mark.seeds
@pytest.mark.timeout(600)  # on a busy machine
def test_missing_and_null_of_the_original_are_as_evaluated(folder: Path) -> None:
    answered = sum(evaluate(folder, seed) for seed in range(usual(EXPRESSIONS)))
    assert answered > usual(EXPRESSIONS) // 2


@pytest.mark.slow
@pytest.mark.timeout(7200)
def test_five_thousand_expressions_of_any_type(folder: Path) -> None:
    for seed in range(EXPRESSIONS, EXPRESSIONS + 5000):
        evaluate(folder, seed)


@pytest.mark.slow
@pytest.mark.timeout(14_400)
def test_twenty_thousand_typed_queries(typed: Engines) -> None:
    for seed in range(QUERIES, QUERIES + 20_000):
        compare(typed, seed, Shapes)


@pytest.mark.slow
@pytest.mark.timeout(14_400)
def test_five_thousand_queries_over_rows_without_values(sparse: Engines) -> None:
    for seed in range(SPARSE, SPARSE + 5000):
        compare(sparse, seed, Sparse)
