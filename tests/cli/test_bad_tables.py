"""Damaged tables through the commands: exit code 6 and the name of the object, or the answer."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING, Any

import pytest

from sdb import ion
from sdb.cli import main
from sdb.records import replace
from sdb.table.catalog.handle import open_table
from sdb.table.format import codec, etags
from sdb.table.format.index import TableIndex
from sdb.table.format.inputtree import InputNodeRef, StoredInputs, write_inner
from sdb.table.format.keys import TableKeys
from sdb.table.format.manifests import IndirectTree
from sdb.table.format.signature import SIGNATURE_BYTES
from tests.table import roots
from tests.table.made import write_index

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

KEYS = TableKeys("demo", "t")
HUGE = 10**9
COMMANDS = {
    "tables": ["tables"],
    "describe": ["describe", "demo", "t"],
    "inputs": ["inputs", "demo", "t"],
    "validate": ["validate", "demo", "t"],
    "query": ["query", "SELECT COUNT(*) FROM demo.t WHERE id >= 0"],
}
INDIRECT, INPUTS = "07-indirect-3", "08-inputs-tree-4"


class Table:
    """A recorded table, and `sdb` in this process."""

    def __init__(self, root: Path, capfd: pytest.CaptureFixture[str]) -> None:
        self.root = root
        self._capfd = capfd

    def run(self, command: str) -> tuple[int, str, str]:
        self._capfd.readouterr()
        code = main.run(["--root", str(self.root), *COMMANDS[command]])
        return code, *self._capfd.readouterr()

    def check(self, command: str, key: str) -> None:
        """Check that damage is reported in a line with the object."""
        code, _, err = self.run(command)
        assert code == 6, (command, key, err)
        assert key in err
        assert "this is a bug" not in err


@pytest.fixture
def table(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> Callable[[str], Table]:
    return lambda archive: Table(roots.unpacked(archive, tmp_path), capfd)


def reached(root: Path) -> dict[str, set[str]]:
    """Return the objects that a table leads to, with the commands that read them."""
    handle = open_table(root, "demo", "t")
    actual = {KEYS.index: set(COMMANDS)}
    actual |= {ref.key: {"describe", "validate", "query"} for ref in handle.index.indirect.refs}
    actual |= {descriptor.key: {"validate", "query"} for descriptor in handle.descriptors()}
    return actual | {key: {"inputs", "validate"} for key in handle.inputs.nodes()}


@pytest.mark.parametrize("archive", [INDIRECT, INPUTS])
@pytest.mark.parametrize("harm", ["missing", "empty", "short"])
def test_each_object_missing_or_truncated(
    table: Callable[[str], Table], archive: str, harm: str
) -> None:
    item = table(archive)
    objects = reached(item.root)
    assert len(objects) > 2
    for key, commands in objects.items():
        path = item.root / key
        data = path.read_bytes()
        path.unlink()
        if harm != "missing":
            path.write_bytes(data[: len(data) // 2 if harm == "short" else 0])
        for command in COMMANDS:
            if key == KEYS.index and harm == "missing":
                code, _, err = item.run(command)
                assert code == (0 if command == "tables" else 3), err
            elif command in commands:
                item.check(command, key)
            else:
                assert item.run(command)[0] == 0
        path.write_bytes(data)
    assert all(item.run(command)[0] == 0 for command in COMMANDS)


def test_each_byte_of_an_index(table: Callable[[str], Table]) -> None:
    item = table("13-empty-1")
    path = item.root / KEYS.index
    data = path.read_bytes()
    for at in range(len(data)):
        path.write_bytes(data[:at] + bytes([data[at] ^ 1 << at % 8]) + data[at + 1 :])
        item.check("describe", KEYS.index)


@pytest.mark.parametrize("archive", [INDIRECT, "12-scanning-2"])
@pytest.mark.parametrize(
    "step", [29, pytest.param(7, marks=pytest.mark.wide), pytest.param(3, marks=pytest.mark.slow)]
)
def test_signed_nonsense_is_told_or_answered(
    table: Callable[[str], Table], archive: str, step: int
) -> None:
    """With the key anything can be signed; that of local roots is known to all."""
    item = table(archive)
    path = item.root / KEYS.index
    whole = path.read_bytes()[:-SIGNATURE_BYTES]
    for at in range(5, len(whole), step):
        data = whole[:at] + bytes([whole[at] ^ 1 << at % 8]) + whole[at + 1 :]
        path.write_bytes(roots.LOCAL.sign(data))
        for command in ("describe", "inputs", "query"):
            code, _, err = item.run(command)
            assert code in {0, 6, 8}, (at, command, err)
            named = any(part in err for part in ("db/demo/t/", "indirect-", "packed-", "inputs-"))
            assert code == 0 or named, (at, command, err)


def rewritten(table: Table, key: str, value: object) -> str:
    """Write a node; gives its ETag."""
    symbols: list[str] = []
    encoded = ion.encode(value, symbols)
    data = codec.compress(ion.stream(symbols, encoded))
    (table.root / key).write_bytes(data)
    return etags.of_content([data])


def with_list(table: Table, change: Callable[[dict[str, Any]], None]) -> str:
    """Change the first list of packfiles, and sign an index that leads to it; gives its key."""
    index = open_table(table.root, "demo", "t").index
    first, *others = index.indirect.refs
    value: Any = codec.loads((table.root / first.key).read_bytes())
    change(value)
    etag = rewritten(table, first.key, value)
    size = (table.root / first.key).stat().st_size
    ref = replace(first, etag=etag, size_bytes=size)
    tree = IndirectTree((ref, *others), index.indirect.indices)
    write_index(table.root, KEYS, replace(index, indirect=tree))
    return first.key


LISTS: dict[str, Callable[[dict[str, Any]], None]] = {
    "unknown field": lambda value: value.update(more=1),
    "unknown field of a packfile": lambda value: value["contents"][0].update(more=1),
    "unknown field of a trailer": lambda value: value["contents"][0]["trailer"].update(more=1),
    "no list": lambda value: value.update(contents=1),
    "a path outside": lambda value: value["contents"][0].update(path="db/../../etc/passwd"),
    "size": lambda value: value["contents"][0].update(size=-1),
    "offset": lambda value: value["contents"][0]["trailer"].update(offset=HUGE),
    "blocks": lambda value: value["contents"][0]["trailer"].update({"blocks-delta": [HUGE] * 6}),
    "block size": lambda value: value["contents"][0]["trailer"].update(blockshift=HUGE),
    "format": lambda value: value["contents"][0].update(format="other"),
}


@pytest.mark.parametrize("harm", LISTS)
def test_lists_of_packfiles(table: Callable[[str], Table], harm: str) -> None:
    item = table(INDIRECT)
    key = with_list(item, LISTS[harm])
    for command in ("describe", "query", "validate"):
        code, _, err = item.run(command)
        assert code == (8 if harm == "format" and command != "validate" else 6), (command, err)
        assert key in err or "packed-" in err or "/etc/passwd" in err, (command, err)
    assert item.run("tables")[0] == 0


@pytest.mark.parametrize("name", ["objects", "size_bytes"])
def test_counts_of_lists(table: Callable[[str], Table], name: str) -> None:
    item = table(INDIRECT)
    index = open_table(item.root, "demo", "t").index
    first, *others = index.indirect.refs
    wrong = replace(first, **{name: HUGE})
    tree = IndirectTree((wrong, *others), index.indirect.indices)
    write_index(item.root, KEYS, replace(index, indirect=tree))
    for command in ("describe", "query", "validate"):
        item.check(command, first.key)


@pytest.mark.parametrize("harm", ["unknown field", "not ascending", "too deep", "a path outside"])
def test_nodes_of_the_inputs_tree(table: Callable[[str], Table], harm: str) -> None:
    item = table(INPUTS)
    index = open_table(item.root, "demo", "t").index
    (ref, *_) = index.inputs.root
    value: Any = codec.loads((item.root / ref.key).read_bytes())
    if harm == "unknown field":
        value[0]["more"] = 1
    elif harm == "not ascending":
        value.reverse()
    elif harm == "a path outside":
        value = [{"last": ref.last, "path": "db/../x", "etag": '"x"'}]
        ref = replace(ref, is_inner=True)
    ref = replace(ref, etag=rewritten(item, ref.key, value))
    for level in range(20 if harm == "too deep" else 0):
        key = KEYS.inputs(f"LEVEL{level}")
        data = write_inner([ref])
        (item.root / key).write_bytes(data)
        ref = InputNodeRef(ref.last, key, etags.of_content([data]), is_inner=True)
    write_index(item.root, KEYS, replace(index, inputs=StoredInputs((ref,))))
    for command in ("inputs", "validate"):
        item.check(command, "db/demo/t/inputs-")
    assert item.run("query")[0] == 0


def test_nothing_is_written_by_readers(table: Callable[[str], Table], tmp_path: Path) -> None:
    item = table(INDIRECT)
    before = tmp_path.parent / f"{tmp_path.name}-before"
    shutil.copytree(item.root, before)
    for command in COMMANDS:
        item.run(command)
    files = {path.relative_to(before) for path in before.rglob("*") if path.is_file()}
    now = {path.relative_to(item.root) for path in item.root.rglob("*") if path.is_file()}
    assert files == now
    assert all((before / name).read_bytes() == (item.root / name).read_bytes() for name in files)


def test_an_index_that_is_too_large(table: Callable[[str], Table]) -> None:
    item = table("13-empty-1")
    with (item.root / KEYS.index).open("r+b") as file:
        file.truncate(15 << 20)
    item.check("describe", KEYS.index)
    index = TableIndex("t")
    write_index(item.root, KEYS, index)
    assert item.run("describe")[0] == 0
