"""`sdb sync` of Delta tables: each of their versions is one of ours, with the same rows."""

from __future__ import annotations

import json
import shutil
import threading
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable

import sdb
from sdb import notes
from sdb.errors import ConflictError, CorruptError, InputError, NotFoundError, UnsupportedError
from sdb.table.catalog.handle import open_table
from sdb.table.catalog.root import table_root
from sdb.table.inputs.places import OutsideError
from sdb.table.sync.status import InputState, input_states
from sdb.table.sync.sync import sync_table
from tests.lake.bothways import ask_both_ways
from tests.lake.made import actions, commit, delete_by_vector, oracle, stored, write

CONFIGURATION = {"delta.enableDeletionVectors": "true"}


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    """Make a root with a table d.t that takes the Delta table in/t."""
    root = tmp_path / "lake"
    (root / "in").mkdir(parents=True)
    create(root, "delta+file://in/t")
    return root


@pytest.fixture
def heard() -> list[str]:
    """Collect what users are told."""
    texts: list[str] = []
    notes.listen(texts.append, details=False)
    return texts


def create(root: Path, *patterns: str, **more: Any) -> None:
    definition = {"input": [{"pattern": pattern} for pattern in patterns]} | more
    folder = root / "db/d/t"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "definition.json").write_text(json.dumps(definition))


def sync(root: Path, **options: Any) -> Any:
    return sync_table(table_root(str(root)), "d", "t", **options)


def versions(synced: Any) -> list[int]:
    return [taken.source_version for taken in synced.sources]


def same(root: Path, *wanted: int, path: Path | None = None) -> None:
    """Check that versions have the rows that deltalake reads."""
    log = sdb.connect(str(root)).table("d.t").log()
    ours = {int(entry.message.split()[1]): entry.version for entry in log if entry.message}
    for version in wanted:
        rows = stored(f"d.t@{ours[version]}", root)
        assert rows == oracle(path or root / "in/t", version), version
        ask_both_ways(f"'delta:{path or root / 'in/t'}@{version}'", most=6)


def people(start: int, count: int, **more: Any) -> pa.Table:
    ids = range(start, start + count)
    letters = ["a", "b", "c d", "ä/=", None]
    return pa.Table.from_pylist(
        [{"id": n, "p": letters[n % 5], "name": f"n{n}"} | more for n in ids]
    )


def begin(path: Path, count: int = 40, **options: Any) -> DeltaTable:
    write(path, people(0, count), **{"configuration": CONFIGURATION, **options})
    return DeltaTable(str(path))


def test_versions_one_by_one(lake: Path) -> None:
    path = lake / "in/t"
    begin(path, partition_by=["p"])
    first = sync(lake)
    assert versions(first) == [0]
    DeltaTable(str(path)).delete("id % 7 = 0")
    DeltaTable(str(path)).update(updates={"name": "'changed'"}, predicate="id > 30")
    source = people(35, 10)
    merge = DeltaTable(str(path)).merge(source, "t.id = s.id", source_alias="s", target_alias="t")
    merge.when_matched_update_all().when_not_matched_insert_all().execute()
    write(path, people(100, 5, more=1.5), schema_mode="merge")
    DeltaTable(str(path)).optimize.compact()
    DeltaTable(str(path)).create_checkpoint()
    DeltaTable(str(path)).alter.set_table_properties({"delta.appendOnly": "false"})
    write(path, people(300, 20), mode="overwrite", schema_mode="overwrite")
    write(path, people(400, 5))
    later = sync(lake)
    # A version that changes no files makes none of ours.
    assert versions(later) == [1, 2, 3, 4, 5, 7, 8]
    assert [taken.version for taken in later.sources] == list(range(2, 9))
    same(lake, 0, 1, 2, 3, 4, 5, 7, 8)
    assert sync(lake).is_nothing
    entry = next(sdb.connect(str(lake)).table("d.t").log())
    assert entry.message == "version 8 of delta+file://in/t: WRITE"


def test_a_sync_after_each_version(lake: Path) -> None:
    path = lake / "in/t"
    begin(path)
    for number in range(1, 8):
        sync(lake)
        if number % 3 == 2:
            DeltaTable(str(path)).delete(f"id % 11 = {number}")
        elif number % 3 == 1:
            write(path, people(100 * number, 10))
        else:
            DeltaTable(str(path)).optimize.compact()
    assert sync(lake).sources
    same(lake, *range(DeltaTable(str(path)).version() + 1))


