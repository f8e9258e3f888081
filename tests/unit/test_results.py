from __future__ import annotations

import io
import json
import math
import re
import struct
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sdb
from sdb import errors, ion
from sdb.query.analyze import types
from sdb.query.exec.execution import Execution as Rows
from sdb.query.plan.scans import Column
from sdb.query.result.lines import Number, lines, parse, text
from sdb.query.result.replay import Replay
from sdb.query.result.result import Result
from sdb.view.grid import grid

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

NOON = datetime(2021, 1, 2, 12, tzinfo=UTC)
NOON_US = 1_609_588_800_000_000


def lanes(**columns: tuple[pa.DataType, list[Any]]) -> pa.Table:
    arrays = {name: pa.array(cells, of) for name, (of, cells) in columns.items()}
    return pa.table(arrays)


def result(table: pa.Table, *columns: Column) -> Result:
    return Result("", Rows(columns, table), [])


def typed(value: Any) -> str:
    """Return the typed text of a value, which lanes have."""
    match value:
        case None:
            return "z"
        case bool():
            return f"b{value:d}"
        case float() if not value.is_integer() or abs(value) > 2**64:
            return f"f{struct.pack('>d', value).hex()}"
        case int() | float():
            return f"n{int(value)}"
        case datetime():
            return f"t{ion.instant_to_us(value)}"
        case str():
            return f"s{value}"
        case list():
            return "[" + "".join(map(sized, map(typed, value)))
        case _:
            pairs = value.items()
            return "{" + "".join(sized(name) + sized(typed(inner)) for name, inner in pairs)


def sized(text: str) -> str:
    return f"{len(text.encode())}:{text}"


@pytest.fixture
def mixed() -> Result:
    """A value of each type under one name, and an integer beside it."""
    tags = [4, 4, 16, 2, 8, 1, 0, 32, 64]
    nested = [None] * 7 + [typed([1, math.inf, {"a": NOON}]), typed({"b": None})]
    table = lanes(
        t=(pa.uint8(), tags),
        n=(pa.float64(), [3.0, 2.5, *[None] * 7]),
        x=(pa.int64(), [3, *[None] * 8]),
        s=(pa.utf8(), [None, None, "2021-01-02T12:00:00Z", *[None] * 6]),
        b=(pa.bool_(), [*[None] * 3, False, *[None] * 5]),
        u=(pa.timestamp("us"), [*[None] * 4, NOON_US, *[None] * 4]),
        v=(pa.utf8(), nested),
        i=(pa.int64(), list(range(9))),
    )
    letters = {letter: at for at, letter in enumerate("tnxsbuv")}
    return result(table, Column("v", letters, types.ANY), Column("i", {"x": 7}, types.INTEGER))


def test_rows_are_values_of_python(mixed: Result) -> None:
    rows = list(mixed)
    assert [row["i"] for row in rows] == list(range(9))
    assert [row.get("v", "MISSING") for row in rows] == [
        3,
        2.5,
        "2021-01-02T12:00:00Z",
        False,
        NOON,
        None,
        "MISSING",
        [1, math.inf, {"a": NOON}],
        {"b": None},
    ]
    assert list(mixed) == rows  # and once more
    assert type(rows[0]["v"]) is int


def test_lines_are_those_of_the_dialect(mixed: Result) -> None:
    shown = b"".join(mixed.lines()).decode().splitlines()
    assert shown[0] == '{"v": 3, "i": 0}'
    assert shown[5:8] == [
        '{"v": null, "i": 5}',
        '{"i": 6}',
        '{"v": [1, +Inf, {"a": "2021-01-02T12:00:00Z"}], "i": 7}',
    ]
    assert [text(parse(line)) for line in shown] == shown


def test_ion_has_the_values_exactly(mixed: Result) -> None:
    out = io.BytesIO()
    mixed.write(out, "ion")
    reread = amazon(out.getvalue())
    assert len(reread) == 9
    assert (reread[2]["v"], type(reread[2]["v"]).__name__) == ("2021-01-02T12:00:00Z", "IonPyText")
    assert reread[4]["v"] == NOON
    assert "v" not in reread[6]


