"""Mirrors of tables as Delta tables, read by other engines."""

from __future__ import annotations

import json
import threading
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import deltalake
import pytest

import sdb
from sdb.delta.schema import schema_of
from sdb.errors import ConflictError, ExistsError, SdbWarning
from sdb.table.catalog.root import table_root
from tests.exchange.mirrors import (
    READERS,
    by_delta_rs,
    check,
    mirror_rows,
    mirrored,
    table_rows,
    versions,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

TESTDATA = Path(__file__).parents[2] / "testdata"


@pytest.fixture
def lake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SNELLER_INDEX_KEY", "eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHg=")
    folder = tmp_path / "lake"
    folder.mkdir()
    for name in ("web.t", "web.u"):
        sdb.connect(folder).create(name, "file://in/*.json")
    return folder


def insert(lake: Path, rows: Iterable[dict[str, Any]], name: str = "web.t") -> int:
    return sdb.connect(lake).append(name, list(rows)).version


def test_each_version_is_a_commit(lake: Path, tmp_path: Path) -> None:
    at = datetime(2026, 11, 1, 12, 30, 0, 123456, tzinfo=UTC)
    insert(lake, [{"id": 1, "name": "a", "at": at}, {"id": 2, "tags": ["x", "y"]}])
    insert(lake, [{"id": 3, "actor": {"login": "eve", "score": 1.5}}])
    insert(lake, [{"id": 4, "actor": {"login": "bob", "site": True}, "tags": []}])
    db = sdb.connect(lake)
    db.execute("UPDATE web.t SET name = 'b' WHERE id = 3")
    db.execute("DELETE FROM web.t WHERE id = 1")
    mirrored(lake, tmp_path / "m")
    assert versions(tmp_path / "m") == {1: 0, 2: 1, 3: 2, 4: 3, 5: 4}
    check(lake, tmp_path / "m")


def test_a_second_export_writes_nothing(lake: Path, tmp_path: Path) -> None:
    insert(lake, [{"id": 1}])
    mirrored(lake, tmp_path / "m")
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "m").rglob("*")}
    mirrored(lake, tmp_path / "m")
    assert {path: path.stat().st_mtime_ns for path in (tmp_path / "m").rglob("*")} == before
    insert(lake, [{"id": 2}])
    mirror = mirrored(lake, tmp_path / "m")
    assert mirror.update().versions == 0
    check(lake, tmp_path / "m")


def test_versions_of_several_batches_have_no_gaps(
    lake: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, recwarn: pytest.WarningsRecorder
) -> None:
    monkeypatch.setattr("sdb.exchange.mirror._BATCH", 2)
    for number in range(5):
        insert(lake, [{"id": number}])
    mirrored(lake, tmp_path / "m")
    assert versions(tmp_path / "m") == {1: 0, 2: 1, 3: 2, 4: 3, 5: 4}
    assert not [str(warning.message) for warning in recwarn if "expired" in str(warning.message)]
    check(lake, tmp_path / "m")


def test_a_commit_says_which_version_it_is(lake: Path, tmp_path: Path) -> None:
    sdb.connect(lake).append("web.t", [{"id": 1}], author="eve", message="first")
    mirrored(lake, tmp_path / "m")
    table = deltalake.DeltaTable(str(tmp_path / "m"))
    (entry,) = table.history()
    state = sdb.connect(lake).table("web.t")
    logged = next(iter(state.log()))
    assert (entry["sdb.table"], entry["sdb.version"], entry["sdb.id"]) == (
        "web.t",
        1,
        logged.commit,
    )
    assert (entry["userName"], entry["userMetadata"]) == ("eve", "first")
    assert (entry["operation"], entry["sdb.operation"]) == ("WRITE", "insert")
    application = table.metadata().configuration["sdb.id"]
    assert table.transaction_version(application) == 1


