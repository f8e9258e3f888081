from __future__ import annotations

import datetime as dt
import gzip
import io
import os
import sys
import threading
import time
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
import zstandard
from pyarrow import parquet

import sdb
from sdb import errors, ion
from sdb.packfile.inputs.inputs import Input, recognise
from tests.attack.craft import FIRST, array, members, symbol, table

if TYPE_CHECKING:
    from pathlib import Path

RECORD = b'{"a": 1}\n'
TRAIL = b'{"Records":[{"a":1},{"a":2}]}'


def put(folder: Path, name: str, data: bytes) -> Path:
    path = folder / name
    path.write_bytes(data)
    return path


def rows(path: Path, **options: Any) -> list[dict[str, Any]]:
    output = path.parent / "packed.zion"
    sdb.pack([path], output, overwrite=True, **options)
    with sdb.open(output) as pack:
        return list(pack.rows())


@pytest.mark.parametrize(
    ("name", "data", "expected"),
    [
        ("x.json", RECORD, ("json", "none")),
        ("x", b"\n [" + RECORD + b"]", ("json", "none")),
        ("x.json.gz", RECORD, ("json", "none")),
        ("x.json", gzip.compress(RECORD, mtime=0), ("json", "gzip")),
        ("x.JSON.ZST", zstandard.compress(RECORD), ("json", "zstd")),
        ("x.gz", gzip.compress(b"", mtime=0), ("json", "gzip")),
        ("x.json.gz", b"", ("json", "gzip")),
        ("x.json.zst", b"", ("json", "zstd")),
        ("x.json.gz", b"garbage", ("json", "gzip")),
        ("x.ion.zst", ion.dumps({"a": 1}), ("ion", "none")),
        ("x.ndjson", b"nonsense", ("json", "none")),
        ("x", b"", ("json", "none")),
        ("x.csv", b"{a},b\n", ("csv", "none")),
        ("x.tsv.gz", gzip.compress(b"a\tb\n", mtime=0), ("tsv", "gzip")),
        ("x.cloudtrail.json.gz", gzip.compress(RECORD, mtime=0), ("cloudtrail", "gzip")),
        ("x.json", b' {\n"Records": [{}]}', ("json:records=Records", "none")),
        ("x.json", b'{"Records": 5}', ("json", "none")),
        ("x.gz", gzip.compress(ion.dumps({"a": 1}), mtime=0), ("ion", "gzip")),
        ("x.json", ion.dumps({"a": 1}), ("ion", "none")),
    ],
)
def test_content_before_name(
    tmp_path: Path, name: str, data: bytes, expected: tuple[str, str]
) -> None:
    recognised = recognise(put(tmp_path, name, data))
    assert (recognised.format, recognised.compression) == expected
    assert b"".join(recognised.pieces()) == data
    assert recognised.size_bytes == len(data)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("json", "json"),
        (".json", "json"),
        (".JSON.gz", "json"),
        ("csv", "csv"),
        (".cloudtrail.json.gz", "cloudtrail"),
        ("cloudtrail", "cloudtrail"),
        ("10n", "ion"),
    ],
)
def test_forced_format(tmp_path: Path, text: str, expected: str) -> None:
    assert recognise(put(tmp_path, "x.txt", b"a,b\n"), text).format == expected


def test_unknown_formats(tmp_path: Path) -> None:
    with pytest.raises(errors.UsageError, match="unknown format 'xml'"):
        recognise(put(tmp_path, "x.json", b""), "xml")
    with pytest.raises(errors.InputError, match="unknown format") as caught:
        recognise(put(tmp_path, "x.txt", b"a,b\n"))
    assert caught.value.hint is not None
    with pytest.raises(errors.NotFoundError):
        recognise(tmp_path / "absent.json")
    with pytest.raises(errors.UsageError):
        recognise(tmp_path)


def test_hints_need_a_format_that_takes_them(tmp_path: Path) -> None:
    assert recognise(put(tmp_path, "x.json", RECORD), hints=b"{}").hints == b"{}"
    assert recognise(put(tmp_path, "x.json", TRAIL), hints=b"{}").hints == b"{}"
    for name, data in (("x.cloudtrail.json", TRAIL), ("x.json", ion.dumps({}))):
        with pytest.raises(errors.UsageError, match="hints"):
            recognise(put(tmp_path, name, data), hints=b"{}")


