"""Statements about rows without a key, at random, whose meaning DuckDB shares: NULL is MISSING."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from random import Random
    from typing import TypeAlias

    Shape: TypeAlias = "Callable[[Random, str], tuple[str, bool]]"
    """Writes a statement about a table; whether it says the order of all its rows."""

_KEYS = [
    "k",
    "g",
    "UPPER(k)",
    "CASE WHEN n > 5 THEN 'big' END",
    "CASE WHEN n > 7 THEN 'big' WHEN g = 1 THEN k END",
    "CASE WHEN k IS NOT NULL THEN k WHEN s <> 'z' THEN s END",
    "g + n",
    "CASE WHEN k <> 'a' THEN k END",
    "LOWER(s)",
    "n = 3",
    "DATE_TRUNC('day', ts)",
    "ts",
]
_AGGREGATES = [
    "COUNT(*)",
    "COUNT(n)",
    "SUM(n)",
    "MIN(s)",
    "MAX(n)",
    "AVG(n)",
    "COUNT(DISTINCT k)",
    "COUNT(*) FILTER (WHERE n > 3)",
]
_SIDES = ["", " NULLS FIRST", " NULLS LAST"]
_WAYS = [f"{direction}{side}" for direction in ("", " ASC", " DESC") for side in _SIDES]
_WHERE = [
    "",
    "",
    " WHERE n > 2",
    " WHERE k <> 'a' OR g = 1",
    " WHERE id < 150",
    " WHERE NOT s = 'x'",
]
_GROUPED_SETS = [
    "ROLLUP ({0}, {1})",
    "CUBE ({0}, {1})",
    "GROUPING SETS (({0}, {1}), {1}, ())",
    "{0}, ROLLUP ({1})",
]
_CALLS = [
    "COUNT(*)",
    "SUM(n)",
    "MIN(s)",
    "RANK()",
    "DENSE_RANK()",
    "FIRST_VALUE(id)",
    "LAG(k)",
    "SUM(id)",
]
_BY_ROW = {"FIRST_VALUE(id)", "LAG(k)"}


def _named(exprs: list[str], letter: str) -> list[str]:
    return [f"{expr} AS {letter}{number}" for number, expr in enumerate(exprs)]


def _order(rng: Random, keys: list[str]) -> str:
    return ", ".join(f"{key}{rng.choice(_WAYS)}" for key in keys)


def grouped(rng: Random, table: str) -> tuple[str, bool]:
    """GROUP BY."""
    keys = rng.sample(_KEYS, rng.choice([1, 1, 2, 3]))
    items = ", ".join(_named(keys, "k") + _named(rng.sample(_AGGREGATES, 2), "a"))
    names = [f"k{number}" for number in range(len(keys))]
    text = f"SELECT {items} FROM {table}{rng.choice(_WHERE)} GROUP BY {', '.join(keys)}"
    text += rng.choice(["", "", " HAVING COUNT(*) > 2"])
    if rng.random() < 0.5:
        return text, False
    cut = rng.choice(["", " LIMIT 5", " LIMIT 3 OFFSET 2"])
    return f"{text} ORDER BY {_order(rng, names)}{cut}", True


def sets(rng: Random, table: str) -> tuple[str, bool]:
    """ROLLUP, CUBE and GROUPING SETS."""
    keys = rng.sample(["k", "g", "s", "UPPER(s)", "CASE WHEN n > 5 THEN 'big' END"], 2)
    totals = f"GROUPING({keys[0]}) AS t"
    items = [*_named(keys, "k"), totals, *_named(rng.sample(_AGGREGATES, 2), "a")]
    clause = rng.choice(_GROUPED_SETS).format(*keys)
    return f"SELECT {', '.join(items)} FROM {table}{rng.choice(_WHERE)} GROUP BY {clause}", False


def distinct(rng: Random, table: str) -> tuple[str, bool]:
    """DISTINCT, and DISTINCT ON."""
    keys = rng.sample(_KEYS, rng.choice([1, 2]))
    if rng.random() < 0.4:
        order = _order(rng, [*keys, rng.choice(["n", "s"])])
        rows = f"SELECT DISTINCT ON ({', '.join(keys)}) id, k FROM {table}"
        return f"{rows} ORDER BY {order}, id", True
    text = f"SELECT DISTINCT {', '.join(_named(keys, 'k'))} FROM {table}{rng.choice(_WHERE)}"
    if rng.random() < 0.5:
        return text, False
    names = [f"k{number}" for number in range(len(keys))]
    return f"{text} ORDER BY {_order(rng, names)}", True


def ordered(rng: Random, table: str) -> tuple[str, bool]:
    """ORDER BY."""
    order = _order(rng, rng.sample(_KEYS, rng.choice([1, 2])))
    cut = rng.choice(["", " LIMIT 7", " LIMIT 5 OFFSET 20"])
    rows = f"SELECT id, k, n FROM {table}{rng.choice(_WHERE)}"
    return f"{rows} ORDER BY {order}, id{cut}", True


def windowed(rng: Random, table: str) -> tuple[str, bool]:
    """Windows."""
    items = []
    for number in range(3):
        key = rng.choice(_KEYS)
        partition = rng.choice(["", "k", "g, k", key])
        call = rng.choice(_CALLS)
        over = f"PARTITION BY {partition} " if partition else ""
        if not call.startswith(("COUNT", "MIN")) or rng.random() < 0.5:
            over += f"ORDER BY {_order(rng, [rng.choice(['n', 's', 'k', 'ts'])])}"
            over += ", id" if call in _BY_ROW else ""
            over += " ROWS 3 PRECEDING" if call == "FIRST_VALUE(id)" and rng.random() < 0.3 else ""
        items.append(f"{call} OVER ({over}) AS w{number}")
    remaining = " QUALIFY ROW_NUMBER() OVER (PARTITION BY k ORDER BY n, id) < 4"
    rows = f"SELECT id, {', '.join(items)} FROM {table}{rng.choice(_WHERE)}"
    return f"{rows}{rng.choice(['', '', remaining])} ORDER BY id", True


def joined(rng: Random, table: str) -> tuple[str, bool]:
    """Joins."""
    join = rng.choice(["JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN"])
    pairs = ["a.k = b.k", "a.g = b.g", "a.k = b.k AND a.g = b.g", "a.n = b.n AND a.id > b.id"]
    sources = f"{table} AS a {join} q AS b ON {rng.choice(pairs)}"
    if rng.random() < 0.5:
        key = rng.choice(["a.k", "b.k", "b.s", "UPPER(b.k)"])
        items = f"{key} AS key, COUNT(*) AS rows, SUM(b.n) AS sum"
        return f"SELECT {items} FROM {sources} GROUP BY {key}", False
    order = _order(rng, ["a.k", "b.s"])
    cut = rng.choice(["", " LIMIT 30"])
    return f"SELECT a.id AS i, b.id AS j FROM {sources} ORDER BY {order}, i, j{cut}", True


def combined(rng: Random, table: str) -> tuple[str, bool]:
    """UNION, INTERSECT and EXCEPT."""
    items = ", ".join(_named(rng.sample(["k", "g", "s", "UPPER(k)", "n"], 2), "c"))
    op = rng.choice(["UNION", "INTERSECT", "EXCEPT"]) + rng.choice(["", " ALL"])
    right = rng.choice([f"SELECT {items} FROM q", f"SELECT DISTINCT {items} FROM q WHERE n < 8"])
    text = f"SELECT {items} FROM {table}{rng.choice(_WHERE)} {op} {right}"
    if rng.random() < 0.4:
        return f"{text} ORDER BY {_order(rng, ['c0', 'c1'])}", True
    return text, False


def nested(rng: Random, table: str) -> tuple[str, bool]:
    """Sub-queries: in FROM and WITH, as lists, as values, correlated."""
    inner, _ = rng.choice([grouped, distinct, combined])(rng, table)
    column = next((name for name in ("k0", "c0") if f"AS {name}" in inner), "k")
    few = "(SELECT COUNT(*) FROM (SELECT DISTINCT k, g FROM q) AS i)"
    first = f"ORDER BY {_order(rng, ['o.s', 'o.n'])}, o.id LIMIT 1"
    earliest = f"(SELECT o.id FROM q AS o WHERE o.g = a.g {first})"
    keys = "(SELECT COUNT(*) FROM (SELECT DISTINCT o.k FROM q AS o WHERE o.g = a.g) AS i)"
    there = "SELECT k FROM q WHERE k IS NOT NULL AND n > 6"
    order = f"ORDER BY {_order(rng, ['n'])}, id"
    return rng.choice(
        [
            (f"SELECT {column}, COUNT(*) AS c FROM ({inner}) AS i GROUP BY {column}", False),
            (f"WITH i AS ({inner}) SELECT DISTINCT {column} FROM i", False),
            (f"SELECT id FROM {table} WHERE k IN (SELECT k FROM q GROUP BY k) {order}", True),
            (f"SELECT id FROM {table} WHERE k NOT IN ({there}) {order}", True),
            (f"SELECT g, {few} AS f, COUNT(*) AS c FROM {table} GROUP BY g", False),
            (
                f"SELECT id, {earliest} AS e FROM {table} AS a ORDER BY {_order(rng, ['e'])}, id",
                True,
            ),
            (f"SELECT {keys} AS f, COUNT(*) AS c FROM {table} AS a GROUP BY {keys}", False),
        ]
    )


SHAPES: list[Shape] = [grouped, sets, distinct, ordered, windowed, joined, combined, nested]
