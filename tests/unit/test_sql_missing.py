"""Rows without a key: `standard` has those of DuckDB, and `sneller` says that it has fewer."""

from __future__ import annotations

import json
import warnings
from random import Random
from typing import TYPE_CHECKING, Any

import duckdb
import pytest

import sdb
from sdb.errors import QueryError, UsageError
from sdb.query.syntax import printer
from sdb.query.syntax.parser import alone, parse
from tests.engines import Answers
from tests.missingqueries import SHAPES

if TYPE_CHECKING:
    from pathlib import Path

    from tests.missingqueries import Shape

Row = dict[str, Any]
_NOTHING = "NOTHING"
"""Stands for a field that a row does not have."""
_TABLES = {
    "p": (240, [_NOTHING]),
    "q": (40, [_NOTHING]),
    "x": (200, [_NOTHING, None]),
    "y": (30, [None, _NOTHING]),
}
_TYPES = {"k": "VARCHAR", "g": "BIGINT", "n": "BIGINT", "s": "VARCHAR", "ts": "TIMESTAMP"}


def _row(rng: Random, number: int, absent: list[Any]) -> Row:
    drawn = {
        "k": rng.choice(["a", "b", "c", "d", *absent]),
        "g": rng.choice([0, 1, 2, 3, *absent]),
        "n": rng.choice([*range(12), *absent, *absent]),
        "s": rng.choice(["x", "yy", "z", *absent]),
        "ts": rng.choice([*(f"2026-11-0{day}T05:00:00Z" for day in (1, 2, 4)), *absent]),
    }
    return {"id": number} | {name: value for name, value in drawn.items() if value != _NOTHING}


def _pack(folder: Path, name: str, rows: list[Row]) -> None:
    (folder / f"{name}.json").write_text("".join(json.dumps(row) + "\n" for row in rows))
    path = folder / f"{name}.zion"
    sdb.pack([folder / f"{name}.json"], path, block_bytes=2048, align_bytes=512)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("missing")
    rng = Random(31)
    for name, (count, absent) in _TABLES.items():
        _pack(folder, name, [_row(rng, number, absent) for number in range(count)])
    return folder


@pytest.fixture(scope="module")
def engine(folder: Path) -> duckdb.DuckDBPyConnection:
    """Make tables of the same rows, in which NULL stands for absent fields too."""
    connection = duckdb.connect()
    columns = ", ".join(f"{name} {type_}" for name, type_ in _TYPES.items())
    for table in _TABLES:
        connection.execute(f"CREATE TABLE {table} (id BIGINT, {columns})")
        for line in (folder / f"{table}.json").read_text().splitlines():
            row = json.loads(line)
            cells = [row["id"], *map(row.get, _TYPES)]
            connection.execute(f"INSERT INTO {table} VALUES ({', '.join('?' * 6)})", cells)
    return connection


def _ask(folder: Path, query: str, dialect: str | None = "standard") -> tuple[list[Row], list[str]]:
    with sdb.sql(query, root=str(folder), dialect=dialect) as result:
        return [dict(row) for row in result], result.notes


def _plain(value: Any) -> Any:
    if hasattr(value, "tzinfo"):
        return value.replace(tzinfo=None)
    return round(value, 9) if isinstance(value, float) else value


def _tuples(rows: list[Row], names: list[str]) -> list[tuple[Any, ...]]:
    return [tuple(_plain(row.get(name)) for name in names) for row in rows]


def _sorted(rows: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    return sorted(rows, key=repr)


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.__name__)
@pytest.mark.parametrize("seed", range(4))
def test_rows_are_those_of_duckdb_to_which_absent_fields_are_null(
    folder: Path, engine: duckdb.DuckDBPyConnection, shape: Shape, seed: int
) -> None:
    rng = Random(f"{shape.__name__} {seed}")
    for _ in range(10):
        table = rng.choice("px")
        query, is_ordered = shape(rng, table)
        relation = engine.sql(query)
        expected = [tuple(map(_plain, row)) for row in relation.fetchall()]
        rows, notes = _ask(folder, query)
        actual = _tuples(rows, relation.columns)
        if not is_ordered:
            actual, expected = _sorted(actual), _sorted(expected)
        assert actual == expected, query
        assert not any("rows that have" in note or "left out" in note for note in notes), query
        if " LIMIT " in query or " OVER " in query or table == "x":
            continue
        # What is left out is reported.
        fewer, notes = _ask(folder, query, "sneller")
        assert len(fewer) == len(rows) or any("left out" in note for note in notes), query
        assert len(notes) < 2, query


