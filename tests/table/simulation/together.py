"""Threads of one program that append to a table together, for the simulation.

The threads are actors: one runs at a time, and who waits for the others goes on when the dice say
so. When one is killed it is as if it was interrupted, and the others go on with what it has begun.
"""

from __future__ import annotations

import json
import threading
from base64 import b32encode
from collections import Counter
from contextlib import ExitStack, contextmanager
from hashlib import sha1
from itertools import pairwise
from types import SimpleNamespace
from typing import TYPE_CHECKING
from unittest import mock

from sdb.errors import CorruptError, InputError, SdbError, UncertainError
from sdb.packfile.write.pack import PackResult
from sdb.store.faults import CrashError
from sdb.table.commit import commit
from sdb.table.insert import groupcommit
from sdb.table.packfiles.pack import PackedRows
from tests.table.simulation.actors import KEYS, SLOW_SECONDS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from sdb.packfile.inputs.inputs import Input
    from sdb.table.format.state import VersionState
    from tests.table.simulation.actors import World
    from tests.table.simulation.scheduler import Actor, Schedule

PREFIX = "thread"
_BAD = "bad"
_ID = "-"
_MOST_TURNS = 500
"""Who takes this many steps while nobody asks the store goes round in a circle."""


class Waiting:
    """A condition for actors: who waits lets others go on."""

    def __init__(self, schedule: Schedule) -> None:
        self._schedule = schedule
        self._waiting: list[Actor] = []
        self._turns = self._calls = 0

    def __enter__(self) -> None:
        """Nobody else runs until this one asks the store or waits."""
        self._turns = self._turns + 1 if self._calls == self._schedule.calls else 0
        self._calls = self._schedule.calls
        assert self._turns < _MOST_TURNS, "nobody commits what waits"

    def __exit__(self, *_: object) -> None:
        """See above."""

    def wait(self, seconds: float | None = None) -> None:
        me = self._schedule.current
        assert me is not None
        me.held_up = 1 << 30 if seconds is None else 2
        self._waiting.append(me)
        self._schedule.sleep(0.001 if seconds is None else seconds)
        self._waiting.remove(me)
        me.held_up = 0

    def notify_all(self) -> None:
        for item in self._waiting:
            item.held_up = 0


@contextmanager
def played(world: World) -> Iterator[None]:
    """Play packing, the waiting of threads, and the clock."""
    schedule = world.schedule
    conditions = SimpleNamespace(Condition=lambda: Waiting(schedule), Lock=threading.Lock)
    with ExitStack() as stack:
        stack.enter_context(mock.patch.dict(groupcommit._GROUPS, clear=True))
        for name, instead in (
            ("threading", conditions),
            ("time", SimpleNamespace(monotonic=lambda: schedule.seconds)),
            ("commit", world.on_time(commit.commit)),
            ("packing_options", lambda *_: {}),
            ("encoded_rows", _encoded),
            ("pack_rows", lambda *item, commit_id, **_: _packed(world, *item, commit_id)),
            ("row_rules", lambda *_: None),
        ):
            stack.enter_context(mock.patch.object(groupcommit, name, instead))
        yield


def _encoded(rows: Iterable[dict[str, str]]) -> Iterator[bytes]:
    for row in rows:
        yield json.dumps(row["row"]).encode() + b"\n"


def _packed(world: World, _: object, __: object, inputs: list[Input], commit_id: str) -> PackedRows:
    source = inputs[0].source
    assert source is not None
    data = b"".join(source())
    rows = [json.loads(line) for line in data.splitlines()]
    if any(row.startswith(_BAD) for row in rows):
        raise InputError("a row that cannot be packed")
    name = b32encode(sha1(data, usedforsecurity=False).digest()).decode()
    packfile = world.packed(rows, KEYS.content("", name, commit_id))
    result = PackResult("", 1, len(rows), len(data), packfile.size_bytes, packfile.trailer, 0, 0.0)
    return PackedRows(result, packfile)


def appender(world: World, count: int) -> Callable[[Actor], None]:
    """Append rows, some under an id, and then again where the answer was lost.

    Another thread may append the same row under the same id.
    """

    def work(actor: Actor) -> None:
        for number in range(count):
            dice = world.random.random()
            # The same id much later is another transaction.
            is_shared = dice < 0.4 and not world.schedule.long_days
            name = f"{PREFIX if is_shared else actor.name}{_ID if dice < 0.7 else '.'}{number}"
            txn_id = name if dice < 0.7 else ""
            if dice > 0.95:
                _append(world, f"{_BAD}{name}", "")
            began = world.schedule.seconds
            for attempt in range(4 if txn_id else 1):
                if attempt and (world.is_hasty or world.schedule.seconds - began > 3600):
                    break
                if _append(world, name, txn_id):
                    break

    return work


def _append(world: World, token: str, txn_id: str) -> bool:
    """Append a row; tells whether it is known to be there."""
    model, began = world.appended, world.schedule.seconds
    try:
        outcome = groupcommit.append(world.root, "d", "t", [{"row": token}], txn_id=txn_id)
    except UncertainError:
        model.unknown.add(token)
    except CorruptError:
        if world.schedule.seconds - began <= SLOW_SECONDS:
            raise
        model.refused.add(token)
    except SdbError:
        model.refused.add(token)
    except CrashError:
        model.unknown.add(token)
        raise
    else:
        assert not token.startswith(_BAD)
        model.versions.setdefault(token, set()).add(outcome.version)
        return True
    return False


def is_row(token: str) -> bool:
    """Return whether a thread has appended a row."""
    return token.startswith(PREFIX)


def check_together(
    world: World, versions: Sequence[tuple[VersionState | None, Counter[str]]]
) -> None:
    """Check what became of appends: `versions` has the state and the rows of each version."""
    model, last = world.appended, versions[-1][1]
    for token, numbers in model.versions.items():
        assert last[token] == 1, f"{token} was appended, and is {last[token]} times there"
        if not world.has_foreign:
            assert len(numbers) == 1, f"{token} is in versions {numbers}"
    if not world.has_foreign:
        for token in model.refused - model.unknown - model.versions.keys():
            assert not last[token], f"{token} was refused, and is there"
    none: Counter[str] = Counter()
    for (_, before), (state, after) in pairwise([(None, none), *versions]):
        assert state is not None
        new = set(filter(is_row, after - before))
        for token in new if not world.has_foreign else ():
            assert model.versions.get(token, {state.version}) == {state.version}, token
        ids = {token for token in new if _ID in token}
        done = {*state.ids, state.commit}
        assert ids <= done, f"{ids} came in, and the version tells {done}"
