"""Tags, branches and merges, one at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sdb import errors
from sdb.records import replace
from sdb.store.memory import MemoryStore
from sdb.table.catalog import refs
from sdb.table.catalog.handle import open_table
from sdb.table.catalog.root import TableRoot
from sdb.table.commit.change import ChangedInput, TableChange
from sdb.table.commit.commit import commit, find_commit
from sdb.table.commit.environment import Environment
from sdb.table.commit.objects import put_new
from sdb.table.format import etags, keys
from sdb.table.format.index import TableIndex
from sdb.table.format.keys import TableKeys
from sdb.table.format.versionref import ExpiredError, UnknownReferenceError
from sdb.table.history import setrefs
from sdb.table.history.log import log
from sdb.table.history.merge import MergeConflictError, MergedBranch, merge
from sdb.table.maintenance.expire import ExpiryPolicy, expire
from sdb.table.maintenance.gc import collect
from tests.amounts import usual
from tests.table.roots import LOCAL
from tests.table.simulation.actors import descriptor

if TYPE_CHECKING:
    from sdb.store.faults import StoreCall
    from sdb.table.format.descriptor import Descriptor

KEYS = keys.TableKeys("d", "t")
DAY_US = 86_400_000_000


@pytest.fixture
def root() -> TableRoot:
    opened = TableRoot("mem://r", MemoryStore(), LOCAL)
    add(opened, "a")
    add(opened, "b")
    return opened


def packed(root: TableRoot, name: str) -> Descriptor:
    key = f"{KEYS.folder}/data/{name}.zion"
    return descriptor(key, put_new(root, key, name.encode()), [name])


def add(root: TableRoot, name: str, branch: str = "main", *inputs: str) -> int:
    taken = tuple(ChangedInput(entry, '"e"') for entry in inputs)
    change = TableChange("insert", (packed(root, name),), inputs=taken)
    return commit(root, KEYS, change, branch=branch).version


def rewrite(root: TableRoot, old: str, new: str, branch: str = "main") -> int:
    gone = frozenset(f"{KEYS.folder}/data/{part}.zion" for part in old.split())
    added = tuple(packed(root, part) for part in new.split())
    return commit(root, KEYS, TableChange("update", added, gone), branch=branch).version


def names_at(root: TableRoot, at: str | int = "") -> str:
    handle = open_table(root, "d", "t", at=at)
    return " ".join(
        sorted(descriptor.name.removesuffix(".zion") for descriptor in handle.descriptors())
    )


def merged(root: TableRoot, source: str = "x", **options: str) -> MergedBranch:
    return merge(root, "d", "t", source, **options)  # type: ignore[arg-type]


def test_tags_name_versions_and_make_none(root: TableRoot) -> None:
    assert setrefs.tag(root, "d", "t", "v1", 1).version == 1
    assert setrefs.tag(root, "d", "t", "new").version == 2
    head = open_table(root, "d", "t")
    assert head.state is not None
    assert (head.state.version, head.state.kept_etag != "") == (2, True)
    assert (names_at(root, "v1"), names_at(root, "new"), names_at(root, -1)) == ("a", "a b", "a")
    assert add(root, "c") == 3
    assert (names_at(root, "new"), names_at(root, 2), names_at(root, -1)) == ("a b",) * 3
    assert [ref.names for ref in log(open_table(root, "d", "t"))] == [(), ("new",), ("v1",)]
    with pytest.raises(errors.ExistsError, match="version 1") as raised:
        setrefs.tag(root, "d", "t", "v1", 2)
    assert raised.value.exit_code == 4
    assert setrefs.tag(root, "d", "t", "v1", 1).version == 1
    setrefs.tag(root, "d", "t", "v1", 3, overwrite=True)
    assert names_at(root, "v1") == "a b c"
    setrefs.delete_tag(root, "d", "t", "v1")
    with pytest.raises(UnknownReferenceError):
        names_at(root, "v1")
    with pytest.raises(UnknownReferenceError, match="no tag 'nem'") as unknown:
        setrefs.delete_tag(root, "d", "t", "nem")
    assert unknown.value.hint == "did you mean new?"
    actual = [(ref.kind, ref.name, ref.version) for ref in refs.refs(head)]
    assert actual == [("branch", "main", 2), ("tag", "new", 2), ("tag", "v1", 1)]


@pytest.mark.parametrize("name", ["", "main", "1x", "-x", "a@b", "a/b", " x", "\n"])
def test_names_that_cannot_be(root: TableRoot, name: str) -> None:
    with pytest.raises(errors.UsageError):
        setrefs.tag(root, "d", "t", name)
    with pytest.raises(errors.UsageError):
        setrefs.branch(root, "d", "t", name)


def test_a_tag_is_one_request_that_writes() -> None:
    calls: list[StoreCall] = []
    root = TableRoot("mem://r", MemoryStore(calls.append), LOCAL)  # type: ignore[arg-type]
    add(root, "a")
    for begin, puts in ((setrefs.tag, 1), (setrefs.branch, 2)):
        del calls[:]
        begin(root, "d", "t", begin.__name__)
        written = [call for call in calls if call.verb == "put"]
        assert len(written) == puts  # of a branch its own index as well
        assert all(call.location.endswith("/index") for call in written)


def test_what_another_program_wrote_becomes_a_version_first(root: TableRoot) -> None:
    theirs = replace(open_table(root, "d", "t").index, created_us=10**15 * 3)
    with root.store.create(root.place(KEYS.index), overwrite=True) as file:
        file.write(theirs.encode(LOCAL))
    assert setrefs.tag(root, "d", "t", "theirs").version == 4
    operations = [past.operation for past in log(open_table(root, "d", "t"))]
    assert operations == ["adopt", "foreign", "insert", "insert"]
    bare = TableRoot("mem://o", MemoryStore(), LOCAL)
    put_new(bare, KEYS.index, TableIndex("t", 5).encode(LOCAL))
    assert setrefs.branch(bare, "d", "t", "x").version == 2


def test_names_outlive_a_program_that_overwrites_later_versions(root: TableRoot) -> None:
    theirs = replace(open_table(root, "d", "t").index, created_us=10**15 * 3)
    setrefs.tag(root, "d", "t", "v", 1)
    setrefs.branch(root, "d", "t", "x")
    add(root, "c")
    add(root, "side", "x")
    with root.store.create(root.place(KEYS.index), overwrite=True) as file:
        file.write(theirs.encode(LOCAL))
    add(root, "d")
    assert names_at(root) == "a b c d"  # and nothing of the branch
    assert (names_at(root, "v"), names_at(root, "x")) == ("a", "a b side")


def test_branches_are_apart(root: TableRoot) -> None:
    assert setrefs.branch(root, "d", "t", "x", 1).version == 1
    assert add(root, "y", "x") == 2
    assert (names_at(root), names_at(root, "x"), names_at(root, "x@-1")) == ("a b", "a y", "a")
    state = open_table(root, "d", "t", branch="x").state
    assert state is not None
    assert (state.branch, state.tags, state.branches) == ("x", {}, ())
    change = TableChange("insert", (packed(root, "same"),))
    for branch in ("main", "x"):
        done = commit(root, KEYS, change, commit_id="id", branch=branch)
        assert done.is_new
        assert not commit(root, KEYS, change, commit_id="id", branch=branch).is_new
        assert find_commit(root, KEYS, "id", branch=branch) == 3
    for begin in (setrefs.branch, setrefs.tag):
        with pytest.raises(errors.ExistsError):
            begin(root, "d", "t", "x")
    setrefs.delete_branch(root, "d", "t", "x")
    with pytest.raises(UnknownReferenceError, match="no branch 'x'"):
        add(root, "z", "x")
    with pytest.raises(UnknownReferenceError):
        setrefs.delete_branch(root, "d", "t", "x")
    setrefs.branch(root, "d", "t", "x")
    assert names_at(root, "x") == "a b same"
    with pytest.raises(errors.NotFoundError):
        setrefs.branch(root, "d", "nix", "x")


def test_a_branch_that_was_begun_halfway_is_begun_again(root: TableRoot) -> None:
    setrefs.branch(root, "d", "t", "x")
    root.store.delete(root.place(KEYS.branch("x")))
    with pytest.raises(UnknownReferenceError):
        names_at(root, "x")
    setrefs.branch(root, "d", "t", "x", 1)
    assert names_at(root, "x") == "a"


def test_appends_always_merge(root: TableRoot) -> None:
    setrefs.branch(root, "d", "t", "x")
    add(root, "c")
    add(root, "y", "x", "in1")
    add(root, "z", "x")
    done = merged(root)
    assert (done.version, done.source, done.base, len(done.added)) == (4, 4, 2, 2)
    assert names_at(root) == "a b c y z"
    head = open_table(root, "d", "t")
    assert head.state is not None
    assert [entry.path for entry in head.inputs.walk()] == ["in1"]
    assert head.state.parent is not None
    assert head.state.merged is not None
    assert (head.state.parent.version, head.state.merged.version) == (3, 4)
    assert next(log(head)).parents == (3, 4)
    assert not merged(root).is_new
    add(root, "w", "x")
    again = merged(root)
    assert (again.base, [entry[-6:] for entry in again.added]) == (4, ["w.zion"])
    assert merged(root, "main", into="x").base == 5
    assert names_at(root, "x") == names_at(root) == "a b c w y z"
    assert merged(root).base is not None  # the version with both sides is new to the main branch
    assert not merged(root).is_new


def test_rewrites_of_one_side_merge(root: TableRoot) -> None:
    setrefs.branch(root, "d", "t", "x")
    rewrite(root, "a", "a2", "x")
    rewrite(root, "b", "b2 b3")
    merged(root)
    assert names_at(root) == "a2 b2 b3"


def test_l6_04_what_both_have_rewritten_is_a_conflict(root: TableRoot) -> None:
    add(root, "c")
    setrefs.branch(root, "d", "t", "x")
    rewrite(root, "a", "ax", "x")
    rewrite(root, "ax c", "acx", "x")
    add(root, "n", "x")
    rewrite(root, "a b", "abm")
    before = open_table(root, "d", "t").data
    with pytest.raises(MergeConflictError, match="1 packfile rewritten") as raised:
        merged(root)
    assert raised.value.exit_code == 5
    assert [packfile[-6:] for packfile in raised.value.packfiles] == ["a.zion"]
    assert open_table(root, "d", "t").data == before
    twin = TableRoot("mem://r", MemoryStore(), LOCAL)
    for url, data in root.store.contents.items():  # type: ignore[attr-defined]
        put_new(twin, url.removeprefix("mem://r/"), data)
    merged(root, strategy="dest")
    assert names_at(root) == "abm c n"
    assert not merged(root).is_new
    merged(twin, strategy="source")
    assert names_at(twin) == "acx b n"  # b was rewritten together with a, and comes back


def test_the_same_change_on_both_sides_is_none(root: TableRoot) -> None:
    setrefs.branch(root, "d", "t", "x")
    for branch in ("main", "x"):
        rewrite(root, "a", "a2", branch)
    add(root, "y", "x")
    merged(root)
    assert names_at(root) == "a2 b y"


def test_inputs_that_both_have_taken(root: TableRoot) -> None:
    setrefs.branch(root, "d", "t", "x")
    add(root, "m", "main", "in1", "in2")
    add(root, "y", "x", "in1")
    with pytest.raises(MergeConflictError, match="1 input taken") as raised:
        merged(root)
    assert raised.value.inputs == ("in1",)
    merged(root, strategy="source")
    assert names_at(root) == "a b y"
    taken = {entry.path: entry.is_failed for entry in open_table(root, "d", "t").inputs.walk()}
    assert taken == {"in1": False, "in2": True}  # a sync with --retry takes in2 again


def test_a_part_may_be_merged(root: TableRoot) -> None:
    setrefs.branch(root, "d", "t", "x")
    add(root, "eu/1", "x")
    add(root, "us/1", "x")
    rewrite(root, "a", "eu/2", "x")
    done = merged(root, only="data/eu/*")
    assert [item.removeprefix(f"{KEYS.folder}/data/") for item in done.added] == ["eu/1.zion"]
    assert not merged(root, only="data/eu/*").is_new
    merged(root)
    assert len(list(open_table(root, "d", "t").descriptors())) == 4
    with pytest.raises(errors.UsageError):
        merged(root, "main")
    with pytest.raises(errors.UsageError):
        merged(root, strategy="theirs")
    with pytest.raises(UnknownReferenceError):
        merged(root, into="nix")
    with pytest.raises(UnknownReferenceError):
        merged(root, "nix")


STEPS = st.lists(
    st.tuples(st.sampled_from(["add", "rewrite", "merge"]), st.booleans(), st.integers(0, 5)),
    max_size=12,
)


@settings(max_examples=usual(60), deadline=None)
@given(STEPS)
def test_merges_keep_what_either_side_did(steps: list[tuple[str, bool, int]]) -> None:
    """Against a model in which packfiles are never rewritten on both sides."""
    root = TableRoot("mem://r", MemoryStore(), LOCAL)
    for name in "ab":
        add(root, name)
    setrefs.branch(root, "d", "t", "x")
    sides = {"main": {"a", "b"}, "x": {"a", "b"}}
    gone: set[str] = set()
    for number, (step, is_main, choice) in enumerate(steps):
        branch, other = ("main", "x") if is_main else ("x", "main")
        own = sides[branch]
        free = sorted(own - gone - (sides[other] if branch == "x" else set()))
        if step == "add":
            add(root, f"n{number}", branch)
            own.add(f"n{number}")
        elif step == "rewrite" and free:
            old = free[choice % len(free)]
            rewrite(root, old, f"r{number}", branch)
            gone.add(old)
            own -= {old}
            own.add(f"r{number}")
        elif step == "merge":
            merged(root, other, into=branch)
            sides[branch] = (own | sides[other]) - gone
    for branch, expected in sides.items():
        assert set(names_at(root, branch).split()) == expected, branch
    state = open_table(root, "d", "t").state
    assert state is not None
    assert etags.is_of_content(state.kept_etag or '"b2sum:')


def test_l6_08_what_is_kept_stays_readable_and_nothing_else(memory_days: list[int]) -> None:
    """Ten versions, of which the third has a tag; a branch keeps what it began with."""
    root = TableRoot("mem://r", MemoryStore(clock=lambda: memory_days[0]), LOCAL)
    env = Environment(now_us=lambda: memory_days[0])
    for number in range(1, 11):
        memory_days[0] += DAY_US
        old = "" if number == 1 else f"p{number - 1}"
        gone = frozenset([f"{KEYS.folder}/data/{old}.zion"] if old else [])
        change = TableChange("update", (packed(root, f"p{number}"),), gone)
        commit(root, KEYS, change, env=env)
    setrefs.tag(root, "d", "t", "third", 3)
    setrefs.branch(root, "d", "t", "x", 5)
    memory_days[0] += 2 * DAY_US
    expire(root, "d", "t", ExpiryPolicy(1, None), env=env)
    memory_days[0] += 2 * DAY_US
    collect(root, TableKeys("d", "t"), env=env)
    memory_days[0] += 2 * DAY_US
    collect(root, TableKeys("d", "t"), env=env)
    for reference, name in (("third", "p3"), (3, "p3"), ("x", "p5"), ("main", "p10")):
        handle = open_table(root, "d", "t", at=reference)
        for packfile in handle.descriptors():
            assert root.open(packfile.key).size_bytes
        assert names_at(root, reference) == name
    for number in (1, 2, 4, 6, 9):
        with pytest.raises(ExpiredError):
            names_at(root, number)
    left = [url for url in root.store.contents if "/data/" in url]  # type: ignore[attr-defined]
    # A branch keeps the history that it began with: sdb expire is about the main one.
    assert sorted(url.rpartition("/")[2] for url in left) == [
        f"p{number}.zion" for number in (1, 10, 2, 3, 4, 5)
    ]
    setrefs.delete_branch(root, "d", "t", "x")
    expire(root, "d", "t", ExpiryPolicy(1, None), env=env)  # version 5 was its merge base
    memory_days[0] += 2 * DAY_US
    collect(root, TableKeys("d", "t"), env=env)
    left = [url for url in root.store.contents if "/data/" in url]  # type: ignore[attr-defined]
    assert sorted(url.rpartition("/")[2] for url in left) == ["p10.zion", "p3.zion"]


@pytest.fixture
def memory_days() -> list[int]:
    """Return a clock that tests set."""
    return [1_700_000_000_000_000]


def at(offset_days: int) -> Environment:
    """Return the environment of a machine whose clock is days off."""
    start_us = 1_790_000_000_000_000
    return Environment(now_us=lambda: start_us + offset_days * DAY_US)


def on_clock(root: TableRoot, name: str, branch: str, days: int, *gone: str) -> None:
    removed = frozenset(f"{KEYS.folder}/data/{item}.zion" for item in gone)
    change = TableChange("update" if gone else "insert", (packed(root, name),), removed)
    commit(root, KEYS, change, branch=branch, env=at(days))


def test_merge_bases_are_not_chosen_by_clocks() -> None:
    """The main branch is written by a machine whose clock is a day ahead, the other by one behind.

    The version of main that was merged into x first has a later time than that of x which was
    merged back and has it all: by time it was taken for the base, and rows came twice.
    """
    root = TableRoot("mem://r", MemoryStore(), LOCAL)
    on_clock(root, "a", "main", 1)
    setrefs.branch(root, "d", "t", "x", env=at(1))
    on_clock(root, "m", "main", 2)
    on_clock(root, "s", "x", -1)
    merge(root, "d", "t", "main", into="x", env=at(-1))
    merge(root, "d", "t", "x", env=at(-1))
    assert names_at(root) == "a m s"
    on_clock(root, "ams", "main", 2, "a", "m", "s")
    on_clock(root, "s2", "x", -1)
    merge(root, "d", "t", "x", env=at(-1))
    assert names_at(root) == "ams s2"


def test_a_branch_of_a_branch_knows_what_was_merged(root: TableRoot) -> None:
    setrefs.branch(root, "d", "t", "x")
    add(root, "s", "x")
    setrefs.branch(root, "d", "t", "y", "x")
    add(root, "y", "y")
    merged(root)
    rewrite(root, "a b s", "abs")
    assert merged(root, "y").base == 3
    assert names_at(root) == "abs y"


def test_both_sides_may_have_merged_each_other(root: TableRoot) -> None:
    setrefs.branch(root, "d", "t", "x")
    add(root, "m")
    add(root, "s", "x")
    merged(root, "x@3")
    merged(root, "main@3", into="x")  # neither version came from the other
    rewrite(root, "a m s", "ams")
    add(root, "s2", "x")
    merged(root)
    assert names_at(root) == "ams b s2"
    merged(root, "main", into="x")
    assert names_at(root, "x") == "ams b s2"


def test_a_part_that_was_merged_and_rewritten_is_not_merged_again(root: TableRoot) -> None:
    setrefs.branch(root, "d", "t", "x")
    add(root, "eu/1", "x")
    add(root, "us/1", "x")
    merged(root, only="data/eu/*")
    rewrite(root, "a eu/1", "a1")
    expire(root, "d", "t", ExpiryPolicy(1, None))
    merged(root)
    assert sorted(descriptor.name for descriptor in open_table(root, "d", "t").descriptors()) == [
        *("1.zion", "a1.zion", "b.zion")
    ]
    assert not merged(root).is_new


def test_a_version_without_a_name_is_merged_once(root: TableRoot) -> None:
    setrefs.branch(root, "d", "t", "x")
    add(root, "s", "x")
    merged(root, "x@3")
    rewrite(root, "a b s", "abs")
    assert not merged(root, "x@3").is_new
    assert not merged(root).is_new
    assert names_at(root) == "abs"


def test_the_same_insert_on_both_sides_comes_once(root: TableRoot) -> None:
    setrefs.branch(root, "d", "t", "x")
    add(root, "s")
    add(root, "s", "x")
    rewrite(root, "a s", "as")
    merged(root)
    assert names_at(root) == "as b"
    merged(root, "main", into="x")
    assert names_at(root, "x") == "as b"


def test_a_copy_that_a_commit_made_is_the_same_packfile(memory_days: list[int]) -> None:
    """What is older than the boundary of a collector is copied when it is merged."""
    root = TableRoot("mem://r", MemoryStore(clock=lambda: memory_days[0]), LOCAL)
    env = Environment(now_us=lambda: memory_days[0])
    add(root, "a")
    setrefs.branch(root, "d", "t", "x", env=env)
    for name in ("s", "w"):
        add(root, name, "x")
    put_new(root, f"{KEYS.folder}/data/garbage.zion", b"x")
    memory_days[0] += 3 * DAY_US
    assert collect(root, TableKeys("d", "t"), env=env).garbage
    merge(root, "d", "t", "x", only="data/s.zion", env=env)
    copy = next(
        descriptor
        for descriptor in open_table(root, "d", "t").descriptors()
        if descriptor.name == "s.zion"
    )
    assert copy.key != f"{KEYS.folder}/data/s.zion"
    assert keys.original_key(copy.key) == f"{KEYS.folder}/data/s.zion"
    merge(root, "d", "t", "x", env=env)
    assert names_at(root) == "a s w"
    rewrite(root, "s", "s2", "x")
    merge(root, "d", "t", "x", env=env)
    assert names_at(root) == "a s2 w"


def test_a_branch_that_is_made_again_has_what_the_other_had(root: TableRoot) -> None:
    """The branch x was merged and taken away, and began again; y began with the first one."""
    setrefs.branch(root, "d", "t", "x")
    add(root, "s", "x")
    setrefs.branch(root, "d", "t", "y", "x")
    add(root, "y", "y")
    merged(root)
    setrefs.delete_branch(root, "d", "t", "x")
    setrefs.branch(root, "d", "t", "x")
    add(root, "s2", "x")
    rewrite(root, "a b s", "abs")
    merged(root, strategy="dest")
    expire(root, "d", "t", ExpiryPolicy(1, None))
    assert merged(root, "y").base == 3
    assert names_at(root) == "abs s2 y"


def test_what_a_branch_needs_for_merges_stays_until_it_is_gone(root: TableRoot) -> None:
    setrefs.branch(root, "d", "t", "x", 1)
    add(root, "c")
    expire(root, "d", "t", ExpiryPolicy(1, None))
    assert [past.version for past in log(open_table(root, "d", "t"))] == [4, 3, 1]
    merged(root, "main", into="x")
    add(root, "e")
    expire(root, "d", "t", ExpiryPolicy(1, None))
    assert [past.version for past in log(open_table(root, "d", "t"))] == [6, 5, 4]
    setrefs.delete_branch(root, "d", "t", "x")
    add(root, "f")
    expire(root, "d", "t", ExpiryPolicy(1, None))
    assert [past.version for past in log(open_table(root, "d", "t"))] == [8, 7]


def test_a_branch_is_not_begun_at_what_expires_meanwhile(
    root: TableRoot, monkeypatch: pytest.MonkeyPatch
) -> None:
    good = setrefs.put_new

    def put(*value: Any) -> str:
        monkeypatch.setattr(setrefs, "put_new", good)
        head = add(root, "c")
        change = TableChange("expire", expired=frozenset(range(1, head)))
        commit(root, KEYS, change)
        return good(*value)

    monkeypatch.setattr(setrefs, "put_new", put)
    with pytest.raises(errors.ConflictError, match="expired while a branch was begun"):
        setrefs.branch(root, "d", "t", "x")
    assert [ref.name for ref in refs.refs(open_table(root, "d", "t"))] == ["main"]


def test_a_branch_is_not_begun_at_what_a_purge_has_deleted_meanwhile(
    root: TableRoot, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not even for a moment: the store may fail when it is to be deleted again."""
    good = setrefs.first_index

    def first_index(*value: Any, **named: Any) -> bytes:
        data = good(*value, **named)
        commit(root, KEYS, TableChange("gc", boundary_us=1_700_000_000_000_001))
        return data

    def fail(*_: Any, **__: Any) -> None:
        raise errors.SdbError("the store answers 503")

    monkeypatch.setattr(setrefs, "first_index", first_index)
    monkeypatch.setattr(setrefs, "delete_branch", fail)
    with pytest.raises(errors.ConflictError, match="been collected"):
        setrefs.branch(root, "d", "t", "x")
    assert not root.has(KEYS.branch("x"))
    assert [ref.name for ref in refs.refs(open_table(root, "d", "t"))] == ["main"]


