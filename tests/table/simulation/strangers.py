"""The original in the simulation, by its steps: it syncs, it collects, and it knows nothing of us.

What it deletes is what its own index does not need: first what that quarantines, when its time is
over, and sometimes all that nobody refers to.
"""

from __future__ import annotations

import json
from random import Random
from typing import TYPE_CHECKING

from sdb.errors import CorruptError, SdbError
from sdb.records import replace
from sdb.table.catalog.handle import open_table
from sdb.table.format import etags, keys
from sdb.table.format.index import Quarantined, TableIndex
from sdb.table.format.inputtree import InputsTree, Taking
from sdb.table.format.manifests import read_list
from tests.table.simulation import actors
from tests.table.simulation.decoding import decoded
from tests.table.simulation.editions import INPUTS, rows_of
from tests.table.simulation.scheduler import LIMITS, START_US

if TYPE_CHECKING:
    from collections.abc import Callable

    from sdb.table.format.descriptor import Descriptor
    from tests.table.simulation.actors import World
    from tests.table.simulation.scheduler import Actor

SECOND_US = 1_000_000
QUARANTINE_US = 300 * SECOND_US
"""So long what was replaced stays; nodes of inputs, too, since originals here may be slow."""
OLD_US = 900 * SECOND_US
"""As old is what a full collection deletes."""


class Stranger:
    """What the originals of a world have deleted."""

    def __init__(self, seed: int) -> None:
        self.random = Random(f"stranger {seed}")
        self.syncing = 0
        self.swept: set[str] = set()
        self.sweeps: set[tuple[str, int, float]] = set()

    def has_swept(self, error: SdbError) -> bool:
        """Return whether an error is that of who reads what an original has written and deleted."""
        return any(url.removeprefix("mem://r/") in error.message for url in self.swept)

    def sweep(self, world: World, key: str) -> None:
        """Delete an object."""
        path = world.root.place(key)
        world.store.delete(path)
        self.swept.add(path)
        self.sweeps.update([item for item in world.store.deleted if item[0] == path][-1:])

    def is_lost_node(self, url: str) -> bool:
        """Return whether an object is a node of inputs that an original has deleted: rows stay."""
        return url in self.swept and "/inputs-" in url


def original(world: World, count: int) -> Callable[[Actor], None]:
    """Act the original's sync: it looks whether the index is the same, and then just writes."""

    def work(actor: Actor) -> None:
        actor.fault_rate = 0
        dice = world.stranger.random
        for _ in range(count + 1):
            if dice.random() < 0.5:  # it is run again and again, and nobody else is
                for other in world.schedule.actors:
                    other.held_up += 0 if other is actor else 30
            world.schedule.pass_time(dice.choice((0, 350, 350, 1000)))
            world.schedule.hurried += 1  # it takes no longer than the grace time
            # Nobody is in the middle of a sync, whose index the collection would not know.
            if dice.random() < 0.2 and not world.stranger.syncing:
                collect_fully(world)
            world.stranger.syncing += 1
            original_sync(world, actor)
            world.stranger.syncing -= 1
            world.schedule.hurried -= 1

    return work


def original_sync(world: World, actor: Actor) -> None:
    root, store = world.root, world.store
    location = root.place(actors.KEYS.index)
    try:
        head = open_table(root, "d", "t")
        # It knows nothing of transactions.
        index = head.index if head.joint is None else head.joint.index
        etag: str | None = head.reader.etag
    except SdbError:
        index, etag = TableIndex("t"), None
    index, has_collected = _without_expired(world, index)
    try:
        tree = InputsTree(index.inputs, root.fetch)
        known = [path for path in INPUTS if tree.lookup(path) is not None]
    except CorruptError:
        return  # others have been faster, and have collected what it would read
    if world.random.random() < 0.25:
        # Nothing new, but what it quarantines is different: `created` stays as it is.
        key = f"{actors.KEYS.folder}/packed-gone{world.random.random()}"
        gone = Quarantined(key, _now(world) + 10**6 * SECOND_US)
        index = replace(index, to_delete=(*index.to_delete, gone))
        if etag is None:
            return
    else:
        most = world.random.randrange(1, 4)
        new = [path for path in INPUTS if path not in known][:most]
        if new:
            index = _with_inputs(world, actor, index, tree, new)
        elif not has_collected:
            return
    if store.version(location) != etag:
        return  # synchronization violation detected
    # Here someone else may slip in.
    with store.create(location, overwrite=True) as file:
        file.write(index.encode(actors.LOCAL))
    world.has_foreign = True


