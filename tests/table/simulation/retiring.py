"""Retention for the simulation: rows with a time of their own, among writers whose rows have none.

Which packfiles are looked into, which rows go and what is committed is the real code; the rows of
packfiles are played. Only rows that were too old from the start ever go, and at the end all do.
"""

from __future__ import annotations

from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any
from unittest import mock

import pyarrow as pa

from sdb.errors import SdbError
from sdb.packfile.trailer.timeindex import TimeIndex
from sdb.records import record
from sdb.table.catalog.handle import open_table
from sdb.table.commit.change import TableChange
from sdb.table.definition.definition import Definition
from sdb.table.sync import oldrows, retention
from tests.table.simulation import actors
from tests.table.simulation.scheduler import DAY_SECONDS, START_US

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from sdb.packfile.trailer.trailer import Trailer
    from sdb.table.catalog.root import TableRoot
    from sdb.table.format.descriptor import Descriptor
    from tests.table.simulation.actors import World
    from tests.table.simulation.scheduler import Actor

PREFIX = "retire"
FIELD = "at"
OLD, YOUNG = ":old", ":young"
_TIMES = {
    OLD: START_US - int(30 * DAY_SECONDS * 1e6),
    YOUNG: START_US + int(3000 * DAY_SECONDS * 1e6),
}
_KINDS = ((OLD,), (OLD, ""), (OLD, YOUNG, ""), ("", YOUNG), (OLD, OLD, OLD, "", ""))


def policy(share: float) -> Definition:
    text = f'{{"field": "{FIELD}", "valid_for": "10d", "rewrite_share": {share}}}'
    return Definition.parse(f'{{"retention_policy": {text}}}', is_stored=True)


def time_us(token: str) -> int | None:
    """Return the time of a row; None: it has none."""
    token = token.removesuffix(actors.MARK)
    return next((us for end, us in _TIMES.items() if token.endswith(end)), None)


def is_old(token: str) -> bool:
    return token.removesuffix(actors.MARK).endswith(OLD)


def index_of(blocks: Sequence[Sequence[str]]) -> dict[tuple[str, ...], TimeIndex]:
    """Return the time index of a packfile; nothing where no row has a time."""
    index, skipped = TimeIndex(), 0
    for block in blocks:
        times = [us for us in map(time_us, block) if us is not None]
        if times and index.is_empty:
            index.push(min(times), max(times))
            index = index.delayed(skipped)
        elif times:
            index.push(min(times), max(times))
        else:
            index.push_empty()
            skipped += 1
    return {} if index.is_empty else {(FIELD,): index}


def retirer(world: World, count: int) -> Callable[[Actor], None]:
    """Insert rows of all ages, and carry the policy out."""

    def work(actor: Actor) -> None:
        for number in range(count):
            _insert(world, actor, f"{actor.name}-{number}")
            actor.held_up = world.random.randrange(30)
            world.schedule.sleep(1)
            with world.in_time():
                retire(world, actor, world.random.choice((0.0, 0.2, 0.6)))

    return work


def _insert(world: World, actor: Actor, commit_id: str) -> None:
    kinds = world.random.choice(_KINDS)
    tokens = tuple([f"aged{commit_id}.{number}{kind}" for number, kind in enumerate(kinds)])
    world.intended[commit_id] = tokens
    try:
        change = TableChange("insert", (world.packed(tokens),))
    except SdbError:
        return
    if world.commit(actor, change, commit_id):
        world.acknowledged[commit_id] = tuple([token for token in tokens if not is_old(token)])


def retire(world: World, actor: Actor, share: float) -> None:
    retention.retire(world.root, actors.KEYS, policy(share), env=actor.env())


def settle(world: World, actor: Actor) -> None:
    """Carry the policy out when all others are gone: no row is too old then."""
    retire(world, actor, 0.0)
    packfiles = open_table(world.root, "d", "t").descriptors()
    late = [row for each in packfiles for row in _rows(world, each) if is_old(row)]
    assert not late, f"{late} are too old"


def check_gone(gone: Counter[str]) -> None:
    """Check what a retention has taken out."""
    young = [token for token in gone if not is_old(token)]
    assert not young, f"{young} were taken out, and are not too old"


@contextmanager
def played() -> Iterator[None]:
    """Play what is read of packfiles."""
    oldrows._LOOKED.clear()
    with ExitStack() as stack:
        stack.enter_context(mock.patch.object(oldrows, "whole_packfile", _opened))
        stack.enter_context(mock.patch.object(oldrows, "RowScan", _Scan))
        yield


@record
class _Opened:
    """An open packfile, as far as retention looks into it."""

    tokens: list[str]
    trailer: Trailer


def _opened(root: TableRoot, descriptor: Descriptor, _: object) -> _Opened:
    world = actors.WORLDS[root.store]  # type: ignore[index]
    return _Opened(_rows(world, descriptor), descriptor.trailer)


def _rows(world: World, descriptor: Descriptor) -> list[str]:
    return world.read(descriptor.key)


class _Scan:
    """See :class:`sdb.table.packfiles.rowscan.RowScan`."""

    def __init__(self, pack: _Opened) -> None:
        self._tokens = pack.tokens
        size = actors.BLOCK_ROWS if pack.trailer.sparse.summary else max(1, len(pack.tokens))
        self.firsts = [*range(0, len(pack.tokens), size), len(pack.tokens)]
        self.rows = [
            stop - start for start, stop in zip(self.firsts, self.firsts[1:], strict=False)
        ]

    def batches(self, blocks: Iterable[int], _: object, predicate: Any) -> Iterator[pa.RecordBatch]:
        _, path, op, (_, limit_us) = predicate
        assert path == [FIELD]
        for block in blocks:
            numbers = []
            for number in range(self.firsts[block], self.firsts[block + 1]):
                us = time_us(self._tokens[number])
                if us is not None and (us < limit_us if op == "<" else us >= limit_us):
                    numbers.append(number)
            yield pa.record_batch([pa.array(numbers, pa.int64())], ["row"])
