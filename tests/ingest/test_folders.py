"""Fields that folders of inputs name: ``day=2026-11-01/hour=03/``."""

from __future__ import annotations

import gzip
import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sdb
from sdb.errors import SdbWarning
from sdb.packfile.inputs.folders import folder_fields, has_folder_fields
from sdb.table.catalog.root import TableRoot, table_root
from sdb.table.definition.create import create_table
from sdb.table.definition.definition import Definition
from sdb.table.sync.sync import sync_table

if TYPE_CHECKING:
    from pathlib import Path

DAY = datetime(2026, 11, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("name", "fields"),
    [
        ("logs/day=x/a.json", {"day": "x"}),
        ("day=x", {}),
        ("a=1/b=-20/c=007/d=03/x", {"a": 1, "b": -20, "c": "007", "d": 3}),
        ("a=true/b=false/c=True/x", {"a": True, "b": False, "c": "True"}),
        ("s3://bu=cket/v=1.5/k=a=b/x", {"v": "1.5", "k": "a=b"}),
        ("a=__HIVE_DEFAULT_PARTITION__/b=/c=x%20%3D/x", {"c": "x ="}),
        ("a=1/a=2/=3/1a=4/x", {"a": 2}),
        ("d=2026-02-30/x", {"d": "2026-02-30"}),
    ],
)
def test_values(name: str, fields: dict[str, object]) -> None:
    assert folder_fields(name) == fields


def test_times() -> None:
    for text in ("2026-11-01", "2026-11-01 00:00:00", "2026-11-01T01:00:00%2B01:00"):
        assert folder_fields(f"t={text}/x") == {"t": DAY}, text
    assert has_folder_fields("file://in/day=*/x.json")
    assert not has_folder_fields("file://in/x=1.json")


def rows(path: Path) -> list[dict[str, Any]]:
    with sdb.open(path) as pack:
        return list(pack.rows())


def test_all_formats_but_packfiles(tmp_path: Path) -> None:
    folder = tmp_path / "day=2026-11-01" / "hour=03"
    folder.mkdir(parents=True)
    (folder / "a.json").write_text('{"n": 1}\n')
    (folder / "b.json.gz").write_bytes(gzip.compress(b'[{"n": 2}]'))
    (folder / "c.csv").write_text("n,hour\n3,\n4,99\n")
    (folder / "d.cloudtrail.json").write_text('{"Records":[{"n":5}]}')
    pq.write_table(pa.table({"n": [6]}), folder / "e.parquet")
    sdb.pack([{"n": 7}], folder / "f.zion")
    packed = tmp_path / "x.zion"
    with pytest.warns(SdbWarning, match="keep their own value"):
        sdb.pack(folder, packed)
    both = {"day": DAY, "hour": 3}
    assert rows(packed) == [
        {"n": 1, **both},
        {"n": 2, **both},
        {"n": 3, **both},
        {"n": 4, "hour": 99, "day": DAY},
        {"n": 5, **both},
        {"n": 6, **both},
        {"n": 7},
    ]
    with sdb.open(packed) as pack:
        assert pack.time_index("day").first_us == int(DAY.timestamp()) * 10**6
    sdb.pack(folder / "a.json", tmp_path / "y.zion", hive=False)
    assert rows(tmp_path / "y.zion") == [{"n": 1}]
    sdb.append(tmp_path / "y.zion", folder / "b.json.gz")
    sdb.append(tmp_path / "y.zion", folder / "b.json.gz", hive=False)
    assert rows(tmp_path / "y.zion") == [{"n": 1}, {"n": 2, **both}, {"n": 2}]
    with pytest.warns(SdbWarning, match="keep their own value"):
        sdb.append(tmp_path / "z.zion", folder / "a.json", create=True, constants={"hour": 1})
    assert rows(tmp_path / "z.zion") == [{"hour": 1, "n": 1, "day": DAY}]


def test_queries_on_inputs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    for day in (1, 2):
        folder = tmp_path / f"in/day=2026-11-0{day}"
        folder.mkdir(parents=True)
        (folder / "a.json").write_text('{"n": 1}\n')
    text = f"SELECT COUNT(*) AS n FROM '{tmp_path}/in/*/*.json' WHERE day = '2026-11-0%d'"
    assert [next(iter(sdb.sql(text % day)))["n"] for day in (1, 2, 3)] == [1, 1, 0]
    # The same file elsewhere has other fields.
    (tmp_path / "in/day=2026-11-01").rename(tmp_path / "in/day=2026-11-03")
    assert [next(iter(sdb.sql(text % day)))["n"] for day in (1, 2, 3)] == [0, 1, 1]


def made(root: TableRoot, name: str, definition: dict[str, object]) -> None:
    create_table(root, "d", name, Definition.parse(json.dumps(definition)))


def test_tables(tmp_path: Path) -> None:
    folder = tmp_path / "in/day=2026-11-01/region=eu"
    folder.mkdir(parents=True)
    (folder / "a.json").write_text('{"n": 1}\n')
    db, root = sdb.connect(tmp_path), table_root(tmp_path)
    for name, options in {"plain": {}, "hive": {"hive": True}}.items():
        definition = {"input": [{"pattern": "file://in/*/*/*.json"}], **options}
        made(root, name, definition)
        sync_table(root, "d", name)
    assert list(db.sql("SELECT * FROM d.plain")) == [{"n": 1}]
    assert list(db.sql("SELECT * FROM d.hive")) == [{"n": 1, "day": DAY, "region": "eu"}]
    made(
        root,
        "both",
        {
            "input": [{"pattern": "file://in/day={day}/*/*.json"}],
            "partitions": [{"field": "day"}],
            "hive": True,
        },
    )
    sync_table(root, "d", "both")
    assert list(db.sql("SELECT * FROM d.both")) == [{"day": "2026-11-01", "n": 1, "region": "eu"}]
    db.create("d.made", "in/day=*/*/*.json")
    sync_table(root, "d", "made")
    assert list(db.sql("SELECT region FROM d.made")) == [{"region": "eu"}]
    # A file that was moved to another folder has other fields, and is a separate input.
    (tmp_path / "in/day=2026-11-02").mkdir()
    folder.rename(tmp_path / "in/day=2026-11-02/region=us")
    sync_table(root, "d", "hive")
    assert list(db.sql("SELECT region FROM d.hive ORDER BY region")) == [
        {"region": "eu"},
        {"region": "us"},
    ]
    db.append("d.plain", tmp_path / "in/day=2026-11-02/region=us/a.json")
    assert {"n": 1, "day": datetime(2026, 11, 2, tzinfo=UTC), "region": "us"} in list(
        db.sql("SELECT * FROM d.plain")
    )
