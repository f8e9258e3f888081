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


def sharpness_text(found: Sharpness, *, columns: int) -> str:
    """Say how sharp the paths of packfiles are.

    Parameters
    ----------
    found : Sharpness
        What was found.
    columns : int
        Width to stay within, in characters.

    Returns
    -------
    str
        A line about all, one for each of the sharpest paths, and one for each to cluster by.
    """
    share = found.statistics_bytes / max(1, found.size_bytes)
    lines = (
        f"statistics: {sizes.human(found.statistics_bytes)}, {share:.1%} of "
        f"{sizes.human(found.size_bytes)}; blocks that are read for the rows with one value, "
        f"of {found.blocks:,} in {found.packfiles:,} packfiles, by {found.sampled_rows:,} rows\n"
    )
    head = ["path", "read", "if clustered", "present", "zones", "filters"]
    shown = found.paths[:MOST_PATHS]
    if shown:
        lines += table(head, [_cells(one) for one in shown], columns=columns)
    if missing := len(found.paths) - len(shown):
        lines += f"and {missing:,} more, see --json\n"
    if found.clustered:
        lines += f"sorted by {', '.join(map(field_name, found.clustered))}\n"
    for one in found.advised:
        lines += (
            f"clustered by {one.name}: about {percent(one.clustered)} instead of "
            f"{percent(one.read)} of the blocks for one value of it\n"
        )
    return lines


def _cells(one: PathSharpness) -> list[str]:
    return [
        one.name,
        percent(one.read),
        percent(one.clustered),
        percent(one.present),
        sizes.human(one.zone_bytes) if one.zone_bytes else _UNKNOWN,
        sizes.human(one.filter_bytes) if one.filter_bytes else _UNKNOWN,
    ]


def percent(share: float | None) -> str:
    """Write a share.

    Examples
    --------
    >>> percent(0.0123), percent(0.5), percent(None)
    ('1.2 %', '50 %', '-')
    """
    if share is None:
        return _UNKNOWN
    few = 0.1
    return f"{100 * share:.1f} %" if 0 < share < few else f"{100 * share:.0f} %"
