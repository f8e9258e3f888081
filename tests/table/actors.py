"""Programs that work with one table: ours by the real code, the original by its steps.

A packfile is a list of tokens here, each a row: the name of an insert, or of an input.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from sdb.errors import CorruptError, SdbError, UncertainError
from sdb.packfile.extension import Summary
from sdb.packfile.sparseindex import SparseIndex
from sdb.packfile.trailer import Block, Trailer
from sdb.records import replace
from sdb.store.faults import CrashError
from sdb.table import commit as committing
from sdb.table import etags, names
from sdb.table.descriptor import Descriptor
from sdb.table.index import Quarantined, TableIndex
from sdb.table.inputstree import InputsTree, Taking
from sdb.table.objectwriter import put_new
from sdb.table.signature import Keyring
from sdb.table.tablechange import ChangedInput, TableChange
from sdb.table.tablehandle import open_table
from sdb.table.tableroot import TableRoot
from tests.table.scheduler import LoggedStore, Schedule

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tests.table.scheduler import Actor

LOCAL = Keyring.of_root(is_remote=False)
KEYS = names.TableKeys("d", "t")
INPUTS = tuple(f"s3://in/{number}.json" for number in range(12))
ETAG = '"e"'


def descriptor(key: str, etag: str, tokens: Sequence[str], *, ours: bool = True) -> Descriptor:
    """Describe a packfile; the original counts no rows."""
    summary = Summary((len(tokens),), {}, complete=True) if ours else None
    trailer = Trailer(1, 100, "zion+zstd", 20, (Block(0, 1),), SparseIndex(1, summary=summary))
    return Descriptor(key, etag, 200, trailer)


class World:
    """A table, those who work with it, and what they were told."""

    def __init__(self, seed: int, *, fault_rate: float | None = None) -> None:
        self.schedule = Schedule(seed, fault_rate=fault_rate)
        self.random = self.schedule.random
        self.store = LoggedStore(self.schedule)
        self.root = TableRoot("mem://r", self.store, LOCAL)
        self.acknowledged: dict[str, tuple[str, ...]] = {}
        self.refused: set[str] = set()
        self.unknown: set[str] = set()
        self.intended: dict[str, tuple[str, ...]] = {}
        self.reads: list[tuple[bytes, dict[str, tuple[str, ...]]]] = []
        self.has_foreign = False

    def tokens(self, key: str) -> tuple[str, ...]:
        return tuple(json.loads(self.store.contents[self.root.place(key)]))

    def packed(self, tokens: Sequence[str], key: str = "") -> Descriptor:
        """Write a packfile of ours."""
        key = key or KEYS.content("", names.new_uid(self.random.randbytes))
        etag = put_new(self.root, key, json.dumps(tokens).encode())
        return descriptor(key, etag, tokens)

    def commit(
        self,
        actor: Actor,
        plan: Callable[[TableIndex], TableChange | None] | TableChange,
        commit_id: str,
    ) -> bool | None:
        """Commit, and note the answer; None: it is not known."""
        patience = self.random.choice((60.0, 60.0, 60.0, 0.0))
        try:
            committing.commit(
                self.root,
                KEYS,
                plan,
                commit_id=commit_id,
                around=actor.around(),
                patience_seconds=patience,
            )
        except UncertainError:
            self.unknown.add(commit_id)
            return None
        except CorruptError:
            raise
        except SdbError:
            self.refused.add(commit_id)
            return False
        except CrashError:
            self.unknown.add(commit_id)
            raise
        self.refused.discard(commit_id)
        return True


def inserter(world: World, count: int) -> Callable[[Actor], None]:
    """Insert rows, each under an id, and again under the same id where the answer was lost."""

    def work(actor: Actor) -> None:
        for number in range(count):
            commit_id = f"{actor.name}-{number}"
            tokens = (commit_id,)
            world.intended[commit_id] = tokens
            for _ in range(4):
                key = KEYS.content(commit_id, "A" * 32)
                try:
                    change = TableChange("insert", (world.packed(tokens, key),))
                except SdbError:
                    continue
                if world.commit(actor, change, commit_id):
                    world.acknowledged[commit_id] = tokens
                    break

    return work


def syncer(world: World, count: int) -> Callable[[Actor], None]:
    """Take inputs that the table does not know, as a sync does."""

    def work(actor: Actor) -> None:
        for number in range(count):
            sync(world, actor, f"{actor.name}-{number}", world.random.randrange(1, 6))

    return work


def sync(world: World, actor: Actor, commit_id: str, most: int) -> bool | None:
    """Take at most so many inputs, in one commit."""
    packed: dict[tuple[str, ...], Descriptor] = {}

    def plan(index: TableIndex) -> TableChange | None:
        tree = InputsTree(index.inputs, world.root.fetch)
        new = tuple(path for path in INPUTS if tree.lookup(path) is None)[:most]
        if not new:
            return None
        if new not in packed:
            packed[new] = world.packed(new)
        world.intended[commit_id] = new
        return TableChange(
            "sync", (packed[new],), inputs=tuple(ChangedInput(path, ETAG) for path in new)
        )

    try:
        return world.commit(actor, plan, commit_id)
    except SdbError:
        return False


def rewriter(world: World, count: int) -> Callable[[Actor], None]:
    """Put one packfile in the place of two, as compaction does."""

    def work(actor: Actor) -> None:
        for number in range(count):
            commit_id = f"{actor.name}-{number}"
            is_fixed = world.random.random() < 0.5
            try:
                head = open_table(world.root, "d", "t")
                fixed = merged(world, head.index)
            except SdbError:
                continue
            if fixed is None:
                continue

            def plan(index: TableIndex, fixed: TableChange = fixed) -> TableChange | None:
                keys = {one.key for one in index.inline}
                return fixed if fixed.removed <= keys else merged(world, index)

            world.commit(actor, fixed if is_fixed else plan, commit_id)

    return work


def merged(world: World, index: TableIndex) -> TableChange | None:
    """Merge two packfiles that stand side by side."""
    if len(index.inline) < 2:
        return None
    at = world.random.randrange(len(index.inline) - 1)
    pair = index.inline[at : at + 2]
    if any(one.rows is None for one in pair):
        return None  # of the original, which goes on extending it
    tokens = tuple(token for one in pair for token in world.tokens(one.key))
    return TableChange("compact", (world.packed(tokens),), frozenset(one.key for one in pair))


def reader(world: World, count: int) -> Callable[[Actor], None]:
    """Read the whole table."""

    def work(_: Actor) -> None:
        for _ in range(count):
            try:
                table = open_table(world.root, "d", "t")
                rows = {}
                for one in table.descriptors():
                    found = world.root.open(one.key)
                    rows[one.key] = tuple(json.loads(found.read(0, found.size_bytes)))
            except CorruptError:
                raise
            except SdbError:
                continue  # it is not there yet, or the store does not answer
            world.reads.append((table.data, rows))

    return work


def original(world: World, count: int) -> Callable[[Actor], None]:
    """Act the original's sync: it looks whether the index is the same, and then just writes."""

    def work(actor: Actor) -> None:
        actor.fault_rate = 0
        for _ in range(count):
            original_sync(world, actor)

    return work