@pytest.mark.parametrize(("writer_days", "collector_days"), [(-5, 0), (0, 3), (-5, 3), (2, -1)])
def test_what_was_read_a_moment_ago_stays_whatever_clocks_say(
    memory_days: list[int], writer_days: int, collector_days: int
) -> None:
    root = TableRoot("mem://r", MemoryStore(clock=lambda: memory_days[0]), LOCAL)
    writer = Environment(now_us=lambda: memory_days[0] + writer_days * DAY_US)
    collector = Environment(now_us=lambda: memory_days[0] + collector_days * DAY_US)
    commit(root, KEYS, TableChange("insert", (packed(root, "a"),)), env=writer)
    memory_days[0] += 2 * DAY_US
    gone = frozenset([f"{KEYS.folder}/data/a.zion"])
    commit(root, KEYS, TableChange("update", (packed(root, "b"),), gone), env=writer)
    expire(root, "d", "t", ExpiryPolicy(1, None), env=writer)
    commit(root, KEYS, TableChange("insert", (packed(root, "c"),)), env=writer)
    memory_days[0] += 1_000_000
    collect(root, TableKeys("d", "t"), env=collector)
    assert root.has(f"{KEYS.folder}/data/a.zion")
    memory_days[0] += 8 * DAY_US
    collect(root, TableKeys("d", "t"), env=collector)
    assert not root.has(f"{KEYS.folder}/data/a.zion")
    assert not [url for url in root.store.contents if url.endswith(".tmp")]  # type: ignore[attr-defined]
