"""Sync: the inputs that patterns find come into the table, each one once.

1. *Compare*: list the inputs, and compare them with the inputs tree of the newest version.
2. *Prepare*: pack new inputs, and rewrite packfiles without the rows that go. Other writers can
   commit meanwhile. An input that cannot be read is recorded as failed.
3. *Commit*, after a check that step 1 still holds for the index that is replaced. If another writer
   has taken some of the inputs, prepare again without them; if it has replaced what loses rows,
   compare again.
"""

from __future__ import annotations

from fnmatch import fnmatchcase
from functools import partial, reduce
from itertools import chain

from sdb import notes
from sdb.errors import ConflictError, InputError, SdbError, UnsupportedError, UsageError
from sdb.lake.names import is_lake_input
from sdb.progress import silent
from sdb.records import replace
from sdb.table.catalog.handle import dropped, find_table
from sdb.table.commit.change import own_keys, packfiles_between
from sdb.table.commit.commit import check_branch, check_writable, commit
from sdb.table.definition.cache import read_definition
from sdb.table.definition.upkeep import CHANGED
from sdb.table.format.inputtree import InputsTree
from sdb.table.format.keys import TableKeys, own_key
from sdb.table.format.versionref import MAIN
from sdb.table.inputs.places import OutsideError
from sdb.table.sync.inputrows import RemovedRows, find_inputs, remove_rows
from sdb.table.sync.lakes import SKIPPABLE, LakeSource, check_followed, missing_file
from sdb.table.sync.packing import MissingFileError, local_packing
from sdb.table.sync.plan import plan_sync
from sdb.table.sync.result import Synced
from sdb.table.sync.retained import warn_of_flaw
from sdb.table.sync.retention import retire, to_retire
from sdb.table.sync.unchanged import SettledListing
from sdb.table.sync.work import Prepared, SyncPlan, SyncRequest, SyncWork, check_unchanged

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
    from typing import Any

    from sdb.table.catalog.handle import TableHandle
    from sdb.table.catalog.root import TableRoot
    from sdb.table.commit.change import TableChange
    from sdb.table.definition.definition import Definition
    from sdb.table.format.index import TableIndex
    from sdb.table.sync.packing import InputPacking, PackedInputs
    from sdb.table.sync.work import NewInput

VANISHED = ("keep", "delete")
_ATTEMPTS = 20


def tables_to_sync(root: TableRoot, database: str, pattern: str = "*") -> list[str]:
    """Return the tables of a database that have a definition, and whose name fits a pattern."""
    fitting = [table for table in root.folders(database) if fnmatchcase(table, pattern)]
    return [table for table in fitting if root.has(TableKeys(database, table).definition)]


