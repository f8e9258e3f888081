"""Syncing: the inputs that patterns find come into the table, each one once.

What is new is packed before the commit, so that others can go on meanwhile. An input that cannot be
read is recorded as failed, and the others are taken.
"""

from __future__ import annotations

import io
from fnmatch import fnmatchcase
from itertools import chain, groupby

from sdb import notes
from sdb.errors import (
    AccessError,
    ConflictError,
    CorruptError,
    InputError,
    NotFoundError,
    UnsupportedError,
    UsageError,
)
from sdb.packfile.inputs import recognise
from sdb.packfile.writer import pack
from sdb.progress import silent
from sdb.records import replace
from sdb.table import names
from sdb.table.commit import check_branch, check_writable, commit
from sdb.table.inputrows import RemovedRows, find_inputs, remove_rows
from sdb.table.inputstree import InputsTree
from sdb.table.references import MAIN
from sdb.table.retention import retire
from sdb.table.syncplan import plan_sync
from sdb.table.syncresult import RejectedInput, Synced
from sdb.table.tablechange import FAILED, ChangedInput, TableChange, packfiles_between
from sdb.table.tablehandle import find_table, read_definition
from sdb.table.tablepacking import pack_rows

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from typing import Any

    from sdb.packfile.inputs import Input
    from sdb.table.definition import Definition
    from sdb.table.descriptor import Descriptor
    from sdb.table.index import TableIndex
    from sdb.table.syncplan import NewInput, SyncPlan
    from sdb.table.tablehandle import TableHandle
    from sdb.table.tablepacking import PackedRows
    from sdb.table.tableroot import TableRoot

CHANGED = ("keep", "replace", "fail")
VANISHED = ("keep", "delete")
_CHANGES = "{}: changes while it is read; the next sync takes it"
_GONE = "it vanished, and its rows were deleted"
_REPLANS = 5
MOST_INPUTS = 10_000
"""So many inputs are in a packfile at most."""

_ATTEMPTS = 20
_FLAWS = (InputError, CorruptError, UnsupportedError)


