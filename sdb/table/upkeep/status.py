"""Report what a table needs, and which command mends it: metadata is read, and no packfile.

Where few versions are kept, what a collection would delete is looked up as it does itself;
otherwise it is counted which versions no history has any more, which is less.
"""

from __future__ import annotations

from sdb import instants, sizes
from sdb.records import changing_record, field, record
from sdb.table.catalog.foreign import is_foreign
from sdb.table.catalog.handle import find_table, time_path
from sdb.table.catalog.lookup import Versions
from sdb.table.commit.environment import REAL
from sdb.table.commit.putback import described
from sdb.table.history.holds import is_hold
from sdb.table.maintenance.compact import layout_of, runs_of
from sdb.table.maintenance.expire import Expiry, history_of
from sdb.table.maintenance.gc import collect
from sdb.table.maintenance.listing import objects_of
from sdb.table.sync.changedinputs import changed_inputs
from sdb.table.sync.retained import retention_facts
from sdb.table.sync.retention import to_retire
from sdb.table.upkeep.lock import read_lock
from sdb.table.upkeep.rules import rules_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from sdb.store.base import Entry
    from sdb.table.catalog.handle import TableHandle
    from sdb.table.catalog.root import TableRoot
    from sdb.table.commit.environment import Environment
    from sdb.table.definition.definition import Definition
    from sdb.table.format.descriptor import Descriptor
    from sdb.table.format.history import PastVersion
    from sdb.table.format.keys import TableKeys
    from sdb.table.format.state import VersionState
    from sdb.table.upkeep.rules import Rules

MOST_READ = 64
"""Of tables with more versions these are not read."""

ENOUGH_VERSIONS = 8192
"""With these no older list of versions is read, unless exact numbers are asked for."""

SMALL_BYTES = 1 << 20
_EXPIRABLE = 32


@record
class Need:
    """Something that a table needs.

    Attributes
    ----------
    action : str
        ``restore``, ``compact``, ``retention``, ``expire``, ``collect``, ``inputs`` or ``sync``.
    text : str
        Why, in words.
    command : str
        What mends it.
    """

    action: str
    text: str
    command: str


@record
class TableStatus:
    """The state of a table as far as its upkeep goes.

    Attributes
    ----------
    table : str
        Its name.
    needs : tuple of Need
        What it needs; nothing: it is well.
    notes : tuple of str
        What else is to be known: leases, branches, transactions, other programs.
    facts : dict
        Numbers and times, by name.
    """

    table: str
    needs: tuple[Need, ...]
    notes: tuple[str, ...]
    facts: dict[str, object]

    def as_dict(self) -> dict[str, object]:
        """Return it as plain values with stable names, for JSON."""
        needs = [
            {"action": need.action, "text": need.text, "command": need.command}
            for need in self.needs
        ]
        return {"table": self.table, **self.facts, "needs": needs, "notes": list(self.notes)}


def table_status(
    root: TableRoot,
    keys: TableKeys,
    *,
    exact: bool = False,
    with_inputs: bool = False,
    env: Environment = REAL,
) -> TableStatus:
    """Report what a table needs.

    * ``exact``: Whether what no version needs is looked up however many versions there are.
    * ``with_inputs``: Whether inputs are listed, to find those that wait.

    Raises `CorruptError` or `InputError` if an object of the table, or its definition, is damaged.
    """
    return _Examination(root, keys, env).status(exact=exact, with_inputs=with_inputs)


