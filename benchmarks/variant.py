"""Compares typed lanes, which scans give to DuckDB, with DuckDB's type VARIANT.

    python benchmarks/variant.py [--size 100MB] [--rounds 5]

Real GitHub events, repeated. First, what VARIANT keeps of values; then queries over nested fields,
each in three ways, in turn, and checked to have the same answer:

lanes     `sdb.sql` on a packfile: the scan decodes blocks and gives typed columns to DuckDB
handed    the scan gives the fields as JSON texts to DuckDB, which makes VARIANT of them: what a
          scan without lanes would do
stored    DuckDB has the rows as VARIANT in a table of its own already: no scan at all

Numbers are medians of processor time in milliseconds.
"""

from __future__ import annotations

import argparse
import gzip
import io
import statistics
import tempfile
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb
import pyarrow as pa

import sdb
from sdb import sizes

if TYPE_CHECKING:
    from collections.abc import Callable

SAMPLE = Path(__file__).resolve().parents[1] / "testdata/gh2015_1k.json.gz"

VALUES = {
    "NULL": "null",
    "MISSING": None,
    "2^53 + 1": "9007199254740993",
    "2^64 - 1": "18446744073709551615",
    "2^64": "18446744073709551616",
    "-2^63 - 1": "-9223372036854775809",
    "1.0": "1.0",
    "1e400": "1e400",
    "text": '"1"',
}

# The fields that a query reads, each with its path and type; and the query, for all three ways.
QUERIES: dict[str, tuple[dict[str, tuple[str, str]], str]] = {
    "group by a text": (
        {"login": ("actor.login", "VARCHAR")},
        "SELECT LOWER([login]) AS k, COUNT(*) AS n FROM [rows] GROUP BY LOWER([login])",
    ),
    "averages of groups": (
        {"type": ("type", "VARCHAR"), "size": ("payload.size", "BIGINT")},
        """SELECT UPPER([type]) AS k, COUNT([size]) AS n, AVG([size]) AS a FROM [rows]
        WHERE [size] >= 0 GROUP BY UPPER([type])""",
    ),
    "like": (
        {"name": ("repo.name", "VARCHAR"), "body": ("payload.comment.body", "VARCHAR")},
        """SELECT LOWER([name]) AS k, COUNT(*) AS n FROM [rows]
        WHERE [body] LIKE '%the%' GROUP BY LOWER([name])""",
    ),
    "sort": (
        {"type": ("type", "VARCHAR"), "n": ("payload.pull_request.additions", "BIGINT")},
        """SELECT LOWER([type]) AS k, [n] AS n FROM [rows]
        WHERE [n] >= 0 ORDER BY n DESC, k LIMIT 100""",
    ),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--size", type=sizes.parse, default=sizes.parse("100MB"))
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    print(f"DuckDB {duckdb.__version__}\n")
    tell_of_values()
    with tempfile.TemporaryDirectory() as folder:
        compare(Path(folder), options.size, options.rounds)


def tell_of_values() -> None:
    """Print what is left of values, and whether those that differ can be told apart."""
    connection = duckdb.connect()
    print(f"{'value':<12}{'type':<14}{'printed':<26}{'x IS NULL':<11}{'exists'}")
    for name, text in VALUES.items():
        row = "{}" if text is None else f'{{"x": {text}}}'
        actual = connection.execute(
            "SELECT variant_typeof(v.x), v.x::VARCHAR, v.x IS NULL, variant_exists(v, 'x')"
            " FROM (SELECT ?::JSON::VARIANT AS v)",
            [row],
        ).fetchone()
        assert actual is not None
        kind, printed, is_null, exists = map(str, actual)
        print(f"{name:<12}{kind:<14}{printed:<26}{is_null:<11}{exists}")


def compare(folder: Path, size: int, rounds: int) -> None:
    text = gzip.decompress(SAMPLE.read_bytes())
    text *= -(-size // len(text))
    packfile = folder / "events.zion"
    sdb.pack(io.BytesIO(text), packfile)
    connection = duckdb.connect(str(folder / "events.db"))
    rows = texts(text)
    connection.register("rows", rows)
    cpu, _ = timed(
        lambda: connection.execute("CREATE TABLE t AS SELECT line::JSON::VARIANT AS v FROM rows")
    )
    connection.execute("CHECKPOINT")
    print(f"\n{len(rows):,} rows, {len(text):,} bytes; packfile {packfile.stat().st_size:,} bytes,")
    print(
        f"table of VARIANT {(folder / 'events.db').stat().st_size:,} bytes, made in {cpu:,.0f} ms"
    )
    print(f"\n{'query':<22}{'lanes':>9}{'handed':>9}{'stored':>9}")
    for name, (fields, query) in QUERIES.items():
        ways: dict[str, Callable[[], list[Any]]] = {
            "lanes": partial(lanes, packfile, fields, query),
            "handed": partial(handed, connection, packfile, fields, query),
            "stored": partial(stored, connection, fields, query),
        }
        times: dict[str, list[float]] = {way: [] for way in ways}
        for _ in range(rounds):
            answers = []
            for way, run in ways.items():
                cpu, answer = timed(run)
                times[way].append(cpu)
                answers.append(sorted(map(str, answer)))
            assert answers[0] == answers[1] == answers[2], name
        print(f"{name:<22}" + "".join(f"{statistics.median(times[way]):>9,.0f}" for way in ways))


Fields = dict[str, tuple[str, str]]


def lanes(packfile: Path, fields: Fields, query: str) -> list[Any]:
    result = sdb.sql(filled(query, {name: path for name, (path, _) in fields.items()}, packfile))
    columns = result.columns
    return [tuple(row.get(name) for name in columns) for row in result]


def handed(
    connection: duckdb.DuckDBPyConnection, packfile: Path, fields: Fields, query: str
) -> list[Any]:
    buffer = io.BytesIO()
    columns = ", ".join(f"{path} AS {name}" for name, (path, _) in fields.items())
    sdb.sql(f"SELECT {columns} FROM '{packfile}'").write(buffer)
    connection.register("lines", texts(buffer.getvalue()))
    values = {name: f"v.{name}::{kind}" for name, (_, kind) in fields.items()}
    rows = "(SELECT line::JSON::VARIANT AS v FROM lines)"
    return connection.execute(filled(query, values, rows)).fetchall()


def stored(connection: duckdb.DuckDBPyConnection, fields: Fields, query: str) -> list[Any]:
    values = {name: f"v.{path}::{kind}" for name, (path, kind) in fields.items()}
    return connection.execute(filled(query, values, "t")).fetchall()


def filled(query: str, values: dict[str, str], rows: Path | str) -> str:
    for name, value in values.items():
        query = query.replace(f"[{name}]", value)
    return query.replace("[rows]", f"'{rows}'" if isinstance(rows, Path) else rows)


def texts(lines: bytes) -> pa.Table:
    return pa.table({"line": pa.array(lines.splitlines(), pa.binary()).cast(pa.string())})


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    begun = time.process_time()
    done = work()
    return (time.process_time() - begun) * 1000, done


if __name__ == "__main__":
    main()
