from __future__ import annotations

import json
from typing import TYPE_CHECKING

import duckdb
import pytest

import sdb
from sdb import errors
from sdb.query.analyze import types
from sdb.query.catalog.catalog import Catalog
from sdb.query.catalog.dataset import QueryRequest, TableName
from sdb.query.catalog.locations import candidates
from sdb.query.result.reading import ranges
from sdb.query.syntax import ast
from sdb.query.syntax.parser import parse

if TYPE_CHECKING:
    from pathlib import Path


def pack(path: Path, rows: list[object], **options: object) -> None:
    source = path.with_suffix(".json")
    source.write_text("".join(json.dumps(row) + "\n" for row in rows))
    path.parent.mkdir(exist_ok=True)
    sdb.pack([source], path, **options)  # type: ignore[arg-type]


def file(*parts: str) -> TableName:
    return TableName("file", parts, (0, 0))


def before(us: int) -> ast.Expr:
    return ast.Binary("<", ast.Name("ts"), ast.Literal(ast.Instant(us)))


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    for day in (1, 2, 3):
        rows = [{"ts": f"2021-01-0{day}T00:00:0{at}Z", "day": day} for at in range(5)]
        pack(tmp_path / f"day{day}.zion", rows)
    return tmp_path


def test_files_without_rows_of_interest_are_not_read(logs: Path) -> None:
    catalog = Catalog(QueryRequest(root=str(logs)))
    table = catalog((file("day*.zion"),), before(1_609_545_600_000_000))
    assert [part.pack.path for part in table.read] == [str(logs / "day1.zion")]
    assert [len(part.blocks) for part in table.parts] == [1, 0, 0]
    assert (table.row_count(), len(table.sources)) == (5, 1)
    assert not table.is_remote
    catalog.close()


def test_files_are_left_out_for_their_types_and_constants(tmp_path: Path) -> None:
    pack(tmp_path / "a.zion", [{"v": 1}], constants={"region": "eu"})
    pack(tmp_path / "b.zion", [{"v": "x"}], constants={"region": "us"})
    catalog = Catalog(QueryRequest(root=str(tmp_path)))

    def read(name: str, value: ast.Constant) -> list[str]:
        test = ast.Binary("=", ast.Name(name), ast.Literal(value))
        return [part.pack.path[-6:] for part in catalog((file("*.zion"),), test).read]

    assert read("region", "us") == ["b.zion"]
    assert read("v", 1) == ["a.zion"]
    assert read("v", "x") == ["b.zion"]
    assert read("w", 1) == []
    assert (catalog.tables[0].name, len(catalog.tables)) == ("*.zion", 4)
    catalog.close()


@pytest.mark.parametrize(
    ("condition", "days"),
    [
        ("ts < DATE_ADD(DAY, -1 + 0, `2021-01-03T00:00:00Z`)", [1]),
        ("ts >= DATE_ADD(HOUR, -36, UTCNOW())", [3]),
        ("ts BETWEEN DATE_TRUNC(DAY, `2021-01-02T07:00:00Z`) AND `2021-01-02T08:00:00Z`", [2]),
        ("NOT ts IN (DATE_TRUNC(DAY, UTCNOW()), `2021-01-01T00:00:02Z`)", [1, 2, 3]),
        ("TO_UNIX_EPOCH(ts) < 1609459200 + 3600 OR day = 1 + 2", [1, 2, 3]),
        ("TO_UNIX_EPOCH(ts) < 1609459200 + 3600 OR day = 'a' || 'b'", [1]),
        ("ts < CAST(1 AS TIMESTAMP)", [1, 2, 3]),
        ("ts < DATE_ADD(DAY, day, `2021-01-01T00:00:00Z`)", [1, 2, 3]),
        ("NOT (ts >= `2021-01-02T00:00:00Z` AND day > 0)", [1, 2, 3]),
    ],
)
def test_constants_are_worked_out(logs: Path, condition: str, days: list[int]) -> None:
    where = parse(f"SELECT 1 FROM t WHERE {condition}").select.where
    catalog = Catalog(QueryRequest(root=str(logs), now_us=1_609_718_400_000_000))  # 2021-01-04
    table = catalog((file("day*.zion"),), where)
    assert [int(part.pack.path[-6]) for part in table.read] == days
    catalog.close()


def test_each_file_is_opened_once(logs: Path) -> None:
    catalog = Catalog(QueryRequest(root=str(logs)))
    first = catalog((file("day1.zion"),), None)
    second = catalog((file("day1.zion"), file("day?.zion")), None)
    assert first.parts[0].pack is second.parts[0].pack is second.parts[1].pack
    assert [part.pack.path[-9:] for part in second.parts] == [
        "day1.zion",
        "day1.zion",
        "day2.zion",
        "day3.zion",
    ]
    catalog.close()


