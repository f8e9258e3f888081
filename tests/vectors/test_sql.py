"""Every query that the original was asked, with its answers."""

from __future__ import annotations

import json
import math
import re
from typing import TYPE_CHECKING, Any

import pytest

import sdb
from sdb.query.analyze import types
from tests.amounts import ALL, usual
from tests.conftest import VECTORS, json_lines
from tests.engines import Answers

if TYPE_CHECKING:
    from pathlib import Path

# What we do not do as the original does; docs/sql.md says so too.
DIFFERENT = {
    "aggregate-052": "MIN and MAX of times are the earliest and the latest here",
    "aggregate-006": "MIN and MAX of texts are the first and the last here",
    "math-046": "LEAST and GREATEST take texts, times and booleans here",
    "subquery-036": "MIN and MAX of texts are the first and the last here",
    "unpivot-014": "MIN and MAX of times are the earliest and the latest here",
    "geo-011": "near antipodes the original is 4e-7 off",
    "math-023": "the original's LN1P overflows at the largest double",
    "quirk-037": "numbers of fields have a text",
    "quirk-057": "NaN sorts above numbers here",
}
# How many queries at least are answered by scans alone; fewer mean that something gets in the way.
OF_THE_ORIGINAL = "SET dialect = sneller; "
BY_SCANS = 340
# MIN and MAX of a path whose types are not known are about numbers or times: the engine looks.
BY_SCANS_BLIND = 338
_BARE = re.compile(r'("(?:\\.|[^"\\])*")|(\+Inf|-Inf|NaN)')
_INSTANT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z")


def vectors_of_queries() -> list[dict[str, Any]]:
    files = sorted((VECTORS / "sql").glob("*.jsonl"))
    return [
        vector
        for file in files
        if file.stem != "errors"
        for vector in json_lines(f"sql/{file.name}")
    ]


@pytest.fixture(scope="module")
def packed(vectors: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sql")
    for file in (vectors / "sql" / "datasets").glob("*.json"):
        sdb.pack([str(file)], str(folder / f"{file.stem}.zion"), times="rfc3339")
    return folder


@pytest.mark.parametrize("vector", vectors_of_queries(), ids=lambda vector: vector["id"])
def test_answer(vector: dict[str, Any], packed: Path) -> None:
    with sdb.sql(
        vector["sql"], root=str(packed), threads=1, typed=False, dialect="sneller"
    ) as result:
        lines = b"".join(result.lines()).decode().splitlines()
    rows, expected = rows_of(lines), vector.get("clean", vector["rows"])
    same = is_answer(rows, vector)
    if vector["id"] in DIFFERENT:
        assert not same, "remove it from DIFFERENT"
    else:
        assert same, f"{vector['sql']}\n{rows}\nis not\n{expected}"


def some_queries() -> list[dict[str, Any]]:
    """Return a quarter of the queries, spread over all of them, or all of them."""
    everything = vectors_of_queries()
    return everything[:: len(everything) // usual(len(everything))]


def least(by_scans: int) -> int:
    """Return how many of them scans answer, when this many of all are."""
    return by_scans if ALL else usual(by_scans) * 9 // 10  # a quarter need not have a quarter


@pytest.mark.seeds
def test_scans_and_engine_agree(packed: Path) -> None:
    alone = 0
    for vector in some_queries():
        answers = Answers(packed, OF_THE_ORIGINAL + vector["sql"])
        if not answers.by_scans():
            continue
        alone += 1
        rows, of_engine = (rows_of(answers.lines(native=native)) for native in (True, False))
        assert _same_rows(rows, of_engine, ordered=vector["ordered"], rtol=1e-14), vector["sql"]
        if vector["id"] not in DIFFERENT:
            assert is_answer(rows, vector), vector["sql"]
            assert is_answer(of_engine, vector), vector["sql"]
    assert alone >= least(BY_SCANS)


@pytest.mark.seeds
@pytest.mark.parametrize("blind", [False, True])
def test_columns_of_scans_are_those_of_the_engine(packed: Path, *, blind: bool) -> None:
    """What a scan begins, the engine may have to end: both must mean the same columns."""
    alone = 0
    for vector in some_queries():
        for typed in (False, True):
            answers = Answers(packed, OF_THE_ORIGINAL + vector["sql"], typed=typed, blind=blind)
            lanes = answers.columns(native=True)
            if lanes is None:
                continue
            alone += 1
            of_engine = answers.columns(native=False)
            assert of_engine is not None
            counted = all(column[1:] == (["x"], types.INTEGER) for column in lanes)
            assert counted or lanes == of_engine, vector["sql"]
            assert [column[0] for column in lanes] == [column[0] for column in of_engine]
    assert alone >= 2 * least(BY_SCANS_BLIND if blind else BY_SCANS)


def rows_of(lines: list[str]) -> list[Any]:
    return [json.loads(_BARE.sub(_quoted, line)) for line in lines]


def is_answer(rows: list[Any], vector: dict[str, Any]) -> bool:
    expected, rtol = vector.get("clean", vector["rows"]), vector.get("rtol", 1e-9)
    return _same_rows(rows, expected, ordered=vector["ordered"], rtol=rtol)


def _quoted(match: re.Match[str]) -> str:
    return match[1] or json.dumps({"$float": match[2]})


def _same_rows(rows: list[Any], expected: list[Any], *, ordered: bool, rtol: float) -> bool:
    if len(rows) != len(expected):
        return False
    if ordered:
        return all(_same(*pair, rtol) for pair in zip(rows, expected, strict=True))
    left = list(expected)
    for row in rows:
        item = next((i for i, other in enumerate(left) if _same(row, other, rtol)), None)
        if item is None:
            return False
        del left[item]
    return True


def _same(a: Any, b: Any, rtol: float) -> bool:
    if isinstance(a, bool) or isinstance(b, bool):
        return a is b
    if isinstance(a, int) and isinstance(b, int) and max(abs(a), abs(b)) < 2**53:
        return a == b
    if isinstance(a, (int, float)) and isinstance(b, (int, float)):
        return math.isclose(a, b, rel_tol=rtol, abs_tol=1e-12)
    if isinstance(a, str) and isinstance(b, str):
        return a == b or (_instant(a) is not None and _instant(a) == _instant(b))
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(_same(*pair, rtol) for pair in zip(a, b, strict=True))
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(_same(a[key], b[key], rtol) for key in a)
    return a is b


def _instant(text: str) -> tuple[str, float] | None:
    match = _INSTANT.fullmatch(text)
    return (text[:19], float(match[1] or 0)) if match else None
