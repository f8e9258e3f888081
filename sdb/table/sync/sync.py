"""Syncing: the inputs that patterns find come into the table, each one once.

What is new is packed before the commit, so that others can go on meanwhile. An input that cannot be
read is recorded as failed, and the others are taken.
"""

from __future__ import annotations

from fnmatch import fnmatchcase
from itertools import chain

from sdb import notes
from sdb.errors import ConflictError, UsageError
from sdb.progress import silent
from sdb.records import replace
from sdb.table.catalog.handle import find_table
from sdb.table.commit.change import (
    FAILED,
    ChangedInput,
    TableChange,
    own_keys,
    packfiles_between,
)
from sdb.table.commit.commit import check_branch, check_writable, commit
from sdb.table.definition.cache import read_definition
from sdb.table.format.inputtree import InputsTree
from sdb.table.format.keys import TableKeys, own_key
from sdb.table.format.versionref import MAIN
from sdb.table.inputs.places import OutsideError
from sdb.table.sync.inputrows import RemovedRows, find_inputs, remove_rows
from sdb.table.sync.newinputs import SyncPlan, check_unchanged, foreseen, rejected_of, renamed_of
from sdb.table.sync.packing import local_packing
from sdb.table.sync.plan import plan_sync
from sdb.table.sync.result import Synced
from sdb.table.sync.retention import retire
from sdb.table.sync.unchanged import SettledListing

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import Any

    from sdb.table.catalog.handle import TableHandle
    from sdb.table.catalog.root import TableRoot
    from sdb.table.definition.definition import Definition
    from sdb.table.format.descriptor import Descriptor
    from sdb.table.format.index import TableIndex
    from sdb.table.sync.newinputs import NewInput
    from sdb.table.sync.packing import InputPacking, PackedInputs

CHANGED = ("keep", "replace", "fail")
VANISHED = ("keep", "delete")
_GONE = "it vanished, and its rows were deleted"
_REPLANS = 5
_ATTEMPTS = 20


def tables_to_sync(root: TableRoot, database: str, pattern: str = "*") -> list[str]:
    """Give the tables of a database that have a definition, and whose name fits a pattern."""
    fitting = [one for one in root.folders(database) if fnmatchcase(one, pattern)]
    return [one for one in fitting if root.has(TableKeys(database, one).definition)]


