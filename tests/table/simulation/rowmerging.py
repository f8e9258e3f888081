"""Merges by row, by the real code on real packfiles: a seed decides what two branches do.

Rows are inserted, updated, deleted and compacted on both sides, and merged both ways. What must
hold is a model of rows by their ids: a merge has of each row what the side says that has changed it
since the merge base, and it is refused, and changes nothing, exactly if a row was changed on both
sides to different values. The code under test knows nothing of these ids.
"""

from __future__ import annotations

from contextlib import contextmanager, nullcontext, suppress
from random import Random
from typing import TYPE_CHECKING, Any

import numpy as np

from sdb import ion
from sdb.packfile.rewrite.rewrite import RowChanges
from sdb.records import record
from sdb.store.faults import CrashError, Fault
from sdb.store.memory import MemoryStore
from sdb.table.catalog.handle import open_table
from sdb.table.catalog.root import TableRoot
from sdb.table.commit.change import TableChange
from sdb.table.commit.commit import commit
from sdb.table.commit.objects import put_new
from sdb.table.format.keys import TableKeys
from sdb.table.format.state import RowCounts
from sdb.table.history import merge as merging
from sdb.table.history import setrefs
from sdb.table.history.mergebase import merge_base
from sdb.table.packfiles import merge as packfilemerging
from sdb.table.packfiles.lazy import OpenObjects, whole_packfile
from sdb.table.packfiles.pack import pack_rows
from sdb.table.packfiles.rewrite import rewrite
from tests.table.roots import LOCAL

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from sdb.store.faults import StoreCall
    from sdb.table.catalog.handle import TableHandle
    from sdb.table.format.descriptor import Descriptor
    from sdb.table.format.index import TableIndex

KEYS = TableKeys("d", "t")
SIDES = ("main", "side")
Row = dict[str, Any]
Rows = dict[int, Row]


@record
class Expected:
    """What a merge must give."""

    rows: Rows
    conflicts: frozenset[int]  # ids of rows that both sides have changed
    counts: RowCounts  # what became of the rows of the destination


