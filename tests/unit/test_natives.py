"""Functions of the query language that the core has, called over Arrow arrays."""

from __future__ import annotations

import datetime as dt

import pyarrow as pa
import pytest

from sdb import _core
from sdb.errors import UsageError


def call(name: str, *args: pa.Array) -> list[object]:
    values: list[object] = pa.array(_core.call_function(name, *args)).to_pylist()
    return values


@pytest.mark.parametrize(
    ("name", "args", "expected"),
    [
        ("sdb_upper", [["straße", None]], ["STRAßE", None]),
        ("sdb_ilike", [["\u017f", "ß"], ["S", "SS"], ["", ""]], [True, False]),
        ("sdb_subnet", [["10.0.0.9", "x"], [167772160] * 2, [167772170] * 2], [True, False]),
        ("sdb_geo_hash", [[52.2297], [21.0122], [6]], ["u3qcnh"]),
        ("sdb_shift", [[1, -16], [63, 2], ["<<", ">>"]], [-(1 << 63), -4]),
        ("sdb_sum", [[[1.0, 1e100, 1.0, -1e100], [None, 0.5]]], [2.0, 0.5]),
        ("sdb_ln1p", [[0.0, 1e-20]], [0.0, 1e-20]),
        ("sdb_key_n", [[3.0, 0.5]], ["n3", "f3fe0000000000000"]),
        ("sdb_key_json", [["[2:n12:sx", "z"]], ['[1, "x"]', "null"]),
        ("sdb_key_members", [["{1:a2:n1"]], [[{"name": "a", "key": "n1"}]]),
    ],
)
def test_functions(name: str, args: list[list[object]], expected: list[object]) -> None:
    assert call(name, *map(pa.array, args)) == expected


def test_slices_of_arrays() -> None:
    assert call("sdb_lower", pa.array(["A", "B", None, "D"]).slice(1, 2)) == ["b", None]


def test_times() -> None:
    time = dt.datetime(2021, 3, 4, 5, 6, 7, 500_000)  # noqa: DTZ001 - lanes have no zone
    assert call("sdb_json_u", pa.array([time], pa.timestamp("us"))) == ['"2021-03-04T05:06:07.5Z"']


@pytest.mark.parametrize(
    ("name", "args"),
    [
        ("sdb_none", [pa.array(["a"])]),
        ("sdb_lower", [pa.array([1])]),
        ("sdb_lower", []),
        ("sdb_key_field", [pa.array(["a"]), pa.array(["a", "b"])]),
    ],
)
def test_wrong_calls(name: str, args: list[pa.Array]) -> None:
    with pytest.raises(UsageError):
        _core.call_function(name, *args)


def test_what_is_no_array() -> None:
    with pytest.raises(AttributeError):
        _core.call_function("sdb_lower", "a")
