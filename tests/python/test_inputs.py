"""Rows and tables of Python as inputs: pandas, polars, Arrow, and objects of many classes."""

from __future__ import annotations

import dataclasses
import datetime as dt
import decimal
import enum
import ipaddress
import pathlib
import uuid
from collections import deque
from typing import Any

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
import pytest

import sdb
from sdb.errors import InputError, SdbWarning, UsageError

UTC = dt.UTC
NOON = dt.datetime(2026, 11, 1, 12, tzinfo=UTC)


def packed(tmp_path: pathlib.Path, inputs: Any, **options: Any) -> list[dict[str, Any]]:
    path = tmp_path / "packed.zion"
    sdb.pack(inputs, path, overwrite=True, **options)
    with sdb.open(path) as packfile:
        return list(packfile)


class Colour(enum.Enum):
    RED = "red"


@dataclasses.dataclass
class Login:
    user: str
    at: dt.datetime
    tags: list[str]


@dataclasses.dataclass(frozen=True)
class Event:
    id: uuid.UUID
    login: Login


VALUES: list[tuple[Any, Any]] = [
    (NOON.astimezone(dt.timezone(dt.timedelta(hours=2))), NOON),
    (dt.date(2026, 11, 1), dt.datetime(2026, 11, 1, tzinfo=UTC)),
    (dt.time(1, 2, 3), "01:02:03"),
    (dt.timedelta(seconds=90), 90),
    (dt.timedelta(milliseconds=1500), 1.5),
    (decimal.Decimal(7), 7),
    (decimal.Decimal(18446744073709551615), (1 << 64) - 1),
    (decimal.Decimal("0.1"), 0.1),
    (decimal.Decimal("1e30"), 1e30),
    (uuid.UUID(int=1), "00000000-0000-0000-0000-000000000001"),
    (ipaddress.ip_address("10.0.0.1"), "10.0.0.1"),
    (ipaddress.ip_network("fe80::/10"), "fe80::/10"),
    (pathlib.PurePosixPath("/var/log"), "/var/log"),
    (Colour.RED, "red"),
    ((1, 2), [1, 2]),
    ({7}, [7]),
    (deque([1]), [1]),
    (range(3), [0, 1, 2]),
    (bytearray(b"ab"), "YWI="),
    (np.int8(-3), -3),
    (np.uint64((1 << 64) - 1), (1 << 64) - 1),
    (np.float32(0.5), 0.5),
    (np.bool_(True), True),
    (np.str_("x"), "x"),
    (np.array([1.5, 2.0]), [1.5, 2]),
    (np.array([[1], [2]]), [[1], [2]]),
    (np.datetime64("2026-11-01T12:00:00.000000001").astype("datetime64[ns]"), NOON),
    (np.datetime64("NaT"), None),
    (np.timedelta64(90, "s"), 90),
    (pa.scalar({"a": 1}), {"a": 1}),
    ({"d": [[uuid.UUID(int=2)]]}, {"d": [["00000000-0000-0000-0000-000000000002"]]}),
]


@pytest.mark.parametrize(("value", "expected"), VALUES, ids=lambda value: repr(value)[:30])
@pytest.mark.filterwarnings("ignore:times of v have no time zone:sdb.errors.SdbWarning")
def test_what_values_become(tmp_path: pathlib.Path, value: Any, expected: Any) -> None:
    (plain, row) = packed(tmp_path, [{"v": 1}, {"v": value, "after": 1}])
    assert plain == {"v": 1}
    assert row == {"v": expected, "after": 1}


def test_dataclasses_are_rows(tmp_path: pathlib.Path) -> None:
    login = Login("ada", NOON, ["x"])
    event = Event(uuid.UUID(int=3), login)
    expected = {
        "id": "00000000-0000-0000-0000-000000000003",
        "login": {"user": "ada", "at": NOON, "tags": ["x"]},
    }
    assert packed(tmp_path, [event, {"id": 1}]) == [expected, {"id": 1}]
    assert packed(tmp_path, (event for _ in range(2))) == [expected, expected]


def test_naive_times_are_of_utc_and_told_once(tmp_path: pathlib.Path) -> None:
    naive = dt.datetime(2026, 11, 1, 12)  # noqa: DTZ001
    row = {"at": naive, "in": {"at": naive}}
    with pytest.warns(SdbWarning, match="have no time zone: they are taken for UTC") as seen:
        assert packed(tmp_path, [row] * 3) == [{"at": NOON, "in": {"at": NOON}}] * 3
    texts = {str(warning.message).partition(" have")[0] for warning in seen}
    assert texts == {"times of at", "times of in.at"}
    assert {warning.filename for warning in seen} == {__file__}
    # The text of JSON means the same time.
    assert packed(tmp_path, _file(tmp_path, b'{"at": "2026-11-01T12:00:00"}')) == [{"at": NOON}]


