"""The collector and those who work beside it, one case at a time."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import pytest

import sdb
from sdb.errors import ConflictError, CorruptError
from sdb.records import replace
from sdb.store.faults import Fault
from sdb.store.memory import MemoryStore
from sdb.store.url import store_of
from sdb.table.catalog.handle import open_table
from sdb.table.catalog.refs import refs
from sdb.table.catalog.root import TableRoot, table_root
from sdb.table.commit.change import ChangedInput, TableChange
from sdb.table.commit.commit import commit
from sdb.table.commit.environment import Environment
from sdb.table.commit.objects import put_new
from sdb.table.format import limits
from sdb.table.format.inputtree import InputsTree
from sdb.table.format.keys import TableKeys, new_uid, own_key
from sdb.table.history import setrefs, sharing
from sdb.table.maintenance import gc
from sdb.table.maintenance.expire import ExpiryPolicy, expire
from sdb.table.maintenance.gc import collect
from sdb.table.maintenance.validate import validate_table
from tests.table.roots import LOCAL, recorded, unpacked
from tests.table.simulation.actors import descriptor

if TYPE_CHECKING:
    from pathlib import Path

    from sdb.client.connection import Connection
    from sdb.store.faults import StoreCall
    from sdb.table.format.descriptor import Descriptor
    from sdb.table.maintenance.collected import Collected

KEYS = TableKeys("d", "t")
DAY_US = 86_400_000_000
NEWEST = ExpiryPolicy(1)


class Days:
    """A store with its clock, and a fault that comes once."""

    def __init__(self) -> None:
        self.now_us = 1_700_000_000_000_000
        self.fault: tuple[str, str, Fault] | None = None
        self.store = MemoryStore(self._script, lambda: self.now_us)
        self.root = TableRoot("mem://r", self.store, LOCAL)
        self.env = Environment(now_us=lambda: self.now_us, sleep=self._sleep)
        self.meanwhile = [lambda: None]

    def _script(self, call: StoreCall) -> Fault | None:
        if self.fault and (call.verb, self.fault[1] in call.location) == (self.fault[0], True):
            fault, self.fault = self.fault[2], None
            return fault
        return None

    def _sleep(self, _: float) -> None:
        while self.meanwhile:
            self.meanwhile.pop()()

    def pass_days(self, days: float) -> None:
        self.now_us += int(days * DAY_US)

    def packed(self, name: str) -> Descriptor:
        key = f"{KEYS.folder}/data/{name}.zion"
        return descriptor(key, put_new(self.root, key, name.encode()), [name])

    def insert(self, name: str, commit_id: str = "") -> int:
        change = TableChange("insert", (self.packed(name),))
        return commit(self.root, KEYS, change, commit_id=commit_id, env=self.env).version

    def expire(self) -> int | None:
        return expire(self.root, "d", "t", NEWEST, env=self.env).version

    def collect(self, *, dry_run: bool = False) -> Collected:
        return collect(self.root, TableKeys("d", "t"), dry_run=dry_run, env=self.env)

    @property
    def names(self) -> list[str]:
        actual = open_table(self.root, "d", "t").descriptors()
        return [item.name.removesuffix(".zion") for item in actual]


@pytest.fixture
def days() -> Days:
    return Days()


def test_what_was_done_and_has_expired_is_not_done_again(days: Days) -> None:
    """The answer to a commit is lost, and its version expires before it is asked for."""
    days.insert("a")
    days.fault = ("put", "/index", Fault.LOST_ANSWER)
    days.meanwhile = [days.expire, lambda: days.insert("c")]
    assert days.insert("b") == 2
    assert days.names == ["a", "b", "c"]
    state = open_table(days.root, "d", "t").state
    assert state is not None
    assert [past.version for past in state.history] == [3]


def test_t_13_3_2_slow_writers_copy_what_may_have_been_collected(days: Days) -> None:
    days.insert("a")
    late = TableChange("insert", (days.packed("late"),))
    days.pass_days(2)
    days.packed("left")
    days.insert("b")
    days.expire()
    days.pass_days(2)
    copied = days.packed("late").key
    collected = {leftover.key for leftover in days.collect().garbage}
    assert copied in collected
    with pytest.raises(ConflictError, match=r"late\S* was collected before the table had it"):
        commit(days.root, KEYS, late, env=days.env)
    # One that the collector has not come to yet.
    put_new(days.root, copied, b"late")
    days.pass_days(2)
    days.packed("more")
    days.pass_days(2)
    days.collect()
    put_new(days.root, f"{KEYS.folder}/data/old.zion", b"old")
    old = TableChange("insert", (replace(days.packed("old"), key=f"{KEYS.folder}/data/old.zion"),))
    days.pass_days(2)
    change = TableChange("gc", boundary_us=days.now_us - DAY_US)
    commit(days.root, KEYS, change, env=days.env)
    commit(days.root, KEYS, old, env=days.env)
    keys = [leftover.key for leftover in open_table(days.root, "d", "t").descriptors()]
    assert len(keys) == 3
    assert keys[-1].endswith("/old.zion")
    assert keys[-1] != f"{KEYS.folder}/data/old.zion"


def test_a_boundary_that_was_known_needs_no_look(days: Days) -> None:
    days.insert("a")
    commit(days.root, KEYS, TableChange("gc", boundary_us=days.now_us), env=days.env)
    looks: list[str] = []
    good = days.store.head
    days.store.head = lambda item: looks.append(str(item)) or good(item)  # type: ignore[method-assign,func-returns-value]
    for since_us in (days.now_us, None):
        change = TableChange("insert", (days.packed(f"b{since_us}"),), since_us=since_us)
        commit(days.root, KEYS, change, env=days.env)
    assert len(looks) == 1


def test_overwritten_boundaries_count(days: Days) -> None:
    """The original overwrites the version of the collector: what that has deleted stays deleted."""
    days.insert("a")
    days.insert("b")
    head = open_table(days.root, "d", "t")
    late = TableChange("insert", (days.packed("late"),))
    days.pass_days(2)
    days.collect()
    with days.store.create(days.root.place(KEYS.index), overwrite=True) as file:
        file.write(replace(head.index, created_us=days.now_us).encode(LOCAL))
    assert open_table(days.root, "d", "t").state == head.state
    with pytest.raises(ConflictError, match="was collected"):
        commit(days.root, KEYS, late, env=days.env)


def test_t_13_3_1_what_was_replaced_lately_stays_however_old_it_is(days: Days) -> None:
    days.insert("a")
    days.pass_days(100)
    change = TableChange("compact", (days.packed("b"),), frozenset({days.packed("a").key}))
    commit(days.root, KEYS, change, env=days.env)
    days.expire()
    assert not days.collect().garbage
    days.pass_days(0.9)
    assert not days.collect().garbage
    days.pass_days(0.2)
    collected = days.collect(dry_run=True)
    done = days.collect()
    assert [leftover.key for leftover in collected.garbage] == [
        leftover.key for leftover in done.garbage
    ]
    assert {leftover.kind for leftover in done.garbage} == {"version", "packfile"}
    assert days.names == ["b"]
    days.pass_days(2)
    assert not days.collect().garbage, "it ends"


@pytest.mark.parametrize("kind", ["versions/", "history-", "indirect-", "inputs-"])
@pytest.mark.parametrize("is_missing", [True, False])
def test_t_13_3_3_whatever_cannot_be_read_stops_it(
    days: Days, kind: str, is_missing: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits.USUAL, "inline_packfiles", 3)
    monkeypatch.setattr(limits.USUAL, "inline_versions", 4)
    monkeypatch.setattr(limits.USUAL, "journal_entries", 2)
    monkeypatch.setitem(InputsTree.__init__.__kwdefaults__, "split", 4)  # type: ignore[arg-type]
    for number in range(12):
        inputs = (ChangedInput(f"s3://in/{number}", '"e"'),)
        change = TableChange("sync", (days.packed(f"a{number}"),), inputs=inputs)
        commit(days.root, KEYS, change, env=days.env)
    left = days.packed("left").key
    days.pass_days(2)
    assert left in {leftover.key for leftover in days.collect(dry_run=True).garbage}
    needed = open_table(days.root, "d", "t").index
    keys = {
        "versions/": [open_table(days.root, "d", "t").state.history[0].key],  # type: ignore[union-attr]
        "history-": [open_table(days.root, "d", "t").state.older[0].key],  # type: ignore[union-attr]
        "indirect-": [needed.indirect.refs[0].key],
        "inputs-": [ref.key for ref in needed.inputs.root if ref.is_inner],
    }[kind]
    path = days.root.place(keys[0])
    if is_missing:
        days.store.delete(path)
    else:
        with days.store.create(path, overwrite=True) as file:
            file.write(b"what it was not")
    with pytest.raises(CorruptError, match=keys[0].rpartition("/")[2][:20]):
        days.collect()
    assert days.root.has(left)


def test_unknown_objects_stay(days: Days) -> None:
    days.insert("a")
    uid = new_uid()
    stay = ["notes.txt", "data/x.txt", "versions/1-x", f"inputs-{uid}.old", "definition.json"]
    go = [f"inputs-{uid}", f"indirect-{uid}", f"history-{uid}", f"p/q/packed-{uid}.zion"]
    go += [f"packed-{uid}.ion.zst", "data/p/x.zion"]
    for name in stay + go:
        put_new(days.root, f"{KEYS.folder}/{name}", b"x")
    days.pass_days(2)
    actual = {leftover.key.removeprefix(f"{KEYS.folder}/") for leftover in days.collect().garbage}
    assert actual == set(go)


@pytest.mark.parametrize(("name", "index"), recorded())
def test_roots_of_the_original_keep_what_they_need(name: str, index: str, tmp_path: Path) -> None:
    """T 13: what its own collection leaves behind goes too, and nothing that it leads to."""
    database, table = index.removeprefix(f"{name}.").split(".")[:2]
    root = TableRoot(str(unpacked(name, tmp_path)), store_of(str(tmp_path)), LOCAL)
    before = open_table(root, database, table)
    needed = {descriptor.key for descriptor in before.descriptors()} | set(before.inputs.nodes())
    needed |= {ref.key for ref in before.index.indirect.refs}
    collected = collect(root, TableKeys(database, table), grace_seconds=-10, dry_run=True)
    done = collect(root, TableKeys(database, table), grace_seconds=-10)
    assert [descriptor.key for descriptor in collected.garbage] == [
        descriptor.key for descriptor in done.garbage
    ]
    assert needed.isdisjoint(descriptor.key for descriptor in done.garbage)
    folder = tmp_path / TableKeys(database, table).folder
    left = {str(path.relative_to(tmp_path)) for path in folder.rglob("*") if path.is_file()}
    named = {key for key in left if key.rpartition("/")[2].startswith(("packed-", "indirect-"))}
    pending = {descriptor.key for descriptor in before.index.to_delete}
    after = open_table(root, database, table)
    lists = {ref.key for ref in after.index.indirect.refs}
    assert named - pending <= needed | lists
    assert needed <= left
    adopted = [descriptor.key for descriptor in after.descriptors()]
    if done.garbage:
        assert adopted == [own_key(descriptor.key) for descriptor in before.descriptors()]
    assert {*adopted, *lists} <= left
    assert list(after.inputs.walk()) == list(before.inputs.walk())


@pytest.fixture
def lake(tmp_path: Path) -> Connection:
    """A table with a branch, a tag, and rows of both."""
    db = sdb.connect(tmp_path / "lake")
    db.execute("CREATE TABLE d.t")
    db.append("d.t", [{"n": 1}])
    db.table("d.t").tag("v1")
    db.table("d.t").branch("side")
    for number in range(2):
        db.append("d.t", [{"n": 2 + number}], branch="side")
    db.append("d.t", [{"n": 4}])
    return db


def days_later(tmp_path: Path) -> None:
    for path in (tmp_path / "lake").rglob("*"):
        if path.is_file():
            at = path.stat().st_mtime - 3 * 86_400
            os.utime(path, (at, at))


@pytest.mark.parametrize("is_collected", [False, True])
@pytest.mark.parametrize("step", ["_current_us", "_marked"])
def test_a_branch_that_goes_meanwhile_is_passed_over(
    lake: Connection,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    step: str,
    is_collected: bool,
) -> None:
    """Its rows, too, where another collector has taken them."""
    root = table_root(tmp_path / "lake")
    lake.execute("DELETE FROM d.t WHERE n = 4")
    lake.table("d.t").expire(all_but_head=True)
    days_later(tmp_path)
    good = getattr(gc._Collector, step)

    def late(*value: Any) -> Any:
        monkeypatch.undo()
        setrefs.delete_branch(root, "d", "t", "side")
        if is_collected:
            collect(root, TableKeys("d", "t"))
        return good(*value)

    monkeypatch.setattr(gc._Collector, step, late)
    collect(root, TableKeys("d", "t"))
    days_later(tmp_path)
    collect(root, TableKeys("d", "t"))
    assert lake.table("d.t").validate().ok
    assert [ref.name for ref in lake.table("d.t").refs()] == ["main", "v1"]
    assert not list((tmp_path / "lake").rglob("branches/*/index"))


def test_a_hold_that_others_are_at_does_not_end_a_collection(
    lake: Connection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is let go by the next one."""
    lake.table("d.t").fork("d.f", share=True)
    lake.execute("DELETE FROM d.f")
    lake.table("d.f").expire(all_but_head=True)
    days_later(tmp_path)

    def busy(*_: Any, **__: Any) -> None:
        raise ConflictError("others were faster")

    with monkeypatch.context() as patch:
        patch.setattr(sharing, "delete_branch", busy)
        assert lake.table("d.f").gc().garbage
    assert len(lake.table("d.t").refs()) == 4
    lake.table("d.f").gc()
    assert len(lake.table("d.t").refs()) == 3


