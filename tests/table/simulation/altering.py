"""Programs that change the schema of the table, and what must hold of the schemas of versions."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from sdb.table.commit.schemas import OPERATION, change_schema
from sdb.table.schema.columns import TableSchema
from sdb.table.schema.evolve import add
from sdb.table.schema.stored import schema_of
from sdb.table.schema.types import STRING, TableColumn

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from sdb.table.format.index import TableIndex
    from sdb.table.format.state import VersionState
    from tests.table.simulation.actors import World
    from tests.table.simulation.scheduler import Actor

PREFIX = "alter"


def alterer(world: World, count: int) -> Callable[[Actor], None]:
    """Add a column named as its commit, each under an id, again where the answer was lost."""

    def work(actor: Actor) -> None:
        for number in range(count):
            commit_id = f"{actor.name}-{number}"
            world.intended[commit_id] = ()
            for _ in range(3):
                if _altered(world, actor, commit_id):
                    world.acknowledged[commit_id] = ()
                    break
                if world.is_hasty:
                    break

    return work


def _altered(world: World, actor: Actor, commit_id: str) -> bool | None:
    def evolve(before: TableSchema | None, _: TableIndex) -> TableSchema:
        column = TableColumn(0, commit_id, STRING, (commit_id,))
        return add(before or TableSchema(()), (), column)

    def work() -> None:
        change_schema(world.root, "d", "t", evolve, commit_id=commit_id, env=actor.env())

    return world.answered(commit_id, work)


def check_altered(world: World, chain: Sequence[VersionState]) -> None:
    """Schemas change in separate versions, by one column, and no column is lost."""
    columns = [_columns(state) for state in chain]
    for (before, after), state in zip(pairwise([{}, *columns]), chain, strict=True):
        if state.operation == OPERATION:
            new = after.items() - before.items()
            assert len(new) == 1, f"{state.commit} made {len(new)} columns"
            assert before.items() < after.items(), f"{state.commit} lost a column"
        else:
            assert after == before, f"{state.operation} changed the schema"
    last = columns[-1]
    assert len(set(last.values())) == len(last), f"columns have one id: {last}"
    for commit_id in world.acknowledged:
        if commit_id.startswith(PREFIX):
            assert commit_id in last, f"the column of {commit_id} was lost"


def _columns(state: VersionState) -> dict[str, int]:
    """Return the ids of the columns of a version, by their names."""
    schema = schema_of(state)
    return {} if schema is None else {column.name: column.id for column in schema.columns}
