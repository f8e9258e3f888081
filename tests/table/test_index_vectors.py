"""Indexes and nodes of the original: read as recorded, written as the same bytes."""

from __future__ import annotations

import json
from base64 import b64decode
from typing import TYPE_CHECKING, Any

import pytest

from sdb import _core, instants
from sdb.errors import CorruptError, SdbError
from sdb.table.format import codec, etags, keys
from sdb.table.format.index import TableIndex
from sdb.table.format.inputtree import (
    InputNodeRef,
    InputsTree,
    Taking,
    read_inner,
    read_leaf,
    write_inner,
    write_leaf,
)
from sdb.table.format.manifests import read_list, write_list
from sdb.table.format.signature import Keyring
from tests.table.roots import FOLDER, LOCAL, objects, recorded, vectors

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sdb.table.format.descriptor import Descriptor


class Frames:
    """Compresses what the original has compressed to what it was; anything else is an error."""

    def __init__(self, *originals: bytes) -> None:
        self._frames = {codec.decompress(frame, "zstd"): frame for frame in originals}

    def __call__(self, data: bytes) -> bytes:
        return self._frames[data]


def frames_in(data: bytes) -> Iterator[bytes]:
    """Find the compressed members of an index, by trying."""
    at = data.find(b"\x28\xb5\x2f\xfd")
    while at >= 0:
        for end in range(len(data), at, -1):
            try:
                codec.decompress(data[at:end], "zstd")
            except CorruptError:
                continue
            yield data[at:end]
            break
        at = data.find(b"\x28\xb5\x2f\xfd", at + 1)


def text_of(us: int | None) -> str | None:
    return None if us is None else instants.text(us)


def shown(descriptor: Descriptor) -> dict[str, Any]:
    trailer = descriptor.trailer
    assert descriptor.checked().trailer.blocks == trailer.blocks
    return {
        "path": descriptor.key,
        "etag": descriptor.etag,
        "last_modified": text_of(descriptor.modified_us),
        "format": descriptor.format,
        "size": descriptor.size_bytes,
        "version": trailer.version,
        "offset": trailer.offset,
        "algo": trailer.algorithm,
        "blockshift": trailer.block_shift,
        "blocks": [{"offset": block.offset, "chunks": block.chunks} for block in trailer.blocks],
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
    keys = ("version", "offset", "algo", "blockshift", "blocks", "decompressed", "sparse_fields")
    outer = ("path", "etag", "last_modified", "format", "size")
    return {name: recorded[name] for name in outer} | {name: trailer[name] for name in keys}


@pytest.mark.parametrize(("root", "name"), recorded())
def test_recorded_index_reads_as_recorded(root: str, name: str) -> None:
    facts = json.loads((FOLDER / "roots" / name).read_text())
    actual = objects(root)
    index = TableIndex.decode(actual[facts["file"]], LOCAL)
    facts = facts["index"]
    assert index.name == facts["name"]
    assert text_of(index.created_us) == facts["created"]
    assert text_of(index.last_scan_us) == facts["last_scan"]
    assert (list(index.cursors), index.is_scanning) == (facts["cursors"], facts["scanning"])
    assert index.algorithm == facts["algo"] or not index.inline
    digest = facts["user_data"]["definition"]["hash"]["$blob_b64"]
    assert index.user_data["definition"] == {"hash": b64decode(digest)}
    listed = [{"path": item.key, "expiry": text_of(item.expiry_us)} for item in index.to_delete]
    assert listed == facts["to_delete"]
    assert [shown(item) for item in index.inline] == list(map(expected, facts["inline"]))
    assert index.objects == facts["objects"]
    old = [item for ref in index.indirect.refs for item in read_list(actual[ref.key], ref)]
    assert [shown(item) for item in old] == list(map(expected, facts["indirect_descriptors"]))
    assert shown_times(index.indirect.indices) == facts["indirect_sparse_fields"]
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
        {name: ref[name] for name in facts}
        for ref, facts in zip(refs, facts["indirect_refs"], strict=True)
    ] == facts["indirect_refs"]
    fetched = []

    def fetch(key: str, etag: str) -> bytes:
        fetched.append(key)
        assert etags.of_content([actual[key]]) == etag
        return actual[key]

    tree = InputsTree(index.inputs, fetch)
    assert [[item.path, item.etag, item.number] for item in tree.walk()] == facts["inputs"]
    assert list(tree.nodes()) == facts["input_files"]
    assert set(fetched) <= set(facts["input_files"])


