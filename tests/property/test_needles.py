"""Block statistics never lose a row: mixed rows, mixed conditions, and rules that are made wrong.

What a condition is TRUE for is what the engine says of all rows. All of it:
``pytest tests/property/test_needles.py -m slow``.
"""

from __future__ import annotations

import importlib.util
import inspect
import random
import re
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest

import sdb
from sdb import ion
from sdb.errors import QueryError
from sdb.packfile.prune import prune
from sdb.packfile.prune import rules as blockrules
from sdb.packfile.prune.predicate import Instant
from sdb.packfile.trailer.sparseindex import SparseIndex, Summary
from sdb.query.analyze.check import check
from sdb.query.analyze.dialects import settled
from sdb.query.analyze.folding import fold
from sdb.query.catalog import reduction
from sdb.query.syntax.parser import parse
from tests.amounts import usual
from tests.blockmutations import MUTATIONS
from tests.blockoracle import Oracle, add_statistics

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
    from types import ModuleType

    from sdb.query.syntax import ast

Row = dict[str, Any]
Rng = random.Random

NUMBERS = [
    [*(0, -0.0, 1, -1, 3.0, 2.5, -7, 42, 5e-324), float("nan")],
    [1 << 53, (1 << 53) + 1, float(1 << 53), (1 << 53) - 1, float((1 << 53) + 2)],
    [(1 << 63) - 1, 1 << 63, (1 << 64) - 1, 2.0**64, -(1 << 63), 1e300, float("inf")],
    [1, 2.5, float("nan")],
    [1, 2, -1e300, float("-inf"), float("inf")],
]
TEXTS = [
    ["", "a", "ab", "abc", "abcd", "abcz", "abd", "b", "zz", "YWJj", "%a", "a_c", "line\nabc"],
    ["é", "éa", "日本", "\x7f", "\uffff", "\U0001f600", "\U0010ffff", "a", "z", "日本語日本語"],
    ["k", "K", "\u212a", "\u212aa", "s", "\u017f", "i", "\u0130", "\u0131", "Abc"],
    ["10.1.2.3", "010.001.2.3", "10.20.3.4", "9.9.9.9", "10.1.2.3.4", "008.1.1.1", "11.0.0.0"],
    ["42", "1", "true", "null", "2021-03-04", "2021-03-04T05:06:07Z", "2020", "100%"],
]
TIMES = [
    datetime(2021, 3, 4, 5, 6, 7, tzinfo=UTC),
    datetime(2021, 3, 4, 5, 6, 7, 1, tzinfo=UTC),
    datetime(2020, 1, 1, tzinfo=UTC),
    datetime(1969, 12, 31, 23, 59, 59, 500_000, tzinfo=UTC),
]
PLAIN = [None, True, False, b"abc"]
PATHS = [*["x"] * 6, *["n.b"] * 2, "y", "n", "l[0]", "l[1]", "m[0].b", "absent", "l"]
BLOCKS, ROWS = 10, 5
STORED = ["x", "y", "n", "n.b", "l", "l[]", "m", "m[].b", "absent"]


def value(rng: Rng, pool: list[Any]) -> Any:
    pick = rng.random()
    if pick < 0.9:
        return rng.choice(pool)
    return [rng.choice(pool)] if pick < 0.95 else {"b": rng.choice(pool)}


class Pools:
    """Values that the rows and conditions of a case are made of, so that they meet."""

    def __init__(self, rng: Rng, *, only_few_numbers: bool) -> None:
        self.texts: list[str] = rng.choice(TEXTS)
        self.numbers: list[Any] = rng.choice(NUMBERS)
        self.kinds: list[list[Any]] = [self.numbers, self.texts, self.texts, TIMES, PLAIN]
        if rng.random() < 0.4:
            self.kinds = [rng.choice(self.kinds)] * 2
        if only_few_numbers:
            self.numbers = [1, 2.5, float("nan")]
            self.kinds = [self.numbers] * 2


def rows(rng: Rng, pools: Pools) -> list[list[Row]]:
    """Make blocks, each of few values, so that there is something to leave out."""
    made = []
    for _ in range(BLOCKS):
        kinds = rng.sample(pools.kinds, rng.choice([1, 1, 2]))
        pool = [rng.choice(kind) for kind in kinds for _ in range(rng.choice([1, 1, 2, 3]))]
        made.append([row(rng, pool) for _ in range(ROWS)])
    return made


def row(rng: Rng, pool: list[Any]) -> Row:
    made: Row = {
        "x": value(rng, pool),
        "y": value(rng, pool),
        "n": {"b": value(rng, pool)},
        "l": [value(rng, pool) for _ in range(rng.randrange(3))],
        "m": [{"b": value(rng, pool)} for _ in range(rng.randrange(3))],
    }
    return {name: made[name] for name in made if rng.random() < 0.85}


