"""Rows of a packfile that are too old: what its index proves of all of them, or rows are read.

A row is too old if it has a time at the field, and that is before the limit. The time index of a
packfile has the range of the times that there are, and nothing of rows without one: of all rows it
is a proof only together with the presence of the field.
"""

from __future__ import annotations

from math import ceil

from sdb.errors import CorruptError, UnsupportedError
from sdb.ion import instant_to_us
from sdb.lru import LruCache
from sdb.packfile.prune.selection import find_path
from sdb.records import record
from sdb.table.packfiles.lazy import whole_packfile
from sdb.table.packfiles.rowscan import ROW, RowScan

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from typing import Any

    import numpy as np
    from numpy.typing import NDArray

    from sdb.packfile.read.reader import Packfile
    from sdb.packfile.trailer.fieldcounts import FieldCount
    from sdb.packfile.trailer.sparseindex import Path, SparseIndex
    from sdb.table.catalog.root import TableRoot
    from sdb.table.format.descriptor import Descriptor
    from sdb.table.packfiles.lazy import OpenObjects

TIMES_ALONE = 1 << 6
"""The mask of a field that has timestamps and nothing else."""

_NO_TIME = 0xFF & ~8  # of the masks of scans: all types but times, and rows without a value
_LOOK_AGAIN_US = 3_600_000_000
_LOOKED: LruCache[tuple[object, ...], int] = LruCache(most_entries=4096)


@record
class RetentionRule:
    """The rows that a table does not keep, at one instant."""

    field: str  # the path of the times, as the definition has it
    limit_us: int  # what is before it is too old
    share: float = 0.0  # which share of the rows of a packfile may go before it is rewritten
    takes_timeless: bool = False  # whether rows without a time go as well
    stored: Path | None = None  # where the rows have it, if the schema says that

    def path(self, sparse: SparseIndex) -> Path:
        """Return the path of the times in a packfile."""
        return self.path_among(sparse.indices)

    def path_among(self, indexed: Collection[Path]) -> Path:
        """Return the path of the times where some paths are indexed."""
        return self.stored or find_path(indexed, self.field)

    def needed(self, rows: int) -> int:
        """Return how many rows of a packfile have to be too old for it to be rewritten."""
        return max(1, ceil(self.share * rows))


@record
class OldRows:
    """The rows of a packfile that go."""

    packfile: Descriptor
    count: int | None  # how many there are; None: all, and the index does not know their number
    rows: NDArray[np.int64] | None = None  # their numbers, ascending; None: all


def decided(descriptor: Descriptor, rule: RetentionRule) -> bool | None:
    """Return whether all rows of a packfile go, or none for now; None: it has to be looked into."""
    try:
        sparse = descriptor.checked().trailer.sparse
    except (CorruptError, UnsupportedError):
        return False  # reading it reports that
    path = rule.path(sparse)
    if path[0] in sparse.constants:
        value_us = constant_us(sparse, path)
        return rule.takes_timeless if value_us is None else value_us < rule.limit_us
    if sparse.is_without_times(path):
        return rule.takes_timeless
    return _decided(descriptor, sparse, rule)


def _decided(descriptor: Descriptor, sparse: SparseIndex, rule: RetentionRule) -> bool | None:
    """Return the same of a packfile in which rows may have a time, by its time index."""
    index = sparse.indices.get(rule.path(sparse))
    if index is None or rule.takes_timeless:
        is_over = index is not None and index.last_us < rule.limit_us
        return True if is_over else None
    if index.first_us >= rule.limit_us:
        return False
    rows = descriptor.rows
    if rows is None or sparse.summary is None or index.last_us < rule.limit_us:
        return None
    ranges = map(index.known_range, range(sparse.blocks))
    counts = zip(sparse.summary.rows, ranges, strict=True)
    most = sum(count for count, range_ in counts if range_ and range_[0] < rule.limit_us)
    return False if most < rule.needed(rows) else None


def has_times(descriptor: Descriptor, rule: RetentionRule) -> bool:
    """Return whether the index proves that a packfile has a time at the field."""
    sparse = descriptor.trailer.sparse
    path = rule.path(sparse)
    index, summary = sparse.indices.get(path), sparse.summary
    types = 0 if summary is None else summary.types.get(path, 0)
    return (
        (index is not None and not index.is_empty)
        or bool(types & TIMES_ALONE)
        or constant_us(sparse, path) is not None
    )