def sync_table(  # noqa: PLR0913 - the command's options, by name
    root: TableRoot,
    database: str,
    table: str,
    *,
    dry_run: bool = False,
    retry: bool = False,
    changed: str | None = None,
    vanished: str | None = None,
    branch: str = MAIN,
    author: str = "",
    packing: InputPacking | None = None,
    progress: Callable[[int, int | None], None] = silent,
    **options: Any,  # noqa: ANN401 - those of packing
) -> Synced:
    """Take the inputs that are new, in one version.

    Each new version of a Delta or Iceberg table becomes a separate version before.
    Rows that the retention policy of the table does not keep go out of it before, in a version of
    their own.

    * ``retry``: Whether inputs that failed are tried again although they have not changed.
    * ``changed``: Whether rows of inputs that have another content now stay, make room for the new
      ones, or are an error. If not given, what the definition says; else they stay, and those of
      Delta and Iceberg tables make room.
    * ``vanished``: Whether rows of inputs that are gone stay or go. If not given they stay; those
      of files that a Delta or Iceberg table does not have any more go.
    * ``author``: Who syncs; recorded in the version.
    * ``packing``: The packer; this program if not given.
    * ``progress``: Called with the bytes read, if this program packs.
    * ``options``: Others of :func:`sdb.pack`, if this program packs.

    Raises `NotFoundError` if the table has no definition, or was dropped; `OutsideError` if a
    pattern of it leads out of the root; see :mod:`sdb.table.inputs.places`; `ConflictError` if an
    input has changed, and `changed` is ``fail``, or other writers won every attempt;
    `UncertainError` if it is not known whether the inputs were taken; another sync finds out.
    """
    if changed not in {None, *CHANGED}:
        raise UsageError(f"unknown choice {changed!r}", expected=" or ".join(CHANGED))
    if vanished not in {None, *VANISHED}:
        raise UsageError(f"unknown choice {vanished!r}", expected=" or ".join(VANISHED))
    keys = TableKeys(database, table)
    if not dry_run:
        check_writable(root)
    definition = read_definition(root, keys)
    changed = changed or definition.changed
    check_branch(root, keys, branch)
    is_lake = [is_lake_input(rule.pattern) for rule in definition.inputs]
    if packing is not None and any(is_lake):
        message = f"{database}.{table} has inputs of Delta or Iceberg, which Spark does not sync"
        raise UnsupportedError(message, hint="sync it without --spark")
    packing = packing or local_packing(root, keys, definition, progress, options, branch)
    choices = (changed or "keep", vanished or "keep")
    request = SyncRequest(root, keys, definition, packing, retry, *choices, branch, author)
    of_lakes = replace(
        request,
        changed=changed or "replace",
        vanished=vanished or "delete",
        is_whole=len(is_lake) == 1,
    )
    if dry_run:
        foreseen = [work.foreseen(keys) for work in _foreseen_lakes(of_lakes)]
        if not all(is_lake):
            foreseen.append(_compare(request).foreseen(keys))
        retired = to_retire(root, keys, definition, branch=branch)
        return reduce(Synced.followed_by, foreseen).after(retired)
    retired = retire(root, keys, definition, branch=branch, author=author)
    synced = [Synced(database, table, None, (), 0, 0, (), (), ()), *_take_lakes(of_lakes)]
    if not all(is_lake):
        synced.append(_run(request, partial(_compare, request)))
    warn_of_flaw(root, keys, definition, branch)
    return reduce(Synced.followed_by, synced).after(retired)


def take_lakes(
    root: TableRoot,
    keys: TableKeys,
    definition: Definition,
    *,
    changed: str | None = None,
    branch: str = MAIN,
    author: str = "",
    **options: Any,  # noqa: ANN401 - those of packing
) -> Iterator[Synced]:
    """Take the new versions of Delta and Iceberg tables, each in a version; see `sync_table`."""
    request = SyncRequest(
        root,
        keys,
        definition,
        local_packing(root, keys, definition, silent, options, branch),
        changed=changed or definition.changed or "replace",
        vanished="delete",
        branch=branch,
        author=author,
        is_whole=len(definition.inputs) == 1,
    )
    return _take_lakes(request)


def _sources(request: SyncRequest) -> Iterator[LakeSource]:
    """Yield the tables of other systems that the rules of a definition name."""
    rules = [rule for rule in request.definition.inputs if is_lake_input(rule.pattern)]
    for rule in rules:
        try:
            yield LakeSource(request.root, request.definition, rule)
        except (OutsideError, UsageError) as error:
            raise error.within(request.name) from None


def _foreseen_lakes(request: SyncRequest) -> Iterator[SyncWork]:
    for source in _sources(request):
        source.foresee()
        yield _compare_lake(request, source)


def _take_lakes(request: SyncRequest) -> Iterator[Synced]:
    """Take versions of tables of other systems, one after the other, as long as there are some."""
    for source in _sources(request):
        while True:
            try:
                synced = _run(request, partial(_compare_lake, request, source))
            except SKIPPABLE as error:
                step = source.step
                if step is None:
                    raise
                if source.can_skip(step, error):
                    continue
                if isinstance(error, MissingFileError):
                    raise missing_file(step, error) from None
                raise
            if synced.version is None:
                break
            source.has_taken()
            yield synced