class RowWorld:
    """A table with two branches, and what is known of the rows of each version."""

    def __init__(self, seed: int, *, script: Any = None) -> None:
        self.random = Random(seed)
        self.root = TableRoot("mem://r", MemoryStore(script), LOCAL)
        self.known: dict[str, Rows] = {}
        self.has_untraced = False
        self.merged = self.conflicts = self.refused = self.raced = 0
        self.heat = self.random.choice((0.1, 0.3, 0.6))
        self._next_id = 0
        self._names = 0

    def name(self) -> str:
        """Return a name that nothing has."""
        self._names += 1
        return f"n{self._names:025}"

    def head(self, branch: str) -> TableHandle:
        return open_table(self.root, "d", "t", branch=branch)

    def key(self, handle: TableHandle) -> str:
        assert handle.state is not None
        return KEYS.version(handle.state.version, handle.state.commit)

    def rows(self, branch: str) -> Rows:
        """Return the rows that the newest version of a branch must have."""
        return self.known[self.key(self.head(branch))]

    def commit(self, branch: str, change: TableChange, rows: Rows) -> None:
        done = commit(self.root, KEYS, change, commit_id=self.name(), branch=branch)
        assert done.is_new
        self.known[self.key(self.head(branch))] = rows

    def pack(self, rows: list[Row]) -> Descriptor:
        packed = pack_rows(self.root, KEYS, rows, rules=None, commit_id=self.name()).descriptor
        assert packed is not None
        return packed

    # What a program does to a branch

    def insert(self, branch: str) -> None:
        count = self.random.choice((1, 2, 5, 12))
        new = {self._next_id + n: self._row(self._next_id + n) for n in range(count)}
        self._next_id += count
        change = TableChange("insert", (self.pack(list(new.values())),))
        self.commit(branch, change, self.rows(branch) | new)

    def _row(self, number: int) -> Row:
        return {"id": number, "v": self.random.randrange(3), "s": "x" * self.random.randrange(3)}

    def write(self, branch: str) -> None:
        """Update and delete rows, in one or several packfiles; maybe all of one."""
        rows = dict(self.rows(branch))
        removed, added, updated, deleted = [], [], 0, 0
        change = TableChange("update")
        several = list(self.head(branch).descriptors())
        for descriptor in self.random.sample(
            several, min(len(several), self.random.choice((1, 2)))
        ):
            ids = [row["id"] for row in self.stored(descriptor)]
            gone, new = self._chosen(ids), self._chosen(ids)
            if self.random.random() < 0.1:
                gone = set(ids)
            new = {} if self.random.random() < 0.3 else dict.fromkeys(new - gone)
            if self.random.random() < 0.4:
                gone = set()
                new = new or {ids[0]: None}
            for number in new:
                # Few values: both sides often come to the same, or to what was there before.
                rows[number] = rows[number] | {"v": self.random.randrange(4)}
                new[number] = rows[number]["v"]
            for number in gone:
                del rows[number]
            if not gone and not new:
                continue
            made = self.rewritten(descriptor, ids, gone, new)
            removed.append(descriptor.key)
            added += [] if made is None else [made]
            updated, deleted = updated + len(new), deleted + len(gone)
        if removed:
            counts = RowCounts(0, updated, deleted)
            change = TableChange(
                "update", tuple(added), frozenset(removed), counts=counts, is_traced=True
            )
            self.commit(branch, change, rows)

    def _chosen(self, ids: list[int]) -> set[int]:
        """Choose some neighbouring rows, or any."""
        if self.random.random() < 0.5:
            first = self.random.randrange(len(ids))
            return set(ids[first : first + self.random.randrange(4)])
        return {number for number in ids if self.random.random() < self.heat}

    def rewritten(
        self, descriptor: Descriptor, ids: list[int], gone: set[int], new: dict[int, Any]
    ) -> Descriptor | None:
        at = {number: row for row, number in enumerate(ids)}
        values = [
            {"row": at[number], "0": new[number]} for number in sorted(new, key=at.__getitem__)
        ]
        changes = RowChanges(
            np.array(sorted(at[number] for number in gone), np.int64),
            np.array([value["row"] for value in values], np.int64),
            b"".join(ion.dumps(value) for value in values),
            (("v",),),
        )
        done = rewrite(self.root, KEYS, descriptor, changes, self.name(), threads=1)
        assert done.are_rows_traced
        return done.descriptor

    def compact(self, branch: str) -> None:
        several = list(self.head(branch).descriptors())
        if len(several) < 2:
            return
        first = self.random.randrange(len(several) - 1)
        parts = several[first : first + self.random.choice((2, 2, 3, 5))]
        made = packfilemerging.merged_packfile(self.root, KEYS, parts, threads=1)
        assert made.are_rows_traced
        gone = frozenset(part.key for part in parts)
        counts = RowCounts(0, 0, 0)
        change = TableChange("compact", (made.descriptor,), gone, counts=counts, is_traced=True)
        self.commit(branch, change, self.rows(branch))

    def repack(self, branch: str) -> None:
        """Write a packfile again as an older `sdb` does: its rows do not say what they were."""
        descriptor = self.random.choice(list(self.head(branch).descriptors()))
        rows = dict(self.rows(branch))
        stored = self.stored(descriptor)
        if len(stored) > 1 and self.random.random() < 0.5:
            del rows[stored.pop()["id"]]
        change = TableChange("update", (self.pack(stored),), frozenset((descriptor.key,)))
        self.commit(branch, change, rows)
        self.has_untraced = True

    # What is there

    def stored(self, descriptor: Descriptor) -> list[Row]:
        objects = OpenObjects()
        pack = whole_packfile(self.root, descriptor, objects)
        return [dict(row) for row in pack.rows()]

    def check(self) -> None:
        """Compare the rows of both branches with the model."""
        for branch in SIDES:
            head = self.head(branch)
            stored = [row for descriptor in head.descriptors() for row in self.stored(descriptor)]
            ids = [row["id"] for row in stored]
            assert len(ids) == len(set(ids)), f"{branch}: rows are there twice"
            expected = self.known[self.key(head)]
            assert {row["id"]: row for row in stored} == expected, branch
            assert head.state is not None
            assert head.state.rows == len(stored)

    def expected(self, source: TableHandle, into: TableIndex, into_rows: Rows) -> Expected | None:
        """Return what merging must give; None: there is nothing to merge."""
        base = merge_base(source, into).handle
        if base is None:
            return None
        before, theirs, ours = self.known[self.key(base)], self.known[self.key(source)], into_rows
        rows: Rows = {}
        conflicts = set()
        for number in before.keys() | ours.keys() | theirs.keys():
            old, mine, other = (side.get(number) for side in (before, ours, theirs))
            if other not in (old, mine) and mine != old:
                conflicts.add(number)
            result = mine if other == old or mine != old else other
            if result is not None:
                rows[number] = result
        shared = rows.keys() & ours.keys()
        counts = RowCounts(
            len(rows.keys() - ours.keys()),
            sum(rows[number] != ours[number] for number in shared),
            len(ours.keys() - rows.keys()),
        )
        return Expected(rows, frozenset(conflicts), counts)

    def resolved(self, expected: Expected, source: str, strategy: str) -> Rows:
        """Return what a merge must give when one side counts for rows in conflict."""
        rows = dict(expected.rows)
        theirs = self.rows(source)
        for number in expected.conflicts if strategy == "source" else ():
            rows.pop(number, None)
            if number in theirs:
                rows[number] = theirs[number]
        return rows

    # Merges

    def merge(self, source: str, into: str, strategy: str = "") -> None:
        """Merge, maybe while others commit, and compare what comes of it with the model."""
        with self._others(into) if self.random.random() < 0.3 else nullcontext():
            try:
                done = merging.merge(self.root, "d", "t", source, into=into, strategy=strategy)
            except merging.MergeConflictError as error:
                head = self.head(into)
                assert self.key(head) in self.known, "a conflict changed the table"
                expected = self.expected(self.head(source), head.index, self.rows(into))
                assert expected is not None
                self._check_conflict(error, expected, strategy)
                return
        head = self.head(into)
        if not done.is_new:
            assert self.expected(self.head(source), head.index, self.rows(into)) is None
            return
        self.merged += 1
        assert head.state is not None
        assert head.state.parent is not None
        before = head.version(head.state.parent.key)
        expected = self.expected(self.head(source), before.index, self.known[self.key(before)])
        assert expected is not None
        self._check_merged(head, expected, source, strategy)

    def _check_merged(
        self, head: TableHandle, expected: Expected, source: str, strategy: str
    ) -> None:
        """Compare a version that a merge has made with the model."""
        if not self.has_untraced:
            assert strategy or not expected.conflicts, f"no conflict: {set(expected.conflicts)}"
        rows = self.resolved(expected, source, strategy)
        if self.has_untraced and strategy:
            # Whole packfiles may count then: what there is is what the next merge begins with.
            stored = [row for descriptor in head.descriptors() for row in self.stored(descriptor)]
            rows = {row["id"]: row for row in stored}
        self.known[self.key(head)] = rows
        assert head.state is not None
        counts = head.state.changes.row_counts
        if not strategy and not self.has_untraced:
            assert counts is not None
            assert counts.inserted == expected.counts.inserted
            assert counts.deleted == expected.counts.deleted
            assert counts.updated >= expected.counts.updated

    @contextmanager
    def _others(self, into: str) -> Iterator[None]:
        """Commit once from elsewhere when rows are merged, and nothing is committed yet."""
        good, calls = merging.commit, 0

        def commit_late(*value: Any, **named: Any) -> Any:
            nonlocal calls
            calls += 1
            if calls == 2:
                self.raced += 1
                self.random.choice((self.insert, self.write, self.compact))(into)
            return good(*value, **named)

        merging.commit = commit_late
        try:
            yield
        finally:
            merging.commit = good

    def _check_conflict(self, error: Any, expected: Expected, strategy: str) -> None:
        if not error.rows:
            assert self.has_untraced, f"{error}: rows can be told"
            self.refused += 1
            return
        assert not strategy
        self.conflicts += 1
        named = {next(filter(None, (row.ours, row.theirs, row.base)))["id"] for row in error.rows}
        assert named == expected.conflicts
        for row in error.rows:
            assert row.ours != row.theirs
            assert row.base not in ({} if row.base is None else (row.ours, row.theirs))

    def step(self) -> None:
        branch = self.random.choice(SIDES)
        dice = self.random.random()
        if dice < 0.15 or not self.rows(branch):
            self.insert(branch)
        elif dice < 0.6:
            self.write(branch)
        elif dice < 0.7:
            self.compact(branch)
        elif dice < UNTRACED + 0.7:
            self.repack(branch)
        else:
            other = SIDES[branch == "main"]
            self.merge(branch, other)
            if self.random.random() < 0.5:
                self.merge(branch, other, self.random.choice(merging.STRATEGIES))


