"""Iceberg tables, written by pyiceberg: as inputs of `sdb sync`, and in queries."""

from __future__ import annotations

import gzip
import json
import sys
from datetime import UTC, date, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.io.pyarrow import PyArrowFileIO
from pyiceberg.manifest import (
    DataFile,
    DataFileContent,
    FileFormat,
    ManifestContent,
    ManifestEntry,
    ManifestEntryStatus,
    ManifestWriterV2,
    write_manifest_list,
)
from pyiceberg.table import StaticTable
from pyiceberg.typedef import Record
from pyiceberg.types import LongType

import sdb
from sdb import notes
from sdb.errors import CorruptError, NotFoundError, UnsupportedError
from sdb.lake.access import LakeFolder
from sdb.lake.columns import LakeColumn, LakeColumns, LakeType
from sdb.lake.model import LakeFile
from sdb.lake.rows import LakeRows
from sdb.table.catalog.root import table_root
from sdb.table.inputs.places import OutsideError
from sdb.table.sync.sync import sync_table
from tests.lake.bothways import ask_both_ways
from tests.lake.made import packed, stored

if TYPE_CHECKING:
    from collections import Counter

    from pyiceberg.table import Table

    from tests.cli.conftest import Run

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning")


@pytest.fixture
def catalog(tmp_path: Path) -> SqlCatalog:
    made = SqlCatalog("c", uri=f"sqlite:///{tmp_path}/c.db", warehouse=f"file://{tmp_path}/lake/in")
    made.create_namespace("n")
    return made


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    """Make a root with a table d.t that takes the Iceberg table in/n/t."""
    root = tmp_path / "lake"
    folder = root / "db/d/t"
    folder.mkdir(parents=True)
    definition = {"input": [{"pattern": "iceberg+file://in/n/t"}]}
    (folder / "definition.json").write_text(json.dumps(definition))
    return root


@pytest.fixture
def heard() -> list[str]:
    texts: list[str] = []
    notes.listen(texts.append, details=False)
    return texts


def people(start: int, count: int) -> pa.Table:
    rows = [
        {"id": n, "p": "abc"[n % 3], "s": {"x": n, "y": [n]}} for n in range(start, start + count)
    ]
    return pa.Table.from_pylist(rows)


def sync(root: Path) -> Any:
    return sync_table(table_root(str(root)), "d", "t")


def versions(synced: Any) -> list[int]:
    return [taken.source_version for taken in synced.sources]


def snapshots(table: Table) -> list[int]:
    return [entry.snapshot_id for entry in table.history()]


def oracle(table: Table, snapshot: int | None = None) -> Counter[str]:
    return packed(table.scan(snapshot_id=snapshot).to_arrow())


def same(root: Path, table: Table, *wanted: int) -> None:
    log = sdb.connect(str(root)).table("d.t").log()
    ours = {int(entry.message.split()[1]): entry.version for entry in log if entry.message}
    for snapshot in wanted:
        rows = stored(f"d.t@{ours[snapshot]}", root)
        assert rows == oracle(table, snapshot), snapshot
        ask_both_ways(f"'iceberg:{root}/in/n/t@{snapshot}'", most=6)


def refused(lake: Path, error: type[Exception], *words: str) -> None:
    before = sorted(path.name for path in (lake / "db/d/t").rglob("*") if "versions" in str(path))
    with pytest.raises(error) as raised:
        sync(lake)
    message = str(raised.value)
    assert "\n" not in message
    assert all(word in message for word in words), message
    after = sorted(path.name for path in (lake / "db/d/t").rglob("*") if "versions" in str(path))
    assert before == after


