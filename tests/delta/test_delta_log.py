"""The log of a Delta table in forms that other writers choose."""

from __future__ import annotations

import json
import uuid
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable

import sdb
from sdb.delta.versions import DeltaVersions
from sdb.errors import CorruptError, NotFoundError, UnsupportedError
from sdb.lake.access import LakeFolder, location_of
from sdb.lake.names import lake_name
from sdb.lake.partitions import partition_value
from tests.lake.made import actions, commit, oracle, stored, write

if TYPE_CHECKING:
    from pathlib import Path


def written(path: Path, count: int = 6) -> Path:
    for number in range(count):
        write(path, [{"n": 10 * number + more, "p": "ab"[more % 2]} for more in range(4)])
    return path


def opened(path: Path, **options: Any) -> DeltaVersions:
    return DeltaVersions(LakeFolder(str(path)), **options)


def without_commits(path: Path, before: int) -> None:
    for version in range(before):
        (path / f"_delta_log/{version:020}.json").unlink()


def state(path: Path, version: int) -> list[dict[str, Any]]:
    """Return the actions that a checkpoint of a version has; files are only added here."""
    all_actions = [action for number in range(version + 1) for action in actions(path, number)]
    [protocol] = [action for action in all_actions if "protocol" in action]
    [metadata] = [action for action in all_actions if "metaData" in action]
    return [protocol, metadata, *[action for action in all_actions if "add" in action]]


def to_parquet(rows: list[dict[str, Any]], file: Path) -> None:
    """Write actions of added files as a Parquet file of a checkpoint."""
    values = pa.map_(pa.string(), pa.string())
    fields = [
        ("path", pa.string()),
        ("size", pa.int64()),
        ("partitionValues", values),
        ("modificationTime", pa.int64()),
        ("dataChange", pa.bool_()),
    ]
    adds = [
        {name: row["add"][name] for name, _ in fields} | {"partitionValues": []} for row in rows
    ]
    table = pa.table({"add": pa.array(adds, pa.struct([pa.field(*field) for field in fields]))})
    pq.write_table(table, file)


def test_checkpoint_of_version_2(tmp_path: Path) -> None:
    """A checkpoint of JSON whose files are in sidecars."""
    path = written(tmp_path / "t")
    before = oracle(path)
    protocol, metadata, *adds = state(path, 4)
    features = ["v2Checkpoint"]
    protocol["protocol"] = {
        "minReaderVersion": 3,
        "minWriterVersion": 7,
        "readerFeatures": features,
    }
    protocol["protocol"]["writerFeatures"] = features
    log = path / "_delta_log"
    (log / "_sidecars").mkdir()
    sidecars = []
    for number, part in enumerate((adds[:2], adds[2:])):
        name = f"{uuid.uuid4()}.parquet"
        to_parquet(part, log / "_sidecars" / name)
        size = (log / "_sidecars" / name).stat().st_size
        sidecars.append(
            {"sidecar": {"path": name, "sizeInBytes": size, "modificationTime": number}}
        )
    lines = [{"checkpointMetadata": {"version": 4}}, protocol, metadata, *sidecars]
    text = "".join(f"{json.dumps(line)}\n" for line in lines)
    (log / f"{4:020}.checkpoint.{uuid.uuid4()}.json").write_text(text)
    without_commits(path, 5)
    assert stored(f"'delta:{path}'") == before
    with pytest.raises(NotFoundError, match="there is no version 3: there are 4 to 5"):
        opened(path).at(3)
    [*_, last] = (log / "_sidecars").iterdir()
    last.unlink()
    with pytest.raises(NotFoundError, match="_sidecars"):
        opened(path).at()


def test_checkpoint_in_parts(tmp_path: Path) -> None:
    path = written(tmp_path / "t")
    before = oracle(path)
    DeltaTable(str(path)).create_checkpoint()
    log = path / "_delta_log"
    [whole] = log.glob("*.checkpoint.parquet")
    table = pq.read_table(whole)
    half = table.num_rows // 2
    names = [log / f"{5:020}.checkpoint.{n:010}.{2:010}.parquet" for n in (1, 2)]
    pq.write_table(table.slice(0, half), names[0])
    pq.write_table(table.slice(half), names[1])
    whole.unlink()
    (log / "_last_checkpoint").write_text(json.dumps({"version": 5, "parts": 2}))
    write(path, [{"n": 1000, "p": "a"}])
    without_commits(path, 6)
    assert len(opened(path).at().files) == 7
    assert sum(stored(f"'delta:{path}'").values()) == sum(before.values()) + 1
    names[1].unlink()  # as of a writer that was killed
    with pytest.raises(NotFoundError, match="there is no version 6"):
        opened(path).at()


@pytest.mark.parametrize("hint", ['{"version": 99}', "{", "", '{"version": "x"}', '{"version": 3}'])
def test_a_hint_that_is_wrong(tmp_path: Path, hint: str) -> None:
    path = written(tmp_path / "t")
    (path / "_delta_log/_last_checkpoint").write_text(hint)
    log = opened(path)
    assert (log.latest, len(log.at().files), len(log.at(1).files)) == (5, 6, 2)


def test_a_log_that_is_listed_from_a_version_on(tmp_path: Path) -> None:
    path = written(tmp_path / "t")
    log = opened(path, since=3)
    assert log.newer_than(3) == [4, 5]
    assert len(log.change(4).added) == 1
    assert len(log.at(2).files) == 3
    assert opened(path, since=77).latest == 5
    with pytest.raises(NotFoundError, match="there is no version 6: there are 0 to 5"):
        log.at(6)


