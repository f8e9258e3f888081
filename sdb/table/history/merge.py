"""Merging: what a branch has changed comes into another one, as one version with two parents.

What both sides have is compared with the version that they have in common: packfiles that one side
has added or removed are added or removed. A packfile that both have rewritten, and an input that
both have taken, each in its own way, is a conflict.
"""

from __future__ import annotations

from fnmatch import fnmatchcase

from sdb import notes
from sdb.errors import ConflictError, CorruptError, UsageError
from sdb.records import field, record
from sdb.table.catalog.foreign import is_overwritten
from sdb.table.catalog.handle import open_table
from sdb.table.catalog.refs import is_told, pointer_to
from sdb.table.commit.change import FAILED, ChangedInput, TableChange, packfiles_between
from sdb.table.commit.commit import check_branch, commit
from sdb.table.commit.environment import REAL, Surroundings
from sdb.table.commit.refswap import adopted
from sdb.table.format.keys import TableKeys, original_key
from sdb.table.format.state import state_of
from sdb.table.format.versionref import MAIN
from sdb.table.history.changes import Part, changed_parts, side_of
from sdb.table.history.mergebase import lineage, merge_base

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from sdb.table.catalog.handle import TableHandle
    from sdb.table.catalog.root import TableRoot
    from sdb.table.format.descriptor import Descriptor
    from sdb.table.format.index import TableIndex
    from sdb.table.history.changes import Side

OPERATION = "merge"
STRATEGIES = ("source", "dest")
_TAKEN_OUT = "a merge has left its rows out; sync --retry takes them again"