@pytest.mark.parametrize("is_partitioned", [False, True])
def test_versions_one_by_one(catalog: SqlCatalog, lake: Path, is_partitioned: bool) -> None:
    rows = people(0, 30)
    table = catalog.create_table("n.t", rows.schema)
    if is_partitioned:
        with table.update_spec() as update:
            update.add_identity("p")
    assert sync(lake).is_nothing
    table.append(rows)
    assert versions(sync(lake)) == snapshots(table)
    table.append(people(30, 5))
    table.delete("id < 4")
    table.overwrite(people(100, 2), overwrite_filter="p = 'a'")
    with table.update_schema() as update:
        update.add_column("more", LongType())
    table.append(pa.Table.from_pylist([{"id": 200, "p": "a", "more": 5}]))
    table.delete("p = 'b'")
    later = versions(sync(lake))
    assert [*later] == snapshots(table)[1:]
    same(lake, table, *snapshots(table))
    assert sync(lake).is_nothing
    entry = next(sdb.connect(str(lake)).table("d.t").log())
    operation = table.current_snapshot().summary.operation.value
    assert entry.message == f"version {later[-1]} of iceberg+file://in/n/t: {operation}"


def test_columns_that_are_renamed(catalog: SqlCatalog, lake: Path, heard: list[str]) -> None:
    table = catalog.create_table("n.t", people(0, 1).schema)
    table.append(people(0, 5))
    table.append(people(5, 5))
    sync(lake)
    with table.update_schema() as update:
        update.rename_column("p", "part")
        update.rename_column("s.x", "inner")
        update.add_column("new", LongType())
    renamed = sync(lake)
    assert (renamed.rows, renamed.rows_removed) == (10, 10)
    assert any("it names columns anew" in text for text in heard)
    assert stored("d.t", lake) == oracle(table)
    assert sync(lake).is_nothing
    with table.update_schema() as update:
        update.add_column("another", LongType())
    assert sync(lake).is_nothing
    ask_both_ways(f"'iceberg:{lake}/in/n/t'", most=60)
    with table.update_schema(allow_incompatible_changes=True) as update:
        update.delete_column("id")
    assert sync(lake).rows == 10
    assert stored("d.t", lake) == oracle(table)


def test_snapshots_that_expired(catalog: SqlCatalog, lake: Path, heard: list[str]) -> None:
    table = catalog.create_table("n.t", people(0, 1).schema)
    for start in range(0, 15, 3):
        table.append(people(start, 3))
        if start == 3:
            sync(lake)
    old = snapshots(table)[1:-1]
    table.maintenance.expire_snapshots().by_ids(old).commit()
    table = catalog.load_table("n.t")
    newest = table.current_snapshot().snapshot_id
    assert versions(sync(lake)) == [newest]
    assert any("has not all versions since" in text for text in heard)
    assert stored("d.t", lake) == oracle(table)


def test_files_without_ids(catalog: SqlCatalog, lake: Path) -> None:
    """Files that `add_files` takes have names only."""
    table = catalog.create_table("n.t", people(0, 1).schema)
    with table.update_spec() as update:
        update.add_identity("p")
    folder = lake / "in/n/t/old"
    folder.mkdir(parents=True)
    for number, letter in enumerate("ab"):
        rows = pa.Table.from_pylist([{"id": 7 + number, "p": letter, "s": {"x": 1, "y": [2]}}])
        pq.write_table(rows, folder / f"{letter}.parquet")
    table.add_files([(folder / f"{letter}.parquet").as_uri() for letter in "ab"])
    with table.update_schema() as update:
        update.rename_column("id", "number")
        update.rename_column("s.x", "inner")
    sync(lake)
    assert stored("d.t", lake) == oracle(table)


def test_values_of_partitions_that_files_lack(tmp_path: Path) -> None:
    """Files of a table that was migrated from Hive lack the columns of their folders."""
    file = tmp_path / "x.parquet"
    pq.write_table(pa.table({"id": [1, 2]}), file)
    columns = tuple(
        LakeColumn(name, name, LakeType(kind), number)
        for number, (name, kind) in enumerate({"id": "long", "day": "date", "n": "integer"}.items())
    )
    values = (("day", "2026-11-27"), ("n", None))
    described = LakeFile("x.parquet", str(file), file.stat().st_size, values)
    rows = LakeRows(LakeFolder(str(tmp_path)), described, LakeColumns(columns))
    [batch] = rows.batches()
    day = date(2026, 11, 27)
    assert batch.to_pylist() == [{"id": n, "day": day, "n": None} for n in (1, 2)]


