"""Rows for pandas, polars and DuckDB: what they get, and what is not read for it."""

from __future__ import annotations

import datetime as dt
import operator
import subprocess
import sys
from functools import reduce
from typing import TYPE_CHECKING, Any

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sdb
from sdb.packfile.prune.predicate import Anywhere, Both, Compare, Instant, OneOf
from sdb.query.rows.pushedfilters import of_arrow, of_polars
from sdb.query.rows.rowset import RowSet
from tests.amounts import usual
from tests.examples import ROOT

if TYPE_CHECKING:
    from pathlib import Path

SAMPLE = ROOT / "testdata/gh2015_1k.json.gz"
START = dt.datetime(2026, 11, 1, tzinfo=dt.UTC)
TEXTS = ["", "x", 'q"x', "back\\slash", "line\nend", "ü", ") and (n > 1", "x0", "x1"]
ROWS = [
    {
        "n": number,
        "t": START + dt.timedelta(minutes=number),
        "s": TEXTS[number // 40 % len(TEXTS)] + ("" if number % 7 else "!"),
        "mixed": number if number % 2 else str(number),
        "f": number / 8,
        **({"only": number % 5} if number % 3 else {"only": None} if number % 2 else {}),
    }
    for number in range(400)
]


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> sdb.Table:
    """Make a table of ten packfiles, each with a range of its own."""
    root = tmp_path_factory.mktemp("lake")
    db = sdb.connect(root)
    db.create("web.t", "in/*.json")
    for start in range(0, len(ROWS), 40):
        db.append("web.t", ROWS[start : start + 40])
    return db.table("web.t")


@pytest.fixture(scope="module")
def packfiles(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Make ten packfiles: of small ones in tables queries do not read the statistics."""
    folder = tmp_path_factory.mktemp("packfiles")
    for number in range(10):
        rows = ROWS[number * 40 : (number + 1) * 40]
        sdb.pack(rows, folder / f"{number}.zion", stats="auto,n,s,only,mixed,f")
    return f"{folder}/*.zion"


def test_what_a_table_holds(table: sdb.Table) -> None:
    assert len(table) == 400
    assert table
    assert list(table) == ROWS
    assert table.head(3) == ROWS[:3]
    assert [field.name for field in table.fields] == ["n", "t", "s", "mixed", "f", "only"]
    assert "<td" in table._repr_html_()
    assert pa.table(table).num_rows == 400
    old = table.at(1)
    assert (len(old), list(old), len(old.to_arrow())) == (40, ROWS[:40], 40)
    frame = table.to_polars(fields=["n", "s"], since=START + dt.timedelta(minutes=390))
    assert frame.to_dicts() == [{"n": row["n"], "s": row["s"]} for row in ROWS[390:]]
    assert list(table.rows(fields=["n"], limit=2)) == [{"n": 0}, {"n": 1}]


def test_a_table_without_rows(tmp_path: Path) -> None:
    db = sdb.connect(tmp_path)
    db.create("web.t", "in/*.json")
    empty = db.append("web.t", [{"a": 1}]) and db.table("web.t")
    empty.delete("a = 1")
    assert (len(empty), bool(empty), empty.head(), empty.fields) == (0, True, [], ())
    assert empty.lazy().collect().shape == (0, 0)


def test_to_pandas(table: sdb.Table) -> None:
    pytest.importorskip("pandas")
    frame = table.to_pandas(fields=["n", "t"], limit=2)
    assert list(frame.columns) == ["n", "t"]
    assert [moment.to_pydatetime() for moment in frame.t] == [row["t"] for row in ROWS[:2]]
    with sdb.sql("SELECT n FROM web.t", root=table.handle.root.location) as result:
        assert len(result.to_pandas()) == len(result) == 400
        assert result.head(2) == [{"n": 0}, {"n": 1}]


def test_tables_are_inputs_of_others(table: sdb.Table, tmp_path: Path) -> None:
    sdb.pack(table.at(2), tmp_path / "x.zion")
    with sdb.open(tmp_path / "x.zion") as packfile:
        assert len(packfile) == 80
        assert list(packfile) == ROWS[:80]  # mixed values too


def _comparisons() -> st.SearchStrategy[Any]:
    order = [operator.lt, operator.le, operator.gt, operator.ge, operator.eq, operator.ne]
    numbers = st.integers(-5, 410)
    times = numbers.map(lambda minutes: START + dt.timedelta(minutes=minutes))
    texts = st.sampled_from([*TEXTS, "x!", "zz"])
    return st.one_of(
        st.tuples(st.sampled_from(order), st.just("n"), numbers),
        st.tuples(st.sampled_from(order), st.just("only"), st.integers(-1, 5)),
        st.tuples(st.sampled_from(order), st.just("f"), numbers.map(float)),
        st.tuples(st.sampled_from(order), st.just("t"), times),
        st.tuples(st.sampled_from(order), st.sampled_from(["s", "mixed"]), texts),
        st.tuples(st.just("in"), st.just("n"), st.lists(numbers, min_size=1, max_size=3)),
        st.tuples(st.just("in"), st.just("s"), st.lists(texts, min_size=1, max_size=3)),
        st.tuples(st.just("null"), st.sampled_from(["only", "s"]), st.none()),
    )


def _conditions() -> st.SearchStrategy[Any]:
    return st.recursive(
        _comparisons(),
        lambda inner: st.tuples(st.sampled_from(["and", "or", "not"]), st.lists(inner, min_size=1)),
        max_leaves=5,
    )


def _of_polars(condition: Any) -> pl.Expr:
    kind, *rest = condition
    if kind in {"and", "or", "not"}:
        parts = [_of_polars(part) for part in rest[0]]
        if kind == "not":
            return ~parts[0]
        joined: pl.Expr = reduce(operator.and_ if kind == "and" else operator.or_, parts)
        return joined
    column = pl.col(rest[0])
    if kind == "in":
        return column.is_in(rest[1])
    made: pl.Expr = column.is_null() if kind == "null" else kind(column, rest[1])
    return made


def _of_arrow(condition: Any) -> pc.Expression:
    kind, *rest = condition
    if kind in {"and", "or", "not"}:
        parts = [_of_arrow(part) for part in rest[0]]
        if kind == "not":
            return ~parts[0]
        return reduce(operator.and_ if kind == "and" else operator.or_, parts)
    column = pc.field(rest[0])
    if kind == "in":
        return column.isin(rest[1])
    return column.is_null() if kind == "null" else kind(column, rest[1])


@given(condition=_conditions())
@settings(max_examples=usual(80), deadline=None)
def test_what_is_left_out_would_not_pass(table: sdb.Table, packfiles: str, condition: Any) -> None:
    """Polars and Arrow find the same rows with and without pushdown."""
    everything = table.to_arrow()
    lazy = table.lazy().filter(_of_polars(condition)).select("n").collect()
    eager = pl.from_arrow(everything).filter(_of_polars(condition)).select("n")  # type: ignore[union-attr]
    assert lazy.equals(eager), condition
    rows = RowSet(packfiles)
    try:
        pushed = rows.to_lazy().filter(_of_polars(condition)).select("n").collect()
        assert pushed.equals(eager), condition
        actual = rows.to_dataset().scanner(columns=["n"], filter=_of_arrow(condition)).to_table()
    finally:
        rows.close()
    assert actual.column("n").to_pylist() == [
        row["n"] for row in everything.filter(_of_arrow(condition)).to_pylist()
    ], condition


def test_blocks_that_polars_does_not_need_are_not_read(packfiles: str) -> None:
    rows = RowSet(packfiles)
    lazy = rows.to_lazy()
    for condition, blocks, count in [
        (pl.col("n") == 77, 1, 1),
        ((pl.col("n") >= 80) & (pl.col("n") < 160), 2, 80),
        (pl.col("t") < START + dt.timedelta(minutes=5), 1, 5),
        (pl.col("n").is_in([3, 399]), 2, 2),
        ((pl.col("n") == 3) | (pl.col("n") == 50), 2, 2),
        (pl.col("s") == "nowhere", 0, 0),
        (pl.col("f") > 49.5, 10, 3),  # NaN is larger than all numbers for polars alone
    ]:
        assert lazy.filter(condition).select(pl.len()).collect().item() == count
        assert rows.blocks_read == blocks, condition
    assert lazy.head(3).collect().height == 3
    rows.close()


def test_what_duckdb_passes_on(packfiles: str) -> None:
    connection = duckdb.connect()
    registered = sdb.register(connection, "ev", packfiles)
    for condition, blocks, count in [
        ("n = 77", 1, 1),
        ("n >= 80 AND n < 160", 2, 80),
        (f"t < TIMESTAMPTZ '{START + dt.timedelta(minutes=5)}'", 1, 5),
        ("s = 'nowhere'", 0, 0),
        ("s = 'q\"x'", None, 34),
        ("f > 49.5", 10, 3),
        ("s LIKE 'x0%'", 10, 40),
    ]:
        query = f"SELECT count(*) FROM ev WHERE {condition}"
        assert connection.sql(query).fetchall() == [(count,)], condition
        assert blocks is None or registered.blocks_read == blocks, condition
    connection.close()
    registered.close()


def test_a_registered_table_is_one_version(table: sdb.Table) -> None:
    connection = duckdb.connect()
    registered = sdb.register(connection, "ev", table)
    times = f"t < TIMESTAMPTZ '{START + dt.timedelta(minutes=5)}'"
    assert connection.sql(f"SELECT n FROM ev WHERE {times}").fetchall() == [(n,) for n in range(5)]
    assert registered.blocks_read == 1
    table.append([{"n": 1000}])
    try:
        assert connection.sql("SELECT count(*) FROM ev").fetchall() == [(400,)]  # as it was
    finally:
        table.restore(10)
    connection.close()
    registered.close()


def test_packfiles_are_registered_too(tmp_path: Path) -> None:
    sdb.pack(SAMPLE, tmp_path / "x.zion")
    connection = duckdb.connect()
    registered = sdb.register(connection, "ev", tmp_path / "x.zion", fields=["type"])
    query = "SELECT count(*) FROM ev WHERE type = 'PushEvent'"
    assert connection.sql(query).fetchall() == [(596,)]
    connection.close()
    registered.close()


SCHEMA = pa.schema(
    [
        ("n", pa.int64()),
        ("s", pa.utf8()),
        ("f", pa.float64()),
        ("t", pa.timestamp("us", "UTC")),
        pa.field("j", pa.utf8(), metadata={"sdb.encoding": "json"}),
    ]
)


def test_notebooks_show_notes(tmp_path: Path) -> None:
    sdb.pack([{"a": "<1>"}], tmp_path / "x.zion")
    with sdb.sql(f"SELECT a FROM '{tmp_path / 'x.zion'}' WHERE a > 5") as result:
        assert len(result.notes) == 1
        assert "</table><p>warning: a " in result._repr_html_()
    with sdb.sql(f"SELECT a FROM '{tmp_path / 'x.zion'}'") as result:
        assert "&lt;1&gt;" in result._repr_html_()
        assert result._repr_html_().endswith("</table>")


def test_what_is_understood() -> None:
    is_text = Compare(("s",), "=", 'q"\\x')
    assert of_arrow(pc.field("s") == 'q"\\x', SCHEMA) == Both((is_text,))
    assert of_polars(pl.col("s") == 'q"\\x', SCHEMA) == is_text
    both = (pc.field("n") > 3) & (pc.field("t") <= pa.scalar(START, pa.timestamp("us", "UTC")))
    instant = Instant(int(START.timestamp()) * 1_000_000)
    assert of_arrow(both, SCHEMA) == Both((Compare(("n",), ">", 3), Compare(("t",), "<=", instant)))
    assert of_polars(pl.col("n").is_in([1, 2]), SCHEMA) == OneOf(("n",), (1, 2))
    for condition in [
        pc.field("f") == 1.5,
        pc.field("j") == "1",
        pc.field("n") > 1.5,
        pc.field("s") > "a",
        pc.field("s") == "line\nend",
        pc.field("s") != "a",
        ~(pc.field("n") == 1),
        pc.field("gone") == 1,
    ]:
        assert of_arrow(condition, SCHEMA) == Both((Anywhere(),)), condition
    odd = pa.schema([("a == 1) and (n", pa.int64()), ("n", pa.int64())])
    assert of_arrow(pc.field("a == 1) and (n") == 2, odd) == Anywhere()
    for expression in [pl.col("f") > 1.5, pl.col("j") == "1", pl.col("n") + 1 > 2]:
        assert of_polars(expression, SCHEMA) == Anywhere()


def test_data_frames_are_not_loaded_before_they_are_asked_for(tmp_path: Path) -> None:
    program = (
        "import sys, sdb\n"
        f"db = sdb.connect({str(tmp_path)!r}); db.create('web.t', 'in/*.json')\n"
        "db.append('web.t', [{'a': 1}]); t = db.table('web.t'); len(t); t.head(); list(t)\n"
        "assert 'polars' not in sys.modules\n"  # pyarrow itself loads pandas
        "sys.modules['polars'] = None\n"
        "try: t.lazy()\n"
        "except sdb.errors.NotFoundError as error: print(error, error.hint)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout == "polars is not installed pip install polars\n"
