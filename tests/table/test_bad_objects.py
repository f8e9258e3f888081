"""Damaged objects of a table: told in one line, in bounded time and memory."""

from __future__ import annotations

import random
import tracemalloc
from base64 import b64decode
from contextlib import suppress
from time import process_time
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sdb import ion
from sdb.errors import CorruptError, SdbError, UnsupportedError
from sdb.packfile.trailer.sparseindex import SparseIndex, Summary
from sdb.packfile.trailer.trailer import Block, Trailer
from sdb.table.format import codec, descriptor, etags
from sdb.table.format import keys as names
from sdb.table.format.descriptor import Descriptor
from sdb.table.format.index import MAX_BYTES, TableIndex
from sdb.table.format.inputtree import (
    MAX_DEPTH,
    InputNodeRef,
    InputsTree,
    StoredInputs,
    TakenInput,
    Taking,
    read_inner,
    read_leaf,
    write_inner,
    write_leaf,
)
from sdb.table.format.manifests import IndirectRef, IndirectTree, read_list, write_list
from sdb.table.format.signature import Keyring
from tests.amounts import usual
from tests.table.roots import LOCAL

if TYPE_CHECKING:
    from collections.abc import Callable

HUGE = 10**9
FIELDS = "name version created user-data to-delete input-size last-scan scanning cursors algo size"
INDEX_FIELDS = [*FIELDS.split(), "contents", "indirect", "inputs"]
TRAILER = Trailer(1, 900, "zion+zstd", 20, (Block(0, 2),), SparseIndex(1))
FIRST = Descriptor("db/d/t/packed-A.zion", '"e"', 1000, TRAILER, 1_700_000_000_000_001)
REF = IndirectRef("db/d/t/indirect-B", '"i"', 500, 3, 4)
NODE = InputNodeRef("z", "db/d/t/inputs-C", '"n"')
INDEX = TableIndex(
    "t",
    1_700_000_000_000_000,
    {"definition": {"hash": b"h" * 32}, "ours": {"deep": [1, 2.5, None, True]}},
    inline=(FIRST,),
    indirect=IndirectTree((REF,)),
    inputs=StoredInputs((NODE,), (TakenInput("file://a", '"x"', -1),)),
    cursors=("a", ""),
    is_scanning=True,
)


def signed(value: object, symbols: list[str] | None = None) -> bytes:
    """Sign anything, as a program with the key can."""
    known = symbols or []
    return LOCAL.sign(ion.stream(known, ion.encode(value, known)))


def raw(**changes: object) -> dict[str, object]:
    created = ion.instant_from_us(INDEX.created_us)
    return {"name": "t", "version": 1, "created": created} | changes


def assert_bounded(function: Callable[[], object]) -> None:
    """Check for an error of ours, in little time and memory."""
    tracemalloc.start()
    start = process_time()
    try:
        with pytest.raises((CorruptError, UnsupportedError)) as caught:
            function()
        _, most_bytes = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert "\n" not in caught.value.message
    assert process_time() - start < 10
    assert most_bytes < 64 << 20


def test_index_survives_a_round_trip() -> None:
    assert TableIndex.decode(INDEX.encode(LOCAL), LOCAL) == INDEX


def test_each_byte_of_a_small_index_flipped_is_refused() -> None:
    data = INDEX.encode(LOCAL)
    for at in range(len(data)):
        for flip in (0x01, 0x80, 0xFF):
            bad = bytearray(data)
            bad[at] ^= flip
            with pytest.raises(CorruptError, match="bad index signature"):
                TableIndex.decode(bytes(bad), LOCAL)


def test_each_byte_of_an_unsigned_index_flipped_gives_an_error_of_ours_or_an_index() -> None:
    """Without a key only the form can be checked: it never ends in anything but an SdbError."""
    data = INDEX.encode(LOCAL)
    codes = []
    for at in range(len(data) - 34):
        for flip in (0x01, 0x10, 0x80, 0xFF):
            bad = bytearray(data)
            bad[at] ^= flip
            try:
                TableIndex.decode(bytes(bad), Keyring())
            except SdbError as error:
                codes.append(error.exit_code)
    assert set(codes) <= {6, 8}
    assert len(codes) > len(data)


