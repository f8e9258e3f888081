"""The collector: deletes what nothing leads to, once nobody can be using it any more.

1. It lists the objects. What is older than the boundary, a grace time ago, is a candidate.
2. It commits a version with that boundary. Whoever commits after that looks whether what it adds is
   older, and copies it if so (:mod:`sdb.table.commit.gcbarrier`).
3. It deletes the candidates that this version does not need, and none of what could be read since
   the boundary (:mod:`sdb.table.maintenance.reachable`).

An object that appears after the first step is no candidate, whatever the clocks say; one that was
there before, and that a slow writer adds after the second, is noticed by that writer.
"""

from __future__ import annotations

from sdb import notes
from sdb.errors import AccessError, CorruptError, UnsupportedError
from sdb.progress import silent
from sdb.table.catalog.handle import find_table
from sdb.table.catalog.lookup import UnknownReferenceError
from sdb.table.commit.change import COLLECT, TableChange
from sdb.table.commit.commit import check_writable, commit
from sdb.table.commit.environment import REAL
from sdb.table.commit.gcbarrier import MARGIN_US
from sdb.table.commit.objects import look, store_now_us
from sdb.table.commit.parents import read_version
from sdb.table.format.index import TableIndex
from sdb.table.format.keys import TableKeys, flaw_of_ref
from sdb.table.format.versionref import MAIN
from sdb.table.maintenance.collected import KINDS, Collected, Garbage, held_of, kind_of
from sdb.table.maintenance.intents import old_intents
from sdb.table.maintenance.reachable import Reach

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from sdb.progress import Progress
    from sdb.store.base import Entry
    from sdb.table.catalog.handle import TableHandle
    from sdb.table.catalog.root import TableRoot
    from sdb.table.commit.environment import Surroundings
    from sdb.table.commit.parents import ReadVersion

GRACE_SECONDS = 86_400
_SECOND_US = 1_000_000
LEASE_SECONDS = 2_400.0
"""A lease that was not renewed for so long is over, where no grace time says otherwise."""

DELETERS = 16
"""So many objects of a remote store are deleted at once."""


def collect(  # noqa: PLR0913 - the command's options, by name
    root: TableRoot,
    database: str,
    table: str,
    *,
    grace_seconds: float = GRACE_SECONDS,
    dry_run: bool = False,
    author: str = "",
    message: str = "",
    around: Surroundings = REAL,
    progress: Progress = silent,
) -> Collected:
    """Delete the objects of a table that no version needs.

    Kept are: the newest version and those of its history, tagged ones and other branches, all that
    could be read within the grace time or is read under a lease, and what was written within it.

    Parameters
    ----------
    root : TableRoot
        The root that the table is below.
    database, table : str
        Its names.
    grace_seconds : float
        How long readers may go on reading what has expired or was replaced.
    dry_run : bool
        Whether only to tell what would be deleted.
    author, message : str
        Who does it, and why; the version tells it.
    around : Surroundings
        The clock and the dice.
    progress : Progress
        Told how many objects were deleted.

    Returns
    -------
    Collected
        What was deleted. The commit makes a version of its own, if there is anything.

    Raises
    ------
    NotFoundError
        There is no such table.
    CorruptError, UnsupportedError
        An object that the table leads to is missing or damaged, or of a later format: nobody knows
        what it leads to, so that nothing is deleted.
    ConflictError, UncertainError
        See :func:`sdb.table.commit.commit.commit`; nothing is deleted.
    """
    keys = TableKeys(database, table)
    if not dry_run:
        check_writable(root)
    collector = _Collector(root, keys, around, (author, message))
    return collector.run(grace_seconds, progress, dry_run=dry_run)


def collect_at_once(
    root: TableRoot,
    keys: TableKeys,
    only: Collection[str],
    *,
    author: str = "",
    message: str = "",
    around: Surroundings = REAL,
    progress: Progress = silent,
) -> Collected:
    """Delete some objects of a table without a grace period, as far as nothing leads to them.

    The boundary moves, so that whoever writes meanwhile finds out. What somebody reads under a
    lease stays.

    Parameters
    ----------
    root : TableRoot
        The root that the table is below.
    keys : TableKeys
        Its names.
    only : collection of str
        The keys of the objects.
    author, message, around, progress
        See :func:`collect`.

    Returns
    -------
    Collected
        What was deleted, and what keeps the others.

    Raises
    ------
    NotFoundError, CorruptError, UnsupportedError, ConflictError, UncertainError
        See :func:`collect`.
    """
    check_writable(root)
    collector = _Collector(root, keys, around, (author, message))
    return collector.run(0, progress, dry_run=False, only=only)