def _compare_lake(request: SyncRequest, source: LakeSource) -> SyncWork:
    """Compare the next version of a table of another system with the newest one here."""
    root, keys = request.root, request.keys
    table = find_table(root, keys.database, keys.table, branch=request.branch)
    if table is not None and table.is_dropped:
        raise dropped(root, keys, table.state)
    tree = None if table is None else table.inputs
    try:
        step = source.next_step(tree)
    except SdbError as error:
        raise error.within(request.name) from None
    if step is None:
        return SyncWork(SyncPlan((), (), ()), table, tree)
    if request.changed == "fail":
        check_unchanged(keys, step.plan.changed)
    check_followed(step, changed=request.changed, vanished=request.vanished)
    if step.note:
        notes.tell(step.note, is_detail=False)
    newer = step.plan.newer if request.changed == "replace" else ()
    gone = step.plan.vanished if request.vanished == "delete" else ()
    work = _work(step.plan, table, tree, newer, gone)
    if len(work.newer) < len(newer) or len(work.gone) < len(gone):
        message = f"{request.name}: packfiles do not tell which rows came from {step.source}"
        raise ConflictError(message, hint="sync it into a new table")
    return replace(work, step=step)


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
    packing = local_packing(root, keys, definition, silent, options, branch)
    request = SyncRequest(
        root,
        keys,
        definition,
        packing,
        changed=changed,
        branch=branch,
        author=author,
        is_whole=False,
    )
    return _run(request, partial(_compare_part, request, plan))


def _run(request: SyncRequest, compare: Callable[[], SyncWork]) -> Synced:
    """Compare, prepare and commit, until no other writer is in between.

    Raises `ConflictError` if other writers won every attempt.
    """
    sync: _Sync | None = None
    for _ in range(_ATTEMPTS):
        sync = sync or _Sync(request, compare())
        if sync.work.is_nothing:
            return sync.work.foreseen(request.keys)
        prepared = sync.prepare()
        if sync.work.step is not None and prepared.flawed:
            raise InputError(prepared.flawed[0].flaw)
        change = prepared.change(request, sync.work.step)
        if change.is_nothing:
            return prepared.synced(request.keys, sync.work, None)
        try:
            version = sync.commit(change)
        except _OvertakenError as error:  # another sync has taken these inputs
            sync.leave_out(error.uris)
        except _MovedError:  # another commit has replaced packfiles or inputs
            sync = None
        else:
            return prepared.synced(request.keys, sync.work, version)
    message = f"{request.name}: lost to other writers of the same inputs {_ATTEMPTS} times"
    raise ConflictError(message, hint="run it again")


def _compare(request: SyncRequest) -> SyncWork:
    """List the inputs, and compare them with the newest version."""
    root, keys = request.root, request.keys
    table = find_table(root, keys.database, keys.table, branch=request.branch)
    if table is not None and table.is_dropped:
        raise dropped(root, keys, table.state)
    tree = None if table is None else table.inputs
    try:
        plan = _planned(request, table, tree)
    except (OutsideError, UsageError) as error:
        raise error.within(request.name) from None
    if request.changed == "fail":
        check_unchanged(keys, plan.changed)
    newer = plan.newer if request.changed == "replace" else ()
    gone = plan.vanished if request.vanished == "delete" else ()
    return _work(plan, table, tree, newer, gone)


