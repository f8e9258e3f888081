"""Merging by row: packfiles that both sides of a merge have rewritten, when the rows differ.

Rows are known by their identities (:mod:`sdb.table.history.rowtrace`). Of each row the result has
what the side says that has changed it since the merge base. What the destination has stays where it
is, less the rows that the source has deleted or changed; what the source has changed or inserted
comes beside it, as its packfiles less all other rows. So nothing is written but rows that were
there, each by the code that deletes rows.

Where both sides have changed a row, the values decide: those of the base are no change, and the
same values are no conflict.
"""

from __future__ import annotations

from contextlib import closing

from sdb.errors import CorruptError
from sdb.records import field, record
from sdb.table.history.rowtrace import ABSENT, Origins, SideRuns, side_by_side
from sdb.table.history.rowvalues import canonical, rows_at
from sdb.table.packfiles.lazy import OpenObjects, whole_packfile
from sdb.table.packfiles.rewrite import rewrite

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any, TypeAlias

    import numpy as np
    from numpy.typing import NDArray

    from sdb.progress import Progress
    from sdb.table.catalog.root import TableRoot
    from sdb.table.format.descriptor import Descriptor
    from sdb.table.format.keys import TableKeys

    Numbers: TypeAlias = NDArray[np.int64]
    Truths: TypeAlias = NDArray[np.bool_]

MOST_SHOWN = 100
"""Of more conflicts the rows are not kept to be shown."""
_AT_ONCE = 50_000


@record
class RowConflict:
    """A row that both sides have changed, each in its own way."""

    # Key of the packfile that has the row in the merge base; where the base has none, in the
    # destination.
    packfile: str
    row: int  # its number there
    # The row in the merge base, in the destination and in the source; None: it is not there.
    base: dict[str, Any] | None
    ours: dict[str, Any] | None
    theirs: dict[str, Any] | None


@record
class Overlap:
    """Packfiles that belong together, and that both sides have rewritten."""

    # What each has of them
    base: tuple[Descriptor, ...]
    ours: tuple[Descriptor, ...]
    theirs: tuple[Descriptor, ...]
    strategy: str = ""  # the side that counts for rows in conflict

    @property
    def key(self) -> tuple[object, ...]:
        """The keys that tell it from others."""
        sides = (self.base, self.ours, self.theirs)
        return (*[tuple(sorted(part.key for part in side)) for side in sides], self.strategy)


@record
class MergedRows:
    """The packfiles that a merge by row makes of those of the destination."""

    added: tuple[Descriptor, ...] = ()
    removed: tuple[Descriptor, ...] = ()
    conflicts: tuple[RowConflict, ...] = field(default=(), repr=False)  # the first of them
    conflict_count: int = 0  # number of rows in conflict
    are_rows_traced: bool = True  # whether the packfiles that come say which rows their rows were


def merge_rows(
    root: TableRoot,
    keys: TableKeys,
    overlap: Overlap,
    mark: str,
    *,
    progress: Progress | None = None,
) -> MergedRows:
    """Merge the rows of packfiles that both sides have rewritten.

    * ``mark``: What marks the keys of new packfiles, which no other program uses.
    * ``progress``: Called with how many bytes were rewritten.

    Returns: The packfiles that come and go; with conflicts and without a strategy none, and what is
    in conflict.
    Raises `NotTracedError` if it is not known which rows are which and `CorruptError` if a packfile
    is missing or damaged.
    """
    origins = Origins()
    sides = [origins.located(root, side) for side in (overlap.base, overlap.ours, overlap.theirs)]
    lengths, (base, ours, theirs) = side_by_side(sides)
    plan = _Plan(lengths, base, ours, theirs)
    with closing(OpenObjects()) as objects:
        values = _Values(root, objects, overlap, plan)
        conflicts = plan.settle(values, overlap.strategy)
    if conflicts.count and not overlap.strategy:
        return MergedRows((), (), tuple(conflicts.shown), conflicts.count)
    writer = _Writer(root, keys, mark, progress)
    dropped = plan.dropped(len(overlap.ours))
    taken = plan.taken(len(overlap.theirs))
    removed, added = [], []
    for packfile, rows in zip(overlap.ours, dropped, strict=True):
        if len(rows):
            removed.append(packfile)
            added += writer.without(packfile, rows)
    for packfile, rows in zip(overlap.theirs, taken, strict=True):
        added += writer.only(packfile, rows)
    shown = tuple(conflicts.shown)
    return MergedRows(tuple(added), tuple(removed), shown, conflicts.count, writer.are_rows_traced)


