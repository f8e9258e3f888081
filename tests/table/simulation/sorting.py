"""Compaction that sorts, for the simulation, and what must hold of what it makes.

Rows are sorted by their names. A block has three of them at most, so that packfiles of more are
sorted although there is nothing to merge them with.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from sdb.table.catalog.handle import open_table
from sdb.table.maintenance import compact as compaction
from sdb.table.maintenance.sizetiers import is_ours
from tests.table.simulation.actors import BY

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from sdb.table.format.descriptor import Descriptor
    from tests.table.simulation.actors import World
    from tests.table.simulation.scheduler import Actor

_MOST_TIMES = 12


def sorter(world: World, count: int) -> Callable[[Actor], None]:
    """Merge and sort packfiles, by what the definition says or by what is given; or just merge."""

    def work(actor: Actor) -> None:
        for _ in range(count):
            by = world.random.choice((None, [BY], [BY], []))
            with world.in_time():
                compact(world, actor, by)

    return work


def compact(world: World, actor: Actor, by: list[str] | None) -> compaction.Compacted:
    env = actor.env()
    return compaction.compact_table(
        world.root, "d", "t", cluster_by=by, env=env, merge=world.merged
    )


def settle(world: World, actor: Actor) -> None:
    """Sort what there is to sort, when all others are gone: some time all is sorted."""
    for _ in range(_MOST_TIMES):
        if compact(world, actor, [BY]).version is None:
            break
    else:
        raise AssertionError("there is always something to sort")
    for descriptor in open_table(world.root, "d", "t").descriptors():
        is_wanted = is_ours(descriptor) and len(descriptor.trailer.blocks) > 1
        assert descriptor.trailer.sparse.clustered or not is_wanted, (
            f"{descriptor.key} is not sorted"
        )


def check_marks(world: World, described: Mapping[str, Descriptor]) -> None:
    """Check the packfiles of a version: what is marked is sorted, and what was sorted is marked."""
    for key, item in described.items():
        mark = item.trailer.sparse.clustered
        assert bool(mark) == (item.name in world.sorted), f"{key}: sorted by {mark}"
        rows = world.raw(key)
        assert not mark or list(rows) == sorted(rows), f"{key} is marked, and not sorted"


def check_order(
    world: World, before: Mapping[str, Descriptor], after: Mapping[str, Descriptor]
) -> None:
    """Check what a compaction has made: of whole packfiles, in their order unless it is sorted."""
    gone = [key for key in before if key not in after]
    for key in after.keys() - before.keys():
        made = world.raw(key)
        here = set(made)
        parts = [
            row for item in gone if not here.isdisjoint(world.raw(item)) for row in world.raw(item)
        ]
        assert Counter(parts) == Counter(made), f"{key} has not the rows of its parts"
        is_sorted = bool(after[key].trailer.sparse.clustered)
        assert list(made) == (sorted(parts) if is_sorted else parts), f"{key}: another order"
