"""Merging: what a branch has changed comes into another one, as one version with two parents.

What both sides have is compared with the version that they have in common: packfiles that one side
has added or removed are added or removed. Of a packfile that both have rewritten the rows are
merged (:mod:`sdb.table.history.rowmerge`). A row that both have changed, and an input that both
have taken, each in its own way, is a conflict.
"""

from __future__ import annotations

from fnmatch import fnmatchcase

from sdb import notes, sizes
from sdb.errors import ConflictError, CorruptError, UsageError
from sdb.records import field, record
from sdb.table.catalog.foreign import is_overwritten
from sdb.table.catalog.handle import open_table
from sdb.table.catalog.refs import is_told, pointer_to
from sdb.table.commit.chain import changes_of
from sdb.table.commit.change import TableChange, packfiles_between
from sdb.table.commit.commit import check_branch, commit
from sdb.table.commit.environment import REAL, Environment
from sdb.table.commit.refswap import adopted
from sdb.table.format.keys import TableKeys
from sdb.table.format.state import state_of
from sdb.table.format.versionref import MAIN
from sdb.table.history.changes import Part, changed_parts, side_of
from sdb.table.history.mergebase import lineage, merge_base
from sdb.table.history.mergeresult import MergeResult
from sdb.table.history.overlaps import (
    RowMerges,
    RowsNeededError,
    clashes_of,
    packfiles_of_base,
)
from sdb.table.history.rowtrace import counts_between, is_traced
from sdb.table.schema.merge import SchemaConflictError
from sdb.table.schema.versions import merged_schema

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from sdb.table.catalog.handle import TableHandle
    from sdb.table.catalog.root import TableRoot
    from sdb.table.commit.commit import Committed
    from sdb.table.format.descriptor import Descriptor
    from sdb.table.format.index import TableIndex
    from sdb.table.format.state import RowCounts, VersionState
    from sdb.table.history.changes import Side
    from sdb.table.history.overlaps import Clash
    from sdb.table.history.rowmerge import MergedRows, RowConflict

OPERATION = "merge"
STRATEGIES = ("source", "dest")
_MOST_ATTEMPTS = 20


class MergeConflictError(ConflictError):
    """A merge of what both sides have changed."""

    # Keys of packfiles that both sides have rewritten, where it is not known which rows are which
    packfiles: tuple[str, ...] = ()
    rows: tuple[RowConflict, ...] = ()  # rows that both sides have changed, the first of them
    row_count: int = 0  # number of such rows
    inputs: tuple[str, ...] = ()  # inputs that both sides have taken


@record
class MergedBranch:
    """The result of a merge.

    Attributes
    ----------
    version : int
        The version that has both.
    source : int
        The version that was merged.
    base : int or None
        The version that both sides had in common; None: there was nothing to merge.
    added, removed : tuple of str
        Keys of packfiles that came and went.
    is_new : bool
        Whether it made a version now.
    counts : RowCounts or None
        Numbers of rows that were inserted, updated and deleted; None: not known.
    dropped : int
        Number of rows in conflict of the side that did not count.
    """

    version: int
    source: int
    base: int | None
    added: tuple[str, ...] = field(repr=False)
    removed: tuple[str, ...] = field(repr=False)
    is_new: bool
    counts: RowCounts | None = None
    dropped: int = 0

    def as_dict(self) -> dict[str, object]:
        """Return it as plain values with stable names, for JSON."""
        return {
            "version": self.version,
            "source": self.source,
            "base": self.base,
            "added": list(self.added),
            "removed": list(self.removed),
            "new": self.is_new,
            "rows": None if self.counts is None else self.counts.as_dict(),
            "rows_dropped": self.dropped,
        }


def merge(  # noqa: PLR0913 - the command's options, by name
    root: TableRoot,
    database: str,
    table: str,
    source: str,
    *,
    into: str = MAIN,
    strategy: str = "",
    only: str = "",
    author: str = "",
    message: str = "",
    commit_id: str = "",
    expects: int | None = None,
    confirm: Callable[[int], bool] = lambda _: True,
    env: Environment = REAL,
) -> MergedBranch:
    """Merge a branch, or a version, into another branch.

    * ``into``: The branch that gets what the source has changed.
    * ``strategy``: What counts where both have changed the same; without one that is an error.
    * ``only``: Shell pattern of keys below the folder of the table (``data/region=eu/*``): nothing
      else is merged, and the rest may be merged later.
    * ``author, message``: Recorded in the version.
    * ``commit_id``: The client's own id, see :func:`sdb.table.commit.commit.commit`.
    * ``expects``: The version of the destination that it must follow; None: any.
    * ``confirm``: Asked before the strategy drops rows of one side, with their number.

    Raises `MergeConflictError` if both sides have changed the same, and there is no strategy, or it
    is not confirmed. Nothing has changed. Raises `NotFoundError` if there is no such table, branch
    or version. Raises `ConflictError` or `UncertainError` as :func:`sdb.table.commit.commit.commit`
    does.
    """
    if strategy and strategy not in STRATEGIES:
        raise UsageError(f"unknown strategy {strategy!r}", expected=" or ".join(STRATEGIES))
    if source == into:
        raise UsageError(f"merging {source} into itself")
    keys = TableKeys(database, table)
    check_branch(root, keys, into)
    main = open_table(root, database, table)
    if is_overwritten(main):
        main = adopted(root, keys, env)
    theirs = main.at(source)
    branch = MAIN if theirs.state is None else theirs.state.branch or MAIN
    merging = _Merging(theirs, branch, into, strategy, only, source)
    merging.author, merging.message = author, message or f"merge {source}"
    merging.expects = expects
    merging.rows = RowMerges(root, keys, env)
    done = merging.committed(commit_id, confirm, env)
    if done.is_new and into != MAIN and not is_told(theirs):
        number = merging.pointer.version
        notes.warn(
            f"version {number} of {theirs.name} expired while {into} got it: merge {MAIN} into "
            f"{into} once more, or later merges of {into} are refused"
        )
    change = merging.change
    return MergedBranch(
        done.version,
        merging.pointer.version,
        merging.base,
        () if change is None else tuple(descriptor.key for descriptor in change.added),
        () if change is None else tuple(sorted(change.removed)),
        done.is_new and change is not None,
        merging.counts,
        merging.dropped,
    )


