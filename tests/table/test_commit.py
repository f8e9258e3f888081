"""Commits, one at a time: what each writes, and what it makes of what others have written."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import pytest

from sdb.errors import ConflictError, SdbWarning, UsageError
from sdb.records import replace
from sdb.store.memory import MemoryStore
from sdb.table.catalog.handle import open_table
from sdb.table.catalog.root import TableRoot
from sdb.table.commit import adoption, chain
from sdb.table.commit import commit as committing
from sdb.table.commit.adoption import Adopted, adopt
from sdb.table.commit.chain import FOREIGN
from sdb.table.commit.change import (
    ChangedInput,
    PackfileGoneError,
    TableChange,
    TransactionDoneError,
)
from sdb.table.commit.commit import commit, find_commit
from sdb.table.commit.objects import ObjectWriter, put_new
from sdb.table.format import limits
from sdb.table.format.index import Quarantined, TableIndex
from sdb.table.format.inputtree import InputsTree
from sdb.table.format.keys import TableKeys, own_key
from sdb.table.format.signature import Keyring
from sdb.table.history import setrefs
from sdb.table.history.log import show
from tests.table.roots import LOCAL
from tests.table.simulation.actors import descriptor

if TYPE_CHECKING:
    from sdb.table.catalog.handle import TableHandle
    from sdb.table.format.descriptor import Descriptor
    from sdb.table.format.inputtree import StoredInputs

KEYS = TableKeys("d", "t")


@pytest.fixture
def root() -> TableRoot:
    return TableRoot("mem://r", MemoryStore(), LOCAL)


def packed(root: TableRoot, name: str) -> Descriptor:
    key = f"{KEYS.folder}/data/{name}.zion"
    return descriptor(key, put_new(root, key, name.encode()), [name])


def added(root: TableRoot, *names: str) -> TableChange:
    return TableChange("insert", tuple(packed(root, name) for name in names))


def head(root: TableRoot) -> TableHandle:
    return open_table(root, "d", "t")


def names(handle: TableHandle) -> list[str]:
    return [descriptor.name.removesuffix(".zion") for descriptor in handle.descriptors()]


def overwrite(root: TableRoot, index: TableIndex) -> None:
    """Put an index in place without looking, as the original does."""
    with root.store.create(root.place(KEYS.index), overwrite=True) as file:
        file.write(index.encode(LOCAL))


def test_versions_follow_each_other(root: TableRoot) -> None:
    for number, name in enumerate("abc", 1):
        done = commit(root, KEYS, added(root, name), commit_id=f"id-{name}")
        assert (done.version, done.is_new, done.attempts) == (number, True, 1)
    actual = head(root)
    state = actual.state
    assert state is not None
    assert (names(actual), state.rows, state.version) == (["a", "b", "c"], 3, 3)
    assert [past.version for past in state.history] == [1, 2]
    for past in state.history:
        assert root.fetch(past.key, past.etag)
    again = commit(root, KEYS, added(root, "x"), commit_id="id-a")
    assert (again.version, again.is_new) == (1, False)
    assert head(root).data == actual.data
    assert find_commit(root, KEYS, "id-b") == 2
    assert find_commit(root, KEYS, "id-x") is None
    assert find_commit(root, TableKeys("d", "none"), "id-x") is None


def test_what_is_not_there_any_more_is_not_replaced(root: TableRoot) -> None:
    commit(root, KEYS, added(root, "a", "b"))
    keys = frozenset(descriptor.key for descriptor in head(root).index.inline)
    change = TableChange("compact", (packed(root, "ab"),), keys)
    commit(root, KEYS, change)
    assert names(head(root)) == ["ab"]
    before = head(root).data
    with pytest.raises(PackfileGoneError) as raised:
        commit(root, KEYS, replace(change, added=(packed(root, "ab2"),)))
    assert raised.value.exit_code == ConflictError.exit_code
    assert head(root).data == before


def test_packfiles_go_from_lists_too(root: TableRoot, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits.USUAL, "inline_packfiles", 4)
    for name in "abcdefgh":
        commit(root, KEYS, added(root, name))
    actual = head(root)
    [ref] = actual.index.indirect.refs
    listed = actual.listed(ref)
    assert len(listed) >= 2
    gone = frozenset({listed[0].key, actual.index.inline[-1].key})
    commit(root, KEYS, TableChange("delete", (), gone))
    after = head(root)
    assert names(after) == list("bcdefg")
    assert after.index.indirect.original_objects == actual.index.indirect.original_objects
    assert names(actual) == list("abcdefgh")  # the version before still has its list


def test_an_overwritten_version_is_done_again(root: TableRoot) -> None:
    commit(root, KEYS, added(root, "a"), commit_id="first")
    theirs = head(root).index
    commit(root, KEYS, added(root, "b"), commit_id="second")
    foreign = descriptor(f"{KEYS.folder}/packed-X.zion", '"x"', ["x"], ours=False)
    overwrite(root, replace(theirs, inline=(*theirs.inline, foreign), created_us=10**15))
    assert names(head(root)) == ["a", "packed-X"]
    commit(root, KEYS, added(root, "c"), commit_id="third")
    actual = head(root)
    assert sorted(names(actual)) == ["a", "b", "c", "packed-X"]
    state = actual.state
    assert state is not None
    reported = [(past.version, past.operation) for past in state.history]
    assert reported == [(1, "insert"), (3, FOREIGN), (4, "insert")]
    assert (state.version, state.rows) == (5, None)  # the original does not count rows
    assert find_commit(root, KEYS, "second") == 4
    at = TableIndex.decode(root.fetch(state.history[1].key, state.history[1].etag), LOCAL)
    assert at.inline == (*theirs.inline, foreign)


def test_the_client_that_asks_again_recovers_its_own_rows(root: TableRoot) -> None:
    commit(root, KEYS, added(root, "a"), commit_id="first")
    theirs = head(root).index
    commit(root, KEYS, added(root, "b"), commit_id="second")
    gone = Quarantined(f"{KEYS.folder}/packed-old.zion", 5)
    overwrite(root, replace(theirs, to_delete=(gone,)))  # and `created` as it was
    assert names(head(root)) == ["a"]
    done = commit(root, KEYS, added(root, "b"), commit_id="second")
    assert not done.is_new
    assert names(head(root)) == ["a", "b"]
    assert head(root).index.to_delete == (gone,)


def test_what_threads_are_told_was_done_is_there(root: TableRoot) -> None:
    """A version that was overwritten is done again before any program learns that it was done."""
    commit(root, KEYS, added(root, "a"), commit_id="first")
    theirs = head(root).index
    commit(root, KEYS, added(root, "b"), commit_id="second")
    overwrite(root, replace(theirs, created_us=10**15))
    assert names(head(root)) == ["a"]
    with pytest.raises(TransactionDoneError) as raised:
        commit(root, KEYS, replace(added(root, "both"), ids=("second", "third")))
    assert raised.value.versions == {"second": 4}
    assert names(head(root)) == ["a", "b"]
    assert find_commit(root, KEYS, "second") == 4


def test_inputs_that_the_other_program_has_taken_are_not_taken_twice(root: TableRoot) -> None:
    def sync(name: str, *paths: str) -> TableChange:
        inputs = tuple(ChangedInput(path, '"e"') for path in paths)
        return replace(added(root, name), operation="sync", inputs=inputs)

    commit(root, KEYS, sync("a", "file://a"))
    theirs = head(root).index
    commit(root, KEYS, sync("bc", "file://b", "file://c"), commit_id="ours")
    commit(root, KEYS, sync("d", "file://d"))
    tree = InputsTree(theirs.inputs, root.fetch)
    tree.insert("file://b", '"e"', 1)
    stored = tree.write_out(lambda _: pytest.fail("a journal is enough")).stored
    foreign = descriptor(f"{KEYS.folder}/packed-B.zion", '"x"', ["b"], ours=False)
    overwrite(
        root,
        replace(theirs, inline=(*theirs.inline, foreign), inputs=stored, created_us=10**15),
    )
    commit(root, KEYS, added(root, "last"))
    actual = head(root)
    assert sorted(names(actual)) == ["a", "d", "last", "packed-B"]
    known = [entry.path for entry in actual.inputs.walk()]
    assert known == ["file://a", "file://b", "file://d"]  # and the next sync takes c


def test_a_table_of_the_original_gets_a_history(root: TableRoot) -> None:
    foreign = descriptor(f"{KEYS.folder}/packed-X.zion", '"x"', ["x"], ours=False)
    theirs = TableIndex("t", created_us=10**15, inline=(foreign,), user_data={"other": 1})
    overwrite(root, theirs)
    done = commit(root, KEYS, added(root, "a"))
    actual = head(root)
    assert done.version == 2
    assert actual.state is not None
    [before] = actual.state.history
    at = TableIndex.decode(root.fetch(before.key, before.etag), LOCAL)
    assert (at.inline, at.created_us) == ((foreign,), 10**15)
    assert actual.index.user_data["other"] == 1


def test_inputs_whose_record_is_replaced_need_no_journal(root: TableRoot) -> None:
    """The original takes no journal entry that its own rules would not make (T 7.4)."""
    first = replace(added(root, "a"), inputs=(ChangedInput("file://a", '"1"'),))
    commit(root, KEYS, first)
    assert head(root).index.inputs.journal is not None
    change = replace(added(root, "b"), inputs=(ChangedInput("file://a", '"2"'),))
    with pytest.raises(ConflictError, match="knows this input"):
        commit(root, KEYS, change)
    forced = ChangedInput("file://a", '"2"', is_forced=True)
    commit(root, KEYS, replace(added(root, "b"), inputs=(forced,)))
    actual = head(root)
    assert actual.index.inputs.journal is None
    assert [entry.etag for entry in actual.inputs.walk()] == ['"2"']


def test_nothing_is_written_without_a_key_or_with_a_bad_id(root: TableRoot) -> None:
    unsigned = TableRoot("mem://r", root.store, Keyring())
    with pytest.raises(UsageError, match="no key to sign"):
        commit(unsigned, KEYS, TableChange("insert"))
    with pytest.raises(UsageError, match="slash"):
        commit(root, KEYS, TableChange("insert"), commit_id="a/b")
    assert isinstance(root.store, MemoryStore)
    assert not root.store.contents
    done = commit(root, KEYS, lambda _: None)
    assert (done.version, done.is_new, root.store.contents) == (0, False, {})


def test_a_version_that_was_stored_and_never_put_in_place_is_finished(root: TableRoot) -> None:
    """Its program died in between, and another one has the same id."""
    commit(root, KEYS, added(root, "a"))

    class DiedError(Exception):
        pass

    with pytest.MonkeyPatch.context() as patch:
        good = MemoryStore.put_if_match

        def put_if_match(
            store: MemoryStore, location: str, data: bytes, replaced: object, **_: Any
        ) -> str:
            if location.endswith("/index"):
                raise DiedError
            return good(store, location, data, replaced)  # type: ignore[arg-type]

        patch.setattr(MemoryStore, "put_if_match", put_if_match)
        with pytest.raises(DiedError):
            commit(root, KEYS, added(root, "b"), commit_id="job")
    assert names(head(root)) == ["a"]
    done = commit(root, KEYS, added(root, "b"), commit_id="job")
    assert (done.version, done.is_new) == (2, True)
    assert names(head(root)) == ["a", "b"]
    state = head(root).state
    assert state is not None
    commit(root, KEYS, added(root, "c"))
    assert committing.find_commit(root, KEYS, "job") == 2


def foreign_packfile(root: TableRoot, name: str, *rows: str) -> Descriptor:
    """Write a packfile as the original names it."""
    key = f"{KEYS.folder}/packed-{name}.zion"
    return descriptor(key, put_new(root, key, "".join(rows).encode()), rows, ours=False)


def test_tables_of_an_older_sdb_are_adopted_once(
    root: TableRoot, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit(root, KEYS, added(root, "a"))
    with monkeypatch.context() as patch:
        patch.setattr(chain, "adopt", lambda index, *_: Adopted(index, (), is_whole=False))
        patch.setattr(limits.USUAL, "inline_packfiles", 2)
        old = head(root).index
        inline = (*old.inline, foreign_packfile(root, "X", "x"), foreign_packfile(root, "Y", "y"))
        overwrite(root, replace(old, inline=inline, created_us=10**15))
        commit(root, KEYS, added(root, "b"))
        commit(root, KEYS, added(root, "c"))
        assert head(root).index.indirect.refs
        before = head(root)
    assert "packed-X" in names(before)
    with pytest.warns(SdbWarning, match="may delete 2 packfiles"):
        setrefs.tag(root, "d", "t", "old", -1)
    commit(root, KEYS, added(root, "d"))
    setrefs.tag(root, "d", "t", "new")
    actual = head(root)
    assert sorted(names(actual)) == ["a", "adopted-X", "adopted-Y", "b", "c", "d"]
    shown = show(actual)
    assert ([descriptor.name for descriptor in shown.added], shown.removed) == (["d.zion"], ())
    copies = [
        descriptor for descriptor in actual.descriptors() if descriptor.name.startswith("adopted-")
    ]
    assert [root.fetch(descriptor.key, descriptor.etag) for descriptor in copies] == [b"x", b"y"]
    assert actual.state is not None
    assert (actual.state.is_own, actual.state.rows) == (True, None)
    commit(root, KEYS, added(root, "e"))
    assert sum("adopted-" in url for url in root.store.contents) == 2  # type: ignore[attr-defined]


def test_an_index_put_back_over_an_adoption_has_its_rows_once(root: TableRoot) -> None:
    theirs = TableIndex("t", 10**15, inline=(foreign_packfile(root, "X", "x"),))
    theirs = replace(theirs, inputs=taken(root, "in/x"))
    put_new(root, KEYS.index, theirs.encode(LOCAL))
    commit(root, KEYS, added(root, "a"))
    gone = frozenset({head(root).index.inline[0].key})
    commit(root, KEYS, TableChange("update", (packed(root, "X2"),), gone))
    # As it was, and with the packfile extended: rows of "in/x" are known to both.
    overwrite(root, replace(theirs, is_scanning=True))
    commit(root, KEYS, added(root, "b"))
    assert sorted(names(head(root))) == ["X2", "a", "b"]
    extended = replace(theirs, inline=(foreign_packfile(root, "XY", "x", "y"),), created_us=10**16)
    overwrite(root, extended)
    with pytest.warns(SdbWarning, match="was overwritten by another program"):
        commit(root, KEYS, added(root, "c"))
    assert sorted(names(head(root))) == ["a", "adopted-XY", "b", "c"]


def test_a_packfile_that_is_missing_stops_nobody(root: TableRoot) -> None:
    lost = foreign_packfile(root, "X", "x")
    put_new(root, KEYS.index, TableIndex("t", 10**15, inline=(lost,)).encode(LOCAL))
    root.store.delete(root.place(lost.key))
    commit(root, KEYS, added(root, "a"))
    assert names(head(root)) == ["packed-X", "a"]
    put_new(root, lost.key, b"x")
    commit(root, KEYS, added(root, "b"))
    assert names(head(root)) == ["adopted-X", "a", "b"]


def test_a_copy_that_may_be_collected_is_not_taken(
    root: TableRoot, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = foreign_packfile(root, "X", "x")
    index, writer = TableIndex("t", inline=(first,)), ObjectWriter(root, KEYS)
    (copy,) = adopt(index, writer, 0).index.inline
    (same,) = adopt(index, writer, 0).index.inline
    assert copy.key == same.key
    look = root.store.head(root.place(copy.key))
    assert look is not None
    with monkeypatch.context() as patch:
        patch.setattr(adoption, "MARGIN_US", 0)
        time.sleep(0.002)
        (fresh,) = adopt(index, writer, look.modified_us).index.inline
    assert fresh.key != copy.key
    assert own_key(fresh.key) == copy.key


def taken(root: TableRoot, *paths: str) -> StoredInputs:
    """Write the inputs tree of a table that has taken some."""
    tree = InputsTree(TableIndex("t").inputs, root.fetch)
    for path in paths:
        tree.insert(path, '"1"', 0)
    return tree.write_out(ObjectWriter(root, KEYS).inputs).stored


def test_inputs_that_another_program_has_collected_stop_nobody(root: TableRoot) -> None:
    theirs = TableIndex("t", 10**15, inline=(foreign_packfile(root, "X", "x"),))
    put_new(root, KEYS.index, theirs.encode(LOCAL))
    commit(root, KEYS, added(root, "a"), commit_id="one")
    many = tuple(ChangedInput(f"in/{number}", '"1"') for number in range(60))
    commit(root, KEYS, TableChange("sync", (packed(root, "b"),), inputs=many))
    (node,) = [ref.key for ref in head(root).index.inputs.root]
    overwrite(root, replace(theirs, is_scanning=True))
    root.store.delete(root.place(node))
    with pytest.warns(SdbWarning, match="the next sync takes them"):
        commit(root, KEYS, added(root, "c"))
    assert sorted(names(head(root))) == ["a", "adopted-X", "c"]