class MergeConflictError(ConflictError):
    """A merge of what both sides have changed.

    Attributes
    ----------
    packfiles : tuple of str
        Keys of packfiles that both sides have rewritten.
    inputs : tuple of str
        Inputs that both sides have taken.
    """

    packfiles: tuple[str, ...] = ()
    inputs: tuple[str, ...] = ()


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
    """

    version: int
    source: int
    base: int | None
    added: tuple[str, ...] = field(repr=False)
    removed: tuple[str, ...] = field(repr=False)
    is_new: bool

    def as_dict(self) -> dict[str, object]:
        """Give it as plain values with stable names, for JSON."""
        return {
            "version": self.version,
            "source": self.source,
            "base": self.base,
            "added": list(self.added),
            "removed": list(self.removed),
            "new": self.is_new,
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
    around: Surroundings = REAL,
) -> MergedBranch:
    """Merge a branch, or a version, into another branch.

    Parameters
    ----------
    root : TableRoot
        The root that the table is below.
    database, table : str
        Its names.
    source : str
        The branch, or another reference to a version.
    into : str
        The branch that gets what the source has changed.
    strategy : {"", "source", "dest"}
        What counts where both have changed the same; without one that is an error.
    only : str
        Shell pattern of keys below the folder of the table (``data/region=eu/*``): nothing else
        is merged, and the rest may be merged later.
    author, message : str
        Who merges, and why; the version tells it.
    commit_id : str
        The client's own id, see :func:`sdb.table.commit.commit.commit`.
    around : Surroundings
        The clock and the dice.

    Returns
    -------
    MergedBranch
        The version.

    Raises
    ------
    MergeConflictError
        Both sides have changed the same, and there is no strategy. Nothing has changed.
    NotFoundError
        There is no such table, branch or version.
    ConflictError, UncertainError
        See :func:`sdb.table.commit.commit.commit`.
    """
    if strategy and strategy not in STRATEGIES:
        raise UsageError(f"unknown strategy {strategy!r}", expected=" or ".join(STRATEGIES))
    if source == into:
        raise UsageError(f"merging {source} into itself")
    keys = TableKeys(database, table)
    check_branch(root, keys, into)
    main = open_table(root, database, table)
    if is_overwritten(main):
        main = adopted(root, keys, around)
    theirs = main.at(source)
    branch = MAIN if theirs.state is None else theirs.state.branch or MAIN
    merging = _Merging(theirs, branch, into, strategy, only, source)
    merging.author, merging.message = author, message or f"merge {source}"
    try:
        done = commit(root, keys, merging.plan, commit_id=commit_id, around=around, branch=into)
    except _GivenUpError as error:
        raise error.reason from None
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
        () if change is None else tuple(one.key for one in change.added),
        () if change is None else tuple(sorted(change.removed)),
        done.is_new and change is not None,
    )


class _GivenUpError(Exception):
    """A conflict that no further attempt can solve."""

    def __init__(self, reason: ConflictError) -> None:
        self.reason = reason


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
        self.base: int | None = None
        self.change: TableChange | None = None

    def plan(self, index: TableIndex) -> TableChange | None:
        """Give the change that a merge makes of an index."""
        theirs, fetch = self._theirs, self._theirs.root.fetch
        try:
            found = merge_base(theirs, index)
        except ConflictError as error:
            raise _GivenUpError(error) from None
        self.base, self.change = None, None
        base, state = found.handle, state_of(index.user_data)
        if base is None or state is None:
            return None
        self.base = None if base.state is None else base.state.version
        try:
            other, parts = self._compared(base, index)
        except CorruptError as error:
            if error.path is None or theirs.root.has(error.path):
                raise
            # The original deletes nodes of inputs that its own index does not refer to.
            told = ConflictError(
                f"merging {self._source or theirs.name}: {error.message}",
                path=error.path,
                hint="where both have taken inputs since, INSERT INTO ... SELECT takes over rows",
            )
            raise _GivenUpError(told) from None
        present, _ = packfiles_between(None, index, fetch)
        result = _Result(present, base, theirs)
        if parts is None:
            result.apply(other)
        else:
            self._apply(result, *parts)
        if self._only and result.is_nothing:
            return None
        self.change = TableChange(
            OPERATION,
            tuple(result.added.values()),
            frozenset(result.removed),
            tuple(result.inputs.values()),
            author=self.author,
            message=self.message,
            merged=("" if self._only else self._source, self.pointer),
            lineage=None if self._only else lineage(found, state, self._source, self.pointer),
        )
        return self.change

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

    def _apply(self, result: _Result, ours: list[Part], theirs: list[Part]) -> None:
        """Apply the parts of the source that are wanted."""
        wanted = [part for part in theirs if self._is_wanted(part)]
        clashes = [
            (part, [one for one in ours if one.clashes(part)])
            for part in wanted
            if part not in ours
        ]
        if not self._strategy and any(own for _, own in clashes):
            raise _GivenUpError(self._conflict([(part, own) for part, own in clashes if own]))
        if self._strategy == "source":
            undone = {id(one): one for _, own in clashes for one in own}
            for one in undone.values():
                result.undo(one)
        for part, own in clashes:
            if not own or self._strategy == "source":
                result.apply_part(part)

    def _is_wanted(self, part: Part) -> bool:
        if not self._only:
            return True
        folder = f"{self._theirs.keys.folder}/"
        keys = [key.removeprefix(folder) for key in (*part.before, *part.after)]
        fits = [fnmatchcase(key, self._only) for key in keys]
        return bool(fits) and all(fits)

    def _conflict(self, clashes: list[tuple[Part, list[Part]]]) -> MergeConflictError:
        packfiles: set[str] = set()
        inputs: set[str] = set()
        for part, own in clashes:
            for one in own:
                packfiles |= part.before & one.before
                inputs |= part.inputs.keys() & one.inputs.keys()
        what = [
            f"{len(packfiles):,} packfiles were rewritten on both sides" if packfiles else "",
            f"{len(inputs):,} inputs were taken on both sides" if inputs else "",
        ]
        error = MergeConflictError(
            f"merging {self._shown} into {self._into}: " + " and ".join(filter(None, what)),
            hint="--strategy source or dest chooses a side for these",
        )
        error.packfiles, error.inputs = tuple(sorted(packfiles)), tuple(sorted(inputs))
        return error


class _Result:
    """The packfiles and inputs that a merge adds to an index, and takes away."""

    def __init__(
        self, present: Iterable[Descriptor], base: TableHandle, theirs: TableHandle
    ) -> None:
        self._present: dict[str, list[str]] = {}
        for one in present:
            self._present.setdefault(original_key(one.key), []).append(one.key)
        self._base = base
        self._theirs = theirs
        self.added: dict[str, Descriptor] = {}
        self.removed: set[str] = set()
        self.inputs: dict[str, ChangedInput] = {}

    @property
    def is_nothing(self) -> bool:
        return not (self.added or self.removed or self.inputs)

    def apply(self, side: Side) -> None:
        """Take over all that a side has changed."""
        self._take(side.added.values(), side.removed)
        for path, etag in side.inputs.items():
            self.inputs[path] = ChangedInput(path, etag, is_forced=True)
        for path, etag in side.dropped.items():
            self.inputs[path] = _taken_out(path, etag)

    def apply_part(self, part: Part) -> None:
        """Take over one part of what a side has changed."""
        self._take(part.after.values(), part.before)
        for path, etag in part.inputs.items():
            found = ChangedInput(path, etag, is_forced=True) if etag else _taken_out(path, "")
            self.inputs[path] = found

    def undo(self, part: Part) -> None:
        """Take back a part of what the destination has changed."""
        for key in part.after:
            self._remove(key)
        lost = part.before - self._present.keys() - self.added.keys()
        if lost:
            for one in self._base.descriptors():
                if original_key(one.key) in lost:
                    self._take([one], ())
        for path, etag in part.inputs.items():
            self.inputs[path] = _taken_out(path, etag)

    def _take(self, added: Iterable[Descriptor], removed: Iterable[str]) -> None:
        for key in removed:
            self._remove(key)
        for one in added:
            key = original_key(one.key)
            self.removed.difference_update(self._present.get(key, ()))
            if key not in self._present:
                self.added[key] = one

    def _remove(self, key: str) -> None:
        self.added.pop(key, None)
        self.removed.update(self._present.get(key, ()))


def _taken_out(path: str, etag: str) -> ChangedInput:
    return ChangedInput(path, etag, FAILED, is_forced=True, reason=_TAKEN_OUT)
