"""Answers of sdb and of DuckDB to the same text over the same rows, equal but for ties."""

from __future__ import annotations

import re
from collections import Counter
from datetime import date, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import sdb

if TYPE_CHECKING:
    from pathlib import Path

    import duckdb
    import pyarrow as pa

Values = tuple[Any, ...]
_FLAGS = re.DOTALL | re.IGNORECASE
_TAIL = re.compile(r"\s+ORDER BY (?P<keys>(?:(?!ORDER BY).)*?)(?P<limit>\s+LIMIT .*)?$", _FLAGS)
_LIMIT = re.compile(r"LIMIT (\d+)(?: OFFSET (\d+))?\s*$", _FLAGS)


# Sums differ in their last digit: rounded, they are equal, unless they are just between two
# rounded numbers, as 0.5 is, which no sum of money is any more behind this factor.
_ODD = 1.2345678912345


def write(engine: duckdb.DuckDBPyConnection, name: str, rows: pa.Table, folder: Path) -> None:
    """Write rows as lines of JSON, pack these, and make a table of the name in DuckDB."""
    engine.register("rows", rows)
    engine.execute(f"CREATE TABLE {name} AS SELECT * FROM rows")
    text = folder / f"{name}.json"
    engine.execute(f"COPY {name} TO '{text}' (FORMAT json)")
    engine.unregister("rows")
    sdb.pack([text], folder / f"{name}.zion", block_bytes=1 << 18)


def differences(
    engine: duckdb.DuckDBPyConnection, query: str, root: Path, *, standard: str | None = None
) -> str | None:
    """Return how the answer of sdb differs from those that are right, or `None`.

    * ``standard``: The same in the words of standard SQL, where these are others.
    """
    with sdb.sql(query, root=str(root)) as result:
        ours = _rows(result.to_arrow())
    theirs, ranks = _right(engine, standard or query)
    limited = _LIMIT.search(standard or query)
    first, most = (int(limited[2] or 0), int(limited[1])) if limited else (0, len(theirs))
    # Without a key of order `theirs` are all rows; with one those that may be among the first.
    if len(ours) != min(most, max(0, len(theirs) - first)):
        return f"{len(ours)} rows of {len(theirs)}: {ours[:3]} {theirs[:3]}"
    if ranks is None:
        strange = Counter(ours) - Counter(theirs)
        return f"{list(strange)[:3]} is not in {theirs[:3]}" if strange else None
    left = Counter(zip(ranks, theirs, strict=True))
    ties = Counter(ranks)
    for our, row in enumerate(ours, first):
        fitting = [
            key for key in left if key[1] == row and key[0] - 1 <= our < key[0] - 1 + ties[key[0]]
        ]
        if not fitting or not left[fitting[0]]:
            return f"row {our} is {row}, which is not one of {theirs[:3]}"
        left[fitting[0]] -= 1
    return None


def _right(engine: duckdb.DuckDBPyConnection, query: str) -> tuple[list[Values], list[int] | None]:
    """Return rows that may come out, and their ranks if they have an order."""
    tail = _TAIL.search(query)
    if tail is None:
        return _rows(engine.sql(_LIMIT.sub("", query)).to_arrow_table()), None
    # A rank beside the items may use what they have no column of.
    start = _clause(query, "FROM")
    ranked = f"{query[:start]}, RANK() OVER (ORDER BY {tail['keys']}) AS rank_ {query[start:]}"
    ranked = ranked[: len(ranked) - len(tail[0])]
    limited = _LIMIT.search(query)
    if limited:
        ranked = f"SELECT * FROM ({ranked}) WHERE rank_ <= {int(limited[1]) + int(limited[2] or 0)}"
    rows = _rows(engine.sql(ranked).to_arrow_table())
    return [row[:-1] for row in rows], [row[-1] for row in rows]


def _clause(query: str, word: str) -> int:
    """Return where a word stands that is in no parentheses."""
    depth = 0
    for match in re.finditer(rf"[()]|\b{word}\b", query, _FLAGS):
        if match[0].upper() == word and depth == 0:
            return match.start()
        depth += {"(": 1, ")": -1}.get(match[0], 0)
    raise AssertionError(query)


def _rows(table: pa.Table) -> list[Values]:
    columns = [[_plain(value) for value in column.to_pylist()] for column in table.columns]
    return list(zip(*columns, strict=True))


def _plain(value: object) -> object:
    """Return a value that is equal for what both mean, whatever type they have for it."""
    if isinstance(value, datetime):
        return value.replace(tzinfo=None)
    if isinstance(value, date):
        return datetime(value.year, value.month, value.day)  # noqa: DTZ001 - as those above
    if isinstance(value, Decimal) and value == int(value):
        return int(value)
    if isinstance(value, (float, Decimal)):
        number = float(value)
        if abs(number - round(number)) <= 1e-12 * abs(number) and abs(number) < 1 << 53:
            return round(number)
        return f"{number * _ODD:.9g}"
    return value
