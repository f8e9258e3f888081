"""Mirrors of tables with a schema: each version has the columns of its schema."""

from __future__ import annotations

import contextlib
import json
import os
import random
import subprocess
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import deltalake
import polars as pl
import pyarrow as pa
import pytest

import sdb
from sdb.errors import SdbError, SdbWarning
from sdb.query.rows.mirrorcolumns import packfile_columns
from sdb.table.catalog.root import table_root
from sdb.table.maintenance.compact import compact_table
from tests.exchange.mirrors import (
    READERS,
    by_duckdb,
    counted,
    mirror_rows,
    mirrored,
    table_rows,
    versions,
)

TESTDATA = Path(__file__).parents[2] / "testdata"

_SCHEMA = {
    "columns": [
        {"name": "id", "type": "integer"},
        {
            "name": "user",
            "type": {
                "type": "struct",
                "columns": [
                    {"name": "name", "type": "string"},
                    {"name": "age", "type": "integer"},
                ],
            },
        },
        {"name": "price", "type": "decimal(10,2)"},
        {"name": "day", "type": "date"},
        {"name": "at", "type": "timestamp"},
        {"name": "tags", "type": "list<string>"},
        {"name": "extra", "type": "variant"},
        {"name": "counts", "type": "map<string, integer>"},
        {"name": "gone", "type": "string"},
        {"name": "late", "type": "string"},
    ]
}


def _row(number: int, **more: Any) -> dict[str, Any]:
    return {
        "id": number,
        "user": {"name": f"u{number}", "age": number},
        "price": number + 0.25,
        "day": "2026-11-01T00:00:00Z",
        "at": "2026-11-01T10:00:00.5Z",
        "tags": ["a", None, str(number)],
        "extra": {"x": [number, "text"]},
        "counts": {f"c{number}": number},
        "gone": f"secret{number}",
        **more,
    }