@pytest.mark.parametrize(("root", "name"), recorded())
def test_recorded_index_is_written_with_the_same_bytes(
    root: str, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    facts = json.loads((FOLDER / "roots" / name).read_text())
    data = objects(root)[facts["file"]]
    index = TableIndex.decode(data, LOCAL)
    monkeypatch.setattr(codec, "compress", Frames(*frames_in(data)))
    assert index.encode(LOCAL) == data


@pytest.mark.parametrize("root", sorted({root for root, _ in recorded()}))
def test_recorded_nodes_are_written_with_the_same_bytes(
    root: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Lists of descriptors and leaves; packfiles have the recorded ETags (T 2)."""
    actual = objects(root)
    for key, data in actual.items():
        if not key.endswith("/index"):
            continue
        index = TableIndex.decode(data, LOCAL)
        for ref in index.indirect.refs:
            with monkeypatch.context() as patched:
                patched.setattr(codec, "compress", Frames(actual[ref.key]))
                assert write_list(read_list(actual[ref.key], ref)) == actual[ref.key]
        for node in index.inputs.root:
            with monkeypatch.context() as patched:
                patched.setattr(codec, "compress", Frames(actual[node.key]))
                assert write_leaf(read_leaf(actual[node.key], node)) == actual[node.key]
        for descriptor in index.inline:
            assert etags.of_content([actual[descriptor.key]]) == descriptor.etag
            assert len(actual[descriptor.key]) == descriptor.size_bytes


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
    reported = vectors(name)
    return reported["split"], reported["steps"]


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
            actual = [[entry.path, entry.etag, entry.number] for entry in tree.walk(step["start"])]
            assert actual[: step["limit"] or None] == step["entries"]
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
    written = [b64decode(item["zstd_b64"]) for item in step["written"]]
    for item, data in zip(step["written"], written, strict=True):
        assert etags.of_content([data]) == item["etag"]
        memory.expected[data] = (item["path"], item["etag"])
    index = TableIndex.decode(index_data, LOCAL)
    with monkeypatch.context() as patched:
        patched.setattr(codec, "compress", Frames(*written, *frames_in(index_data)))
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
        key = f"db/demo/tree/inputs-{keys.new_uid()}"
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
            actual = [[entry.path, entry.etag, entry.number] for entry in tree.walk(step["start"])]
            assert actual[: step["limit"] or None] == step["entries"]
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
    written = [item for step in steps if step["op"] == "commit" for item in step["written"]]
    inner = 0
    for item in written:
        data = b64decode(item["zstd_b64"])
        is_inner = "last" in item["node"][0]
        last = item["node"][-1]["last" if is_inner else "path"]
        ref = InputNodeRef(last, item["path"], item["etag"], is_inner)
        inner += is_inner
        again = write_inner(read_inner(data, ref)) if is_inner else write_leaf(read_leaf(data, ref))
        assert codec.decompress(again, "zstd") == codec.decompress(data, "zstd")
        wrong = InputNodeRef("zz", item["path"], item["etag"], is_inner)
        with pytest.raises(CorruptError, match="it ends with"):
            (read_inner if is_inner else read_leaf)(data, wrong)
    assert inner
    assert _core.zstd_compress(b"x" * 1000)[4] & 0b0100, "frames have checksums"