def original_sync(world: World, actor: Actor) -> None:
    root, store = world.root, world.store
    place = root.place(KEYS.index)
    try:
        head = open_table(root, "d", "t")
        index, etag = head.index, head.reader.etag
    except SdbError:
        index, etag = TableIndex("t"), None
    tree = InputsTree(index.inputs, root.fetch)
    if world.random.random() < 0.25:
        # Nothing new, but it has collected something: `created` stays as it is.
        gone = Quarantined(f"{KEYS.folder}/packed-gone{world.random.random()}", actor.now_us())
        index = replace(index, to_delete=(gone,))
        if etag is None:
            return
    else:
        most = world.random.randrange(1, 4)
        new = [path for path in INPUTS if tree.lookup(path) is None][:most]
        tokens = list(new)
        extended = [one for one in index.inline if one.name.startswith("packed-")][-1:]
        for one in extended:
            tokens = [*world.tokens(one.key), *tokens]
        if not new:
            return
        key = KEYS.packfile("", ".zion", names.new_uid(world.random.randbytes))
        data = json.dumps(tokens).encode()
        with store.create(root.place(key), overwrite=True) as file:
            file.write(data)
        packed = descriptor(key, etags.of_content([data]), tokens, ours=False)
        number = index.inline.index(extended[0]) if extended else index.objects
        for path in new:
            assert tree.insert(path, ETAG, number) is Taking.TAKEN
        inline = [packed if one in extended else one for one in index.inline]
        inputs = tree.write_out(lambda data: _put_node(world, data)).stored
        index = replace(
            index,
            inline=tuple(inline if extended else (*inline, packed)),
            inputs=inputs,
            created_us=actor.now_us(),
        )
    if store.version(place) != etag:
        return  # synchronization violation detected
    # Here someone else may slip in.
    with store.create(place, overwrite=True) as file:
        file.write(index.encode(LOCAL))
    world.has_foreign = True


def _put_node(world: World, data: bytes) -> tuple[str, str]:
    key = KEYS.inputs(names.new_uid(world.random.randbytes))
    with world.store.create(world.root.place(key), overwrite=True) as file:
        file.write(data)
    return key, etags.of_content([data])