class _GivenUpError(Exception):
    """A conflict that no further attempt can solve."""

    def __init__(self, reason: ConflictError) -> None:
        self.reason = reason


class _ConsentNeededError(Exception):
    """A strategy would drop rows, and nobody has said yet that it may."""

    def __init__(self, rows: int, conflict: MergeConflictError) -> None:
        self.rows = rows
        self.conflict = conflict


class _Merging:
    """Plans a merge, for each index that is there when it is tried."""

    def __init__(
        self,
        theirs: TableHandle,
        source: str,
        into: str,
        strategy: str,
        only: str,
        shown: str,
    ) -> None:
        self._theirs = theirs
        self._shown = shown
        self._source = source
        self._into = into
        self._strategy = strategy
        self._only = only
        self.pointer = pointer_to(theirs)
        self.author = self.message = ""
        self.expects: int | None = None
        self.base: int | None = None
        self.change: TableChange | None = None
        self.rows: RowMerges
        self.consented = self.dropped = 0
        self.gone: tuple[Descriptor, ...] = ()
        self._counts: dict[object, RowCounts | None] = {}

    def committed(
        self, commit_id: str, confirm: Callable[[int], bool], env: Environment
    ) -> Committed:
        """Commit it, with rows that are merged and asked about before each attempt."""
        root, keys = self._theirs.root, self._theirs.keys
        for _ in range(_MOST_ATTEMPTS):
            try:
                return commit(
                    root, keys, self.plan, commit_id=commit_id, env=env, branch=self._into
                )
            except _GivenUpError as error:
                raise error.reason from None
            except RowsNeededError as needed:
                self.rows.prepare(needed.overlaps)
            except _ConsentNeededError as needed:
                if not confirm(needed.rows):
                    raise needed.conflict from None
                self.consented = needed.rows
        raise ConflictError(
            f"merging {self._shown} into {self._into}: others rewrite the same packfiles all the "
            "time",
            hint="run it again",
        )

    @property
    def counts(self) -> RowCounts | None:
        """The numbers of rows that change; None: not known, or nothing is merged."""
        change = self.change
        if change is None:
            return None
        return changes_of(change.added, self.gone, change.counts).row_counts

    def plan(self, index: TableIndex) -> TableChange | None:
        """Return the change that a merge makes of an index."""
        theirs, fetch = self._theirs, self._theirs.root.fetch
        try:
            common = merge_base(theirs, index)
        except ConflictError as error:
            raise _GivenUpError(error) from None
        self.base, self.change, self.dropped, self.gone = None, None, 0, ()
        base, state = common.handle, state_of(index.user_data)
        if base is None or state is None:
            return None
        self.base = None if base.state is None else base.state.version
        try:
            other, parts = self._compared(base, index)
        except CorruptError as error:
            if error.path is None or theirs.root.has(error.path):
                raise
            # The original deletes nodes of inputs that its own index does not refer to.
            conflict = ConflictError(
                f"merging {self._source or theirs.name}: {error.message}",
                path=error.path,
                hint="where both have taken inputs since, INSERT INTO ... SELECT takes over rows",
            )
            raise _GivenUpError(conflict) from None
        present, _ = packfiles_between(None, index, fetch)
        result = MergeResult(present, base, theirs)
        traced = theirs.state is not None and is_traced(theirs.state, common.theirs, common.ours)
        if parts is None:
            result.apply(other)
        else:
            is_by_row = traced and not self._only and is_traced(state, common.ours, common.theirs)
            self._apply(result, *parts, is_by_row=is_by_row)
        if self._only and result.is_nothing:
            return None
        is_all_traced = traced and result.are_rows_traced
        self.gone = result.gone
        self.change = TableChange(
            OPERATION,
            tuple(result.added.values()),
            frozenset(result.removed),
            tuple(result.inputs.values()),
            author=self.author,
            message=self.message,
            merged=("" if self._only else self._source, self.pointer),
            lineage=None if self._only else lineage(common, state, self._source, self.pointer),
            counts=self._counted(result) if is_all_traced else None,
            is_traced=is_all_traced,
            expects=self.expects,
            schema=None if self._only else self._schema(base, state),
        )
        return self.change

    def _schema(self, base: TableHandle, state: VersionState) -> bytes | None:
        """Return the schema that has the changes of both sides; None: it stays."""
        try:
            return merged_schema(base.state, state, self._theirs.state, self._strategy)
        except SchemaConflictError as error:
            raise _GivenUpError(error) from None

    def _counted(self, result: MergeResult) -> RowCounts | None:
        """Count what becomes of rows; where packfiles only come, or only go, these say it."""
        added = tuple(result.added.values())
        if not (added and result.gone):
            return None
        key = frozenset(result.added), frozenset(result.removed)
        if key not in self._counts:
            self._counts[key] = counts_between(self._theirs.root, result.gone, added)
        return self._counts[key]

    def _compared(
        self, base: TableHandle, index: TableIndex
    ) -> tuple[Side, tuple[list[Part], list[Part]] | None]:
        """Compare both sides with what they have in common; in parts where they overlap."""
        theirs = self._theirs
        other = side_of(theirs, base, theirs.index)
        has_inputs = bool(other.inputs or other.dropped)
        ours = side_of(theirs, base, index, are_inputs_wanted=has_inputs)
        if not (self._only or ours.overlaps(other)):
            return other, None
        parts = changed_parts(theirs, base, index), changed_parts(theirs, base, theirs.index)
        return other, parts

    def _apply(
        self, result: MergeResult, ours: list[Part], theirs: list[Part], *, is_by_row: bool
    ) -> None:
        """Apply the parts of the source that are wanted."""
        wanted = [part for part in theirs if self._is_wanted(part)]
        clashes = clashes_of(ours, wanted)
        base = packfiles_of_base(result.base, clashes) if is_by_row else {}
        overlaps = [clash.overlap(base, self._strategy) for clash in clashes]
        merged = self.rows.of(overlaps)
        pairs = list(zip(clashes, merged, strict=True))
        self._check(pairs)
        clashing = {id(part) for clash in clashes for part in clash.theirs}
        for part in wanted:
            if id(part) not in clashing and part not in ours:
                result.apply_part(part)
        for clash, rows in pairs:
            if rows is not None:
                result.apply_rows(rows, clash.theirs)
            elif self._strategy == "source":
                for part in clash.ours:
                    result.undo(part)
                for part in clash.theirs:
                    result.apply_part(part)

    def _check(self, pairs: Sequence[tuple[Clash, MergedRows | None]]) -> None:
        """Check that nothing is in conflict, or that a strategy decides that is agreed to."""
        self.dropped = sum(
            clash.dropped_rows(self._strategy) if rows is None else rows.conflict_count
            for clash, rows in pairs
        )
        is_conflict = any(rows is None or rows.conflict_count for _, rows in pairs)
        if is_conflict and not self._strategy:
            raise _GivenUpError(self._conflict(pairs))
        if self.dropped > self.consented:
            conflict = self._conflict(pairs)
            rows = f"{self.dropped:,} row{'' if self.dropped == 1 else 's'}"
            conflict.hint = f"--strategy {self._strategy} drops {rows}: --yes agrees"
            raise _ConsentNeededError(self.dropped, conflict)

    def _is_wanted(self, part: Part) -> bool:
        if not self._only:
            return True
        folder = f"{self._theirs.keys.folder}/"
        keys = [key.removeprefix(folder) for key in (*part.before, *part.after)]
        fits = [fnmatchcase(key, self._only) for key in keys]
        return bool(fits) and all(fits)

    def _conflict(self, pairs: Sequence[tuple[Clash, MergedRows | None]]) -> MergeConflictError:
        whole = [clash for clash, rows in pairs if rows is None]
        packfiles = {key for clash in whole for key in clash.packfiles}
        inputs = {path for clash in whole for path in clash.inputs}
        merged = [rows for _, rows in pairs if rows is not None]
        count = sum(rows.conflict_count for rows in merged)
        what = [
            f"{sizes.counted(count, 'row')} changed on both sides" if count else "",
            f"{sizes.counted(len(packfiles), 'packfile')} rewritten on both sides"
            if packfiles
            else "",
            f"{sizes.counted(len(inputs), 'input')} taken on both sides" if inputs else "",
        ]
        unknown = ", and which rows are which is not known" if packfiles and not inputs else ""
        error = MergeConflictError(
            f"merging {self._shown} into {self._into}: "
            + " and ".join(filter(None, what))
            + unknown,
            hint=f"--strategy source takes what {self._shown} has, --strategy dest {self._into}",
        )
        error.packfiles, error.inputs = tuple(sorted(packfiles)), tuple(sorted(inputs))
        error.rows = tuple(conflict for rows in merged for conflict in rows.conflicts)
        error.row_count = count
        return error
