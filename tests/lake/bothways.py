"""Questions about a Delta or Iceberg table: of the fields and rows that they need, and of all."""

from __future__ import annotations

import json
import warnings
from contextlib import contextmanager
from datetime import datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any
from unittest import mock

import pyarrow as pa

import sdb
from sdb import notes
from sdb.errors import SdbError
from sdb.query.catalog import lakeparts

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_MOST_FIELDS = 20
_HUGE = 1 << 62


@contextmanager
def reading(what: str) -> Iterator[None]:
    """Have queries read ``parts`` of versions, whatever they weigh, or the ``whole``."""
    is_part = what == "parts"
    facts = {"SMALL_BYTES": -1 if is_part else _HUGE, "KEPT_BYTES": -1, "_MOST_SHARE": 2.0}
    with (
        mock.patch.multiple(lakeparts, **facts),
        mock.patch.dict("os.environ", {"SDB_CACHE_SIZE": "0"}),
    ):
        yield


def answer(query: str, root: Path | None = None) -> tuple[dict[str, Any], list[str]]:
    """Return all that a query tells, and what was packed for it."""
    said: list[str] = []
    notes.listen(said.append, details=False)
    more: dict[str, Any] = {} if root is None else {"root": str(root)}
    outcome: dict[str, Any] = {}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            with sdb.sql(query, **more) as result:
                outcome["rows"] = [repr(row) for row in result]
                if "ORDER BY" not in query:
                    outcome["rows"].sort()
                outcome["notes"] = result.notes
            if "SELECT *" in query:
                outcome["schema"] = _schema(query, more)
        except SdbError as error:
            outcome["error"] = (type(error).__name__, str(error), error.hint)
    # Of columns that a query does not need nothing is said.
    lines = {str(warning.message) for warning in caught}
    outcome["warnings"] = sorted(line for line in lines if not line.startswith("column "))
    return outcome, said


def _schema(query: str, more: dict[str, Any]) -> str:
    with warnings.catch_warnings(), sdb.sql(query, **more) as result:
        warnings.simplefilter("ignore")
        return str(pa.table(result).schema)


def ask_both_ways(source: str, root: Path | None = None, *, most: int = 6) -> tuple[int, int]:
    """Compare the answers to questions about a table.

    * ``most``: About how many of its fields.

    Returns: How many there are, and how many of them parts have answered.
    """
    with reading("whole"), sdb.sql(f"SELECT * FROM {source}", **_at(root)) as result:
        rows = [dict(row) for row in result]
    count = parts = 0
    every = list(questions(source, rows))
    step = max(1, -(-len(every) // most))
    for query in [*general(source), *every[len(rows) % step :: step]]:
        with reading("whole"):
            whole, _ = answer(query, root)
        with reading("parts"):
            part, said = answer(query, root)
        for outcome, wanted in whole.items():
            if part.get(outcome) != wanted:
                raise AssertionError(f"{query}: {outcome}: {part.get(outcome)} and not {wanted}")
        assert part.keys() == whole.keys(), query
        count += 1
        parts += all(" of delta:" in line or " of iceberg:" in line for line in said)
    return count, parts


def _at(root: Path | None) -> dict[str, Any]:
    return {} if root is None else {"root": str(root)}


def general(source: str) -> Iterator[str]:
    """Yield queries about the rows of any table."""
    yield f"SELECT COUNT(*) FROM {source}"
    yield f"SELECT nix, COUNT(*) FROM {source} GROUP BY nix"
    yield f"SELECT t FROM {source} AS t"
    yield f"SELECT * FROM {source} LIMIT 2"
    yield f"SELECT COUNT(DISTINCT *) FROM {source}"
    named = source.replace("'", '"')
    yield f"SELECT * FROM {named} WHERE nix = 1"


def questions(source: str, rows: list[dict[str, Any]]) -> Iterator[str]:
    """Yield queries about the fields that rows of a table have."""
    fields = dict(list(_values(rows, ()))[:_MOST_FIELDS])
    names = list(fields)
    for name, values in fields.items():
        top = name.partition(".")[0]
        yield f"SELECT {name} AS x, {name} IS MISSING AS m FROM {source}"
        yield f"SELECT {name} AS x, COUNT(*) AS c FROM {source} GROUP BY 1 ORDER BY 1, 2"
        yield f"SELECT COUNT(*) AS c FROM {source} AS t WHERE t.{name} IS NULL"
        yield f"SELECT {names[0]} FROM {source} WHERE {name} IS NOT NULL ORDER BY {name} LIMIT 3"
        yield f"SELECT a.{name} FROM {source} a JOIN {source} b ON a.{name} = b.{name}"
        yield f"SELECT * FROM (SELECT {name} AS x FROM {source}) q WHERE q.x IS NOT NULL"
        yield f"SELECT {name} AS {names[-1].replace('.', '_')} FROM {source} WHERE {name} = 'x'"
        yield f"SELECT {name}.nix FROM {source}"
        for value in values:
            yield f"SELECT {names[-1]} FROM {source} WHERE {name} = {value}"
            yield f"SELECT * FROM {source} WHERE {name} = {value}"
            some = f"t.{name} IN ({value}, 'nix')"
            yield f"SELECT * FROM {source} t WHERE {some} AND t.{top} IS NOT NULL"
            yield f"SELECT {names[0]} AS {names[-1]} FROM {source} WHERE {name} = {value}"
            yield f"SELECT COUNT(*) FROM {source} WHERE {name} > {value} OR {name} = {value}"
            yield f"SELECT COUNT(*), MIN({names[0]}) AS l FROM {source} WHERE {name} < {value}"
            yield f"SELECT * FROM {source} WHERE {value} <= {name}"
            yield f"SELECT {name} FROM {source} WHERE {name} BETWEEN {value} AND {value}"


def _values(rows: list[dict[str, Any]], above: tuple[str, ...]) -> Iterator[tuple[str, list[str]]]:
    """Yield the paths of fields, and a few constants for comparisons with each."""
    for name in dict.fromkeys(name for row in rows for name in row):
        path = (*above, name)
        values = [row[name] for row in rows if row.get(name) is not None]
        known = dict.fromkeys(filter(None, map(_literal, values)))
        chosen = list(known)[:: max(1, len(known) // 3)][:3]
        yield ".".join(f'"{step}"' for step in path), [*chosen, "'5'"]
        structs = [value for value in values if isinstance(value, dict)]
        if structs:
            yield from _values(structs, path)


def _literal(value: Any) -> str:
    match value:
        case bool():
            return str(value).upper()
        case int() | float() | Decimal():
            return str(value)
        case str():
            return "'{}'".format(value.replace("'", "''"))
        case datetime():
            return f"TIMESTAMP '{value.isoformat()}'"
        case _:
            return "" if value is None else f"'{json.dumps(value, default=str)}'"