class _DeletesWriter(ManifestWriterV2):
    def content(self) -> ManifestContent:
        return ManifestContent.DELETES

    @property
    def _meta(self) -> dict[str, str]:
        return {**super()._meta, "content": "deletes"}


def newest_metadata(path: Path) -> Path:
    return max((path / "metadata").glob("*.metadata.json"))


def with_deletes(table: Table, file: Path, content: DataFileContent, count: int) -> Table:
    """Commit a file of deletes by hand, with metadata in a new file; gives the table."""
    metadata_path = newest_metadata(Path(table.location().removeprefix("file://")))
    metadata = json.loads(metadata_path.read_text())
    folder, files = metadata_path.parent, PyArrowFileIO()
    snapshot = table.current_snapshot()
    number, sequence = snapshot.snapshot_id + 1, metadata["last-sequence-number"] + 1
    deleting = DataFile.from_args(
        content=content,
        file_path=file.as_uri(),
        file_format=FileFormat.PARQUET,
        partition=Record(),
        record_count=count,
        file_size_in_bytes=file.stat().st_size,
        equality_ids=[1] if content == DataFileContent.EQUALITY_DELETES else None,
    )
    deleting.spec_id = table.spec().spec_id
    output = files.new_output((folder / f"deletes-{number}.avro").as_uri())
    facts = (table.spec(), table.schema(), output, number, "null")
    with _DeletesWriter(*facts) as writer:
        entry = ManifestEntry.from_args(
            status=ManifestEntryStatus.ADDED,
            snapshot_id=number,
            sequence_number=None,
            data_file=deleting,
        )
        writer.add_entry(entry)
    listed = files.new_output((folder / f"snap-{number}.avro").as_uri())
    with write_manifest_list(
        2, listed, number, snapshot.snapshot_id, sequence, "null"
    ) as manifests:
        known = snapshot.manifests(files)
        manifests.add_manifests([*known, writer.to_manifest_file()])
    added = {
        "snapshot-id": number,
        "parent-snapshot-id": snapshot.snapshot_id,
        "sequence-number": sequence,
        "timestamp-ms": metadata["last-updated-ms"] + 1,
        "manifest-list": (folder / f"snap-{number}.avro").as_uri(),
        "summary": {"operation": "delete"},
        "schema-id": metadata["current-schema-id"],
    }
    metadata["snapshots"].append(added)
    metadata["snapshot-log"].append({"snapshot-id": number, "timestamp-ms": added["timestamp-ms"]})
    metadata["current-snapshot-id"] = number
    metadata["last-sequence-number"] = sequence
    metadata["last-updated-ms"] = added["timestamp-ms"]
    metadata["refs"]["main"]["snapshot-id"] = number
    following = int(metadata_path.name.partition("-")[0]) + 1
    new = folder / f"{following:05}-{number:032x}.metadata.json"
    new.write_text(json.dumps(metadata))
    return StaticTable.from_metadata(str(new))


def test_position_deletes(catalog: SqlCatalog, lake: Path) -> None:
    table = catalog.create_table("n.t", people(0, 1).schema)
    table.append(people(0, 20))
    table.append(people(20, 20))
    sync(lake)
    path = lake / "in/n/t"
    files = [task.file.file_path for task in table.scan().plan_files()]
    for number, positions in enumerate(([0, 5, 19], [5, 6])):
        file = path / f"data/deletes-{number}.parquet"
        deleted = {"file_path": [files[0]] * len(positions), "pos": positions}
        pq.write_table(pa.table(deleted), file)
        table = with_deletes(table, file, DataFileContent.POSITION_DELETES, len(positions))
        assert sum(oracle(table).values()) == (37, 36)[number]
    synced = sync(lake)
    # Files without deleted rows are not read again.
    assert [(taken.rows, taken.rows_removed) for taken in synced.sources] == [(17, 20), (16, 17)]
    newest = table.current_snapshot()
    assert versions(synced) == [newest.parent_snapshot_id, newest.snapshot_id]
    same(lake, table, *versions(synced))
    assert stored(f"'iceberg:{path}'") == oracle(table)


