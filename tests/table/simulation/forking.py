"""Forks that share packfiles, for the simulation, and what must hold of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sdb.errors import CorruptError, SdbError, UncertainError
from sdb.store.faults import CrashError
from sdb.table.catalog.handle import find_table, open_table
from sdb.table.commit import commit
from sdb.table.commit.change import TableChange
from sdb.table.format.keys import TableKeys
from sdb.table.history.fork import fork
from sdb.table.maintenance import expire, gc
from tests.table.simulation.actors import WORLDS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from sdb.table.format.descriptor import Descriptor
    from sdb.table.format.index import TableIndex
    from sdb.table.history.transfer import Transfer
    from tests.table.simulation.actors import World
    from tests.table.simulation.scheduler import Actor

ABOVE = "mem://r/db/f/"
"""Forks lie in a database of their own."""


def forker(world: World, count: int) -> Callable[[Actor], None]:
    """Share packfiles of the table, or of a fork of it, and let forks lose them again."""

    def work(actor: Actor) -> None:
        for number in range(count):
            name = f"{actor.name}-{number}"
            before = f"{actor.name}-{number - 1}"
            chain = [("f", before)] if number and world.random.random() < 0.4 else []
            for version in (*chain, ("d", "t")):
                try:
                    source = open_table(world.root, *version)
                    fork(source, "f", name, share=True, env=actor.env())
                    break
                except CorruptError as error:
                    if not world.stranger.has_swept(error):
                        raise
                except SdbError:
                    continue  # there is no table, others were faster, or nobody knows
            if world.random.random() < 0.5:
                lose(world, actor, before if number else name)

    return work


def played_transfer(
    transfer: Transfer, wanted: Iterable[Descriptor], _: Callable[[int], None]
) -> tuple[Descriptor, ...]:
    """Copy packfiles, which are lists of rows here."""
    root = transfer._root
    results = []
    for item in wanted:
        world = WORLDS[root.store]  # type: ignore[index]
        results.append(world.packed(world.read(item.key), transfer.key(item.key)))
    return tuple(results)


def lose(world: World, actor: Actor, name: str) -> None:
    """Take packfiles out of a fork, and let it expire and be collected: it lets them go."""
    env = actor.env()

    most = world.random.randrange(1, 5)

    def plan(index: TableIndex) -> TableChange:
        return TableChange(
            "delete", removed=frozenset(descriptor.key for descriptor in index.inline[:most])
        )

    try:
        commit.commit(world.root, TableKeys("f", name), plan, env=env)
        for _ in range(2):
            expire.expire(world.root, "f", name, expire.ExpiryPolicy(1), env=env)
            gc.collect(world.root, TableKeys("f", name), env=env)
            if world.schedule.long_days:
                world.schedule.pass_time(1.25 * 86_400)
    except UncertainError:
        pass
    except CrashError:
        raise
    except CorruptError:
        raise
    except SdbError:
        pass


def is_of_fork(url: str) -> bool:
    """Return whether an object is one of a fork."""
    return url.startswith(ABOVE)


def forks(world: World) -> list[str]:
    """Return the names of the forks that there are."""
    ends = [url.removeprefix(ABOVE) for url in world.store.contents if is_of_fork(url)]
    return sorted({end.split("/")[0] for end in ends if end.split("/")[1:] == ["index"]})


def check_forks(world: World) -> None:
    """No packfile is missing that a fork has, now or in a version that it keeps."""
    for name in forks(world):
        head = find_table(world.root, "f", name)
        assert head is not None
        assert head.state is not None
        remaining = [
            head,
            *(head.version(descriptor.key, descriptor.etag) for descriptor in head.state.history),
        ]
        for version in remaining:
            for descriptor in version.descriptors():
                there = world.root.place(descriptor.key) in world.store.contents
                assert there, f"{descriptor.key} is missing, which {name} shares"
