"""The steps of one round over a table: sync, retention, compaction, expiry and collection.

What there is to do is looked up in metadata first; only then the lock is taken. Every step is an
ordinary commit of its own, with its operation and author.
"""

from __future__ import annotations

from sdb import instants, sizes
from sdb.errors import SdbError
from sdb.records import changing_record, field
from sdb.table.catalog.handle import find_table
from sdb.table.maintenance.compact import RowLayout, compact_table, layout_of, run_bytes, runs_of
from sdb.table.maintenance.expire import expire
from sdb.table.maintenance.gc import collect
from sdb.table.sync.retention import overdue, retire, rule_of, to_retire
from sdb.table.sync.work import InputChangedError
from sdb.table.upkeep.actions import Action, Request
from sdb.table.upkeep.lock import UpkeepLock, read_lock
from sdb.table.upkeep.rules import rules_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import TypeAlias

    from sdb.table.catalog.handle import TableHandle
    from sdb.table.catalog.root import TableRoot
    from sdb.table.format.keys import TableKeys
    from sdb.table.maintenance.expire import Expired
    from sdb.table.upkeep.budget import Budget
    from sdb.table.upkeep.rules import Rules

    Step: TypeAlias = "Callable[[TableHandle, Rules, UpkeepLock], Action | None]"

MESSAGE = "sdb maintain"
EXPIRY_BATCH = 32
"""How many versions go at once, so that the history is not written again for each."""

_EXPIRY_SHARE = 16  # and a share of a long history: each expiry writes its lists anew

_EXPIRY_SECONDS = 900.0
_MOST_COLLECTION_SECONDS = 6 * 3600.0
_STEP_BYTES = 1 << 30