def test_first_sync_takes_newest(lake: Path, heard: list[str]) -> None:
    path = lake / "in/t"
    begin(path)
    write(path, people(40, 5))
    assert versions(sync(lake)) == [1]
    assert "delta+file://in/t: the first sync takes version 1 as a whole" in heard
    same(lake, 1)


def test_a_log_that_expired(lake: Path, heard: list[str]) -> None:
    path = lake / "in/t"
    begin(path)
    sync(lake)
    for number in range(1, 5):
        write(path, people(100 * number, 3))
    DeltaTable(str(path)).delete("id < 10")
    DeltaTable(str(path)).create_checkpoint()
    for version in range(5):
        (path / f"_delta_log/{version:020}.json").unlink()
    write(path, people(900, 3))
    assert versions(sync(lake)) == [6]
    why = "its log has not all versions since 0 any more: version 6 is taken in one step"
    assert f"delta+file://in/t: {why}" in heard
    same(lake, 6)
    write(path, people(950, 3))
    assert versions(sync(lake)) == [7]


def test_another_table_in_its_place(lake: Path, heard: list[str]) -> None:
    path = lake / "in/t"
    begin(path)
    write(path, people(40, 4))
    sync(lake)
    shutil.rmtree(path)
    for number in range(3):
        write(path, people(1000 + number, 1))
    assert versions(sync(lake)) == [2]
    assert any("another table than the one that was taken" in text for text in heard)
    same(lake, 2)


def test_a_table_that_was_set_back(lake: Path) -> None:
    path = lake / "in/t"
    begin(path)
    write(path, people(40, 4))
    write(path, people(50, 4))
    sync(lake)
    (path / f"_delta_log/{2:020}.json").unlink()
    assert versions(sync(lake)) == [1]
    same(lake, 1)


@pytest.mark.parametrize("storage", ["u", "p", "i"])
def test_deletion_vectors(lake: Path, storage: str) -> None:
    path = lake / "in/t"
    begin(path, 200)
    sync(lake)
    delete_by_vector(path, 1, storage, [0, 3, 199])
    assert versions(sync(lake)) == [1]
    delete_by_vector(path, 2, storage, [0, 3, 7, *range(50, 90), 199], runs=True)
    again = sync(lake)
    assert (again.rows, again.rows_removed) == (200 - 44, 197)
    same(lake, 0, 1, 2)
    assert len(stored(f"'delta:{path}@1'")) == 197


def test_restored_rows_come_back(lake: Path) -> None:
    path = lake / "in/t"
    begin(path, 50)
    delete_by_vector(path, 1, "u", [1, 2])
    sync(lake)
    DeltaTable(str(path)).restore(0)
    assert versions(sync(lake)) == [2]
    same(lake, 2)


def test_columns_by_name(lake: Path, heard: list[str]) -> None:
    path = lake / "in/t"
    begin(path, partition_by=["p"], configuration={"delta.columnMapping.mode": "name"})
    sync(lake)
    same(lake, 0)
    metadata = next(action for action in actions(path, 0) if "metaData" in action)
    schema = json.loads(metadata["metaData"]["schemaString"])
    schema["fields"][2]["name"] = "called"  # was name
    schema["fields"][1]["name"] = "part"  # was p, a partition column
    metadata["metaData"]["schemaString"] = json.dumps(schema)
    metadata["metaData"]["partitionColumns"] = ["part"]
    commit(path, 1, [{"commitInfo": {"operation": "RENAME COLUMN"}}, metadata])
    del schema["fields"][2]
    metadata["metaData"]["schemaString"] = json.dumps(schema)
    commit(path, 2, [{"commitInfo": {"operation": "DROP COLUMNS"}}, metadata])
    assert versions(sync(lake)) == [1, 2]
    assert any("version 1 names columns anew: all rows are read" in text for text in heard)
    same(lake, 0, 1, 2)


