"""Moves that only some seeds of the simulation have, beside those that all may have."""

from __future__ import annotations

from contextlib import contextmanager
from random import Random
from typing import TYPE_CHECKING
from unittest import mock

from sdb.table.format import keys
from tests.table.simulation import (
    altering,
    branching,
    lines,
    maintaining,
    making,
    replacing,
    retiring,
    sorting,
    together,
)
from tests.table.simulation.scheduler import Actor

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.table.simulation.actors import World

SHARES = {"sort": 0.12, "replace": 0.12, together.PREFIX: 0.12, "make": 0.06, lines.PREFIX: 0.06}
SHARES |= {maintaining.PREFIX: 0.12, altering.PREFIX: 0.0, retiring.PREFIX: 0.0}
"""How many of the seeds sort, replace inputs that have changed, append in threads, make a table
that others make, too, have several branches, or programs that maintain the table."""

LATER_SHARES = {altering.PREFIX: 0.12, retiring.PREFIX: 0.12}
"""Shares of later seeds, which change the schema or have a retention policy, too: those before find
mutations as they are."""

LATER = 3000

UNBRANCHING_SHARE = 0.12
"""In this many of the others a branch is taken away, and begun anew."""

_WORK = {
    "sort": sorting.sorter,
    "replace": replacing.replacer,
    together.PREFIX: together.appender,
    "make": making.maker,
    lines.PREFIX: lines.liner,
    maintaining.PREFIX: maintaining.maintainer,
    altering.PREFIX: altering.alterer,
    retiring.PREFIX: retiring.retirer,
}
_MORE = {together.PREFIX: 1, "make": 2} | dict.fromkeys(
    (maintaining.PREFIX, altering.PREFIX, retiring.PREFIX), 1
)
"""How many more of them there are."""


class Moves:
    """The moves of a seed, by dice of their own: the others stay as they are.

    Parameters
    ----------
    world : World
        Where they are made.
    seed : int
        The seed.
    """

    def __init__(self, world: World, seed: int) -> None:
        self._world, self._seed = world, seed
        self._dice = Random(f"moves {seed}")
        # Those that came later have dice of their own.
        names = ("make", lines.PREFIX, maintaining.PREFIX, altering.PREFIX, retiring.PREFIX)
        later = {name: Random(f"{name} {seed}") for name in names}
        dice = dict.fromkeys(SHARES, self._dice) | later
        shares = SHARES | (LATER_SHARES if seed >= LATER else {})
        self.chosen = [name for name, share in shares.items() if dice[name].random() < share]
        if maintaining.PREFIX in self.chosen:
            maintaining.choose(world)
        self._unbranches = Random(f"unbranch {seed}").random() < UNBRANCHING_SHARE

    @contextmanager
    def played(self) -> Iterator[None]:
        """Replace threads of syncs and appends by actors, and take new names from the seed."""
        replacing.define(self._world)
        ids = Random(f"ids {self._seed}").randbytes
        named = mock.patch.object(keys.new_uid, "__defaults__", (ids,))
        replaced, appended = replacing.played(self._world), together.played(self._world)
        with named, replaced, appended, maintaining.played(), retiring.played():
            yield

    def begin(self) -> None:
        """Run the actors that make them."""
        if self._unbranches:
            work = branching.unbrancher(self._world, 3)
            self._world.schedule.add("unbranch", work)
        for name in self.chosen:
            for number in range(self._dice.randrange(1, 3) + _MORE.get(name, 0)):
                work = _WORK[name](self._world, self._dice.randrange(1, 4))
                self._world.schedule.add(f"{name}{number}", work)
        if lines.PREFIX in self.chosen:
            lines.begin(self._world, self._dice)

    def settle(self) -> None:
        """Do what is left to do when all others are gone."""
        actor = Actor("settle", lambda _: None, self._world.schedule)
        actor.fault_rate = 0
        if "replace" in self.chosen:
            replacing.sync(self._world)
            replacing.check_newest(self._world)
        if "sort" in self.chosen:
            sorting.settle(self._world, actor)
        if lines.PREFIX in self.chosen:
            lines.settle(self._world)
        if retiring.PREFIX in self.chosen:
            retiring.settle(self._world, actor)
