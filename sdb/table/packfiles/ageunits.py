"""Units of time by which packfiles are kept apart, so that whole ones become too old.

Rows of a table with a retention policy go by their own time, and packfiles in which enough of them
are too old are rewritten. One whose rows are all of one unit goes without that.
"""

from __future__ import annotations

from sdb import instants
from sdb.errors import CorruptError
from sdb.packfile.prune.selection import find_path
from sdb.records import record
from sdb.table.packfiles.rowscan import ROW, RowScan

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Self

    from sdb.packfile.read.reader import Packfile
    from sdb.packfile.trailer.sparseindex import SparseIndex
    from sdb.table.definition.timespan import Retention

_DAY_US = 86_400 * instants.SECOND_US
_STEPS = ((31, 1), (366, 7))
_LONG_DAYS = 30


@record
class AgeUnits:
    """Units of time of a table: a day, a week or thirty days, by how long its rows are kept."""

    field: str  # the path of the times
    days: int  # how long a unit is

    @classmethod
    def of(cls, policy: Retention | None) -> Self | None:
        """Return the units of a policy; None: it keeps all rows."""
        span = None if policy is None else policy.valid_for
        if policy is None or span is None or not policy.field or str(span) == "0d":
            return None
        kept_days = 365 * span.years + 30 * span.months + span.days
        fitting = [days for most, days in _STEPS if kept_days <= most]
        return cls(policy.field, fitting[0] if fitting else _LONG_DAYS)

    def number(self, time_us: int) -> int:
        """Return the number of the unit that a time is in."""
        return time_us // (self.days * _DAY_US)

    def of_packfile(self, sparse: SparseIndex) -> int | None:
        """Return the unit that all times of a packfile are in; None: there is no such one."""
        index = sparse.indices.get(find_path(sparse.indices, self.field))
        if index is None or index.is_empty:
            return None
        first, last = self.number(index.first_us), self.number(index.last_us)
        return first if first == last else None

    def of_inputs(self, pack: Packfile) -> dict[str, int]:
        """Return the unit of the newest time of each input of a packfile that has times."""
        import numpy as np

        sparse = pack.trailer.sparse
        path = find_path(sparse.indices, self.field)
        index = sparse.indices.get(path)
        try:
            provenance = sparse.provenance()
        except CorruptError:
            provenance = None
        if provenance is None or index is None or self.of_packfile(sparse) is not None:
            return {}
        starts = np.array([origin.first for origin in provenance.origins], np.int64)
        unknown = np.iinfo(np.int64).min
        newest = np.full(len(starts), unknown, np.int64)
        scan = RowScan(pack)
        for batch in scan.batches(range(len(scan.rows)), [ROW, (0, list(path), "u")]):
            times = batch.column(1)
            numbers = (
                batch.column(0)
                .to_numpy()
                .astype(np.int64)[times.is_valid().to_numpy(zero_copy_only=False)]
            )
            at = starts.searchsorted(numbers, "right") - 1
            np.maximum.at(newest, at, times.drop_null().cast("int64").to_numpy())
        pairs = zip(provenance.origins, newest.tolist(), strict=True)
        units: dict[str, int] = {}
        for origin, us in pairs:  # the files of an archive are one input
            if us != unknown:
                units[origin.name] = max(self.number(us), units.get(origin.name, self.number(us)))
        return units