def test_compactions_change_no_data(lake: Path, tmp_path: Path) -> None:
    for number in range(9):
        insert(lake, [{"id": number}])
    from sdb.table.maintenance.compact import compact_table

    assert compact_table(table_root(lake), "web", "t").version == 10
    mirrored(lake, tmp_path / "m")
    text = (tmp_path / "m/_delta_log/00000000000000000009.json").read_text()
    actions = [json.loads(line) for line in text.splitlines()]
    changed = [entry for action in actions for entry in action.values() if "dataChange" in entry]
    assert len(changed) >= 9
    assert {entry["dataChange"] for entry in changed} == {False}
    assert actions[0]["commitInfo"]["operation"] == "OPTIMIZE"
    check(lake, tmp_path / "m")


def test_a_compaction_brings_rows_of_versions_that_expired(lake: Path, tmp_path: Path) -> None:
    insert(lake, [{"id": 0}])
    mirrored(lake, tmp_path / "m")
    for number in range(1, 9):
        insert(lake, [{"id": number}])
    table = sdb.connect(lake).table("web.t")
    assert table.compact().version == 10
    table.expire(all_but_head=True)
    with pytest.warns(SdbWarning, match="versions 2 to 9 have expired"):
        mirrored(lake, tmp_path / "m")
    text = (tmp_path / "m/_delta_log/00000000000000000001.json").read_text()
    info, *actions = [json.loads(line) for line in text.splitlines()]
    assert info["commitInfo"]["operation"] == "WRITE"
    assert {action["add"]["dataChange"] for action in actions if "add" in action} == {True}
    for reader in READERS:
        assert mirror_rows(tmp_path / "m", 1, reader) == table_rows(lake, "web.t", 10)


def test_squashed_versions_are_one_commit(lake: Path, tmp_path: Path) -> None:
    for number in range(4):
        insert(lake, [{"id": number}])
    mirrored(lake, tmp_path / "m", squash=True)
    assert versions(tmp_path / "m") == {4: 0}
    insert(lake, [{"id": 9}])
    sdb.connect(lake).execute("DELETE FROM web.t WHERE id < 2")
    mirrored(lake, tmp_path / "m", squash=True)
    assert versions(tmp_path / "m") == {4: 0, 6: 1}
    check(lake, tmp_path / "m")


def test_statistics_bound_the_values(lake: Path, tmp_path: Path) -> None:
    at = datetime(2026, 11, 1, tzinfo=UTC)
    rows = [
        {"id": 5, "x": 1.5, "at": at, "long": "y" * 100, "a": {"b": 2}, "ok": True},
        {"id": -5, "x": float("nan"), "long": "z" * 100, "big": 2**63 - 1},
    ]
    insert(lake, rows)
    mirrored(lake, tmp_path / "m")
    text = next((tmp_path / "m/_delta_log").iterdir()).read_text()
    entry = next(json.loads(line)["add"] for line in text.splitlines() if '"add"' in line[:8])
    stats = json.loads(entry["stats"])
    assert stats["numRecords"] == 2
    assert (stats["minValues"]["id"], stats["maxValues"]["id"]) == (-5, 5)
    assert (stats["minValues"]["a"], stats["maxValues"]["a"]) == ({"b": 2}, {"b": 2})
    assert "x" not in stats["maxValues"]
    assert stats["minValues"]["long"] == "y" * 32
    assert stats["maxValues"]["long"] > "z" * 100
    assert stats["nullCount"] == {
        "id": 0,
        "x": 0,
        "at": 1,
        "long": 0,
        "a": {"b": 1},
        "ok": 1,
        "big": 1,
    }
    assert stats["minValues"]["at"] == "2026-11-01T00:00:00.000000Z"


