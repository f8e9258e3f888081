"""Columns that stay decoded give the answers that blocks would give, and never those of others."""

from __future__ import annotations

import os
import random
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest

import sdb
from sdb import _core
from sdb.errors import UsageError
from sdb.query.exec.columncache import VARIABLE, keep_columns, wanted_bytes
from sdb.query.exec.freememory import limit_bytes
from tests.amounts import usual

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

MIB = 1 << 20
QUERIES = (
    "SELECT COUNT(*) AS n, SUM(size) AS s FROM {} WHERE size > {n}",
    "SELECT AVG(p.n) AS a FROM {}",
    "SELECT type, COUNT(*) AS c FROM {} GROUP BY type ORDER BY type",
    "SELECT type, COUNT(*) FILTER (WHERE size < {n}) AS c FROM {} GROUP BY type ORDER BY type",
    "SELECT COUNT(*) AS n FROM {} WHERE p.t LIKE '%{n}%'",
    "SELECT id, p.t AS t FROM {} WHERE size = {n} AND type = 'b'",
    "SELECT id, size FROM {} ORDER BY size DESC, id LIMIT 7",
    "SELECT id, p FROM {} WHERE id >= {n} LIMIT 5",
    "SELECT id, x FROM {} CROSS JOIN UNNEST({}.l) AS x WHERE size = {n}",
    "SELECT p.l[1] AS x, COUNT(*) AS n FROM {} GROUP BY p.l[1] ORDER BY x LIMIT 20",
    "SELECT 1 AS one FROM {} LIMIT 3",
    "SELECT id FROM {} WHERE p.none IS MISSING AND size = {n}",
    "SELECT MEDIAN(size) AS m, MAX(p.t) AS t FROM {} WHERE p.n > {n}.5",
    "SELECT size FROM {} WHERE mixed = {n}",
    "SELECT mixed FROM {} WHERE size = {n} ORDER BY id",
)


@pytest.fixture(autouse=True)
def cache() -> Iterator[None]:
    before, _ = _core.column_cache()
    _core.set_column_cache(0)
    yield
    _core.set_column_cache(0)
    _core.set_column_cache(before)


def rows(seed: int, count: int = 3000) -> Iterator[dict[str, object]]:
    chosen = random.Random(seed)
    for number in range(count):
        yield {
            "id": number,
            "type": chosen.choice("abc"),
            "size": chosen.randrange(40),
            "at": datetime.fromtimestamp(1_700_000_000 + number, UTC),
            "mixed": chosen.choice([1, 2.5, "2", None, True, [3], {"a": chosen.randrange(9)}]),
            "p": {
                "n": chosen.random() * 20,
                "t": f"text {chosen.randrange(1000)}",
                "l": [chosen.randrange(3), chosen.randrange(5)],
            },
            "l": list(range(chosen.randrange(3))),
            f"only{number // 700}": chosen.randrange(2),
        }


def packed(path: Path, seed: int, algorithm: str = "zion+zstd") -> str:
    sdb.pack(
        rows(seed), path, algorithm=algorithm, align_bytes=1 << 15, block_bytes=1 << 18,
        overwrite=True,
    )  # fmt: skip
    return f"'{path}'"


def answer(query: str, table: str, number: int, threads: int | None = None) -> list[Any]:
    text = query.replace("{n}", str(number))
    text = text.replace("FROM {} CROSS JOIN UNNEST({}.", f"FROM {table} AS t CROSS JOIN UNNEST(t.")
    with sdb.sql(text.replace("{}", table), threads=threads) as result:
        return list(result)


@pytest.mark.parametrize("algorithm", ["zion+zstd", "zion+iguana_v0", "zstd"])
@pytest.mark.filterwarnings("ignore::sdb.errors.SdbWarning")
def test_answers_are_the_same_with_and_without_a_cache(tmp_path: Path, algorithm: str) -> None:
    table = packed(tmp_path / "a.zion", 1, algorithm)
    wanted = [answer(query, table, number) for number in (2, 17) for query in QUERIES]
    for most_bytes in (16 * MIB, 100_000):  # enough for all, and for some
        _core.set_column_cache(most_bytes)
        for _ in range(3):
            actual = [answer(query, table, number) for number in (2, 17) for query in QUERIES]
            assert actual == wanted
            assert _core.column_cache()[1] <= most_bytes


LEAVES = (
    "size {op} {n}",
    "size {op} {n}.5",
    "size {op} -{n}",
    "mixed {op} {n}",
    "mixed {op} '{n}'",
    "at {op} TIMESTAMP '2023-11-14T22:{n:02}:00Z'",
    "p.n {op} {n}",
    "type {op} 'b'",
    "type IN ('a', 'c')",
    "mixed IN (1, 2.5, TRUE)",
    "p.t LIKE '%{n}%'",
    "p.t ~ '{n}$'",
    "mixed IS NULL",
    "only1 IS MISSING",
    "only1 = 1",
    "mixed",
)
ASKED = (
    "COUNT(*) AS n",
    "AVG(p.n) AS x",
    "SUM(mixed) AS x, COUNT(mixed) AS n",
    "MAX(at) AS x",
    "type, SUM(size) AS x",
    "mixed, COUNT(*) AS n",
    "only1, COUNT(DISTINCT type) AS n",
    "id, size, mixed",
)


def condition(chosen: random.Random, depth: int = 0) -> str:
    """Return a condition of any form."""
    kind = chosen.choice(["leaf", "NOT", "AND", "OR"][: 1 if depth > 2 else 4])
    if kind == "leaf":
        op = chosen.choice(["=", "<>", "<", "<=", ">", ">="])
        return chosen.choice(LEAVES).format(op=op, n=chosen.randrange(40))
    parts = [f"({condition(chosen, depth + 1)})" for _ in range(chosen.randint(2, 3))]
    return f"NOT {parts[0]}" if kind == "NOT" else f" {kind} ".join(parts)


