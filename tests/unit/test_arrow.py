from __future__ import annotations

import io
import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import polars as pl
import pyarrow as pa
import pytest
from pyarrow import ipc, parquet

import sdb
from sdb.errors import CorruptError, UsageError
from sdb.packfile.export import arrowfiles
from sdb.packfile.read import arrow
from tests.conftest import golden
from tests.unit.test_reader import make, rows

if TYPE_CHECKING:
    from pathlib import Path

ENCODED = {b"sdb.encoding": b"json"}
MIXED: list[dict[str, Any]] = [
    {"id": 1, "any": 1, "big": 2**63, "wide": -1, "n": {"a": {"b": [{"c": 1}, None, {}]}}},
    {"id": None, "any": "é\n", "big": 1, "wide": 2**64 - 1, "empty": {}, "n": {"a": None}},
    {"id": 3, "any": {"k": [None, 2.5]}, "f": 1, "list": [1, "x", None], "n": None},
    {"any": None, "f": 0.25, "none": None, "list": [], "nothing": [], "t": "2021-01-01T00:00:00Z"},
    {"b": True, "text": "plain", "name": "x", "n": {"a": {"b": [{"d": "e"}]}}},
]
COLUMNS = {
    "any": ["1", '"é\\n"', '{"k": [null, 2.5]}', None, None],
    "big": [2**63, 1, None, None, None],
    "empty": [None, "{}", None, None, None],
    "f": [None, None, 1.0, 0.25, None],
    "list": [None, None, ["1", '"x"', None], [], None],
    "none": [None] * 5,
    "nothing": [None, None, None, [], None],
    "t": [None, None, None, datetime(2021, 1, 1, tzinfo=UTC), None],
    "b": [None, None, None, None, True],
    "n": [
        {"a": {"b": [{"c": 1, "d": None}, None, {"c": None, "d": None}]}},
        {"a": None},
        None,
        None,
        {"a": {"b": [{"c": None, "d": "e"}]}},
    ],
}


@pytest.fixture
def mixed(tmp_path: Path) -> Path:
    return make(tmp_path / "mixed.zion", MIXED)


@pytest.fixture
def pack(tmp_path: Path) -> Path:
    return make(tmp_path / "a.zion", rows(1000))


def plain(value: Any) -> Any:
    """Drop nulls of fields, and give times their JSON form."""
    if isinstance(value, dict):
        return {name: plain(field) for name, field in value.items() if field is not None}
    if isinstance(value, list):
        return [plain(item) for item in value]
    if isinstance(value, datetime):
        text = value.replace(tzinfo=None).isoformat()
        return (text.rstrip("0") if value.microsecond else text) + "Z"
    return value


def decode(value: Any, field: pa.Field) -> Any:
    """Read the JSON texts that stand in place of values."""
    if value is None:
        return None
    if field.metadata == ENCODED:
        return json.loads(value)
    if pa.types.is_struct(field.type):
        return {inner.name: decode(value[inner.name], inner) for inner in field.type}
    if pa.types.is_list(field.type):
        return [decode(item, field.type.value_field) for item in value]
    return value


def decoded(table: pa.Table) -> list[Any]:
    return [
        plain({field.name: decode(row[field.name], field) for field in table.schema})
        for row in table.to_pylist()
    ]


def same(expected: Any, actual: Any) -> bool:
    """Compare values; an integer may have become the nearest float."""
    if isinstance(expected, dict):
        return expected.keys() == actual.keys() and all(
            same(value, actual[name]) for name, value in expected.items()
        )
    if isinstance(expected, list):
        return len(expected) == len(actual) and all(map(same, expected, actual))
    if isinstance(actual, float) and isinstance(expected, int):
        return float(expected) == actual
    return type(expected) is type(actual) and bool(expected == actual)


@pytest.mark.parametrize("folder", golden(), ids=lambda folder: folder.name)
def test_tables_hold_the_rows(folder: Path) -> None:
    if folder.name == "d06-basic-s2":
        pytest.skip("s2 cannot be read")
    (path,) = folder.glob("pack.*")
    lines = unpacked(path, limit=20_000).getvalue().splitlines()
    with sdb.open(path) as opened:
        table = opened.to_arrow(limit=20_000)
    table.validate(full=True)
    assert same([plain(json.loads(line)) for line in lines], decoded(table))