def test_integers_and_floats_are_doubles_from_the_start(lake: Path, tmp_path: Path) -> None:
    insert(lake, [{"n": 1}])
    insert(lake, [{"n": 1.5}])
    mirrored(lake, tmp_path / "m")
    fields = {
        f.name: f.type.type for f in deltalake.DeltaTable(str(tmp_path / "m")).schema().fields
    }
    assert fields == {"n": "double"}
    first = json.loads((tmp_path / "m/_delta_log" / f"{0:020d}.json").read_text().splitlines()[2])
    assert '"double"' in first["metaData"]["schemaString"]
    check(lake, tmp_path / "m")


def test_a_column_gets_another_type(lake: Path, tmp_path: Path) -> None:
    insert(lake, [{"n": 1, "m": 1}])
    insert(lake, [{"m": 2}])
    mirrored(lake, tmp_path / "m")
    insert(lake, [{"n": 1.5}])
    with pytest.warns(SdbWarning, match="n was long and becomes double: 1 file is"):
        mirrored(lake, tmp_path / "m")
    check(lake, tmp_path / "m")
    insert(lake, [{"n": "text"}])
    with pytest.warns(SdbWarning, match="n becomes JSON text|n was double and becomes json"):
        mirrored(lake, tmp_path / "m")
    check(lake, tmp_path / "m")


def test_items_of_lists_that_are_json_texts_are_marked() -> None:
    kinds: Any = {"a": [["json"]], "b": [{"c": ["json"], "d": "json"}], "e": ["long"]}
    fields = schema_of(kinds)["fields"]
    assert [field["metadata"] for field in fields] == [
        {"sdb.encoding": "list<list<json>>"},
        {},
        {},
    ]
    inner = fields[1]["type"]["elementType"]["fields"]
    assert [field["metadata"] for field in inner] == [
        {"sdb.encoding": "list<json>"},
        {"sdb.encoding": "json"},
    ]


def test_new_fields_are_metadata(lake: Path, tmp_path: Path) -> None:
    insert(lake, [{"id": 1, "a": {"x": 1}, "l": [{"p": 1}]}])
    mirrored(lake, tmp_path / "m")
    insert(lake, [{"id": 2, "a": {"y": "t"}, "l": [{"q": "s"}], "new": 1}])
    mirror = mirrored(lake, tmp_path / "m")
    assert mirror.update().versions == 0
    text = (tmp_path / "m/_delta_log" / f"{1:020d}.json").read_text()
    kinds = [next(iter(json.loads(line))) for line in text.splitlines()]
    assert kinds == ["commitInfo", "metaData", "txn", "add"]
    check(lake, tmp_path / "m")


@pytest.mark.filterwarnings("ignore:.*becomes:sdb.errors.SdbWarning")
def test_values_that_have_no_type_of_a_column(lake: Path, tmp_path: Path) -> None:
    insert(lake, [{"big": 2**64 - 1, "neg": -5, "empty": {}, "none": None, "items": []}])
    insert(
        lake, [{"big": -1, "neg": 2**63, "mixed": 1, "deep": {"a": {"b": {"c": {"d": {"e": 1}}}}}}]
    )
    insert(
        lake, [{"mixed": "x", "raw": b"\x00\xff", "lists": [[1], [2.5]], "wide": [1, "a", None]}]
    )
    insert(lake, [{"none": None}])
    mirrored(lake, tmp_path / "m")
    check(lake, tmp_path / "m")


def test_items_of_lists_that_were_empty(lake: Path, tmp_path: Path) -> None:
    insert(lake, [{"l": []}, {"s": {}}])
    with pytest.warns(SdbWarning, match="s becomes JSON text"):
        mirrored(lake, tmp_path / "m")
    insert(lake, [{"l": [1]}, {"s": {"a": 1}}])
    with pytest.warns(SdbWarning, match="written again"):
        mirrored(lake, tmp_path / "m")
    check(lake, tmp_path / "m")


def test_a_mirror_of_an_empty_table(lake: Path, tmp_path: Path) -> None:
    insert(lake, [{"id": 1}])
    sdb.connect(lake).execute("DELETE FROM web.t")
    mirrored(lake, tmp_path / "m")
    check(lake, tmp_path / "m")


