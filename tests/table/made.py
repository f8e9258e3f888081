"""Tables that tests make: packfiles, an index that is signed, and nothing else."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import sdb
from sdb.packfile.read.reader import open_packfile
from sdb.records import replace
from sdb.table.catalog.foreign import seal_of
from sdb.table.catalog.handle import open_table
from sdb.table.format import etags
from sdb.table.format.descriptor import Descriptor, slim
from sdb.table.format.index import TableIndex
from sdb.table.format.inputtree import StoredInputs, TakenInput
from sdb.table.format.keys import TableKeys, new_uid
from sdb.table.format.manifests import TARGET_BYTES, IndirectTree, Writer
from sdb.table.format.state import with_state
from tests.table.roots import LOCAL

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

CREATED_US = 1_700_000_000_000_000


def made_table(
    root: Path,
    database: str,
    table: str,
    parts: Sequence[Path],
    *,
    constants: Sequence[dict[str, Any]] = (),
    indirect: int = 0,
    per_list: int = 1,
) -> Path:
    """Make a table with a packfile for each input; gives the root.

    The first `indirect` packfiles are told by separate lists, with this many in each.
    """
    keys = TableKeys(database, table)
    folder = root / keys.folder
    folder.mkdir(parents=True)
    (root / keys.definition).write_text('{"input": [{"pattern": "file://in/*.json.gz"}]}')
    results = []
    for number, part in enumerate(parts):
        key = keys.packfile("", ".zion", new_uid())
        fixed = constants[number] if constants else None
        sdb.pack([part], root / key, constants=fixed)
        results.append(descriptor_of(root, key))
    taken = tuple(TakenInput(f"file://in/{no}-{at.name}", '"x"', no) for no, at in enumerate(parts))
    tree, inline = tree_of(root, keys, results[:indirect], per_list), tuple(results[indirect:])
    index = TableIndex(
        table,
        CREATED_US,
        inline=inline,
        indirect=tree,
        inputs=StoredInputs((), taken or None),
    )
    write_index(root, keys, index)
    return root


def descriptor_of(root: Path, key: str) -> Descriptor:
    data = (root / key).read_bytes()
    with open_packfile(root / key) as pack:
        return Descriptor(key, etags.of_content([data]), len(data), slim(pack.trailer))


def tree_of(root: Path, keys: TableKeys, items: list[Descriptor], per_list: int) -> IndirectTree:
    def put(data: bytes) -> tuple[str, str, int | None]:
        key = keys.indirect(new_uid())
        (root / key).write_bytes(data)
        return key, etags.of_content([data]), None

    def fetch(key: str, etag: str) -> bytes:
        raise AssertionError((key, etag))

    tree = IndirectTree()
    for start in range(0, len(items), per_list):
        moved = tuple(items[start : start + per_list])
        # A list that is full: the next one begins a new object.
        full = [replace(ref, size_bytes=TARGET_BYTES) for ref in tree.refs]
        more, _ = replace(tree, refs=tuple(full)).appended(moved, len(moved), Writer(fetch, put))
        tree = replace(more, refs=(*tree.refs, *more.refs[len(full) :]))
    return tree


def write_index(root: Path, keys: TableKeys, index: TableIndex) -> None:
    (root / keys.index).write_bytes(index.encode(LOCAL))


def craft(
    root: Path,
    name: str,
    *,
    branch: str = "main",
    inline: tuple[Descriptor, ...] | None = None,
    **changes: Any,
) -> None:
    """Write an index with another state or content, as a program with the key can."""
    handle = open_table(root, *name.split(".", 1), branch=branch)
    assert handle.state is not None
    index = handle.index if inline is None else replace(handle.index, inline=inline)
    state = replace(handle.state, seal=seal_of(index), **changes)
    index = replace(index, user_data=with_state(index.user_data, state))
    (root / handle.keys.branch(branch)).write_bytes(index.encode(LOCAL))
