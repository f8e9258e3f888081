"""Plain datasets of Parquet files, with and without folders."""

from __future__ import annotations

import json
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import duckdb
import pytest
from pyarrow import parquet

import sdb
from sdb.errors import ExistsError, SdbError, UnsupportedError, UsageError
from sdb.exchange import folders
from sdb.exchange.dataset import FolderKey, write_dataset
from sdb.packfile.export import arrowfiles
from tests.exchange.mirrors import counted, table_rows

ROOT = Path(__file__).parents[2]
ROWS = [
    {"id": 1, "type": "a/b", "at": datetime(2026, 11, 1, 5, tzinfo=UTC), "actor": {"login": "x"}},
    {"id": 2, "type": "a/b", "at": datetime(2026, 11, 2, 5, tzinfo=UTC), "actor": {"login": "y"}},
    {"id": 3, "type": "c", "at": datetime(2026, 12, 2, 5, tzinfo=UTC), "n": 1.5},
    {"id": 4, "n": [1]},
]
pytestmark = pytest.mark.filterwarnings("ignore:.*becomes:sdb.errors.SdbWarning")


@pytest.fixture
def lake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SNELLER_INDEX_KEY", "eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHg=")
    folder = tmp_path / "lake"
    folder.mkdir()
    sdb.connect(folder).create("web.t", "file://in/*.json")
    for row in ROWS:
        sdb.connect(folder).append("web.t", [row])
    return folder


def export(lake: Path, folder: Path, by: str = "", **options: bool) -> int:
    keys = [FolderKey.parse(text) for text in by.split(",")] if by else []
    handle = sdb.connect(lake).table("web.t").handle
    return write_dataset(handle, str(folder), keys, **options).files


def read(folder: Path, drop: str = "") -> list[dict[str, object]]:
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'UTC'")
        exclude = f"EXCLUDE ({drop})" if drop else ""
        rows = connection.sql(
            f"SELECT * {exclude} FROM read_parquet('{folder}/**/*.parquet', "
            "hive_partitioning=true, hive_types_autocast=false)"
        )
        read_rows: list[dict[str, object]] = rows.to_arrow_table().to_pylist()
    return [row | {"n": row["n"] and json.loads(str(row["n"]))} for row in read_rows]


def test_a_dataset_has_the_rows(lake: Path, tmp_path: Path) -> None:
    assert export(lake, tmp_path / "d") == 1
    assert counted(read(tmp_path / "d")) == table_rows(lake, "web.t", 4)
    assert [path.name for path in tmp_path.iterdir() if ".tmp" in path.name] == []


def test_folders_by_values_and_days(lake: Path, tmp_path: Path) -> None:
    export(lake, tmp_path / "d", "type,day(at)")
    made = {
        str(path.parent.relative_to(tmp_path / "d")) for path in tmp_path.glob("d/**/*.parquet")
    }
    assert made == {
        "type=a%2Fb/at_day=2026-11-01",
        "type=a%2Fb/at_day=2026-11-02",
        "type=c/at_day=2026-12-02",
        "type=__HIVE_DEFAULT_PARTITION__/at_day=__HIVE_DEFAULT_PARTITION__",
    }
    assert counted(read(tmp_path / "d", "at_day")) == table_rows(lake, "web.t", 4)
    export(lake, tmp_path / "e", "actor.login,month(at)")
    assert (tmp_path / "e/actor.login=x/at_month=2026-11").is_dir()


def test_packfiles_share_row_groups(lake: Path, tmp_path: Path) -> None:
    for number in range(5):
        sdb.connect(lake).append("web.t", [{"type": "ab"[at % 2], "id": number} for at in range(9)])
    for by, files in ("", 1), ("type", 5):
        folder = tmp_path / f"by{by}"
        assert export(lake, folder, by) == files
        groups = [parquet.ParquetFile(path).num_row_groups for path in folder.rglob("*.parquet")]
        assert groups == [1] * files