@pytest.mark.parametrize("keyring", [LOCAL, Keyring()], ids=["signed", "unsigned"])
def test_each_truncated_index_is_refused(keyring: Keyring) -> None:
    data = INDEX.encode(LOCAL)
    for end in range(len(data) - (0 if keyring.keys else 34)):
        with pytest.raises(CorruptError):
            TableIndex.decode(data[:end], keyring)


def test_index_too_large_is_refused_before_it_is_looked_at() -> None:
    with pytest.raises(CorruptError, match="too big"):
        TableIndex.decode(bytes(MAX_BYTES), LOCAL)
    wide = {f"f{n}": "x" * 1000 for n in range(16_000)}
    large = TableIndex("t", user_data=wide)
    with pytest.raises(UnsupportedError, match="limit is 15728640"):
        large.encode(LOCAL)


def bomb(size_bytes: int) -> bytes:
    return codec.compress(bytes(size_bytes))


HUGE_VALUES = {
    "size": raw(contents=bomb(10), algo="zstd", size=HUGE),
    "size of a bomb": raw(contents=bomb(16 << 20), algo="zstd", size=10),
    "input-size": raw(**{"inputs": bomb(10), "input-size": HUGE}),
    "blocks of refs": raw(indirect={"refs": [], "sparse": {"blocks": HUGE, "indices": []}}),
    "blocks of refs, not 0": raw(indirect={"refs": [], "sparse": {"blocks": 1, "indices": []}}),
    "negative size": raw(contents=[{"path": "a", "size": -1}]),
    "number of a journal entry": raw(
        inputs={"inner": [], "journal": [{"path": "a", "etag": "b", "id": -2}]}
    ),
    "journal twice": raw(
        inputs={"inner": [], "journal": [{"path": "a", "etag": "b", "id": 1}] * 2}
    ),
    "refs out of order": raw(inputs=[{"last": x, "path": "k", "etag": "e"} for x in ("b", "a")]),
    "unknown algorithm": raw(contents=bomb(10), algo="lz77", size=10),
    "s2": raw(contents=bomb(10), algo="s2", size=10),
    "version": raw(version=2),
    "version of another type": raw(version="1"),
    "year": raw(created=ion.Timestamp(300_000_000_000_000_000)),
    "no year": {"name": "t", "version": 1},
    "key": raw(contents=[{"path": "db/../../etc/passwd"}]),
    "absolute key": raw(contents=[{"path": "/etc/passwd"}]),
    "key with a line break": raw(contents=[{"path": "db/a\nb"}]),
    "key to delete": raw(**{"to-delete": [{"path": "../x", "expiry": raw()["created"]}]}),
    "long etag": raw(contents=[{"path": "a", "etag": "e" * 5000}]),
    "unknown field of an entry": raw(inputs=[{"last": "a", "path": "k", "etag": "e", "x": 1}]),
    "both ranges and sparse": raw(
        indirect={
            "refs": [{"path": "a", "etag": "", "size": 1, "objects": 1, "ranges": []}],
            "sparse": {"blocks": 1, "indices": []},
        }
    ),
}


@pytest.mark.parametrize("name", HUGE_VALUES)
def test_impossible_values_of_an_index_are_refused(name: str) -> None:
    data = signed(HUGE_VALUES[name])
    assert_bounded(lambda: TableIndex.decode(data, LOCAL))


@pytest.mark.parametrize("member", ["offset", "blockshift", "blocks-delta", "blocks", "size"])
def test_huge_counts_of_a_descriptor_are_refused_before_it_is_used(member: str) -> None:
    value: dict[str, Any] = FIRST.struct()
    trailer = value["trailer"]
    if member == "blocks-delta":
        trailer[member] = [0, HUGE]
    elif member == "blocks":
        trailer["sparse"][member] = HUGE
    elif member == "size":
        value[member] = 10
    else:
        trailer[member] = HUGE
    assert_bounded(lambda: Descriptor.from_struct(value).checked())


def test_descriptor_of_another_format_is_refused_when_it_is_used() -> None:
    other = Descriptor("k", '"e"', 1000, TRAILER, format="v3")
    with pytest.raises(UnsupportedError, match="don't know how to convert format 'v3'"):
        other.checked()