@record
class _Conflicts:
    """Rows in conflict."""

    shown: list[RowConflict]
    count: int


class _Plan:
    """Decisions on rows: whether that of the destination goes, and that of the source comes.

    It is held for runs of rows, and for the rows that both sides have changed one by one.
    """

    def __init__(self, lengths: Numbers, base: SideRuns, ours: SideRuns, theirs: SideRuns) -> None:
        self.lengths = lengths
        self.base, self.ours, self.theirs = base, ours, theirs
        is_ours_same, is_theirs_same = ours.is_same(base), theirs.is_same(base)
        self._is_theirs = is_ours_same & ~is_theirs_same
        self._is_both = ~is_ours_same & ~is_theirs_same & ~ours.is_same(theirs)
        self._single: list[tuple[int, int]] = []

    def settle(self, values: _Values, strategy: str) -> _Conflicts:
        """Decide by their values on rows that both sides have changed."""
        shown: list[RowConflict] = []
        count = 0
        for run, offset, rows in values.of_runs(self._is_both):
            old, mine, other = map(canonical, rows)
            if other in (old, mine):
                continue
            if mine != old:
                count += 1
                if len(shown) < MOST_SHOWN:
                    shown.append(values.conflict(run, offset, rows))
                if strategy != "source":
                    continue
            self._single.append((run, offset))
        return _Conflicts(shown, count)

    def dropped(self, packfiles: int) -> list[Numbers]:
        """Return the rows of each packfile of the destination that go, ascending."""
        return self._rows(self.ours, packfiles)

    def taken(self, packfiles: int) -> list[Numbers]:
        """Return the rows of each packfile of the source that come, ascending."""
        return self._rows(self.theirs, packfiles)

    def _rows(self, side: SideRuns, packfiles: int) -> list[Numbers]:
        import numpy as np

        chosen = self._is_theirs & side.is_there
        pack, row, lengths = side.pack[chosen], side.row[chosen], self.lengths[chosen]
        single = np.array(self._single, np.int64).reshape(-1, 2)
        single = single[side.is_there[single[:, 0]]]
        pack = np.concatenate([pack, side.pack[single[:, 0]]])
        row = np.concatenate([row, side.row[single[:, 0]] + single[:, 1]])
        lengths = np.concatenate([lengths, np.ones(len(single), np.int64)])
        return [
            np.sort(_expanded(row[pack == number], lengths[pack == number]))
            for number in range(packfiles)
        ]


def _expanded(first: Numbers, count: Numbers) -> Numbers:
    """Return the numbers of all rows of runs."""
    import numpy as np

    before = count.cumsum() - count
    total = int(count.sum())
    numbers: Numbers = np.arange(total, dtype=np.int64) + np.repeat(first - before, count)
    return numbers


