"""Indexes and nodes of the original: read as recorded, written as the same bytes."""

from __future__ import annotations

import json
from base64 import b64decode
from typing import TYPE_CHECKING, Any

import pytest

from sdb import _core, instants
from sdb.errors import CorruptError, SdbError
from sdb.table.format import compression, etags
from sdb.table.format import keys as names
from sdb.table.format.index import TableIndex
from sdb.table.format.inputnodes import (
    InputNodeRef,
    read_inner,
    read_leaf,
    write_inner,
    write_leaf,
)
from sdb.table.format.inputtree import InputsTree, Taking
from sdb.table.format.manifests import read_list, write_list
from sdb.table.format.signature import Keyring
from tests.table.roots import FOLDER, LOCAL, objects, recorded, vectors

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sdb.table.format.descriptor import Descriptor


class Frames:
    """Compresses what the original has compressed to what it was; anything else is an error."""

    def __init__(self, *originals: bytes) -> None:
        self._frames = {compression.decompress(frame, "zstd"): frame for frame in originals}

    def __call__(self, data: bytes) -> bytes:
        return self._frames[data]


def frames_in(data: bytes) -> Iterator[bytes]:
    """Find the compressed members of an index, by trying."""
    at = data.find(b"\x28\xb5\x2f\xfd")
    while at >= 0:
        for end in range(len(data), at, -1):
            try:
                compression.decompress(data[at:end], "zstd")
            except CorruptError:
                continue
            yield data[at:end]
            break
        at = data.find(b"\x28\xb5\x2f\xfd", at + 1)


def text_of(us: int | None) -> str | None:
    return None if us is None else instants.text(us)


def shown(found: Descriptor) -> dict[str, Any]:
    trailer = found.trailer
    assert found.checked().trailer.blocks == trailer.blocks
    return {
        "path": found.key,
        "etag": found.etag,
        "last_modified": text_of(found.modified_us),
        "format": found.format,
        "size": found.size_bytes,
        "version": trailer.version,
        "offset": trailer.offset,
        "algo": trailer.algorithm,
        "blockshift": trailer.block_shift,
        "blocks": [{"offset": one.offset, "chunks": one.chunks} for one in trailer.blocks],
        "decompressed": trailer.decompressed_bytes,
        "sparse_fields": shown_times(trailer.sparse.indices),
    }


def shown_times(indices: dict[tuple[str, ...], Any]) -> dict[str, str]:
    def pairs(listed: Any) -> str:
        return ", ".join(f"{instants.text(us, fraction=True)} @ {at}" for us, at in listed)

    return {
        ".".join(path): f"max: [{pairs(index.max)}] min: [{pairs(index.min)}]"
        for path, index in indices.items()
    }


def expected(recorded: dict[str, Any]) -> dict[str, Any]:
    trailer = recorded["trailer"]
    names = ("version", "offset", "algo", "blockshift", "blocks", "decompressed", "sparse_fields")
    outer = ("path", "etag", "last_modified", "format", "size")
    return {name: recorded[name] for name in outer} | {name: trailer[name] for name in names}


@pytest.mark.parametrize(("root", "name"), recorded())
def test_recorded_index_reads_as_recorded(root: str, name: str) -> None:
    told = json.loads((FOLDER / "roots" / name).read_text())
    found = objects(root)
    index = TableIndex.decode(found[told["file"]], LOCAL)
    told = told["index"]
    assert index.name == told["name"]
    assert text_of(index.created_us) == told["created"]
    assert text_of(index.last_scan_us) == told["last_scan"]
    assert (list(index.cursors), index.is_scanning) == (told["cursors"], told["scanning"])
    assert index.algorithm == told["algo"] or not index.inline
    digest = told["user_data"]["definition"]["hash"]["$blob_b64"]
    assert index.user_data["definition"] == {"hash": b64decode(digest)}
    listed = [{"path": one.key, "expiry": text_of(one.expiry_us)} for one in index.to_delete]
    assert listed == told["to_delete"]
    assert [shown(one) for one in index.inline] == list(map(expected, told["inline"]))
    assert index.objects == told["objects"]
    old = [one for ref in index.indirect.refs for one in read_list(found[ref.key], ref)]
    assert [shown(one) for one in old] == list(map(expected, told["indirect_descriptors"]))
    assert shown_times(index.indirect.indices) == told["indirect_sparse_fields"]
    refs = [
        {
            "path": ref.key,
            "etag": ref.etag,
            "size": ref.size_bytes,
            "objects": ref.objects,
            "orig_objects": ref.original_objects,
            "last_modified": text_of(ref.modified_us),
        }
        for ref in index.indirect.refs
    ]
    assert [
        {name: ref[name] for name in told}
        for ref, told in zip(refs, told["indirect_refs"], strict=True)
    ] == told["indirect_refs"]
    fetched = []

    def fetch(key: str, etag: str) -> bytes:
        fetched.append(key)
        assert etags.of_content([found[key]]) == etag
        return found[key]

    tree = InputsTree(index.inputs, fetch)
    assert [[one.path, one.etag, one.number] for one in tree.walk()] == told["inputs"]
    assert list(tree.nodes()) == told["input_files"]
    assert set(fetched) <= set(told["input_files"])