@changing_record
class TableUpkeep:
    """The upkeep of one table: `round` after `round`."""

    root: TableRoot
    keys: TableKeys
    request: Request
    _noted: dict[str, str] = field(default_factory=dict)
    _version: str = ""  # of the index in which there was nothing to merge
    _expirable_at: float | None = None  # since when there are versions that may go
    _looked_at: float = 0.0  # when it was looked whether there are
    _looked_version: int = 0
    _collected_us: int = 0

    @property
    def name(self) -> str:
        """Its name."""
        return f"{self.keys.database}.{self.keys.table}"

    def round(self) -> list[Action]:
        """Do what there is to do.

        Raises `StoppedError` if the program was told to stop; `SdbError` if a step failed; those
        before it are done.
        """
        self.request.budget.pace()
        rules = rules_of(self.root, self.keys)
        done: list[Action] = []
        trouble: SdbError | None = None
        if rules.upkeep.sync and rules.definition is not None:
            try:
                self._add(done, self._sync())
            except InputChangedError as error:
                trouble = error
        handle = find_table(self.root, self.keys.database, self.keys.table)
        if handle is not None and handle.state is None:
            self._note("foreign", "only other programs have written it, and keep it up: left alone")
        elif handle is not None and (handle.joint is None or not handle.joint.is_pending):
            # Who commits during a transaction would wait for it.
            trouble = self._keep_up(handle, rules, done) or trouble
        if trouble is not None:
            raise trouble
        return done

    def _keep_up(self, handle: TableHandle, rules: Rules, done: list[Action]) -> SdbError | None:
        """Do the steps after the sync, and return why mirrors could not be brought up to date."""
        if rules.is_usual:
            stays = f"keep_last {rules.versions.keep_last}, keep_for {rules.versions.keep_for}"
            text = f"its definition has no policy of versions; {stays}, thin {rules.versions.thin}"
            self._note("policy", text)
        trouble = self._export(handle, rules, done)
        self._tend(handle, rules, done)
        return trouble

    def _tend(self, handle: TableHandle, rules: Rules, done: list[Action]) -> None:
        """Do the steps that change the table and are due, one of its maintainers at a time."""
        steps = [step for is_due, step in self._steps(handle, rules) if is_due]
        if not steps:
            return
        lock = UpkeepLock(self.root, self.keys, self.request.env)
        try:
            if not self._may_work(lock):
                return
            self.request.budget.renew = lock.renew
            for step in steps:
                self.request.budget.pace()
                handle = find_table(self.root, self.keys.database, self.keys.table) or handle
                self._add(done, step(handle, rules, lock))
        finally:
            self.request.budget.renew = _nothing
            lock.release()

    def _export(self, handle: TableHandle, rules: Rules, done: list[Action]) -> SdbError | None:
        """Bring the mirrors up to date, before versions expire; return why one could not be."""
        policies = () if rules.definition is None else rules.definition.exports
        export, trouble = self.request.export, None
        if not policies or handle.is_dropped:
            return None
        if export is None:
            self._note("export", "its mirrors are left alone: sdb maintain keeps them up")
            return None
        for policy in policies:
            self.request.budget.pace()
            try:
                exported = export(self.root, self.keys, policy, is_dry=self.request.is_dry)
            except SdbError as error:
                trouble = error
                continue
            if exported is not None:
                verb = self._verb("mirrored", "would mirror")
                text = f"{verb} {_counted(exported.versions, 'version')} to {exported.location}"
                numbers = {"versions": exported.versions, "rows": exported.rows}
                self._add(done, Action(self.name, "export", text, exported.version, numbers))
        return trouble

    def _may_work(self, lock: UpkeepLock) -> bool:
        """Take the lock; who reports only what would be done needs none."""
        if self.request.is_dry or lock.take():
            self._noted.pop("lock", None)
            return True
        if lock.held_by is not None:
            holder = f"{lock.held_by.host}, process {lock.held_by.pid}"
            self._note("lock", f"{holder}, works on it since {instants.text(lock.held_by.beat_us)}")
        return False

    def _add(self, done: list[Action], action: Action | None) -> None:
        if action is not None:
            done.append(action)
            self.request.tell(action)

    def _note(self, topic: str, text: str) -> None:
        """Say once what stays undone, or what is assumed."""
        if self._noted.get(topic) != text:
            self._noted[topic] = text
            self.request.tell(Action(self.name, "note", text))

    def _steps(self, handle: TableHandle, rules: Rules) -> Iterator[tuple[bool, Step]]:
        """Yield the steps in their order, and whether each is due."""
        upkeep = rules.upkeep
        yield self._has_overdue(handle, rules), self._retire
        yield upkeep.compact and self._has_runs(handle), self._compact
        yield upkeep.expire and self._has_expirable(handle, rules), self._expire
        yield upkeep.collect and self._is_collection_due(rules), self._collect

    def _sync(self) -> Action | None:
        from sdb.table.sync.sync import sync_table

        request = self.request
        synced = sync_table(
            self.root,
            self.keys.database,
            self.keys.table,
            dry_run=request.is_dry,
            author=request.author,
        )
        if synced.changed:
            number = _counted(len(synced.changed), "input")
            text = f"{number} changed after it was taken, as {synced.changed[0]}: its rows stay"
            self._note("changed", f"{text} (upkeep.changed: replace takes the new ones)")
        if not (synced.taken or synced.rejected or synced.deleted):
            return None
        text = f"{self._verb('took', 'would take')} {_counted(len(synced.taken), 'input')}"
        if synced.deleted:
            gone = f"removed rows of {_counted(len(synced.deleted), 'input')}"
            text = f"{text}, {gone}" if synced.taken else self._verb(gone, f"would have {gone}")
        if synced.rejected:
            text += f"; {_counted(len(synced.rejected), 'input')} cannot be read (sdb inputs)"
        numbers = {"inputs": len(synced.taken), "failed": len(synced.rejected)}
        return Action(self.name, "sync", text, synced.version, numbers)

    def _has_overdue(self, handle: TableHandle, rules: Rules) -> bool:
        if rules.definition is None:
            return False
        rule = rule_of(handle, rules.definition, self.request.env.now_us())
        return rule is not None and any(True for _ in overdue(handle, rule))

    def _retire(self, _: TableHandle, rules: Rules, __: UpkeepLock) -> Action | None:
        definition, request = rules.definition, self.request
        if definition is None or definition.retention is None:
            return None
        if request.is_dry:
            retired = to_retire(self.root, self.keys, definition, env=request.env)
        else:
            retired = retire(
                self.root,
                self.keys,
                definition,
                author=request.author,
                message=MESSAGE,
                env=request.env,
                progress=request.budget.progress,
            )
        if not retired:
            return None
        verb = self._verb("left the table", "would leave the table")
        text = f"{retired} {verb}: older than {definition.retention.valid_for}"
        numbers = {
            "packfiles": retired.packfiles,
            "packfiles_rewritten": retired.rewritten,
            "rows": retired.rows,
        }
        return Action(self.name, "retention", text, self._newest(), numbers)

    def _has_runs(self, handle: TableHandle) -> bool:
        if handle.is_dropped:
            return False
        version = handle.reader.version
        if version == self._version:
            return False
        layout = layout_of(self.root, self.keys)
        runs = runs_of(tuple(handle.descriptors()), layout, self.request.env)
        if not runs:
            self._version = version
            return False
        room = self.request.budget.room_bytes(self.root, is_sorted=bool(layout.by))
        needed = min(map(run_bytes, runs))
        if room is not None and needed > room:
            free = sizes.human(room + self.request.budget.min_free_bytes)
            text = f"{sizes.human(needed)} of packfiles wait to be merged, but {free} are free"
            self._note("room", f"{text}, and {_free_text(self.request.budget)} stay free")
            return False
        self._noted.pop("room", None)
        return True

    def _compact(self, handle: TableHandle, _: Rules, lock: UpkeepLock) -> Action | None:
        """Merge packfiles, the smallest first, in commits of a GiB each."""
        request, parts, made, size, version = self.request, 0, 0, 0, None
        layout = layout_of(self.root, self.keys)
        while lock.is_held or parts == 0:
            room = request.budget.room_bytes(self.root, is_sorted=bool(layout.by))
            compacted = compact_table(
                self.root,
                self.keys.database,
                self.keys.table,
                dry_run=request.is_dry,
                author=request.author,
                message=MESSAGE,
                env=request.env,
                most_bytes=self._step_bytes(handle, layout, room),
                merge=request.merge,
                progress=request.budget.progress,
            )
            parts += sum(len(run.parts) for run in compacted.runs)
            made += len(compacted.runs)
            size += sum(run.input_bytes for run in compacted.runs)
            version = compacted.version or version
            if request.is_dry or compacted.version is None:
                break
            request.budget.pace()
            handle = find_table(self.root, self.keys.database, self.keys.table) or handle
        if not made:
            return None
        verb = self._verb("became", "would become")
        text = f"{_counted(parts, 'packfile')}, {sizes.human(size)}, {verb} {made:,}"
        numbers = {"packfiles": parts, "bytes": size, "packfiles_made": made}
        return Action(self.name, "compact", text, version, numbers)

    def _step_bytes(self, handle: TableHandle, layout: RowLayout, room: int | None) -> int:
        """Return how much is merged at once: a GiB, or the smallest run, as far as it has room."""
        runs = runs_of(tuple(handle.descriptors()), layout, self.request.env)
        least = min(map(run_bytes, runs), default=0)
        most = max(least, _STEP_BYTES)
        return most if room is None else min(most, room)

    def _has_expirable(self, handle: TableHandle, rules: Rules) -> bool:
        request = self.request
        number = 0 if handle.state is None else handle.state.version
        now = request.env.elapsed()
        if not request.is_once:
            is_new = number - self._looked_version >= EXPIRY_BATCH
            if not is_new and now - self._looked_at < _EXPIRY_SECONDS and self._looked_version:
                return False
        self._looked_at, self._looked_version = now, number
        expired = self._expiry(rules, dry_run=True)
        count = len(expired.dropped)
        if not count:
            self._expirable_at = None
            return False
        if self._expirable_at is None:
            self._expirable_at = now
        is_late = now - self._expirable_at >= _EXPIRY_SECONDS
        batch = max(EXPIRY_BATCH, expired.kept_count // _EXPIRY_SHARE)
        return request.is_once or count >= batch or is_late

    def _expiry(self, rules: Rules, *, dry_run: bool) -> Expired:
        request = self.request
        names = self.keys.database, self.keys.table
        return expire(
            self.root,
            *names,
            rules.expiry,
            dry_run=dry_run,
            author=request.author,
            message=MESSAGE,
            env=request.env,
        )

    def _expire(self, _: TableHandle, rules: Rules, __: UpkeepLock) -> Action | None:
        expired = self._expiry(rules, dry_run=self.request.is_dry)
        self._expirable_at = None
        if not expired.dropped:
            return None
        count, thinned = len(expired.dropped), len(expired.thinned)
        text = f"{_counted(count, 'version')} {self._verb('expired', 'would expire')}"
        text += f", {thinned:,} of them thinned out" if thinned else ""
        numbers = {"versions": count, "thinned": thinned, "versions_left": expired.kept_count}
        return Action(self.name, "expire", text, expired.version, numbers)

    def _grace_seconds(self, rules: Rules) -> float:
        grace = self.request.grace_seconds
        return rules.upkeep.grace_seconds if grace is None else grace

    def _is_collection_due(self, rules: Rules) -> bool:
        if self.request.is_once:
            return True
        if not self._collected_us:
            seen = read_lock(self.root, self.keys)
            self._collected_us = 0 if seen is None else seen[0].collected_us
        pause = min(self._grace_seconds(rules) / 4, _MOST_COLLECTION_SECONDS)
        pause = max(pause, self.request.interval_seconds)
        now_us = self.request.env.now_us()
        return abs(now_us - self._collected_us) >= pause * instants.SECOND_US

    def _collect(self, _: TableHandle, rules: Rules, lock: UpkeepLock) -> Action | None:
        request = self.request
        collected = collect(
            self.root,
            self.keys,
            grace_seconds=self._grace_seconds(rules),
            dry_run=request.is_dry,
            author=request.author,
            message=MESSAGE,
            env=request.env,
            progress=request.budget.progress,
        )
        self._collected_us = request.env.now_us()
        lock.collected()
        if not collected.garbage:
            return None
        count = len(collected.garbage)
        verb = self._verb("deleted", "would delete")
        text = f"{verb} {_counted(count, 'object')}, {sizes.human(collected.size_bytes)}"
        numbers = {"objects": count, "bytes": collected.size_bytes}
        return Action(self.name, "collect", text, collected.version, numbers)

    def _newest(self) -> int | None:
        """Return the number of the newest version, which a step has just made."""
        if self.request.is_dry:
            return None
        handle = find_table(self.root, self.keys.database, self.keys.table)
        return None if handle is None or handle.state is None else handle.state.version

    def _verb(self, done: str, foreseen: str) -> str:
        return foreseen if self.request.is_dry else done


def _nothing() -> None:
    """Renew no lock."""


def _counted(count: int, noun: str) -> str:
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def _free_text(budget: Budget) -> str:
    return sizes.human(budget.min_free_bytes)