class _Collector:
    """Collects once."""

    def __init__(
        self,
        root: TableRoot,
        keys: TableKeys,
        around: Surroundings,
        told: tuple[str, str],
    ) -> None:
        self._author, self._message = told
        self._root = root
        self._keys = keys
        self._around = around

    def run(
        self,
        grace_seconds: float,
        progress: Progress,
        *,
        dry_run: bool,
        only: Collection[str] | None = None,
    ) -> Collected:
        listed = list(self._root.store.below(self._root.place(self._keys.folder)))
        heads = self._heads(listed)
        now_us = self._around.now_us()
        if not dry_run:  # a clock that is ahead would take what is being read for what nobody needs
            now_us = min(now_us, store_now_us(self._root, self._keys, self._around))
        before_us = max([one.state.boundary_us for one in heads.values() if one.state], default=0)
        boundary_us = max(now_us - int(grace_seconds * _SECOND_US), before_us + 1)
        leased_us = now_us - int(grace_seconds * _SECOND_US)
        known = self._known(listed)
        current_us = {branch: self._current_us(branch, head) for branch, head in heads.items()}
        if only is not None:
            known = [one for one in known if one.key in only]
            heads_us = [one or 0 for one in current_us.values()]
            boundary_us = max(boundary_us, *heads_us, *(one.modified_us for one in known))
            leased_us = now_us - int(LEASE_SECONDS * _SECOND_US)
        old = [one for one in known if one.modified_us <= boundary_us]
        leases = self._leases(listed, leased_us)
        times = self._times(listed)
        reach = Reach(self._root, self._keys, boundary_us, times)
        for branch, head in heads.items():
            reach.branch(branch, head, current_us[branch])
        reach.leases(leases)
        reach.lately()
        garbage = [one for one in old if one.key not in reach.found]
        uploads = self._uploads(boundary_us) if only is None else []
        if not dry_run and only is None:
            self._let_go(heads.values(), reach.found)
        swept = self._intents(boundary_us, dry_run=dry_run) if only is None else []
        version = None
        if garbage and not dry_run:
            made = {
                branch: self._marked(branch, head, boundary_us, current_us[branch])
                for branch, head in heads.items()
            }
            main = made[MAIN]
            if main is None:
                raise self._root.absent(self._keys)
            reach = Reach(self._root, self._keys, boundary_us, times)
            self._add_marked(reach, heads, made, leases)
            garbage = [one for one in old if one.key not in reach.found]
            version = main.state.version
        garbage += swept
        if not dry_run:
            self._delete(garbage, progress)
            for upload in uploads:
                self._root.store.give_up(upload)
        gone = {one.key for one in garbage}
        kept = [one for one in known if one.key not in gone]
        held = held_of(kept, reach.found, now_us, int(grace_seconds * _SECOND_US))
        everything = (*garbage, *map(self._garbage, uploads))
        return Collected(version, boundary_us, everything, len(listed), reach.versions, held)

    def _add_marked(
        self,
        reach: Reach,
        heads: dict[str, TableHandle],
        made: dict[str, ReadVersion | None],
        leases: dict[str, TableIndex],
    ) -> None:
        """Add what is needed by the versions that have the boundary.

        And not by the index: others may have overwritten it since.
        """
        for branch, one in made.items():
            reach.branch(branch, one or heads[branch])
        main = made[MAIN]
        for branch in main.state.branches if main else ():  # those that were begun since
            found = None if made.get(branch) else self._open(branch)
            if found is not None:
                reach.branch(branch, found)
        reach.leases(leases)
        reach.lately()

    def _times(self, listed: Iterable[Entry]) -> dict[str, int]:
        """Give when versions appeared, by their keys."""
        start = self._root.key_start(self._keys.folder)
        found = ((one.location[start:], one.modified_us) for one in listed)
        return {key: us for key, us in found if self._keys.version_of(key) is not None}

    def _uploads(self, boundary_us: int) -> list[Entry]:
        """Give the uploads that writers have left who died, or are as good as dead."""
        try:
            found = self._root.store.uploads(self._root.place(self._keys.folder))
        except (AccessError, UnsupportedError) as error:
            notes.warn(f"open uploads of {self._keys.folder} stay: {error.message}")
            return []
        return [one for one in found if one.modified_us <= boundary_us and self._garbage(one).kind]

    def _garbage(self, upload: Entry) -> Garbage:
        start = self._root.key_start(self._keys.folder)
        key = upload.location[start:]
        kind = "upload" if kind_of(self._keys, key) else ""
        return Garbage(key, kind, upload.size_bytes, upload.modified_us)

    def _let_go(self, heads: Iterable[TableHandle], needed: Iterable[str]) -> None:
        """Let other tables collect what this one has shared with them and needs no more."""
        shares = {
            table: name for one in heads if one.state for table, name in one.state.shares.items()
        }
        if shares:
            from sdb.table.history.sharing import let_go

            let_go(self._root, self._keys, shares, needed, self._around)

    def _intents(self, boundary_us: int, *, dry_run: bool) -> list[Garbage]:
        """Give the intents of transactions that can be deleted."""
        found = old_intents(self._root, self._keys.database, boundary_us, dry_run=dry_run)
        return [Garbage(one.key, "transaction", one.size_bytes, one.modified_us) for one in found]

    def _heads(self, listed: Iterable[Entry]) -> dict[str, TableHandle]:
        """Open the newest version of each branch, of main first."""
        above = self._root.place(f"{self._keys.folder}/branches/")
        names_of = [
            one.location[len(above) :].removesuffix("/index")
            for one in listed
            if one.location.startswith(above) and one.name == "index"
        ]
        # What no branch can be named is none.
        names_of = [one for one in names_of if not flaw_of_ref(one)]
        heads: dict[str, TableHandle] = {}
        for branch in (MAIN, *sorted(names_of)):
            head = self._open(branch)
            if head is not None:
                heads[branch] = head
            elif branch == MAIN:
                raise self._root.absent(self._keys)
        return heads

    def _open(self, branch: str) -> TableHandle | None:
        return find_table(self._root, self._keys.database, self._keys.table, branch=branch)

    def _leases(self, listed: Iterable[Entry], since_us: int) -> dict[str, TableIndex]:
        """Read the leases that were renewed within the grace time.

        Whoever reads what was replaced longer ago than that has written one before it was listed.
        """
        found = {}
        start = self._root.key_start(self._keys.folder)
        for entry in listed:
            key = entry.location[start:]
            if not self._keys.is_lease(key) or entry.modified_us <= since_us:
                continue
            data = look(self._root, key)
            if data is not None:  # else the reader was done meanwhile
                try:
                    found[key] = TableIndex.decode(data[0], self._root.keyring)
                except (CorruptError, UnsupportedError) as error:
                    raise error.within(f"reading the lease {key}", path=key) from None
        return found

    def _marked(
        self, branch: str, head: TableHandle, boundary_us: int, current_us: int | None
    ) -> ReadVersion | None:
        """Commit the boundary to a branch, and give the version that has it.

        None: someone has taken the branch away meanwhile.
        """

        def plan(index: TableIndex) -> TableChange:
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
            done = commit(self._root, self._keys, plan, around=self._around, branch=branch)
        except UnknownReferenceError:
            return None
        key = self._keys.version(done.version, done.commit)
        data = look(self._root, key)
        if data is None:
            raise CorruptError(f"{key} is missing", path=key)
        return read_version(key, data[0], self._root.keyring)

    def _current_us(self, branch: str, head: TableHandle) -> int | None:
        """Tell when an index became the newest; None: it is not the newest any more."""
        found = self._root.store.look(self._root.place(self._keys.branch(branch)))
        if found is None or found.version != head.reader.version:
            return None
        return found.modified_us + MARGIN_US

    def _known(self, listed: Iterable[Entry]) -> list[Garbage]:
        """Give the objects that may be deleted, in the order in which they are."""
        found = []
        start = self._root.key_start(self._keys.folder)
        for entry in listed:
            key = entry.location[start:]
            kind = kind_of(self._keys, key)
            if kind:
                found.append(Garbage(key, kind, entry.size_bytes, entry.modified_us))
        return sorted(found, key=lambda one: (KINDS.index(one.kind), one.key))

    def _delete(self, garbage: list[Garbage], progress: Progress) -> None:
        """Delete objects; versions go before what they lead to."""
        store, place = self._root.store, self._root.place
        if DELETERS == 1 or not store.is_remote:
            for number, one in enumerate(garbage, 1):
                store.delete(place(one.key))
                progress(number, len(garbage))
            return
        from concurrent.futures import ThreadPoolExecutor

        done = 0
        with ThreadPoolExecutor(DELETERS) as pool:
            for kind in KINDS:
                keys = [place(one.key) for one in garbage if one.kind == kind]
                for _ in pool.map(store.delete, keys):
                    done += 1
                    progress(done, len(garbage))
