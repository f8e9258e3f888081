"""Programs that maintain a table, several at once, and what must hold of versions they thin out."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING
from unittest import mock

from sdb.table.catalog.handle import open_table
from sdb.table.commit.chain import VersionChain, head_version
from sdb.table.commit.objects import ObjectWriter
from sdb.table.definition.definition import VersionPolicy
from sdb.table.definition.timespan import CalendarSpan, Thinning
from sdb.table.definition.upkeep import UpkeepPolicy
from sdb.table.upkeep import steps
from sdb.table.upkeep.actions import Request
from sdb.table.upkeep.budget import Budget
from sdb.table.upkeep.rules import Rules
from sdb.table.upkeep.steps import TableUpkeep
from tests.table.simulation.decoding import state_in
from tests.table.simulation.scheduler import DAY_SECONDS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.table.simulation.actors import World
    from tests.table.simulation.scheduler import Actor

PREFIX = "maintain"
DAYS = 3000
"""Nothing expires for its age alone: what goes was thinned out."""

STEPS = Thinning.parse("20s:all,1h:1m,1w:1h,3000d:1d")
POLICY = VersionPolicy(1, CalendarSpan(days=DAYS), STEPS)
_PAUSES = (1.0, 90.0, 3700.0, 1.25 * DAY_SECONDS)


def choose(world: World) -> None:
    """Make the versions of a world go by thinning alone."""
    world.policy, world.thin, world.is_hasty = (1, DAYS), STEPS, False
    world.is_maintained = True


@contextmanager
def played() -> Iterator[None]:
    """Define the table, and make the limits of batches small."""
    rules = Rules(None, UpkeepPolicy(), POLICY, is_usual=False)
    with (
        mock.patch.object(steps, "rules_of", return_value=rules),
        mock.patch.object(steps, "EXPIRY_BATCH", 2),
    ):
        yield


def maintainer(world: World, count: int) -> Callable[[Actor], None]:
    """Do rounds of upkeep by the real code; only the rows of packfiles are played."""

    def work(actor: Actor) -> None:
        request = Request(
            lambda _: None,
            Budget(),
            actor.name,
            is_once=world.random.random() < 0.7,
            interval_seconds=60,
            env=actor.env(),
            merge=world.merged,
        )
        upkeep = TableUpkeep(world.root, world.tables[0], request)
        for _ in range(2 * count):
            with world.in_time():
                upkeep.round()
            world.schedule.pass_time(world.random.choice(_PAUSES))
            actor.held_up = world.random.randrange(10)
            world.schedule.sleep(1)

    return work


def check_maintained(world: World, listed: set[int], head: bytes) -> None:
    """Versions with tags are in the history, and no transaction that a client named is forgotten.

    Parameters
    ----------
    world : World
        What was played.
    listed : set of int
        The numbers of the versions of the history.
    head : bytes
        The newest version.
    """
    if not world.is_maintained or world.has_foreign or world.purging or world.lines.is_chosen:
        return
    state = state_in(head)
    missing = {
        name for name, tag in state.tags.items() if tag.version not in listed | {state.version}
    }
    assert not missing, f"the history has no version with the tags {missing}"
    chain = chain_of(world)
    forgotten = [name for name in world.acknowledged if chain.place_of(name) is None]
    assert not forgotten, f"the transactions {forgotten} are forgotten"


def chain_of(world: World) -> VersionChain:
    """Return what a commit would look for an id in."""
    keys = world.tables[0]
    head = open_table(world.root, keys.database, keys.table)
    return head_version(head, ObjectWriter(world.root, keys))
