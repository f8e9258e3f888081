"""Blocks that a moment in time is in: what sorting by something else costs the time index."""

from __future__ import annotations

from sdb.packfile.trailer.fieldcounts import field_name
from sdb.records import record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from sdb.packfile.trailer.sparseindex import Path
    from sdb.table.packfiles.merge import BlockTimes


@record
class TimeShares:
    """Shares of blocks whose times a moment lies between, on average over all of their time.

    Attributes
    ----------
    path : tuple of str
        Where the times are.
    before, after : float
        The share before packfiles were sorted, and since.
    """

    path: Path
    before: float
    after: float

    def as_dict(self) -> dict[str, object]:
        """Give it as plain values with stable names, for JSON."""
        return {
            "path": field_name(self.path),
            "before": round(self.before, 4),
            "after": round(self.after, 4),
        }


def time_shares(
    path: Path | None, runs: Sequence[tuple[BlockTimes, BlockTimes]]
) -> TimeShares | None:
    """Compare the times of blocks before and after packfiles were sorted.

    Parameters
    ----------
    path : tuple of str or None
        Where the times are; None: where blocks were sharpest before.
    runs : sequence of tuple
        For each packfile that was made the times of the blocks of its parts, and of its own.

    Returns
    -------
    TimeShares or None
        None where not all have such times.
    """
    sides = [one for run in runs for one in run]
    if not sides:
        return None
    paths = set().union(*sides) if path is None else {path}
    found = [_of_path(one, runs) for one in sorted(paths) if all(side.get(one) for side in sides)]
    return min(found, key=lambda one: one.before, default=None)


def _of_path(path: Path, runs: Sequence[tuple[BlockTimes, BlockTimes]]) -> TimeShares:
    before, after = ([span for run in runs for span in run[side][path]] for side in (0, 1))
    spans = before + after
    whole_us = max(last for _, last in spans) - min(first for first, _ in spans)
    return TimeShares(path, _share(before, whole_us), _share(after, whole_us))


def _share(spans: Iterable[tuple[int, int]], whole_us: int) -> float:
    found = [last - first for first, last in spans]
    return sum(found) / (len(found) * whole_us) if whole_us else 1.0
