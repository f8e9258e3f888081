"""Numbers are compared, grouped, sorted and added up exactly, by scans and by the engine alike."""

from __future__ import annotations

import json
import math
import tempfile
from collections import Counter
from fractions import Fraction
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

import sdb
from tests.amounts import usual
from tests.engines import Answers

POWERS = (2**53, 2**63, 2**64)
INTEGERS = st.one_of(
    st.builds(lambda power, by: power + by, st.sampled_from(POWERS), st.integers(-3, 3)),
    st.builds(lambda power, by: -power + by, st.sampled_from(POWERS[:2]), st.integers(0, 3)),
    st.integers(-3, 3),
).filter(lambda value: -(2**63) <= value < 2**64)
FLOATS = st.one_of(
    st.sampled_from([0.5, -1.5, 1e19, -1e19, 2.0**63, 2.0**64, -(2.0**64), 1e300, 2.0**53]),
    st.builds(
        lambda power, by: math.nextafter(float(power), by),
        st.sampled_from([sign * power for power in POWERS for sign in (1, -1)]),
        st.sampled_from([math.inf, -math.inf]),
    ),
)
NUMBERS = st.one_of(INTEGERS, FLOATS)
OPERATORS = {
    "=": lambda a, b: a == b,
    "<>": lambda a, b: a != b,
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
}


def total(values: list[float]) -> float:
    """Return what SUM gives: an integer if all are and 64 bits hold it, else the nearest double."""
    exact = sum(map(Fraction, values))
    whole = all(value == int(value) and abs(value) <= 2**64 for value in values)
    return int(exact) if whole and -(2**63) <= exact < 2**64 else float(exact)


def close(actual: Any, expected: Any) -> bool:
    if isinstance(expected, int):
        return bool(actual == expected)
    return math.isclose(actual, expected, rel_tol=1e-12)


class Table:
    """Numbers in rows, and what queries on them give."""

    def __init__(self, values: list[float], folder: str) -> None:
        self._root = Path(folder)
        text = self._root / "t.json"
        rows = [{"i": number, "a": value} for number, value in enumerate(values)]
        text.write_text("".join(json.dumps(row) + "\n" for row in rows))
        sdb.pack([str(text)], str(text.with_suffix(".zion")))

    def both(self, query: str, *, typed: bool) -> list[dict[str, Any]]:
        answers = Answers(self._root, query, typed=typed)
        alone, engine = (
            [json.loads(line) for line in answers.lines(native=native)] for native in (True, False)
        )
        # Of sums that are not whole the last digit may be another.
        fits = [
            row.keys() == other.keys()
            and all(
                row[name] == other[name]
                or (name in {"s", "v"} and math.isclose(row[name], other[name], rel_tol=1e-15))
                for name in row
            )
            for row, other in zip(alone, engine, strict=True)
        ]
        assert all(fits), (query, alone, engine)
        return alone


@settings(max_examples=usual(30), deadline=None)
@given(
    values=st.lists(NUMBERS, min_size=1, max_size=8),
    constants=st.lists(NUMBERS, min_size=2, max_size=2),
    op=st.sampled_from(sorted(OPERATORS)),
    typed=st.booleans(),
)
def test_conditions(values: list[float], constants: list[float], op: str, *, typed: bool) -> None:
    low, high = constants
    tests = {
        f"a {op} {low!r}": lambda value: OPERATORS[op](value, low),
        f"a BETWEEN {low!r} AND {high!r}": lambda value: low <= value <= high,
        f"a IN ({low!r}, {high!r})": lambda value: value in constants,
        # The scan does not know this one.
        f"COALESCE(a, 'x') {op} {low!r}": lambda value: OPERATORS[op](value, low),
    }
    numbers = list(enumerate(values))
    with tempfile.TemporaryDirectory() as folder:
        table = Table(values, folder)
        for condition, is_true in tests.items():
            rows = table.both(f"SELECT i FROM read_file('t.zion') WHERE {condition}", typed=typed)
            expected = [number for number, value in numbers if is_true(value)]
            assert sorted(row["i"] for row in rows) == expected, condition
        query = "SELECT x.i, y.i AS j FROM read_file('t.zion') AS x, read_file('t.zion') AS y"
        rows = table.both(f"{query} WHERE x.a {op} y.a", typed=typed)
        pairs = [(i, j) for i, x in numbers for j, y in numbers if OPERATORS[op](x, y)]
        assert sorted((row["i"], row["j"]) for row in rows) == pairs


@settings(max_examples=usual(30), deadline=None)
@given(values=st.lists(NUMBERS, min_size=1, max_size=8), typed=st.booleans())
def test_groups_and_order(values: list[float], *, typed: bool) -> None:
    with tempfile.TemporaryDirectory() as folder:
        table = Table(values, folder)
        calls = "COUNT(DISTINCT a) AS d, MIN(a) AS l, MAX(a) AS g, SUM(a) AS s, AVG(a) AS v"
        (row,) = table.both(f"SELECT {calls} FROM read_file('t.zion')", typed=typed)
        actual = [row[name] for name in "dlg"]
        assert actual == [len(set(values)), min(values), max(values)]
        assert close(row["s"], total(values)) or abs(row["s"]) < 1e-6 * max(map(abs, values))
        assert math.isclose(row["v"] * len(values), total(values), rel_tol=1e-9, abs_tol=1e4)

        rows = table.both(
            "SELECT a, COUNT(*) AS n FROM read_file('t.zion') GROUP BY a", typed=typed
        )
        assert Counter({row["a"]: row["n"] for row in rows}) == Counter(values)
        assert len(rows) == len(set(values))
        rows = table.both("SELECT DISTINCT a FROM read_file('t.zion')", typed=typed)
        assert sorted(row["a"] for row in rows) == sorted(set(values))

        for descending in ("", " DESC"):
            order = f"ORDER BY a{descending}, i LIMIT 6"
            rows = table.both(f"SELECT i, a FROM read_file('t.zion') {order}", typed=typed)
            expected = sorted(enumerate(values), key=lambda pair: pair[1], reverse=bool(descending))
            assert [(row["i"], row["a"]) for row in rows] == expected[:6]