class Lake:
    """A table of a lake, and its mirror."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "lake"
        self.root.mkdir()
        self.folder = folder
        self.db = sdb.connect(self.root)
        self.db.execute("CREATE TABLE web.t")

    def insert(self, *rows: dict[str, Any]) -> None:
        (self.folder / "rows.json").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
        self.db.append("web.t", [self.folder / "rows.json"])

    def execute(self, *texts: str) -> None:
        for text in texts:
            self.db.execute(text)

    def set(self, schema: Any) -> None:
        self.db.table("web.t").set_schema(schema)

    def mirror(self, name: str = "m", **options: Any) -> Any:
        return mirrored(self.root, self.folder / name, read=packfile_columns, **options)

    def rows(self, number: int) -> pa.Table:
        return self.db.sql(f"SELECT * FROM web.t@{number}").to_arrow()

    def has_schema(self, number: int) -> bool:
        return self.db.table("web.t").at(number).schema is not None

    def newest(self) -> int:
        """Return the commit of the newest version."""
        return versions(self.folder / "m")[self.db.table("web.t").version]

    def actions(self, commit: int, name: str = "m") -> list[dict[str, Any]]:
        path = self.folder / name / "_delta_log" / f"{commit:020d}.json"
        return [json.loads(line) for line in path.read_text().splitlines()]

    def kinds(self, commit: int) -> Counter[str]:
        counts = Counter(next(iter(action)) for action in self.actions(commit))
        return counts - Counter(["commitInfo", "txn"])

    def check(self, name: str = "m", engines: Any = READERS) -> None:
        known = versions(self.folder / name)
        assert max(known) == self.db.table("web.t").version
        for number, commit in known.items():
            if self.has_schema(number):
                self.check_version(number, commit, name, engines)

    def check_version(self, number: int, commit: int, name: str, engines: Any) -> None:
        table = deltalake.DeltaTable(str(self.folder / name), version=commit)
        expected = self.rows(number)
        read = table.to_pyarrow_table()
        assert read.schema.names == expected.schema.names, number
        for got, field in zip(read.schema, expected.schema, strict=True):
            assert _plain(got.type) == _plain(field.type), (number, field.name)
        frame = pl.scan_delta(table).collect()
        assert frame.columns == expected.schema.names, number
        wanted = _counted(expected.to_pylist())
        for engine in engines:
            rows = engine(table)
            if engine is by_duckdb:  # of the files alone, which may have columns that were dropped
                names = expected.schema.names
                rows = [{column: row.get(column) for column in names} for row in rows]
            assert _counted(rows) == wanted, (number, engine.__name__)


def _counted(rows: list[dict[str, Any]]) -> Counter[str]:
    return counted([_texts(row) for row in rows])


def _texts(value: Any) -> Any:
    """Return values with decimals as text, which the usual comparison rounds."""
    from decimal import Decimal

    if isinstance(value, dict):
        return {name: _texts(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [_texts(item) for item in value]
    return f"decimal {value}" if isinstance(value, Decimal) else value


def _plain(kind: pa.DataType) -> Any:
    """Return a type of Arrow without what readers choose: names of items, sizes of offsets."""
    if pa.types.is_struct(kind):
        return [(field.name, _plain(field.type)) for field in kind]
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return ["list", _plain(kind.value_type)]
    names = {"large_string": "string", "large_binary": "binary"}
    return names.get(str(kind), str(kind))


@pytest.fixture
def lake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Lake:
    monkeypatch.setenv("SNELLER_INDEX_KEY", "eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHg=")
    return Lake(tmp_path)


# Each is a version, and says whether its files are written again.
_CHANGES: tuple[tuple[str, bool], ...] = (
    ("ADD COLUMN new INTEGER", False),
    ("ADD COLUMN user.city STRING", False),
    ("ALTER COLUMN price FIRST", False),
    ("ALTER COLUMN id SET NOT NULL", False),
    ("DROP COLUMN gone", False),
    ("ADD COLUMN gone STRING", True),
    ("RENAME COLUMN user.name TO login", True),
    ("RENAME COLUMN tags TO labels", True),
    ("ADD COLUMN size INTEGER DEFAULT 7", True),
    ("ALTER COLUMN id TYPE DOUBLE", True),
    ("ADD COLUMN user.rank INTEGER DEFAULT 3", True),
    ("ALTER COLUMN user.rank FIRST", True),
    ("DROP COLUMN user.age", True),
)


@pytest.mark.filterwarnings("ignore:.*written again:sdb.errors.SdbWarning")
def test_each_change_of_a_schema_is_a_commit(lake: Lake) -> None:
    lake.set(_SCHEMA)
    lake.insert(_row(1), _row(2, user=None))
    lake.insert(_row(3), {"id": 4, "late": "x"})
    lake.mirror()
    lake.execute("COMMENT ON COLUMN web.t.id IS 'the number'")
    lake.mirror()
    assert lake.kinds(lake.newest()) == {"metaData": 1}
    for number, (text, is_rewritten) in enumerate(_CHANGES):
        lake.execute(f"ALTER TABLE web.t {text}")
        lake.mirror()
        files = len(deltalake.DeltaTable(str(lake.folder / "m")).file_uris()) * is_rewritten
        expected = Counter(metaData=1, add=files, remove=files)
        assert lake.kinds(lake.newest()) == +expected, text
        if number in {5, 9}:
            user = {"name": f"u{number}", "city": "Rome"}
            lake.insert(_row(number, new=5, gone="shown", user=user))
    lake.insert(_row(6, size=None))
    lake.mirror()
    assert not lake.mirror().update().versions
    field = deltalake.DeltaTable(str(lake.folder / "m")).schema().fields[1]
    assert (field.name, field.metadata) == ("id", {"comment": "the number", "sdb.required": True})
    lake.check()
    lake.mirror("all")
    lake.check("all", READERS[:1])
    lake.mirror("squashed", squash=True)
    lake.check("squashed", READERS[:1])


@pytest.mark.filterwarnings("ignore:.*becomes JSON text:sdb.errors.SdbWarning")
def test_a_schema_comes_later_and_goes(lake: Lake) -> None:
    lake.insert(_row(1), {"id": 2, "other": "field"})
    lake.mirror()
    lake.set(_SCHEMA)
    lake.insert(_row(3))
    with pytest.warns(SdbWarning, match="1 file is written again with these"):
        lake.mirror()
    lake.set(None)
    lake.insert({"id": 4, "more": 1})
    with pytest.warns(SdbWarning, match="no schema any more: 2 files are written again"):
        lake.mirror()
    lake.check()
    with pytest.warns(SdbWarning, match="written again"):
        lake.mirror("all")
    lake.check("all")
    for name in ("m", "all"):
        known = versions(lake.folder / name)
        without = [number for number in known if not lake.has_schema(number)]
        assert {1, lake.db.table("web.t").version} < set(without)
        for number in without:
            rows = table_rows(lake.root, "web.t", number)
            for reader in READERS:
                assert mirror_rows(lake.folder / name, known[number], reader) == rows


def test_values_that_do_not_fit_are_null_and_counted_once(lake: Lake) -> None:
    lake.set({"columns": [{"name": "id", "type": "integer"}, {"name": "day", "type": "date"}]})
    lake.insert({"id": "x", "day": "2026-11-01T00:00:00Z"}, {"id": 1, "day": 5})
    lake.insert({"id": True}, {"id": 2})
    with pytest.warns(SdbWarning, match="values? (is|are) no") as warnings:
        lake.mirror(squash=True)
    end = "NULL in the mirror (sdb schema check)"
    assert sorted(str(warning.message) for warning in warnings) == [
        f"web.t: 1 value is no date, as the schema says of day: {end}",
        f"web.t: 2 values are no integer, as the schema says of id: {end}",
    ]
    with pytest.warns(SdbWarning, match="null here"):
        lake.check()


@pytest.mark.filterwarnings("ignore:.*differ:sdb.errors.SdbWarning")
def test_what_lies_too_deep_is_text_and_cases_are_told_apart(lake: Lake) -> None:
    deep: Any = "decimal(6,2)"
    for name in reversed("bcdef"):
        column = {"name": name, "type": deep}
        deep = {"type": "struct", "columns": [column, {"name": "day", "type": "date"}]}
    columns = [{"name": "a", "type": deep}, {"name": "Port", "type": "integer"}]
    lake.set({"columns": [*columns, {"name": "port", "type": "string"}]})
    value: Any = 1.25
    for name in reversed("bcdef"):
        value = {name: value, "day": "2026-11-01T00:00:00Z"}
    lake.insert({"a": value, "Port": 1, "port": "x"}, {"a": None}, {"a": {"b": {"c": {"d": {}}}}})
    with pytest.warns(SdbWarning) as warnings:
        lake.mirror()
    said = " ".join(str(warning.message) for warning in warnings)
    assert "a.b.c.d.e becomes JSON text" in said
    assert "the column 'port' becomes 'port_2'" in said
    rows = deltalake.DeltaTable(str(lake.folder / "m")).to_pyarrow_table().to_pylist()
    texts = [row["a"] and row["a"]["b"]["c"]["d"]["e"] for row in rows]
    assert texts == ['{"f":1.25,"day":"2026-11-01"}', None, None]
    assert [row["port_2"] for row in rows] == ["x", None, None]
    assert [row["Port"] for row in rows] == [1, None, None]


@pytest.mark.filterwarnings("ignore:.*written again:sdb.errors.SdbWarning")
def test_two_exporters_and_lost_files_give_each_version_once(lake: Lake) -> None:
    lake.set(_SCHEMA)
    lake.insert(_row(1))
    lake.mirror()
    lake.execute("ALTER TABLE web.t RENAME COLUMN tags TO labels")
    lake.insert(_row(2))
    lake.execute("ALTER TABLE web.t DROP COLUMN day, ADD COLUMN day2 DATE DEFAULT '2026-01-01'")
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(lambda _: lake.mirror(), range(2)))
    log = lake.folder / "m" / "_delta_log"
    names = sorted(path.name for path in log.glob("*.json"))
    before = {path.name for path in (lake.folder / "m").glob("*.parquet")}
    for name in names[-2:]:  # as if it had been killed before these
        (log / name).unlink()
    assert lake.mirror().update().files == 0
    assert {path.name for path in (lake.folder / "m").glob("*.parquet")} == before
    lake.check(engines=READERS[:1])


def test_restart_and_compactions_keep_the_columns(lake: Lake) -> None:
    lake.set(_SCHEMA)
    for number in range(9):
        lake.insert(_row(number))
    lake.mirror(squash=True)
    assert compact_table(table_root(lake.root), "web", "t").version
    lake.mirror()
    lake.check(engines=READERS[:1])
    adds = [action["add"] for action in lake.actions(lake.newest()) if "add" in action]
    assert all(not add["dataChange"] for add in adds)
    lake.mirror(restart=True)
    assert "add" not in lake.kinds(deltalake.DeltaTable(str(lake.folder / "m")).version())


def test_the_command_and_upkeep_take_the_schema(lake: Lake) -> None:
    from sdb.table.definition.definition import Definition

    exports = [{"format": "delta", "to": "kept"}]
    text = json.dumps({"input": [{"pattern": "file://in/*.json"}], "exports": exports})
    lake.db.create("web.t", Definition.parse(text), overwrite=True)
    lake.set(_SCHEMA)
    lake.insert(_row(1))
    lake.execute("ALTER TABLE web.t RENAME COLUMN tags TO labels")
    words = ["export", "delta", "--root", str(lake.root), "web.t", str(lake.folder / "m")]
    ran = subprocess.run(
        [sys.executable, "-m", "sdb.cli.main", *words], capture_output=True, text=True, check=True
    )
    assert "has a schema" not in ran.stderr
    assert "written again" in ran.stderr
    lake.check(engines=READERS[:1])
    with pytest.warns(SdbWarning, match="written again"):
        lake.db.maintain("web.t")
    table = deltalake.DeltaTable(str(lake.root / "kept"))
    assert (
        table.to_pyarrow_table().schema.names
        == lake.rows(lake.db.table("web.t").version).schema.names
    )


def _random_change(chance: random.Random, number: int) -> str:
    names = ["a", "b", "c", "s.x", "s.y", "s.z", "n"]
    name, other = chance.choice(names), chance.choice("abcn")
    kind = chance.choice(["INTEGER", "STRING", "DOUBLE", "VARIANT", "STRING[]", "DATE"])
    default = {"INTEGER": " DEFAULT 7", "STRING": " DEFAULT 'd'", "DOUBLE": " DEFAULT 0.5"}
    filled = default.get(kind, "") if chance.random() < 0.4 else ""
    return chance.choice(
        [
            f"ADD COLUMN {name} {kind}{filled}",
            f"DROP COLUMN {name}",
            f"RENAME COLUMN {name} TO {other if '.' not in name else f'r{number}'}",
            f"ALTER COLUMN {name} FIRST",
            f"ALTER COLUMN {name} TYPE VARIANT",
            f"ALTER COLUMN {name} TYPE DOUBLE",
        ]
    )


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::sdb.errors.SdbWarning")
@pytest.mark.parametrize("seed", range(int(os.environ.get("SDB_MIRRORS", "6"))))
def test_random_changes(lake: Lake, seed: int) -> None:
    chance = random.Random(seed)
    values = [None, 1, 2.5, "t", "2026-11-01T00:00:00Z", ["x", None], {"q": 1}]
    lake.set(
        {
            "columns": [
                {"name": "a", "type": "integer"},
                {
                    "name": "s",
                    "type": {"type": "struct", "columns": [{"name": "x", "type": "integer"}]},
                },
            ]
        }
    )
    for number in range(25):
        if chance.random() < 0.6:
            with contextlib.suppress(SdbError):
                lake.execute(f"ALTER TABLE web.t {_random_change(chance, number)}")
        else:
            row = {name: chance.choice(values) for name in "abcn" if chance.random() < 0.6}
            inner = {name: chance.choice(values) for name in "xyz" if chance.random() < 0.6}
            lake.insert(row | {"id": number}, {"s": inner}, {"a": number})
        if chance.random() < 0.3:
            lake.mirror()
    lake.mirror()
    lake.check()
    lake.mirror("all")
    lake.check("all", READERS[:1])


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::sdb.errors.SdbWarning")
@pytest.mark.parametrize(
    "name",
    [
        "gh2021_800.json.zst",
        "cloudtrail_stratus.json.zst",
        "winevents_sample.json.zst",
        "nginxplus.json.zst",
    ],
)
def test_real_rows_under_their_own_schema(lake: Lake, name: str) -> None:
    lake.db.append("web.t", [TESTDATA / name])
    table = lake.db.table("web.t")
    table.set_schema(table.infer_schema())
    lake.mirror()
    expected = lake.db.sql("SELECT * FROM web.t").to_arrow()
    mirror = deltalake.DeltaTable(str(lake.folder / "m"))
    fields = mirror.schema().fields
    columns = [field.metadata.get("sdb.field", field.name) for field in fields]
    assert columns == expected.schema.names
    read = mirror.to_pyarrow_table().rename_columns(columns)
    # What lies deeper than 5 names is text there.
    alike = [
        column
        for column in columns
        if _plain(read.schema.field(column).type) == _plain(expected.schema.field(column).type)
    ]
    assert len(alike) >= len(columns) - 2
    assert _counted(read.select(alike).to_pylist()) == _counted(expected.select(alike).to_pylist())


def test_other_formats_say_that_they_have_fields_of_rows(lake: Lake) -> None:
    lake.set(_SCHEMA)
    lake.insert({"id": 1})
    with pytest.warns(SdbWarning, match="has a schema: the dataset has the fields of its rows"):
        lake.db.table("web.t").export("parquet", lake.folder / "d")
    lake.db.table("web.t").export("delta", lake.folder / "m")
    lake.check(engines=READERS[:1])
