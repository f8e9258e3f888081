"""Parquet files made to exhaust memory: a clear error or right rows, within a stated bound."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sdb
from sdb.errors import InputError, SdbWarning
from sdb.records import replace
from sdb.store import parquetpages
from sdb.store.pageheaders import CutOffError, page_header
from sdb.store.parquetpages import BoundedParquet
from sdb.store.url import open_read
from tests.ingest.test_bombs import BOUND_BYTES, MIB, pack

if TYPE_CHECKING:
    from pathlib import Path


def written(path: Path, column: Any, **options: Any) -> Path:
    pq.write_table(pa.table({"a": column}), path, compression="zstd", **options)
    return path


def dictionary(text: str, rows: int) -> pa.Array:
    return pa.DictionaryArray.from_arrays(pa.array([0] * rows, pa.int32()), pa.array([text]))


def test_one_text(tmp_path: Path) -> None:
    options = {"use_dictionary": False, "write_statistics": False}
    path = written(tmp_path / "x.parquet", pa.array(["y" * (140 * MIB)]), **options)
    assert path.stat().st_size < MIB
    code, errors, peak = pack(path)
    assert code == 6
    assert "column a: a page of 146,800,650 bytes, and the limit is 134,217,728" in errors
    assert peak < BOUND_BYTES


def test_a_long_text_of_a_dictionary(tmp_path: Path) -> None:
    path = written(tmp_path / "x.parquet", dictionary("x" * (10 * MIB), 10_000))
    code, errors, peak = pack(path)
    assert (code, "a row of 10485" in errors) == (6, True), errors
    assert peak < BOUND_BYTES


def test_texts_that_begin_like_the_one_before(tmp_path: Path) -> None:
    encoding = {"a": "DELTA_BYTE_ARRAY"}
    column = pa.array(["x" * (2 << 20)] * 100)
    path = written(tmp_path / "x.parquet", column, use_dictionary=False, column_encoding=encoding)
    assert path.stat().st_size < MIB
    code, errors, peak = pack(path)
    assert (code, "a row of 2097163 bytes" in errors) == (6, True), errors
    assert peak < BOUND_BYTES


def test_large_pages_make_small_batches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parquetpages, "_BATCH_BYTES", 1 << 16)
    texts = [f"{number:05}" * 200 for number in range(3000)]
    pages = {"data_page_size": 1 << 14, "write_batch_size": 10, "row_group_size": 2000}
    path = written(tmp_path / "x.parquet", texts, use_dictionary=False, **pages)
    with BoundedParquet(open_read(str(path))) as file:
        batches = list(file.batches())
    assert pa.Table.from_batches(batches).column("a").to_pylist() == texts
    assert 1 < max(batch.num_rows for batch in batches) < 200


def test_rows_that_compress_well_are_read(tmp_path: Path) -> None:
    """Their pages are small when pyarrow reads many of them ahead."""
    lists = [[number % 5] * 20 for number in range(300_000)]
    for name, column in [("flat", ["x" * 2000] * 100_000), ("lists", lists)]:
        path = written(tmp_path / f"{name}.parquet", column, use_dictionary=False)
        with BoundedParquet(open_read(str(path))) as file:
            read = [batch.num_rows for batch in file.batches()]
        assert (sum(read), max(read)) == (len(column), 4096)


def test_columns_in_the_same_place_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    pq.write_table(pa.table({"a": [1, 2], "b": [3, 4]}), path)
    [first, second] = parquetpages._chunks(pq.read_metadata(path))
    second = replace(second, start=first.stop - 1)
    with pytest.raises(InputError, match="columns a and b in the same place"):
        parquetpages._WatchedFile(open_read(str(path))).watch([first, second])


def test_headers_of_pages(tmp_path: Path) -> None:
    path = written(tmp_path / "x.parquet", pa.array(["x", "y"] * 50))
    data = path.read_bytes()
    column = pq.read_metadata(path).row_group(0).column(0)
    first = page_header(data, column.dictionary_page_offset)
    assert (first.kind, first.values, first.page_bytes) == (2, 2, 10)
    assert column.dictionary_page_offset + first.length + first.stored_bytes == (
        column.data_page_offset
    )
    assert page_header(data, column.data_page_offset).values == 100
    for length in range(first.length):
        with pytest.raises(CutOffError):
            page_header(data[4 : 4 + length], 0)
    with pytest.raises(ValueError, match="without sizes"):
        page_header(b"\x00", 0)


def test_dictionaries_and_nested_texts_come_back(tmp_path: Path) -> None:
    rows = [{"a": "x" * (n % 3), "l": ["u", None, "v"][: n % 4], "s": {"t": f"{n}"}} for n in range(50)]  # fmt: skip  # noqa: E501
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "x.parquet", row_group_size=7)
    sdb.pack(tmp_path / "x.parquet", tmp_path / "x.zion")
    with sdb.sql(f"SELECT * FROM '{tmp_path}/x.zion'") as result:
        assert [dict(row) for row in result] == rows


def test_what_no_number_or_timestamp_holds_is_text_and_told(tmp_path: Path) -> None:
    times = pa.array([0, 2**62], pa.timestamp("us", "UTC"))
    digits = pa.array(["1.5", "12345678901234567.89"]).cast(pa.decimal128(38, 4))
    pq.write_table(pa.table({"t": times, "d": digits}), tmp_path / "x.parquet")
    with pytest.warns(SdbWarning) as heard:
        sdb.pack(tmp_path / "x.parquet", tmp_path / "x.zion")
    assert sorted(str(warning.message) for warning in heard) == [
        "column d: decimals with more digits than a number holds are kept as text",
        "column t: times outside the years 0 to 16383 are kept as text",
    ]
    with sdb.sql(f"SELECT d, t FROM '{tmp_path}/x.zion' WHERE d IS NOT NULL") as result:
        first, second = map(dict, result)
    assert first["d"] == 1.5
    assert second == {"d": "12345678901234567.89", "t": "+148108-07-06T14:00:27.387904Z"}
    exact = "SUM(d::DECIMAL(20, 2)) - 12345678901234567::DECIMAL(20, 2)"
    with sdb.sql(f"SELECT {exact} AS rest FROM '{tmp_path}/x.zion'") as result:
        assert list(result) == [{"rest": 2.39}]