def objects_of_nodes() -> list[tuple[bytes, Callable[[bytes], object]]]:
    leaf = write_leaf([TakenInput(f"file://{n:03}", '"x"', n) for n in range(30)])
    leaf_ref = InputNodeRef("file://029", "db/d/t/inputs-L", "")
    inner = write_inner([InputNodeRef(f"{n:03}", f"db/d/t/inputs-{n}", '"e"') for n in range(30)])
    inner_ref = InputNodeRef("029", "db/d/t/inputs-I", "", is_inner=True)
    listed = write_list((FIRST, FIRST))
    ref = IndirectRef("db/d/t/indirect-X", "", len(listed), 2, 2)
    return [
        (leaf, lambda data: read_leaf(data, leaf_ref)),
        (inner, lambda data: read_inner(data, inner_ref)),
        (listed, lambda data: read_list(data, ref)),
    ]


@pytest.mark.parametrize(("data", "read"), objects_of_nodes(), ids=["leaf", "inner", "list"])
def test_each_flip_and_cut_of_a_node_names_the_object(
    data: bytes, read: Callable[[bytes], object]
) -> None:
    """Frames have checksums: a flipped bit is found in nearly all places, and never a traceback."""
    whole = read(data)
    for end in range(len(data)):
        with pytest.raises(CorruptError, match=r"reading db/d/t/(inputs|indirect)-"):
            read(data[:end])
    for at in range(len(data)):
        bad = bytearray(data)
        bad[at] ^= 0x10
        try:
            assert read(bytes(bad)) == whole
        except CorruptError as error:
            assert error.path is not None  # noqa: PT017
            assert error.path.startswith("db/d/t/")  # noqa: PT017


def test_unknown_fields_of_nodes_are_refused() -> None:
    leaf = codec.dumps([{"path": "a", "etag": "e", "desc": 1, "zzz": 2}], ())
    inner = codec.dumps([{"last": "a", "path": "k", "etag": "e", "zzz": 2}], ())
    listed = codec.dumps({"contents": [], "zzz": 1}, ())
    with pytest.raises(CorruptError, match="zzz"):
        read_leaf(leaf, InputNodeRef("a", "k", ""))
    with pytest.raises(CorruptError, match="zzz"):
        read_inner(inner, InputNodeRef("a", "k", "", is_inner=True))
    with pytest.raises(CorruptError, match="zzz"):
        read_list(listed, IndirectRef("k", "", len(listed), 0, 0))


@pytest.mark.parametrize("read", [read_leaf, read_inner])
def test_empty_nodes_are_refused(read: Callable[[bytes, InputNodeRef], object]) -> None:
    with pytest.raises(CorruptError, match="node is empty"):
        read(codec.dumps([], ()), InputNodeRef("a", "k", ""))


@pytest.mark.parametrize("objects", [0, 1, HUGE])
def test_list_with_another_number_of_descriptors_is_refused(objects: int) -> None:
    data = write_list((FIRST, FIRST))
    ref = IndirectRef("db/d/t/indirect-X", "", len(data), objects, objects)
    assert_bounded(lambda: read_list(data, ref))


def test_refs_in_a_circle_end() -> None:
    """An inner node that refers to itself, with the ETag that a store may give anything."""
    ref = InputNodeRef("z", "db/d/t/inputs-C", '"e"', is_inner=True)
    data = write_inner([ref])
    reads = []

    def fetch(key: str, _etag: str) -> bytes:
        reads.append(key)
        return data

    tree = InputsTree(StoredInputs((ref,)), fetch)
    assert_bounded(lambda: list(tree.walk()))
    assert_bounded(lambda: tree.lookup("a"))
    assert_bounded(lambda: tree.insert("a", "e", 1))
    assert_bounded(lambda: list(tree.nodes()))
    assert len(reads) <= 4 * MAX_DEPTH


def test_missing_object_of_a_tree_is_told_by_whoever_fetches() -> None:
    def fetch(key: str, _etag: str) -> bytes:
        raise CorruptError(f"{key} is missing", path=key)

    tree = InputsTree(StoredInputs((NODE,)), fetch)
    with pytest.raises(CorruptError, match="inputs-C is missing"):
        tree.lookup("a")
    with pytest.raises(CorruptError, match="inputs-C is missing"):
        InputsTree(INDEX.inputs, fetch)
    assert list(tree.nodes()) == ["db/d/t/inputs-C"]