@pytest.mark.seeds
@pytest.mark.parametrize("algorithm", ["zion+zstd", "zstd"])
@pytest.mark.filterwarnings("ignore::sdb.errors.SdbWarning")
def test_conditions_of_any_form_are_the_same_with_and_without_a_cache(
    tmp_path: Path, algorithm: str
) -> None:
    chosen = random.Random(algorithm)
    table = packed(tmp_path / "a.zion", 1, algorithm)
    for _ in range(usual(300, 60)):
        wanted = chosen.choice(ASKED)
        key, comma, _ = wanted.partition(",")
        is_group = comma and " " not in key and key != "id"
        query = f"SELECT {wanted} FROM {{}} WHERE {condition(chosen)}"
        query += f" GROUP BY {key}" if is_group else ""
        _core.set_column_cache(0)
        expected = answer(query, table, 0)
        _core.set_column_cache(16 * MIB)
        assert [answer(query, table, 0) for _ in range(2)] == [expected] * 2, query


@pytest.mark.parametrize("algorithm", ["zion+zstd", "zstd"])
def test_symbols_that_begin_anew_are_other_groups(tmp_path: Path, algorithm: str) -> None:
    chosen = random.Random(1)
    texts = []
    for _ in range(100):
        words = [f"{chosen.randrange(1 << 24):06x}" for _ in range(300)]
        texts += chosen.choices(words, k=400)
    path = tmp_path / "a.zion"
    # Symbols of that number of names and texts begin anew in the middle of the block.
    rows = (
        {"type": text} | {f"f{at // 400}_{i}": texts[at // 400 * 400 + i] for i in range(8)}
        for at, text in enumerate(texts)
    )
    sdb.pack(rows, path, align_bytes=1 << 15, algorithm=algorithm)
    with sdb.open(path) as packfile:
        assert packfile.block_count == 1
    query = "SELECT type, COUNT(*) AS c FROM {} GROUP BY type"
    for most_bytes in (0, 16 * MIB):
        _core.set_column_cache(most_bytes)
        for _ in range(2):
            counts = {row["type"]: row["c"] for row in answer(query, f"'{path}'", 0, 1)}
            assert counts == Counter(texts)


@pytest.mark.parametrize("algorithm", ["zion+zstd", "zstd"])
def test_a_second_query_reads_no_column_again(tmp_path: Path, algorithm: str) -> None:
    table = packed(tmp_path / "a.zion", 1, algorithm)
    _core.set_column_cache(16 * MIB)
    taken = []
    for number in (3, 4, 5):
        answer(QUERIES[0], table, number)
        taken.append(_core.column_cache()[1])
    assert taken[0] > 0
    assert taken == [taken[0]] * 3


def test_nothing_stays_unless_it_is_wanted(tmp_path: Path) -> None:
    table = packed(tmp_path / "a.zion", 1)
    answer(QUERIES[0], table, 3)
    assert _core.column_cache() == (0, 0)


def test_a_file_that_was_replaced_has_its_own_rows(tmp_path: Path) -> None:
    path = tmp_path / "a.zion"
    wanted = [[answer(query, packed(path, seed), 3) for query in QUERIES[:5]] for seed in (1, 2)]
    _core.set_column_cache(16 * MIB)
    for seed in (1, 2, 1, 2):
        table = packed(path, seed)
        os.utime(path, ns=(1, 1))
        assert [answer(query, table, 3) for query in QUERIES[:5]] == wanted[seed - 1]


def test_rows_that_are_written_over_in_place_are_seen(tmp_path: Path) -> None:
    path, other = tmp_path / "a.zion", tmp_path / "b.zion"
    tables = [packed(each, seed) for each, seed in ((path, 1), (other, 2))]
    wanted = [answer(QUERIES[2], table, 3) for table in tables]
    _core.set_column_cache(16 * MIB)
    assert answer(QUERIES[2], tables[0], 3) == wanted[0]
    path.write_bytes(other.read_bytes())
    assert answer(QUERIES[2], tables[0], 3) == wanted[1]


def test_threads_share_the_columns(tmp_path: Path) -> None:
    table = packed(tmp_path / "a.zion", 1)
    asked = [(query, number) for query in QUERIES[:6] for number in (2, 9)] * 4
    wanted = [answer(query, table, number) for query, number in asked]
    _core.set_column_cache(200_000)
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(lambda pair: answer(pair[0], table, pair[1], 2), asked)) == wanted


def test_a_file_of_both_kinds_of_blocks_has_its_symbols(tmp_path: Path) -> None:
    for name, algorithm in (("a", "zion+zstd"), ("b", "zstd"), ("c", "zion+zstd")):
        packed(tmp_path / f"{name}.zion", 5, algorithm)
    (tmp_path / "d.zion").hardlink_to(tmp_path / "a.zion")
    table = f"'{tmp_path}/*.zion'"
    query = "SELECT type, mixed, COUNT(*) AS c FROM {} GROUP BY type, mixed ORDER BY c LIMIT 9"
    wanted = answer(query, table, 0, 1)
    _core.set_column_cache(16 * MIB)
    assert [answer(query, table, 0, 1) for _ in range(3)] == [wanted] * 3


def test_the_environment_says_how_much_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    assert 0 < wanted_bytes(limit_bytes()) <= 256 * MIB
    monkeypatch.setenv(VARIABLE, "10MiB")
    keep_columns()
    assert _core.column_cache()[0] == 10 * MIB
    monkeypatch.setenv(VARIABLE, "much")
    with pytest.raises(UsageError, match=VARIABLE):
        keep_columns()
