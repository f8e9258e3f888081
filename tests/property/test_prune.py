"""Leaving out blocks never loses a row: random rows, random conditions."""

from __future__ import annotations

import json
import random
from typing import TYPE_CHECKING, Any

import pytest

import sdb
from sdb import instants
from sdb.packfile.prune.prune import blocks
from sdb.packfile.trailer.sparseindex import SparseIndex, Summary, build_indices
from sdb.query.catalog.reduction import reduce
from sdb.query.syntax import ast
from tests.amounts import usual

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

Row = dict[str, Any]
Rng = random.Random

BASE = 1_609_459_200_000_000
MISSING = object()
UNIT_US = (1, 1_000, 500_000, 1_000_000, 60_000_000)
OPS = ("=", "<>", "<", "<=", ">", ">=")
COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "=": lambda a, b: a == b,
    "<>": lambda a, b: a != b,
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
}


def moment(rng: Rng, unit: int) -> ast.Instant:
    """Few different ones, so that constants meet the times of rows to the microsecond."""
    return ast.Instant(BASE + rng.randrange(-2, 12) * unit + rng.choice((0,) * 8 + (1, -1)))


def value(rng: Rng, unit: int) -> Any:
    """Mostly times, so that they get an index."""
    pick = rng.random()
    if pick < 0.75:
        return moment(rng, unit)
    return rng.choice([None, True, False, 3, 2.5, "b", "2021", [1]])


def rows(rng: Rng) -> list[Row]:
    unit = rng.choice(UNIT_US)
    order = rng.choice(["sorted", "shuffled", "k-sorted"])
    missing = rng.choice([0.0, 0.1, 0.5])
    made: list[Row] = []
    for _ in range(rng.randrange(1, 40)):
        row: Row = {"k": 7, "c": "x"}
        if rng.random() >= missing:
            row["ts"] = moment(rng, unit) if rng.random() < 0.8 else value(rng, unit)
        if rng.random() >= missing:
            row["n"] = {"u": value(rng, unit)} if rng.random() < 0.8 else value(rng, unit)
        if rng.random() < 0.5:
            row["s"] = rng.choice(["a", "b", 1, 2.5, None])
        made.append(row)
    if order != "shuffled":
        spread = 0 if order == "sorted" else 3 * unit

        def key(row: Row) -> int:
            us = row["ts"].us if isinstance(row.get("ts"), ast.Instant) else BASE
            return int(us) + rng.randint(0, spread)

        made.sort(key=key)
    return made


def condition(rng: Rng, unit: int, depth: int = 3) -> ast.Expr:
    pick = rng.random()
    if depth and pick < 0.25:
        return ast.Binary("AND", *(condition(rng, unit, depth - 1) for _ in "ab"))
    if depth and pick < 0.5:
        return ast.Binary("OR", *(condition(rng, unit, depth - 1) for _ in "ab"))
    if depth and pick < 0.7:
        return ast.Unary("NOT", condition(rng, unit, depth - 1))
    return leaf(rng, unit)


def leaf(rng: Rng, unit: int) -> ast.Expr:
    where = rng.choice([ast.Name("ts")] * 3 + [ast.Dot(ast.Name("n"), "u"), ast.Name("n")])
    pick = rng.random()
    if pick < 0.45:
        sides = [where, ast.Literal(moment(rng, unit))]
        if rng.random() < 0.3:
            sides.reverse()
        return ast.Binary(rng.choice(OPS), *sides)
    if pick < 0.6:
        ends = (ast.Literal(moment(rng, unit)), ast.Literal(moment(rng, unit)))
        return ast.Between(where, *ends)
    if pick < 0.7:
        few = range(rng.randrange(1, 4))
        return ast.In(where, tuple(ast.Literal(moment(rng, unit)) for _ in few))
    if pick < 0.85:
        name, scale = rng.choice([("TO_UNIX_EPOCH", 1_000_000), ("TO_UNIX_MICRO", 1)])
        number = moment(rng, unit).us // scale
        return ast.Binary(rng.choice(OPS), ast.Call(name, (where,)), ast.Literal(number))
    name = ast.Name(rng.choice(["k", "c", "s", "absent"]))
    return ast.Binary(rng.choice(("=", "<>")), name, ast.Literal(rng.choice(["a", "x", 7, 2.5])))


