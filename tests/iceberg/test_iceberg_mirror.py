"""Mirrors of tables as Iceberg tables, in a catalog of SQLite, read by pyiceberg."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from pyiceberg.catalog import load_catalog

import sdb
from sdb.errors import ExistsError, UnsupportedError
from sdb.exchange.mirror import TableMirror
from sdb.iceberg.log import named_iceberg
from sdb.lake.columntypes import chosen_columns
from sdb.table.catalog.root import table_root
from sdb.table.maintenance.compact import compact_table
from tests.exchange.mirrors import counted, decoded, table_rows

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Iterable

ROOT = Path(__file__).parents[2]
pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore:.*becomes:sdb.errors.SdbWarning"),
    pytest.mark.filterwarnings("ignore::UserWarning"),
]


@pytest.fixture
def lake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SNELLER_INDEX_KEY", "eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHg=")
    folder = tmp_path / "lake"
    folder.mkdir()
    sdb.connect(folder).create("web.t", "file://in/*.json")
    return folder


def insert(lake: Path, rows: Iterable[dict[str, Any]]) -> None:
    sdb.connect(lake).append("web.t", list(rows))


def target(tmp_path: Path) -> tuple[str, dict[str, str]]:
    return f"sqlite:///{tmp_path}/catalog.db", {"warehouse": f"file://{tmp_path}/warehouse"}


def mirrored(lake: Path, tmp_path: Path, **options: Any) -> TableMirror:
    uri, properties = target(tmp_path)
    log = named_iceberg(f"{uri}/web.t", properties)
    mirror = TableMirror(table_root(lake), "web", "t", f"{uri}/web.t", log=log, **options)
    mirror.update()
    return mirror


def check(lake: Path, tmp_path: Path) -> list[int]:
    """Require that each snapshot has the rows of its version; return the versions in order."""
    uri, properties = target(tmp_path)
    table = load_catalog("default", uri=uri, **properties).load_table("web.t")
    columns = chosen_columns(json.loads(table.properties["sdb.columns"]))
    numbers = []
    for snapshot in table.snapshots():
        number = int(snapshot.summary["sdb.version"])
        rows = table.scan(snapshot_id=snapshot.snapshot_id).to_arrow().to_pylist()
        read: Counter[str] = counted(
            decoded(row, {name: columns[name] for name in row}) for row in rows
        )
        assert read == table_rows(lake, "web.t", number), number
        numbers.append(number)
    return numbers


def test_each_version_is_a_snapshot(lake: Path, tmp_path: Path) -> None:
    db = sdb.connect(lake)
    for number in range(9):
        insert(lake, [{"id": number, "s": {"a": number}, "l": [{"x": 1}]}])
    db.execute("UPDATE web.t SET name = 'b' WHERE id = 3")
    mirrored(lake, tmp_path)
    db.execute("DELETE FROM web.t WHERE id = 1")
    assert compact_table(table_root(lake), "web", "t").version == 12
    insert(
        lake, [{"id": 9, "s": {"b": "new"}, "l": [{"y": 2.5}], "mixed": 1}, {"mixed": "x", "l": []}]
    )
    # pyiceberg 0.12 reads a list of structs that is null as an empty one: no row lacks it here.
    mirrored(lake, tmp_path)
    mirror = mirrored(lake, tmp_path)
    assert check(lake, tmp_path) == list(range(1, 14))
    assert mirror.update().versions == 0


def test_squashed_versions_are_one_snapshot(lake: Path, tmp_path: Path) -> None:
    for number in range(3):
        insert(lake, [{"id": number}])
    mirrored(lake, tmp_path, squash=True)
    insert(lake, [{"id": 7}])
    sdb.connect(lake).execute("DELETE FROM web.t WHERE id = 0")
    mirrored(lake, tmp_path, squash=True)
    assert check(lake, tmp_path) == [3, 5]


def test_two_exporters_make_each_snapshot_once(lake: Path, tmp_path: Path) -> None:
    insert(lake, [{"id": 0}])
    mirrored(lake, tmp_path)
    for number in range(5):
        insert(lake, [{"id": number}])
    errors: list[BaseException] = []

    def export() -> None:
        try:
            mirrored(lake, tmp_path)
        except BaseException as error:  # noqa: BLE001 - shown by the test
            errors.append(error)

    threads = [threading.Thread(target=export) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors
    assert check(lake, tmp_path) == [1, 2, 3, 4, 5, 6]


def test_a_type_that_iceberg_cannot_change(lake: Path, tmp_path: Path) -> None:
    insert(lake, [{"n": 1}])
    mirrored(lake, tmp_path)
    insert(lake, [{"n": 1.5}])
    with pytest.raises(UnsupportedError, match="n was long and becomes double: a column of"):
        mirrored(lake, tmp_path)
    assert check(lake, tmp_path) == [1]


def test_a_table_that_is_no_mirror(lake: Path, tmp_path: Path) -> None:
    import pyarrow as pa

    uri, properties = target(tmp_path)
    catalog = load_catalog("default", uri=uri, **properties)
    catalog.create_namespace("web")
    rows = pa.table({"id": [1]})
    catalog.create_table("web.t", schema=rows.schema).append(rows)
    insert(lake, [{"id": 1}])
    with pytest.raises(ExistsError, match="is a table, and no mirror"):
        mirrored(lake, tmp_path)


def test_the_command(lake: Path, tmp_path: Path) -> None:
    insert(lake, [{"id": 1}])
    uri, properties = target(tmp_path)
    command = [sys.executable, "-m", "sdb.cli.main", "export", "iceberg", "--root", str(lake)]

    def run(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([*command, *words], cwd=ROOT, capture_output=True, text=True)  # noqa: PLW1510

    warehouse = f"warehouse={properties['warehouse']}"
    done = run("web.t", f"{uri}/web.t", "--property", warehouse, "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["version"] == 1
    assert check(lake, tmp_path) == [1]
    for words, text in (
        (["web.t", "web"], "names no table of a catalog"),
        (["web.t", f"{uri}/web.t", "--property", "x"], "is not NAME=VALUE"),
        (["web.t", "http://127.0.0.1:1/web.t"], "the catalog http://127.0.0.1:1"),
    ):
        done = run(*words)
        assert done.returncode != 0
        assert text in done.stderr
        assert "Traceback" not in done.stderr