def test_columns_of_mixed_values(mixed: Path) -> None:
    with sdb.open(mixed) as opened:
        table = opened.to_arrow()
    table.validate(full=True)
    schema = table.schema
    assert {name: table[name].to_pylist() for name in COLUMNS} == COLUMNS
    assert schema.field("any").metadata == schema.field("empty").metadata == ENCODED
    assert schema.field("list").type.value_field.metadata == ENCODED
    assert schema.field("big").type == pa.uint64()
    assert schema.field("wide").type == pa.decimal128(20, 0)
    assert schema.field("nothing").type == pa.list_(pa.null())
    assert schema.field("t").type == pa.timestamp("us", "UTC")
    assert [int(value) for value in table["wide"].to_pylist()[:2]] == [-1, 2**64 - 1]


def test_fields_come_in_the_order_of_the_choice(mixed: Path) -> None:
    with sdb.open(mixed) as opened:
        table = opened.to_arrow(fields=["n", "absent", "name", "n"])
        assert opened.to_arrow(fields=[]).shape == (5, 0)
    assert table.column_names == ["n", "absent", "name"]
    assert table["absent"].type == pa.null()
    assert table["name"].to_pylist() == [None] * 4 + ["x"]


def test_the_summary_saves_the_first_look(tmp_path: Path) -> None:
    lines = [{"s": "x", "t": "2021-01-01T00:00:00Z", "m": 1}, {"s": None, "m": "y", "n": 1}]
    path = make(tmp_path / "a", lines)
    with sdb.open(path) as opened:
        assert opened.trailer.sparse.summary is not None
        counted: list[int] = []
        scan = arrow.Scan(
            [(opened, opened.select())], fields=["s", "t", "m", "absent"], meter=counted.append
        )
        assert sum(counted) == opened.trailer.offset // 2
        table = pa.Table.from_batches(scan.batches(), scan.schema)
        assert sum(counted) == opened.trailer.offset
        assert table.column_names == ["s", "t", "m", "absent"]
        assert [str(field.type) for field in table.schema] == [
            "string",
            "timestamp[us, tz=UTC]",
            "string",
            "null",
        ]
        assert table["m"].to_pylist() == ["1", '"y"']
        assert opened.to_arrow(fields=["n", "s"]).to_pylist()[1] == {"n": 1, "s": None}


def test_a_wrong_summary_is_noticed(tmp_path: Path) -> None:
    with (
        sdb.open(make(tmp_path / "a", rows(3), hide=True)) as opened,
        pytest.raises(CorruptError, match="does not fit the type of its column"),
    ):
        opened.to_arrow(fields=["ts"])


@pytest.mark.parametrize("algorithm", ["zion+zstd", "zstd"])
def test_choices_of_rows(tmp_path: Path, algorithm: str) -> None:
    path = make(tmp_path / "a", rows(1000), algorithm=algorithm)
    options: dict[str, Any]
    for options in (
        {"since": "2021-01-01T01:00:00Z", "until": "2021-01-01T02:00:30Z"},
        {"since": "2021-01-01T01:00:00Z", "fields": ["n"], "limit": 7},
        {"blocks": "1-2", "limit": 30},
        {"limit": 0},
        {"since": "2031-01-01"},
    ):
        with sdb.open(path) as opened:
            expected = [plain(row) for row in opened.rows(**options)]
            assert decoded(opened.to_arrow(**options)) == expected


def test_threads_change_nothing(pack: Path) -> None:
    with sdb.open(pack) as opened:
        jobs = [(opened, opened.select())]
        tables = []
        for threads in (1, 2, 5):
            scan = arrow.Scan(jobs, threads=threads)
            tables.append(pa.Table.from_batches(scan.batches(), scan.schema))
    assert tables[0].equals(tables[1], check_metadata=True)
    assert tables[0].equals(tables[2], check_metadata=True)
    assert tables[0]["n"].to_pylist() == list(range(1000))


def test_consumers_of_the_capsule(mixed: Path) -> None:
    with sdb.open(mixed) as opened:
        frame = pl.DataFrame(opened)
        assert pa.table(opened) == opened.to_arrow()
    assert frame["any"].to_list() == COLUMNS["any"]
    assert frame["n"].to_list() == COLUMNS["n"]


def test_duckdb_queries_a_packfile(pack: Path, mixed: Path) -> None:
    duckdb = pytest.importorskip("duckdb")
    with sdb.open(pack) as opened, duckdb.connect() as connection:
        connection.register("rows", opened)
        rows = connection.sql("select count(*), sum(n), max(nested.text) from rows")
        assert rows.fetchall() == [(1000, 499500, "é999")]
    with sdb.open(mixed) as opened, duckdb.connect() as connection:
        connection.register("rows", opened)
        assert connection.sql("select n.a.b[1].c, big from rows limit 1").fetchall() == [(1, 2**63)]