def test_columns_by_id(lake: Path) -> None:
    path = lake / "in/t"
    begin(path, 5, configuration={"delta.columnMapping.mode": "name"})
    metadata = next(action for action in actions(path, 0) if "metaData" in action)
    configuration = metadata["metaData"]["configuration"]
    configuration["delta.columnMapping.mode"] = "id"
    schema = json.loads(metadata["metaData"]["schemaString"])
    ids = {field["name"]: field["metadata"]["delta.columnMapping.id"] for field in schema["fields"]}
    # Names that do not fit: ids count.
    nested = pa.struct([pa.field("zz", pa.int64(), metadata={"PARQUET:field_id": "21"})])
    schema["fields"].append(
        {
            "name": "s",
            "nullable": True,
            "type": {
                "type": "struct",
                "fields": [
                    {
                        "name": "inner",
                        "type": "long",
                        "nullable": True,
                        "metadata": {
                            "delta.columnMapping.id": 21,
                            "delta.columnMapping.physicalName": "other",
                        },
                    }
                ],
            },
            "metadata": {"delta.columnMapping.id": 20, "delta.columnMapping.physicalName": "ss"},
        }
    )
    metadata["metaData"]["schemaString"] = json.dumps(schema)
    fields = [
        pa.field("x", pa.string(), metadata={"PARQUET:field_id": str(ids["name"])}),
        pa.field("y", pa.int64(), metadata={"PARQUET:field_id": str(ids["id"])}),
        pa.field("z", nested, metadata={"PARQUET:field_id": "20"}),
        pa.field("dropped", pa.int64(), metadata={"PARQUET:field_id": "99"}),
    ]
    file = path / "by-id.parquet"
    table = pa.table([["ann"], [77], [{"zz": 5}], [1]], schema=pa.schema(fields))
    pq.write_table(table, file)
    add = {"path": file.name, "partitionValues": {}, "size": file.stat().st_size}
    add |= {"modificationTime": 1, "dataChange": True, "stats": json.dumps({"numRecords": 1})}
    commit(path, 1, [metadata, {"add": add}])
    sync(lake)
    with sdb.sql("SELECT * FROM d.t WHERE id = 77", root=str(lake)) as result:
        assert [dict(row) for row in result] == [{"id": 77, "name": "ann", "s": {"inner": 5}}]


def refused(lake: Path, error: type[Exception], *words: str) -> None:
    """Check that a sync fails with one line, and commits nothing."""
    before = open_table(table_root(str(lake)), "d", "t").state.version if known(lake) else 0
    with pytest.raises(error) as raised:
        sync(lake)
    message = str(raised.value)
    assert "\n" not in message
    assert all(word in message for word in words), message
    after = open_table(table_root(str(lake)), "d", "t").state.version if known(lake) else 0
    assert before == after


def known(lake: Path) -> bool:
    return (lake / "db/d/t/index").exists()


def protocol(version: int, *features: str) -> dict[str, Any]:
    protocol = {"minReaderVersion": version, "minWriterVersion": 7, "readerFeatures": [*features]}
    return {"protocol": protocol | {"writerFeatures": [*features]}}


def test_what_is_refused_by_name(lake: Path) -> None:
    path = lake / "in/t"
    begin(path)
    commit(path, 1, [protocol(3, "deletionVectors", "catalogManaged", "timeTravelling")])
    refused(lake, UnsupportedError, "the features catalogManaged, timeTravelling of Delta")
    commit(path, 1, [protocol(4)])
    refused(lake, UnsupportedError, "needs version 4 of the Delta protocol")
    (path / f"_delta_log/{1:020}.json").unlink()
    sync(lake)
    commit(path, 1, [protocol(3, "icebergWriterCompat")])
    refused(lake, UnsupportedError, "the feature icebergWriterCompat of Delta")