def sync_table(  # noqa: PLR0913 - the command's options, by name
    root: TableRoot,
    database: str,
    table: str,
    *,
    dry_run: bool = False,
    retry: bool = False,
    changed: str = "keep",
    vanished: str = "keep",
    branch: str = MAIN,
    author: str = "",
    packing: InputPacking | None = None,
    progress: Callable[[int, int | None], None] = silent,
    **options: Any,  # noqa: ANN401 - those of packing
) -> Synced:
    """Take the inputs that are new, in one version.

    What the retention policy of the table does not keep goes out of it before that, in another.

    Parameters
    ----------
    root : TableRoot
        The root that the table is below.
    database, table : str
        Its names.
    dry_run : bool
        Whether only to tell what would be done.
    retry : bool
        Whether inputs that failed are tried again although they have not changed.
    changed : {"keep", "replace", "fail"}
        Whether rows of inputs that have another content now stay, make room for the new ones, or
        are an error.
    vanished : {"keep", "delete"}
        Whether rows of inputs that are gone stay.
    branch : str
        The branch that gets the rows.
    author : str
        Who syncs; the version tells it.
    packing : InputPacking, optional
        Who packs; this program if not given.
    progress : Progress
        Told how many bytes were read, if this program packs.
    options
        Others of :func:`sdb.pack`, if this program packs.

    Returns
    -------
    Synced
        What it came to.

    Raises
    ------
    NotFoundError
        The table has no definition.
    OutsideError
        A pattern of it leads out of the root; see :mod:`sdb.table.inputs.places`.
    ConflictError
        An input has changed, and `changed` is ``fail``; or others were faster all the time.
    UncertainError
        It is not known whether the inputs were taken; another sync finds out.
    """
    if changed not in CHANGED:
        raise UsageError(f"unknown choice {changed!r}", expected=" or ".join(CHANGED))
    if vanished not in VANISHED:
        raise UsageError(f"unknown choice {vanished!r}", expected=" or ".join(VANISHED))
    keys = TableKeys(database, table)
    if not dry_run:
        check_writable(root)
    definition = read_definition(root, keys)
    check_branch(root, keys, branch)
    packing = packing or local_packing(root, keys, definition, progress, options)
    retired = 0 if dry_run else retire(root, keys, definition, branch=branch, author=author)
    for _ in range(_REPLANS):
        handle = find_table(root, database, table, branch=branch)
        try:
            plan = _planned(root, definition, handle, retry=retry)
        except (OutsideError, UsageError) as error:
            raise error.within(f"{database}.{table}") from None
        if changed == "fail":
            check_unchanged(keys, plan.changed)
        newer = plan.newer if changed == "replace" else ()
        gone = plan.vanished if vanished == "delete" else ()
        gone += tuple(one.same_as for one in newer if one.same_as)
        sync = _Sync(root, keys, definition, packing)
        sync.branch, sync.author = branch, author
        if handle is not None and (newer or gone):
            plan, newer, gone = sync.look(handle, plan, newer, gone)
        if dry_run or not (plan.new or newer or gone):
            return replace(foreseen(keys, plan, newer, gone), retired=retired)
        try:
            return replace(sync.run(plan, newer, gone), retired=retired)
        except _MovedError:
            continue  # someone has merged or replaced packfiles meanwhile
    raise _moved(keys)


def _moved(keys: TableKeys) -> ConflictError:
    message = f"{keys.database}.{keys.table}: others have replaced the same packfiles all the time"
    return ConflictError(message, hint="run it again")


def _planned(
    root: TableRoot, definition: Definition, handle: TableHandle | None, *, retry: bool
) -> SyncPlan:
    if handle is None:
        return plan_sync(root, definition, {}, retry=retry)
    listing = SettledListing(root, definition, handle, retry=retry)
    if listing.is_known():
        return SyncPlan((), (), (), passed=tuple(listing.passed()))
    known = {one.path: one for one in handle.inputs.walk()}
    written_us = handle.index.created_us
    plan = plan_sync(root, definition, known, retry=retry, lister=listing, written_us=written_us)
    if plan.is_nothing:
        listing.settle()
    return plan


def take(
    root: TableRoot,
    keys: TableKeys,
    definition: Definition,
    plan: SyncPlan,
    *,
    changed: str = "keep",
    branch: str = MAIN,
    author: str = "",
    **options: Any,  # noqa: ANN401 - those of packing
) -> Synced:
    """Take the inputs of a plan that has only some of them, in one version; see `sync_table`."""
    packing = local_packing(root, keys, definition, silent, options)
    sync = _Sync(root, keys, definition, packing, is_whole=False)
    sync.branch, sync.author = branch, author
    for _ in range(_REPLANS):
        newer: tuple[NewInput, ...] = ()
        gone: tuple[str, ...] = ()
        is_wanted = changed == "replace" and plan.newer
        handle = find_table(root, keys.database, keys.table, branch=branch) if is_wanted else None
        if handle is not None:
            newer = _still_newer(handle, plan.newer)
            gone = tuple(one.same_as for one in newer if one.same_as)
            _, newer, gone = sync.look(handle, plan, newer, gone)
        try:
            return sync.run(plan, newer, gone)
        except _MovedError:
            continue
    raise _moved(keys)


def _still_newer(handle: TableHandle, newer: Iterable[NewInput]) -> tuple[NewInput, ...]:
    """Return those inputs whose rows in the table are those of the content that they replace."""
    known = [(one, handle.inputs.lookup(one.uri)) for one in newer]
    return tuple(one for one, before in known if before and before.etag == one.replaces)


