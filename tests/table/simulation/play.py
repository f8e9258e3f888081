"""The simulation of commits: what must hold whatever happens is `check`.

    python -m tests.table.simulation --seconds 3600
    python -m tests.table.simulation --seed 17

Everybody who works with a table is real code over a store in memory; a seed decides who goes on at
each request, and what goes wrong with it (:mod:`tests.table.simulation.scheduler`).
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from contextlib import contextmanager
from itertools import pairwise
from random import Random
from typing import TYPE_CHECKING
from unittest import mock

from sdb import notes
from sdb.statements import erasure
from sdb.statements.apply import StatementRunner
from sdb.table.catalog import handle
from sdb.table.commit import change as tablechange
from sdb.table.commit import commit
from sdb.table.commit.chain import FOREIGN
from sdb.table.commit.change import own_keys
from sdb.table.format import history
from sdb.table.format import keys as names
from sdb.table.format import state as versionstate
from sdb.table.format.history import read_history
from sdb.table.format.index import TableIndex
from sdb.table.format.inputtree import InputsTree
from sdb.table.format.manifests import read_list
from sdb.table.history.transfer import Transfer
from sdb.table.maintenance import compact
from sdb.table.sync import retention
from tests.table.simulation import (
    actors,
    altering,
    branching,
    decoding,
    forking,
    joint,
    lines,
    maintaining,
    making,
    purging,
    retiring,
    sorting,
    strangers,
    together,
)
from tests.table.simulation.actors import KEYS, MARK, SLOW_SECONDS, World
from tests.table.simulation.decoding import decoded, etag_of, is_ours, state_in
from tests.table.simulation.editions import INPUTS, input_of, of_inputs, rows_of
from tests.table.simulation.moves import Moves
from tests.table.simulation.scheduler import DAY_SECONDS, Actor

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sdb.table.format.descriptor import Descriptor
    from sdb.table.format.history import PastVersion
    from sdb.table.format.keys import TableKeys
    from sdb.table.format.state import VersionState

JOINT_SHARE = 0.3
"""How many of the seeds have transactions over several tables."""

_SAME_ROWS = {"compact", "expire", "gc", "adopt", "update", "purge", altering.OPERATION}


@contextmanager
def played_parts() -> Iterator[None]:
    """Replace what only simulations play, and decode each object once."""
    # What a process remembers of one play must not save the next one a request.
    history._LISTS.clear()
    handle._KNOWN.clear()
    with (
        mock.patch.object(TableIndex, "decode", lambda data, _: decoded(data)[0]),
        mock.patch.object(versionstate.VersionState, "from_struct", decoding.read_state),
        mock.patch.object(names, "flaw_of_key", decoding.flaw_of_key),
        mock.patch.object(names, "flaw_of_name", decoding.flaw_of_name),
        mock.patch.object(StatementRunner, "run", joint.played),
        mock.patch.object(Transfer, "packfiles", forking.played_transfer),
        mock.patch.object(erasure, "scan_table", purging.played_scan),
    ):
        yield


def run(seed: int) -> World:
    """Play one seed, and check what came of it; of every eighth one many are not ours."""
    world = World(seed)
    dice = world.random
    schedule = world.schedule
    several = Random(seed).random() < JOINT_SHARE
    more = Moves(world, seed)
    with played_parts(), _unheard(), joint.untidy(several and seed % 5 < 2), more.played():
        world.tables = (KEYS, *joint.OTHERS) if several else (KEYS,)
        is_forked = seed % 5 == 1
        keepers = dice.choice((0, 0, 1, 2)) or int(is_forked)
        schedule.long_days = dice.choice((0.003, 0.03)) if keepers else 0
        for name, work, count, most in (
            ("insert", actors.inserter, dice.randrange(1, 4), 4),
            ("sync", actors.syncer, dice.choice((0, 0, 1, 2)), 2),
            ("compact", actors.compacter, dice.choice((0, 0, 1, 2)), 5),
            ("keep", actors.keeper, keepers, 6),
            ("update", actors.updater, dice.choice((0, 0, 0, 1)), 3),
            ("read", actors.reader, dice.choice((0, 1)), 3),
            ("tag", branching.tagger, dice.choice((0, 0, 1)), 3),
            ("lease", actors.lessee, int(keepers > 0 and seed % 4 == 1), 1),
        ):
            for number in range(min(count, 1) if more.chosen else count):
                schedule.add(f"{name}{number}", work(world, dice.randrange(1, most + 1)))
        more.begin()
        if dice.random() < 0.3:
            schedule.add("branch", branching.brancher(world, dice.randrange(1, 4)))
            schedule.add("merge", branching.merger(world, dice.randrange(1, 3)))
        if several:
            joint.begin(world, seed, are_kept=keepers > 0)
        originals = 4 if seed % 8 == 0 else dice.choice((0, 0, 1, 2))
        originals = purging.begin(world, seed, originals)
        # With several branches there are none: what they throw away nobody can reckon with.
        for number in range(0 if world.lines.is_chosen else originals):
            schedule.add(f"original{number}", strangers.original(world, dice.randrange(1, 4)))
        if is_forked:
            schedule.add("fork", forking.forker(world, 3))
        schedule.run()
        settle(world)
        more.settle()
        purging.settle(world)
        check(world)
        if keepers:
            tidy(world)
            check(world)
    return world


@contextmanager
def _unheard() -> Iterator[None]:
    with mock.patch.object(notes, "warn"):
        yield


def settle(world: World) -> None:
    """Run one more sync of ours when all others are gone: it finds whatever is left to do."""
    actor = Actor("last", lambda _: None, world.schedule)
    actor.fault_rate = 0
    world.intended["last"] = ("last",)
    change = tablechange.TableChange("insert", (world.packed(("last",)),))
    commit.commit(world.root, KEYS, change, commit_id="last", env=actor.env())
    world.acknowledged["last"] = ("last",)
    for keys in world.tables[1:]:
        rows = world.packed(("last",), keys=keys) if keys == joint.OTHERS[0] else None
        change = tablechange.TableChange("insert", () if rows is None else (rows,))
        commit.commit(world.root, keys, change, commit_id="last", env=actor.env())
    actors.sync(world, actor, "last-sync", len(INPUTS))


def tidy(world: World) -> None:
    """Collect when all others are gone: what nothing leads to goes, as a dry run tells."""
    actor = Actor("tidy", lambda _: None, world.schedule)
    actor.fault_rate = 0
    for keys in world.tables:
        world.schedule.pass_time(1.25 * DAY_SECONDS)
        world.expire(actor, keys)
        world.schedule.pass_time(1.25 * DAY_SECONDS)
        collected = actors.collect(world, actor, keys, dry_run=True)
        done = actors.collect(world, actor, keys)
        more = {leftover.key: leftover.kind for leftover in collected.garbage}
        assert not {leftover.key for leftover in done.garbage} - more.keys()
        for leftover in done.garbage:
            del more[leftover.key]
        # A branch leads to what the version that it began with lists once it has one of its own.
        has_branches = any("/branches/" in url for url in world.store.contents)
        assert set(more.values()) <= ({"history"} if has_branches else set()), more
        _check_tidy(world, keys)
        again = {leftover.kind for leftover in actors.collect(world, actor, keys).garbage}
        known = {"transaction", *({"history"} if world.lines.is_chosen else ())}
        assert again <= known, again


def _check_tidy(world: World, keys: TableKeys) -> None:
    """Nothing is left of a table that its newest versions do not need."""
    left = {url.removeprefix("mem://r/") for url in world.store.contents}
    left = {key for key in left if key.startswith(f"{keys.folder}/")}
    left -= {keys.definition, keys.upkeep}
    heads = {key for key in left if key.endswith("/index")}
    late = {url.removeprefix("mem://r/") for url, _ in world.store.log[-2 * len(heads) :]}
    for key in heads:
        head = world.store.contents[world.root.place(key)]
        late |= needs(world, head, keys)
        state = state_in(head)
        own = world.ever(keys.version(state.version, state.commit))
        late |= {ref.key for ref in state_in(own).older}  # a branch may have begun with it
        for merged in (*state.merges.values(), *(state.joined or ())):
            late |= {merged.key, *(ref.key for ref in state_in(world.ever(merged.key)).older)}
        for item in listed(world, state):
            part = state_in(world.ever(item.key)).merged if item.version in state.picked else None
            late |= set() if part is None else needs_of(world, part.key)
        parent = state.parent
        if parent is not None:  # the newest version until just now
            before = world.ever(parent.key)
            late |= {ref.key for ref in state_in(before).older}
            late |= needs(world, before, keys) if key != keys.index else set()
    assert left <= late | heads, left - late


class Version:
    """A version, with its rows; it may be gone."""

    def __init__(self, world: World, key: str, etag: str) -> None:
        data = world.ever(key)
        assert etag_of(data) == etag, f"{key} was overwritten"
        self.key, self.data = key, data
        self.index, state = decoded(data)
        assert state is not None
        self.state = state
        actual = descriptors_of(world, self.index)
        self.described = {item.key: item for item in actual}
        self.packfiles = Counter(item.key for item in actual)

    def rows(self, world: World) -> Counter[str]:
        return Counter(token for key in self.packfiles.elements() for token in world.tokens(key))


def descriptors_of(world: World, index: TableIndex) -> list[Descriptor]:
    """Return what an index tells of its packfiles, in their order."""
    refs = index.indirect.refs
    actual = [item for ref in refs for item in read_list(world.ever(ref.key), ref)]
    return [*actual, *index.inline]


def packfiles_of(world: World, index: TableIndex) -> Counter[str]:
    """Return the packfiles of an index."""
    return Counter(item.key for item in descriptors_of(world, index))


def chain_of(world: World, data: bytes, keys: TableKeys = KEYS) -> list[Version]:
    """Return the versions that an index of ours has behind it, itself the last."""
    state = state_in(data)
    own = keys.version(state.version, state.commit)
    chain = [Version(world, own, branching.own_etag(data, state))]
    while (parent := chain[-1].state.parent) is not None:
        chain.append(Version(world, parent.key, parent.etag))
    return chain[::-1]


def listed(world: World, state: VersionState) -> list[PastVersion]:
    """Return the versions that a history tells."""
    refs = state.older
    actual = [version for ref in refs for version in read_history(world.ever(ref.key), ref)]
    return [*actual, *state.history]


def needs(world: World, data: bytes, keys: TableKeys = KEYS) -> set[str]:
    """Return the keys of all that an index leads to, also through the versions that it keeps."""
    if data not in world.needs:
        index, state = decoded(data)
        wanted = contents_of(world, index)
        if state is not None:
            own = keys.version(state.version, state.commit)
            wanted |= {own} if is_ours(data) else set()
            wanted |= {ref.key for ref in state.older}
            for item in listed(world, state):
                wanted |= {item.key} | contents_of(world, decoded(world.ever(item.key))[0])
            for key in branching.named_keys(state):
                wanted |= {key} | contents_of(world, decoded(world.ever(key))[0])
        world.needs[data] = wanted
    return world.needs[data]


def needs_of(world: World, key: str) -> set[str]:
    """Return the keys of a version, and of what it leads to by itself."""
    return {key} | contents_of(world, decoded(world.ever(key))[0])


def contents_of(world: World, index: TableIndex) -> set[str]:
    """Return the keys of what an index leads to by itself."""
    wanted = set(packfiles_of(world, index)) | {ref.key for ref in index.indirect.refs}
    return wanted | set(InputsTree(index.inputs, world.ever).nodes())


def check(world: World) -> None:
    """Check what must hold."""
    heads = [data for url, data in world.store.log if url == world.root.place(KEYS.index)]
    assert is_ours(heads[-1])
    chain = chain_of(world, heads[-1])
    for keys in world.tables[1:]:
        _check_linear(chain_of(world, world.store.contents[world.root.place(keys.index)], keys))
    joint.check_joint(world, chain[-1].rows(world))
    making.check_made(world, chain[-1].rows(world), chain_of)
    _check_linear(chain)
    _check_heads(world, heads, chain)
    _check_replay(world, chain)
    _check_answers(world, chain)
    _check_reads(world, heads)
    _check_kept(world, heads[-1], chain)
    _check_deleted(world)
    _check_leased(world)
    forking.check_forks(world)
    purging.check_purged(world)
    lines.check_lines(world)


def _check_kept(world: World, head: bytes, chain: list[Version]) -> None:
    """What the history tells are versions that there were, and nothing of them is missing."""
    known = {(past.state.version, past.key, etag_of(past.data)) for past in chain}
    reported = [(past.version, past.key, past.etag) for past in listed(world, state_in(head))]
    assert set(reported) <= known
    assert reported == sorted(set(reported)), f"versions of the history: {reported}"
    maintaining.check_maintained(world, {version for version, _, _ in reported}, head)
    is_whole = not (world.purging or world.lines.is_chosen or world.is_maintained)
    if is_whole and not world.schedule.long_days:
        assert len(reported) == len(chain) - 1, "a version is missing in the history"
    there = world.store.contents
    above = world.root.place(f"{KEYS.folder}/branches/")
    branches = [data for url, data in branching.heads(world, above) if is_ours(data)]
    for data in (head, *branches):
        places = sorted(map(world.root.place, needs(world, data)))
        missing = [
            path for path in places if path not in there and not world.stranger.is_lost_node(path)
        ]
        assert not missing, f"{missing[0]} is missing"


def _check_deleted(world: World) -> None:
    """Nothing was deleted that an index led to that somebody may still have been reading."""
    path = world.root.place(KEYS.index)
    log, times = world.store.log, world.store.times
    puts: list[tuple[int, int, bytes]] = []
    for position, (url, data) in enumerate(log):
        if url != path:
            continue
        # What is part of a transaction is read from its end on, or never.
        since = joint.counts_since(world, decoded(data)[0])
        parent = None if since is None else state_in(data).parent
        if parent is not None and puts and not is_ours(puts[-1][2]):
            # Until then the version before it, which has copies of what another program wrote.
            puts.append((position, position, world.ever(parent.key)))
        if since != joint.NEVER:
            puts.append((position if since is None else since, position, data))
    for url, position, seconds in world.store.deleted:
        if (url, position, seconds) in world.stranger.sweeps:
            continue
        key = url.removeprefix("mem://r/")
        if world.store.deleters[url].startswith(purging.PREFIX):
            continue
        ends = [*(since for since, *_ in puts[1:]), len(log)]
        mark = purging.last_mark(world, position)
        for (_, put, read), end in zip(puts, ends, strict=True):
            over = times[end] if end < position else seconds
            if put < position and over >= seconds - SLOW_SECONDS and end > mark:
                assert key not in needs(world, read), f"{key} was deleted too early"


def _check_leased(world: World) -> None:
    """Nothing was deleted that somebody was reading under a lease."""
    for index, since, until in world.leased:
        wanted = {world.root.place(key) for key in contents_of(world, index)}
        for url, position, seconds in world.store.deleted:
            if (url, position, seconds) in world.stranger.sweeps:
                continue
            assert url not in wanted or not since <= seconds <= until, f"{url} was being read"


def _check_linear(chain: list[Version]) -> None:
    for before, after in pairwise(chain):
        parent = after.state.parent
        assert parent is not None, f"{after.key} has no parent"
        assert (parent.version, parent.key) == (before.state.version, before.key)
        assert parent.etag == etag_of(before.data)
        assert before.state.at_us < after.state.at_us
        assert before.state.table == after.state.table
    ids = [past.state.commit for past in chain]
    assert len(set(ids)) == len(ids), f"an id is in two versions: {ids}"


def _check_heads(world: World, heads: list[bytes], chain: list[Version]) -> None:
    """Each head is a version that was there before; one that nobody overwrote stays in history."""
    stored: set[bytes] = set()
    for url, data in world.store.log:
        if "/versions/" in url:
            stored.add(data)
        elif url == world.root.place(KEYS.index) and is_ours(data) and not _is_undone(world, data):
            _check_stored(data, stored)
    foreign = [item for item in chain if item.state.operation == FOREIGN]
    several = sum(not is_ours(head) for head in heads) > 1
    counting = [item for item in heads if not (is_ours(item) and _is_undone(world, item))]
    for before, after in pairwise(counting):
        if not is_ours(after):
            continue  # the original has thrown away what was there
        index, _ = decoded(before)
        if is_ours(before):
            state, parent = state_in(before), state_in(after).parent
            if state_in(after).commit == state.commit:
                continue  # another name for a version
            assert parent is not None, "a version was lost"
            assert parent.etag == branching.own_etag(before, state), "a version was lost"
        elif not several and not _is_undone(world, before):
            same = [item for item in foreign if item.index.created_us == index.created_us]
            written = own_keys(descriptors_of(world, index))
            there = [item for item in same if own_keys(item.described.values()) == written]
            assert there, "what the original has written is no version"


def _is_undone(world: World, data: bytes) -> bool:
    """Return whether an index is part of a transaction that was given up."""
    return joint.counts_since(world, decoded(data)[0]) == joint.NEVER


def _check_stored(data: bytes, stored: set[bytes]) -> None:
    """An index is a version, but for the names of versions that were set since."""
    state = state_in(data)
    same = [item for item in stored if etag_of(item) == branching.own_etag(data, state)]
    assert same, "an index that is no version"
    names = branching.without_names
    assert names(decoded(data)[0], state) == names(decoded(same[0])[0], state_in(same[0]))


def _check_replay(world: World, chain: list[Version]) -> None:
    """Rows of each version are those of the one before, and what its commit has done."""
    before: Counter[str] = Counter()
    known, last = 0, None
    for version in chain:
        rows, state = version.rows(world), version.state
        added, gone = rows - before, before - rows
        if state.operation == "insert":
            assert not gone
            if state.commit in world.intended or not any(map(together.is_row, added)):
                expected = Counter(world.intended.get(state.commit))
                assert added == expected, (state.commit, added)
        elif state.operation in {"transaction", "create"}:
            assert not gone
            assert set(added) <= {joint.id_of(state.commit, state.ids)}, (state.commit, added)
        elif state.operation == "sync":
            assert of_inputs(added)
            assert set(map(input_of, gone)) <= set(map(input_of, added)), f"it lost {gone}"
        elif state.operation == "merge":
            branching.merged_rows(world, added, gone)
        elif state.operation in _SAME_ROWS:
            assert not added
            assert not gone
            if state.operation == "update" and not world.has_foreign:
                rest = [
                    row for key in version.packfiles for row in world.raw(key) if row[-1] != MARK
                ]
                assert not rest, f"{version.key} did not update {rest}"
        else:
            _check_other(world, state.operation, added, gone)
        if state.operation == compact.COMPACT and not world.has_foreign and last is not None:
            sorting.check_order(world, last.described, version.described)
        sorting.check_marks(world, version.described)
        _check_inputs(world, version, rows)
        assert state.rows == tablechange.rows_of(version.described.values()), (
            f"{version.key}: {state.rows} rows"
        )
        known += state.changes.packfiles_added - state.changes.packfiles_removed
        assert known == version.packfiles.total(), f"{version.key}: {known} packfiles are told"
        before, last = rows, version


def _check_other(world: World, operation: str, added: Counter[str], gone: Counter[str]) -> None:
    if operation == retention.OPERATION:
        assert not added
        retiring.check_gone(gone)
    elif operation == "delete" and not world.lines.is_chosen:
        assert not added
        assert set(gone) <= world.purging
    elif operation not in lines.OPERATIONS:  # see check_lines
        assert operation == FOREIGN
        assert of_inputs(added)
        assert not gone, f"a foreign version lost {gone}"


def _check_inputs(world: World, version: Version, rows: Counter[str]) -> None:
    """Inputs that are taken have the rows of that edition, once; others have none."""
    taken = InputsTree(version.index.inputs, world.ever).walk()
    expected = {row for entry in taken for row in rows_of(entry.path, entry.etag)}
    assert {token for token in rows if input_of(token)} == expected, version.key
    assert max(rows.values(), default=1) == 1, f"{version.key}: {rows}"


def _check_answers(world: World, chain: list[Version]) -> None:
    rows = chain[-1].rows(world)
    for commit_id, tokens in world.acknowledged.items():
        remaining = [token for token in tokens if token not in world.purging]
        assert all(rows[token] == 1 for token in remaining), f"{commit_id} was lost"
        made = [version for version in chain if version.state.commit == commit_id]
        assert len(made) == 1, f"{commit_id} is in {len(made)} versions"
    if not world.has_foreign:
        # Otherwise what was refused may be taken for what was overwritten, and done again.
        ids = {version.state.commit for version in chain}
        assert not ids & (world.refused - world.unknown - world.acknowledged.keys())
    assert set(filter(None, map(input_of, rows))) == set(INPUTS), "an input is missing"
    altering.check_altered(world, [version.state for version in chain])
    together.check_together(world, [(version.state, version.rows(world)) for version in chain])
    ids = {version.state.commit for version in chain}
    branching.check_branching(world, rows, ids, chain[-1].state)


def _check_reads(world: World, heads: list[bytes]) -> None:
    """Each read is one head, all of it."""
    for data, index, rows in world.reads:
        assert data in heads
        assert set(rows) == set(packfiles_of(world, index))
        assert all(rows[key] == world.raw(key) for key in rows)


def main() -> int:
    """Play seeds for a time, or one."""
    parser = argparse.ArgumentParser(description="Simulate commits.")
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--first", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int)
    asked = parser.parse_args()
    began, seed = time.monotonic(), asked.first if asked.seed is None else asked.seed
    count = 0
    while True:
        try:
            run(seed)
        except BaseException:
            sys.stderr.write(f"seed {seed} failed; {replay(seed)}\n")
            raise
        count += 1
        if asked.seed is not None or time.monotonic() - began > asked.seconds:
            break
        seed += 1
    sys.stdout.write(f"{count:,} seeds in {time.monotonic() - began:.0f} s\n")
    return 0


def replay(seed: int) -> str:
    """Return the command that plays a seed again."""
    return f"to see it again: python -m tests.table.simulation --seed {seed}"
