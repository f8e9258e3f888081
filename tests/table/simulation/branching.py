"""Taggers, branchers and mergers for the simulation, and what must hold of what they do."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sdb.errors import CorruptError, SdbError
from sdb.records import replace
from sdb.table.commit import commit
from sdb.table.commit.change import TableChange
from sdb.table.format import etags
from sdb.table.history import setrefs
from sdb.table.history.merge import merge
from tests.table.simulation.actors import KEYS, collect
from tests.table.simulation.scheduler import DAY_SECONDS

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Callable

    from sdb.table.format.index import TableIndex
    from sdb.table.format.state import VersionState
    from tests.table.simulation.actors import World
    from tests.table.simulation.scheduler import Actor

BRANCH = "side"


def tagger(world: World, count: int) -> Callable[[Actor], None]:
    """Tag the newest version, or remove a tag."""

    def work(actor: Actor) -> None:
        model = world.branching
        for number in range(count):
            name = f"{actor.name}-{number}"
            try:
                actual = setrefs.tag(world.root, "d", "t", name, env=actor.env())
                model.tags[name] = actual.version
                if world.random.random() < 0.3:
                    model.tags.pop(name)
                    setrefs.delete_tag(world.root, "d", "t", name, env=actor.env())
            except CorruptError:
                raise
            except SdbError:
                continue

    return work


def unbrancher(world: World, count: int) -> Callable[[Actor], None]:
    """Begin the branch and commit to it as others do, take it away, and collect what it had."""
    begin = brancher(world, 3)

    def work(actor: Actor) -> None:
        name = actor.name
        for number in range(count):
            actor.name = f"{name}-{number}"
            begin(actor)
            if world.schedule.long_days:
                world.schedule.pass_time(1.25 * DAY_SECONDS)
            actor.held_up = world.random.randrange(30)
            try:
                # From now on nobody can tell what is in the branch.
                world.branching.deletions += 1
                world.branching.acknowledged.clear()
                setrefs.delete_branch(world.root, "d", "t", BRANCH, env=actor.env())
            except CorruptError:
                raise
            except SdbError:
                continue  # others were faster, or the store does not answer
            if world.schedule.long_days:
                with world.in_time():
                    collect(world, actor)

    return work


def brancher(world: World, count: int) -> Callable[[Actor], None]:
    """Begin a branch, and commit rows to it."""

    def work(actor: Actor) -> None:
        model = world.branching
        for _ in range(3):
            world.schedule.hurried += 1  # it takes no longer than the grace time
            try:
                setrefs.branch(world.root, "d", "t", BRANCH, env=actor.env())
                break
            except CorruptError:
                raise
            except SdbError:
                continue  # it is there, or the table is not yet
            finally:
                world.schedule.hurried -= 1
        for number in range(count):
            commit_id = f"{actor.name}-{number}"
            model.intended[f"{commit_id}@{BRANCH}"] = commit_id
            deletions = model.deletions
            try:
                key = KEYS.content(commit_id, "A" * 32)
                change = TableChange("insert", (world.packed((commit_id,), key),))
                options = {"commit_id": commit_id, "env": actor.env(), "branch": BRANCH}
                commit.commit(world.root, KEYS, change, **options)  # type: ignore[arg-type]
            except CorruptError:
                raise
            except SdbError:
                continue
            if model.deletions == deletions:
                model.acknowledged[f"{commit_id}@{BRANCH}"] = commit_id

    return work


def merger(world: World, count: int) -> Callable[[Actor], None]:
    """Merge the branch into the main one, or the other way round."""

    def work(actor: Actor) -> None:
        model = world.branching
        for number in range(count):
            source, into = ("main", BRANCH) if world.random.random() < 0.3 else (BRANCH, "main")
            known, deletions = set(model.acknowledged.values()), model.deletions
            try:
                merge(
                    world.root,
                    "d",
                    "t",
                    source,
                    into=into,
                    commit_id=f"{actor.name}-{number}",
                    env=actor.env(),
                )
            except CorruptError:
                raise
            except SdbError:
                continue
            if into == "main" and model.deletions == deletions:
                model.merged |= known

    return work


def without_names(index: TableIndex, state: VersionState) -> tuple[object, ...]:
    """Return what tags, branches and the ends of transactions do not change of an index."""
    plain = replace(state, tags={}, branches=(), kept_etag="", transaction="", together={})
    return plain, replace(index, user_data={})


def own_etag(data: bytes, state: VersionState) -> str:
    """Return the ETag of the version that an index is."""
    return state.kept_etag or etags.of_content([data])


def named_keys(state: VersionState) -> set[str]:
    """Return the keys of versions that have tags, or were merged."""
    merged = () if state.merged is None else (state.merged,)
    return {tag.key for tag in (*state.tags.values(), *state.merges.values(), *merged)}


def heads(world: World, above: str) -> list[tuple[str, bytes]]:
    """Return the indexes of the branches that there are."""
    there = world.store.contents
    return [(url, there[url]) for url in there if url.startswith(above)]


def check_branching(world: World, rows: Counter[str], ids: set[str], state: VersionState) -> None:
    """Check what must hold of the main branch at the end."""
    model = world.branching
    assert not ids & model.intended.keys(), "what was committed to a branch is in the main one"
    if not world.has_foreign:  # it may throw away names that were set while it was at work
        for name, version in model.tags.items():
            is_purged = (version or 0) <= state.purged and world.purging
            assert name in state.tags or is_purged, f"the tag {name} is lost"
            assert name not in state.tags or version in {None, state.tags[name].version}
        lost = {item for item in model.merged if rows[item] != 1}
        assert not lost, f"{lost} was merged, and is not there"
    for tag in state.tags.values():
        data = world.store.contents.get(world.root.place(tag.key))
        assert data is not None, f"{tag.key} has a name and is missing"
        assert etags.of_content([data]) == tag.etag


def merged_rows(world: World, added: Counter[str], gone: Counter[str]) -> None:
    """Check the rows that a merge has brought: those of the branch, each once."""
    if world.lines.is_chosen:
        return  # see check_lines
    assert not gone
    assert set(added) <= set(world.branching.intended.values()), f"a merge brought {added}"
