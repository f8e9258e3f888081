"""Counts, while rows are read, those that a query leaves out because they have no key."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from sdb import _core
    from sdb.query.plan.leftout import Fields
    from sdb.query.plan.scans import Lane, ScanNode


def places(lanes: Iterable[Lane], paths: Sequence[Fields]) -> dict[Fields, int]:
    """Find lanes of rows that are about paths.

    Parameters
    ----------
    lanes : iterable of lanes
        What a scan reads.
    paths : sequence of tuple of str
        The paths.

    Returns
    -------
    dict
        The number of a lane for each path that has one.
    """
    found = {
        path: at
        for at, (level, path, letter) in enumerate(lanes)
        if not level and letter not in {"file", "row"}
    }
    return {path: found[path] for path in paths if path in found}


class Watching:
    """Tells how many rows without a path a scan has met.

    Parameters
    ----------
    scan : LaneScan
        The scan, which watches one lane for each path.
    paths : sequence of tuple of str
        The paths.
    node : ScanNode
        What the scan was made of.
    """

    def __init__(self, scan: _core.LaneScan, paths: Sequence[Fields], node: ScanNode) -> None:
        self._scan = scan
        self._paths = paths
        self._blocks = sum(len(chunks) for _, chunks, *_ in node.dataset.sources)

    def __call__(self, path: Fields) -> tuple[int, int] | None:
        """Give the number of such rows, and of all that satisfy the condition of the query.

        ``None`` when some blocks have not been read, or when they were read twice.
        """
        if path not in self._paths or self._scan.stats[0] != self._blocks:
            return None
        rows, without = self._scan.watched
        return without[self._paths.index(path)], rows