def test_a_stream_is_taken_once_and_lazily(pack: Path) -> None:
    with sdb.open(pack) as opened:
        stream = arrow.stream(opened, opened.select())
        assert pa.schema(stream).names == ["ts", "n", "nested"]
        reader = pa.RecordBatchReader.from_stream(stream)
        assert next(iter(reader)).num_rows > 0
        with pytest.raises(UsageError, match="already taken"):
            stream.__arrow_c_stream__()
        assert list(stream) == []


def unpacked(*paths: Path, **options: Any) -> io.BytesIO:
    output = io.BytesIO()
    sdb.unpack(paths, output, **options)
    output.seek(0)
    return output


def test_parquet(mixed: Path, pack: Path) -> None:
    with sdb.open(mixed) as first, sdb.open(pack) as second:
        expected = [plain(row) for source in (first, second) for row in source.rows()]
    output = unpacked(mixed, pack, fmt="parquet")
    assert decoded(parquet.read_table(output)) == expected
    metadata = parquet.ParquetFile(output).metadata
    assert metadata.num_rows == 1005
    assert metadata.num_row_groups == 1
    assert metadata.row_group(0).column(0).compression == "ZSTD"
    output.seek(0)
    assert pl.read_parquet(output)["any"].to_list()[:5] == COLUMNS["any"]


def test_row_groups_are_bounded(pack: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arrowfiles, "_ROW_GROUP_ROWS", 100)
    metadata = parquet.ParquetFile(unpacked(pack, fmt="parquet")).metadata
    assert metadata.num_rows == 1000
    assert metadata.num_row_groups > 1


def test_arrow_stream_of_several_files(mixed: Path, pack: Path) -> None:
    for limit in (None, 3, 5, 8):
        table = ipc.open_stream(unpacked(pack, mixed, pack, fmt="arrow", limit=limit)).read_all()
        assert table.num_rows == (2005 if limit is None else limit)
    with sdb.open(pack) as opened:
        assert decoded(table) == [plain(row) for row in opened.rows(limit=8)]


def test_files_without_rows(tmp_path: Path) -> None:
    path = make(tmp_path / "empty", [])
    assert ipc.open_stream(unpacked(path, fmt="arrow")).read_all().shape == (0, 0)
    with pytest.raises(UsageError, match="at least one column"):
        unpacked(path, fmt="parquet")
    assert parquet.read_table(unpacked(path, fmt="parquet", fields=["a"])).column_names == ["a"]


def test_progress_counts_every_byte_once(pack: Path) -> None:
    seen: list[tuple[int, int | None]] = []
    unpacked(pack, fmt="arrow", progress=lambda done, total: seen.append((done, total)))
    assert seen[-1][0] == seen[-1][1]
    assert all(done <= (total or 0) for done, total in seen)


def test_damage_names_the_block(pack: Path) -> None:
    with sdb.open(pack) as opened:
        block = opened.blocks[2]
    data = bytearray(pack.read_bytes())
    data[block.offset + 20] ^= 0xFF
    pack.write_bytes(data)
    with sdb.open(pack) as opened:
        with pytest.raises(CorruptError, match=r"a\.zion: block 2 at byte") as caught:
            opened.to_arrow()
        assert caught.value.path == str(pack)
        arrow = opened.to_arrow(blocks="0-1,3-")
        assert 0 < arrow.num_rows < 1000


def test_damage_found_by_a_consumer(pack: Path) -> None:
    with sdb.open(pack) as opened:
        stream = arrow.stream(opened, opened.select())
        data = bytearray(pack.read_bytes())
        data[opened.blocks[2].offset + 20] ^= 0xFF
        pack.write_bytes(data)
        with pytest.raises(OSError, match=r"block 2 at byte"):
            pa.RecordBatchReader.from_stream(stream).read_all()


def test_deep_values_pass_through_every_consumer(tmp_path: Path) -> None:
    deep: Any = {"x": 1}
    for _ in range(25):
        deep = {"s": [deep]}
    path = make(tmp_path / "deep", [{"deep": deep}])
    with sdb.open(path) as opened:
        assert decoded(opened.to_arrow()) == [{"deep": deep}]
        assert pl.DataFrame(opened).height == 1
    assert decoded(parquet.read_table(unpacked(path, fmt="parquet"))) == [{"deep": deep}]
