"""Several branches at once for the simulation, by programs whose clocks are days apart.

Rows are inserted, deleted, updated and compacted on every branch, and branches are merged in all
directions, as a whole and in part, while versions of the main branch expire. What must hold is a
model of sets: a version has the rows that it or a version it came from has inserted, each once, but
for those that it or a version it came from has deleted.
"""

from __future__ import annotations

from collections import Counter
from contextlib import contextmanager
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from sdb.errors import ConflictError, NotFoundError, SdbError, UncertainError
from sdb.records import record
from sdb.store.faults import CrashError
from sdb.table.catalog.handle import find_table, open_table
from sdb.table.commit import commit
from sdb.table.commit.change import TableChange
from sdb.table.format.versionref import BeforeFirstError, ExpiredError, UnknownReferenceError
from sdb.table.history import setrefs
from sdb.table.history.lineage import Ancestry
from sdb.table.history.merge import merge
from sdb.table.history.mergebase import BaseGoneError, _heads, merge_base
from sdb.table.maintenance import expire
from tests.table.simulation import actors
from tests.table.simulation.actors import KEYS, MARK
from tests.table.simulation.decoding import decoded, is_ours
from tests.table.simulation.scheduler import DAY_SECONDS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from random import Random

    from sdb.table.format.index import TableIndex
    from sdb.table.format.state import VersionState
    from tests.table.simulation.actors import World
    from tests.table.simulation.scheduler import Actor

PREFIX = "line"
BRANCHES = ("b0", "b1", "b2")
REWRITE = "rewrite"
DELETE = "delete"
OPERATIONS = frozenset({REWRITE, DELETE})
_DAYS = (-3, -1, 0, 0, 1, 2)


def begin(world: World, dice: Random) -> None:
    """Set the clocks of all actors days apart, and make them jump by days."""
    world.lines.has_races = dice.random() < 0.3
    world.is_hasty = True  # versions expire that retries would be known by
    schedule = world.schedule
    schedule.jump_us = int(1.5 * DAY_SECONDS * 1e6)
    for actor in schedule.actors:
        actor.skew_us = dice.choice(_DAYS) * DAY_SECONDS * 1_000_000


def liner(world: World, count: int) -> Callable[[Actor], None]:
    """Do something with one of the branches, again and again."""
    world.lines.is_chosen = True

    def work(actor: Actor) -> None:
        moves = (_begin, _insert, _insert, _delete, _rewrite, _rewrite, _merge, _merge, _merge)
        rare = (_expire, _expire, _collect, _remove, _tag)
        for number in range(8 + 6 * count):
            chosen = moves if world.random.random() < 0.85 else rare
            move = (_insert, _begin)[number] if number < 2 else world.random.choice(chosen)
            with world.in_time(), _passed_over():
                move(world, actor, f"{actor.name}-{number}")

    return work


@contextmanager
def _passed_over() -> Iterator[None]:
    """Pass over what is not there: the table is not yet, or others took away what was meant."""
    try:
        yield
    except (BeforeFirstError, ExpiredError, UnknownReferenceError):
        return
    except NotFoundError as error:
        if not (error.path or "").endswith(KEYS.index):
            raise


def _line(world: World) -> str:
    """Choose the main branch, or one that is there."""
    there = [
        item for item in BRANCHES if world.root.place(KEYS.branch(item)) in world.store.contents
    ]
    return world.random.choice(["main", *there, *there])


def _begin(world: World, actor: Actor, _: str) -> None:
    name = world.random.choice(BRANCHES)
    reference = world.random.choice(["main", "main", "-1", "-2", _line(world)])
    setrefs.branch(world.root, "d", "t", name, reference, env=actor.env())
    world.lines.begun.add(name)


def _remove(world: World, actor: Actor, _: str) -> None:
    name = world.random.choice(BRANCHES)
    world.lines.begun.discard(name)
    setrefs.delete_branch(world.root, "d", "t", name, env=actor.env())


def _tag(world: World, actor: Actor, name: str) -> None:
    setrefs.tag(world.root, "d", "t", name, env=actor.env())