def _planned(request: SyncRequest, table: TableHandle | None, tree: InputsTree | None) -> SyncPlan:
    root, definition, retry = request.root, request.definition, request.retry
    if table is None or tree is None:
        return plan_sync(root, definition, {}, retry=retry)
    listing = SettledListing(root, definition, table, retry=retry)
    if listing.is_known():
        return SyncPlan((), (), (), passed=tuple(listing.passed()))
    taken = {entry.path: entry for entry in tree.walk()}
    written_us = table.index.created_us
    plan = plan_sync(root, definition, taken, retry=retry, lister=listing, written_us=written_us)
    if plan.is_nothing:
        listing.settle()
    return plan


def _compare_part(request: SyncRequest, plan: SyncPlan) -> SyncWork:
    """Compare inputs that were planned before with the newest version, if rows have to go."""
    root, keys = request.root, request.keys
    table = None
    if request.changed == "replace" and plan.newer:
        table = find_table(root, keys.database, keys.table, branch=request.branch)
    if table is None:
        return SyncWork(plan, None, None)
    tree = table.inputs
    before = [(new_input, tree.lookup(new_input.uri)) for new_input in plan.newer]
    # Others may have replaced the rows since, with those of the same content or of a later one.
    newer = tuple(
        [new_input for new_input, entry in before if entry and entry.etag == new_input.replaces]
    )
    return _work(plan, table, tree, newer, ())


def _work(
    plan: SyncPlan,
    table: TableHandle | None,
    tree: InputsTree | None,
    newer: tuple[NewInput, ...],
    gone: tuple[str, ...],
) -> SyncWork:
    """Return the work of a plan, without inputs whose rows cannot be told from others."""
    gone += tuple(new_input.same_as for new_input in newer if new_input.same_as)
    if table is None or not (newer or gone):
        return SyncWork(plan, table, tree)
    for new_input in newer:
        if new_input.kept_for:
            notes.warn(
                f"{new_input.uri}: its rows are those of {new_input.kept_for}, too: they stay"
            )
    newer = tuple(new_input for new_input in newer if not new_input.kept_for)
    unknown = find_inputs(table, {*gone, *(new_input.uri for new_input in newer)}).unknown
    if unknown:
        more = f" and {len(unknown) - 1:,} more" if len(unknown) > 1 else ""
        notes.warn(
            f"{min(unknown)}{more}: packfiles do not tell which rows came from it: they stay"
        )
    stays = {
        new_input.same_as
        for new_input in newer
        if not unknown.isdisjoint((new_input.uri, new_input.same_as))
    }
    stays |= unknown
    newer = tuple(
        new_input
        for new_input in newer
        if stays.isdisjoint((new_input.uri, new_input.same_as or new_input.uri))
    )
    return SyncWork(plan, table, tree, newer, tuple(uri for uri in gone if uri not in stays))


class _OvertakenError(Exception):
    """Another sync has taken some of the inputs since they were compared."""

    def __init__(self, uris: Iterable[str]) -> None:
        self.uris = frozenset(uris)


class _MovedError(Exception):
    """Rows that were to go are in other packfiles now, or are those of another content."""