def test_types_are_those_of_all_blocks_to_read(tmp_path: Path) -> None:
    pack(tmp_path / "a.zion", [{"v": 1, "s": {"t": "x"}}, {"v": None}])
    pack(tmp_path / "b.zion", [{"v": [1], "s": 2.5}])
    catalog = Catalog(QueryRequest(root=str(tmp_path)))
    both = catalog((file("*.zion"),), None)
    assert both.types(("v",)) == types.MISSING | types.NUMBER | types.NULL | types.LIST
    assert both.types(("s", "t")) == types.MISSING | types.STRING
    assert both.types(("s",)) == types.MISSING | types.STRUCT | types.NUMBER
    assert both.types(("nosuch",)) == types.MISSING
    assert both.types(()) == types.STRUCT
    assert both.types(("v", 0)) is None
    catalog.close()


def test_what_the_writer_did_not_say_is_not_known(vectors: Path) -> None:
    path = next(iter(sorted((vectors / "packfile/golden").glob("*/pack.*"))))
    catalog = Catalog(QueryRequest())
    table = catalog((file(str(path)),), None)
    assert table.types(("ts",)) is None
    assert table.row_count() is None
    assert table.types(()) == types.STRUCT
    catalog.close()


@pytest.mark.parametrize(
    ("name", "expect"),
    [
        (TableName("file", ("sub/a.zion",), (0, 0)), ["sub/a.zion"]),
        (TableName("file", ("**/*.zion",), (0, 0)), ["day.zion", "sub/a.zion", "sub/b[1].zion"]),
        (TableName("file", ("sub/b[1].zion",), (0, 0)), ["sub/b[1].zion"]),
        (TableName("file", ("nosuch.zion",), (0, 0)), ["nosuch.zion"]),
        (TableName("path", ("sub", "a"), (0, 0)), ["sub/a.zion"]),
        (TableName("path", ("day",), (0, 0)), ["day.zion"]),
        (TableName("path", ("day.zion",), (0, 0)), ["day.zion"]),
        (TableName("path", ("day", "zion"), (0, 0)), ["day.zion"]),
        (TableName("path", ("sub/*.zion",), (0, 0)), ["sub/a.zion", "sub/b[1].zion"]),
        (TableName("path", ("nosuch", "t"), (0, 0)), ["nosuch/t.zion"]),
        (TableName("glob", ("sub", "?"), (0, 0)), ["sub/a.zion"]),
        (TableName("pattern", ("sub", "[ab].*"), (0, 0)), ["sub/a.zion", "sub/b[1].zion"]),
        (TableName("pattern", ("d.y",), (0, 0)), ["day.zion"]),
    ],
)
def test_names_of_tables(tmp_path: Path, name: TableName, expect: list[str]) -> None:
    (tmp_path / "ro[o]t/sub/dir.zion").mkdir(parents=True)
    for path in ("day.zion", "sub/a.zion", "sub/b[1].zion", "sub/c.json"):
        (tmp_path / "ro[o]t" / path).write_text("")
    root = tmp_path / "ro[o]t"
    assert candidates(name, str(root)) == [str(root / path) for path in expect]


@pytest.mark.parametrize(
    ("kind", "part", "error"),
    [
        ("file", "no*.zion", errors.NotFoundError),
        ("glob", "no*", errors.NotFoundError),
        ("pattern", "a", errors.NotFoundError),
        ("pattern", "(", errors.UsageError),
    ],
)
def test_names_that_fit_nothing(
    tmp_path: Path, kind: str, part: str, error: type[Exception]
) -> None:
    (tmp_path / "x.zion").write_text("")
    with pytest.raises(error):
        candidates(TableName(kind, (part,), (0, 0)), str(tmp_path))


def test_urls_and_absolute_paths_stand_for_themselves(tmp_path: Path) -> None:
    assert candidates(file("s3://b/x.zion"), str(tmp_path)) == ["s3://b/x.zion"]
    assert candidates(file("x.zion"), "s3://b/folder") == ["s3://b/folder/x.zion"]
    assert candidates(file("/x.zion"), str(tmp_path)) == ["/x.zion"]
    (tmp_path / "y.zion").write_text("")
    assert candidates(file(f"file://{tmp_path}/y.zion"), "") == [f"file://{tmp_path}/y.zion"]


def test_a_file_that_is_not_there_closes_the_others(logs: Path) -> None:
    (logs / "day2.zion").write_text("this is no packfile, whatever its name")
    catalog = Catalog(QueryRequest(root=str(logs)))
    with pytest.raises(errors.CorruptError):
        catalog((file("day*.zion"),), None)
    catalog.close()


def test_ranges_of_blocks() -> None:
    assert ranges(()) == "none"
    assert ranges(((0, 1), (3, 6))) == "0,3-5"


def test_a_connection_of_its_own_reads_packfiles(logs: Path) -> None:
    connection = duckdb.connect()
    rows = sdb.register(connection, "logs", str(logs / "day*.zion"), fields=["day", "ts"])
    query = "SELECT a.day, count(*) FROM logs a JOIN logs b USING (ts) GROUP BY 1 ORDER BY 1"
    assert connection.sql(query).fetchall() == [(1, 5), (2, 5), (3, 5)]
    late = sdb.register(connection, "late", str(logs / "day*.zion"), since="2021-01-03")
    assert connection.sql("SELECT min(day), count(*) FROM late").fetchall() == [(3, 5)]
    with pytest.raises(errors.NotFoundError):
        sdb.register(connection, "none", str(logs / "no.zion"))
    connection.close()
    rows.close()
    late.close()