def test_an_input_stays_what_it_is() -> None:
    argument = Input("memory", "json", source=lambda: (piece for piece in (RECORD, RECORD)))
    assert recognise(argument) is argument
    assert list(argument.pieces()) == [RECORD, RECORD]


def test_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    text = gzip.compress(RECORD * 100_000, compresslevel=0)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text)))
    recognised = recognise("-")
    assert (recognised.name, recognised.format, recognised.compression) == (
        "standard input",
        "json",
        "gzip",
    )
    assert recognised.size_bytes is None
    assert b"".join(recognised.pieces()) == text
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"PAR1")))
    with pytest.raises(errors.UsageError, match="not a pipe"):
        recognise("-")


def test_named_pipe(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    writer = threading.Thread(target=path.write_bytes, args=(RECORD * 50_000,))
    writer.start()
    recognised = recognise(path)
    assert b"".join(recognised.pieces()) == RECORD * 50_000
    writer.join()


def test_cloudtrail(tmp_path: Path) -> None:
    assert rows(put(tmp_path, "x.json", TRAIL)) == [{"a": 1}, {"a": 2}]
    twice = put(tmp_path, "x.json", TRAIL + b"\n" + TRAIL)
    assert len(rows(twice)) == 4
    assert len(rows(twice, format="json")) == 2
    assert len(rows(twice, format="cloudtrail")) == 2


def test_csv_without_and_with_hints(tmp_path: Path) -> None:
    path = put(tmp_path, "x.csv", b"id,id,at\n007,7,2021-01-02T03:04:05Z\n")
    at = dt.datetime(2021, 1, 2, 3, 4, 5, tzinfo=dt.UTC)
    with pytest.warns(errors.SdbWarning, match="several columns are called id"):
        assert rows(path) == [{"id": "007", "id_2": 7, "at": at}]
    hints = b'{"skip_records": 1, "fields": [{"name": "a.b", "type": "int"}]}'
    assert rows(path, hints=hints) == [{"a": {"b": 7}}]


def test_ion_and_packfile(tmp_path: Path) -> None:
    source = put(tmp_path, "x.ion", ion.dumps([{"a": 1, "n": {"t": "x"}}, {"b": b"abc"}]))
    expected = [{"a": 1, "n": {"t": "x"}}, {"b": "YWJj"}]
    assert rows(source) == expected
    packed = tmp_path / "packed.zion"
    copy = packed.rename(tmp_path / "copy.dat")
    assert recognise(copy).format == "rows"
    assert rows(copy) == expected
    empty = put(tmp_path, "empty.json", b"")
    assert rows(empty) == []
    assert rows(packed.rename(tmp_path / "empty.zion")) == []


def test_plain_zstd_packfile_is_not_a_zstd_file(tmp_path: Path) -> None:
    sdb.pack([put(tmp_path, "x.json", RECORD)], tmp_path / "x.zion", algorithm="zstd")
    packed = (tmp_path / "x.zion").rename(tmp_path / "x.ion.zst")
    assert rows(packed) == [{"a": 1}]
    whole = bytearray(packed.read_bytes())
    whole[8] ^= 0xFF
    with pytest.raises(errors.CorruptError, match=r"x\.ion\.zst"):
        rows(put(tmp_path, "x.ion.zst", bytes(whole)))


def test_packfile_keeps_the_time_index_of_nested_fields(tmp_path: Path) -> None:
    text = b"".join(b'{"n": {"t": "2021-01-01T00:00:%02dZ"}}\n' % second for second in range(60))
    rows(put(tmp_path, "x.json", text))
    first = (tmp_path / "packed.zion").rename(tmp_path / "first.zion")
    rows(first)
    with sdb.open(first) as item, sdb.open(tmp_path / "packed.zion") as two:
        assert item.time_indexes.keys() == two.time_indexes.keys() == {("n", "t")}


def test_damaged_packfile_is_refused(tmp_path: Path) -> None:
    rows(put(tmp_path, "x.json", RECORD))
    whole = (tmp_path / "packed.zion").read_bytes()
    with pytest.raises(errors.CorruptError):
        recognise(put(tmp_path, "cut.zion", whole[:-3]))


def values() -> dict[str, tuple[pa.Array, list[Any]]]:
    at = dt.datetime(2021, 1, 2, 3, 4, 5, 678901, tzinfo=dt.UTC)
    naive = at.replace(tzinfo=None)
    ns = pa.array([-1, 1_000_000_999], pa.timestamp("ns"))
    return {
        "int": (pa.array([1, None], pa.int8()), [1, None]),
        "uint": (pa.array([2**64 - 1, 0], pa.uint64()), [2**64 - 1, 0]),
        "float": (pa.array([0.5, 2.0], pa.float32()), [0.5, 2]),
        "half": (pa.array([1.5, None], pa.float16()), [1.5, None]),
        "bool": (pa.array([True, None]), [True, None]),
        "text": (pa.array(["x", "ä"], pa.large_string()), ["x", "ä"]),
        "dictionary": (pa.array(["x", "y"]).dictionary_encode(), ["x", "y"]),
        "binary": (pa.array([b"abc", b""]), ["YWJj", ""]),
        "at": (pa.array([at, None], pa.timestamp("us", "Europe/Berlin")), [at, None]),
        "naive": (pa.array([naive, None], pa.timestamp("us")), [at, None]),
        "ns": (
            ns,
            [
                dt.datetime(1969, 12, 31, 23, 59, 59, 999999, tzinfo=dt.UTC),
                dt.datetime(1970, 1, 1, 0, 0, 1, tzinfo=dt.UTC),
            ],
        ),
        "date": (
            pa.array([dt.date(2021, 1, 2), None]),
            [dt.datetime(2021, 1, 2, tzinfo=dt.UTC), None],
        ),
        "time": (pa.array([dt.time(1, 2, 3), None]), ["01:02:03", None]),
        "duration": (pa.array([1500, None], pa.duration("ms")), [1.5, None]),
        "decimal": (pa.array([Decimal("1.50"), Decimal("7.00")]), [1.5, 7]),
        "list": (pa.array([[1, 2], None]), [[1, 2], None]),
        "struct": (
            pa.array([{"t": naive, "d": Decimal(3)}, None]),
            [{"t": at, "d": 3}, None],
        ),
        "map": (pa.array([[(1, "x")], None], pa.map_(pa.int32(), pa.string())), [{"1": "x"}, None]),
    }


@pytest.mark.parametrize("name", values())
def test_parquet_types(tmp_path: Path, name: str) -> None:
    column, expected = values()[name]
    path = tmp_path / "x.data"
    parquet.write_table(pa.table({name: column}), path)
    assert recognise(path).format == "rows"
    assert rows(path) == [{name: value} for value in expected]


def test_long_parquet_files_keep_their_order(tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    table = pa.table({"i": range(20_000), "s": [f"text {i}" * 20 for i in range(20_000)]})
    parquet.write_table(table, path, row_group_size=7_000)
    assert [row["i"] for row in rows(path)] == list(range(20_000))
    pieces = list(recognise(path).pieces())
    assert max(map(len, pieces)) < 2 << 20


def test_bad_parquet_is_refused(tmp_path: Path) -> None:
    whole = tmp_path / "x.parquet"
    parquet.write_table(pa.table({"a": [1]}), whole)
    cut = put(tmp_path, "cut.parquet", whole.read_bytes()[:-8])
    with pytest.raises(errors.InputError, match="cannot read Parquet"):
        list(recognise(cut).pieces())
    damaged = put(tmp_path, "damaged.parquet", b"PAR1" + b"\xff" * 20 + whole.read_bytes()[24:])
    with pytest.raises(errors.InputError, match="cannot read Parquet"):
        list(recognise(damaged).pieces())
    twice = pa.Table.from_arrays([pa.array([1]), pa.array([2])], names=["a", "a"])
    parquet.write_table(twice, whole)
    with pytest.raises(errors.InputError, match='2 fields are called "a"'):
        list(recognise(whole).pieces())


def test_a_text_that_many_symbols_stand_for_is_looked_up_once(tmp_path: Path) -> None:
    """Each time it took as long as the text is long: 15 s for a packfile of 300 bytes."""
    long = "x" * 300_000
    many = array(*[symbol(FIRST), symbol(FIRST + 1)] * 100_000)
    source = put(tmp_path, "x.ion", table(long, long[1:], "b") + members((FIRST + 2, many)))
    start = time.process_time()
    sdb.pack([source], tmp_path / "x.zion")
    assert time.process_time() - start < 2