def test_two_exporters_write_each_version_once(lake: Path, tmp_path: Path) -> None:
    for number in range(12):
        insert(lake, [{"id": number}])
    errors: list[BaseException] = []

    def export() -> None:
        try:
            mirrored(lake, tmp_path / "m")
        except BaseException as error:  # noqa: BLE001 - shown by the test
            errors.append(error)

    threads = [threading.Thread(target=export) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors
    assert sorted(versions(tmp_path / "m").items()) == [(n + 1, n) for n in range(12)]
    check(lake, tmp_path / "m", engines=(by_delta_rs,))


def test_versions_that_expired(lake: Path, tmp_path: Path) -> None:
    for number in range(6):
        insert(lake, [{"id": number}])
    from sdb.table.maintenance.expire import ExpiryPolicy, expire

    expire(table_root(lake), "web", "t", ExpiryPolicy(keep_last=2))
    with pytest.warns(SdbWarning, match="the mirror begins with version 5"):
        mirrored(lake, tmp_path / "m")
    insert(lake, [{"id": 7}])
    insert(lake, [{"id": 8}])
    insert(lake, [{"id": 9}])
    expire(table_root(lake), "web", "t", ExpiryPolicy(keep_last=1))
    with pytest.warns(SdbWarning, match="versions 8 to 9 have expired"):
        mirrored(lake, tmp_path / "m")
    newest = max(versions(tmp_path / "m"))
    for reader in READERS:
        rows = mirror_rows(tmp_path / "m", versions(tmp_path / "m")[newest], reader)
        assert rows == table_rows(lake, "web.t", newest)


def test_a_place_that_is_taken(lake: Path, tmp_path: Path) -> None:
    insert(lake, [{"id": 1}])
    insert(lake, [{"x": 1}], "web.u")
    mirrored(lake, tmp_path / "m")
    with pytest.raises(ExistsError, match=r"a mirror of another table, web\.t"):
        mirrored(lake, tmp_path / "m", "web.u")
    mirrored(lake, tmp_path / "m", "web.u", restart=True)
    rows = mirror_rows(tmp_path / "m", 1, by_delta_rs)
    assert rows == table_rows(lake, "web.u", 1)


def test_a_mirror_that_others_have_changed(lake: Path, tmp_path: Path) -> None:
    import pyarrow as pa

    insert(lake, [{"id": 1}])
    mirrored(lake, tmp_path / "m")
    deltalake.write_deltalake(str(tmp_path / "m"), pa.table({"id": [7]}), mode="append")
    insert(lake, [{"id": 2}])
    with pytest.raises(ConflictError, match="another program has changed the mirror"):
        mirrored(lake, tmp_path / "m")
    mirrored(lake, tmp_path / "m", restart=True)
    insert(lake, [{"id": 3}])
    mirrored(lake, tmp_path / "m")
    newest = versions(tmp_path / "m")
    assert mirror_rows(tmp_path / "m", newest[3], by_delta_rs) == table_rows(lake, "web.t", 3)


@pytest.mark.parametrize(
    "name",
    [
        "nginxplus.json.zst",
        pytest.param("gh2021_800.json.zst", marks=pytest.mark.slow),
        pytest.param("cloudtrail_stratus.json.zst", marks=pytest.mark.slow),
        pytest.param("winevents_sample.json.zst", marks=pytest.mark.slow),
    ],
)
@pytest.mark.filterwarnings("ignore:.*digits beyond microseconds:sdb.errors.SdbWarning")
@pytest.mark.filterwarnings("ignore:.*becomes:sdb.errors.SdbWarning")
def test_real_rows(lake: Path, tmp_path: Path, name: str) -> None:
    db = sdb.connect(lake)
    db.append("web.t", TESTDATA / name)
    mirrored(lake, tmp_path / "m")
    check(lake, tmp_path / "m")
