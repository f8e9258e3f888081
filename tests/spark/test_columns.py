"""Rows in the columns of a given schema, made without Spark; it only reads the schemas."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sdb
from sdb import _core, ion
from sdb.errors import UnsupportedError, UsageError
from sdb.packfile.inputs.arrowrows import encoded
from sdb.packfile.inputs.inputs import Input
from sdb.packfile.write.pack import pack

if TYPE_CHECKING:
    from collections.abc import Generator
    from pathlib import Path

pytest.importorskip("pyspark")
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType, VariantVal

from sdb.spark.options.settings import ReadOptions
from sdb.spark.read.schema import schema_of

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("spark")]

VARIANTS = ReadOptions((), has_variants=True)
LONG = {"n": {f"name{at:03}": at for at in range(300)}, "list": list(range(300)), "t": "x" * 70}
VALUES: list[Any] = [
    *(1, -1, 127, 128, -129, 2**15, -(2**31) - 1, 2**63, 2**64 - 1, 0.5, -1e300),
    *(True, False, "", "é" * 63, "plain", [], {}, [None, 1, "x"], {"b": 1, "a": [None], "": 2}),
    *({"k": {"k": {"k": 1}}}, LONG, {"\U00010000": 1, "\uffff": 2}),
]


def read(path: Path, schema: str, *, lenient: bool = False, casts: bool = False) -> pa.Table:
    """Read rows in a schema of Spark."""
    arrow = to_arrow_schema(StructType.fromDDL(schema), timezone="UTC")
    types = _core.ArrowTypes.wanted(arrow, lenient=lenient, casts=casts)
    with sdb.open(path) as opened:
        trailer = opened.trailer
        scan = _core.ArrowScan(
            opened.read_block,
            [block.chunks for block in trailer.blocks],
            trailer.algorithm,
            trailer.align_bytes,
            fields=arrow.names,
        )
        batches = [pa.record_batch(batch) for batch in scan.stream(types)]
    assert all(batch.schema.equals(arrow, check_metadata=True) for batch in batches)
    for batch in batches:
        batch.validate(full=True)
    return pa.Table.from_batches(batches, arrow)


def columns(path: Path, schema: str, **options: bool) -> list[dict[str, Any]]:
    """Read rows in a schema of Spark, as dicts."""
    return read(path, schema, **options).to_pylist()


def packed(path: Path, rows: list[dict[str, Any]]) -> Path:
    """Pack rows as they are."""

    def source() -> Generator[bytes]:
        yield ion.dumps(rows)

    pack([Input("rows", "rows", source=source)], path, overwrite=True)
    return path


def variant(value: dict[str, bytes] | None) -> Any:
    if value is None:
        return None
    return VariantVal(value["value"], value["metadata"]).toPython()


def test_variants_hold_any_value(tmp_path: Path) -> None:
    path = packed(tmp_path / "v.zion", [{"v": value} for value in [*VALUES, None]] + [{}])
    actual = [variant(row["v"]) for row in columns(path, "v VARIANT")]
    with sdb.open(path) as opened:
        expected = [row.get("v") for row in opened.rows()]
    assert len(actual) == len(VALUES) + 2
    for got, value in zip(actual, expected, strict=True):
        assert got == (Decimal(value) if type(value) is int and value >= 2**63 else value)
    assert type(actual[11]) is bool


def test_variants_keep_instants(tmp_path: Path) -> None:
    path = packed(tmp_path / "t.zion", [{"v": ion.Timestamp(-1)}, {"v": [ion.Timestamp(5)]}])
    actual = [variant(row["v"]) for row in columns(path, "v VARIANT")]
    assert actual[0] == datetime(1969, 12, 31, 23, 59, 59, 999999, UTC)
    assert actual[1] == [datetime(1970, 1, 1, 0, 0, 0, 5, UTC)]


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.text(max_size=70),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(min_size=1), inner),
    max_leaves=20,
)


@settings(deadline=None, max_examples=50)
@given(st.lists(st.fixed_dictionaries({"v": json_values}), min_size=1, max_size=5))
def test_variants_of_any_json(tmp_path_factory: pytest.TempPathFactory, rows: list[Any]) -> None:
    path = packed(tmp_path_factory.mktemp("v") / "v.zion", rows)
    made = read(path, "v VARIANT")
    assert [variant(row["v"]) for row in made.to_pylist()] == [row["v"] for row in rows]
    (data,) = encoded(made.combine_chunks().to_batches(), keep_nulls=True)
    assert ion.loads(data) == rows


def test_columns_of_narrow_types(tmp_path: Path) -> None:
    rows = [
        {"b": 127, "s": -(2**15), "i": 2**31 - 1, "f": 0.5, "t": ion.Timestamp(-1)},
        {"b": 1.0, "f": 3, "d": 12.345, "t": ion.Timestamp(86_400_000_000)},
        {"d": 7, "n": {"l": [1, None, 3]}},
    ]
    path = packed(tmp_path / "n.zion", rows)
    schema = (
        "b TINYINT, s SMALLINT, i INT, f FLOAT, d DECIMAL(5,2), t DATE, n STRUCT<l: ARRAY<INT>>"
    )
    actual = columns(path, schema)
    assert [row["b"] for row in actual] == [127, 1, None]
    assert [row["s"] for row in actual] == [-(2**15), None, None]
    assert [row["i"] for row in actual] == [2**31 - 1, None, None]
    assert [row["f"] for row in actual] == [0.5, 3.0, None]
    assert [row["d"] for row in actual] == [None, Decimal("12.35"), Decimal("7.00")]
    assert [row["t"] for row in actual] == [date(1969, 12, 31), date(1970, 1, 2), None]
    assert actual[2]["n"] == {"l": [1, None, 3]}
    actual = columns(path, "t TIMESTAMP_NTZ")
    assert actual[0]["t"] == datetime(1969, 12, 31, 23, 59, 59, 999999)  # noqa: DTZ001


@pytest.mark.parametrize(
    ("kind", "value", "message"),
    [
        ("TINYINT", 128, "v: an integer"),
        ("BIGINT", 2**63, "v: an integer"),
        ("BIGINT", 0.5, "v: a number"),
        ("DECIMAL(3,1)", 100, "v: an integer"),
        ("STRING", 1, "v: an integer"),
        ("BOOLEAN", "x", "v: a text"),
        ("TIMESTAMP", [1], "v: a list"),
        ("STRUCT<a: STRUCT<b: INT>>", {"a": {"b": True}}, "v.a.b: a boolean"),
        ("ARRAY<INT>", [1, {"x": 1}], "v: a struct"),
    ],
)
def test_what_does_not_fit_is_an_error_or_null(
    tmp_path: Path, kind: str, value: object, message: str
) -> None:
    path = packed(tmp_path / "m.zion", [{"v": value}])
    with pytest.raises(UnsupportedError, match=f"^{message} that the column cannot hold$"):
        columns(path, f"v {kind}")
    (row,) = columns(path, f"v {kind}", lenient=True)
    inner = {"STRUCT<a: STRUCT<b: INT>>": {"a": {"b": None}}, "ARRAY<INT>": [1, None]}
    assert row["v"] == inner.get(kind)


def test_a_column_of_texts_takes_the_text_of_any_value(tmp_path: Path) -> None:
    values: list[Any] = [1, -0.5, True, "x", None, {"k": [1, "x"]}, [], ion.Timestamp(0)]
    path = packed(tmp_path / "m.zion", [{"v": value, "l": [value]} for value in values])
    expected = ["1", "-0.5", "true", "x", None, '{"k": [1, "x"]}', "[]", "1970-01-01T00:00:00Z"]
    for lenient in (False, True):
        made = read(path, "v STRING, l ARRAY<STRING>", lenient=lenient, casts=True).to_pylist()
        assert [row["v"] for row in made] == expected
        assert [row["l"] for row in made] == [[text] for text in expected]


def test_columns_that_cannot_be(tmp_path: Path) -> None:
    from sdb.spark.read.scan import columns as made

    with pytest.raises(UsageError, match="a column m of maps with keys of Date32"):
        made(StructType.fromDDL("m MAP<DATE, INT>"), ReadOptions((str(tmp_path),)))


def test_schemas_from_summaries_and_rows(tmp_path: Path) -> None:
    rows = [
        {"i": 1, "f": 1, "m": 1, "l": [{"x": 1}], "s": {"a": {"b": "x"}, "c": 1}, "e": {}},
        {"i": -2, "f": 0.5, "m": "x", "n": None, "t": ion.Timestamp(1), "b": True},
    ]
    with sdb.open(packed(tmp_path / "s.zion", rows)) as opened:
        schema = schema_of([opened], VARIANTS)
        assert schema == StructType.fromDDL(
            "b BOOLEAN, e VARIANT, f DOUBLE, i BIGINT, l ARRAY<VARIANT>, m VARIANT, n STRING,"
            " s STRUCT<a: STRUCT<b: STRING>, c: BIGINT>, t TIMESTAMP"
        )
        typed = schema_of([opened], replace(VARIANTS, from_rows=True))
        assert typed["l"].dataType == StructType.fromDDL("l ARRAY<STRUCT<x: BIGINT>>")["l"].dataType
        assert [field for field in typed if field.name != "l"] == [
            field for field in schema if field.name != "l"
        ]
        chosen = schema_of([opened], replace(VARIANTS, fields=(("t",), ("s", "a"), ("nope",))))
        assert chosen == StructType.fromDDL(
            "t TIMESTAMP, s STRUCT<a: STRUCT<b: STRING>>, nope STRING"
        )


def test_files_with_different_types_share_a_schema(tmp_path: Path) -> None:
    packfile = packed(tmp_path / "1.zion", [{"a": 1, "b": "x"}])
    two = packed(tmp_path / "2.zion", [{"a": "x", "c": 0.5}])
    with sdb.open(packfile) as first, sdb.open(two) as second:
        actual = schema_of([first, second], VARIANTS)
        texts = schema_of([first, second], replace(VARIANTS, has_variants=False))
    assert actual == StructType.fromDDL("a VARIANT, b STRING, c DOUBLE")
    assert texts == StructType.fromDDL("a STRING, b STRING, c DOUBLE")


@pytest.mark.parametrize("keep_nulls", [False, True])
def test_rows_of_spark_are_rows_again(tmp_path: Path, *, keep_nulls: bool) -> None:
    rows: list[dict[str, Any]] = [
        {"i": 1, "v": {"k": [1, None, "x"]}, "s": {"a": None, "l": [{"x": 1}, {"x": None}, None]}},
        {"v": 2**63, "t": ion.Timestamp(5), "d": 12.5, "m": "2021-01-01T00:00:00Z"},
    ]
    schema = (
        "i BIGINT, v VARIANT, t TIMESTAMP, s STRUCT<a: INT, l: ARRAY<STRUCT<x: INT>>>,"
        " d DECIMAL(9,2), m STRING"
    )
    batches = read(packed(tmp_path / "a.zion", rows), schema).to_batches()
    made = encoded(batches, keep_nulls=keep_nulls)
    again: list[Any] = [row for data in made for row in ion.loads(data)]
    names = ("i", "v", "t", "s", "d", "m")
    expected: list[Any] = [{name: row.get(name) for name in names} for row in rows]
    if not keep_nulls:
        expected = [{k: v for k, v in row.items() if v is not None} for row in rows]
        expected[0]["v"] = {"k": [1, None, "x"]}
        expected[0]["s"] = {"l": [{"x": 1}, {}, None]}
    assert [{**row, "t": ion.instant_to_us(row.get("t"))} for row in again] == [
        {**row, "t": ion.instant_to_us(row.get("t"))} for row in expected
    ]


def test_texts_and_structs_become_bytes_decimals_and_maps(tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = [
        {"b": "AP8=", "d": "12345678901234567890.55", "m": {"-7": 1, "9": None}, "t": -1.5},
        {"b": b"x", "d": 2, "m": {}},
        {},
    ]
    path = packed(tmp_path / "m.zion", rows)
    schema = "b BINARY, d DECIMAL(38,2), m MAP<INT, SHORT>, t INTERVAL DAY TO SECOND"
    assert columns(path, schema, casts=True) == [
        {
            "b": b"\x00\xff",
            "d": Decimal("12345678901234567890.55"),
            "m": [(-7, 1), (9, None)],
            "t": timedelta(seconds=-1.5),
        },
        {"b": b"x", "d": Decimal("2.00"), "m": [], "t": None},
        {"b": None, "d": None, "m": None, "t": None},
    ]
    for field, kind in [("b", "BINARY"), ("d", "DECIMAL(9,2)"), ("m", "MAP<BYTE, INT>")]:
        path = packed(tmp_path / "x.zion", [{"b": "no base64", "d": "1e3", "m": {"128": 1}}] * 2)
        with pytest.raises(UnsupportedError, match=f"{field}: a .* that the column cannot hold"):
            read(path, f"{field} {kind}", casts=True)
        nulls = columns(path, f"{field} {kind}", casts=True, lenient=True)
        assert nulls == [{field: None}] * 2
    with pytest.raises(UnsupportedError, match="maps with keys of Date32"):
        read(path, "m MAP<DATE, INT>")


def test_values_that_become_null_are_counted(tmp_path: Path) -> None:
    path = packed(tmp_path / "p.zion", [{"a": 1, "s": {"b": "x", "c": [1, "y", "z"]}}, {"a": "x"}])
    arrow = to_arrow_schema(StructType.fromDDL("a INT, s STRUCT<b: INT, c: ARRAY<INT>>, t INT"))
    types = _core.ArrowTypes.wanted(arrow, lenient=True, casts=True)
    with sdb.open(path) as opened:
        scan = _core.ArrowScan(
            opened.read_block,
            [block.chunks for block in opened.trailer.blocks],
            opened.trailer.algorithm,
            opened.trailer.align_bytes,
            fields=["a", "s", "t"],
        )
        assert sum(map(len, scan.stream(types))) == 2
    assert types.take_nulled() == [("a", 1), ("s", 3)]
    assert types.take_nulled() == []