def _expire(world: World, actor: Actor, _: str) -> None:
    policy = expire.ExpiryPolicy(world.random.choice((1, 1, 2)))
    with world.alone(actor):
        expire.expire(world.root, "d", "t", policy, env=actor.env())


def _collect(world: World, actor: Actor, _: str) -> None:
    world.schedule.pass_time(1.25 * DAY_SECONDS)
    actors.collect(world, actor)


def _commit(
    world: World,
    actor: Actor,
    branch: str,
    change: TableChange | Callable[[TableIndex], TableChange | None],
    name: str,
) -> None:
    options = {"commit_id": name, "env": actor.env(), "branch": branch}
    commit.commit(world.root, KEYS, change, **options)  # type: ignore[arg-type]


def _insert(world: World, actor: Actor, name: str) -> None:
    branch = _line(world)
    world.intended[name] = (name,)
    key = KEYS.content(name, "A" * 32)
    change = TableChange("insert", (world.packed((name,), key),))
    try:
        _commit(world, actor, branch, change, name)
    except (UncertainError, CrashError):
        world.unknown.add(name)
        raise
    except SdbError:
        world.refused.add(name)
        raise
    if branch == "main":
        world.lines.acknowledged.add(name)


def _delete(world: World, actor: Actor, name: str) -> None:
    """Take one of the rows away that were inserted here."""

    def plan(index: TableIndex) -> TableChange | None:
        actual = [(descriptor, world.raw(descriptor.key)) for descriptor in index.inline]
        listed = [
            (descriptor, row)
            for descriptor, rows in actual
            for row in rows
            if row.startswith(PREFIX)
        ]
        if not listed:
            return None
        reported, gone = listed[len(name) * 7 % len(listed)]
        left = [row for row in world.read(reported.key) if row != gone]
        added = (world.packed(left),) if left else ()
        return TableChange(DELETE, added, frozenset((reported.key,)))

    _commit(world, actor, _line(world), plan, name)


def _rewrite(world: World, actor: Actor, name: str) -> None:
    """Put some packfiles together, as a compaction does, or give their rows marks."""
    is_update = world.random.random() < 0.3
    most = world.random.randrange(1, 5)

    def plan(index: TableIndex) -> TableChange | None:
        some = [item for item in index.inline if not item.name.startswith("packed-")][-most:]
        some = [item for item in some if not item.trailer.sparse.clustered]
        rows = [row for item in some for row in world.read(item.key)]
        if is_update:
            rows = [
                row + MARK if row.startswith(PREFIX) and row[-1] != MARK else row for row in rows
            ]
        if not some:
            return None
        return TableChange(REWRITE, (world.packed(rows),), frozenset(item.key for item in some))

    _commit(world, actor, _line(world), plan, name)


def _merge(world: World, actor: Actor, name: str) -> None:
    model = world.lines
    source, into = _line(world), _line(world)
    if source == into:
        source, into = world.random.choice((("main", BRANCHES[0]), (BRANCHES[0], "main")))
    dice, only, is_begun = world.random.random(), "", source in {*model.begun, "main"}
    if dice < 0.15:
        packfiles = list(open_table(world.root, "d", "t", branch=source).descriptors())
        only = packfiles[-1].key.removeprefix(f"{KEYS.folder}/") if packfiles else ""
        model.partial |= {f"{name}@{into}", name} if only else set()
    elif dice < 0.3:
        source = f"{source}@-1"
    options = {"into": into, "only": only, "commit_id": name}
    try:
        with world.alone(actor):
            merge(world.root, "d", "t", source, env=actor.env(), **options)
    except BaseGoneError:
        model.bases_gone += is_begun
        raise
    model.merged += 1


