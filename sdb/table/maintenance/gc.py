"""Garbage collection: unreachable objects are deleted once no reader can need them.

1. It lists the objects. What is older than the boundary, a grace time ago, is a candidate.
2. It commits a version with that boundary. A commit after that checks whether a packfile that it
   adds is older, and copies it if so (:mod:`sdb.table.commit.gcbarrier`).
3. It deletes the candidates that this version does not need, and none of what could be read since
   the boundary (:mod:`sdb.table.maintenance.reachable`).

An object that appears after the first step is no candidate, whatever the clocks say; one that was
there before, and that a slow writer adds after the second, is noticed by that writer.
"""

from __future__ import annotations

from sdb import notes
from sdb.errors import AccessError, CorruptError, UnsupportedError
from sdb.log import Logger
from sdb.progress import silent
from sdb.table.catalog.handle import find_table
from sdb.table.commit.change import COLLECT, TableChange
from sdb.table.commit.commit import check_writable, commit, go_on
from sdb.table.commit.environment import REAL
from sdb.table.commit.gcbarrier import MARGIN_US
from sdb.table.commit.objects import look, store_now_us
from sdb.table.commit.parents import read_version
from sdb.table.commit.putback import was_put_back
from sdb.table.format.index import TableIndex
from sdb.table.format.versionref import MAIN, UnknownReferenceError
from sdb.table.maintenance.collected import KINDS, Collected, Garbage, held_of, kind_of
from sdb.table.maintenance.intents import old_intents
from sdb.table.maintenance.listing import branches_of, key_of, objects_of
from sdb.table.maintenance.reachable import Reach

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from sdb.progress import Progress
    from sdb.store.base import Entry
    from sdb.table.catalog.handle import TableHandle
    from sdb.table.catalog.root import TableRoot
    from sdb.table.commit.environment import Environment
    from sdb.table.commit.parents import ReadVersion
    from sdb.table.format.keys import TableKeys

_log = Logger("sdb.table.gc")
GRACE_SECONDS = 86_400
_SECOND_US = 1_000_000
_ATTEMPTS = 5


def collect(
    root: TableRoot,
    keys: TableKeys,
    *,
    grace_seconds: float = GRACE_SECONDS,
    dry_run: bool = False,
    author: str = "",
    message: str = "",
    env: Environment = REAL,
    progress: Progress = silent,
) -> Collected:
    """Delete the objects of a table that no version needs.

    Kept are: the newest version and those of its history, tagged ones and other branches, all that
    could be read within the grace time or is read under a lease, and what was written within it.

    * ``grace_seconds``: How long readers may go on reading what has expired or was replaced.
    * ``author, message``: Recorded in the version.

    Returns: What was deleted. The commit makes a separate version, if there is anything.
    Raises `NotFoundError` if there is no such table; `CorruptError` or `UnsupportedError` if an
    object that the table leads to is missing or damaged, or of a later format: what it leads to is
    not known, so that nothing is deleted; `ConflictError` or `UncertainError` as
    :func:`sdb.table.commit.commit.commit` does, where nothing is deleted.
    """
    if not dry_run:
        check_writable(root)
    for _ in range(_ATTEMPTS - 1):
        collector = _Collector(root, keys, env, (author, message))
        try:
            return collector.run(grace_seconds, progress, dry_run=dry_run)
        # A faster collector may just have deleted what this one still saw: it looks again, by that
        # boundary.
        except CorruptError as error:
            if not collector.is_overtaken():
                raise
            _log.info("%s: another collector was faster: %s", keys.folder, error.message)
    collector = _Collector(root, keys, env, (author, message))
    return collector.run(grace_seconds, progress, dry_run=dry_run)