def literal(rng: Rng, actual: Any) -> str:
    """Write a value as SQL has it; what has no word in SQL stands for another one."""
    match actual:
        case None | bool():
            return str(actual).upper() if actual is not None else "NULL"
        case int() | float():
            if actual != actual or actual in {float("inf"), float("-inf")}:  # noqa: PLR0124
                return rng.choice(["0", "1e308", "-1e308"])
            return repr(actual)
        case datetime():
            text = actual.isoformat().replace("+00:00", "Z")
            return rng.choice([f"`{text}`", f"'{text}'"])
        case bytes():
            return "'YWJj'"
    escaped = str(actual).replace("\\", "\\\\").replace("'", "\\'").replace("\n", "\\n")
    return f"'{escaped}'"


def constant(rng: Rng, pools: Pools) -> str:
    return literal(rng, rng.choice(rng.choice(pools.kinds)))


def pattern(rng: Rng, pools: Pools) -> str:
    text = rng.choice(pools.texts)[: rng.randrange(5)]
    words = [*text, rng.choice(["%", "_", "%%", ""])]
    if rng.random() < 0.3:
        rng.shuffle(words)
    return literal(rng, "".join(words))


def regex(rng: Rng, pools: Pools) -> str:
    text = rng.choice(
        [*pools.texts[:6], "a", "k", "ab?", "abx*", "a{0,1}b", "q|b", "q|k", "10\\.1"]
    )
    text = text.replace("%", "").replace("\n", "").replace("\\", "\\\\")
    return f"'{rng.choice(['^', '^', ''])}{text}{rng.choice(['', 'x?', '$', '(x)*'])}'"


def leaf(rng: Rng, pools: Pools) -> str:
    path, first, two = rng.choice(PATHS), constant(rng, pools), constant(rng, pools)
    no, text = rng.choice(["", "", "NOT "]), literal(rng, rng.choice(pools.texts))
    signs = [first for first in pools.texts if "%" in first or "_" in first] or pools.texts
    escaped = literal(rng, re.sub("([%_])", r"!\1", rng.choice(signs)) + rng.choice(["", "%"]))
    network = rng.choice(["10.0.0.0/8", "10.1.2.0/24", "8.0.0.0/6", "10.1.0.0/16"])
    return rng.choice(
        [
            f"{path} {rng.choice(['=', '=', '<>', '<', '<=', '>', '>='])} {first}",
            f"{path} {rng.choice(['=', '<>'])} {first}",
            f"{path} {rng.choice(['=', '<>'])} NULL",
            f"x {rng.choice(['>', '>=', '<>'])} {literal(rng, rng.choice(pools.numbers))}",
            f"x {no}LIKE {escaped} ESCAPE '!'",
            f"{first} {rng.choice(['<', '>='])} {path}",
            f"{path} IN ({first}, {two})",
            f"{path} BETWEEN {first} AND {two}",
            f"{path} IS {no}{rng.choice(['NULL', 'MISSING', 'TRUE', 'FALSE'])}",
            f"NOT ({path} IS {no}{rng.choice(['NULL', 'MISSING', 'TRUE', 'FALSE'])})",
            f"{path} {no}LIKE {pattern(rng, pools)}",
            f"{path} {no}LIKE {escaped} ESCAPE '!'",
            f"{path} ILIKE {pattern(rng, pools)}",
            f"{path} {no}SIMILAR TO {pattern(rng, pools)}",
            f"{path} {rng.choice(['~', '~*'])} {regex(rng, pools)}",
            f"REGEXP_LIKE({path}, {regex(rng, pools)})",
            f"STARTS_WITH({path}, {literal(rng, rng.choice(pools.texts)[:2])})",
            f"{rng.choice(['UPPER', 'LOWER'])}({path}) = {text}",
            f"UPPER({path}) = UPPER({text})",
            f"LOWER({path}) = LOWER({text})",
            f"ARRAY_CONTAINS({rng.choice(['l', 'x'])}, {first})",
            f"IS_SUBNET_OF('{network}', {path})",
            f"IS_SUBNET_OF('9.0.0.0', '10.1.2.3', {path})",
            f"TO_UNIX_EPOCH({path}) {rng.choice(['=', '<', '>='])} {rng.choice([1614834367, 0])}",
            path,
        ]
    )


def condition(rng: Rng, pools: Pools, depth: int = 2) -> str:
    pick = rng.random()
    if depth and pick < 0.25:
        sides = [condition(rng, pools, depth - 1) for _ in "ab"]
        return f"({rng.choice([' AND ', ' OR ']).join(sides)})"
    if depth and pick < 0.45:
        return f"(NOT ({condition(rng, pools, depth - 1)}))"
    return f"({leaf(rng, pools)})"