def _now(world: World) -> int:
    return START_US + int(world.schedule.seconds * SECOND_US)


def _without_expired(world: World, index: TableIndex) -> tuple[TableIndex, bool]:
    """Delete what is quarantined no more."""
    over = [item for item in index.to_delete if item.expiry_us <= _now(world)]
    for item in over:
        world.stranger.sweep(world, item.key)
    items = tuple([item for item in index.to_delete if item not in over])
    return replace(index, to_delete=items), bool(over)


def _with_inputs(
    world: World, actor: Actor, index: TableIndex, tree: InputsTree, new: list[str]
) -> TableIndex:
    """Take inputs: the newest packfile of its own is extended, and the old one quarantined."""
    read = {path: world.editions.etag(path) for path in new}
    tokens = [row for path, etag in read.items() for row in rows_of(path, etag)]
    extended = [item for item in index.inline if item.key == actors.KEYS.folder + f"/{item.name}"][
        -1:
    ]
    for item in extended:
        tokens = [*world.raw(item.key), *tokens]
    key = actors.KEYS.packfile("", ".zion", keys.new_uid(world.random.randbytes))
    data = json.dumps(tokens).encode()
    with world.store.create(world.root.place(key), overwrite=True) as file:
        file.write(data)
    packed = actors.descriptor(key, etags.of_content([data]), tokens, ours=False)
    number = index.inline.index(extended[0]) if extended else index.objects
    for path in new:
        assert tree.insert(path, read[path], number) is Taking.TAKEN
    inline = [packed if item in extended else item for item in index.inline]
    written = tree.write_out(lambda data: _put_node(world, data), LIMITS)
    late = [Quarantined(item.key, _now(world) + QUARANTINE_US) for item in extended]
    late += [Quarantined(item, _now(world) + QUARANTINE_US) for item in written.replaced]
    return replace(
        index,
        inline=tuple(inline if extended else (*inline, packed)),
        inputs=written.stored,
        created_us=actor.now_us(),
        to_delete=(*index.to_delete, *late),
    )


def _put_node(world: World, data: bytes) -> tuple[str, str]:
    key = actors.KEYS.inputs(keys.new_uid(world.random.randbytes))
    with world.store.create(world.root.place(key), overwrite=True) as file:
        file.write(data)
    return key, etags.of_content([data])


def collect_fully(world: World) -> None:
    """Act the original's `gc`: what its index does not refer to goes when it is old enough."""
    root, store, folder = world.root, world.store, actors.KEYS.folder
    now_us = _now(world)
    try:
        head = open_table(root, "d", "t")
        index = head.index if head.joint is None else head.joint.index
        described = _described(world, index)
        nodes = set(InputsTree(replace(index.inputs, journal=None), root.fetch).nodes())
    except SdbError:
        return
    # It would also delete nodes of who takes half a minute to commit: syncs are stuck after that.
    heads = [data for url, data in store.log if url == root.place(actors.KEYS.index)]
    over = {ref.key for data in heads for ref in decoded(data)[0].inputs.root} - nodes
    used = {item.name for item in described}
    for above in sorted({item.key.rpartition("/")[0] for item in described}):
        for entry in store.list(root.place(above)):
            is_old = now_us - entry.modified_us >= OLD_US
            if entry.name.startswith("packed-") and is_old and entry.name not in used:
                world.stranger.sweep(world, f"{above}/{entry.name}")
    for entry in store.list(root.place(folder)):
        is_old = now_us - entry.modified_us >= OLD_US
        key = f"{folder}/{entry.name}"
        if is_old and key in over:
            world.stranger.sweep(world, key)


def _described(world: World, index: TableIndex) -> list[Descriptor]:
    lists = [read_list(world.root.fetch(ref.key, ref.etag), ref) for ref in index.indirect.refs]
    return [*(item for listed in lists for item in listed), *index.inline]