class _Sync:
    """Does the work of a sync that was compared with one version of the table."""

    def __init__(self, request: SyncRequest, work: SyncWork) -> None:
        self._request = request
        self.work = work
        self._new: list[NewInput] = [*work.plan.new, *work.newer]
        self._gone = work.gone
        self._packed: dict[tuple[str, ...], tuple[PackedInputs, ...]] = {}
        self._removed = RemovedRows()
        self._removed_of: frozenset[str] = frozenset()

    def prepare(self) -> Prepared:
        """Pack the new inputs, and take out the rows of those that are replaced or gone."""
        packed = self._pack([new_input for new_input in self._new if not new_input.flaw])
        flawed = [new_input for new_input in self._new if new_input.flaw]
        flawed += chain.from_iterable(group.failed for group in packed)
        unreadable = {new_input.same_as for new_input in flawed}  # their old rows stay
        self._gone = tuple(uri for uri in self.work.gone if uri not in unreadable)
        groups = tuple(group for group in packed if group.inputs)
        taken = [*chain.from_iterable(group.inputs for group in groups)]
        self._new = [*taken, *flawed]
        self._remove([new_input.uri for new_input in taken if new_input.replaces])
        return Prepared(groups, tuple(flawed), self._gone, self._removed)

    def leave_out(self, uris: Collection[str]) -> None:
        """Go on without some inputs."""
        self._new = [new_input for new_input in self._new if new_input.uri not in uris]

    def commit(self, change: TableChange) -> int:
        """Commit what was prepared, and return the version.

        Raises `_OvertakenError` or `_MovedError` if the index is not the one that the work was
        compared with, and does not go with it.
        """

        def checked(index: TableIndex) -> TableChange:
            tree = self._tree(index)
            self._check_removed(index, tree)
            if overtaken := self._overtaken(tree):
                raise _OvertakenError(overtaken)
            return change

        request = self._request
        return commit(request.root, request.keys, checked, branch=request.branch).version

    def _tree(self, index: TableIndex) -> InputsTree:
        """Return the inputs of an index: read before, unless another writer has changed them."""
        table, tree = self.work.table, self.work.tree
        if table is not None and tree is not None and table.index.inputs == index.inputs:
            return tree
        return InputsTree(index.inputs, self._request.root.fetch)

    def _pack(self, new: Sequence[NewInput]) -> list[PackedInputs]:
        """Pack inputs, but for groups that an earlier attempt has packed."""
        packing = self._request.packing
        groups = [tuple(group) for group in packing.groups(new)]
        fresh = iter(packing.pack([group for group in groups if _key(group) not in self._packed]))
        packed: list[PackedInputs] = []
        for group in groups:
            made = self._packed.get(_key(group)) or tuple(next(fresh))
            packed += made
            failed = {new_input.uri for part in made for new_input in part.failed}
            left = [new_input for new_input in group if new_input.uri not in failed]
            self._packed[_key(left)] = tuple(replace(part, failed=()) for part in made)
        return packed

    def _remove(self, replaced: Sequence[str]) -> None:
        """Write packfiles without the rows of inputs that are replaced or gone."""
        wanted = frozenset((*replaced, *self._gone))
        table = self.work.table
        if table is not None and wanted != self._removed_of:
            self._removed = remove_rows(table, find_inputs(table, wanted))
            self._removed_of = wanted

    def _check_removed(self, index: TableIndex, tree: InputsTree) -> None:
        """Require packfiles and inputs that are as they were when rows were taken out."""
        if (step := self.work.step) is not None:
            position = tree.lookup(step.uri)
            if ("" if position is None else position.etag) != step.before:
                raise _MovedError
        for new_input in self._new:
            before = tree.lookup(new_input.uri) if new_input.replaces else None
            if new_input.replaces and (before is None or before.etag != new_input.replaces):
                raise _MovedError
            same = tree.lookup(new_input.same_as) if new_input.same_as else None
            etag = new_input.replaces or new_input.etag
            if new_input.same_as and (same is None or same.etag != etag):
                raise _MovedError
        if any(tree.lookup(uri) is None for uri in self._gone):
            raise _MovedError
        if self._removed.removed:
            descriptors, _ = packfiles_between(None, index, self._request.root.fetch)
            if not set(map(own_key, self._removed.removed)) <= own_keys(descriptors):
                raise _MovedError

    def _overtaken(self, tree: InputsTree) -> list[str]:
        """Return the inputs that another sync has taken, or has recorded as failed."""
        overtaken = []
        for new_input in self._new:
            if new_input.replaces:
                continue
            before = tree.lookup(new_input.uri)
            if before is None or (before.is_failed and before.etag != new_input.etag):
                continue
            if not (new_input.is_forced and before.is_failed):
                overtaken.append(new_input.uri)
        return overtaken


def _key(group: Sequence[NewInput]) -> tuple[str, ...]:
    return tuple(f"{new_input.etag} {new_input.uri}" for new_input in group)