def collect_at_once(
    root: TableRoot,
    keys: TableKeys,
    only: Collection[str],
    *,
    author: str = "",
    message: str = "",
    env: Environment = REAL,
    progress: Progress = silent,
) -> Collected:
    """Delete some objects of a table without a grace period, as far as nothing leads to them.

    The boundary moves, so that concurrent writers check their packfiles. What is read under a lease
    stays.

    * ``author, message, env, progress``: See :func:`collect`.

    Raises `NotFoundError`, `CorruptError`, `UnsupportedError`, `ConflictError` or `UncertainError`
    as :func:`collect` does.
    """
    check_writable(root)
    collector = _Collector(root, keys, env, (author, message))
    return collector.run(0, progress, dry_run=False, only=only)


class _Collector:
    """Collects once."""

    def __init__(
        self,
        root: TableRoot,
        keys: TableKeys,
        env: Environment,
        authorship: tuple[str, str],
    ) -> None:
        self._author, self._message = authorship
        self._root = root
        self._keys = keys
        self._env = env
        self._boundary_us = 0

    def is_overtaken(self) -> bool:
        """Return whether another collector has moved the boundary since, and deletes by that."""
        head = self._open(MAIN)
        state = None if head is None else head.state
        return state is not None and state.boundary_us > self._boundary_us

    def run(
        self,
        grace_seconds: float,
        progress: Progress,
        *,
        dry_run: bool,
        only: Collection[str] | None = None,
    ) -> Collected:
        grace_us = int(grace_seconds * _SECOND_US)
        # Listed before heads are read: what appears in between is in no list, and stays.
        listed = objects_of(self._root, self._keys)
        heads = self._heads(listed, dry_run=dry_run)
        now_us = self._env.now_us()
        if not dry_run:  # a clock that is ahead would take what is being read for garbage
            now_us = min(now_us, store_now_us(self._root, self._keys, self._env))
        before_us = max(
            [head.state.boundary_us for head in heads.values() if head.state], default=0
        )
        # Each boundary is later than the one before: by that writers see that a collection has
        # begun.
        boundary_us, leased_us = max(now_us - grace_us, before_us + 1), now_us - grace_us
        objects = self._deletable(listed)
        current_us = {branch: self._current_us(branch, head) for branch, head in heads.items()}
        if only is not None:
            objects = [item for item in objects if item.key in only]
            heads_us = [head_us or 0 for head_us in current_us.values()]
            # What is to go may be young: the boundary moves behind it, so that writers that add it
            # copy it.
            boundary_us = max(boundary_us, *heads_us, *(item.modified_us for item in objects))
            # Without a grace time a lease counts while its reader renews it.
            leased_us = now_us - int(self._env.limits.lease_seconds * _SECOND_US)
        self._boundary_us = boundary_us
        candidates = [item for item in objects if item.modified_us <= boundary_us]
        leases = self._leases(listed, leased_us)
        # This look only finds out whether there is garbage: without any, no version is made.
        reach = self._reach(listed)
        for branch, head in heads.items():
            reach.add_branch(branch, head, current_us[branch])
        reach.add_leases(leases)
        reach.add_recent()
        garbage = [item for item in candidates if item.key not in reach.found]
        uploads = self._uploads(boundary_us) if only is None else []
        if not dry_run and only is None:
            self._release_holds(heads.values(), reach.found)
        intents = self._intents(boundary_us, dry_run=dry_run) if only is None else []
        version = None
        if garbage and not dry_run:
            versions = {
                branch: self._marked(branch, head, boundary_us, current_us[branch])
                for branch, head in heads.items()
            }
            main = versions[MAIN]
            if main is None:
                raise self._root.absent(self._keys)
            # Again from the versions that have the boundary: writers that committed since the first
            # look may have added a candidate; those that commit from now on copy it.
            reach = self._reach(listed)
            self._add_marked(reach, heads, versions, leases)
            garbage = [item for item in candidates if item.key not in reach.found]
            version = main.state.version
        garbage += intents
        if not dry_run:
            self._delete(garbage, progress)
            for upload in uploads:
                self._root.store.abort_upload(upload)
        self._log_decisions(garbage, uploads, boundary_us, len(listed), dry_run=dry_run)
        gone = {item.key for item in garbage}
        remaining = [item for item in objects if item.key not in gone]
        held = held_of(remaining, reach.found, now_us, grace_us)
        everything = (*garbage, *map(self._garbage, uploads))
        return Collected(version, boundary_us, everything, len(listed), reach.versions, held)

    def _reach(self, listed: Mapping[str, Entry]) -> Reach:
        """Return what collects the objects that are needed, as far back as the boundary."""
        ahead = self._env.limits.reads_ahead
        times = self._times(listed)
        return Reach(self._root, self._keys, self._boundary_us, times, reads_ahead=ahead)

    def _log_decisions(
        self,
        garbage: list[Garbage],
        uploads: list[Entry],
        boundary_us: int,
        listed: int,
        *,
        dry_run: bool,
    ) -> None:
        verb = "would delete" if dry_run else "deleted"
        values = self._keys.folder, verb, len(garbage), len(uploads), listed, boundary_us
        _log.info("%s: %s %d objects and %d uploads of %d objects, boundary %d us", *values)
        for entry in garbage:
            _log.debug("%s %s: %s", verb, entry.kind, entry.key)

    def _add_marked(
        self,
        reach: Reach,
        heads: dict[str, TableHandle],
        made: dict[str, ReadVersion | None],
        leases: dict[str, TableIndex],
    ) -> None:
        """Add what is needed by the versions that have the boundary.

        And not by the index: other writers may have overwritten it since.
        """
        for branch, version in made.items():
            reach.add_branch(branch, version or heads[branch])
        main = made[MAIN]
        for branch in main.state.branches if main else ():  # those that were begun since
            handle = None if made.get(branch) else self._open(branch)
            if handle is not None:
                reach.add_branch(branch, handle)
        reach.add_leases(leases)
        reach.add_recent()

    def _times(self, listed: Mapping[str, Entry]) -> dict[str, int]:
        """Return when versions appeared, by their keys."""
        return {
            key: entry.modified_us
            for key, entry in listed.items()
            if self._keys.version_of(key) is not None
        }

    def _uploads(self, boundary_us: int) -> list[Entry]:
        """Return the uploads of writers that died, or wrote nothing for the grace time."""
        try:
            uploads = self._root.store.uploads(self._root.place(self._keys.folder))
        except (AccessError, UnsupportedError) as error:
            notes.warn(f"open uploads of {self._keys.folder} stay: {error.message}")
            return []
        return [
            upload
            for upload in uploads
            if upload.modified_us <= boundary_us and self._garbage(upload).kind
        ]

    def _garbage(self, upload: Entry) -> Garbage:
        key = key_of(self._root, self._keys, upload)
        kind = "upload" if kind_of(self._keys, key) else ""
        return Garbage(key, kind, upload.size_bytes, upload.modified_us)

    def _release_holds(self, heads: Iterable[TableHandle], needed: Iterable[str]) -> None:
        """Release the pins of other tables' packfiles that this one needs no more."""
        shares = {
            table: name for head in heads if head.state for table, name in head.state.shares.items()
        }
        if shares:
            from sdb.table.history.sharing import release_holds

            release_holds(self._root, self._keys, shares, needed, self._env)

    def _intents(self, boundary_us: int, *, dry_run: bool) -> list[Garbage]:
        """Return the intents of transactions that can be deleted."""
        intents = old_intents(self._root, self._keys.database, boundary_us, dry_run=dry_run)
        return [
            Garbage(intent.key, "transaction", intent.size_bytes, intent.modified_us)
            for intent in intents
        ]

    def _heads(self, listed: Mapping[str, Entry], *, dry_run: bool) -> dict[str, TableHandle]:
        """Open the newest version of each branch, of main first."""
        heads: dict[str, TableHandle] = {}
        for branch in branches_of(self._root, self._keys, listed):
            head = self._open(branch)
            if head is not None:
                if not dry_run and was_put_back(head, branch) is not None:
                    # What an older index does not lead to is no garbage.
                    go_on(self._root, self._keys, branch=branch, env=self._env)
                    head = self._open(branch) or head
                heads[branch] = head
            elif branch == MAIN:
                raise self._root.absent(self._keys)
        return heads

    def _open(self, branch: str) -> TableHandle | None:
        return find_table(self._root, self._keys.database, self._keys.table, branch=branch)

    def _leases(self, listed: Mapping[str, Entry], since_us: int) -> dict[str, TableIndex]:
        """Read the leases that were renewed within the grace time.

        A reader of what was replaced longer ago than that wrote its lease before the listing.
        """
        leases = {}
        for key, entry in listed.items():
            if not self._keys.is_lease(key) or entry.modified_us <= since_us:
                continue
            data = look(self._root, key)
            if data is not None:  # else the reader is done
                try:
                    leases[key] = TableIndex.decode(data[0], self._root.keyring)
                except (CorruptError, UnsupportedError) as error:
                    raise error.within(f"reading the lease {key}", path=key) from None
        return leases

    def _marked(
        self, branch: str, head: TableHandle, boundary_us: int, current_us: int | None
    ) -> ReadVersion | None:
        """Commit the boundary to a branch, and give the version that has it.

        None: the branch was deleted since it was listed.
        """

        def plan(index: TableIndex) -> TableChange:
            # The time of the index object is gone once it is replaced: the version that does so
            # keeps it for the next collection.
            is_same = current_us is not None and index.user_data == head.index.user_data
            since_us = current_us if is_same else 0
            return TableChange(
                COLLECT,
                boundary_us=boundary_us,
                parent_since_us=since_us or 0,
                author=self._author,
                message=self._message,
            )

        try:
            done = commit(self._root, self._keys, plan, env=self._env, branch=branch)
        except UnknownReferenceError:
            return None
        key = self._keys.version(done.version, done.commit)
        data = look(self._root, key)
        if data is None:
            raise CorruptError(f"{key} is missing", path=key)
        return read_version(key, data[0], self._root.keyring)

    def _current_us(self, branch: str, head: TableHandle) -> int | None:
        """Report when an index became the newest; None: it is not the newest any more."""
        entry = self._root.store.head(self._root.place(self._keys.branch(branch)))
        if entry is None or entry.version != head.reader.version:
            return None
        return entry.modified_us + MARGIN_US

    def _deletable(self, listed: Mapping[str, Entry]) -> list[Garbage]:
        """Return the objects of a kind that is collected, in the order of deletion."""
        objects = []
        for key, entry in listed.items():
            kind = kind_of(self._keys, key)
            if kind:
                objects.append(Garbage(key, kind, entry.size_bytes, entry.modified_us))
        return sorted(objects, key=lambda item: (KINDS.index(item.kind), item.key))

    def _delete(self, garbage: list[Garbage], progress: Progress) -> None:
        """Delete objects; versions go before what they lead to."""
        store, location_of = self._root.store, self._root.place
        deleters = self._env.limits.deleters
        if deleters == 1 or not store.is_remote:
            for number, item in enumerate(garbage, 1):
                store.delete(location_of(item.key))
                progress(number, len(garbage))
            return
        from concurrent.futures import ThreadPoolExecutor

        done = 0
        with ThreadPoolExecutor(deleters) as pool:
            try:
                # Killed between two kinds, it leaves objects that nothing leads to, and no version
                # that lacks any.
                for kind in KINDS:
                    keys = [location_of(item.key) for item in garbage if item.kind == kind]
                    for _ in pool.map(store.delete, keys):
                        done += 1
                        progress(done, len(garbage))
            except BaseException:  # who was told to stop does not wait for the rest
                pool.shutdown(wait=False, cancel_futures=True)
                raise
