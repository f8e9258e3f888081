"""Programs that work with one table: ours by the real code, the original by its steps.

A packfile is a list of tokens here, each a row: the name of an insert, or of an input.
"""

from __future__ import annotations

import json
import re
from contextlib import contextmanager
from random import Random
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from sdb.errors import CorruptError, NotFoundError, SdbError, UncertainError
from sdb.packfile.trailer.extension import Summary
from sdb.packfile.trailer.sparseindex import SparseIndex
from sdb.packfile.trailer.trailer import Block, Trailer
from sdb.query.syntax.writeparser import parse_write
from sdb.records import replace
from sdb.statements.effects import Effect
from sdb.statements.transaction import Transaction, carried_out
from sdb.store.faults import CrashError
from sdb.table.catalog.handle import find_table, open_table
from sdb.table.catalog.leases import Lease
from sdb.table.catalog.root import TableRoot
from sdb.table.commit import commit as committing
from sdb.table.commit.change import ChangedInput, TableChange
from sdb.table.commit.objects import put_new
from sdb.table.definition.timespan import CalendarSpan, Thinning
from sdb.table.format import keys as names
from sdb.table.format.descriptor import Descriptor
from sdb.table.format.inputtree import InputsTree
from sdb.table.format.signature import Keyring
from sdb.table.maintenance import compact, gc
from sdb.table.maintenance import expire as expiry
from sdb.table.packfiles.merge import MergedPackfile
from sdb.table.sync import oldrows
from tests.table.simulation import retiring
from tests.table.simulation.branched import Appended, Branching, Joint, Lines, Made
from tests.table.simulation.decoding import is_ours
from tests.table.simulation.editions import INPUTS, Editions, rows_of
from tests.table.simulation.scheduler import DAY_SECONDS, Actor, LoggedStore, Schedule
from tests.table.simulation.strangers import Stranger

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from sdb.packfile.trailer.sparseindex import Path
    from sdb.progress import Progress
    from sdb.statements.apply import StatementRunner
    from sdb.table.catalog.handle import TableHandle
    from sdb.table.format.index import TableIndex
    from sdb.table.maintenance.collected import Collected

LOCAL = Keyring.of_root(is_remote=False)
KEYS = names.TableKeys("d", "t")
MARK = "'"
"""The new value that an update gives a row."""
BLOCK_ROWS = 3
_KEY = re.compile(r"(?:mem://r/)?db/[^\s:]*[^\s:,.]")
BY = "row"
"""What rows are sorted by."""

THIN_SHARE = 0.4
THINNING = Thinning.parse("20s:all,1h:1m,3000d:1h")
"""How versions are thinned out in this many of the seeds in which they are kept for a time."""

SLOW_SECONDS = DAY_SECONDS / 4
"""Who takes longer than this may miss what was collected: clocks differ by hours, too."""


def descriptor(
    key: str, etag: str, tokens: Sequence[str], *, ours: bool = True, is_sorted: bool = False
) -> Descriptor:
    """Describe a packfile; the original counts no rows."""
    starts = range(0, len(tokens), BLOCK_ROWS) if ours else (0,)
    rows = tuple(len(tokens[start : start + BLOCK_ROWS]) for start in starts)
    times = retiring.index_of([tokens[start : start + BLOCK_ROWS] for start in starts])
    types = {(BY,): 1} | dict.fromkeys(times, oldrows.TIMES_ALONE)
    summary = Summary(rows, types, complete=True) if ours else None
    by = ((BY,),) if is_sorted else ()
    sparse = SparseIndex(len(starts), indices=times, summary=summary, clustered=by)
    blocks = tuple(Block(100 * number, 1) for number in range(len(starts)))
    trailer = Trailer(1, 100 * len(blocks), "zion+zstd", 20, blocks, sparse)
    return Descriptor(key, etag, len(tokens) << 11, trailer)


WORLDS: WeakKeyDictionary[LoggedStore, World] = WeakKeyDictionary()