def amazon(data: bytes) -> list[Any]:
    from amazon.ion import simpleion

    return list(simpleion.loads(data, single_value=False))


def test_ion_of_many_rows_is_one_stream() -> None:
    count = 2500
    table = lanes(x=(pa.int64(), list(range(count))), s=(pa.utf8(), ["é" * 20] * count))
    out = io.BytesIO()
    result(table, Column("x", {"x": 0}, types.INTEGER), Column("y", {"s": 1}, types.STRING)).write(
        out, "ion"
    )
    rows = amazon(out.getvalue())
    assert [row["x"] for row in rows] == list(range(count))
    assert {row["y"] for row in rows} == {"é" * 20}


moments = st.datetimes(timezones=st.just(UTC)).map(lambda at: at.replace(fold=0))
texts = st.text(max_size=5) | moments.map(lambda at: at.isoformat().replace("+00:00", "Z"))
values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False)
    | st.just(math.nan)
    | moments
    | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=8,
)


def whole(value: Any) -> Any:
    """Make whole numbers integers, as they are in rows."""
    match value:
        case float() if value.is_integer() and -(2**63) <= value < 2**64:
            return int(value)
        case list():
            return [whole(inner) for inner in value]
        case dict():
            return {name: whole(inner) for name, inner in sorted(value.items())}
        case _:
            return value


@settings(deadline=None)
@given(st.dictionaries(texts, values, max_size=4))
def test_ion_of_whole_rows(row: dict[str, Any]) -> None:
    table = lanes(n=(pa.int64(), [5]), r=(pa.utf8(), [typed(row)]))
    rows = result(table, Column("", {"v": 1}, types.ROW), Column("n", {"x": 0}, types.INTEGER))
    out = io.BytesIO()
    rows.write(out, "ion")
    marker, stream = out.getvalue()[:4], out.getvalue()[4:]
    (read,) = rows
    expected = repr(whole(row | {"n": 5}))
    assert repr(whole(read)) == expected
    assert stream.startswith(marker)
    assert repr(whole(ion.loads(stream))) == expected


def test_columns_of_one_type_have_it() -> None:
    table = lanes(
        x=(pa.int64(), [1, None]),
        n=(pa.float64(), [1.0, None]),
        s=(pa.utf8(), ["2021-01-02T12:00:00Z", None]),
        u=(pa.timestamp("us"), [NOON_US, None]),
        b=(pa.bool_(), [True, None]),
        e=(pa.utf8(), [None, None]),
        t=(pa.uint8(), [1, 0]),
    )
    got = result(
        table,
        Column("int", {"x": 0, "n": 1}, types.ANY),
        Column("double", {"n": 1}, types.NUMBER),
        Column("text", {"s": 2}, types.STRING),
        Column("time", {"u": 3}, types.TIME),
        Column("flag", {"b": 4}, types.BOOL),
        Column("empty", {"s": 5}, types.STRING),
        Column("nothing", {"t": 6}, types.NULL),
    ).to_arrow()
    assert [str(field.type) for field in got.schema] == [
        "int64",
        "double",
        "string",
        "timestamp[us, tz=UTC]",
        "bool",
        "string",
        "null",
    ]
    assert got.column("text").to_pylist() == ["2021-01-02T12:00:00Z", None]
    assert got.column("time").to_pylist() == [NOON, None]


def test_integers_with_other_numbers_are_doubles() -> None:
    table = lanes(x=(pa.int64(), [2**53 + 1, None]), n=(pa.float64(), [float(2**53), 0.5]))
    got = result(table, Column("v", {"x": 0, "n": 1}, types.ANY)).to_arrow()
    assert got.column("v").to_pylist() == [2.0**53, 0.5]


