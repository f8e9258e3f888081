"""Inputs as programs give them."""

from __future__ import annotations

import datetime as dt
import gzip
import io
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import sdb
from sdb.errors import InputError, NotFoundError, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable

SAMPLE = Path(__file__).parents[2] / "testdata/gh2015_1k.json.gz"
ROWS: list[dict[str, object]] = [
    {"a": 1, "t": dt.datetime(2024, 5, 1, tzinfo=dt.UTC), "n": {"b": [None, "x"]}},
    {"a": -(2**63), "f": 0.5},
]

FORMS: dict[str, Callable[[], Any]] = {
    "str": lambda: str(SAMPLE),
    "path": lambda: SAMPLE,
    "tuple": lambda: (SAMPLE,),
    "generator": lambda: (path for path in [str(SAMPLE)]),
    "file": lambda: SAMPLE.open("rb"),
    "several files": lambda: [io.BytesIO(gzip.decompress(SAMPLE.read_bytes()))],
}


@pytest.mark.parametrize("form", FORMS)
def test_one_or_many(tmp_path: Path, form: str) -> None:
    target = tmp_path / "x.zion"
    given_value = FORMS[form]()
    assert sdb.pack(given_value, target).rows == 1000
    if hasattr(given_value, "read"):
        assert not given_value.closed
        given_value.close()
    given_value = FORMS[form]()
    assert sdb.append(target, given_value).rows_total == 2000
    if hasattr(given_value, "read"):
        given_value.close()


def test_rows(tmp_path: Path) -> None:
    target = tmp_path / "x.zion"
    assert sdb.pack(ROWS, target).rows == 2
    assert sdb.append(target, (row for row in ROWS)).rows_total == 4
    with sdb.open(target) as packfile:
        assert list(packfile) == ROWS * 2


def test_one_packfile_as_text(tmp_path: Path) -> None:
    target = str(tmp_path / "x.zion")
    sdb.pack(ROWS, target)
    assert sdb.describe(target).rows == 2
    out = io.BytesIO()
    sdb.unpack(target, out, fields=["a"])
    assert out.getvalue() == b'{"a": 1}\n{"a": -9223372036854775808}\n'
    assert sdb.concat(target, tmp_path / "y.zion").rows_total == 2


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (7, "an input cannot be a int"),
        (b"a.json", "an input cannot be a bytes"),
        ({"a": 1}, "an input cannot be a dict"),
        ([SAMPLE, {"a": 1}], "an input cannot be a dict"),
        (io.StringIO("{}"), "the open file is open as text"),
        ([], "no inputs"),
    ],
)
def test_what_cannot_be_one(tmp_path: Path, value: Any, expected: str) -> None:
    with pytest.raises(UsageError, match=expected):
        sdb.pack(value, tmp_path / "x.zion")
    assert not (tmp_path / "x.zion").exists()


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        ([1], "row 1 is a list, and not a dict"),
        ({"a": 1j}, "row 1: field a: values of the type complex"),
        ({"a": 1 << 64}, "row 1: .*integer"),
    ],
)
def test_rows_that_cannot_be_packed(tmp_path: Path, row: Any, expected: str) -> None:
    with pytest.raises(InputError, match=expected):
        sdb.pack([{"a": 1}, row], tmp_path / "x.zion")
    assert not (tmp_path / "x.zion").exists()


def test_an_open_file_is_not_replaced(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text("{}")
    with path.open("rb") as file, pytest.raises(UsageError, match="input"):
        sdb.pack(file, path, overwrite=True)
    assert path.read_text() == "{}"


def test_a_file_is_read_from_where_it_is(tmp_path: Path) -> None:
    file = io.BytesIO(b'header\n{"a": 1}\n')
    file.readline()
    assert sdb.pack(file, tmp_path / "x.zion").rows == 1


def test_what_results_look_like(tmp_path: Path) -> None:
    target, both = tmp_path / "x.zion", tmp_path / "y.zion"
    packed = sdb.pack(SAMPLE, target)
    seconds = r"\d+\.\d\d s>"
    shown = rf"<PackResult {target}: 1,000 rows, [\d.]+ KiB, \d\.\d\dx smaller, {seconds}"
    assert re.fullmatch(shown, repr(packed))
    shown = rf"<AppendResult {target}: 1,000 rows of 2,000 now, [\d.]+ KiB, {seconds}"
    assert re.fullmatch(shown, repr(sdb.append(target, SAMPLE)))
    joined = sdb.concat([target, target], both)
    shown = rf"<ConcatResult {both}: 2 packfiles, 4,000 rows, [\d.]+ MiB, {seconds}"
    assert re.fullmatch(shown, repr(joined))
    assert repr(joined.trailer) == "<Trailer: 4,000 rows in 2 blocks, zion+zstd>"
    with sdb.open(both) as packfile:
        shown = rf"<Packfile {both}: 4,000 rows in 2 blocks, [\d.]+ MiB>"
        assert re.fullmatch(shown, repr(packfile))
    shown = r"<Description: 6,000 rows in 2 packfiles, [\d.]+ MiB>"
    assert re.fullmatch(shown, repr(sdb.describe([target, both])))


def test_frames(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = tmp_path / "x.zion"
    sdb.pack(SAMPLE, target)
    with sdb.open(target) as packfile:
        assert packfile.head(3) == list(packfile.rows(limit=3))
        assert len(packfile.head()) == len(packfile.tail()) == 10
        assert packfile.tail(3) == list(packfile)[-3:]
        frame = packfile.to_polars(fields=["id", "type"], limit=7)
        assert (frame.columns, frame.height) == (["id", "type"], 7)
        for name in ("pandas", "polars"):
            monkeypatch.setitem(sys.modules, name, None)
            with pytest.raises(NotFoundError, match=f"{name} is not installed"):
                getattr(packfile, f"to_{name}")(limit=1)
    with sdb.sql(f"SELECT id FROM '{target}'") as result:
        with pytest.raises(NotFoundError, match="pandas is not installed"):
            result.to_pandas()
        assert "the first 100 of 1,000 rows" in result._repr_html_()