def test_what_expires_while_it_is_looked_at_is_no_damage(lake: Connection, tmp_path: Path) -> None:
    root = table_root(tmp_path / "lake")
    head, side = (open_table(root, "d", "t", branch=name) for name in ("main", "side"))
    assert [ref.name for ref in refs(head)] == ["main", "side", "v1"]
    lake.append("d.t", [{"n": 5}])
    setrefs.delete_tag(root, "d", "t", "v1")
    setrefs.delete_branch(root, "d", "t", "side")
    lake.table("d.t").expire(all_but_head=True)
    days_later(tmp_path)
    collect(root, TableKeys("d", "t"))
    assert head.state is not None
    assert not any((tmp_path / "lake" / ref.key).exists() for ref in head.state.history)
    assert validate_table(head).ok
    assert [ref.name for ref in refs(head)] == ["main"]
    assert {ref.text for ref in validate_table(side).findings} == {"is missing"}, "its rows"
    lake.table("d.t").tag("v2")
    lake.append("d.t", [{"n": 6}])
    now = open_table(root, "d", "t")
    assert now.state is not None
    (tmp_path / "lake" / now.state.tags["v2"].key).unlink()
    assert len(validate_table(now).findings) == 1
    with pytest.raises(CorruptError, match="is missing"):
        refs(now)