def test_lists_and_structures_have_types_and_mixed_values_are_json() -> None:
    table = lanes(
        v=(pa.utf8(), [typed({"a": 1, "l": ["x"]}), typed({"a": 2.5})]),
        t=(pa.uint8(), [4, 16]),
        n=(pa.float64(), [7.0, None]),
        s=(pa.utf8(), [None, "y"]),
    )
    got = result(
        table,
        Column("s", {"v": 0}, types.STRUCT),
        Column("m", {"t": 1, "n": 2, "s": 3}, types.ANY),
        Column("n", {"n": 2}, types.NUMBER),
    ).to_arrow()
    assert str(got.schema.field("s").type) == "struct<a: double, l: list<item: string>>"
    assert got.schema.field("m").metadata == {b"sdb.encoding": b"json"}
    assert got.to_pylist() == [
        {"s": {"a": 1.0, "l": ["x"]}, "m": "7", "n": 7.0},
        {"s": {"a": 2.5, "l": None}, "m": '"y"', "n": None},
    ]


def test_members_of_whole_rows_become_columns() -> None:
    rows = [{"a": 1, "e": 5}, {"b": [2]}]
    as_json = lanes(j=(pa.utf8(), list(map(json.dumps, rows))), x=(pa.int64(), [8, 9]))
    table = lanes(v=(pa.utf8(), list(map(typed, rows))), x=(pa.int64(), [8, 9]))
    for source, letter in ((as_json, "j"), (table, "v")):
        row = Column("", {letter: 0}, types.ROW)
        got = result(source, row, Column("e", {"x": 1}, types.INTEGER))
        assert b"".join(got.lines()) == b'{"a": 1, "e": 8}\n{"b": [2], "e": 9}\n'
        alone = result(source, row)
        assert b"".join(alone.lines()) == b'{"a": 1, "e": 5}\n{"b": [2]}\n'
    got = result(table, Column("", {"v": 0}, types.ROW), Column("e", {"x": 1}, types.INTEGER))
    assert list(got) == [{"a": 1, "e": 8}, {"b": [2], "e": 9}]
    assert got.to_arrow().to_pylist() == [
        {"a": 1, "b": None, "e": 8},
        {"a": None, "b": [2], "e": 9},
    ]


def test_the_last_of_columns_with_one_name_counts() -> None:
    table = lanes(x=(pa.int64(), [1]), s=(pa.utf8(), ["a"]))
    columns = Column("v", {"x": 0}, types.INTEGER), Column("v", {"s": 1}, types.STRING)
    assert list(result(table, *columns)) == [{"v": "a"}]
    assert result(table, *columns).to_arrow().to_pylist() == [{"v": "a"}]
    assert result(table, *columns).columns == ["v"]


def test_known_values_need_no_engine() -> None:
    columns = Column("n", {"x": 0}, types.INTEGER), Column("q", {"s": 1}, types.STRING)
    known = Result("", Rows(columns, None, ((3, "é\n"), (None, None))), [])
    assert b"".join(known.lines()).decode() == '{"n": 3, "q": "é\\n"}\n{}\n'
    assert list(known) == [{"n": 3, "q": "é\n"}, {}]
    assert known.to_arrow().to_pylist() == [{"n": 3, "q": "é\n"}, {"n": None, "q": None}]


def test_other_libraries_take_results(mixed: Result) -> None:
    import polars as pl

    frame = mixed.to_polars()
    assert frame["i"].to_list() == list(range(9))
    assert pl.DataFrame(mixed).equals(frame)
    assert pa.table(mixed).equals(mixed.to_arrow())
    assert "<td" in mixed._repr_html_()
    with pytest.raises(errors.UsageError):
        mixed.write(io.BytesIO(), "xml")


def test_rows_beyond_the_memory_go_to_a_file() -> None:
    table = pa.concat_tables(lanes(x=(pa.int64(), [at] * 10)) for at in range(50))
    replay = Replay(table, memory_bytes=1000)
    first = iter(replay)
    assert next(first).column(0).to_pylist() == [0] * 10
    assert [batch.column(0)[0].as_py() for batch in replay] == list(range(50))
    assert [batch.column(0)[0].as_py() for batch in first] == list(range(1, 50))
    assert pa.table(replay).equals(table)
    replay.close()


