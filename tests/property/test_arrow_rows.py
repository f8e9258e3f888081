"""Any Arrow data as rows of Ion, against a plain mapping of its values in Python."""

from __future__ import annotations

import contextlib
import datetime as dt
import math
import uuid
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from hypothesis import given, reject, settings
from hypothesis import strategies as st

from sdb import ion
from sdb._core import dump_batch
from sdb.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable

DAY = 86_400
UNITS = {"s": 10**6, "ms": 10**3, "us": 1, "ns": Fraction(1, 1000)}
FIRST_US, LAST_US = -62_135_596_800_000_000, 253_402_300_799_999_999  # of what pyarrow gives


@dataclass(frozen=True)
class Kind:
    """A type, values that it may have as pyarrow takes them, and what rows hold instead."""

    type: pa.DataType
    values: st.SearchStrategy[Any]
    stored: Callable[[Any], Any] = lambda value: value


class Moment(int):
    """Microseconds since 1970."""


def instants(kind: pa.DataType, unit_us: int | Fraction) -> Kind:
    low = math.ceil(max(FIRST_US / unit_us, -(2**63)))
    high = math.floor(min(LAST_US / unit_us, 2**63 - 1))
    values = st.integers(low, high) | st.integers(-3000, 3000)
    return Kind(kind, values, lambda value: Moment(value * unit_us // 1))


def clock(kind: pa.DataType, unit: str) -> Kind:
    def stored(value: int) -> str:
        us = int(value * UNITS[unit])
        return (dt.datetime(2000, 1, 1) + dt.timedelta(microseconds=us)).time().isoformat()  # noqa: DTZ001

    return Kind(kind, st.integers(0, int(DAY * 10**6 / UNITS[unit]) - 1), stored)


def duration(unit: str) -> Kind:
    def stored(value: int) -> int | float:
        us = int(value * UNITS[unit])
        return us // 10**6 if us % 10**6 == 0 else us / 10**6

    return Kind(pa.duration(unit), st.integers(-(2**63), 2**63 - 1), stored)


def decimal(kind: pa.DataType) -> Kind:
    def stored(value: Decimal) -> int | float | str:
        exact = Fraction(value)
        if exact.denominator == 1 and -(2**63) <= exact < 2**64:
            return int(exact)
        nearest = exact.numerator / exact.denominator
        if Fraction(Decimal(repr(nearest))) == exact:
            return nearest
        plain = format(value, "f")
        return plain.rstrip("0").rstrip(".") if "." in plain else plain

    limit = 10**kind.precision - 1
    digits = st.integers(-limit, limit) | st.integers(-999, 999).map(lambda n: n * 10**kind.scale)
    scaled = digits.filter(lambda n: abs(n) <= limit).map(
        lambda n: Decimal((int(n < 0), tuple(map(int, str(abs(n)))), -kind.scale))
    )
    return Kind(kind, scaled, stored)


text = st.text(max_size=20)
blob = st.binary(max_size=20)
SCALARS = [
    *(Kind(pa.int64(), st.integers(-(2**63), 2**63 - 1)), Kind(pa.int8(), st.integers(-128, 127))),
    *(Kind(pa.uint64(), st.integers(0, 2**64 - 1)), Kind(pa.uint16(), st.integers(0, 2**16 - 1))),
    *(Kind(pa.int16(), st.integers(-9, 9)), Kind(pa.int32(), st.integers(-(2**31), 2**31 - 1))),
    *(Kind(pa.uint8(), st.integers(0, 255)), Kind(pa.uint32(), st.integers(0, 2**32 - 1))),
    Kind(pa.float64(), st.floats() | st.integers(-(2**70), 2**70).map(float)),
    *(Kind(pa.float32(), st.floats(width=32)), Kind(pa.float16(), st.floats(width=16))),
    *(Kind(pa.bool_(), st.booleans()), Kind(pa.null(), st.none())),
    *(Kind(kind, text) for kind in (pa.string(), pa.large_string(), pa.string_view())),
    *(Kind(kind, blob) for kind in (pa.binary(), pa.large_binary(), pa.binary_view())),
    Kind(pa.binary(3), st.binary(min_size=3, max_size=3)),
    Kind(pa.dictionary(pa.int8(), pa.string()), st.sampled_from(["x", "yy", ""])),
    *(instants(pa.timestamp(unit), us) for unit, us in UNITS.items()),
    *(instants(pa.timestamp("us", "Asia/Tokyo"), 1), instants(pa.date32(), DAY * 10**6)),
    *(clock(pa.time32(unit), unit) for unit in ("s", "ms")),
    *(clock(pa.time64(unit), unit) for unit in ("us", "ns")),
    *map(duration, UNITS),
    *map(decimal, (pa.decimal32(7, 2), pa.decimal64(18, 0), pa.decimal128(38, 9))),
    *map(decimal, (pa.decimal128(20, 19), pa.decimal256(76, 40))),
]


def listed(inner: Kind) -> st.SearchStrategy[Kind]:
    items = st.lists(st.none() | inner.values, max_size=3)
    pair = st.lists(st.none() | inner.values, min_size=2, max_size=2)

    def stored(value: list[Any]) -> list[Any]:
        return [shown(inner, item) for item in value]

    makers = [pa.list_, pa.large_list]
    if not pa.types.is_dictionary(inner.type):  # which pyarrow cannot make of values
        makers.append(pa.list_view)
    kinds = [Kind(make(inner.type), items, stored) for make in makers]
    return st.sampled_from([*kinds, Kind(pa.list_(inner.type, 2), pair, stored)])


class Entries(dict[str, Any]):
    """A map, of which nulls are no fields that can be left out."""


def mapped(inner: Kind) -> st.SearchStrategy[Kind]:
    values = st.lists(st.tuples(text, st.none() | inner.values), max_size=3)

    def stored(value: list[tuple[str, Any]]) -> dict[str, Any]:
        return Entries({name: shown(inner, item) for name, item in value})

    return st.just(Kind(pa.map_(pa.string(), inner.type), values, stored))


def structs(inner: dict[str, Kind]) -> Kind:
    values = st.fixed_dictionaries({name: st.none() | kind.values for name, kind in inner.items()})

    def stored(value: dict[str, Any]) -> dict[str, Any]:
        return {name: shown(kind, value[name]) for name, kind in inner.items()}

    return Kind(pa.struct([(name, kind.type) for name, kind in inner.items()]), values, stored)


names = st.sampled_from(["a", "b", "name", "", "d.e"])
kinds = st.recursive(
    st.sampled_from(SCALARS),
    lambda inner: st.one_of(
        inner.flatmap(listed),
        inner.flatmap(mapped),
        st.dictionaries(names, inner, max_size=3).map(structs),
    ),
    max_leaves=4,
)


def shown(kind: Kind, value: Any) -> Any:
    return None if value is None else kind.stored(value)


@st.composite
def batches(draw: st.DrawFn) -> tuple[pa.RecordBatch, list[dict[str, Any]]]:
    """Some rows out of the middle of a batch, and what they are as rows."""
    columns = draw(st.dictionaries(names, kinds, min_size=1, max_size=3))
    count, start, stop = draw(st.integers(0, 6)), draw(st.integers(0, 3)), draw(st.integers(3, 6))
    arrays, values = [], []
    for kind in columns.values():
        cells = draw(st.lists(st.none() | kind.values, min_size=count, max_size=count))
        arrays.append(pa.array(cells, kind.type))
        values.append([shown(kind, cell) for cell in cells])
    rows = [dict(zip(columns, cells, strict=True)) for cells in zip(*values, strict=True)]
    batch = pa.RecordBatch.from_arrays(arrays, list(columns))
    return batch.slice(start, stop - start), rows[start:stop]


def comparable(value: Any) -> Any:
    """Make what is equal in Ion, and nothing else, equal in Python."""
    match value:
        case bool() | None | str() | bytes():
            return type(value), value
        case float():
            return "nan" if math.isnan(value) else value
        case dict():
            return {name: comparable(inner) for name, inner in value.items()}
        case list():
            return [comparable(inner) for inner in value]
        case Moment():
            return "moment", int(value)
        case int():
            return value
        case _:
            return "moment", ion.instant_to_us(value)


def without_nulls(value: Any) -> Any:
    match value:
        case Entries():
            return {k: without_nulls(inner) for k, inner in value.items()}
        case dict():
            return {k: without_nulls(inner) for k, inner in value.items() if inner is not None}
        case list():
            return [without_nulls(inner) for inner in value]
        case _:
            return value


def rows_of(batch: pa.RecordBatch, *, keep_nulls: bool = True) -> Any:
    return ion.loads(dump_batch(batch, keep_nulls=keep_nulls)[0])


@settings(deadline=None)
@given(batches())
def test_any_batch(drawn: tuple[pa.RecordBatch, list[dict[str, Any]]]) -> None:
    batch, rows = drawn
    try:
        batch.validate(full=True)
    except pa.ArrowInvalid:
        reject()  # pyarrow itself makes dictionaries without values for nulls that point into them
    assert comparable(rows_of(batch, keep_nulls=True)) == comparable(rows)
    fewer = rows_of(batch, keep_nulls=False)
    assert comparable(fewer) == comparable(without_nulls(rows))


VARIANT = pa.struct(
    [
        pa.field("value", pa.binary(), nullable=False),
        pa.field("metadata", pa.binary(), nullable=False, metadata={"variant": "true"}),
    ]
)
# {"a": [1.5, "x", true], "b": {"a": -300}}, as Spark encodes it.
DICTIONARY = bytes.fromhex("01020001026162")
VALUE = bytes.fromhex("02020001000f1703030006080920010f000000057804020100000310d4fe")


def opened(value: bytes, dictionary: bytes) -> Any:
    column = pa.array([{"value": value, "metadata": dictionary}], VARIANT)
    (row,) = rows_of(pa.record_batch([column], ["v"]))
    return row["v"]


def test_a_variant() -> None:
    assert opened(VALUE, DICTIONARY) == {"a": [1.5, "x", True], "b": {"a": -300}}


@settings(deadline=None)
@given(st.data())
def test_damaged_variants_are_refused(data: st.DataObject) -> None:
    parts = []
    for part in (VALUE, DICTIONARY):
        damaged = bytearray(part)
        for at, byte in data.draw(
            st.dictionaries(st.integers(0, len(part) - 1), st.integers(0, 255), max_size=3)
        ).items():
            damaged[at] = byte
        parts.append(bytes(damaged[: data.draw(st.integers(len(part) - 3, len(part)))]))
    with contextlib.suppress(InputError):
        opened(*parts)


def test_values_without_a_place_are_refused() -> None:
    for column, message in [
        (
            pa.array([[b"\xff"]], pa.list_(pa.binary())).view(pa.list_(pa.string())),
            "column c: a text that is not UTF-8",
        ),
        (pa.array([DAY * 1000], pa.int32()).cast(pa.time32("ms")), "column c: a time of day"),
        (pa.array([pa.MonthDayNano([1, 2, 3])]), "column c: values of the type Interval"),
        (
            pa.array([[([1], 2)]], pa.map_(pa.list_(pa.int8()), pa.int8())),
            "column c: a map with keys",
        ),
        (
            pa.StructArray.from_arrays([pa.array([1])] * 2, ["a", "a"]),
            "column c: 2 fields are called",
        ),
        (pa.array([{"value": b"", "metadata": b""}], VARIANT), "column c: a malformed variant"),
    ]:
        with pytest.raises(InputError, match=message):
            dump_batch(pa.record_batch([column], ["c"]), keep_nulls=True)
    with pytest.raises(TypeError, match="a record batch was expected, this is a Int64"):
        dump_batch(pa.array([1]), keep_nulls=True)


def test_times_outside_the_years_are_text() -> None:
    for column, text in [
        (pa.array([2**62], pa.timestamp("us")), "+148108-07-06T14:00:27.387904Z"),
        (pa.array([-(2**40)], pa.timestamp("s")), "-32873-11-12T23:23:44Z"),
        (pa.array([2**31 - 1], pa.int32()).cast(pa.date32()), "+5881580-07-11T00:00:00Z"),
    ]:
        other = pa.array([1])
        data, rows, decimals, times = dump_batch(
            pa.record_batch([column, other], ["c", "n"]), keep_nulls=True
        )
        assert (ion.loads(data), rows) == ([{"c": text, "n": 1}], 1)
        assert (decimals, times) == ([], ["c"])


def test_uuids_are_text() -> None:
    of = uuid.UUID("00112233-4455-6677-8899-aabbccddeeff")
    column = pa.array([of.bytes, None], pa.uuid())
    lists = pa.ListArray.from_arrays(pa.array([0, 1, 1], pa.int32()), column.slice(0, 1))
    batch = pa.record_batch([column, lists], ["u", "l"])
    assert rows_of(batch) == [{"u": str(of), "l": [str(of)]}, {"u": None, "l": []}]


def test_keys_of_maps_become_text() -> None:
    for keys, name in [
        (pa.array([-7]), "-7"),
        (pa.array([1.5]), "1.5"),
        (pa.array([True]), "true"),
        (pa.array([dt.datetime(2021, 1, 2)]), "2021-01-02T00:00:00Z"),  # noqa: DTZ001
        (pa.array(["x"]).dictionary_encode(), "x"),
    ]:
        column = pa.MapArray.from_arrays([0, 1], keys, pa.array([5]))
        assert rows_of(pa.record_batch([column], ["m"])) == [{"m": {name: 5}}]


def test_the_last_of_equal_keys_counts() -> None:
    entries = [("b", 1), ("a", 2), ("b", 3), ("a", None), ("c", None)]
    column = pa.array([entries], pa.map_(pa.string(), pa.int8()))
    batch = pa.record_batch([column], ["m"])
    assert rows_of(batch, keep_nulls=True) == [{"m": {"a": None, "b": 3, "c": None}}]
    assert rows_of(batch, keep_nulls=False) == [{"m": {"a": None, "b": 3, "c": None}}]


def test_runs_and_dictionaries_with_nulls() -> None:
    runs = pa.RunEndEncodedArray.from_arrays([2, 3, 5], ["x", None, "y"])
    dictionary = pa.DictionaryArray.from_arrays([0, 1, None, 1, 0], pa.array([None, 7]))
    batch = pa.record_batch([runs, dictionary], ["r", "d"]).slice(1)
    expected = [{"r": "x", "d": 7}, {}, {"r": "y", "d": 7}, {"r": "y"}]
    assert rows_of(batch, keep_nulls=False) == expected