def test_equality_deletes_are_refused(catalog: SqlCatalog, lake: Path) -> None:
    table = catalog.create_table("n.t", people(0, 1).schema)
    table.append(people(0, 20))
    sync(lake)
    file = lake / "in/n/t/data/deletes.parquet"
    pq.write_table(pa.table({"id": [3]}), file)
    with_deletes(table, file, DataFileContent.EQUALITY_DELETES, 1)
    refused(lake, UnsupportedError, "deletes.parquet: equality deletes of Iceberg")


def test_damage(catalog: SqlCatalog, lake: Path) -> None:
    refused(lake, NotFoundError, "in/n/t: there is no Iceberg table")
    table = catalog.create_table("n.t", people(0, 1).schema)
    table.append(people(0, 20))
    sync(lake)
    table.append(people(20, 5))
    path = lake / "in/n/t"
    newest = newest_metadata(path)
    text = newest.read_bytes()
    newest.write_bytes(text[:-20])
    refused(lake, CorruptError, newest.name, "the metadata are damaged")
    newest.write_bytes(text)
    twin = newest.parent / f"{newest.name.partition('-')[0]}-{'ab' * 16}.metadata.json"
    twin.write_bytes(text)
    refused(lake, CorruptError, "two metadata files may be the newest", newest.name, twin.name)
    twin.unlink()
    manifest = Path(
        table.current_snapshot().manifests(table.io)[0].manifest_path.removeprefix("file://")
    )
    data = manifest.read_bytes()
    manifest.write_bytes(data[: len(data) // 2])
    refused(lake, CorruptError, manifest.name, "the metadata are damaged")
    manifest.unlink()
    refused(lake, NotFoundError, manifest.name, "no such file")
    manifest.write_bytes(data)
    files = {task.file.file_path for task in table.scan().plan_files()}
    added = max(files, key=lambda uri: Path(uri.removeprefix("file://")).stat().st_mtime)
    file = Path(added.removeprefix("file://"))
    rows = file.read_bytes()
    file.unlink()
    refused(lake, NotFoundError, "a file of version", file.name)
    file.write_bytes(rows)
    assert sync(lake).rows == 5
    assert stored("d.t", lake) == oracle(table)


def test_a_snapshot_has_the_columns_that_it_had(catalog: SqlCatalog, lake: Path) -> None:
    table = catalog.create_table("n.t", people(0, 1).schema)
    table.append(people(0, 20))
    [snapshot] = snapshots(table)
    with table.update_schema() as update:
        update.rename_column("p", "letter")
    source = f"iceberg:{lake}/in/n/t"
    assert stored(f"'{source}@{snapshot}'") == packed(people(0, 20))
    assert stored(f"'{source}'") == oracle(table)


def counted(lake: Path) -> int:
    with sdb.sql(f"SELECT COUNT(*) AS n FROM 'iceberg:{lake}/in/n/t'") as result:
        return int(next(iter(result))["n"])


def test_metadata_without_a_catalog(catalog: SqlCatalog, lake: Path) -> None:
    table = catalog.create_table("n.t", people(0, 1).schema)
    table.append(people(0, 20))
    table.append(people(20, 5))
    folder = lake / "in/n/t/metadata"
    files = sorted(folder.glob("*.metadata.json"))
    files[2].rename(folder / "newest.metadata.json")
    with pytest.raises(CorruptError, match=r"no number tells how old newest\.metadata\.json is"):
        counted(lake)
    (folder / "version-hint.text").write_text("newest\n")
    assert counted(lake) == 25
    newest = (folder / "newest.metadata.json").read_bytes()
    (folder / "newest.metadata.json").unlink()
    (folder / "v2.gz.metadata.json").write_bytes(gzip.compress(newest))
    with pytest.raises(CorruptError, match=r"version-hint\.text says 'newest'"):
        counted(lake)
    for hint in ("2", "1"):  # what writes the hint may have been killed before
        (folder / "version-hint.text").write_text(hint)
        assert counted(lake) == 25
    files[1].rename(folder / "00007-later.metadata.json")
    (folder / "version-hint.text").write_text("2")
    with pytest.raises(CorruptError, match=r"and 00007-later\.metadata\.json has a higher number"):
        counted(lake)
    (folder / "version-hint.text").unlink()
    assert counted(lake) == 20  # the highest number


def test_places(lake: Path, tmp_path: Path) -> None:
    other = SqlCatalog("o", uri=f"sqlite:///{tmp_path}/o.db", warehouse=f"file://{tmp_path}/away")
    other.create_namespace("n")
    table = other.create_table("n.t", people(0, 1).schema)
    table.append(people(0, 20))
    (lake / "in/n").mkdir(parents=True)
    (lake / "in/n/t").symlink_to(tmp_path / "away/n/t")
    refused(lake, OutsideError, "leads out of the root")
    (lake / "in/n/t").unlink()
    # A table that was copied is read where it is, and not where its metadata say that it was.
    (tmp_path / "away/n/t").rename(lake / "in/n/t")
    assert sync(lake).rows == 20
    metadata = newest_metadata(lake / "in/n/t")
    elsewhere = json.loads(metadata.read_text()) | {"location": "file:///nowhere"}
    metadata.write_text(json.dumps(elsewhere))
    (lake / "db/d/t/index").unlink()
    refused(lake, OutsideError, "leads out of the root")


def test_queries(run: Run, catalog: SqlCatalog, lake: Path) -> None:
    table = catalog.create_table("n.t", people(0, 1).schema)
    table.append(people(0, 20))
    first = newest_metadata(lake / "in/n/t")
    table.append(people(20, 5))

    def count(source: str) -> bytes:
        done = run("query", "--fmt", "json", f"SELECT COUNT(*) AS n FROM '{source}'")
        assert done.returncode == 0, done.stderr
        return bytes(done.stdout)

    assert b"25" in count("iceberg:lake/in/n/t")
    assert b"20" in count(f"iceberg:lake/in/n/t@{snapshots(table)[0]}")
    assert b"20" in count(f"iceberg:{first}")
    done = run("pack", "-o", "x.zion", "iceberg+file://lake/in/n/t")
    assert done.returncode == 0, done.stderr
    assert stored(f"'{lake.parent}/x.zion'") == oracle(table)
    done = run("query", "SELECT * FROM 'iceberg:lake/in/n/t@7'")
    assert (done.returncode, b"there is no snapshot 7" in done.stderr) == (3, True)
    made = run("create", "d.u", "--root", "lake", "--input", "iceberg:in/n/t")
    assert b"iceberg+file://in/n/t finds 2 inputs" in made.stderr


def test_types(catalog: SqlCatalog, tmp_path: Path) -> None:
    moment = datetime(2026, 11, 27, 1, 2, 3, 4567, tzinfo=UTC)
    rows = pa.table(
        {
            "int": pa.array([1, None], pa.int32()),
            "float": pa.array([1.5, None], pa.float32()),
            "bool": pa.array([True, None]),
            "binary": pa.array([b"\x00\xff", None], pa.large_binary()),
            "date": pa.array([date(2026, 11, 27), None]),
            "at": pa.array([moment, None], pa.timestamp("us", "UTC")),
            "local": pa.array([moment.replace(tzinfo=None), None], pa.timestamp("us")),
            "decimal": pa.array([None, "7.25"], pa.string()).cast(pa.decimal128(10, 2)),
            "map": pa.array([[("k", 1)], None], pa.map_(pa.string(), pa.int64())),
        }
    )
    for number, name in enumerate([None, *rows.column_names[:-1]]):
        table = catalog.create_table(f"n.t{number}", rows.schema)
        if name is not None and name != "float":
            with table.update_spec() as update:
                update.add_identity(name)
        table.append(rows)
        path = tmp_path / f"lake/in/n/t{number}"
        assert stored(f"'iceberg:{path}'") == packed(rows), name


def test_without_pyiceberg(
    catalog: SqlCatalog, lake: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    catalog.create_table("n.t", people(0, 1).schema).append(people(0, 3))
    monkeypatch.delitem(sys.modules, "sdb.iceberg.storedfiles", raising=False)
    monkeypatch.setitem(sys.modules, "pyiceberg.io", None)
    with pytest.raises(UnsupportedError, match="need the package pyiceberg") as raised:
        sync(lake)
    assert raised.value.hint == "pip install 'sdb-packfile[iceberg]'"