def tables_to_sync(root: TableRoot, database: str, pattern: str = "*") -> list[str]:
    """Give the tables of a database that have a definition, and whose name fits a pattern."""
    fitting = [one for one in root.folders(database) if fnmatchcase(one, pattern)]
    return [one for one in fitting if root.has(names.TableKeys(database, one).definition)]


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
    progress : Progress
        Told how many bytes were read.
    options
        Others of :func:`sdb.pack`.

    Returns
    -------
    Synced
        What it came to.

    Raises
    ------
    NotFoundError
        The table has no definition.
    ConflictError
        An input has changed, and `changed` is ``fail``; or others were faster all the time.
    UncertainError
        It is not known whether the inputs were taken; another sync finds out.
    """
    if changed not in CHANGED:
        raise UsageError(f"unknown choice {changed!r}", expected=" or ".join(CHANGED))
    if vanished not in VANISHED:
        raise UsageError(f"unknown choice {vanished!r}", expected=" or ".join(VANISHED))
    keys = names.TableKeys(database, table)
    if not dry_run:
        check_writable(root)
    definition = read_definition(root, keys)
    check_branch(root, keys, branch)
    retired = 0 if dry_run else retire(root, keys, definition, branch=branch, author=author)
    for _ in range(_REPLANS):
        handle = find_table(root, database, table, branch=branch)
        known = {} if handle is None else {one.path: one for one in handle.inputs.walk()}
        plan = plan_sync(root, definition, known, retry=retry)
        if plan.changed and changed == "fail":
            more = f" and {len(plan.changed) - 1:,} more" if plan.changed[1:] else ""
            message = f"{database}.{table}: {plan.changed[0]}{more} changed after it was taken"
            raise ConflictError(message, hint="--changed keep leaves its rows as they are")
        newer = plan.newer if changed == "replace" else ()
        gone = plan.vanished if vanished == "delete" else ()
        sync = _Sync(root, keys, definition, progress, options)
        sync.branch, sync.author = branch, author
        if handle is not None and (newer or gone):
            plan, newer, gone = sync.look(handle, plan, newer, gone)
        if dry_run or not (plan.new or newer or gone):
            return replace(_foreseen(keys, plan, newer, gone), retired=retired)
        try:
            return replace(sync.run(plan, newer, gone), retired=retired)
        except _MovedError:
            continue  # someone has merged or replaced packfiles meanwhile
    message = f"{database}.{table}: others have replaced the same packfiles all the time"
    raise ConflictError(message, hint="run it again")


def _foreseen(
    keys: names.TableKeys, plan: SyncPlan, newer: Sequence[NewInput], gone: Sequence[str]
) -> Synced:
    """Tell what would be done."""
    wanted = (*plan.new, *newer)
    good = tuple(one.uri for one in wanted if not one.flaw)
    bad = tuple(RejectedInput(one.uri, one.etag, one.flaw) for one in wanted if one.flaw)
    replaced = tuple(one.uri for one in newer if not one.flaw)
    left = tuple(uri for uri in plan.changed if uri not in replaced)
    kept = tuple(uri for uri in plan.vanished if uri not in gone)
    return Synced(
        keys.database, keys.table, None, good, 0, 0, bad, left, kept, replaced, tuple(gone)
    )


def take(
    root: TableRoot,
    keys: names.TableKeys,
    definition: Definition,
    plan: SyncPlan,
    *,
    branch: str = MAIN,
    author: str = "",
    **options: Any,  # noqa: ANN401 - those of packing
) -> Synced:
    """Take the inputs of a plan that has only some of them, in one version; see `sync_table`."""
    sync = _Sync(root, keys, definition, silent, options, is_whole=False)
    sync.branch, sync.author = branch, author
    return sync.run(plan)


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
        keys: names.TableKeys,
        definition: Definition,
        progress: Callable[[int, int | None], None],
        options: dict[str, Any],
        *,
        is_whole: bool = True,
    ) -> None:
        self._root = root
        self._keys = keys
        self._definition = definition
        self._progress = progress
        self._options = options
        self._is_whole = is_whole
        self._packed: dict[tuple[str, ...], PackedRows] = {}
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
        wanted = {*gone, *(one.uri for one in newer)}
        unknown = find_inputs(handle, wanted).unknown
        if unknown:
            more = f" and {len(unknown) - 1:,} more" if len(unknown) > 1 else ""
            notes.warn(
                f"{min(unknown)}{more}: packfiles do not tell which rows came from it: they stay"
            )
        newer = tuple(one for one in newer if one.uri not in unknown)
        return plan, newer, tuple(uri for uri in gone if uri not in unknown)

    def run(
        self, plan: SyncPlan, newer: Sequence[NewInput] = (), gone: tuple[str, ...] = ()
    ) -> Synced:
        """Pack and commit; without what others take meanwhile."""
        new: Sequence[NewInput] = [*plan.new, *newer]
        self._gone = gone
        for _ in range(_ATTEMPTS):
            groups = []
            flawed = [one for one in new if one.flaw]
            for group in _groups([one for one in new if not one.flaw]):
                good, bad = self._checked(group)
                groups += [good] if good else []
                flawed += bad
            new = [*chain.from_iterable(groups), *flawed]
            self._remove([one.uri for one in chain.from_iterable(groups) if one.replaces])
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
        if any(tree.lookup(uri) is None for uri in self._gone):
            raise _MovedError
        if self._removed.removed:
            there, _ = packfiles_between(None, index, self._root.fetch)
            if not self._removed.removed <= {one.key for one in there}:
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

    def _change(self, groups: list[list[NewInput]], flawed: list[NewInput]) -> TableChange:
        added: list[Descriptor] = []
        inputs: list[ChangedInput] = []
        for group in groups:
            descriptor = self._packed[_key(group)].descriptor
            inputs += [
                ChangedInput(one.uri, one.etag, len(added), is_forced=one.is_forced)
                for one in group
            ]
            added += [] if descriptor is None else [descriptor]
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
        groups: list[list[NewInput]],
        flawed: list[NewInput],
        version: int | None,
    ) -> Synced:
        results = [self._packed[_key(group)].result for group in groups]
        replaced = [one.uri for one in chain.from_iterable(groups) if one.replaces]
        return Synced(
            self._keys.database,
            self._keys.table,
            version,
            tuple(one.uri for one in chain.from_iterable(groups)),
            sum(one.rows for one in results),
            sum(one.text_bytes for one in results),
            tuple(RejectedInput(one.uri, one.etag, one.flaw) for one in flawed),
            tuple(uri for uri in plan.changed if uri not in replaced),
            tuple(uri for uri in plan.vanished if uri not in self._gone),
            tuple(replaced),
            self._gone,
            self._removed.rows,
        )

    def _checked(self, group: list[NewInput]) -> tuple[list[NewInput], list[NewInput]]:
        """Pack the inputs of a partition: gives those that have rows, and those that fail."""
        bad: list[NewInput] = []
        while group and _key(group) not in self._packed:
            try:
                packed = self._pack(group)
            except (*_FLAWS, NotFoundError, AccessError, ConflictError):
                looked = [self._looked(one) for one in group]
                if not any(one is None or one.flaw for one in looked):
                    raise
                bad += [one for one in looked if one is not None and one.flaw]
                group = [one for one in looked if one is not None and not one.flaw]
                continue
            same = [one for one in group if one.listed.store.is_remote or one.listed.is_same()]
            if same == group:
                self._packed[_key(group)] = packed
            elif late := sorted({one.uri for one in group} - {one.uri for one in same}):
                notes.warn(_CHANGES.format(late[0]))
            group = same
        return group, bad

    def _pack(self, group: list[NewInput]) -> PackedRows:
        partition = group[0].partition
        return pack_rows(
            self._root,
            self._keys,
            [self._recognised(one) for one in group],
            "" if partition is None else partition.directory,
            constants=None if partition is None else partition.constants or None,
            progress=self._progress,
            **self._options,
        )

    def _recognised(self, one: NewInput) -> Input:
        rule = one.rule
        hints = None if rule.hints in {None, "null"} else (rule.hints or "").encode()
        try:
            # The rows must be those of the ETag that the table is told.
            version = one.listed.version
            found = recognise(one.listed.place, rule.format or None, hints=hints, version=version)
        except UsageError as error:  # hints that do not fit the content
            raise InputError(error.message) from None
        return replace(found, name=one.uri)

    def _looked(self, one: NewInput) -> NewInput | None:
        """Pack an input alone, into nothing, to see what is wrong; None: it cannot be read now."""
        try:
            pack([self._recognised(one)], _Nowhere(), **self._options)
        except NotFoundError:
            return None
        except ConflictError:
            notes.warn(_CHANGES.format(one.uri))
            return None
        except AccessError as error:
            notes.warn(f"left out: {error.message}")
            return None
        except _FLAWS as error:
            return replace(one, flaw=error.message)
        return one


class _Nowhere(io.BytesIO):
    """A file that keeps nothing."""

    def write(self, data: Any, /) -> int:  # noqa: ANN401 - bytes of any kind
        return len(data)


def _groups(new: list[NewInput]) -> Iterator[list[NewInput]]:
    """Give the inputs of each packfile: those of a partition, at most so many."""

    def directory(one: NewInput) -> str:
        return "" if one.partition is None else one.partition.directory

    for _, found in groupby(sorted(new, key=directory), directory):
        group = list(found)
        for start in range(0, len(group), MOST_INPUTS):
            yield group[start : start + MOST_INPUTS]


def _key(group: list[NewInput]) -> tuple[str, ...]:
    return tuple(f"{one.etag} {one.uri}" for one in group)
