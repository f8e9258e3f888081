"""Sharpness of paths, as text."""

from __future__ import annotations

from sdb import sizes
from sdb.packfile.trailer.fieldcounts import field_name
from sdb.view.facts import table

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sdb.packfile.inspect.selectivity import PathSharpness, Sharpness

MOST_PATHS = 32
_UNKNOWN = "-"


def sharpness_text(report: Sharpness, *, columns: int) -> str:
    """Say how sharp the paths of packfiles are.

    Returns: A line about all, one for each of the sharpest paths, and one for each to cluster by.
    """
    share = report.statistics_bytes / max(1, report.size_bytes)
    lines = (
        f"statistics: {sizes.human(report.statistics_bytes)}, {share:.1%} of "
        f"{sizes.human(report.size_bytes)}; blocks that are read for the rows with one value, "
        f"of {report.blocks:,} in {report.packfiles:,} packfiles, by {report.sampled_rows:,} rows\n"
    )
    head = ["path", "read", "if clustered", "present", "zones", "filters"]
    shown = report.paths[:MOST_PATHS]
    if shown:
        lines += table(head, [_cells(path) for path in shown], columns=columns)
    if missing := len(report.paths) - len(shown):
        lines += f"and {missing:,} more, see --json\n"
    if report.clustered:
        lines += f"sorted by {', '.join(map(field_name, report.clustered))}\n"
    for path in report.advised:
        lines += (
            f"clustered by {path.name}: about {percent(path.clustered)} instead of "
            f"{percent(path.read)} of the blocks for one value of it\n"
        )
    return lines


def _cells(path: PathSharpness) -> list[str]:
    return [
        path.name,
        percent(path.read),
        percent(path.clustered),
        percent(path.present),
        sizes.human(path.zone_bytes) if path.zone_bytes else _UNKNOWN,
        sizes.human(path.filter_bytes) if path.filter_bytes else _UNKNOWN,
    ]


def percent(share: float | None) -> str:
    """Write a share.

    >>> percent(0.0123), percent(0.5), percent(None)
    ('1.2 %', '50 %', '-')
    """
    if share is None:
        return _UNKNOWN
    few = 0.1
    return f"{100 * share:.1f} %" if 0 < share < few else f"{100 * share:.0f} %"
