"""Rows that are followed through versions: what became of each, by its identity.

The rows of some packfiles of two or three versions are put side by side, in runs of rows for which
the same holds. Nothing here reads a row; see :mod:`sdb.packfile.trailer.identities`.
"""

from __future__ import annotations

from sdb.errors import CorruptError
from sdb.records import record
from sdb.table.format.state import RowCounts
from sdb.table.history.lineage import Ancestry
from sdb.table.packfiles.identities import identities_of
from sdb.table.packfiles.lazy import OpenObjects, whole_packfile

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import TypeAlias

    import numpy as np
    from numpy.typing import NDArray

    from sdb.table.catalog.handle import TableHandle
    from sdb.table.catalog.root import TableRoot
    from sdb.table.format.descriptor import Descriptor
    from sdb.table.format.state import VersionState

    Numbers: TypeAlias = NDArray[np.int64]
    Truths: TypeAlias = NDArray[np.bool_]

ABSENT = -1
MOST_OPENED = 1000
"""The trailers of more packfiles are not read to count rows."""
_ROW_BITS = 40
_MOST_ORIGINS = 1 << 22


class NotTracedError(Exception):
    """It is not known which rows are which."""


@record
class SideRuns:
    """For each run, what one side has of its rows."""

    change: Numbers  # the last change, 0 for none, or `ABSENT` where the side has no such rows
    pack: Numbers  # the number of the packfile
    row: Numbers  # the number of the first row there

    def is_same(self, other: SideRuns) -> Truths:
        """Return for which runs both sides have the same."""
        same: Truths = self.change == other.change
        return same

    @property
    def is_there(self) -> Truths:
        """True for runs of which the side has the rows."""
        is_there: Truths = self.change != ABSENT
        return is_there


class Origins:
    """Numbers for packfiles and changes, the same for all sides that are put side by side."""

    def __init__(self) -> None:
        self._packfiles: dict[bytes, int] = {}
        self._changes: dict[bytes, int] = {b"": 0}

    def located(self, root: TableRoot, packfiles: Sequence[Descriptor]) -> list[Numbers]:
        """Read where the rows of a side are.

        Returns: For each run the place where it begins and stops, its last change, and where it is:
        the number of its packfile, and of its first row there; ascending.
        Raises `NotTracedError` if it is not known, or a row occurs twice.
        """
        import numpy as np

        columns: list[list[Numbers]] = [[np.empty(0, np.int64)] for _ in range(5)]
        for number, packfile in enumerate(packfiles):
            objects = OpenObjects()
            try:
                trailer = whole_packfile(root, packfile, objects).trailer
                identities = identities_of(packfile.key, trailer)
            except CorruptError as error:
                raise NotTracedError(error.message) from error
            finally:
                objects.close()
            if identities is None:
                raise NotTracedError(f"{packfile.key} does not say how many rows it has")
            if not identities.rows:
                continue
            numbers = [
                (
                    self._packfiles.setdefault(origin, len(self._packfiles)),
                    self._changes.setdefault(change, len(self._changes)),
                )
                for origin, change in identities.sources
            ]
            origins, changes = np.array(numbers, np.int64).T
            begin = (origins[identities.source] << _ROW_BITS) + identities.first
            source = changes[identities.source]
            of_run = np.full(len(begin), number, np.int64)
            values = (begin, begin + identities.count, source, of_run, identities.starts)
            for column, value in zip(columns, values, strict=True):
                column.append(value)
        begin, stop, *rest = map(np.concatenate, columns)
        order = begin.argsort(kind="stable")
        if len(self._packfiles) > _MOST_ORIGINS or (stop[order][:-1] > begin[order][1:]).any():
            raise NotTracedError("a row occurs twice")
        return [column[order] for column in (begin, stop, *rest)]


def side_by_side(sides: Sequence[list[Numbers]]) -> tuple[Numbers, list[SideRuns]]:
    """Put the rows of several sides side by side.

    * ``sides``: Where the rows of each are, see :meth:`Origins.located`.

    Returns: Numbers of rows of each run, and what each side has of them.
    """
    import numpy as np

    cuts = np.unique(np.concatenate([np.concatenate(side[:2]) for side in sides]))
    begin = cuts[:-1]
    runs = []
    for starts, stops, change, pack, row in sides:
        at = starts.searchsorted(begin, "right") - 1
        if not len(starts):
            empty = np.full(len(begin), ABSENT, np.int64)
            runs.append(SideRuns(empty, empty, empty))
            continue
        is_there = (at >= 0) & (begin < stops[at])
        columns = (change[at], pack[at], row[at] + begin - starts[at])
        runs.append(SideRuns(*[np.where(is_there, column, ABSENT) for column in columns]))
    is_any = np.zeros(len(begin), np.bool_)
    for run in runs:
        is_any |= run.is_there
    lengths = np.diff(cuts)[is_any]
    return lengths, [
        SideRuns(run.change[is_any], run.pack[is_any], run.row[is_any]) for run in runs
    ]


def counted(lengths: Numbers, before: SideRuns, after: SideRuns) -> RowCounts:
    """Count the rows that were inserted, updated and deleted."""
    is_new = after.is_there & ~before.is_there
    is_gone = before.is_there & ~after.is_there
    is_other = before.is_there & after.is_there & ~before.is_same(after)
    return RowCounts(*(int(lengths[chosen].sum()) for chosen in (is_new, is_other, is_gone)))


def counts_between(
    root: TableRoot, removed: Sequence[Descriptor], added: Sequence[Descriptor]
) -> RowCounts | None:
    """Count what became of rows when packfiles took the place of others.

    Returns: None where that is not known, or too many packfiles would have to be opened.
    """
    if len(removed) + len(added) > MOST_OPENED:
        return None
    origins = Origins()
    try:
        sides = [origins.located(root, packfiles) for packfiles in (removed, added)]
    except NotTracedError:
        return None
    lengths, (before, after) = side_by_side(sides)
    return counted(lengths, before, after)


def is_traced(state: VersionState, own: Ancestry, other: Ancestry) -> bool:
    """Return whether rows are followed on one side since it parted from another one.

    * ``state``: That of the newest version of the side.
    """
    common = next((version for version in own.chains[0] if version.key in other.known), None)
    return common is not None and state.traces_rows(common.version)


def are_traced(before: TableHandle, after: TableHandle) -> bool:
    """Return whether rows are followed from a version to another one of the same table."""
    old, new = before.state, after.state
    if old is None or new is None or old.table != new.table:
        return False
    try:
        ours, theirs = Ancestry(before, old), Ancestry(after, new)
    except CorruptError:
        return False
    return is_traced(old, ours, theirs) and is_traced(new, theirs, ours)