# What the dialects are, and where they are said.

FEW: list[Row] = [
    {"i": 1, "k": "a", "t": "2026-11-01T00:00:00Z", "n": 1},
    {"i": 2, "k": "b", "t": "2026-11-03T00:00:00Z", "n": 2},
    {"i": 3, "n": 3},
    {"i": 4, "k": None, "t": None, "n": None},
    {"i": 5, "k": "a"},
]


@pytest.fixture(scope="module")
def few(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("few")
    _pack(folder, "few", FEW)
    return folder


@pytest.mark.parametrize(
    ("query", "rows"),
    [
        (
            "SELECT k, COUNT(*) AS c FROM few GROUP BY k ORDER BY k NULLS FIRST",
            [{"k": None, "c": 2}, {"k": "a", "c": 2}, {"k": "b", "c": 1}],
        ),
        (
            "SELECT i, n FROM few ORDER BY n DESC, i",
            [{"i": 3, "n": 3}, {"i": 2, "n": 2}, {"i": 1, "n": 1}, {"i": 4, "n": None}, {"i": 5}],
        ),
        ("SELECT i FROM few ORDER BY n, i DESC LIMIT 1 OFFSET 4", [{"i": 4}]),
        (
            "SELECT i FROM few ORDER BY t FETCH FIRST 3 ROWS WITH TIES",
            [{"i": 1}, {"i": 2}, {"i": 3}, {"i": 4}, {"i": 5}],
        ),
        ("SELECT MISSING AS m, COUNT(*) AS c FROM few GROUP BY MISSING", [{"m": None, "c": 5}]),
        ("SELECT DISTINCT nothing FROM few", [{"nothing": None}]),
        (
            "SELECT nothing, SUM(n) AS s FROM few GROUP BY nothing ORDER BY nothing",
            [{"nothing": None, "s": 6}],
        ),
        (
            "SELECT DATE_TRUNC(DAY, t) AS d, COUNT(*) AS c FROM few GROUP BY d FILL(0) ORDER BY d",
            [
                {"d": "2026-11-01", "c": 1},
                {"d": "2026-11-02", "c": 0},
                {"d": "2026-11-03", "c": 1},
                {"d": None, "c": 3},
            ],
        ),
        (
            (
                "SELECT k, DATE_TRUNC(DAY, t) AS d, SUM(n) AS c FROM few"
                " WHERE k = 'a' OR k IS MISSING GROUP BY k, d FILL(PREVIOUS) ORDER BY k, d"
            ),
            [
                {"k": "a", "d": "2026-11-01", "c": 1},
                {"k": "a", "d": None, "c": None},
                {"k": None, "d": "2026-11-01", "c": None},
                {"k": None, "d": None, "c": 3},
            ],
        ),
        (
            "SELECT i, COUNT(*) OVER (PARTITION BY k) AS c FROM few ORDER BY i",
            [{"i": i, "c": c} for i, c in ((1, 2), (2, 1), (3, 2), (4, 2), (5, 2))],
        ),
        (
            (
                "SELECT i, SUM(i) OVER (ORDER BY n RANGE BETWEEN 1 PRECEDING AND CURRENT ROW) AS s"
                " FROM few WHERE n IS NOT NULL OR n IS MISSING ORDER BY i"
            ),
            [{"i": 1, "s": 1}, {"i": 2, "s": 3}, {"i": 3, "s": 5}, {"i": 5, "s": 5}],
        ),
    ],
)
def test_null_and_missing_are_one_key(few: Path, query: str, rows: list[Row]) -> None:
    actual, notes = _ask(few, query)
    shown = [
        {
            name: value.strftime("%F") if name == "d" and value else value
            for name, value in row.items()
        }
        for row in actual
    ]
    assert (shown, notes) == (rows, [])


def test_what_is_nearest_to_the_statement_counts(
    few: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    query = "SELECT DISTINCT k FROM few"

    def count(text: str = query, **options: Any) -> tuple[int, str]:
        with sdb.sql(text, root=str(few), **options) as result:
            return len(list(result)), result.dialect

    assert count() == (3, "standard")
    assert count(dialect="sneller") == (3, "sneller")
    assert count(f"set DIALECT to 'Sneller';\n{query};") == (3, "sneller")
    assert count(f"SET dialect = standard; {query}", dialect="sneller") == (3, "standard")
    monkeypatch.setenv("SDB_DIALECT", "sneller")
    assert count() == (3, "sneller")
    assert count(dialect="standard") == (3, "standard")
    note = "note: the dialect is sneller: SDB_DIALECT says so (see sdb config)"
    assert _ask(few, query, None)[1][0] == note
    assert _ask(few, f"SET dialect = standard; {query}", None)[1] == []
    monkeypatch.setenv("SDB_DIALECT", "all")
    with pytest.raises(UsageError, match="SDB_DIALECT=all"):
        count()
    with pytest.raises(UsageError, match="dialect is 'never'"):
        count(dialect="never")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("SET dialect = standard", "SET needs a query behind it"),
        ("SET dialect = some; SELECT 1", "dialect is standard or sneller"),
        ("SET threads = 1; SELECT 1", "there is no setting threads"),
        ("SET dialect sneller; SELECT 1", "'=' is expected, not 'sneller'"),
        ("SET dialect = standard SELECT 1", "';' is expected, not SELECT"),
    ],
)
def test_what_set_refuses(text: str, message: str) -> None:
    with pytest.raises(QueryError) as refused:
        parse(text)
    assert message in refused.value.message