@changing_record
class _Examination:
    """Looks at one table."""

    root: TableRoot
    keys: TableKeys
    env: Environment
    needs: list[Need] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    facts: dict[str, object] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return f"{self.keys.database}.{self.keys.table}"

    def status(self, *, exact: bool, with_inputs: bool) -> TableStatus:
        rules = rules_of(self.root, self.keys)
        handle = find_table(self.root, self.keys.database, self.keys.table)
        if handle is None or handle.state is None or handle.is_dropped:
            self._without_versions(handle)
        else:
            descriptors = tuple(handle.descriptors())
            listed = objects_of(self.root, self.keys)
            enough = None if exact else ENOUGH_VERSIONS
            history = history_of(handle.state, self.root, enough=enough)
            self._versions(handle, handle.state, history, rules)
            self._packfiles(handle, descriptors)
            self._retention(handle, rules, exact=exact)
            self._inputs(handle.state)
            self._objects(handle, handle.state, history, listed, rules, exact=exact)
            self._others(handle, handle.state, listed)
        definition = rules.definition
        if definition is not None and definition.inputs:
            changed = self._waiting(rules) if with_inputs else self._changed(handle, definition)
            self._tell_changed(changed, rules)
        return TableStatus(self.name, tuple(self.needs), tuple(self.notes), self.facts)

    def _need(self, action: str, text: str, command: str) -> None:
        self.needs.append(Need(action, text, f"sdb {command} {self.name}"))

    def _without_versions(self, handle: TableHandle | None) -> None:
        self.facts["version"] = None
        if handle is None:
            self.notes.append("no rows yet")
        elif handle.is_dropped:
            self.notes.append(f"dropped; sdb undrop {self.name} brings it back")
        else:
            self.facts["packfiles"] = handle.index.objects
            self.notes.append("only other programs have written it, and keep it up")

    def _versions(
        self, handle: TableHandle, state: VersionState, history: list[PastVersion], rules: Rules
    ) -> None:
        count, read = Versions(handle).count, len(history) + 1
        past = [(version.operation, version.at_us) for version in state.history]
        syncs = [
            at_us
            for operation, at_us in [*past, (state.operation, state.at_us)]
            if operation == "sync"
        ]
        policy = rules.versions
        self.facts |= {
            "version": state.version,
            "operation": state.operation,
            "at": instants.text(state.at_us),
            "synced_at": instants.text(syncs[-1]) if syncs else None,
            "rows": state.rows,
            "bytes": state.size_bytes,
            "versions": count,
            "policy": {
                "keep_last": policy.keep_last,
                "keep_for": None if policy.keep_for is None else str(policy.keep_for),
                "thin": None if policy.thin is None else str(policy.thin),
                "default": rules.is_usual,
            },
        }
        expired = Expiry(handle, rules.expiry, self.env).of_history(state, history)
        gone, thinned = len(expired.dropped), len(expired.thinned)
        self.facts |= {
            "versions_read": read,
            "versions_expirable": gone,
            "versions_thinnable": thinned,
        }
        if read < count:
            self.notes.append(
                f"of {count:,} versions the newest {read:,} were looked at: "
                f"sdb status --exact {self.name} looks at all"
            )
        if gone >= _EXPIRABLE or gone > read // 2:
            least = "at least " if read < count else ""
            text = f"{least}{gone:,} of {count:,} versions may go"
            text += f", {thinned:,} of them thinned out" if thinned else ""
            command = "maintain" if rules.is_usual else "expire"
            self._need("expire", text, command)
        if rules.is_usual:
            self.notes.append(
                f"no policy of versions in its definition: keep_last {policy.keep_last}, "
                f"keep_for {policy.keep_for} and thin {policy.thin} count"
            )
        elif policy.thin is None:
            self.notes.append("versions are not thinned: no versions.thin in its definition")

    def _packfiles(self, handle: TableHandle, descriptors: tuple[Descriptor, ...]) -> None:
        layout = layout_of(self.root, self.keys)
        runs = runs_of(descriptors, layout, self.env)
        parts = sum(map(len, runs))
        small = sum(descriptor.size_bytes < SMALL_BYTES for descriptor in descriptors)
        self.facts |= {
            "packfiles": len(descriptors),
            "packfiles_small": small,
            "packfiles_mergeable": parts,
            "packfiles_at_a_moment": _overlap(handle, descriptors),
        }
        if runs:
            verb = "merged or sorted" if layout.by else "merged"
            text = f"{parts:,} of {len(descriptors):,} packfiles can be {verb}, into {len(runs):,}"
            self._need("compact", text, "compact")

    def _retention(self, handle: TableHandle, rules: Rules, *, exact: bool) -> None:
        """Report how old rows are, which are too old, and which have no time."""
        self.facts |= {"packfiles_overdue": 0, "rows_overdue": 0, "retention": None}
        if rules.definition is None:
            return
        now_us, most_read = self.env.now_us(), None if exact else MOST_READ
        facts = retention_facts(handle, rules.definition, now_us, most_read=most_read)
        if facts is None:
            return
        self.facts["retention"] = facts.as_dict()
        self.notes.append(f"retention: {facts}")
        if facts.flaw:
            self._need("retention", facts.flaw, "def")
        retired = to_retire(
            self.root, self.keys, rules.definition, env=self.env, most_read=most_read
        )
        overdue = retired.packfiles + retired.rewritten
        self.facts |= {"packfiles_overdue": overdue, "rows_overdue": retired.rows}
        if retired:
            text = f"{retired} are older than the retention policy keeps"
            self._need("retention", text, "maintain")

    def _inputs(self, state: VersionState) -> None:
        count = len(state.failures)
        self.facts["inputs_failed"] = count
        if count:
            failed = "1 input" if count == 1 else f"{count:,} inputs"
            text = f"{failed} failed; sdb inputs {self.name} says why"
            self._need("inputs", text, "sync --retry")

    def _changed(self, handle: TableHandle | None, definition: Definition) -> tuple[str, ...]:
        """Return the local inputs that have changed after they were taken."""
        if handle is None or handle.is_dropped:
            return ()
        compared = changed_inputs(self.root, definition, handle.inputs)
        if compared.note:
            self.notes.append(compared.note)
        return compared.changed

    def _tell_changed(self, changed: tuple[str, ...], rules: Rules) -> None:
        """Report inputs whose rows are those of another content."""
        self.facts["inputs_changed"] = len(changed)
        if not changed:
            return
        policy = rules.upkeep.changed
        number = sizes.counted(len(changed), "input")
        text = f"{number} changed after the rows came in, as {changed[0]}"
        if policy == "keep":
            self.notes.append(f"{text}: these stay (upkeep.changed)")
            return
        fate = "these stay (upkeep.changed)" if not policy else f"upkeep.changed is {policy}"
        command = "sync" if policy == "replace" else "sync --changed replace"
        self._need("changed", f"{text}: {fate}", command)

    def _waiting(self, rules: Rules) -> tuple[str, ...]:
        """Look at all inputs, and return those that have changed."""
        from sdb.table.sync.sync import sync_table

        names = self.keys.database, self.keys.table
        changed = "keep" if rules.upkeep.changed == "fail" else None
        waiting = sync_table(self.root, *names, dry_run=True, changed=changed)
        # Files that a Delta or Iceberg table does not have any more wait to go.
        count = len({*waiting.taken, *waiting.deleted} - {*waiting.replaced})
        self.facts["inputs_waiting"] = count
        if count:
            self._need("sync", f"{count:,} input{'s' if count > 1 else ''} wait", "sync")
        return (*waiting.changed, *waiting.replaced)

    def _objects(
        self,
        handle: TableHandle,
        state: VersionState,
        history: list[PastVersion],
        listed: Mapping[str, Entry],
        rules: Rules,
        *,
        exact: bool,
    ) -> None:
        """Find objects that no version needs, of those that are older than the grace period."""
        grace = rules.upkeep.grace_seconds
        self.facts["stored_bytes"] = sum(entry.size_bytes for entry in listed.values())
        is_exact = exact or Versions(handle).count <= MOST_READ
        if is_exact:
            collected = collect(
                self.root, self.keys, grace_seconds=grace, dry_run=True, env=self.env
            )
            objects = [item.size_bytes for item in collected.garbage]
        else:
            boundary_us = self.env.now_us() - int(grace * instants.SECOND_US)
            named = set() if state.branches else self._named(state, history)
            oldest = history[0].version  # those before it may be in a list that was not read
            objects = [
                entry.size_bytes
                for key, entry in listed.items()
                if named
                and (numbered := self.keys.version_of(key)) is not None
                and numbered[0] >= oldest
                and key not in named
                and entry.modified_us <= boundary_us
            ]
        self.facts |= {
            "unneeded_objects": len(objects),
            "unneeded_bytes": sum(objects),
            "unneeded_exact": is_exact,
        }
        if objects:
            least = "" if is_exact else "at least "
            size = sizes.human(sum(objects))
            text = f"{least}{len(objects):,} objects, {size}, are needed by no version"
            self._need("collect", text, "gc")

    def _named(self, state: VersionState, history: list[PastVersion]) -> set[str]:
        """Return the keys of the versions that the table leads to."""
        keys = {version.key for version in history}
        pointers = [*state.tags.values(), *state.merges.values(), *(state.joined or ())]
        pointers += [pointer for pointer in (state.merged, state.replaced) if pointer is not None]
        return (
            keys
            | {pointer.key for pointer in pointers}
            | {self.keys.version(state.version, state.commit)}
        )

    def _others(
        self, handle: TableHandle, state: VersionState, listed: Mapping[str, Entry]
    ) -> None:
        leases = [entry for key, entry in listed.items() if self.keys.is_lease(key)]
        branches = [name for name in state.branches if not is_hold(name)]
        forks = [name for name in state.branches if is_hold(name)]
        self.facts |= {"leases": len(leases), "branches": branches, "tags": len(state.tags)}
        self.notes += self._notes(handle, leases, branches, forks)
        seen = read_lock(self.root, self.keys)
        lock = None if seen is None else seen[0]
        self.facts["upkeep"] = None
        if lock is not None:
            self.facts["upkeep"] = {
                "host": lock.host,
                "pid": lock.pid,
                "at": instants.text(lock.beat_us),
                "is_running": bool(lock.holder) and not lock.is_orphaned,
                "collected_at": instants.text(lock.collected_us) if lock.collected_us else None,
            }

    def _notes(
        self, handle: TableHandle, leases: list[Entry], branches: list[str], forks: list[str]
    ) -> Iterator[str]:
        if leases:
            newest = instants.text(max(entry.modified_us for entry in leases), fraction=False)
            yield f"{len(leases):,} leases of long queries, the last renewed {newest}"
        if branches:
            listed = ", ".join(branches[:8])
            yield f"branches keep versions for merges: {listed} (sdb branch -d lets one go)"
        if forks:
            yield f"{len(forks):,} forks share its packfiles"
        if handle.joint is not None and handle.joint.is_pending:
            transaction = handle.joint.state.transaction
            yield f"a transaction over several tables is under way: {transaction}"
        newer = described(handle)
        if newer is not None and newer.was_put_back:
            self.needs.insert(0, Need("restore", f"{newer.key} {newer.text}", newer.command))
        elif newer is not None:
            yield f"{newer.key} {newer.text}"
        if handle.state is not None and is_foreign(handle.index, handle.state):
            yield "another program has written it since; the next commit keeps what was there"


def _overlap(handle: TableHandle, descriptors: tuple[Descriptor, ...]) -> int | None:
    """Return how many packfiles have one moment among their times, at most; None: not known."""
    path = time_path(handle)
    if path is None:
        return None
    ends = []
    for descriptor in descriptors:
        index = descriptor.trailer.sparse.indices.get(path)
        if index is not None and not index.is_empty:
            ends += [(index.first_us, 1), (index.last_us + 1, -1)]
    most = count = 0
    for _, change in sorted(ends):
        count += change
        most = max(most, count)
    return most
