"""Programs that make one table, and drop it, for the simulation, and what must hold of it.

A table is made by one commit with its rows, where it is absent or was dropped: so each version
that makes it has the rows of one program, and follows none or one that was dropped.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sdb.errors import CorruptError, SdbError, UncertainError
from sdb.query.syntax.writeparser import parse_write
from sdb.statements.transaction import Transaction, carried_out
from sdb.store.faults import CrashError
from sdb.table.catalog.handle import find_table
from sdb.table.format.keys import TableKeys
from tests.table.simulation.joint import id_of

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Callable, Sequence

    from tests.table.simulation.actors import World
    from tests.table.simulation.play import Version
    from tests.table.simulation.scheduler import Actor

MADE = TableKeys("d", "made")
_QUERY = "AS SELECT 1 AS n"


def _statements(dice: float) -> str:
    if dice < 0.3:
        return "DROP TABLE IF EXISTS d.made"
    if dice < 0.6:
        return f"CREATE TABLE d.made {_QUERY}"
    if dice < 0.8:
        return f"CREATE TABLE IF NOT EXISTS d.made {_QUERY}"
    words = "" if dice < 0.9 else "IF NOT EXISTS "
    made = f"CREATE TABLE IF NOT EXISTS d.t; CREATE TABLE {words}d.made {_QUERY}"
    return f"{made}; INSERT INTO d.t VALUES ({{}})"


def maker(world: World, count: int) -> Callable[[Actor], None]:
    """Make the table, or drop it, again under the same id where the answer was lost."""

    def work(actor: Actor) -> None:
        for number in range(count + 1):
            text = _statements(world.random.random())
            asked = Transaction(
                tuple(map(parse_write, text.split("; "))),
                world.root,
                txn_id=f"{actor.name}-{number}",
                env=actor.env(),
            )
            for _ in range(3):
                if _carry_out(world, asked):
                    break

    return work


def _carry_out(world: World, asked: Transaction) -> bool:
    """Carry a transaction out, and return whether it is known what became of it."""
    reported, txn_id = world.made, asked.txn_id
    world.intended[txn_id] = (txn_id,)
    try:
        done = carried_out(asked)
    except (UncertainError, CrashError) as error:
        reported.unknown.add(txn_id)
        if isinstance(error, CrashError):
            raise
        return False
    except CorruptError:
        raise
    except SdbError:
        reported.refused.add(txn_id)
        return True
    made = {effect.operation for effect in done.effects}
    if done.is_new and "create" in made:
        reported.acknowledged.add(txn_id)
    elif done.is_new and "insert" in made:
        reported.passed_over.add(txn_id)
    elif not done.is_new and not done.commit:
        reported.refused.add(txn_id)
    return True


def check_made(
    world: World,
    rows: Counter[str],
    chain_of: Callable[[World, bytes, TableKeys], Sequence[Version]],
) -> None:
    """Check the versions of the table, with the rows of the other one that was inserted into."""
    handle = find_table(world.root, MADE.database, MADE.table)
    model = world.made
    ids: list[str] = []
    before = None
    for item in [] if handle is None else chain_of(world, handle.data, MADE):
        actual = list(item.rows(world).elements())
        if item.state.operation == "drop":
            assert not actual
        else:
            txn_id = id_of(item.state.commit, item.state.ids)
            assert before is None or before.state.dropped, f"{txn_id} made what is there"
            assert actual == [txn_id], f"{txn_id} made a table with the rows {actual}"
            ids.append(txn_id)
        before = item
    assert len(set(ids)) == len(ids), ids
    lost = model.acknowledged - set(ids)
    assert not lost, f"{lost} was lost"
    gone = (model.refused | model.passed_over) - model.unknown - model.acknowledged
    assert not gone & set(ids), f"{gone & set(ids)} was refused"
    if not world.has_foreign:  # otherwise what was refused may be taken for what was overwritten
        assert not {item for item in model.refused - model.unknown if rows[item]}, "a part was done"
    assert not {item for item in model.passed_over if rows[item] != 1}, "a part was not done"