def _file(tmp_path: pathlib.Path, data: bytes) -> pathlib.Path:
    path = tmp_path / "in.json"
    path.write_bytes(data)
    return path


def test_nulls_stay_or_are_missing(tmp_path: pathlib.Path) -> None:
    rows = [{"a": None, "b": {"c": None, "d": 1}, "e": [None, 1]}]
    assert packed(tmp_path, rows) == rows
    fewer = [{"b": {"d": 1}, "e": [None, 1]}]
    assert packed(tmp_path, rows, nulls="missing") == fewer
    table = pa.Table.from_pylist(rows)
    assert packed(tmp_path, table) == rows
    assert packed(tmp_path, table, nulls="missing") == fewer
    with pytest.raises(UsageError, match="invalid nulls: 'none'"):
        packed(tmp_path, rows, nulls="none")


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"a": {"b": [object()]}}, r"row 1: field a\.b\[\]: values of the type object have no"),
        ({"a": {1: 2}}, r"row 1: field a: the name 1 is of the type int, and not a text"),
        ({"a": {"b": 1j}}, r"row 1: field a\.b: values of the type complex"),
    ],
)
def test_errors_name_row_and_field(tmp_path: pathlib.Path, row: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        packed(tmp_path, [{"a": 1}, row])
    assert not (tmp_path / "packed.zion").exists()


ROWS = [
    {"id": number, "text": f"row {number}", "at": NOON, "in": {"x": [number]}}
    for number in range(5)
]
TABLE = pa.Table.from_pylist(ROWS)


class Capsule:
    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return TABLE.__arrow_c_stream__(requested_schema)


FORMS = {
    "table": lambda: TABLE,
    "batch": lambda: TABLE.combine_chunks().to_batches()[0],
    "reader": lambda: TABLE.to_reader(2),
    "struct array": lambda: TABLE.to_struct_array().combine_chunks(),
    "polars": lambda: pl.from_arrow(TABLE),
    "lazy": lambda: pl.from_arrow(TABLE).lazy(),  # type: ignore[union-attr]
    "duckdb": lambda: duckdb.from_arrow(TABLE),
    "capsule": Capsule,
    "batches": lambda: TABLE.to_batches(2),
    "tables": lambda: [TABLE.slice(0, 2), TABLE.slice(2)],
}


@pytest.mark.parametrize("name", FORMS)
def test_tables_are_inputs(tmp_path: pathlib.Path, name: str) -> None:
    make = FORMS[name]
    assert packed(tmp_path, make()) == ROWS, name
    target = tmp_path / "packed.zion"
    assert sdb.append(target, make()).rows_total == 10
    db = sdb.connect(str(tmp_path / "lake"))
    db.create("web.t", "in/*.json")
    for _ in range(2):
        assert db.append("web.t", make()).packed.rows == 5
    assert db.table("web.t").append(make()).version == 3
    assert list(db.sql("SELECT COUNT(*) AS n FROM web.t")) == [{"n": 15}]


def test_results_and_packfiles_are_inputs(tmp_path: pathlib.Path) -> None:
    rows = [{"a": 1}, {"a": "x", "b": None}, {"a": [1, "x"]}]
    assert packed(tmp_path, rows) == rows
    target = tmp_path / "packed.zion"
    with sdb.sql(f"SELECT * FROM '{target}'") as result:
        sdb.pack(result, tmp_path / "again.zion")
    with sdb.open(tmp_path / "again.zion") as again:
        assert list(again) == rows  # values of several types stay, which Arrow has no column for
        sdb.pack(again, tmp_path / "third.zion")
    with sdb.open(tmp_path / "third.zion") as third:
        assert list(third) == rows


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
@pytest.mark.parametrize("zone", [None, "UTC", "Europe/Berlin"])
@pytest.mark.filterwarnings("ignore:times of t have no time zone:sdb.errors.SdbWarning")
def test_timestamps_of_all_units_and_zones(
    tmp_path: pathlib.Path, unit: str, zone: str | None
) -> None:
    scale = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[unit]
    column = pa.array([int(NOON.timestamp()) * scale, None], pa.timestamp(unit, zone))
    assert packed(tmp_path, pa.table({"t": column})) == [{"t": NOON}, {"t": None}]


def test_columns_without_a_zone_are_told(tmp_path: pathlib.Path) -> None:
    column = pa.array([0], pa.timestamp("us"))
    with pytest.warns(SdbWarning, match="times of t have no time zone"):
        packed(tmp_path, pa.table({"t": column}))


def test_dictionaries_and_nested_types(tmp_path: pathlib.Path) -> None:
    table = pa.table(
        {
            "d": pa.array(["x", None, "x"]).dictionary_encode(),
            "n": pa.array([decimal.Decimal("1.50"), None, decimal.Decimal(2)]),
            "l": pa.array([[{"a": 1}], [], None]),
            "m": pa.array([[("k", 1)], None, []], pa.map_(pa.utf8(), pa.int8())),
        }
    )
    assert packed(tmp_path, table) == [
        {"d": "x", "n": 1.5, "l": [{"a": 1}], "m": {"k": 1}},
        {"d": None, "n": None, "l": [], "m": None},
        {"d": "x", "n": 2, "l": None, "m": {}},
    ]
    frame = pl.DataFrame({"c": pl.Series(["a", "b", "a"], dtype=pl.Categorical)})
    assert packed(tmp_path, frame) == [{"c": "a"}, {"c": "b"}, {"c": "a"}]


def test_errors_of_tables_name_row_and_column(tmp_path: pathlib.Path) -> None:
    late = pa.array([0] * 5000 + [1 << 62], pa.time64("us"))
    with pytest.raises(InputError, match=r"row 5,000: column at: a time of day of "):
        packed(tmp_path, pa.table({"at": late}))
    months = pa.array([None], pa.month_day_nano_interval())
    with pytest.raises(InputError, match=r"the rows: column i: values of the type Interval"):
        packed(tmp_path, pa.table({"i": months}))
    twice = pa.Table.from_arrays([pa.array([1]), pa.array([2])], ["a", "a"])
    with pytest.raises(InputError, match='2 fields are called "a"'):
        packed(tmp_path, twice)


def test_times_too_far_for_a_row_are_texts_of_themselves(tmp_path: pathlib.Path) -> None:
    far = pa.array([0] * 5000 + [1 << 62], pa.timestamp("s", "UTC"))
    with pytest.warns(SdbWarning, match="^column at: times outside the years 0 to 16383") as caught:
        rows = packed(tmp_path, pa.table({"at": far}))
    assert len(caught) == 1
    epoch = {"at": dt.datetime(1970, 1, 1, tzinfo=UTC)}
    assert rows == [epoch] * 5000 + [{"at": "+146138514283-06-19T07:45:04Z"}]


def test_what_a_generator_behind_a_reader_raises_is_told(tmp_path: pathlib.Path) -> None:
    def batches() -> Any:
        yield TABLE.to_batches()[0]
        raise LookupError("no more pages")

    reader = pa.RecordBatchReader.from_batches(TABLE.schema, batches())
    with pytest.raises(InputError, match="the RecordBatchReader: LookupError: no more pages"):
        packed(tmp_path, reader)


def test_data_frames_of_pandas(tmp_path: pathlib.Path) -> None:
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(ROWS)
    assert packed(tmp_path, frame) == ROWS
    assert packed(tmp_path, frame[frame.id > 2]) == ROWS[3:]
    assert packed(tmp_path, [frame, frame]) == ROWS * 2
    indexed = frame[["id", "text"]].set_index("id")
    assert packed(tmp_path, indexed)[1] == {"id": 1, "text": "row 1"}
    with pytest.warns(SdbWarning, match="the index of the data frame has no name"):
        rows = packed(tmp_path, pd.DataFrame({"a": [1, 2]}, index=["x", "y"]))
    assert rows == [{"a": 1}, {"a": 2}]
    gaps = pd.DataFrame({"a": [1.5, None], "c": pd.Categorical(["x", None]), "t": [NOON, pd.NaT]})
    assert packed(tmp_path, gaps) == [
        {"a": 1.5, "c": "x", "t": NOON},
        {"a": None, "c": None, "t": None},
    ]
    mixed = pd.DataFrame({"a": [1, "x", None, {"b": pd.Timestamp(NOON)}, float("nan")]})
    expected = [{"a": 1}, {"a": "x"}, {"a": None}, {"a": {"b": NOON}}, {"a": None}]
    assert packed(tmp_path, mixed) == expected
    assert packed(tmp_path, [row for _, row in frame[["id", "text"]].iterrows()])[0] == {
        "id": 0,
        "text": "row 0",
    }
    with pytest.raises(InputError, match="2 columns are called 'a'"):
        packed(tmp_path, pd.DataFrame([[1, 2]], columns=["a", "a"]))
