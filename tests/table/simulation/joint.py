"""Transactions over several tables in the simulation, and what must hold of them.

There is the table of all others, and two more. A transaction gives each of its tables a row of the
same name, or moves all rows of the one to the other: a reader of all tables finds each such row
either nowhere, or once in the first table and once in one of the others.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING
from unittest import mock

from sdb.errors import CorruptError, NotFoundError, SdbError, UncertainError
from sdb.query.syntax import writes
from sdb.query.syntax.writeparser import parse_write
from sdb.statements.effects import Effect
from sdb.statements.transaction import Transaction, carried_out
from sdb.store.faults import CrashError
from sdb.table.catalog import handle as tablehandle
from sdb.table.catalog import intents
from sdb.table.catalog.handle import find_table
from sdb.table.catalog.intents import COMMITTED, PENDING, TransactionIntent
from sdb.table.commit import commit as committing
from sdb.table.commit import twophase
from sdb.table.commit.change import TableChange
from sdb.table.format.keys import TableKeys
from tests.table.simulation.actors import (
    KEYS,
    LOCAL,
    SLOW_SECONDS,
    WORLDS,
    played_update,
    read_for_days,
)
from tests.table.simulation.decoding import decoded

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager

    from sdb.statements.apply import StatementRunner
    from sdb.table.catalog.handle import TableHandle
    from sdb.table.format.index import TableIndex
    from tests.table.simulation.actors import World
    from tests.table.simulation.scheduler import Actor

OTHERS = (TableKeys("d", "u"), TableKeys("e", "v"))
NEVER = 1 << 62
MOST_LOOKS = 400
_BY_KEY = {keys.index: keys for keys in (KEYS, *OTHERS)}


def _statements(world: World) -> tuple[str, bool]:
    """Choose a transaction: its statements, and whether its row is in two tables."""
    dice = world.random.random()
    move = "INSERT INTO e.v SELECT * FROM d.u; DELETE FROM d.u"
    made = "; ".join(f"CREATE TABLE IF NOT EXISTS {name}" for name in ("d.t", "d.u", "e.v"))
    if dice < 0.2:
        return f"{made}; {move}", False
    if dice < 0.35:
        return f"{made}; INSERT INTO d.t VALUES ({{}}); {move}", False
    name = world.random.choice(("d.u", "e.v"))
    return f"{made}; INSERT INTO d.t VALUES ({{}}); INSERT INTO {name} VALUES ({{}})", True


def untidy(is_so: bool) -> AbstractContextManager[object]:
    """Disable the cleanup after transactions, if so: it must not matter."""
    good = twophase._tidy
    return mock.patch.object(twophase, "_tidy", (lambda *_: None) if is_so else good)


def begin(world: World, seed: int, *, are_kept: bool) -> None:
    """Add the actors that work with several tables; `are_kept`: others expire and collect."""
    schedule, dice = world.schedule, world.random
    for number in range(dice.randrange(1, 4)):
        schedule.add(f"joint{number}", transactor(world, dice.randrange(1, 4)))
    schedule.add("lone", lone_inserter(world, dice.randrange(3)))
    for number in range(2):
        schedule.add(f"all{number}", joint_reader(world, dice.randrange(1, 7)))
    if are_kept and seed % 4 == 2:
        schedule.add("pending", joint_lessee(world, 1))


def transactor(world: World, count: int) -> Callable[[Actor], None]:
    """Carry out transactions, again under the same id where the answer was lost."""

    def work(actor: Actor) -> None:
        model = world.joint
        for number in range(count):
            txn_id = f"{actor.name}-{number}"
            text, is_pair = _statements(world)
            if is_pair:
                model.pairs.add(txn_id)
            asked = Transaction(
                tuple(map(parse_write, text.split("; "))),
                world.root,
                txn_id=txn_id,
                env=actor.env(),
            )
            began = world.schedule.seconds
            for attempt in range(3):
                if attempt and (world.is_hasty or world.schedule.seconds - began > 3600):
                    break
                if not _carry_out(world, asked):
                    break

    return work


def _carry_out(world: World, asked: Transaction) -> bool:
    """Carry a transaction out, and tell whether nobody knows what became of it."""
    model, txn_id = world.joint, asked.txn_id
    began = world.schedule.seconds
    try:
        carried_out(asked)
    except UncertainError:
        model.unknown.add(txn_id)
        return True
    except (CorruptError, NotFoundError) as error:
        if world.schedule.seconds - began <= SLOW_SECONDS and not world.was_purged(str(error)):
            raise
        model.refused.add(txn_id)
    except SdbError:
        model.refused.add(txn_id)
    except CrashError:
        model.unknown.add(txn_id)
        raise
    else:
        model.acknowledged.add(txn_id)
    return False


def played(work: StatementRunner) -> Effect:
    """Carry out a statement: what queries and blocks would do."""
    view, write = work.view, work.statement.write
    if isinstance(write, writes.Update):
        return played_update(work)
    from tests.table.simulation.purging import played_delete

    world = WORLDS[view.root.store]  # type: ignore[index]
    name = write.__class__.__name__
    if isinstance(write, writes.InsertValues):
        view.add([world.packed((work.commit_id,), keys=view.keys)])
        name = "insert"
    elif isinstance(write, writes.InsertQuery):
        source = work.context.known["d", "u"]._view  # type: ignore[attr-defined]
        tokens = [
            token for descriptor in source.descriptors() for token in world.read(descriptor.key)
        ]
        if tokens:
            view.add([world.packed(tokens, keys=view.keys)])
    elif isinstance(write, writes.Delete) and write.where is not None:
        return played_delete(work)
    elif isinstance(write, writes.Delete | writes.DropTable):
        for entry in list(view.descriptors()):
            view.replace(entry.key, ())
        name = "drop" if isinstance(write, writes.DropTable) else name
    elif isinstance(write, writes.CreateTable) and write.query is not None:
        view.add([world.packed((work.commit_id,), keys=view.keys)])
        name = "create"
    return Effect(name, "")


def lone_inserter(world: World, count: int) -> Callable[[Actor], None]:
    """Insert rows into one of the other tables."""

    def work(actor: Actor) -> None:
        for number in range(count):
            keys = world.random.choice(OTHERS)
            try:
                change = TableChange(
                    "insert", (world.packed((f"{actor.name}-{number}",), keys=keys),)
                )
                committing.commit(world.root, keys, change, env=actor.env())
            except CorruptError:
                raise
            except SdbError:
                continue

    return work


def joint_lessee(world: World, _: int) -> Callable[[Actor], None]:
    """Read for days, under a lease, a table that a transaction is about to take all rows of."""
    keys = OTHERS[0]

    def work(actor: Actor) -> None:
        actor.fault_rate = 0
        for _ in range(MOST_LOOKS):
            if len(world.schedule.actors) == 1:
                return
            if not _is_pending(world, keys):
                world.schedule.switch(actor)
                continue
            table = find_table(world.root, keys.database, keys.table)
            is_pending = table is not None and table.joint is not None and table.joint.is_pending
            if table is not None and is_pending and any(table.descriptors()):
                read_for_days(world, actor, table)
                return

    return work


def _is_pending(world: World, keys: TableKeys) -> bool:
    """Check whether an index is part of a transaction under way; nobody is asked for it."""
    contents, path = world.store.contents, world.root.place
    data = contents.get(path(keys.index))
    state = None if data is None else decoded(data)[1]
    intent = contents.get(path(state.transaction)) if state and state.transaction else None
    return intent is not None and TransactionIntent.decode(intent, LOCAL).step == PENDING


def joint_reader(world: World, count: int) -> Callable[[Actor], None]:
    """Read all tables, as a query does."""

    def work(_: Actor) -> None:
        for _ in range(count):
            with world.in_time():
                actual = read_all(world)
                world.joint.reads.append(actual)

    return work


def read_all(world: World) -> dict[str, Counter[str]]:
    def opened(key: str) -> TableHandle | None:
        keys = _BY_KEY[key]
        return tablehandle.find_table(world.root, keys.database, keys.table)

    order = list(_BY_KEY)
    world.random.shuffle(order)
    handles = intents.read_together({key: opened(key) for key in order}, opened)
    return {
        key: Counter(
            token.removesuffix("'")
            for item in (() if handle is None else handle.descriptors())
            for token in world.read(item.key)
        )
        for key, handle in handles.items()
    }


def counts_since(world: World, index: TableIndex) -> int | None:
    """Return since which entry of the log an index counts that is part of a transaction.

    `NEVER` if that was never committed; None: it is part of none.
    """
    key = index.user_data.get("sdb", {}).get("transaction", "")
    if not key:
        return None
    path = world.root.place(key)
    for position, (url, data) in enumerate(world.store.log):
        if url == path and TransactionIntent.decode(data, LOCAL).step == COMMITTED:
            return position
    return NEVER


def check_joint(world: World, rows: Counter[str]) -> None:
    """Check what must hold of all tables at the end, and of what was read of them."""
    model = world.joint
    if len(world.tables) == 1:
        return
    last = read_all(world)
    assert last[KEYS.index] == rows
    for item in (last, *([] if world.has_foreign else model.reads)):
        _check_pairs(world, item)
    others = Counter(last[OTHERS[0].index]) + Counter(last[OTHERS[1].index])
    assert max(others.values(), default=1) == 1, "a row is doubled"
    for txn_id in model.pairs:
        count = rows[txn_id]
        assert count == others[txn_id] <= 1, f"{txn_id}: {count} and {others[txn_id]}"
        if txn_id in model.acknowledged:
            assert count == 1, f"{txn_id} was lost"
        elif txn_id not in model.unknown:
            assert not count, f"{txn_id} was refused"


def _check_pairs(world: World, facts: dict[str, Counter[str]]) -> None:
    here, there = facts[KEYS.index], facts[OTHERS[0].index] + facts[OTHERS[1].index]
    for txn_id in world.joint.pairs:
        assert here[txn_id] == there[txn_id], f"{txn_id} was read in one table and not in another"
        assert here[txn_id] <= 1


def id_of(commit: str, ids: tuple[str, ...]) -> str:
    """Return the id of the transaction that a version is of."""
    return ids[0] if ids else commit