def test_no_metadata(tmp_path: Path) -> None:
    path = written(tmp_path / "t", 1)
    [add] = [action for action in actions(path, 0) if "add" in action]
    commit(path, 0, [add])
    with pytest.raises(CorruptError, match="the log has no metadata of the table"):
        opened(path).at()


def test_a_table_that_has_no_columns_at_first(tmp_path: Path) -> None:
    path = written(tmp_path / "t", 2)
    before = oracle(path)
    first, second = actions(path, 0), actions(path, 1)
    [metadata] = [action for action in first if "metaData" in action]
    begun = json.loads(json.dumps(metadata))
    del begun["metaData"]["schemaString"]
    others = [action for action in first if "add" not in action and "metaData" not in action]
    adds = [action for action in first if "add" in action]
    commit(path, 0, [*others, begun])
    commit(path, 1, [metadata, *adds, *second])
    log = opened(path)
    assert (log.at(0).columns.columns, len(log.at(0).files), len(log.at(1).files)) == ((), 0, 2)
    assert not log.change(1).renames
    assert stored(f"'delta:{path}'") == before


def test_actions_on_several_lines(tmp_path: Path) -> None:
    path = written(tmp_path / "t", 2)
    before = oracle(path)
    for version in (0, 1):
        file = path / f"_delta_log/{version:020}.json"
        file.write_text("\n\n".join(json.dumps(each, indent=2) for each in actions(path, version)))
    assert stored(f"'delta:{path}'") == before
    text = file.read_text()
    file.write_text(text[:-1])
    with pytest.raises(CorruptError, match=r"00001\.json, line [0-9]+: cut off or malformed"):
        opened(path).at()


def test_binary_values_of_partitions() -> None:
    assert partition_value("binary", "a\u00ff").as_py() == b"a\xff"
    assert partition_value("binary", "\u0416\u00ff").as_py() == "\u0416\u00ff".encode()


def variants(path: Path, fields: list[tuple[str, Any]], values: list[Any]) -> None:
    """Make a table with a column of variants."""
    kind = pa.struct([pa.field(name, type_) for name, type_ in fields])
    path.joinpath("_delta_log").mkdir(parents=True)
    pq.write_table(pa.table({"v": pa.array(values, kind)}), path / "x.parquet")
    schema = {"type": "struct", "fields": [{"name": "v", "type": "variant", "nullable": True}]}
    metadata = {"id": "a", "format": {"provider": "parquet"}, "partitionColumns": []}
    metadata |= {"configuration": {}, "schemaString": json.dumps(schema)}
    features = {"readerFeatures": ["variantType"], "writerFeatures": ["variantType"]}
    protocol = {"minReaderVersion": 3, "minWriterVersion": 7} | features
    add = {"path": "x.parquet", "partitionValues": {}, "dataChange": True, "modificationTime": 1}
    add["size"] = (path / "x.parquet").stat().st_size
    commit(path, 0, [{"protocol": protocol}, {"metaData": metadata}, {"add": add}])


def test_variants(tmp_path: Path) -> None:
    path = tmp_path / "t"
    empty = b"\x01\x00\x00"  # a dictionary without names
    parts = [("metadata", pa.binary()), ("value", pa.binary())]
    values = [
        {"metadata": empty, "value": b"\x0c\x05"},
        None,
        {"metadata": empty, "value": b"\x0dhey"},
    ]
    variants(path, parts, values)
    with sdb.sql(f"SELECT * FROM 'delta:{path}'") as result:
        assert [dict(row)["v"] for row in result] == [5, None, "hey"]


def test_variants_in_pieces_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "t"
    parts = [("metadata", pa.binary()), ("value", pa.binary()), ("typed_value", pa.int64())]
    variants(path, parts, [{"metadata": b"\x01\x00\x00", "value": None, "typed_value": 7}])
    with pytest.raises(UnsupportedError, match=r"v: a variant in pieces \(shredded\)"):
        sdb.sql(f"SELECT * FROM 'delta:{path}'")


def test_paths_of_files(tmp_path: Path) -> None:
    folder = LakeFolder(str(tmp_path))
    assert folder.resolve("a%20b/c%25d.parquet")[0] == "a b/c%d.parquet"
    assert folder.resolve((tmp_path / "x y").as_uri()) == ("x y", f"{tmp_path}/x y")
    assert folder.resolve("file:/elsewhere/x") == ("file:///elsewhere/x", "/elsewhere/x")
    bucket = LakeFolder("s3://b/t")
    assert bucket.resolve("s3a://b/t/x") == ("x", "s3://b/t/x")
    assert bucket.resolve("s3://c/x") == ("s3://c/x", "s3://c/x")
    with pytest.raises(UnsupportedError, match="there is no store for abfss://"):
        location_of("abfss://container@account/x")
    with pytest.raises(CorruptError, match="without a name"):
        folder.resolve("")


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("delta:a/b@3", ("delta", "a/b", 3)),
        ("delta:a@b", ("delta", "a@b", None)),
        ("delta+s3://b/t@12", ("delta", "s3://b/t", 12)),
        ("delta+file:///a/", ("delta", "/a", None)),
        ("iceberg:s3://b/t", ("iceberg", "s3://b/t", None)),
        ("delta:", None),
        ("delta+x", None),
        ("deltas:x", None),
        ("a.json", None),
    ],
)
def test_names(text: str, name: tuple[str, str, int | None] | None) -> None:
    read = lake_name(text)
    assert (None if read is None else (read.kind, read.location, read.version)) == name
    if read is not None:
        assert lake_name(str(read)) == read
