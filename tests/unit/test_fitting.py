"""Columns of decimals are made of lanes as Python makes decimals of numbers."""

from __future__ import annotations

import math
from decimal import Decimal

import pyarrow as pa
from hypothesis import example, given
from hypothesis import strategies as st

from sdb.table.schema.columns import fits_decimal
from sdb.table.schema.fitting import of_lanes
from sdb.table.schema.types import BINARY, DecimalType

KINDS = st.integers(1, 38).flatmap(
    lambda precision: st.builds(DecimalType, st.just(precision), st.integers(0, precision))
)
SHORT = st.builds(
    lambda units, scale: units / 10**scale, st.integers(-(10**16), 10**16), st.integers(0, 20)
)
DOUBLES = SHORT | SHORT.map(lambda number: math.nextafter(number, 1e99)) | st.floats()
WHOLE = st.integers(-(2**64), 2**64) | st.integers(0, 20).map(lambda digits: 10**digits % 2**64)


def decimal(number: float | None, kind: DecimalType) -> Decimal | None:
    if number is None or not fits_decimal(kind, number):
        return None
    return Decimal(repr(number))


@given(st.lists(st.none() | DOUBLES), KINDS)
@example([0.12345678901234566, 1e-20, -0.0, 1e23], DecimalType(20, 18))  # as many digits as can be
@example([1e-25, 3e-23, 1.0], DecimalType(38, 25))  # 10^25 is no double
@example([999.5, 999.4, 1000.0, math.nan, math.inf], DecimalType(3, 0))
def test_doubles_are_decimals_of_their_shortest_digits(
    numbers: list[float | None], kind: DecimalType
) -> None:
    made = of_lanes(kind, {"n": pa.array(numbers, pa.float64())}, len(numbers))
    # Whole doubles up to 2^64 are integers in rows.
    rows = [
        int(number)
        if number is not None and number.is_integer() and abs(number) <= 2**64
        else number
        for number in numbers
    ]
    assert made.to_pylist() == [decimal(number, kind) for number in rows]
    assert made.type == pa.decimal128(kind.precision, kind.scale)


@given(st.lists(st.none() | WHOLE), KINDS)
@example([10**19, 10**19 - 1, 2**64, None], DecimalType(19, 0))
def test_whole_numbers_are_decimals_if_they_have_few_enough_digits(
    numbers: list[int | None], kind: DecimalType
) -> None:
    doubles = [0.5 if number is None else float(number) for number in numbers]
    lanes = {"x": pa.array(numbers, pa.decimal128(38, 0)), "n": pa.array(doubles, pa.float64())}
    expected = [decimal(0.5 if number is None else number, kind) for number in numbers]
    assert of_lanes(kind, lanes, len(numbers)).to_pylist() == expected


def test_texts_are_bytes_if_they_are_base64() -> None:
    lanes = {"s": pa.array(["QUI=", "QUI", None, "?", ""]), "n": pa.array([None] * 3 + [1.0, None])}
    assert of_lanes(BINARY, lanes, 5).to_pylist() == [b"AB", None, None, None, b""]
    assert of_lanes(BINARY, {"n": lanes["n"]}, 5).to_pylist() == [None] * 5