class World:
    """A table, those who work with it, and what they were told."""

    def __init__(self, seed: int, *, fault_rate: float | None = None) -> None:
        self.schedule = Schedule(seed, fault_rate=fault_rate)
        self.random = self.schedule.random
        self.store = LoggedStore(self.schedule)
        WORLDS[self.store] = self
        self.root = TableRoot("mem://r", self.store, LOCAL)
        self.acknowledged: dict[str, tuple[str, ...]] = {}
        self.refused: set[str] = set()
        self.unknown: set[str] = set()
        self.intended: dict[str, tuple[str, ...]] = {}
        self.reads: list[tuple[bytes, TableIndex, dict[str, tuple[str, ...]]]] = []
        self.leased: list[tuple[TableIndex, float, float]] = []
        self.has_foreign = False
        self.stranger = Stranger(seed)
        self.needs: dict[bytes, set[str]] = {}
        # Either retries end before what they have done can expire, or there are none.
        self.policy = self.random.choice(((1, 0), (2, 0), (None, 1), (3, 1)))
        self.is_hasty = not self.policy[1]
        self.thin = THINNING if Random(f"thin {seed}").random() < THIN_SHARE else None
        self.is_maintained = False
        self.branching = Branching()
        self.joint = Joint()
        self.appended = Appended()
        self.made = Made()
        self.lines = Lines()
        self.editions = Editions()
        self.sorted: set[str] = set()
        self.tables = (KEYS,)
        self.purging: set[str] = set()
        self.purged: dict[str, int] = {}
        self.erased: set[str] = set()

    def was_purged(self, text: str) -> bool:
        """Return whether a purge deleted an object, or moved the boundary before it was deleted."""
        keys = [match.removeprefix("mem://r/") for match in _KEY.findall(text)]
        is_gone = any(self.root.place(key) in self.store.deleters for key in keys)
        return is_gone and any(match.startswith("purge") for match in self.store.writers)

    def tokens(self, key: str) -> tuple[str, ...]:
        """Return the rows of a packfile, whether an update has come by or not."""
        return tuple(token.removesuffix(MARK) for token in self.raw(key))

    def raw(self, key: str) -> tuple[str, ...]:
        return tuple(json.loads(self.ever(key)))

    def ever(self, key: str, _: str = "") -> bytes:
        """Return an object as it was written, also when it is gone."""
        path = self.root.place(key)
        assert path in self.store.written, f"{key} was never written"
        return self.store.written[path]

    def packed(
        self,
        tokens: Sequence[str],
        key: str = "",
        keys: names.TableKeys = KEYS,
        *,
        is_sorted: bool = False,
    ) -> Descriptor:
        """Write a packfile of ours."""
        key = key or keys.content("", names.new_uid(self.random.randbytes))
        etag = put_new(self.root, key, json.dumps(tokens).encode())
        actual = descriptor(key, etag, tokens, is_sorted=is_sorted)
        self.sorted |= {actual.name} if is_sorted else set()
        return actual

    def merged(
        self,
        root: TableRoot,  # noqa: ARG002 - there is only one
        keys: names.TableKeys,  # noqa: ARG002
        runs: Sequence[Sequence[Descriptor]],
        by: tuple[Path, ...],
        *,
        progress: Progress,  # noqa: ARG002
    ) -> Iterator[MergedPackfile | None]:
        """Put one packfile in the place of others, sorted if it has several blocks."""
        for run in runs:
            tokens = [token for item in run for token in self.read(item.key)]
            if by and len(tokens) > BLOCK_ROWS:
                made = self.packed(sorted(tokens), is_sorted=True)
                yield MergedPackfile(made, times=({}, {}))
            else:
                yield MergedPackfile(self.packed(tokens)) if len(run) > 1 else None

    def read(self, key: str) -> list[str]:
        actual = self.root.open(key)
        tokens: list[str] = json.loads(actual.read(0, actual.size_bytes))
        return tokens

    def on_time(self, work: Callable[..., Any]) -> Callable[..., Any]:
        """Replace the real clock by that of the running actor."""

        def timed(*value: Any, **named: Any) -> Any:
            actor = self.schedule.current or Actor("last", lambda _: None, self.schedule)
            return work(*value, env=actor.env(), **named)

        return timed

    @contextmanager
    def in_time(self, keys: names.TableKeys = KEYS) -> Iterator[None]:
        """Pass over what a store may refuse, or others make impossible.

        That an object is missing is no such thing, unless the actor that misses it was too slow.
        """
        began = self.schedule.seconds
        is_there = keys == KEYS and self.root.place(KEYS.index) in self.store.contents
        try:
            yield
        except (CorruptError, NotFoundError) as error:
            is_slow = self.schedule.seconds - began > SLOW_SECONDS
            if is_slow or self.stranger.has_swept(error) or self.was_purged(str(error)):
                return
            if isinstance(error, CorruptError) or (self.store.deleted and is_there):
                raise
        except SdbError:
            return

    def expire(self, actor: Actor, keys: names.TableKeys = KEYS) -> expiry.Expired:
        """Expire versions by the policy of this world."""
        last, days = self.policy
        within = CalendarSpan(days=days) if days else None
        policy = expiry.ExpiryPolicy(last, within, None, self.thin if within else None)
        path = keys.database, keys.table
        with self.alone(actor):
            return expiry.expire(self.root, *path, policy, env=actor.env())

    @contextmanager
    def alone(self, actor: Actor) -> Iterator[None]:
        """Block all others meanwhile, where branches must find what they came from."""
        is_so = self.lines.is_chosen and not self.lines.has_races
        self.schedule.alone = actor if is_so else None
        try:
            yield
        finally:
            self.schedule.alone = None

    def commit(
        self,
        actor: Actor,
        plan: Callable[[TableIndex], TableChange | None] | TableChange,
        commit_id: str,
    ) -> bool | None:
        """Commit, and note the answer; None: it is not known."""
        patience = self.random.choice((60.0, 60.0, 60.0, 0.0))

        def work() -> None:
            committing.commit(
                self.root,
                KEYS,
                plan,
                commit_id=commit_id,
                env=actor.env(),
                patience_seconds=patience,
            )

        return self.answered(commit_id, work)

    def answered(self, commit_id: str, work: Callable[[], object]) -> bool | None:
        """Do what makes a commit, and note the answer; None: it is not known."""
        began = self.schedule.seconds
        try:
            work()
        except UncertainError:
            self.unknown.add(commit_id)
            return None
        except CorruptError:
            if self.schedule.seconds - began <= SLOW_SECONDS:
                raise
            self.refused.add(commit_id)
            return False
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
            began = world.schedule.seconds
            for attempt in range(4):
                if attempt and (world.is_hasty or world.schedule.seconds - began > 3600):
                    break
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
    """Take at most this many inputs, in one commit."""
    packed: dict[tuple[ChangedInput, ...], Descriptor] = {}

    def plan(index: TableIndex) -> TableChange | None:
        tree = InputsTree(index.inputs, world.root.fetch)
        paths = [path for path in INPUTS if tree.lookup(path) is None][:most]
        new = tuple(ChangedInput(path, world.editions.etag(path)) for path in paths)
        if not new:
            return None
        if new not in packed:
            packed[new] = world.packed(
                [row for item in new for row in rows_of(item.path, item.etag)]
            )
        world.intended[commit_id] = tuple(paths)
        return TableChange("sync", (packed[new],), inputs=new)

    try:
        return world.commit(actor, plan, commit_id)
    except SdbError:
        return False