def test_damaged_logs(lake: Path) -> None:
    path = lake / "in/t"
    refused(lake, NotFoundError, "in/t: there is no Delta table")
    begin(path)
    sync(lake)
    write(path, people(50, 3))
    newest = path / f"_delta_log/{1:020}.json"
    text = newest.read_bytes()
    newest.write_bytes(text[: len(text) // 2])
    refused(lake, CorruptError, f"_delta_log/{1:020}.json, line", "cut off or malformed")
    newest.write_bytes(b"")
    refused(lake, CorruptError, "the commit is empty")
    newest.write_bytes(b'{"add": {"path": 7, "size": 3}}\n')
    refused(lake, CorruptError, "line 1: cut off or malformed")
    newest.write_bytes(text)
    assert versions(sync(lake)) == [1]
    for number in range(2, 5):
        write(path, people(50 + number, 1))
    DeltaTable(str(path)).create_checkpoint()
    (path / f"_delta_log/{2:020}.json").unlink()
    checkpoint = path / f"_delta_log/{4:020}.checkpoint.parquet"
    data = checkpoint.read_bytes()
    checkpoint.write_bytes(data[:-100])
    refused(lake, CorruptError, "the checkpoint is damaged")
    checkpoint.unlink()
    refused(lake, CorruptError, "the log has no version 2, and later ones")
    checkpoint.write_bytes(data)
    sync(lake)
    same(lake, 4)


def test_damaged_files(lake: Path) -> None:
    path = lake / "in/t"
    begin(path)
    sync(lake)
    write(path, people(50, 3))
    added = next(action["add"] for action in actions(path, 1) if "add" in action)
    file = path / added["path"]
    data = file.read_bytes()
    file.write_bytes(data + b"x")
    refused(lake, CorruptError, "it is another file than the table says")
    file.write_bytes(data[:-8] + bytes(8))
    refused(lake, CorruptError, "cannot read Parquet")
    file.unlink()
    refused(lake, NotFoundError, "delta+file://in/t: a file of version 1 is missing", added["path"])
    file.write_bytes(data)
    delete_by_vector(path, 2, "u", [1, 2])
    [vector] = path.glob("ab/*.bin")
    damaged = bytearray(vector.read_bytes())
    damaged[-6] ^= 1
    vector.write_bytes(damaged)
    with pytest.raises(CorruptError, match="the deletion vector is damaged: wrong checksum"):
        sync(lake)
    same(lake, 1)  # which came before
    delete_by_vector(path, 3, "i", [1, 20_000])
    (path / f"_delta_log/{2:020}.json").write_text('{"commitInfo": {}}\n')
    refused(lake, CorruptError, "row 20,000 of 40 is deleted")


def test_files_that_were_vacuumed(lake: Path, heard: list[str]) -> None:
    path = lake / "in/t"
    begin(path)
    sync(lake)
    write(path, people(50, 30))
    DeltaTable(str(path)).delete("id >= 60")
    DeltaTable(str(path)).delete("id >= 55")
    DeltaTable(str(path)).vacuum(0, dry_run=False, enforce_retention_duration=False)
    assert versions(sync(lake))[-1] == DeltaTable(str(path)).version()
    assert any("files of version 1 are gone" in text for text in heard)
    assert stored("d.t", lake) == oracle(path)


def test_a_version_that_cannot_be_read_is_passed_over(lake: Path, heard: list[str]) -> None:
    path = lake / "in/t"
    begin(path)
    sync(lake)
    write(path, people(50, 30))
    [added] = [action["add"] for action in actions(path, 1) if "add" in action]
    (path / added["path"]).write_bytes(bytes(added["size"]))
    refused(lake, CorruptError, added["path"])  # nothing comes after it
    write(path, people(0, 10), mode="overwrite")
    assert versions(sync(lake)) == [2]
    assert any("version 1 cannot be read (" in text for text in heard)
    same(lake, 0, 2)
    write(path, people(90, 3))
    text = (path / f"_delta_log/{3:020}.json").read_text()
    (path / f"_delta_log/{3:020}.json").write_text("{")
    refused(lake, CorruptError, "cut off or malformed")
    (path / f"_delta_log/{3:020}.json").write_text(text)
    write(path, people(93, 3))
    DeltaTable(str(path)).create_checkpoint()
    (path / f"_delta_log/{3:020}.json").write_text("{")
    assert versions(sync(lake)) == [4]
    assert any("version 3 cannot be read (" in text for text in heard)
    assert sync(lake).is_nothing


def test_rows_that_are_kept(lake: Path) -> None:
    path = lake / "in/t"
    begin(path, partition_by=["p"])
    sync(lake)
    DeltaTable(str(path)).delete("p = 'a'")  # whole files
    staying = sync(lake, vanished="keep")
    assert (versions(staying), staying.rows_removed) == ([1], 0)
    assert sum(stored("d.t", lake).values()) == 40
    delete_by_vector(path, 2, "u", [0])
    with pytest.raises(ConflictError, match="changed after it was taken"):
        sync(lake, changed="fail")
    with pytest.warns(sdb.errors.SdbWarning, match="version 2 deletes rows of 1 file: they stay"):
        assert versions(sync(lake, changed="keep")) == [2]
    DeltaTable(str(path)).optimize.compact()
    write(path, people(60, 1), partition_by=["p"])
    DeltaTable(str(path)).update(updates={"name": "'x'"}, predicate="id = 2")
    with pytest.raises(ConflictError, match="has new files for old ones"):
        sync(lake, vanished="keep")


def test_places(lake: Path, tmp_path: Path) -> None:
    begin(tmp_path / "outside")
    create(lake, "delta+file://../outside")
    refused(lake, OutsideError, "leads out of the root")
    allowed = table_root(str(lake), allow_inputs=str(tmp_path / "outside"))
    assert versions(sync_table(allowed, "d", "t")) == [0]
    create(lake, "delta+file://in/link")
    (lake / "in/link").symlink_to(tmp_path / "outside")
    refused(lake, OutsideError, "leads out of the root")
    (lake / "in/link").unlink()
    create(lake, "delta+file://in/t")
    path = lake / "in/t"
    begin(path)
    add = next(action["add"] for action in actions(path, 0) if "add" in action)
    secret = tmp_path / "outside" / Path(add["path"]).name
    shutil.copy(path / add["path"], secret)
    for uri in (secret.as_uri(), f"../../../outside/{secret.name}"):
        commit(path, 1, [{"add": add | {"path": uri}}])
        refused(lake, OutsideError, "leads out of the root")
    inside = lake / "elsewhere.parquet"
    shutil.copy(secret, inside)
    commit(path, 1, [{"add": add | {"path": inside.as_uri()}}])
    sync(lake)
    assert sum(stored("d.t", lake).values()) == 40 + 80


def test_partitions_of_the_definition(lake: Path) -> None:
    path = lake / "in/t"
    rows = [{"day": f"2026-11-0{n % 3 + 1}", "id": n} for n in range(9)]
    write(path, rows, partition_by=["day"])
    create(lake, "delta+file://in/t", partitions=[{"field": "day", "type": "date"}])
    sync(lake)
    assert len([*(lake / "db/d/t/data").iterdir()]) == 3
    with sdb.sql(
        "SELECT id FROM d.t WHERE day = '2026-11-02' ORDER BY id", root=str(lake)
    ) as result:
        assert [row["id"] for row in result] == [1, 4, 7]
    create(lake, "delta+file://in/t", partitions=[{"field": "hour"}])
    write(path, [{"day": "2026-11-05", "id": 10}])
    refused(lake, InputError, "the table has no partition value 'hour'")


def test_with_other_inputs(lake: Path) -> None:
    path = lake / "in/t"
    begin(path, 5)
    begin(lake / "in/u", 3)
    create(lake, "delta+file://in/t", "file://in/*.json", "delta+file://in/u")
    (lake / "in/a.json").write_text('{"id": 1000}\n')
    synced = sync(lake)
    assert [(taken.source, taken.version) for taken in synced.sources] == [
        ("delta+file://in/t", 1),
        ("delta+file://in/u", 2),
    ]
    assert (synced.version, synced.rows, len(synced.taken)) == (3, 9, 3)
    (lake / "in/a.json").unlink()
    write(path, people(5, 1))
    again = sync(lake)
    assert again.vanished == ("file://in/a.json",)
    assert sum(stored("d.t", lake).values()) == 10
    handle = open_table(table_root(str(lake)), "d", "t")
    states = [status.state for status in input_states(handle, check=True)]
    assert states.count(InputState.TAKEN) == 5
    assert states.count(InputState.VANISHED) == 1


def test_dry_run(lake: Path) -> None:
    path = lake / "in/t"
    begin(path, 5)
    foreseen = sync(lake, dry_run=True)
    assert (foreseen.version, len(foreseen.taken)) == (None, 1)
    sync(lake)
    DeltaTable(str(path)).delete("id = 1")
    write(path, people(9, 1))
    foreseen = sync(lake, dry_run=True)
    assert (foreseen.version, len(foreseen.taken), len(foreseen.deleted)) == (None, 2, 1)
    assert versions(sync(lake)) == [1, 2]


def test_two_syncs_and_a_writer(lake: Path) -> None:
    path = lake / "in/t"
    begin(path, 5)
    failures: list[BaseException] = []
    done = threading.Event()

    def follow() -> None:
        try:
            while not done.is_set():
                sync(lake)
        except BaseException as error:  # noqa: BLE001 - told by the test
            failures.append(error)

    threads = [threading.Thread(target=follow) for _ in range(2)]
    for thread in threads:
        thread.start()
    for number in range(1, 9):
        if number % 3:
            write(path, people(100 * number, 3))
        else:
            DeltaTable(str(path)).delete(f"id = {100 * (number - 1)}")
    done.set()
    for thread in threads:
        thread.join()
    assert not failures, failures
    sync(lake)
    log = sdb.connect(str(lake)).table("d.t").log()
    sources = [int(entry.message.split()[1]) for entry in log if entry.message]
    assert sources == sorted(set(sources), reverse=True)
    assert sources[0] == 8
    same(lake, *sources)


def test_a_long_table_of_checkpoints(lake: Path) -> None:
    """What deltalake cleans up, and what a listing from the newest checkpoint on leaves out."""
    path = lake / "in/t"
    configuration = {"delta.checkpointInterval": "5"}
    begin(path, 5, configuration=configuration)
    sync(lake)
    for number in range(1, 18):
        write(path, people(10 * number, 2))
    assert versions(sync(lake)) == list(range(1, 18))
    for version in (0, 3, 5, 12, 17):
        assert stored(f"'delta:{path}@{version}'") == oracle(path, version)
