"""Syncs that replace what has changed, for the simulation.

The listing of inputs is played, and packfiles are lists of rows; what is compared, which rows go,
and which part of it is committed, is the real code.
"""

from __future__ import annotations

from contextlib import ExitStack, contextmanager, nullcontext
from itertools import groupby
from typing import TYPE_CHECKING
from unittest import mock

from sdb.packfile.trailer.provenance import Origin, Provenance
from sdb.table.catalog.handle import open_table
from sdb.table.commit import commit
from sdb.table.inputs.listing import ListedInput
from sdb.table.packfiles.rewrite import Rewritten
from sdb.table.sync import inputrows, plan
from sdb.table.sync import sync as tablesync
from sdb.table.sync.packing import PackedInputs
from tests.table.simulation.actors import KEYS, MARK, WORLDS
from tests.table.simulation.editions import INPUTS, input_of, rows_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from sdb.packfile.rewrite.rewrite import RowChanges
    from sdb.table.catalog.handle import TableHandle
    from sdb.table.catalog.root import TableRoot
    from sdb.table.format.descriptor import Descriptor
    from sdb.table.format.inputtree import InputsTree
    from sdb.table.sync.work import NewInput, SyncPlan, SyncRequest
    from tests.table.simulation.actors import World
    from tests.table.simulation.scheduler import Actor

DEFINITION = b'{"input": [{"pattern": "s3://in/*.json"}], "cluster_by": ["row"]}'


def define(world: World) -> None:
    """Store a definition of the table."""
    with world.store.create(world.root.place(KEYS.definition), overwrite=True) as file:
        file.write(DEFINITION)


@contextmanager
def played(world: World) -> Iterator[None]:
    """Play what syncs list, read and write, and the clock of their commits."""
    with ExitStack() as stack:
        for item, name, instead in (
            (tablesync, "_planned", _planned),
            (tablesync, "commit", world.on_time(commit.commit)),
            (plan, "list_inputs", lambda *_: _listed(world)),
            (plan, "EtagCache", nullcontext),
            (inputrows, "_provenance", _provenance),
            (inputrows, "rewrite", _rewritten),
        ):
            stack.enter_context(mock.patch.object(item, name, instead))
        yield


def replacer(world: World, count: int) -> Callable[[Actor], None]:
    """Change inputs, and let a sync put their rows in the place of those before."""

    def work(_: Actor) -> None:
        for _ in range(count):
            for path in world.random.sample(INPUTS, world.random.randrange(3)):
                world.editions.change(path)
            with world.in_time():
                sync(world)

    return work


def sync(world: World) -> None:
    tablesync.sync_table(world.root, "d", "t", changed="replace", packing=_Packing(world))


def check_newest(world: World) -> None:
    """Check that all inputs are there as they are now, unless it is not known which rows go."""
    table = open_table(world.root, "d", "t")
    known = {entry.path: entry.etag for entry in table.inputs.walk()}
    packfiles = list(table.descriptors())
    if not any(entry.name.startswith("packed-") for entry in packfiles):
        assert known == {path: world.editions.etag(path) for path in INPUTS}


class _Packing:
    """Packs inputs by their names; see :class:`sdb.table.sync.packing.InputPacking`."""

    def __init__(self, world: World) -> None:
        self._world = world

    def groups(self, new: Sequence[NewInput]) -> list[Sequence[NewInput]]:
        share = self._world.random.randrange(2, 6)
        return [new[start : start + share] for start in range(0, len(new), share)]

    def pack(self, groups: Sequence[Sequence[NewInput]]) -> Iterator[Sequence[PackedInputs]]:
        for group in groups:
            rows = [row for item in group for row in rows_of(item.uri, item.etag)]
            yield (PackedInputs(tuple(group), (), self._world.packed(rows), len(rows)),)


def _listed(world: World) -> Iterator[ListedInput]:
    for path in INPUTS:
        yield ListedInput(path, path, world.editions.etag(path), {}, is_remote=True)


def _planned(request: SyncRequest, _: TableHandle | None, known: InputsTree | None) -> SyncPlan:
    taken = {} if known is None else {entry.path: entry for entry in known.walk()}
    return plan.plan_sync(request.root, request.definition, taken, retry=request.retry)


def _provenance(handle: TableHandle, descriptor: Descriptor) -> Provenance | None:
    """Record which rows of a packfile came from which input; the original does not."""
    world = WORLDS[handle.root.store]  # type: ignore[index]
    rows = world.read(descriptor.key)
    if descriptor.name.startswith("packed-"):
        return None
    origins, first = [], 0
    for path, item in groupby(rows, lambda row: input_of(row.removesuffix(MARK))):
        count = len(list(item))
        origins.append(Origin(path or "-", 1, b"", first, count))
        first += count
    return Provenance(tuple(origins), complete=True)


def _rewritten(
    root: TableRoot, _: object, descriptor: Descriptor, changes: RowChanges, __: str, **___: object
) -> Rewritten:
    """Write a packfile again without some rows; what was sorted still is."""
    world = WORLDS[root.store]  # type: ignore[index]
    rows = world.read(descriptor.key)
    dropped = set(changes.dropped.tolist())
    left = [row for number, row in enumerate(rows) if number not in dropped]
    is_sorted = bool(descriptor.trailer.sparse.clustered)
    new = world.packed(left, is_sorted=is_sorted) if left else None
    return Rewritten(new, len(rows), len(left), 0, 0, 0, 0)