def compacter(world: World, count: int) -> Callable[[Actor], None]:
    """Merge packfiles, by the real choice of them; only the rows are played."""

    def work(actor: Actor) -> None:
        for _ in range(count):
            with world.in_time():
                compact.compact_table(world.root, "d", "t", env=actor.env(), merge=world.merged)

    return work


def updater(world: World, count: int) -> Callable[[Actor], None]:
    """Mark all rows that have no mark, by the real transactions; only the rows are played."""
    update = parse_write("UPDATE d.t SET mark = 1")

    def work(actor: Actor) -> None:
        for number in range(count):
            commit_id = f"{actor.name}-{number}"
            asked = Transaction((update,), world.root, txn_id=commit_id, env=actor.env())
            with world.in_time():
                try:
                    carried_out(asked)
                except UncertainError:
                    world.unknown.add(commit_id)
                except CrashError:
                    world.unknown.add(commit_id)
                    raise

    return work


def played_update(work: StatementRunner) -> Effect:
    """Carry out the statement of an updater: what queries and blocks would do."""
    view = work.view
    world = WORLDS[view.root.store]  # type: ignore[index]
    for descriptor in list(view.descriptors()):
        if work.only is not None and descriptor.key not in work.only:
            continue
        tokens = world.read(descriptor.key)
        if any(not token.endswith(MARK) for token in tokens):
            new = [token if token.endswith(MARK) else token + MARK for token in tokens]
            view.replace(descriptor.key, [world.packed(new)])
    return Effect("update", "d.t")