def settle(world: World) -> None:
    """Look whether each branch that is there has a merge base with each other one, both ways.

    A version may expire while a branch begins with it, or merges it: merges are refused then.
    """
    is_gone = any("/branches/b" in url for url, *_ in world.store.deleted)
    if world.lines.has_races or is_gone:
        return  # what a branch that is gone has kept may have expired: refused, too
    heads = {name: find_table(world.root, "d", "t", branch=name) for name in ("main", *BRANCHES)}
    for source, theirs in heads.items():
        for into, ours in heads.items():
            if theirs is None or ours is None or source == into:
                continue
            if not {source, into} <= {*world.lines.begun, "main"}:
                continue  # its beginning was not told
            try:
                merge_base(theirs, ours.index)
            except BaseGoneError:
                assert ours.state is not None
                assert theirs.state is not None
                both = Ancestry(ours, ours.state), Ancestry(theirs, theirs.state)
                if len(_heads(ours, *both)) < 2:  # else that of the several is not known
                    raise
            except ConflictError:
                continue  # it has a part of a third one


@record
class _Node:
    """A version of the model: all rows that were inserted, and all that were deleted."""

    inserted: frozenset[str]
    deleted: frozenset[str]


class _Model:
    """The rows that versions must have, by the keys of these."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._nodes: dict[str, _Node] = {}

    def check(self, key: str) -> _Node:
        """Check a version, and all that it came from."""
        waiting = [key]
        while waiting:
            first = waiting[-1]
            before = [before for before in self._before(first) if before not in self._nodes]
            if first in self._nodes or not before:
                waiting.pop()
                if first not in self._nodes:
                    self._nodes[first] = self._checked(first)
            waiting += before
        return self._nodes[key]

    def _state(self, key: str) -> tuple[TableIndex, VersionState]:
        index, state = decoded(self._world.ever(key))
        assert state is not None
        return index, state

    def _before(self, key: str) -> list[str]:
        _, state = self._state(key)
        return [item.key for item in (state.parent, state.merged) if item is not None]

    def _rows(self, key: str) -> Counter[str]:
        from tests.table.simulation.play import packfiles_of

        index, _ = self._state(key)
        actual = packfiles_of(self._world, index)
        return Counter(row for element in actual.elements() for row in self._world.raw(element))

    def _checked(self, key: str) -> _Node:
        _, state = self._state(key)
        rows = self._rows(key)
        before = _Node(frozenset(), frozenset())
        had: Counter[str] = Counter()
        if state.parent is not None:
            before, had = self._nodes[state.parent.key], self._rows(state.parent.key)
        added, gone = frozenset(rows - had), frozenset(had - rows)
        if state.merged is None:
            assert not added & before.inserted, f"{key}: {added & before.inserted} came back"
            actual = _Node(before.inserted | added, before.deleted | gone)
        else:
            theirs = self._nodes[state.merged.key]
            if state.commit in self._world.lines.partial:
                assert added <= theirs.inserted - theirs.deleted, f"{key} brought {added}"
                assert gone <= theirs.deleted, f"{key} took {gone}"
                assert not added & before.inserted, f"{key}: {added & before.inserted} came back"
                actual = _Node(before.inserted | added, before.deleted | gone)
            else:
                inserted = before.inserted | theirs.inserted
                actual = _Node(inserted, before.deleted | theirs.deleted)
        twice = {row: count for row, count in rows.items() if count > 1}
        assert not twice, f"{key}, {state.operation}: {twice}"
        expected = actual.inserted - actual.deleted
        lost, more = expected - set(rows), set(rows) - expected
        assert not lost, f"{key}, {state.operation}: {lost} is missing"
        assert not more, f"{key}, {state.operation}: {more} came back"
        return actual


def check_lines(world: World) -> None:
    """Check all versions that were ever the newest of a branch."""
    if not world.lines.is_chosen or world.has_foreign:
        return
    model = _Model(world)
    heads = [
        (url, data)
        for url, data in world.store.log
        if url.endswith("/index") and fnmatchcase(url, f"{world.root.place(KEYS.folder)}/*")
    ]
    known: set[str] = set()
    for _, data in heads:
        index, state = decoded(data)
        if state is None or not is_ours(data) or index.user_data["sdb"].get("transaction"):
            continue
        key = KEYS.version(state.version, state.commit)
        if world.root.place(key) in world.store.written:
            known.add(key)
            model.check(key)
    commits = {KEYS.version_of(key) for key in known}
    done = {past[1] for past in commits if past is not None}
    if not world.schedule.actors:
        lost = world.lines.acknowledged - done
        assert not lost, f"{lost} was acknowledged, and was never there"