def test_journal_that_changes_nothing_is_refused() -> None:
    leaf = write_leaf([TakenInput("a", '"x"', 0)])
    ref = InputNodeRef("a", "db/d/t/inputs-L", "")
    stored = StoredInputs((ref,), (TakenInput("a", '"x"', 5),))
    with pytest.raises(CorruptError, match="changes nothing"):
        InputsTree(stored, lambda _key, _etag: leaf)


NAMES = ["", ".", "..", "a/b", "/", "a\x00", "a\nb", "a\x7f", "a\x85", "\ud800", "x" * 300]


@pytest.mark.parametrize("name", NAMES)
def test_names_that_lead_elsewhere_are_refused(name: str) -> None:
    assert names.flaw_of_name(name)
    for keys in (names.TableKeys(name, "t"), names.TableKeys("d", name)):
        with pytest.raises(ValueError, match=r"the name of a (database|table)"):
            _ = keys.index
    with pytest.raises(ValueError, match="the name of a branch"):
        names.TableKeys("d", "t").branch(name)
    with pytest.raises(ValueError, match="the name of a commit"):
        names.TableKeys("d", "t").version(1, name)


@pytest.mark.parametrize("name", ["-1", "12", "2026-01-01", "@x", "a@b", " a", "a ", "+1"])
def test_branches_are_not_named_like_versions(name: str) -> None:
    with pytest.raises(ValueError, match="the name of a branch"):
        names.TableKeys("d", "t").branch(name)


def test_keys() -> None:
    keys = names.TableKeys("web", "gha")
    assert keys.index == keys.branch("main") == "db/web/gha/index"
    assert keys.branch("try") == "db/web/gha/branches/try/index"
    assert keys.packfile("a/b", ".zion", "U") == "db/web/gha/a/b/packed-U.zion"
    assert keys.packfile("", ".ion.zst", "U") == "db/web/gha/packed-U.ion.zst"
    assert keys.content("", "c") == "db/web/gha/data/c.zion"
    assert keys.version_of(keys.version(12, "abc-d")) == (12, "abc-d")
    assert keys.version_of("db/web/gha/versions/12-abc") is None
    assert keys.version_of("db/web/other/versions/00000000000000000012-abc") is None
    assert [names.packfile_suffix(item) for item in ("zstd", "zion+zstd")] == [".ion.zst", ".zion"]
    with pytest.raises(ValueError, match="s2"):
        names.packfile_suffix("s2")
    assert len(names.new_uid()) == names.UID_LETTERS


KEY = bytes(range(32))
CODED = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="