UNTRACED = 0.02
STEPS = 18


@contextmanager
def same_names(world: RowWorld) -> Iterator[None]:
    """Take names of packfiles from the world, so that a seed is played the same twice."""
    good = packfilemerging.new_uid
    packfilemerging.new_uid = world.name  # type: ignore[assignment]
    try:
        yield
    finally:
        packfilemerging.new_uid = good


def begun(seed: int, script: Callable[..., Any] | None = None) -> RowWorld:
    """Begin a table with some rows and two branches."""
    world = RowWorld(seed, script=script)
    commit(world.root, KEYS, TableChange("create", makes_table=True), commit_id=world.name())
    world.known[world.key(world.head("main"))] = {}
    for _ in range(world.random.choice((1, 2, 3))):
        world.insert("main")
    setrefs.branch(world.root, "d", "t", "side")
    world.known[world.key(world.head("side"))] = world.rows("main")
    return world


def run(seed: int) -> RowWorld:
    """Play a seed.

    Raises
    ------
    AssertionError
        Something does not hold.
    """
    world = begun(seed)
    with same_names(world):
        for _ in range(STEPS):
            world.step()
            world.check()
        for source, into in (SIDES, SIDES[::-1]):
            world.merge(source, into, "source")
            world.check()
    return world


def killed(seed: int) -> int:
    """Kill a merge before and after each of its requests that write, and merge again.

    Returns: How often it was killed.
    """
    world = begun(seed)
    with same_names(world):
        for _ in range(8):
            branch = world.random.choice(SIDES)
            world.random.choice((world.insert, world.write, world.write, world.compact))(branch)
        world.check()
        before = world.rows("main")
        expected = world.expected(world.head("side"), world.head("main").index, before)
        if expected is None:
            return 0
        rows = world.resolved(expected, "side", "source")
        calls: list[StoreCall] = []
        _merged(_twin(world, calls.append))
        writes = [number for number, call in enumerate(calls) if call.verb in {"put", "copy"}]
        for number in writes:
            for fault in (Fault.CRASH_BEFORE, Fault.CRASH_AFTER):
                twin = _twin(world, _Killer(number, fault))
                with suppress(CrashError):
                    _merged(twin)
                stored = _stored(twin)
                assert stored in (before, rows), f"half a merge after {fault} at {number}"
                assert number < writes[-1] or stored == (
                    before if fault is Fault.CRASH_BEFORE else rows
                )
                _merged(twin)
                assert _stored(twin) == rows, f"not merged after {fault} at {number}"
    return 2 * len(writes)


class _Killer:
    """Kills a program at one of its requests."""

    def __init__(self, number: int, fault: Fault) -> None:
        self._left = number
        self._fault = fault

    def __call__(self, _: StoreCall) -> Fault | None:
        self._left -= 1
        return self._fault if self._left == -1 else None


def _twin(world: RowWorld, script: Callable[[StoreCall], Fault | None]) -> TableRoot:
    """Return the same table in a store of its own, whose calls a script decides on from now on."""
    store = MemoryStore()
    root = TableRoot("mem://r", store, LOCAL)
    for url, data in world.root.store.contents.items():  # type: ignore[attr-defined]
        put_new(root, url.removeprefix("mem://r/"), data)
    store.calls.script = script
    return root


def _merged(root: TableRoot) -> None:
    merging.merge(root, "d", "t", "side", strategy="source")


def _stored(root: TableRoot) -> Rows:
    head = open_table(root, "d", "t")
    rows: Rows = {}
    for descriptor in head.descriptors():
        for row in whole_packfile(root, descriptor, OpenObjects()).rows():
            assert row["id"] not in rows
            rows[row["id"]] = dict(row)
    return rows