class _Values:
    """Reads rows of the three sides that belong together."""

    def __init__(
        self, root: TableRoot, objects: OpenObjects, overlap: Overlap, plan: _Plan
    ) -> None:
        self._root = root
        self._objects = objects
        self._packfiles = (overlap.base, overlap.ours, overlap.theirs)
        self._plan = plan
        self._sides = (plan.base, plan.ours, plan.theirs)

    def of_runs(self, chosen: Truths) -> Iterator[tuple[int, int, list[dict[str, Any] | None]]]:
        """Yield the rows of some runs: the run, the number in it, and the row on each side."""
        import numpy as np

        runs = np.flatnonzero(chosen)
        lengths = self._plan.lengths[runs]
        total, ends = int(lengths.sum()), lengths.cumsum()
        for start in range(0, total, _AT_ONCE):
            numbers = np.arange(start, min(start + _AT_ONCE, total), dtype=np.int64)
            at = ends.searchsorted(numbers, "right")
            of_run, offset = runs[at], numbers - (ends - lengths)[at]
            columns = [
                self._read(side, packfiles, of_run, offset)
                for side, packfiles in zip(self._sides, self._packfiles, strict=True)
            ]
            for run, number, *rows in zip(of_run.tolist(), offset.tolist(), *columns, strict=True):
                yield run, number, rows

    def _read(
        self, side: SideRuns, packfiles: Sequence[Descriptor], runs: Numbers, offset: Numbers
    ) -> list[dict[str, Any] | None]:
        import numpy as np

        rows: list[dict[str, Any] | None] = [None] * len(runs)
        pack = side.pack[runs]
        number = side.row[runs] + offset
        for which in np.unique(pack).tolist():
            if which == ABSENT:
                continue
            mine = np.flatnonzero(pack == which)
            mine = mine[number[mine].argsort(kind="stable")]
            opened = whole_packfile(self._root, packfiles[which], self._objects)
            stored = rows_at(opened, number[mine])
            for at, row in zip(mine.tolist(), stored, strict=True):
                rows[at] = row
        return rows

    def conflict(self, run: int, offset: int, rows: Sequence[dict[str, Any] | None]) -> RowConflict:
        """Return a row in conflict, with where it is."""
        number = 0 if rows[0] is not None else 1
        side, packfiles = self._sides[number], self._packfiles[number]
        packfile = packfiles[int(side.pack[run])]
        return RowConflict(packfile.key, int(side.row[run]) + offset, *rows)


class _Writer:
    """Writes packfiles again without some of their rows."""

    def __init__(
        self, root: TableRoot, keys: TableKeys, mark: str, progress: Progress | None
    ) -> None:
        self._root = root
        self._keys = keys
        self._mark = mark
        self._progress = progress
        self._made = 0
        self._done = 0
        self.are_rows_traced = True

    def only(self, packfile: Descriptor, rows: Numbers) -> list[Descriptor]:
        """Return a packfile with some of the rows of another one, or that one if it has no more."""
        import numpy as np

        total = packfile.rows
        if total is None:
            raise CorruptError(f"{packfile.key}: it does not say how many rows it has")
        if not len(rows) or len(rows) == total:
            return [packfile] if len(rows) else []
        is_left_out = np.ones(total, np.bool_)
        is_left_out[rows] = False
        return self.without(packfile, np.flatnonzero(is_left_out))

    def without(self, packfile: Descriptor, rows: Numbers) -> list[Descriptor]:
        """Return a packfile without some of the rows of another one; none if all go."""
        from sdb.packfile.rewrite.rewrite import RowChanges

        if len(rows) == packfile.rows:
            return []
        self._made += 1
        done = rewrite(
            self._root,
            self._keys,
            packfile,
            RowChanges(rows, rows[:0]),
            f"{self._mark}-{self._made}",
            progress=self._advance,
        )
        if done.rows_before - done.rows_after != len(rows):
            message = f"{done.rows_before - done.rows_after:,} rows went, and not {len(rows):,}"
            raise CorruptError(f"{packfile.key}: {message}", path=packfile.key)
        self.are_rows_traced &= done.are_rows_traced
        return [] if done.descriptor is None else [done.descriptor]

    def _advance(self, size_bytes: int) -> None:
        self._done += size_bytes
        if self._progress is not None:
            self._progress(self._done, None)
