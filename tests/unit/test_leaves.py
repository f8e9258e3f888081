from __future__ import annotations

import contextlib
import pickle
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sdb import errors, instants, ion, sizes
from sdb.ion import IonSymbol, Timestamp


def test_exit_codes_are_fixed() -> None:
    codes = {
        kind.__name__: kind.exit_code
        for kind in vars(errors).values()
        if isinstance(kind, type) and issubclass(kind, errors.SdbError)
    }
    assert codes == {
        "SdbError": 1,
        "UsageError": 2,
        "QueryError": 2,
        "NotFoundError": 3,
        "ExistsError": 4,
        "ConflictError": 5,
        "CorruptError": 6,
        "InputError": 6,
        "AccessError": 7,
        "UnsupportedError": 8,
        "UncertainError": 9,
        "ExhaustedError": 1,
    }


def test_errors_carry_where_they_happened() -> None:
    error = errors.CorruptError("bad", offset=5).within("block 3", path="a.zion", hint="look")
    assert isinstance(error, errors.CorruptError)
    assert (str(error), error.offset, error.path, error.hint) == (
        "block 3: bad",
        5,
        "a.zion",
        "look",
    )
    again = pickle.loads(pickle.dumps(error))  # noqa: S301
    assert (str(again), again.offset, again.path) == ("block 3: bad", 5, "a.zion")


@pytest.mark.parametrize(
    ("text", "size"), [("0", 0), ("7B", 7), ("1KiB", 1024), ("1kb", 1000), (" 2.5 M ", 2621440)]
)
def test_sizes_are_read(text: str, size: int) -> None:
    assert sizes.parse(text) == size


@pytest.mark.parametrize("text", ["", "MiB", "-1", "1X", "1 2", "1e3", "1KiBs"])
def test_what_is_no_size(text: str) -> None:
    with pytest.raises(errors.UsageError):
        sizes.parse(text)


@given(st.datetimes(timezones=st.just(UTC)))
def test_instants_agree_with_datetime(moment: datetime) -> None:
    us = instants.to_us(moment)
    assert instants.from_us(us) == moment
    text = instants.text(us)
    assert instants.parse(text) == us
    assert text.startswith(moment.strftime("%Y").zfill(4) + moment.strftime("-%m-%dT%H:%M:%S"))


def test_instants_outside_of_datetime() -> None:
    assert instants.text(instants.LAST_US + 1) == "10000-01-01T00:00:00Z"
    assert instants.text(instants.FIRST_US - 1) == "0000-12-31T23:59:59.999999Z"
    assert instants.finding_text(0) == "1970-01-01 00:00:00 +0000 UTC"


@pytest.mark.parametrize("text", ["", "tomorrow", "2021-13-01", "@", "@1.5.5", "12:00"])
def test_what_is_no_instant(text: str) -> None:
    with pytest.raises(errors.UsageError):
        instants.parse(text)


def test_naive_datetimes_are_refused() -> None:
    with pytest.raises(errors.UsageError):
        instants.parse(datetime(2021, 1, 1))  # noqa: DTZ001


scalars = (
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats(allow_nan=False).filter(lambda number: not number.is_integer())
    | st.text()
    | st.binary(max_size=20)
    | st.builds(IonSymbol, st.text())
    | st.datetimes(timezones=st.just(UTC))
    | st.builds(Timestamp, st.integers(instants.LAST_US + 1, instants.LAST_US * 3 // 2))
)
trees = st.recursive(
    scalars, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=20
)


@given(trees)
def test_ion_values_round_trip(value: object) -> None:
    data = ion.dumps(value)
    assert ion.loads(data) == value
    assert ion.dumps(ion.loads(ion.dumps(ion.loads(data)))) == ion.dumps(ion.loads(data))


@given(st.binary(max_size=60), trees, st.data())
def test_damaged_ion_is_refused_or_read(noise: bytes, value: object, data: st.DataObject) -> None:
    good = ion.dumps(value)
    at = data.draw(st.integers(0, len(good)))
    for bad in (noise, good[:at], good[:at] + noise + good[at:]):
        with contextlib.suppress(errors.CorruptError):
            read = ion.loads(bad)
            assert repr(ion.loads(ion.dumps(read))) == repr(read)


def test_symbols_keep_being_symbols() -> None:
    value = ion.loads(ion.dumps([IonSymbol("a"), "a"]))
    assert isinstance(value, list)
    assert [type(item) for item in value] == [IonSymbol, str]


@pytest.mark.parametrize(
    "value", [object(), {1: 2}, {"a": {1, 2}}, 1 << 64, -(1 << 63) - 1, "\ud800"]
)
def test_values_without_an_ion_form(value: object) -> None:
    with pytest.raises((TypeError, ValueError)):
        ion.dumps(value)


def test_deep_nesting_is_refused_both_ways() -> None:
    value: object = None
    for _ in range(101):
        value = [value]
    with pytest.raises(ValueError, match="nested deeper"):
        ion.dumps(value)
    body = b"\x0f"
    for _ in range(13):
        body = bytes([0xB0 + len(body)]) + body if len(body) < 14 else body
    for _ in range(100):
        length = len(body)
        body = b"\xbe" + bytes([length >> 7, length & 127 | 128]) + body
    with pytest.raises(errors.CorruptError, match="nested deeper"):
        ion.loads(ion.dumps(None)[:-1] + body)