def test_keys_for_signing_can_be_rotated() -> None:
    old = Keyring.parse(CODED)
    assert (old.keys, old.names) == ((KEY,), ("",))
    fresh = b64decode("Uv38ByGCZU8WP18PmmIdcpVmx00QA3xNe7sEB9Hixkk=")
    both = Keyring.parse(f"b=Uv38ByGCZU8WP18PmmIdcpVmx00QA3xNe7sEB9Hixkk=, a={CODED}")
    assert (both.keys, both.names) == ((fresh, KEY), ("b", "a"))
    assert both.open(old.sign(b"x")) == both.open(both.sign(b"x"))
    assert Keyring((fresh,)).open(both.sign(b"x"))  # the first signs
    with pytest.raises(CorruptError, match="bad index signature"):
        old.open(both.sign(b"x"))
    assert Keyring.of_root(is_remote=True, environment={}).keys == ()
    assert Keyring.of_root(is_remote=True, environment={"SNELLER_INDEX_KEY": CODED}) == old
    assert CODED not in repr(both)
    assert repr(KEY) not in repr(both)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("AAEC", "unexpected SNELLER_INDEX_KEY length 3"),
        ("!", "not base64"),
        (f"a={CODED},a={CODED}", "two keys with the name 'a'"),
        (f"{CODED},", "unexpected SNELLER_INDEX_KEY length 0"),
    ],
)
def test_bad_keys_are_refused_without_showing_them(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Keyring.parse(text)


def test_nothing_is_signed_without_a_key() -> None:
    with pytest.raises(ValueError, match="no key to sign"):
        INDEX.encode(Keyring())


PATHS = st.text(max_size=4)
OPERATIONS = st.lists(
    st.tuples(PATHS, st.sampled_from(["e1", "e2"]), st.sampled_from([-1, 0, 7])), max_size=60
)


@settings(max_examples=usual(150), deadline=None)
@given(batches=st.lists(OPERATIONS, max_size=4), split=st.integers(4, 6))
def test_tree_does_what_the_rules_say(
    batches: list[list[tuple[str, str, int]]], split: int
) -> None:
    """T 7.4 on a plain dictionary; the tree is written and read again between the batches."""
    known: dict[str, tuple[str, int]] = {}
    store: dict[str, bytes] = {}

    def put(data: bytes) -> tuple[str, str]:
        key = f"db/d/t/inputs-{len(store)}"
        store[key] = data
        return key, etags.of_content([data])

    stored = StoredInputs()
    for batch in batches:
        tree = InputsTree(stored, lambda key, _etag: store[key], split=split)
        for path, etag, number in batch:
            assert tree.insert(path, etag, number) is expected_of(known, path, etag, number)
        live = set(tree.nodes())
        written = tree.write_out(put)
        assert set(written.replaced) <= live
        stored = written.stored
        assert [(entry.path, entry.etag, entry.number) for entry in tree.walk()] == [
            (path, *known[path]) for path in sorted(known)
        ]
    again = InputsTree(stored, lambda key, _etag: store[key], split=split)
    for path, (etag, number) in known.items():
        assert again.lookup(path) == TakenInput(path, etag, number)
    assert len(list(again.walk())) == len(known)


def expected_of(known: dict[str, tuple[str, int]], path: str, etag: str, number: int) -> Taking:
    before = known.get(path)
    if before is not None:
        if before[0] != etag and before[1] >= 0:
            return Taking.CHANGED
        if before[0] == etag and (before[1] < 0 or number >= 0):
            return Taking.KNOWN
    known[path] = (etag, number)
    return Taking.TAKEN


VALUES: Any = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False)
    | st.text(max_size=5)
    | st.binary(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=12,
)


@settings(max_examples=usual(150), deadline=None)
@given(user_data=st.dictionaries(st.text(max_size=5), VALUES, max_size=4), cursors=st.lists(PATHS))
def test_unknown_user_data_is_kept(user_data: dict[str, Any], cursors: list[str]) -> None:
    index = TableIndex("t", user_data=user_data, cursors=tuple(cursors), inline=(FIRST, FIRST))
    data = index.encode(LOCAL)
    assert TableIndex.decode(data, LOCAL) == index
    assert TableIndex.decode(TableIndex.decode(data, LOCAL).encode(LOCAL), LOCAL) == index


@settings(max_examples=usual(300), deadline=None)
@given(value=VALUES, field=st.sampled_from(INDEX_FIELDS))
def test_any_value_in_any_field_is_an_error_of_ours_or_an_index(value: Any, field: str) -> None:
    data = signed(raw(**{field: value}))
    with suppress(CorruptError, UnsupportedError):
        index = TableIndex.decode(data, LOCAL)
        assert TableIndex.decode(index.encode(LOCAL), LOCAL) == index


def test_extension_of_an_index_is_bounded() -> None:
    names_of_fields = [random.Random(n).randbytes(20).hex() for n in range(100)]
    types = {(name,): 1 << 6 for name in sorted(names_of_fields)}  # they cannot be compressed
    summary = Summary((7,), types, complete=True)
    wide = Trailer(1, 900, "zion+zstd", 20, (Block(0, 2),), SparseIndex(1, summary=summary))
    thin = descriptor.slim(wide)
    assert thin.rows == 7
    assert thin.sparse.summary == Summary((7,), {}, complete=False)
    many = Summary(tuple(range(0, 20_000, 7)), {}, complete=True)
    blocks = tuple(Block(n, 1) for n in range(len(many.rows)))
    large = Trailer(1, 1 << 20, "zion+zstd", 20, blocks, SparseIndex(len(blocks), summary=many))
    assert len(ion.dumps(descriptor.slim(large).struct())) < len(ion.dumps(large.struct()))
    sdb = descriptor.slim(wide).sparse.encode()["sdb"]
    assert len(ion.dumps(sdb)) <= descriptor.MAX_EXTENSION_BYTES