def test_a_setting_is_part_of_the_statement() -> None:
    order = "ORDER BY a ASC NULLS FIRST, b DESC, c ASC NULLS LAST"
    text = f"SET dialect = standard; SELECT a FROM t {order}"
    statement = parse(text)
    assert printer.statement(statement) == text
    assert [(key.nulls_first, key.nulls_last) for key in statement.select.order_by] == [
        (True, False),
        (False, False),
        (False, True),
    ]
    assert (alone("SET dialect = standard;"), alone(text), alone("SELECT 1")) == (
        "standard",
        None,
        None,
    )


def test_explain_tells(few: Path) -> None:
    query = "EXPLAIN SELECT DISTINCT k FROM few"
    ((row,), _), ((other,), _) = _ask(few, query, "sneller"), _ask(few, query, "standard")
    assert row["plan"].startswith("DIALECT sneller\n")
    assert not other["plan"].startswith("DIALECT")


def test_scans_answer_where_rows_lack_keys(few: Path) -> None:
    for query, is_native, is_blind in (
        ("SELECT i, COUNT(*) AS c FROM few GROUP BY i", True, True),
        ("SELECT i FROM few ORDER BY i LIMIT 2", True, True),
        ("SELECT k, COUNT(*) AS c FROM few GROUP BY k", True, True),
        ("SELECT k FROM few ORDER BY k LIMIT 6", True, True),
        # The engine knows which texts are times.
        ("SELECT DATE_TRUNC(DAY, t) AS d, COUNT(*) AS c FROM few GROUP BY d", True, False),
        ("SELECT DATE_TRUNC(DAY, i) AS d, COUNT(*) AS c FROM few GROUP BY d", False, False),
    ):
        answers = Answers(few, f"SET dialect = standard; {query}")
        assert answers.by_scans() is is_native, query
        assert Answers(few, f"SET dialect = sneller; {query}").by_scans(), query
        blind = Answers(few, f"SET dialect = standard; {query}", blind=True)
        assert blind.by_scans() is is_blind, query
        for asked in (answers, blind):
            if asked.by_scans():
                alone, engine = asked.lines(native=True), asked.lines(native=False)
                assert sorted(alone) == sorted(engine), query


def test_statements_that_change_tables(few: Path, tmp_path: Path) -> None:
    source = f"SELECT k, COUNT(*) AS c FROM read_file('{few}/few.zion') GROUP BY k"

    def copied(name: str, text: str, **options: Any) -> tuple[int, int]:
        """Copy the groups; how many there are, and how many lines tell of what is left out."""
        statement = text.format(f"CREATE TABLE db.{name} AS {source}")
        with warnings.catch_warnings(record=True) as reported:
            warnings.simplefilter("always")
            sdb.execute(statement, root=tmp_path, **options)
        with sdb.sql(f"SELECT COUNT(*) AS n FROM db.{name}", root=str(tmp_path)) as result:
            return next(iter(result))["n"], len(reported)

    assert copied("a", "{0}") == (3, 0)
    assert copied("b", "SET dialect = standard; {0}; SET dialect = sneller") == (3, 0)
    assert copied("c", "SET dialect = standard; SET dialect = sneller; {0}") == (3, 1)
    assert copied("d", "{0}", dialect="standard") == (3, 0)
    with pytest.raises(UsageError):
        copied("e", "{0}", dialect="no")
    db = sdb.connect(tmp_path, dialect="standard")
    with db.sql(source) as result:
        assert len(list(result)) == 3
    with db.sql(source, dialect="sneller") as result:
        assert len(list(result)) == 3
    db.execute(f"INSERT INTO db.a {source}")
    with db.sql("SELECT COUNT(*) AS n FROM db.a") as result:
        assert next(iter(result)) == {"n": 6}
    with pytest.raises(UsageError):
        sdb.connect(tmp_path, dialect="no")


