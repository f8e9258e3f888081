"""Ion text, read back by Amazon's library."""

from __future__ import annotations

import gzip
import io
import json
import math
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from amazon.ion import simpleion
from amazon.ion.core import IonType
from amazon.ion.simple_types import IonPyNull
from hypothesis import given
from hypothesis import strategies as st

import sdb
from sdb.errors import UnsupportedError
from sdb.ion import Timestamp
from sdb.packfile.export import iontext
from tests.interop import plain_zion

ROOT = Path(__file__).parents[2]
SAMPLE = ROOT / "testdata/gh2015_1k.json.gz"
ODD_TEXTS = (
    *("", " ", "x", "a b", "$0", "$7", "$10", "$ion", "$ion_1_0", "null", "null.int", "true"),
    *("false", "nan", "+inf", "1a", "a::b", "é", "😀", "it's", 'say "hi"', "\\", "\\'", "\n\t\r"),
    *(
        "\x00",
        "\x1b[31m",
        "\x7f",
        "\x9b",
        "\u2028",
        "\ufeff",
        "'''",
        "//",
        "/*",
        "{{",
        "2024-05-01",
    ),
)
NAMES = st.one_of(st.sampled_from(ODD_TEXTS), st.text(max_size=5))
SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**63), 2**64 - 1),
    st.floats(),
    NAMES,
    st.datetimes(timezones=st.just(UTC)),
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(NAMES, inner, max_size=3)),
    max_leaves=10,
)
KINDS = {
    str: IonType.STRING,
    int: IonType.INT,
    float: IonType.FLOAT,
    bool: IonType.BOOL,
    datetime: IonType.TIMESTAMP,
    list: IonType.LIST,
    dict: IonType.STRUCT,
}


def same(value: Any, read: Any) -> bool:
    """Compare a value with what Amazon's library has read, its type and annotations too."""
    if value is None:
        return isinstance(read, IonPyNull)
    if read.ion_type is not KINDS[type(value)] or read.ion_annotations:
        return False
    match value:
        case dict():
            return value.keys() == read.keys() and all(same(value[n], read[n]) for n in value)
        case list():
            return len(value) == len(read) and all(map(same, value, read))
        case float() if math.isnan(value):
            return math.isnan(read)
        case float():
            return value == read and math.copysign(1, value) == math.copysign(1, read)
    return bool(value == read)


@given(st.dictionaries(NAMES, VALUES, max_size=5), st.booleans())
def test_every_value_comes_back(row: dict[str, Any], indent: bool) -> None:
    text = iontext.text(row, indent=indent)
    assert same(row, simpleion.loads(text))
    assert indent or "\n" not in text


@pytest.mark.parametrize("odd", ODD_TEXTS)
def test_odd_names_and_texts(odd: str) -> None:
    text = iontext.text({odd: odd})
    assert same({odd: odd}, simpleion.loads(text))
    assert text.isprintable() or "\ufeff" in text


def test_exact_forms() -> None:
    row = {"a": 0.1, "b": 2**64 - 1, "null": None, "t": datetime(2024, 5, 1, tzinfo=UTC), "e": []}
    assert iontext.text(row) == (
        "{a: 0.1e0, b: 18446744073709551615, 'null': null, t: 2024-05-01T00:00:00Z, e: []}"
    )
    assert iontext.text({"a": [1, {}]}, indent=True) == "{\n  a: [\n    1,\n    {}\n  ]\n}"


def test_times_that_ion_text_does_not_have_are_strings() -> None:
    year_0 = Timestamp(-62_167_219_200_000_000)
    assert iontext.text({"t": year_0}) == '{t: "0000-01-01T00:00:00Z"}'


def test_depth_is_bounded() -> None:
    row: Any = 1
    for _ in range(400):
        row = [row]
    assert iontext.text(row).count("[") == 400
    for _ in range(100_000):
        row = [row]
    with pytest.raises(UnsupportedError, match="too many levels"):
        iontext.text(row)


def read(text: bytes) -> list[Any]:
    return list(simpleion.loads(text, single_value=False))


@pytest.mark.parametrize("algorithm", ["zstd", "zion+zstd"])
def test_packfile_as_text_and_as_ion(tmp_path: Path, algorithm: str) -> None:
    """Rows with symbols, of several chunks; those of Ion may have symbols as values."""
    source = tmp_path / "x.json"
    lines = gzip.decompress(SAMPLE.read_bytes())
    row = {"": "", "l": [None, 2**64 - 1, -(2**63), 1e300], "at": "2024-05-01T00:00:00.000001Z"}
    source.write_bytes(lines + json.dumps(row).encode() + b"\n")
    sdb.pack([source], tmp_path / "x.zion", algorithm=algorithm, block_bytes=1 << 20)
    with io.BytesIO() as file:
        sdb.unpack([tmp_path / "x.zion"], file, fmt="ion-text")
        content = read(file.getvalue())
    with sdb.open(tmp_path / "x.zion") as pack:
        rows = list(pack.rows())
    assert len(content) == len(rows) == 1001
    assert all(map(same, rows, content))
    _, stored = plain_zion.read((tmp_path / "x.zion").read_bytes())
    assert [plain(row) for row in content] == [plain(row) for row in stored]


def plain(value: Any) -> Any:
    """Strings and symbols mean the same."""
    match value:
        case IonPyNull():
            return None
        case Mapping():
            return {name: plain(item) for name, item in value.items()}
        case list():
            return [plain(item) for item in value]
    return value.text if value.ion_type is IonType.SYMBOL else value


def test_rows_of_queries(tmp_path: Path) -> None:
    row = {"a": datetime(2024, 5, 1, tzinfo=UTC), "b": 2**64 - 1, "c": [None, {"d e": 0.5}], "": ""}
    (tmp_path / "x.ion").write_bytes(simpleion.dumps(row))
    sdb.pack([tmp_path / "x.ion"], tmp_path / "x.zion")
    queries = {"*": row, "a, c, MISSING AS d": {"a": row["a"], "c": row["c"]}, "COUNT(*)": None}
    for what, wanted in queries.items():
        with sdb.sql(f"SELECT {what} FROM '{tmp_path}/x.zion'") as result, io.BytesIO() as file:
            result.write(file, "ion-text")
            (actual,) = read(file.getvalue())
        assert same(wanted or {"count": 1}, actual)