def constant_us(sparse: SparseIndex, path: Path) -> int | None:
    """Return the time that all rows of a packfile have at a path; None: they have no time."""
    value: object = sparse.constants
    for name in path:
        value = value.get(name) if isinstance(value, dict) else None
    return instant_to_us(value)


def looked_for(
    root: TableRoot, descriptor: Descriptor, rule: RetentionRule, objects: OpenObjects
) -> OldRows | None:
    """Look for rows of a packfile that go; None: too few are old for now.

    What had too few is not looked at again by this program until an hour later, unless its newest
    time is too old.
    Raises `CorruptError` if it is missing or damaged, or not the one that the index has.
    """
    known = root.place(descriptor.key), descriptor.etag, rule.stored, rule.field
    known += rule.share, rule.takes_timeless  # type: ignore[assignment]  # a longer tuple
    index = descriptor.trailer.sparse.indices.get(rule.path(descriptor.trailer.sparse))
    is_over = index is not None and not index.is_empty and index.last_us < rule.limit_us
    before_us = _LOOKED.get(known)
    if not is_over and before_us is not None and 0 <= rule.limit_us - before_us < _LOOK_AGAIN_US:
        return None
    pack = whole_packfile(root, descriptor, objects)
    if not rule.takes_timeless and pack.trailer.sparse.is_without_times(
        rule.path(pack.trailer.sparse)
    ):
        _LOOKED.put(known, rule.limit_us)
        return None
    look = _Look(pack, rule)
    numbers = look.old()
    if not len(numbers) or not (len(numbers) >= rule.needed(look.row_count) or look.are_over()):
        _LOOKED.put(known, rule.limit_us)
        return None
    is_whole = len(numbers) == look.row_count
    return OldRows(descriptor, len(numbers), None if is_whole else numbers)


class _Look:
    """Looks for old rows in an open packfile."""

    def __init__(self, pack: Packfile, rule: RetentionRule) -> None:
        self._scan, self._rule = RowScan(pack), rule
        sparse = pack.trailer.sparse
        self._path = rule.path(sparse)
        self._index = sparse.indices.get(self._path)
        self.row_count = self._scan.firsts[-1]
        count = field_count(sparse, self._path)
        self._is_full = count is not None and (count.rows, count.types) == (
            self.row_count,
            TIMES_ALONE,
        )

    def old(self) -> NDArray[np.int64]:
        """Return the numbers of the rows that go."""
        import numpy as np

        read: list[int] = []
        runs: list[NDArray[np.int64]] = []
        for number in range(len(self._scan.rows)):
            are_old = self._are_old(number)
            if are_old:
                runs.append(np.arange(*self._scan.firsts[number : number + 2], dtype=np.int64))
            elif are_old is None:
                read.append(number)
        old: Any = ("cmp", list(self._path), "<", ("u", self._rule.limit_us))
        if self._rule.takes_timeless:
            old = ("or", [old, ("is", list(self._path), _NO_TIME)])
        runs += self._matching(read, old)
        return np.sort(np.concatenate(runs)) if runs else np.empty(0, np.int64)

    def are_over(self) -> bool:
        """Return whether no row has a time that is kept."""
        if self._index is not None:
            return self._index.last_us < self._rule.limit_us
        young = ("cmp", list(self._path), ">=", ("u", self._rule.limit_us))
        return not self._matching(range(len(self._scan.rows)), young)

    def _are_old(self, number: int) -> bool | None:
        """Return whether all rows of a block go, or none; None: they have to be read."""
        if self._index is None:
            return None
        rule, range_ = self._rule, self._index.known_range(number)
        if range_ is None:
            return rule.takes_timeless
        if range_[1] < rule.limit_us and (self._is_full or rule.takes_timeless):
            return True
        if range_[0] >= rule.limit_us and (self._is_full or not rule.takes_timeless):
            return False
        return None

    def _matching(self, blocks: Sequence[int], predicate: Any) -> list[NDArray[np.int64]]:  # noqa: ANN401 - as the stub has it
        """Return the numbers of rows of some blocks for which a predicate is TRUE."""
        import numpy as np

        batches = self._scan.batches(blocks, [ROW], predicate)
        return [batch.column(0).to_numpy().astype(np.int64) for batch in batches if batch.num_rows]


def field_count(sparse: SparseIndex, path: Path) -> FieldCount | None:
    """Return types and rows of a field; None where they are not known."""
    try:
        presence = sparse.presence()
    except CorruptError:
        return None
    return None if presence is None else presence.fields.get(path)