def test_folders_past_their_memory_and_open_files(
    lake: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(folders, "_WAITING_BYTES", 100)
    monkeypatch.setattr(folders, "_MOST_OPEN", 2)
    monkeypatch.setattr(arrowfiles, "_ROW_GROUP_ROWS", 3)
    added = [{"type": f"{at % 5}\0", "id": at} for at in range(40)]
    for at in range(0, 40, 10):
        sdb.connect(lake).append("web.t", added[at : at + 10])
    assert export(lake, tmp_path / "d", "type") > 8
    assert (tmp_path / "d/type=0%00/part-1.parquet").exists()
    assert counted(read(tmp_path / "d")) == table_rows(lake, "web.t", 8)


def test_too_many_folders_are_refused(
    lake: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(folders, "MOST_FOLDERS", 2)
    with pytest.raises(UsageError, match="more than 2 folders"):
        export(lake, tmp_path / "d", "id")
    assert not (tmp_path / "d").exists()


def test_rows_with_no_other_field_are_refused(lake: Path, tmp_path: Path) -> None:
    sdb.connect(lake).create("web.one", "file://in/*.json")
    sdb.connect(lake).append("web.one", [{"type": "a"}])
    with pytest.raises(UsageError, match="no other field"):
        sdb.connect(lake).table("web.one").export("parquet", tmp_path / "d", partition_by=["type"])


def test_integers_above_the_largest_of_64_bits(lake: Path, tmp_path: Path) -> None:
    sdb.connect(lake).append("web.t", [{"id": 2**64 - 1}])
    export(lake, tmp_path / "d")
    assert counted(read(tmp_path / "d")) == table_rows(lake, "web.t", 5)


def test_what_is_there_stays_unless_it_may_be_replaced(lake: Path, tmp_path: Path) -> None:
    (tmp_path / "d").mkdir()
    export(lake, tmp_path / "d")
    (tmp_path / "d/mine").write_text("x")
    with pytest.raises(ExistsError, match="exists"):
        export(lake, tmp_path / "d")
    assert (tmp_path / "d/mine").exists()
    export(lake, tmp_path / "d", overwrite=True)
    assert not (tmp_path / "d/mine").exists()


@pytest.mark.parametrize(
    ("by", "text"),
    [
        ("nope", "no row has the field"),
        ("day(id)", "are no times"),
        ("n", "cannot name folders"),
        ("actor", "cannot name folders"),
        ("at", "a folder for each instant"),
        ("week(at)", "week.at"),
        ("a..b", "a..b"),
        ("id,id", "another key"),
    ],
)
def test_keys_are_checked(lake: Path, tmp_path: Path, by: str, text: str) -> None:
    with pytest.raises(UsageError, match=text):
        export(lake, tmp_path / "d", by)
    assert not (tmp_path / "d").exists()


def test_a_failing_export_leaves_nothing(lake: Path, tmp_path: Path) -> None:
    packfile = next((lake / "db/web/t/data").rglob("*.zion"))
    packfile.write_bytes(b"x" * packfile.stat().st_size)
    with pytest.raises(SdbError):
        export(lake, tmp_path / "d")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["lake"]
    with pytest.raises(UnsupportedError, match="written to a disk"):
        export(lake, "s3://bucket/x")  # type: ignore[arg-type]


def test_the_command(lake: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "sdb.cli.main", "export", "parquet", "--root", str(lake)]
    words = ["web.t@2", str(tmp_path / "d"), "--partition-by", "day(at)", "--json"]
    done = subprocess.run([*command, *words], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    facts = json.loads(done.stdout)
    assert (facts["version"], facts["files"], facts["rows"]) == (2, 2, 2)


def test_python(lake: Path, tmp_path: Path) -> None:
    table = sdb.connect(lake).table("web.t")
    assert table.export("delta", tmp_path / "m").version == 4
    written = table.at(2).export("parquet", tmp_path / "d", partition_by=["day(at)"])
    assert (written.version, written.files, written.rows) == (2, 2, 2)
    with pytest.raises(UsageError, match="unknown format 'orc'"):
        table.export("orc", tmp_path / "o")
    with pytest.raises(UsageError, match="export as delta has no option overwrite"):
        table.export("delta", tmp_path / "m", overwrite=True)