def get(expr: ast.Expr, row: Row) -> Any:
    match expr:
        case ast.Literal(constant):
            return constant
        case ast.Name(name):
            return row.get(name, MISSING)
        case ast.Dot(base, name):
            value = get(base, row)
            return value.get(name, MISSING) if isinstance(value, dict) else MISSING
        case ast.Call(name, (operand,)):
            value = get(operand, row)
            if not isinstance(value, ast.Instant):
                return MISSING
            return value.us // 1_000_000 if name == "TO_UNIX_EPOCH" else value.us
    raise AssertionError(expr)


def kind(actual: Any) -> str:
    if isinstance(actual, bool) or not isinstance(actual, int | float):
        return type(actual).__name__
    return "number"


def compare(op: str, left: Any, right: Any) -> Any:
    if left is MISSING or right is MISSING:
        return MISSING
    if kind(left) != kind(right):
        return op == "<>" if op in {"=", "<>"} else MISSING
    if isinstance(left, ast.Instant):
        left, right = left.us, right.us
    if op not in {"=", "<>"} and not isinstance(left, bool | int | float | str):
        return MISSING
    return COMPARE[op](left, right)


def truth(expr: ast.Expr, row: Row) -> Any:
    match expr:
        case ast.Binary("AND" | "OR" as op, left, right):
            decisive = op == "OR"
            sides = truth(left, row), truth(right, row)
            if decisive in [side for side in sides if side is not MISSING]:
                return decisive
            return MISSING if MISSING in sides else not decisive
        case ast.Unary("NOT", operand):
            actual = truth(operand, row)
            return MISSING if actual is MISSING else not actual
        case ast.Between(operand, low, high):
            both = ast.Binary(">=", operand, low), ast.Binary("<=", operand, high)
            return truth(ast.Binary("AND", *both), row)
        case ast.In(operand, tuple() as items):
            actual = [truth(ast.Binary("=", operand, item), row) for item in items]
            return MISSING if MISSING in actual else any(actual)
        case ast.Binary(op, left, right):
            return compare(op, get(left, row), get(right, row))
    raise AssertionError(expr)


def index(parts: list[list[Row]], *, summary: bool) -> SparseIndex:
    def spans(part: list[Row]) -> dict[tuple[str, ...], tuple[int, int]]:
        results: dict[tuple[str, ...], tuple[int, int]] = {}
        for path, expr in ((("n", "u"), ast.Dot(ast.Name("n"), "u")), (("ts",), ast.Name("ts"))):
            times = [get(expr, row) for row in part]
            us = [time.us for time in times if isinstance(time, ast.Instant)]
            if us:
                results[path] = min(us), max(us)
        return results

    types: dict[tuple[str, ...], int] = {}
    bits = {"bool": 2, "number": 12, "Instant": 64, "str": 256, "list": 2048, "dict": 8192}
    for part in parts:
        for row in part:
            flat = {(name,): row[name] for name in row}
            if isinstance(row.get("n"), dict):
                flat["n", "u"] = row["n"]["u"]
            for path, results in flat.items():
                types[path] = types.get(path, 0) | bits.get(kind(results), 1)
    known = Summary(tuple(map(len, parts)), types, complete=True) if summary else None
    indices = build_indices(map(spans, parts))
    return SparseIndex(len(parts), {"k": 7, "c": "x"}, indices, known)