@dataclass
class Case:
    """A condition on rows, and the blocks where it is TRUE for any."""

    text: str
    where: ast.Expr | None
    sparse: SparseIndex
    statistics: Any
    blocks: set[int]


def tree(text: str, dialect: str = "standard") -> ast.Expr | None:
    query = parse(f"SELECT x FROM read_file('t') WHERE {text}")
    where = check(settled(query, dialect), 0).select.where
    return None if where is None else fold(where, Instant(0))


def written(folder: Path, seed: int, made: list[Row], **options: Any) -> Path:
    """Pack rows."""
    path = folder / f"{seed}.zion"
    source = path.with_suffix(".ion")
    source.write_bytes(b"".join(map(ion.dumps, made)))
    sdb.pack([source], path, overwrite=True, threads=1, **options)
    return path


def stored(path: Path) -> tuple[SparseIndex, Any, list[int]]:
    """Return what a packfile knows of its blocks, and the block of each of its rows."""
    with sdb.open(path) as pack:
        sparse, statistics = pack.known
    assert sparse.summary is not None
    counts = enumerate(sparse.summary.rows)
    return sparse, statistics, [block for block, count in counts for _ in range(count)]


def imagined(path: Path, *, tells_types: bool) -> tuple[SparseIndex, Any, list[int]]:
    """Return what the oracle knows of the rows of a packfile, as if they were in many blocks."""
    with sdb.open(path) as pack:
        summary = pack.trailer.sparse.summary
        # Numbers that are whole become integers when they are packed, and some texts times.
        answers = list(pack.rows())
    assert summary is not None
    assert len(answers) == BLOCKS * ROWS
    parts = [answers[at : at + ROWS] for at in range(0, len(answers), ROWS)]
    types = summary.types if tells_types else {}
    known = Summary((ROWS,) * BLOCKS, types, complete=tells_types and summary.complete)
    numbers = [at // ROWS for at in range(len(answers))]
    return SparseIndex(BLOCKS, summary=known), Oracle(parts), numbers


def cases(folder: Path, seed: int, count: int, *, is_real: bool = False) -> list[Case]:
    """Make rows and conditions; one query tells what each of these is TRUE for."""
    rng = Rng(seed)
    pools = Pools(rng, only_few_numbers=seed % 6 == 0)
    made = [row for block in rows(rng, pools) for row in block]
    if is_real:
        path = written(folder, seed, made, block_bytes=512, align_bytes=512, stats=STORED)
        sparse, statistics, numbers = stored(path)
    else:
        path = written(folder, seed, made)
        sparse, statistics, numbers = imagined(path, tells_types=rng.random() < 0.5)
    dialect = "sneller" if seed % 3 == 1 else "standard"  # where NULL equals NULL, or not
    results: dict[str, ast.Expr | None] = {}
    while len(results) < count:
        text = condition(rng, pools)
        try:
            results[text] = tree(text, dialect)
        except QueryError:
            continue
    return judged(results, path, (sparse, statistics, numbers), dialect)


def judged(
    asked: dict[str, ast.Expr | None],
    path: Path,
    known: tuple[SparseIndex, Any, list[int]],
    dialect: str = "standard",
) -> list[Case]:
    """Make cases of conditions; one query tells what each of them is TRUE for.

    Parameters
    ----------
    asked : dict
        The conditions by their texts.
    path : Path
        A packfile of the same rows that is asked without statistics.
    known : tuple
        What is known of the packfile, and the block of each row.
    """
    sparse, statistics, numbers = known
    columns = ", ".join(
        f"CASE WHEN {text} THEN 1 ELSE 0 END AS c{n}" for n, text in enumerate(asked)
    )
    query = f"SELECT {columns} FROM read_file('{path}')"
    with sdb.sql(query, threads=1, dialect=dialect) as result:
        truths = result.to_arrow().to_pydict()
    return [
        Case(
            text,
            where,
            sparse,
            statistics,
            {numbers[row] for row, truth in enumerate(truths[f"c{at}"]) if truth},
        )
        for at, (text, where) in enumerate(asked.items())
    ]


def kept(case: Case, rules: ModuleType = prune, reduced: ModuleType = reduction) -> set[int]:
    ranges = rules.blocks(reduced.reduce(case.where), case.sparse, case.statistics)
    return {block for start, stop in ranges for block in range(start, stop)}


def lost(case: Case, rules: ModuleType = prune, reduced: ModuleType = reduction) -> bool:
    return not case.blocks <= kept(case, rules, reduced)


def share_left_out(seeds: range, made: Callable[[int], list[Case]]) -> float:
    """Check the cases of seeds; give the share of blocks without a row that were left out."""
    out = spare = 0
    for seed in seeds:
        for case in made(seed):
            assert not lost(case), (seed, case.text, sorted(case.blocks), sorted(kept(case)))
            out += case.sparse.blocks - len(kept(case))
            spare += case.sparse.blocks - len(case.blocks)
    return out / spare


def run(folder: Path, seeds: range, count: int) -> float:
    """Check conditions, of which every second packfile has imagined statistics."""
    return share_left_out(seeds, lambda seed: cases(folder, seed, count, is_real=seed % 2 == 0))


@pytest.mark.seeds
def test_no_row_is_lost(tmp_path: Path) -> None:
    assert run(tmp_path, range(usual(16, 5)), 30) > 0.3


def packed(folder: Path, seed: int, pools: Pools) -> Path:
    """Pack rows to blocks that have statistics: of all paths, those chosen, or the oracle's."""
    made = [row for block in rows(Rng(seed), pools) for row in block]
    numbered = [{**row, "number": at} for at, row in enumerate(made)]
    stats = [STORED, "auto", "off"][seed % 3]
    path = written(folder, seed, numbered, block_bytes=512, align_bytes=512, stats=stats)
    if stats == "off":
        add_statistics(path)
    return path


def queries(folder: Path, seeds: range) -> int:
    """Run queries of packfiles with and without statistics; give the blocks that were left out."""
    out = 0
    for seed in seeds:
        rng = Rng(seed)
        pools = Pools(rng, only_few_numbers=seed % 6 == 0)
        path = packed(folder, seed, pools)
        table = f"read_file('{path}')"
        order = f"{rng.choice(['', 'DESC'])} {rng.choice(['', 'NULLS LAST'])}"
        few = f"LIMIT {rng.randrange(1, 6)}"
        for query in (
            f"SELECT number FROM {table} WHERE {condition(rng, pools)}",
            f"SELECT number FROM {table} WHERE {condition(rng, pools)}",
            f"SELECT number FROM {table} ORDER BY {rng.choice(PATHS)} {order} {few}",
            f"SELECT number FROM {table} ORDER BY x {order} {few}",
            f"SELECT number FROM {table} WHERE x > 1 ORDER BY x {order}, n.b {few}",
            f"SELECT a.number, e FROM {table} AS a, a.l AS e WHERE e = {constant(rng, pools)}",
            f"SELECT MIN(x), MAX(x), COUNT(x), COUNT(*), EARLIEST(n.b), LATEST(x) FROM {table}",
        ):
            try:
                check(parse(query), 0)
            except QueryError:
                continue
            with (
                sdb.sql(query, threads=1) as pruned,
                sdb.sql(query, threads=1, prune=False) as full,
            ):
                answers = [b"".join(item.lines()) for item in (pruned, full)]
                assert answers[0] == answers[1], (seed, query)
                out += full.reading.blocks - pruned.reading.blocks
    return out


@pytest.mark.seeds
def test_queries_answer_the_same(tmp_path: Path) -> None:
    assert queries(tmp_path, range(usual(10, 3))) > 0


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_many_queries_answer_the_same(tmp_path: Path) -> None:
    assert queries(tmp_path, range(5000, 5300)) > 0


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_no_row_is_lost_by_20_000_conditions(tmp_path: Path) -> None:
    assert run(tmp_path, range(1000, 1400), 50) > 0.3


def mutant(module: ModuleType, old: str, new: str) -> ModuleType:
    """Make a module with a piece of its text replaced, and others that use it see it."""
    text = inspect.getsource(module)
    assert old in text, old
    return _executed(module, text.replace(old, new))


def _executed(module: ModuleType, text: str) -> ModuleType:
    spec = importlib.util.spec_from_loader(module.__name__, loader=None)
    assert spec is not None
    made = importlib.util.module_from_spec(spec)
    exec(compile(text, f"<{module.__name__}>", "exec"), made.__dict__)  # noqa: S102
    return made


@pytest.fixture(scope="module")
def known(tmp_path_factory: pytest.TempPathFactory) -> list[Case]:
    folder = tmp_path_factory.mktemp("needles")
    return [case for seed in range(60) for case in cases(folder, seed, 60)]


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("name", MUTATIONS)
def test_rules_made_wrong_lose_rows(name: str, known: list[Case]) -> None:
    module, old, new = MUTATIONS[name]
    made = mutant(module, old, new)
    rules, reduced = prune, reduction
    if module is prune:
        rules = made
    elif module is blockrules:
        rules = _executed(prune, inspect.getsource(prune))
        rules.rules = made  # type: ignore[attr-defined]
    elif module is reduction:
        reduced = made
    else:
        reduced = _executed(reduction, inspect.getsource(reduction))
        for word in ("prefixes", "like_literal", "address_prefixes", "cased"):
            setattr(reduced, word, getattr(made, word))
    assert any(lost(case, rules, reduced) for case in known)
