"""Windows: what DuckDB gives over the same typed rows, and rules for MISSING, NULL, mixed types."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from random import Random
from typing import TYPE_CHECKING, Any

import duckdb
import pytest

import sdb
from sdb.errors import QueryError
from sdb.query.syntax import printer
from sdb.query.syntax.parser import parse

if TYPE_CHECKING:
    from pathlib import Path

Row = dict[str, Any]
_START = 1_700_000_000
_COUNT = 300
_COLUMNS = "id BIGINT, g VARCHAR, n BIGINT, d DOUBLE, s VARCHAR, m BIGINT, ts TIMESTAMP"

MIXED: list[Row] = [
    {"i": 1, "k": "a", "o": 1, "v": 1},
    {"i": 2, "k": "a", "v": "x"},
    {"i": 3, "k": "a", "o": None, "v": None},
    {"i": 4, "o": 2, "v": [1, "a"]},
    {"i": 5, "o": 3},
    {"i": 6, "k": None, "o": "t", "v": {"b": 1, "a": {"z": 0, "y": 1}}},
    {"i": 7, "k": "a", "o": 2.5, "v": "2021-01-01T00:00:00Z"},
]


def _pack(folder: Path, name: str, rows: list[Row]) -> None:
    (folder / f"{name}.json").write_text("".join(json.dumps(row) + "\n" for row in rows))
    path = folder / f"{name}.zion"
    sdb.pack([folder / f"{name}.json"], path, block_bytes=2048, align_bytes=512)


def _typed_row(rng: Random, number: int) -> Row:
    moment = datetime.fromtimestamp(_START + 600 * rng.randrange(200), UTC)
    return {
        "id": number,
        "g": rng.choice(["a", "b", "c", None]),
        "n": rng.randrange(12),
        "d": rng.choice([0.5, 1.25, 3.0, 7.75]),
        "s": rng.choice(["x", "yy", "z"]) + str(number % 7),
        "m": rng.choice([None, None, 3, 5]),
        "ts": moment.strftime("%Y-%m-%dT%H:%M:%SZ"),
    }


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("windows")
    rng = Random(31)
    _pack(folder, "events", [_typed_row(rng, number) for number in range(_COUNT)])
    _pack(folder, "mixed", MIXED)
    return folder


@pytest.fixture(scope="module")
def engine(folder: Path) -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect()
    connection.execute(f"CREATE TABLE events ({_COLUMNS})")
    for line in (folder / "events.json").read_text().splitlines():
        row = json.loads(line)
        row["ts"] = row["ts"].rstrip("Z")
        connection.execute("INSERT INTO events VALUES (?, ?, ?, ?, ?, ?, ?)", list(row.values()))
    return connection


def _ask(folder: Path, query: str) -> list[Row]:
    with sdb.sql(query, root=str(folder)) as result:
        return [dict(row) for row in result]


def _plain(value: object) -> object:
    if isinstance(value, datetime):
        return value.replace(tzinfo=None)
    return round(value, 9) if isinstance(value, float) else value


def _both(folder: Path, engine: duckdb.DuckDBPyConnection, query: str) -> None:
    """Compare the rows that both give, which have an id."""
    relation = engine.sql(query)
    expected = [
        {name: _plain(value) for name, value in zip(relation.columns, row, strict=True)}
        for row in relation.fetchall()
    ]
    names = relation.columns
    actual = [{name: _plain(row.get(name)) for name in names} for row in _ask(folder, query)]
    actual.sort(key=lambda row: row["id"])
    assert actual == sorted(expected, key=lambda row: row["id"]), query


_VALUES = [
    "LAG(s) {}",
    "LAG(m, 2, -1) {}",
    "LEAD(s, 3, 'none') {}",
    "LEAD(m IGNORE NULLS) {}",
    "LAG(ts, 1) {}",
    "NTILE(7) {}",
    "PERCENT_RANK() {}",
    "CUME_DIST() {}",
    "ROW_NUMBER() {}",
    "RANK() {}",
    "DENSE_RANK() {}",
]
_FRAMED = [
    "SUM(n) {}",
    "SUM(m) {}",
    "AVG(d) {}",
    "COUNT(*) {}",
    "COUNT(*) FILTER (WHERE m IS NOT NULL) {}",
    "SUM(n) FILTER (WHERE d > 1) {}",
    "MIN(s) {}",
    "MAX(d) {}",
    "MAX(ts) {}",
    "COUNT(DISTINCT s) {}",
    "MEDIAN(n) {}",
    "BOOL_OR(n > 9) {}",
    "STDDEV_POP(n) {}",
    "FIRST_VALUE(s) {}",
    "FIRST_VALUE(m IGNORE NULLS) {}",
    "LAST_VALUE(ts) {}",
    "LAST_VALUE(m) {}",
    "NTH_VALUE(s, 2) {}",
    "NTH_VALUE(m, 2 IGNORE NULLS) {}",
]
_EXCLUDABLE = ["CURRENT ROW", "GROUP", "TIES", "NO OTHERS"]
_EXCLUDES = ["", "", "", *(f" EXCLUDE {word}" for word in _EXCLUDABLE)]


def _ends(rng: Random, distances: list[str]) -> str:
    item, two = rng.choice(distances), rng.choice(distances)
    first = ["UNBOUNDED PRECEDING", f"{item} PRECEDING", "CURRENT ROW", f"{item} FOLLOWING"]
    last = [f"{two} PRECEDING", "CURRENT ROW", f"{two} FOLLOWING", "UNBOUNDED FOLLOWING"]
    while True:
        start, end = rng.randrange(4), rng.randrange(4)
        if min(start, 3) - 1 <= end:
            return f"BETWEEN {first[start]} AND {last[end]}"


def _window(rng: Random, *, is_framed: bool) -> tuple[str, str]:
    """Write an order and a frame; where order matters, no two rows are equal."""
    way = rng.choice([" NULLS FIRST", " NULLS LAST", " DESC NULLS FIRST", " DESC NULLS LAST"])
    partition = rng.choice(["", "PARTITION BY g ", "PARTITION BY g, d "])
    unit = rng.choice(["", "ROWS", "GROUPS", "NUMBER", "TIME"]) if is_framed else ""
    excluded = rng.choice(_EXCLUDES)
    if unit == "NUMBER":
        ends = _ends(rng, ["1", "2.5"])
        return f"{partition}ORDER BY {rng.choice(['n', 'd', 'm'])}{way}", f"RANGE {ends}{excluded}"
    if unit == "TIME":
        ends = _ends(rng, ["INTERVAL '1 hour'", "INTERVAL '20 minutes'", "INTERVAL '1 day'"])
        return f"{partition}ORDER BY ts{way}", f"RANGE {ends}{excluded}"
    key = rng.choice(["n", "m", "ts", "s"])
    order = f"{partition}ORDER BY {key}{way}"
    if unit == "GROUPS":
        return order, f"GROUPS {_ends(rng, ['1', '2'])}{excluded}"
    order += ", id"
    if unit == "ROWS":
        short = rng.choice(["ROWS 3 PRECEDING", "ROWS UNBOUNDED PRECEDING", ""])
        return order, short or f"ROWS {_ends(rng, ['0', '1', '3'])}{excluded}"
    return order, ""


_DEPENDENT = ("FIRST_VALUE", "LAST_VALUE", "NTH_VALUE")


def _over(rng: Random, call: str) -> tuple[str, str]:
    """Write a call with its window, and a named window that it takes, if it does."""
    order, frame = _window(rng, is_framed=call in _FRAMED)
    if call.startswith(_DEPENDENT) and not order.endswith(", id"):
        # Among equal rows the first may be any.
        order, frame = f"{order}, id", "ROWS BETWEEN 2 PRECEDING AND 1 FOLLOWING"
    match rng.randrange(4):
        case 0:
            return "OVER w{0}", f"w{{0}} AS ({order} {frame})"
        case 1:
            return f"OVER (w{{0}} {frame})", f"w{{0}} AS ({order})"
    return f"OVER ({order} {frame})", ""


def _statement(rng: Random) -> str:
    items, windows = [], []
    for number in range(6):
        call = rng.choice(_VALUES + 2 * _FRAMED)
        over, named = _over(rng, call)
        items.append(f"{call.format(over.format(number))} AS x{number}")
        windows += [named.format(number)] if named else []
    where = rng.choice(["", " WHERE id > 40", " WHERE n < 9 AND d > 1"])
    window = f" WINDOW {', '.join(windows)}" if windows else ""
    qualify = rng.choice(
        [
            "",
            " QUALIFY ROW_NUMBER() OVER (PARTITION BY g ORDER BY n DESC, id) <= 9",
            " QUALIFY id > 100 AND SUM(n) OVER (ORDER BY id) < 900",
            " QUALIFY id > 100",
        ]
    )
    rows = f"SELECT id, n, {', '.join(items)} FROM events{where}{window}{qualify}"
    cut = rng.choice(["", " ORDER BY id LIMIT 20", " ORDER BY id DESC LIMIT 5 OFFSET 3"])
    outside = rng.choice(["", " WHERE id < 200", " WHERE n = 3"])
    return f"SELECT * FROM ({rows}{cut}) AS q{outside}" if rng.random() < 0.6 else rows + cut


@pytest.mark.parametrize("seed", range(40))
def test_windows_give_what_duckdb_gives(
    folder: Path, engine: duckdb.DuckDBPyConnection, seed: int
) -> None:
    _both(folder, engine, _statement(Random(seed)))


@pytest.mark.parametrize(
    "query",
    [
        "SELECT MIN(id) AS id, g, RANK() OVER (ORDER BY COUNT(*) DESC) AS r FROM events GROUP BY g",
        (
            "SELECT MIN(id) AS id, SUM(SUM(n)) OVER w AS s, LAG(COUNT(*)) OVER w AS l FROM events "
            "GROUP BY n WINDOW w AS (ORDER BY n ROWS 2 PRECEDING)"
        ),
        (
            "SELECT MIN(id) AS id, n FROM events GROUP BY n HAVING COUNT(*) > 1 "
            "QUALIFY RANK() OVER (ORDER BY COUNT(*), n) < 4"
        ),
        "SELECT id FROM events QUALIFY SUM(n) OVER (ORDER BY id) BETWEEN 100 AND 300",
        "SELECT id, ROW_NUMBER() OVER (PARTITION BY g ORDER BY id) AS r FROM events QUALIFY r = 2",
        (
            "SELECT a.id FROM (SELECT id, ROW_NUMBER() OVER (ORDER BY id) AS r FROM events) AS a "
            "WHERE a.id > 100 AND a.r < 120"
        ),
        "SELECT id FROM (SELECT id, RANK() OVER (ORDER BY id) AS r FROM events QUALIFY id > 290) q",
        (
            "SELECT id, n - LAG(n) OVER (ORDER BY id) AS d FROM events WHERE n IN (SELECT n FROM "
            "events QUALIFY ROW_NUMBER() OVER (ORDER BY n, id) = 1)"
        ),
        "SELECT id FROM events WHERE id > 5 QUALIFY COUNT(*) OVER () = 294 ORDER BY id LIMIT 3",
        # Texts that may be long stand beside many rows
        (
            "SELECT a.id, RANK() OVER (ORDER BY b.s, a.id) AS r, COUNT(*) OVER (PARTITION BY b.s) "
            "AS n FROM events AS a JOIN (SELECT g, STRING_AGG(n::VARCHAR, ',' ORDER BY id) AS s "
            "FROM events GROUP BY g) AS b ON a.g = b.g"
        ),
    ],
)
def test_queries_with_windows_give_what_duckdb_gives(
    folder: Path, engine: duckdb.DuckDBPyConnection, query: str
) -> None:
    _both(folder, engine, query)


_NO = "-"
"""Stands for MISSING in expectations."""


@pytest.mark.parametrize(
    ("item", "expected"),
    [
        # A key of ORDER BY that is MISSING sorts as NULL, and is equal to it.
        ("RANK() OVER (ORDER BY o)", [3, 1, 1, 4, 6, 7, 5]),
        ("RANK() OVER (ORDER BY o NULLS LAST)", [1, 6, 6, 2, 4, 5, 3]),
        ("CUME_DIST() OVER (ORDER BY o DESC NULLS LAST)", [x / 7 for x in (5, 7, 7, 4, 2, 1, 3)]),
        # Rows without a key of PARTITION BY have no aggregates, but neighbours; NULL is a key.
        ("COUNT(*) OVER (PARTITION BY k)", [4, 4, 4, 0, 0, 1, 4]),
        ("SUM(i) OVER (PARTITION BY k ORDER BY i ROWS 1 PRECEDING)", [1, 3, 5, None, None, 6, 10]),
        ("MAX(v) OVER (PARTITION BY k)", [1, 1, 1, None, None, None, 1]),
        ("ARRAY_AGG(i) OVER (PARTITION BY k ORDER BY i)",
         [[1], [1, 2], [1, 2, 3], None, None, [6], [1, 2, 3, 7]]),
        ("LAG(i) OVER (PARTITION BY k ORDER BY i)", [None, 1, 2, None, 4, None, 3]),
        ("NTILE(2) OVER (PARTITION BY k ORDER BY i)", [1, 1, 2, 1, 2, 1, 2]),
        # Values of any type stay what they are; that of no row is NULL or the default.
        ("LAG(v) OVER (ORDER BY i)",
         [None, 1, "x", None, [1, "a"], _NO, {"b": 1, "a": {"z": 0, "y": 1}}]),
        ("LEAD(v, 1, 'end') OVER (ORDER BY i)",
         ["x", None, [1, "a"], _NO, MIXED[5]["v"], "2021-01-01T00:00:00Z", "end"]),
        ("LAG(i, 1, v) OVER (PARTITION BY i ORDER BY i)", [row.get("v", _NO) for row in MIXED]),
        ("LAG(v, 0) OVER (ORDER BY i)", [row.get("v", _NO) for row in MIXED]),
        ("LAG(i, -2) OVER (ORDER BY i)", [3, 4, 5, 6, 7, None, None]),
        ("LAST_VALUE(v) OVER (ORDER BY i)", [row.get("v", _NO) for row in MIXED]),
        # IGNORE NULLS skips NULL and MISSING.
        ("LAST_VALUE(v IGNORE NULLS) OVER (ORDER BY i ROWS BETWEEN 1 PRECEDING AND CURRENT ROW)",
         [1, "x", "x", [1, "a"], [1, "a"], MIXED[5]["v"], MIXED[6]["v"]]),
        ("LAG(o) IGNORE NULLS OVER (ORDER BY i)", [None, 1, 1, 1, 2, 3, "t"]),
        ("LAG(o) RESPECT NULLS OVER (ORDER BY i)", [None, 1, _NO, None, 2, 3, "t"]),
        ("FIRST_VALUE(k IGNORE NULLS) OVER (ORDER BY i ROWS BETWEEN 1 FOLLOWING AND 2 FOLLOWING)",
         ["a", "a", None, None, "a", "a", None]),
        # Frames without a row.
        ("COUNT(*) OVER (ORDER BY i ROWS BETWEEN 3 PRECEDING AND 2 PRECEDING)",
         [0, 0, 1, 2, 2, 2, 2]),
        ("FIRST_VALUE(i) OVER (ORDER BY i ROWS BETWEEN 2 FOLLOWING AND 3 FOLLOWING)",
         [3, 4, 5, 6, 7, None, None]),
        ("NTH_VALUE(v, 2) OVER (ORDER BY i ROWS BETWEEN CURRENT ROW AND 1 FOLLOWING)",
         ["x", None, [1, "a"], _NO, MIXED[5]["v"], MIXED[6]["v"], None]),
        # With a distance what is no number sorts as NULL.
        ("COUNT(*) OVER (ORDER BY o RANGE BETWEEN 0.5 PRECEDING AND CURRENT ROW)",
         [1, 3, 3, 1, 2, 3, 2]),
        ("COUNT(*) OVER (ORDER BY o RANGE BETWEEN UNBOUNDED PRECEDING AND 1 FOLLOWING)",
         [5, 3, 3, 7, 7, 3, 7]),
        ("COUNT(*) OVER (ORDER BY v RANGE INTERVAL '1 day' PRECEDING)", [6, 6, 6, 6, 6, 6, 1]),
        # Values of another row are values as any.
        ("i - LAG(i) OVER (ORDER BY i)", [_NO, 1, 1, 1, 1, 1, 1]),
        ("LAG(v) OVER (ORDER BY i).b", [_NO, _NO, _NO, _NO, _NO, _NO, 1]),
        ("LAG(v) OVER (ORDER BY i) IS MISSING", [False, False, False, False, False, True, False]),
    ],
)  # fmt: skip
def test_missing_null_and_mixed_types(folder: Path, item: str, expected: list[Any]) -> None:
    if item.endswith(".b"):
        inner = f"SELECT i, {item.removesuffix('.b')} AS y FROM mixed"
        query = f"SELECT i, y.b AS x FROM ({inner}) ORDER BY i"
    else:
        query = f"SELECT i, {item} AS x FROM mixed ORDER BY i"
    with sdb.sql(query, root=str(folder), typed=False, dialect="sneller") as result:
        rows = [json.loads(line) for line in b"".join(result.lines()).splitlines()]
    assert [row.get("x", _NO) for row in rows] == expected


def test_members_keep_their_order(folder: Path) -> None:
    query = "SELECT LEAD(v) OVER (ORDER BY i) AS x FROM mixed QUALIFY i = 5"
    with sdb.sql(query, root=str(folder)) as result:
        assert b"".join(result.lines()) == b'{"x": {"b": 1, "a": {"z": 0, "y": 1}}}\n'


def test_qualify_leaves_out_what_it_does_not_know(folder: Path) -> None:
    query = "SELECT i FROM mixed QUALIFY LAG(o) OVER (ORDER BY i) > 1 ORDER BY i"
    assert _ask(folder, query) == [{"i": 5}, {"i": 6}]


@pytest.mark.parametrize(
    "text",
    [
        (
            "SELECT SUM(a) OVER (ORDER BY b ASC NULLS FIRST ROWS BETWEEN 1 + 1 PRECEDING "
            "AND UNBOUNDED FOLLOWING EXCLUDE TIES) FROM t"
        ),
        (
            "SELECT LAG(a, 1, 0 IGNORE NULLS) OVER (PARTITION BY c ORDER BY b DESC NULLS LAST) "
            "FROM t QUALIFY NTILE(4) OVER (ORDER BY b ASC NULLS FIRST) = 1"
        ),
        (
            "SELECT SUM(a) OVER (ORDER BY b ASC NULLS FIRST RANGE BETWEEN "
            "INTERVAL '1 months 5 microseconds' PRECEDING AND CURRENT ROW) FROM t"
        ),
        "SELECT COUNT(*) OVER (GROUPS BETWEEN CURRENT ROW AND 2 FOLLOWING) FROM t",
        'SELECT "lag", "first_value" FROM t',
    ],
)
def test_what_is_printed_reads_the_same(text: str) -> None:
    tree = parse(text)
    assert printer.statement(tree) == text
    assert parse(printer.statement(tree)) == tree


def test_named_windows_are_put_in() -> None:
    named = "SELECT SUM(a) OVER w, LAG(a) OVER (v ORDER BY c) FROM t WINDOW v AS (PARTITION BY b), "
    tree = parse(f"{named}w AS (v ORDER BY a ROWS 1 PRECEDING) ORDER BY RANK() OVER (v ORDER BY d)")
    full = (
        "SELECT SUM(a) OVER (PARTITION BY b ORDER BY a ROWS 1 PRECEDING), "
        "LAG(a) OVER (PARTITION BY b ORDER BY c) FROM t "
        "ORDER BY RANK() OVER (PARTITION BY b ORDER BY d)"
    )
    assert tree == parse(full)


def test_the_words_are_names_elsewhere(folder: Path) -> None:
    query = (
        "SELECT qualify.i AS window, 1 AS qualify, 2 rows, 3 range FROM mixed qualify "
        "WHERE qualify.i = 4"
    )
    assert _ask(folder, query) == [{"window": 4, "qualify": 1, "rows": 2, "range": 3}]
    query = "SELECT window.i AS lag FROM mixed window ORDER BY lag LIMIT 1"
    assert _ask(folder, query) == [{"lag": 1}]


def test_distances_may_be_parameters(folder: Path) -> None:
    items = "LAG(i, $n) OVER (ORDER BY i) AS x, COUNT(*) OVER (ORDER BY i ROWS $n PRECEDING) AS c"
    query = f"SELECT i, {items} FROM mixed QUALIFY i = 5"
    with sdb.sql(query, root=str(folder), params={"n": 2}) as result:
        assert [dict(row) for row in result] == [{"i": 5, "x": 3, "c": 3}]


def test_plans_refuse_what_no_window_can_be(folder: Path) -> None:
    with pytest.raises(QueryError, match="cannot be made of another window function"):
        _ask(folder, "SELECT SUM(i) OVER (ORDER BY RANK() OVER (ORDER BY i)) FROM mixed")


def test_rows_at_no_distance_are_all_there(folder: Path) -> None:
    frames = ["0 PRECEDING AND 0 PRECEDING", "0 FOLLOWING AND 0 FOLLOWING"]
    counts = [f"COUNT(*) OVER (ORDER BY d RANGE BETWEEN {frame})" for frame in frames]
    none = "INTERVAL '0 hours' PRECEDING AND INTERVAL '0 days' FOLLOWING"
    counts.append(f"COUNT(*) OVER (PARTITION BY d ORDER BY ts RANGE BETWEEN {none})")
    query = (
        f"SELECT {', '.join(counts)}, COUNT(*) OVER (PARTITION BY d) AS a, "
        "COUNT(*) OVER (PARTITION BY d, ts) AS b FROM events"
    )
    for row in _ask(folder, query):
        *plain, timed, every, at_once = row.values()
        assert plain == [every] * len(frames)
        assert timed == at_once