def check(seed: int) -> None:
    rng = Rng(seed)
    unit = rng.choice(UNIT_US)
    every = rows(rng)
    size = rng.randrange(1, 6)
    parts = [every[at : at + size] for at in range(0, len(every), size)]
    expr = condition(rng, unit)
    remaining = {
        block
        for start, stop in blocks(reduce(expr), index(parts, summary=rng.random() < 0.5))
        for block in range(start, stop)
    }
    for number, part in enumerate(parts):
        if number not in remaining:
            assert not any(truth(expr, row) is True for row in part), (seed, number, expr)


@pytest.mark.seeds
def test_no_block_with_a_row_is_left_out() -> None:
    for seed in range(usual(2000)):
        check(seed)


@pytest.mark.slow
def test_no_block_with_a_row_is_left_out_of_many() -> None:
    for seed in range(10_000):
        check(1_000_000 + seed)


def test_some_blocks_are_left_out() -> None:
    """The property does not hold because nothing happens."""
    left_out = 0
    for seed in range(200):
        rng = Rng(seed)
        every = [{"ts": ast.Instant(BASE + at * 1_000_000)} for at in range(40)]
        sparse = index([every[at : at + 4] for at in range(0, 40, 4)], summary=True)
        test = reduce(condition(rng, 1_000_000))
        left_out += sparse.blocks - sum(stop - start for start, stop in blocks(test, sparse))
    assert left_out > 500


def shown(actual: Any) -> Any:
    if isinstance(actual, ast.Instant):
        return instants.text(actual.us)
    if isinstance(actual, dict):
        return {name: shown(inner) for name, inner in actual.items()}
    return actual


def text(expr: ast.Expr) -> str:
    match expr:
        case ast.Literal(ast.Instant(us)):
            return f"`{instants.text(us)}`"
        case ast.Literal(found):
            return f"'{found}'" if isinstance(found, str) else str(found)
        case ast.Name(name):
            return name
        case ast.Dot(base, name):
            return f"{text(base)}.{name}"
        case ast.Call(name, args):
            return f"{name}({', '.join(map(text, args))})"
        case ast.Unary(op, operand):
            return f"{op} ({text(operand)})"
        case ast.Binary(op, left, right):
            return f"({text(left)} {op} {text(right)})"
        case ast.Between(operand, low, high):
            return f"({text(operand)} BETWEEN {text(low)} AND {text(high)})"
        case ast.In(operand, tuple() as items):
            return f"({text(operand)} IN ({', '.join(map(text, items))}))"
    raise AssertionError(expr)


def queries(folder: Path, seed: int, count: int) -> int:
    """Run queries with and without leaving out blocks; tell how many blocks were left out."""
    rng = Rng(seed)
    unit = rng.choice(UNIT_US[1:])
    lines = "".join(
        json.dumps(shown(row) | {"number": at}) + "\n" for at, row in enumerate(rows(rng))
    )
    source, path = folder / "rows.json", folder / "rows.zion"
    source.write_text(lines)
    sdb.pack([source], path, block_bytes=512, align_bytes=512, overwrite=True, threads=1)
    left_out = 0
    for _ in range(count):
        where = text(condition(rng, unit))
        query = f"SELECT number FROM read_file('{path}') WHERE {where}"
        with sdb.sql(query, threads=1) as pruned, sdb.sql(query, prune=False, threads=1) as full:
            assert sorted(pruned.lines()) == sorted(full.lines()), (seed, query)
            left_out += pruned.reading.all_blocks - pruned.reading.blocks
            assert full.reading.blocks == full.reading.all_blocks
    return left_out


@pytest.mark.seeds
def test_queries_return_the_same_without_an_index(tmp_path: Path) -> None:
    assert sum(queries(tmp_path, seed, 8) for seed in range(usual(12, 4))) > 0


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_many_queries_return_the_same_without_an_index(tmp_path: Path) -> None:
    assert sum(queries(tmp_path, seed, 40) for seed in range(1000, 1050)) > 0
