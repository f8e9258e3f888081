from __future__ import annotations

import json
import math
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import duckdb
import pyarrow as pa
import pytest

import sdb
from sdb import _core
from sdb.errors import UsageError
from tests.unit.test_lanes import MIXED, sources
from tests.unit.test_reader import make, rows

if TYPE_CHECKING:
    from pathlib import Path


def lines(stream: object, columns: list[tuple[str, dict[str, int]]]) -> list[str]:
    return b"".join(_core.render_json(stream, columns)).decode().splitlines()


def one(letter: str, *values: Any, type: pa.DataType | None = None) -> list[str]:  # noqa: A002
    table = pa.table({"c0": pa.array(values, type)})
    actual = lines(table, [("v", {letter: 0})])
    return [line[6:-1] if line.startswith('{"v": ') else line for line in actual]


def test_numbers() -> None:
    values = [1e15, 100000.5, 1000000.5, 1e-05, 1e20, -0.0, 0.25, 2.0**63, -(2.0**63), 1 / 3]
    assert one("n", *values) == [
        "1000000000000000",
        "100000.5",
        "1.0000005e+06",
        "1e-05",
        "1e+20",
        "0",
        "0.25",
        "9223372036854775808",
        "-9223372036854775808",
        "0.3333333333333333",
    ]
    assert one("n", math.nan, math.inf, -math.inf) == ["NaN", "+Inf", "-Inf"]
    assert one("x", 2**63 - 1, -(2**63), 0) == [str(2**63 - 1), str(-(2**63)), "0"]


def test_texts_and_times() -> None:
    assert one("s", 'é"\\\n\x01', "") == ['"é\\"\\\\\\n\\u0001"', '""']
    assert one("j", '{"a": [1]}', "null") == ['{"a": [1]}', "null"]
    assert one("b", True, False) == ["true", "false"]
    moments = [
        datetime(2021, 3, 4, 5, 6, 7, 0, UTC),
        datetime(2021, 3, 4, 5, 6, 7, 500_000, UTC),
    ]
    expected = ['"2021-03-04T05:06:07Z"', '"2021-03-04T05:06:07.5Z"']
    for unit in ("us", "ms", "ns"):
        assert one("u", *moments, type=pa.timestamp(unit)) == expected
    assert one("u", moments[0], type=pa.timestamp("s", "UTC")) == expected[:1]


@pytest.mark.parametrize(
    ("letter", "type_"),
    [
        *(("x", kind) for kind in (pa.int8(), pa.uint8(), pa.int32(), pa.uint64())),
        ("x", pa.decimal128(38, 0)),
        *(("n", kind) for kind in (pa.int16(), pa.float32(), pa.decimal128(38, 2), pa.int64())),
    ],
)
def test_other_types_of_numbers(letter: str, type_: pa.DataType) -> None:
    assert one(letter, 7, None, type=type_) == ["7", "{}"]


@pytest.mark.parametrize("letter", list("tnxsbuj"))
def test_columns_without_a_type(letter: str) -> None:
    assert one(letter, None) == ["{}"]


def test_texts_of_other_layouts() -> None:
    for kind in (pa.large_string(), pa.string_view()):
        assert one("s", "a", None, type=kind) == ['"a"', "{}"]


def test_types_decide_what_is_missing() -> None:
    table = pa.table(
        {
            "t": pa.array([0, 1, 4, 4, 16, None], pa.uint8()),
            "n": pa.array([None, None, 2.0**60 + 1, 0.5, None, None]),
            "x": pa.array([None, None, 2**60 + 1, None, None, None]),
            "s": pa.array([None, None, None, None, "a", None]),
        }
    )
    columns = [("a", {"t": 0, "n": 1, "x": 2, "s": 3}), ("b", {"s": 3}), ("c", {"t": 0})]
    assert lines(table, columns) == [
        "{}",
        '{"a": null, "c": null}',
        f'{{"a": {2**60 + 1}}}',
        '{"a": 0.5}',
        '{"a": "a", "b": "a"}',
        "{}",
    ]