class _OvertakenError(Exception):
    """Others have taken some of the inputs meanwhile."""

    def __init__(self, uris: Iterable[str]) -> None:
        self.uris = frozenset(uris)


class _MovedError(Exception):
    """Rows that were to go are not where they were, or not those of the same content."""


class _Sync:
    """Takes the inputs of a plan."""

    def __init__(
        self,
        root: TableRoot,
        keys: TableKeys,
        definition: Definition,
        packing: InputPacking,
        *,
        is_whole: bool = True,
    ) -> None:
        self._root = root
        self._keys = keys
        self._definition = definition
        self._packing = packing
        self._is_whole = is_whole
        self._packed: dict[tuple[str, ...], PackedInputs] = {}
        self.branch, self.author = MAIN, ""
        self._handle: TableHandle | None = None
        self._gone: tuple[str, ...] = ()
        self._removed = RemovedRows()
        self._removed_of: frozenset[str] = frozenset()

    def look(
        self,
        handle: TableHandle,
        plan: SyncPlan,
        newer: tuple[NewInput, ...],
        gone: tuple[str, ...],
    ) -> tuple[SyncPlan, tuple[NewInput, ...], tuple[str, ...]]:
        """Leave out inputs of which it cannot be told which rows are theirs."""
        self._handle = handle
        for one in newer:
            if one.kept_for:
                notes.warn(f"{one.uri}: its rows are those of {one.kept_for}, too: they stay")
        newer = tuple(one for one in newer if not one.kept_for)
        wanted = {*gone, *(one.uri for one in newer)}
        unknown = find_inputs(handle, wanted).unknown
        if unknown:
            more = f" and {len(unknown) - 1:,} more" if len(unknown) > 1 else ""
            notes.warn(
                f"{min(unknown)}{more}: packfiles do not tell which rows came from it: they stay"
            )
        stays = {one.same_as for one in newer if not unknown.isdisjoint((one.uri, one.same_as))}
        stays |= unknown
        newer = tuple(one for one in newer if stays.isdisjoint((one.uri, one.same_as or one.uri)))
        return plan, newer, tuple(uri for uri in gone if uri not in stays)

    def run(
        self, plan: SyncPlan, newer: Sequence[NewInput] = (), gone: tuple[str, ...] = ()
    ) -> Synced:
        """Pack and commit; without what others take meanwhile."""
        new: Sequence[NewInput] = [*plan.new, *newer]
        for _ in range(_ATTEMPTS):
            packed = self._pack([one for one in new if not one.flaw])
            flawed = [one for one in new if one.flaw]
            flawed += chain.from_iterable(one.failed for one in packed)
            kept = {one.same_as for one in flawed}  # what cannot be read keeps its old rows
            self._gone = tuple(uri for uri in gone if uri not in kept)
            groups = [one for one in packed if one.inputs]
            new = [*chain.from_iterable(one.inputs for one in groups), *flawed]
            self._remove([one.uri for one in new if one.replaces and not one.flaw])
            change = self._change(groups, flawed)
            if change.is_nothing:
                return self._told(plan, groups, flawed, None)
            try:
                version = self._commit(change, new)
            except _OvertakenError as error:
                new = [one for one in new if one.uri not in error.uris]
                continue
            return self._told(plan, groups, flawed, version)
        message = f"{self._keys.folder}: others have taken the same inputs all the time"
        raise ConflictError(message, hint="run it again")

    def _pack(self, new: Sequence[NewInput]) -> list[PackedInputs]:
        """Pack inputs, but for groups that an earlier attempt has packed."""
        groups = [tuple(group) for group in self._packing.groups(new)]
        fresh = iter(self._packing.pack([one for one in groups if _key(one) not in self._packed]))
        found = [self._packed.get(_key(group)) or next(fresh) for group in groups]
        self._packed |= {_key(one.inputs): replace(one, failed=()) for one in found}
        return found

    def _remove(self, replaced: Sequence[str]) -> None:
        """Write packfiles without the rows of inputs that are replaced or gone."""
        wanted = frozenset((*replaced, *self._gone))
        if self._handle is not None and wanted != self._removed_of:
            self._removed = remove_rows(self._handle, find_inputs(self._handle, wanted))
            self._removed_of = wanted

    def _check_removed(self, index: TableIndex, tree: InputsTree, new: Sequence[NewInput]) -> None:
        """Insist on packfiles and inputs that are as they were when rows were taken out."""
        for one in new:
            before = tree.lookup(one.uri) if one.replaces else None
            if one.replaces and (before is None or before.etag != one.replaces):
                raise _MovedError
            other = tree.lookup(one.same_as) if one.same_as else None
            if one.same_as and (other is None or other.etag != (one.replaces or one.etag)):
                raise _MovedError
        if any(tree.lookup(uri) is None for uri in self._gone):
            raise _MovedError
        if self._removed.removed:
            there, _ = packfiles_between(None, index, self._root.fetch)
            if not set(map(own_key, self._removed.removed)) <= own_keys(there):
                raise _MovedError

    def _commit(self, change: TableChange, new: Sequence[NewInput]) -> int | None:
        def planned(index: TableIndex) -> TableChange:
            tree = InputsTree(index.inputs, self._root.fetch)
            self._check_removed(index, tree, new)
            overtaken = []
            for one in new:
                if one.replaces:
                    continue
                before = tree.lookup(one.uri)
                if before is None or (before.is_failed and before.etag != one.etag):
                    continue
                if not (one.is_forced and before.is_failed):
                    overtaken.append(one.uri)
            if overtaken:
                raise _OvertakenError(overtaken)
            return change

        return commit(self._root, self._keys, planned, branch=self.branch).version

    def _change(self, groups: list[PackedInputs], flawed: list[NewInput]) -> TableChange:
        added: list[Descriptor] = []
        inputs: list[ChangedInput] = []
        for group in groups:
            inputs += [
                ChangedInput(one.uri, one.etag, len(added), is_forced=one.is_forced)
                for one in group.inputs
            ]
            added += [] if group.descriptor is None else [group.descriptor]
        # What failed before and fails again is known already.
        inputs += [
            ChangedInput(one.uri, one.etag, FAILED, reason=one.flaw)
            for one in flawed
            if not one.is_forced
        ]
        inputs += [
            ChangedInput(uri, "", FAILED, is_forced=True, reason=_GONE) for uri in self._gone
        ]
        digest = self._definition.digest() if self._is_whole else None
        return TableChange(
            "sync",
            (*added, *self._removed.added),
            self._removed.removed,
            tuple(inputs),
            definition=digest,
            author=self.author,
        )

    def _told(
        self,
        plan: SyncPlan,
        groups: list[PackedInputs],
        flawed: list[NewInput],
        version: int | None,
    ) -> Synced:
        taken = [*chain.from_iterable(one.inputs for one in groups)]
        replaced = [one.uri for one in taken if one.replaces]
        return Synced(
            self._keys.database,
            self._keys.table,
            version,
            tuple(one.uri for one in taken),
            sum(one.rows for one in groups),
            sum(one.text_bytes for one in groups),
            rejected_of(flawed),
            tuple(uri for uri in plan.changed if uri not in replaced),
            tuple(uri for uri in plan.vanished if uri not in self._gone),
            tuple(replaced),
            self._gone,
            self._removed.rows,
            passed=plan.passed,
            renamed=renamed_of(flawed),
        )


def _key(group: Sequence[NewInput]) -> tuple[str, ...]:
    return tuple(f"{one.etag} {one.uri}" for one in group)
