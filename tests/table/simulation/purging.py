"""Purges in the simulation: rows that go for good, and what must hold of them.

A purge erases the row of an insert that was acknowledged. Once it has said so no newest version of
any branch has the row again; when all others are gone no object has it, and nothing else is lost.
"""

from __future__ import annotations

import json
from random import Random
from typing import TYPE_CHECKING

from sdb.errors import CorruptError, NotFoundError, SdbError
from sdb.query.syntax.writeparser import parse_write
from sdb.statements.effects import Effect
from sdb.statements.erasure import Erasure
from sdb.statements.purgescan import ErasableRows
from sdb.statements.transaction import Transaction
from sdb.table.catalog.handle import find_table
from sdb.table.format.versionref import MAIN
from sdb.table.history.holds import holder_of
from sdb.table.history.setrefs import delete_branch
from sdb.table.maintenance.collected import kind_of
from sdb.table.maintenance.listing import branches_of
from tests.table.simulation.actors import KEYS, MARK, SLOW_SECONDS, WORLDS
from tests.table.simulation.decoding import decoded
from tests.table.simulation.scheduler import Actor

if TYPE_CHECKING:
    from collections.abc import Callable

    from sdb.statements.apply import StatementRunner
    from sdb.statements.matching import QueryContext
    from sdb.statements.purged import Purged
    from sdb.table.catalog.root import TableRoot
    from sdb.table.format.keys import TableKeys
    from tests.table.simulation.actors import World

PREFIX = "purge"
SHARE, PLAYED = 11, 3


def begin(world: World, seed: int, strangers: int) -> int:
    """Add purges to one of eleven seeds, and return how many programs of others are at work.

    Not where there are several branches: their model knows of no rows that go everywhere.
    """
    if seed % SHARE != PLAYED or world.lines.is_chosen:
        return strangers
    world.schedule.add(PREFIX, purger(world, seed, 1 + seed % 3))
    return 0


def purger(world: World, seed: int, count: int) -> Callable[[Actor], None]:
    """Purge rows that were acknowledged; sometimes it dies with it."""
    dice = Random(f"purge {seed}")

    def work(actor: Actor) -> None:
        for _ in range(count):
            for _ in range(dice.randrange(1, 30)):
                world.schedule.sleep(0.1)
            tokens = [item for some in world.acknowledged.values() for item in some]
            tokens = [item for item in tokens if item.startswith("insert")]
            if not tokens:
                continue
            token = dice.choice(tokens)
            world.purging.add(token)
            began = world.schedule.seconds
            try:
                done = erase(world, actor, token)
            except (CorruptError, NotFoundError):
                if world.schedule.seconds - began <= SLOW_SECONDS:
                    raise
                continue
            except SdbError:
                continue
            if done.ok:
                world.purged.setdefault(token, len(world.store.log))

    return work


def erase(world: World, actor: Actor, token: str) -> Purged:
    """Purge a row, by the real steps; only what is in packfiles is played."""
    delete = parse_write(f"DELETE FROM d.t WHERE row = '{token}'")
    base = Transaction((), world.root, author="purge", env=actor.env())
    return Erasure(base, KEYS, delete).run()


def played_scan(
    root: TableRoot,
    keys: TableKeys,
    where: object,  # noqa: ARG001 - the text tells
    context: QueryContext,
    *,
    is_told: bool = False,  # noqa: ARG001
) -> ErasableRows:
    """Look for a row in all packfiles of a table, as queries would."""
    world, token = WORLDS[root.store], token_of(context.text)  # type: ignore[index]
    rows, count = {}, 0
    for entry in list(root.store.below(root.place(keys.folder))):
        key = entry.location.removeprefix("mem://r/")
        if kind_of(keys, key) != "packfile":
            continue
        try:
            actual = [item.removesuffix(MARK) for item in world.read(key)].count(token)
        except NotFoundError:
            continue
        count += 1
        if actual:
            rows[key] = actual
    return ErasableRows(rows, {}, count)


def token_of(text: str) -> str:
    """Return the row that a statement is about."""
    return text.rpartition("'")[0].rpartition("'")[2]


def played_delete(work: StatementRunner) -> Effect:
    """Delete one row, as queries and blocks would."""
    view, token = work.view, token_of(work.statement.text)
    world, count = WORLDS[view.root.store], 0  # type: ignore[index]
    for descriptor in list(view.descriptors()):
        if work.only is not None and descriptor.key not in work.only:
            continue
        tokens = world.read(descriptor.key)
        left = [item for item in tokens if item.removesuffix(MARK) != token]
        if len(left) < len(tokens):
            count += len(tokens) - len(left)
            view.replace(descriptor.key, [world.packed(left, keys=view.keys)] if left else ())
    return Effect("delete", "d.t", rows_deleted=count)


def settle(world: World) -> None:
    """Purge once more what was begun: nobody else is at work, so that it comes to its end."""
    actor = Actor(PREFIX, lambda _: None, world.schedule)
    actor.fault_rate = 0
    world.schedule.current = None
    for branch in branches_of(world.root, KEYS):
        other = holder_of(branch)
        if other is not None and find_table(world.root, other.database, other.table) is None:
            delete_branch(world.root, "d", "t", branch, is_forced=True, env=actor.env())
    for token in sorted(world.purging):
        world.store.nobody = PREFIX
        done = erase(world, actor, token)
        world.store.nobody = ""
        held = all("lease" in item.reason for item in done.left)
        assert done.ok or (held and _has_leases(world)) or _has_lost_branch(world), done.left
        if done.ok:
            world.purged.setdefault(token, len(world.store.log))
            world.erased.add(token)


def _has_lost_branch(world: World) -> bool:
    """Return whether a branch lost its name: it was begun anew while it was being deleted.

    Its rows stay, which the purge says, until `sdb branch -d` takes it away.
    """
    head = find_table(world.root, "d", "t")
    known = () if head is None or head.state is None else (MAIN, *head.state.branches)
    return any(branch not in known for branch in branches_of(world.root, KEYS))


def _has_leases(world: World) -> bool:
    return any("/leases/" in url for url in world.store.contents)


def check_purged(world: World) -> None:
    """Check that what was purged is gone, and stays gone."""
    heads = [
        (position, data)
        for position, (url, data) in enumerate(world.store.log)
        if url.startswith(f"mem://r/{KEYS.folder}/") and url.endswith("/index")
    ]
    for token, since in world.purged.items():
        for position, data in heads:
            if position >= since:
                assert token not in _rows(world, data), f"{token} came back"
    for url in world.store.contents:
        key = url.removeprefix("mem://r/")
        if kind_of(KEYS, key) == "packfile":
            there = {load.removesuffix(MARK) for load in json.loads(world.ever(key))}
            assert not there & world.erased, f"{there & world.erased} is still in {key}"


def last_mark(world: World, before: int) -> int:
    """Return when a purge has moved the boundary last: what was replaced by then has no grace."""
    log, writers = world.store.log, world.store.writers
    marks = (
        position
        for position in range(before - 1, -1, -1)
        if writers[position].startswith(PREFIX) and log[position][0].endswith("/index")
    )
    return next(marks, -1)


def _rows(world: World, data: bytes) -> set[str]:
    from tests.table.simulation.play import packfiles_of

    return {row for key in packfiles_of(world, decoded(data)[0]) for row in world.tokens(key)}