def test_rows_are_printed_as_they_are_unpacked(tmp_path: Path) -> None:
    path = make(tmp_path / "a", MIXED + rows(5000))
    names = sorted({name for line in MIXED + rows(1) for name in line})
    with sdb.open(path) as opened:
        whole = _core.LaneScan(sources(opened), [(0, [], "j")])
        lanes = [(0, [name], letter) for name in names for letter in "tnxsbuj"]
        parts = _core.LaneScan(sources(opened), lanes)
        columns = [
            (name, {letter: 7 * number + item for item, letter in enumerate("tnxsbuj")})
            for number, name in enumerate(names)
        ]
        texts = pa.table(whole)["c0"].to_pylist()
        actual = lines(parts, columns)
    assert len(actual) == len(texts) == 5007
    # Integers beyond int64 have become doubles.
    assert [json.loads(line, parse_int=float) for line in actual] == [
        json.loads(line, parse_int=float) for line in texts
    ]


def test_pieces_are_bounded(tmp_path: Path) -> None:
    with sdb.open(make(tmp_path / "a", rows(30_000))) as opened:
        scan = _core.LaneScan(sources(opened), [(0, [], "j")])
        pieces = list(_core.render_json(scan, [("row", {"j": 0})]))
    assert len(pieces) > 2
    assert max(map(len, pieces)) < (1 << 20) + 1000
    assert all(piece.endswith(b"\n") for piece in pieces)
    assert sum(piece.count(b"\n") for piece in pieces) == 30_000


def test_results_of_duckdb_can_be_printed(tmp_path: Path) -> None:
    with sdb.open(make(tmp_path / "a", rows(1000))) as opened:
        con = duckdb.connect()
        con.register("t", _core.LaneScan(sources(opened), [(0, ["n"], "x"), (0, ["ts"], "u")]))
        result = con.sql("SELECT sum(c0) AS s, max(c1) AS m, 4::UTINYINT AS t FROM t")
        columns = [("sum", {"x": 0}), ("last", {"u": 1, "t": 2})]
        assert lines(result, columns) == ['{"sum": 499500, "last": "2021-01-01T16:39:00Z"}']


def test_errors_come_after_what_is_good() -> None:
    def batches() -> Any:
        yield pa.record_batch({"c0": pa.array(["a"])})
        message = "it broke"
        raise ValueError(message)

    schema = pa.schema({"c0": pa.string()})
    reader = pa.RecordBatchReader.from_batches(schema, batches())
    pieces = _core.render_json(reader, [("v", {"s": 0})])
    assert next(pieces) == b'{"v": "a"}\n'
    with pytest.raises(RuntimeError, match="it broke"):
        next(pieces)


def test_nonsense_is_refused() -> None:
    table = pa.table({"c0": pa.array([1]), "c1": pa.array([[1]])})
    for lanes in ({"q": 0}, {"z": 0}, {"s": 0}, {"x": 1}, {"x": 2}, {"j": 1}, {"b": 0}, {"u": 0}):
        with pytest.raises(UsageError):
            lines(table, [("v", lanes)])
    with pytest.raises(UsageError, match="64 bits"):
        one("x", 2**63, type=pa.uint64())


def test_a_member_without_a_name_is_the_line_if_it_is_alone(tmp_path: Path) -> None:
    path = make(tmp_path / "a", MIXED + rows(20))
    with sdb.open(path) as opened:
        named = lines(_core.LaneScan(sources(opened), [(0, [], "j")]), [("row", {"j": 0})])
    with sdb.open(path) as opened:
        scan = _core.LaneScan(sources(opened), [(0, [], "j")])
        alone = b"".join(_core.render_json(scan, [(None, {"j": 0})])).decode().splitlines()
    assert alone == [line[len('{"row": ') : -1] for line in named]
