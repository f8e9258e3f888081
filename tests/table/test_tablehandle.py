"""Tables that are opened for reading: the recorded roots, and what is wrong with a root."""

from __future__ import annotations

import base64
import json
import warnings
from typing import TYPE_CHECKING

import pytest

from sdb import errors
from sdb.store import url
from sdb.store.memory import MemoryStore
from sdb.table.catalog.handle import open_table
from sdb.table.catalog.root import table_root
from sdb.table.definition.cache import read_definition
from sdb.table.format.index import TableIndex
from sdb.table.format.keys import TableKeys
from sdb.table.format.signature import Keyring
from tests.table import roots

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

KEY = base64.b64encode(bytes(range(32))).decode()


@pytest.fixture
def memory() -> Iterator[MemoryStore]:
    store = MemoryStore()
    url.register("mem", store)
    yield store
    url.register("mem", None)


@pytest.mark.parametrize(("root", "name"), roots.recorded())
def test_every_recorded_table_opens(root: str, name: str, tmp_path: Path) -> None:
    index = json.loads((roots.FOLDER / "roots" / name).read_text())["index"]
    _, database, table, *_ = name.split(".")
    handle = open_table(roots.unpacked(root, tmp_path), database, table)
    wanted = [*index["indirect_descriptors"], *index["inline"]]
    packfiles = list(handle.descriptors())
    assert [(item.key, item.etag, item.size_bytes) for item in packfiles] == [
        (item["path"], item["etag"], item["size"]) for item in wanted
    ]
    assert [item.checked().trailer.offset for item in packfiles] == [
        item["trailer"]["offset"] for item in wanted
    ]
    inputs = [[item.path, item.etag, item.number] for item in handle.inputs.walk()]
    assert inputs == index["inputs"]
    assert handle.name == f"{database}.{table}"
    assert handle.state is None


def test_names_of_tables_and_databases(tmp_path: Path) -> None:
    root = table_root(roots.unpacked("14-two-tables-1", tmp_path))
    assert root.databases() == ["demo", "other"]
    assert root.tables("demo") == ["ta", "tb"]
    assert root.tables("nope") == []
    assert read_definition(root, TableKeys("demo", "ta")).inputs


@pytest.mark.parametrize(
    ("database", "table", "hint"),
    [
        ("demo", "taa", "did you mean demo.ta?"),
        ("dem", "ta", "did you mean demo.ta?"),
        ("demo", "quite_different", "sdb ls lists them"),
        ("quite", "different", "sdb ls lists them"),
    ],
)
def test_unknown_tables(tmp_path: Path, database: str, table: str, hint: str) -> None:
    root = roots.unpacked("14-two-tables-1", tmp_path)
    with pytest.raises(errors.NotFoundError, match=f"no table {database}.{table} ") as raised:
        open_table(root, database, table)
    assert raised.value.hint == hint


def test_a_table_without_rows_and_a_root_without_tables(tmp_path: Path) -> None:
    with pytest.raises(errors.NotFoundError) as raised:
        open_table(tmp_path, "demo", "t")
    assert "--root" in (raised.value.hint or "")
    path = tmp_path / "db/demo/t/definition.json"
    path.parent.mkdir(parents=True)
    path.write_text("{}")
    with pytest.raises(errors.NotFoundError, match="has a definition") as raised:
        open_table(tmp_path, "demo", "t")
    assert (
        raised.value.hint == "sdb sync demo.t takes its inputs, and sdb insert demo.t FILE others"
    )


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", "a\nb"])
def test_names_that_lead_elsewhere(tmp_path: Path, name: str) -> None:
    root = roots.unpacked("01-basic-1", tmp_path)
    with pytest.raises(errors.UsageError):
        open_table(root, name, "t")
    with pytest.raises(errors.UsageError):
        open_table(root, "demo", name)
    with pytest.raises(errors.UsageError):
        table_root(root).tables(name)


def test_objects_that_are_not_what_the_index_tells(tmp_path: Path) -> None:
    root = roots.unpacked("07-indirect-3", tmp_path)
    handle = open_table(root, "demo", "t")
    ref = handle.index.indirect.refs[0]
    entry = tmp_path / ref.key
    data = entry.read_bytes()
    entry.write_bytes(data[:-1])
    with pytest.raises(errors.CorruptError, match="ETag changed") as raised:
        list(handle.descriptors())
    assert raised.value.path == ref.key
    assert len(list(handle.descriptors(()))) == len(handle.index.inline)
    entry.unlink()
    with pytest.raises(errors.CorruptError, match=f"{ref.key} is missing"):
        list(handle.descriptors())


def test_an_index_that_was_moved_over_another(tmp_path: Path) -> None:
    root = roots.unpacked("14-two-tables-1", tmp_path)
    (root / "db/demo/ta/index").write_bytes((root / "db/demo/tb/index").read_bytes())
    with pytest.raises(errors.CorruptError, match="db/demo/ta/index: it is that of a table 'tb'"):
        open_table(root, "demo", "ta")


def test_a_definition_that_cannot_be_read(tmp_path: Path) -> None:
    path = tmp_path / "db/demo/t/definition.json"
    path.parent.mkdir(parents=True)
    root, keys = table_root(tmp_path), TableKeys("demo", "t")
    for text, reason in [(b"\xff", "not UTF-8"), (b"[]", "expected a JSON object")]:
        path.write_bytes(text)
        with pytest.raises(errors.InputError, match=reason):
            read_definition(root, keys)
    path.unlink()
    with pytest.raises(errors.NotFoundError, match="no definition of demo"):
        read_definition(root, keys)


def test_keys_of_a_remote_root(memory: MemoryStore, monkeypatch: pytest.MonkeyPatch) -> None:
    index = TableIndex("t")
    other, ours = Keyring((bytes(32),), ("",)), Keyring.parse(KEY)
    with url.atomic_write("mem://root/db/demo/t/index") as file:
        file.write(index.encode(ours))
    monkeypatch.delenv("SNELLER_INDEX_KEY", raising=False)
    with pytest.warns(errors.SdbWarning, match="SNELLER_INDEX_KEY is not set"):
        assert open_table("mem://root", "demo", "t").index == index
    monkeypatch.setenv("SNELLER_INDEX_KEY", KEY)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert open_table("mem://root", "demo", "t").index == index
    zeros = base64.b64encode(bytes(32)).decode()
    monkeypatch.setenv("SNELLER_INDEX_KEY", f"new={zeros},old={KEY}")
    assert open_table("mem://root", "demo", "t").index == index
    with pytest.raises(errors.CorruptError, match="bad index signature"):
        open_table(table_root("mem://root", keyring=other), "demo", "t")
    assert memory.contents