@pytest.mark.parametrize(("root", "name"), recorded())
def test_recorded_index_is_written_with_the_same_bytes(
    root: str, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = json.loads((FOLDER / "roots" / name).read_text())
    data = objects(root)[told["file"]]
    index = TableIndex.decode(data, LOCAL)
    monkeypatch.setattr(compression, "compress", Frames(*frames_in(data)))
    assert index.encode(LOCAL) == data


@pytest.mark.parametrize("root", sorted({root for root, _ in recorded()}))
def test_recorded_nodes_are_written_with_the_same_bytes(
    root: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Lists of descriptors and leaves; packfiles have the recorded ETags (T 2)."""
    found = objects(root)
    for key, data in found.items():
        if not key.endswith("/index"):
            continue
        index = TableIndex.decode(data, LOCAL)
        for ref in index.indirect.refs:
            with monkeypatch.context() as patched:
                patched.setattr(compression, "compress", Frames(found[ref.key]))
                assert write_list(read_list(found[ref.key], ref)) == found[ref.key]
        for node in index.inputs.root:
            with monkeypatch.context() as patched:
                patched.setattr(compression, "compress", Frames(found[node.key]))
                assert write_leaf(read_leaf(found[node.key], node)) == found[node.key]
        for one in index.inline:
            assert etags.of_content([found[one.key]]) == one.etag
            assert len(found[one.key]) == one.size_bytes


def signatures() -> list[dict[str, Any]]:
    return vectors("signatures.json")["vectors"]


@pytest.mark.parametrize("vector", signatures(), ids=lambda vector: vector["name"])
def test_signatures(vector: dict[str, Any]) -> None:
    key = vector["key_b64"]
    keyring = Keyring((b64decode(key),), ("",)) if key else Keyring()
    data = b64decode(vector["index_b64"])
    if vector["accepted"]:
        TableIndex.decode(data, keyring)
        return
    with pytest.raises(SdbError) as caught:
        TableIndex.decode(data, keyring)
    last = vector["error"].rpartition(": ")[2]
    ours = {  # the same in other words
        'unrecognized filetree field "zzz"': 'unexpected field "zzz"',
        "found type list, wanted type annotation": "a symbol table was expected",
    }
    assert ours.get(last, last) in str(caught.value)


def tree_steps(name: str) -> tuple[int, list[dict[str, Any]]]:
    told = vectors(name)
    return told["split"], told["steps"]


class Memory:
    """Objects of a tree by key, with the names that the original gave them."""

    def __init__(self) -> None:
        self.objects: dict[str, bytes] = {}
        self.expected: dict[bytes, tuple[str, str]] = {}

    def fetch(self, key: str, etag: str) -> bytes:
        assert etags.of_content([self.objects[key]]) == etag
        return self.objects[key]

    def put(self, data: bytes) -> tuple[str, str]:
        key, etag = self.expected.pop(data)
        self.objects[key] = data
        return key, etag


@pytest.mark.parametrize("name", ["tree-rules.json", "tree-journal.json", "tree-split4.json"])
def test_tree(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each step gives what the original gives; each commit the same objects and the same index."""
    split, steps = tree_steps(name)
    memory = Memory()
    tree = InputsTree(TableIndex("tree").inputs, memory.fetch, split=split)
    for step in steps:
        if step["op"] == "append":
            taking = tree.insert(step["path"], step["etag"], step["id"])
            assert (taking is Taking.CHANGED) == (step["error"] is not None)
            assert (taking is Taking.TAKEN) == step["inserted"]
        elif step["op"] == "walk":
            assert not step["error"]
            found = [[one.path, one.etag, one.number] for one in tree.walk(step["start"])]
            assert found[: step["limit"] or None] == step["entries"]
        else:
            tree = commit(tree, step, memory, monkeypatch, split)
    assert any(step["op"] == "commit" for step in steps)


def commit(
    tree: InputsTree,
    step: dict[str, Any],
    memory: Memory,
    monkeypatch: pytest.MonkeyPatch,
    split: int,
) -> InputsTree:
    index_data = b64decode(step["index_b64"])
    written = [b64decode(one["zstd_b64"]) for one in step["written"]]
    for one, data in zip(step["written"], written, strict=True):
        assert etags.of_content([data]) == one["etag"]
        memory.expected[data] = (one["path"], one["etag"])
    index = TableIndex.decode(index_data, LOCAL)
    with monkeypatch.context() as patched:
        patched.setattr(compression, "compress", Frames(*written, *frames_in(index_data)))
        result = tree.write_out(memory.put)
        assert index.encode(LOCAL) == index_data
    assert not memory.expected, "the original wrote more"
    # The original quarantines in any order, and writes the journal in any order.
    assert sorted(result.replaced) == sorted(step["quarantined"])
    ours, theirs = result.stored, index.inputs
    assert ours.root == theirs.root
    assert sorted(map(repr, ours.journal or ())) == sorted(map(repr, theirs.journal or ()))
    return InputsTree(index.inputs, memory.fetch, split=split)


def test_tree_12000() -> None:
    split, steps = tree_steps("tree-12000.json")
    store: dict[str, bytes] = {}

    def put(data: bytes) -> tuple[str, str]:
        key = f"db/demo/tree/inputs-{names.new_uid()}"
        store[key] = data
        return key, etags.of_content([data])

    def fetch(key: str, _etag: str) -> bytes:
        return store[key]

    tree = InputsTree(TableIndex("tree").inputs, fetch, split=split)
    for i in range(12000):
        k = (i * 7919) % 12000
        taking = tree.insert(f"file://in/{k:05}.json", f'"e{k}"', i // 1000)
        assert taking is Taking.TAKEN
    for step in steps:
        if step["op"] == "append":
            taking = tree.insert(step["path"], step["etag"], step["id"])
            assert (taking is Taking.TAKEN) == step["inserted"]
            assert (taking is Taking.CHANGED) == (step["error"] is not None)
        elif step["op"] == "walk":
            found = [[one.path, one.etag, one.number] for one in tree.walk(step["start"])]
            assert found[: step["limit"] or None] == step["entries"]
        else:
            result = tree.write_out(put)
            inner = step["inputs"]["inner"] if isinstance(step["inputs"], dict) else step["inputs"]
            assert [ref.last for ref in result.stored.root] == [ref["last"] for ref in inner]
            sizes = {ref.last: len(read_leaf(store[ref.key], ref)) for ref in result.stored.root}
            for leaf in step["written"]:
                assert sizes[leaf["last"]["path"]] == leaf["entries"]
            tree = InputsTree(result.stored, fetch, split=split)


def test_tree_objects_read_and_write() -> None:
    """Inner nodes and leaves of the split tree, by the references that the original wrote."""
    _, steps = tree_steps("tree-split4.json")
    written = [one for step in steps if step["op"] == "commit" for one in step["written"]]
    inner = 0
    for one in written:
        data = b64decode(one["zstd_b64"])
        is_inner = "last" in one["node"][0]
        last = one["node"][-1]["last" if is_inner else "path"]
        ref = InputNodeRef(last, one["path"], one["etag"], is_inner)
        inner += is_inner
        again = write_inner(read_inner(data, ref)) if is_inner else write_leaf(read_leaf(data, ref))
        assert compression.decompress(again, "zstd") == compression.decompress(data, "zstd")
        wrong = InputNodeRef("zz", one["path"], one["etag"], is_inner)
        with pytest.raises(CorruptError, match="it ends with"):
            (read_inner if is_inner else read_leaf)(data, wrong)
    assert inner
    assert _core.zstd_compress(b"x" * 1000)[4] & 0b0100, "frames have checksums"