_SOME = "rows without a key are"


@pytest.mark.parametrize(
    ("query", "who"),
    [
        ("SELECT k, COUNT(*) AS c FROM few GROUP BY k", "1 row without a key is"),
        ("SELECT DISTINCT n FROM few", "1 row without a key is"),
        ("SELECT i FROM few ORDER BY t", "2 rows without a key are"),
        ("SELECT i FROM few WHERE i > 1 ORDER BY t", _SOME),
        ("SELECT k, n, COUNT(*) AS c FROM few GROUP BY k, n", _SOME),
        ("SELECT UPPER(k) AS u, COUNT(*) AS c FROM few GROUP BY u", "1 row without a key is"),
        (
            "SELECT a.k, COUNT(*) AS c FROM few AS a JOIN few AS b ON a.i = b.i GROUP BY a.k",
            _SOME,
        ),
        ("SELECT COUNT(*) AS c FROM (SELECT DISTINCT k FROM few)", _SOME),
        (
            "SELECT i, (SELECT COUNT(*) FROM few GROUP BY t LIMIT 1) AS c FROM few",
            _SOME,
        ),
        ("SELECT t FROM few UNION ALL SELECT t FROM few ORDER BY t", _SOME),
        (
            "SELECT a, k, COUNT(*) AS c FROM few AS f, f.a AS a GROUP BY CUBE(a, k)",
            _SOME,
        ),
        ("SELECT i, COUNT(*) AS c FROM few GROUP BY i ORDER BY c", ""),
        ("SELECT k, COUNT(*) AS c FROM few WHERE k IS NOT MISSING GROUP BY k", ""),
        ("SELECT i FROM few WHERE k <> 'a'", ""),
        ("SELECT a.i FROM few AS a JOIN few AS b ON a.k = b.k", ""),
        ("SELECT COUNT(k) AS c, STDDEV(n) AS d, AVG(CHAR_LENGTH(k)) AS l FROM few", ""),
        ("SELECT i FROM few WHERE t IS NULL", ""),
        ("SELECT i, MAX(n) OVER (PARTITION BY k) AS m FROM few", ""),
    ],
)
def test_that_rows_without_a_key_are_left_out_is_one_line(few: Path, query: str, who: str) -> None:
    note = f"note: {who} left out: the dialect is sneller"
    assert _ask(few, query, "sneller")[1] == ([note] if who else [])
    assert _ask(few, query, "standard")[1] == []


def test_rows_of_a_path_that_all_have_are_not_tested(tmp_path: Path) -> None:
    rows = [{"i": number, "k": "ab"[number % 2], "n": {"x": 1}} for number in range(6)]
    rows[3].pop("k")
    rows[4]["n"] = {}
    (tmp_path / "t.json").write_text("".join(json.dumps(row) + "\n" for row in rows))
    sdb.pack([tmp_path / "t.json"], tmp_path / "t.zion")

    def tests(key: str, **options: bool) -> bool:
        query = f"EXPLAIN SELECT {key}, MAX(k || '') AS m FROM t GROUP BY {key}"
        with sdb.sql(query, root=str(tmp_path), dialect="sneller", **options) as result:
            return "IS NOT NULL" in str(list(result))

    assert [tests(key) for key in ("i", "k", "n", "n.x", "i + 1", "k || '!'")] == [
        *(False, True, False, True, False, True)
    ]
    # Metadata that is not trusted to leave out rows is not trusted here either.
    assert tests("i", prune=False)
    query = "SELECT a.i, b.i AS j FROM t a LEFT JOIN t b ON a.i + 4 = b.i ORDER BY j IS NULL, a.i"
    with sdb.sql(query, root=str(tmp_path), dialect="sneller") as result:
        assert list(result)[:3] == [{"i": 0, "j": 4}, {"i": 1, "j": 5}, {"i": 2}]
        assert result.notes == []


def test_comparisons_with_null_are_null(few: Path) -> None:
    query = "SELECT n < n AS a, n <= n AS b, n > n AS c, n >= n AS d FROM few WHERE n IS NULL"
    assert _ask(few, query)[0] == [dict.fromkeys("abcd")] * 2