def test_dates_beyond_those_of_python() -> None:
    table = lanes(u=(pa.timestamp("us"), [-(10**17), NOON_US]))
    rows = list(result(table, Column("v", {"u": 0}, types.TIME)))
    assert rows == [{"v": ion.Timestamp(-(10**17))}, {"v": NOON}]


def test_digits_stay_as_they_are() -> None:
    row = parse('{"a": 1.0000005e+06, "b": NaN, "c": [-Inf, "+Inf"], "d": 12345678901234567890}')
    assert isinstance(row["a"], Number)
    assert text(row) == (
        '{"a": 1.0000005e+06, "b": NaN, "c": [-Inf, "+Inf"], "d": 12345678901234567890}'
    )


def test_pieces_of_many_lines() -> None:
    count = 200_000
    table = lanes(j=(pa.utf8(), ['{"a": "\\n{\\"\\": "}'] * count))
    pieces = list(lines(table, [Column("", {"j": 0}, types.ROW)]))
    assert len(pieces) > 1
    assert b"".join(pieces) == b'{"a": "\\n{\\"\\": "}\n' * count


NUMBERS = [{"n": Number("5"), "s": "ab\ncd"}, {"n": Number("12.5")}, {"n": None, "s": "żółw 中文"}]


def test_a_grid_aligns_by_type_and_width() -> None:
    assert grid(["n", "s"], NUMBERS, columns=80).splitlines() == [
        "   n  s",
        "────  ─────────",
        "   5  ab\\ncd",
        "12.5",
        "null  żółw 中文",
        "(3 rows)",
    ]


def test_a_grid_keeps_to_its_width() -> None:
    rows = [{name: name * 30 for name in "abcdef"}]
    for width in range(8, 200, 7):
        *shown, _ = grid(list("abcdef"), rows, columns=width).splitlines()
        drawn = [line for line in shown if not line.startswith("(")]
        assert max(map(len, drawn)) <= width
    assert "(5 more columns: b, c, d, e, f)" in grid(list("abcdef"), rows, columns=8)
    assert "aaaaa…" in grid(["a"], rows, columns=6)
    assert grid([], [{}], columns=80) == "(1 row)\n"
    assert grid(["a"], rows, columns=80, total=5000).endswith("(1 of 5,000 rows shown)\n")


def test_the_package_offers_queries() -> None:
    assert callable(sdb.sql)
    assert callable(sdb.register)


def test_html_says_of_how_many_rows_the_first_are_shown(tmp_path: Path) -> None:
    sdb.pack([{"n": n} for n in range(250)], tmp_path / "x.zion")
    for limit, expected in (
        (99, ""),
        (100, ""),
        (101, "<caption>the first 100 of 101 rows</"),
        (9999, "<caption>the first 100 of 250 rows</"),
    ):
        with sdb.sql(f"SELECT n FROM '{tmp_path}/x.zion' LIMIT {limit}") as result:
            page = result._repr_html_()
        assert expected in page
        assert ("<caption>" in page) == bool(expected)
        assert page.count("<tr>") == 1 + min(limit, 100)
    sdb.pack([{"t": "x" * 1000} for n in range(9000)], tmp_path / "y.zion", block_bytes=1 << 20)
    with sdb.sql(f"SELECT t FROM '{tmp_path}/y.zion'", threads=1) as result:
        page = result._repr_html_()
    assert re.search(r"<caption>the first 100 rows of [\d,]+ or more</", page), page[:200]


def test_rows_that_ended_with_an_error_do_not_end_without_it_later() -> None:
    schema = pa.schema([("c0", pa.int64())])

    def batches() -> Iterator[pa.RecordBatch]:
        yield pa.record_batch([[1, 2]], schema=schema)
        raise ValueError("broken")

    replay = Replay(pa.RecordBatchReader.from_batches(schema, batches()))
    for _ in range(2):
        results = []
        with pytest.raises(ValueError, match="broken"):
            results.extend(batch.num_rows for batch in replay)
        assert results in ([2], [])