def keeper(world: World, count: int) -> Callable[[Actor], None]:
    """Expire versions, collect, or advance the clock."""

    def work(actor: Actor) -> None:
        for _ in range(count):
            keys = world.tables[0]
            if len(world.tables) > 1:
                keys = world.random.choice(world.tables)
            dice = world.random.random()
            if dice < 0.3:
                world.schedule.pass_time(1.25 * DAY_SECONDS)
                world.schedule.sleep(1)
            elif dice < 0.6:
                with world.in_time(keys):
                    world.expire(actor, keys)
            else:
                with world.in_time(keys):
                    collect(world, actor, keys)

    return work


def collect(
    world: World, actor: Actor, keys: names.TableKeys = KEYS, *, dry_run: bool = False
) -> Collected:
    return gc.collect(world.root, keys, env=actor.env(), dry_run=dry_run)


def reader(world: World, count: int) -> Callable[[Actor], None]:
    """Read the whole table."""

    def work(_: Actor) -> None:
        for _ in range(count):
            try:
                table = open_table(world.root, "d", "t")
            except CorruptError:
                raise
            except SdbError:
                continue  # it is not there yet, or the store does not answer
            with world.in_time():
                rows = {
                    descriptor.key: tuple(world.read(descriptor.key))
                    for descriptor in table.descriptors()
                }
                world.reads.append((read_data(table), table.index, rows))

    return work


def lessee(world: World, _: int) -> Callable[[Actor], None]:
    """Read the whole table for days, under a lease; sometimes it dies with it."""

    def work(actor: Actor) -> None:
        actor.fault_rate = 0
        while (table := find_table(world.root, "d", "t")) is None:
            if len(world.schedule.actors) == 1:
                return
            world.schedule.sleep(1)
        rows = read_for_days(world, actor, table)
        if rows is not None:
            world.reads.append((read_data(table), table.index, rows))

    return work


def read_for_days(
    world: World, actor: Actor, table: TableHandle
) -> dict[str, tuple[str, ...]] | None:
    """Read a table for days under a lease, while it expires and is collected.

    None: an original has deleted what an original has written, which knows no leases.
    """
    lease, began = Lease(table, world.random.randbytes), world.schedule.seconds
    world.schedule.hurried += 1  # it is never as slow as to miss its turn to renew
    for _ in range(world.random.randrange(6, 16)):
        lease.renew()
        actor.held_up = world.random.randrange(30)
        while world.schedule.hurried > 1:
            world.schedule.sleep(1)
        world.schedule.sleep(DAY_SECONDS / 4)
        with world.in_time(table.keys):  # others may be done with that by now
            if world.random.random() < 0.3:
                world.expire(actor, table.keys)
            else:
                collect(world, actor, table.keys)
    lease.renew()
    try:
        rows = {
            descriptor.key: tuple(world.read(descriptor.key)) for descriptor in table.descriptors()
        }
    except NotFoundError as error:
        if is_ours(table.data) or not world.stranger.has_swept(error):
            raise
        world.schedule.hurried -= 1
        return None
    for node in InputsTree(replace(table.index.inputs, journal=None), world.ever).nodes():
        path = world.root.place(node)
        assert world.store.version(path) or world.stranger.is_lost_node(path)
    world.leased.append((table.index, began, world.schedule.seconds))
    if world.random.random() < 0.5:
        lease.release()
    world.schedule.hurried -= 1
    return rows


def read_data(table: TableHandle) -> bytes:
    """Return the object that was read, whichever version of it counts."""
    return table.data if table.joint is None else table.joint.data
