"""Sets of keys, buckets without rows, and cuts of an order: beside DuckDB, and by hand."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import duckdb
import pytest

import sdb
from sdb.errors import QueryError
from sdb.query.syntax import printer
from sdb.query.syntax.parser import parse

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

_START = datetime(2026, 3, 1, tzinfo=UTC)
_MINUTES = (0, 7, 31, 190, 191, 455, 456, 1500, 4000, 60_000)
PLAIN: list[dict[str, Any]] = [
    {
        "id": number,
        "ts": (_START + timedelta(minutes=minutes)).isoformat().replace("+00:00", "Z"),
        "kind": "abc"[number % 3],
        "size": number * 7 % 5,
        "city": ("rome", "oslo")[number % 2],
    }
    for number, minutes in enumerate(_MINUTES)
]
MIXED: list[dict[str, Any]] = [
    {"id": 1, "a": "x", "b": 1, "n": 1},
    {"id": 2, "a": "x", "n": 2},
    {"id": 3, "a": None, "b": "1", "n": 4},
    {"id": 4, "b": 1, "n": 8},
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("grouping")
    for name, rows in ("plain", PLAIN), ("mixed", MIXED), ("none", []):
        (folder / f"{name}.json").write_text("".join(json.dumps(row) + "\n" for row in rows))
        if rows:
            sdb.pack([str(folder / f"{name}.json")], str(folder / f"{name}.zion"))
    return folder


def rows(folder: Path, query: str, **options: Any) -> list[dict[str, Any]]:
    with sdb.sql(query, root=str(folder), **options) as result:
        return [dict(row) for row in result]


def _plain(value: object) -> object:
    if isinstance(value, datetime):
        return value.replace(tzinfo=UTC).isoformat()
    return float(value) if isinstance(value, int) else value


def _comparable(iterable: Iterable[Iterable[object]]) -> list[str]:
    return [str([_plain(value) for value in row]) for row in iterable]


def same_as_duckdb(folder: Path, query: str, other: str | None = None) -> None:
    """Check that a query on the plain rows has the answer of DuckDB, in any order."""
    ours = [row.values() for row in rows(folder, query.replace("EVENTS", "'plain.zion'"))]
    with duckdb.connect() as connection:
        connection.execute(
            "CREATE TABLE plain AS SELECT * FROM read_json(?, columns={id: 'BIGINT',"
            " ts: 'TIMESTAMP', kind: 'VARCHAR', size: 'BIGINT', city: 'VARCHAR'})",
            [str(folder / "plain.json")],
        )
        theirs = connection.execute((other or query).replace("EVENTS", "plain")).fetchall()
    assert theirs
    assert sorted(_comparable(ours)) == sorted(_comparable(theirs))


@pytest.mark.parametrize(
    ("items", "keys"),
    [
        ("kind", "ROLLUP (kind)"),
        ("kind, city", "ROLLUP (kind, city)"),
        ("kind, city", "CUBE (kind, city)"),
        ("kind, city, size", "CUBE ((kind, city), size)"),
        ("kind, city", "GROUPING SETS ((kind), (city), ())"),
        ("kind, city", "GROUPING SETS ((kind, city), kind, ROLLUP (city))"),
        ("kind, city", "kind, ROLLUP (city)"),
        ("kind, size % 2", "ROLLUP (kind), CUBE (size % 2)"),
        ("kind", "GROUPING SETS ((kind), (kind), ())"),
        ("date_trunc('day', ts), size > 2", "CUBE (date_trunc('day', ts), size > 2)"),
    ],
)
def test_sets_of_keys(folder: Path, items: str, keys: str) -> None:
    counts = f"grouping({items}) as g, count(*) as c, sum(size) as s, avg(id) as a"
    same_as_duckdb(folder, f"select {items}, {counts} from EVENTS group by {keys}")


def test_keys_of_sets_by_number(folder: Path) -> None:
    query = "select kind, city, count(*) as c from EVENTS group by"
    same_as_duckdb(folder, f"{query} ROLLUP (1), CUBE (2)", f"{query} rollup (kind), cube (city)")


@pytest.mark.parametrize(
    "rest",
    [
        "having count(*) > 1",
        "having grouping(kind) = 0",
        "having kind is null",
        "order by c desc, kind nulls first limit 2",
    ],
)
def test_sets_with_conditions(folder: Path, rest: str) -> None:
    same_as_duckdb(folder, f"select kind, count(*) as c from EVENTS group by rollup(kind) {rest}")


def test_a_condition_outside_does_not_change_totals(folder: Path) -> None:
    inner = "select kind, count(*) as c from EVENTS group by rollup(kind)"
    same_as_duckdb(folder, f"select * from ({inner}) as q where q.kind is null")


def test_a_row_without_a_key_is_in_the_sets_without_it(folder: Path) -> None:
    query = "SELECT a, b, SUM(n) AS n, GROUPING(a, b) AS g FROM 'mixed.zion' GROUP BY CUBE (a, b)"
    with sdb.sql(query, root=str(folder), dialect="sneller") as result:
        actual = [(row["a"], row["b"], row["n"], row["g"]) for row in result]
        notes = list(result.notes)
    assert sorted(actual, key=str) == sorted(
        [
            ("x", 1, 1, 0),
            (None, "1", 4, 0),
            ("x", None, 3, 1),
            (None, None, 4, 1),
            (None, 1, 9, 2),
            (None, "1", 4, 2),
            (None, None, 15, 3),
        ],
        key=str,
    )
    assert notes == ["note: rows without a key are left out: the dialect is sneller"]


WIDTHS = {
    "TIME_BUCKET(INTERVAL '1 hour', ts)": "INTERVAL 1 HOUR",
    "TIME_BUCKET('30 minutes', ts)": "INTERVAL 30 MINUTE",
    "TIME_BUCKET('1 week', ts)": "INTERVAL 7 DAY",
    "TIME_BUCKET('1 month', ts)": "INTERVAL 1 MONTH",
    "DATE_TRUNC('day', ts)": "INTERVAL 1 DAY",
    "DATE_BIN('7 minutes', ts)": "INTERVAL 7 MINUTE",
}


@pytest.mark.parametrize("bucket", [bucket for bucket in WIDTHS if bucket.startswith("TIME")])
def test_buckets_of_time(folder: Path, bucket: str) -> None:
    same_as_duckdb(folder, f"select {bucket} as b, count(*) as c from EVENTS group by b")


@pytest.mark.parametrize(("bucket", "width"), WIDTHS.items(), ids=list(WIDTHS))
@pytest.mark.parametrize("further", ["", ", kind"])
@pytest.mark.parametrize("fill", ["0", "NULL", "PREVIOUS"])
def test_fill(folder: Path, bucket: str, width: str, further: str, fill: str) -> None:
    """Every bucket between the first and the last is there once for each of the other keys."""
    items = f"{bucket} AS b{further}, COUNT(*) AS c, MAX(size) AS s"
    groups = rows(folder, f"SELECT {items} FROM 'plain.zion' GROUP BY b{further}")
    answer = rows(folder, f"SELECT {items} FROM 'plain.zion' GROUP BY b FILL({fill}){further}")
    have = {(row["b"], row.get("kind")): row for row in groups}
    times = [row["b"] for row in groups]
    with duckdb.connect() as connection:
        series = connection.execute(
            f"SELECT unnest(generate_series(?::TIMESTAMP, ?::TIMESTAMP, {width}))",
            [min(times).replace(tzinfo=None), max(times).replace(tzinfo=None)],
        ).fetchall()
    expected = []
    for kind in sorted({str(row.get("kind")) for row in groups}):
        last: dict[str, Any] = {"c": None, "s": None}
        for (ts,) in series:
            key = (ts.replace(tzinfo=UTC), kind if further else None)
            if key in have:
                last = row = have[key]
            else:
                value = 0 if fill == "0" else None
                row = last if fill == "PREVIOUS" else {"c": value, "s": value}
            expected.append((*key, row["c"], row["s"]))
    assert len(expected) > len(groups) or "month" in bucket
    actual = [(row["b"], row.get("kind"), row["c"], row["s"]) for row in answer]
    assert sorted(actual, key=str) == sorted(expected, key=str)


def test_fill_of_seconds_as_the_original_has_them(folder: Path) -> None:
    query = (
        "SELECT TIME_BUCKET(ts, 3600) AS b, COUNT(*) AS c FROM 'plain.zion' WHERE id < 4"
        " GROUP BY TIME_BUCKET(ts, 3600) FILL(0) ORDER BY b"
    )
    assert [row["c"] for row in rows(folder, query)] == [3, 0, 0, 1]


def test_items_over_aggregates_have_the_value_of_fill(folder: Path) -> None:
    query = (
        "SELECT TIME_BUCKET('1 hour', ts) AS b, SUM(size) / COUNT(*) AS a, COUNT(*) + 1 AS c"
        " FROM 'plain.zion' WHERE id < 4 GROUP BY b FILL(0) ORDER BY c, b"
    )
    actual = rows(folder, query)
    assert [(row["b"].hour, row["c"]) for row in actual] == [(1, 0), (2, 0), (3, 2), (0, 4)]
    assert actual[0]["a"] == 0


def test_having_and_limits_see_filled_buckets(folder: Path) -> None:
    query = (
        "SELECT TIME_BUCKET('1 hour', ts) AS b, COUNT(*) AS c FROM 'plain.zion' WHERE id < 4"
        " GROUP BY b FILL(0) HAVING COUNT(*) = 0 ORDER BY b DESC LIMIT 1"
    )
    assert [row["b"].hour for row in rows(folder, query)] == [2]


def test_fill_begins_and_ends_with_the_times_that_are_asked_for(folder: Path) -> None:
    query = (
        "SELECT TIME_BUCKET('1 hour', ts) AS b, COUNT(*) AS c FROM EVENTS"
        " GROUP BY b FILL(0) ORDER BY b"
    )
    actual = rows(
        folder,
        query.replace("EVENTS", "'plain.zion'"),
        since="2026-02-28T22:30:00Z",
        until="2026-03-01T05:00:00Z",
        time_field="ts",
    )
    assert [(row["b"].hour, row["c"]) for row in actual] == [
        (22, 0), (23, 0), (0, 3), (1, 0), (2, 0), (3, 2), (4, 0),
    ]  # fmt: skip


def test_fill_without_rows_has_none(folder: Path) -> None:
    query = (
        "SELECT TIME_BUCKET('1 hour', ts) AS b FROM 'plain.zion' WHERE id > 99 GROUP BY b FILL(0)"
    )
    assert rows(folder, query) == []


def test_a_condition_outside_does_not_change_buckets(folder: Path) -> None:
    inner = (
        "SELECT TIME_BUCKET('1 hour', ts) AS b, kind, COUNT(*) AS c FROM 'plain.zion'"
        " WHERE id < 5 GROUP BY b FILL(0), kind"
    )
    everything = [row for row in rows(folder, inner) if row["kind"] == "a"]
    actual = rows(folder, f"SELECT * FROM ({inner}) AS q WHERE q.kind = 'a'")
    assert len(actual) == len(everything) > 2


@pytest.mark.parametrize(
    ("keys", "skipped", "count"),
    [("city", 0, 1), ("city", 1, 2), ("size DESC, city", 0, 3), ("id", 2, 4), ("kind", 3, 1)],
)
def test_ties_come_too(folder: Path, keys: str, skipped: int, count: int) -> None:
    """DuckDB has no WITH TIES: as many rows as rank at most as high as the last one."""
    clause = f"ORDER BY {keys} OFFSET {skipped} ROWS FETCH NEXT {count} ROWS WITH TIES"
    actual = rows(folder, f"SELECT id FROM 'plain.zion' {clause}")
    with duckdb.connect() as connection:
        ranked = connection.execute(
            f"SELECT id FROM (SELECT id, rank() OVER (ORDER BY {keys}) AS r FROM read_json(?))"
            f" WHERE r <= {skipped + count}",
            [str(folder / "plain.json")],
        ).fetchall()
    assert len(actual) == len(ranked) - skipped
    assert {row["id"] for row in actual} <= {number for (number,) in ranked}


@pytest.mark.parametrize(
    ("cut", "other"),
    [
        ("FETCH FIRST ROW ONLY", "limit 1"),
        ("FETCH FIRST 3 ROWS ONLY", "limit 3"),
        ("OFFSET 7", "offset 7"),
        ("OFFSET 7 ROWS FETCH NEXT 2 ROWS ONLY", "limit 2 offset 7"),
        ("LIMIT 2 OFFSET 1", "limit 2 offset 1"),
    ],
)
def test_cuts_of_an_order(folder: Path, cut: str, other: str) -> None:
    same_as_duckdb(
        folder,
        f"select id from EVENTS order by id {cut}",
        f"select id from EVENTS order by id {other}",
    )


def test_texts_without_regard_to_case(folder: Path) -> None:
    table = "UNNEST(['b', 'C', 'a', 2, NULL, 'B']) AS x"
    actual = rows(folder, f"SELECT x FROM {table} ORDER BY x COLLATE NOCASE, x DESC")
    assert [row["x"] for row in actual] == [2, "a", "b", "B", "C", None]
    actual = rows(folder, f"SELECT x FROM {table} ORDER BY x COLLATE BINARY DESC LIMIT 2")
    assert [row["x"] for row in actual] == ["b", "a"]


def test_offset_alone(folder: Path) -> None:
    assert len(rows(folder, "SELECT id FROM 'plain.zion' OFFSET 7")) == 3
    assert len(rows(folder, "SELECT kind, COUNT(*) FROM 'plain.zion' GROUP BY kind OFFSET 2")) == 1


@pytest.mark.parametrize(
    "query",
    [
        "SELECT a FROM t GROUP BY GROUPING SETS ((a, b), (a), ())",
        "SELECT a FROM t GROUP BY a AS x FILL(PREVIOUS), b",
        "SELECT TIME_BUCKET('1 day', a) FROM t GROUP BY 1 FILL('none')",
        "SELECT a FROM t ORDER BY a ASC NULLS FIRST OFFSET 3 FETCH FIRST 2 ROWS WITH TIES",
        "SELECT GROUPING(a, b) FROM t GROUP BY ROLLUP(a, b)",
    ],
)
def test_what_is_written_is_read_again(query: str) -> None:
    statement = parse(query)
    assert parse(printer.statement(statement)) == statement


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("SELECT kind FROM EVENTS GROUP BY kind FILL(0)", "FILL does not know the width of kind"),
        ("SELECT kind FROM EVENTS GROUP BY ROLLUP(kind) FILL(0)", "FILL does not go with GROUPING"),
        ("SELECT id FROM EVENTS ORDER BY id COLLATE german", "there is no collation GERMAN"),
        ("SELECT id FROM EVENTS ORDER BY 1 COLLATE NOCASE", "COLLATE takes a field"),
        ("SELECT id FROM EVENTS OFFSET 1 UNION SELECT 1", "go behind the last SELECT"),
        ("SELECT id FROM EVENTS FETCH FIRST 1 ROWS WITH TIES", "WITH TIES needs ORDER BY"),
        ("SELECT GROUPING(city) FROM EVENTS GROUP BY ROLLUP(kind)", "city is no key of GROUP BY"),
        ("SELECT GROUPING(kind) FROM EVENTS GROUP BY kind", "GROUPING goes with"),
        ("SELECT TIME_BUCKET('1 fortnight', ts) FROM EVENTS", "'1 fortnight' is no interval"),
        ("SELECT TIME_BUCKET('5 months', ts) FROM EVENTS", "this interval has no fixed length"),
        (
            "SELECT TIME_BUCKET('1 microsecond', ts) AS b FROM EVENTS GROUP BY b FILL(0)",
            "FILL would make more than",
        ),
    ],
)
def test_faults_are_said_in_words(folder: Path, query: str, message: str) -> None:
    with pytest.raises(QueryError) as caught:
        rows(folder, query.replace("EVENTS", "'plain.zion'"))
    assert message in caught.value.message
    assert "Error:" not in caught.value.message


def test_aggregates_that_are_null_where_no_row_is_left(folder: Path) -> None:
    query = (
        "SELECT kind, MIN(CASE kind WHEN kind THEN 'same' END) AS m FROM 'plain.zion'"
        " WHERE FALSE GROUP BY ROLLUP (kind)"
    )
    assert rows(folder, query) == [{"kind": None, "m": None}]  # the total of all
    assert rows(folder, query.replace("ROLLUP (kind)", "kind")) == []
