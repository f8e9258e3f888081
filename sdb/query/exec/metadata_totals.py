"""Totals that metadata tells: number, least and greatest of what is at a path in all rows.

Zones of blocks have exact bounds of numbers and times; the presence of fields tells in how many
rows a path has a value. With NaN, of blocks of which nothing is known, and with any condition it
takes the rows.
"""

from __future__ import annotations

from sdb.errors import CorruptError
from sdb.query.analyze.types import NULL, NUMBER, TIME
from sdb.query.exec.metadata_groups import Moment, told

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

    from sdb.packfile.trailer.zonemap import Zone
    from sdb.query.catalog.tablescan import PackfileScan
    from sdb.query.exec.execution import Execution
    from sdb.query.plan.operations import Accumulator, HashAggregate
    from sdb.query.plan.scans import Lane

_WHOLE_LIMIT = 1 << 64
_BOUNDS = {
    "least": ("numbers", min),
    "greatest": ("numbers", max),
    "earliest": ("times", min),
    "latest": ("times", max),
}


class _Unknown(Exception):  # noqa: N818
    """A total that takes the rows."""


def told_totals(groups: HashAggregate) -> Execution | None:
    """Answer a statement of totals without reading any row."""
    scan = groups.scan
    if groups.keys or scan.predicate is not None or scan.explode:
        return None
    if not getattr(scan.dataset, "is_pruned", False):
        return None
    parts: Sequence[PackfileScan] = getattr(scan.dataset, "read", ())
    try:
        totals = [_total(call, groups.lanes, parts) for call in groups.calls]
    except _Unknown:
        return None
    row = [_cell(totals[number], letter) for number, letter in groups.outputs]
    scan.dataset.visited([])
    return told(groups, [row])


def _total(call: Accumulator, lanes: Sequence[Lane], parts: Sequence[PackfileScan]) -> Any:  # noqa: ANN401 - of any type
    """Find out one total, or give up."""
    name, lane, where = call
    if where is not None:
        raise _Unknown
    if name == "rows":
        return sum(_rows(part) for part in parts)
    if lane is None or not all(isinstance(step, str) for step in lanes[lane][1]):
        raise _Unknown
    path = tuple(map(str, lanes[lane][1]))
    if name == "present":
        return sum(_present(part, path) for part in parts)
    if name not in _BOUNDS:
        raise _Unknown
    kind, choose = _BOUNDS[name]
    bounds = [
        bound
        for part in parts
        for zone in _zones(part, path)
        for bound in getattr(zone, kind) or ()
    ]
    extreme = choose(bounds, default=None)
    return Moment(extreme) if extreme is not None and kind == "times" else extreme


def _rows(part: PackfileScan) -> int:
    if part.rows is None:
        raise _Unknown
    return part.rows


def _present(part: PackfileScan, path: tuple[str, ...]) -> int:
    """Count the rows of a packfile that have a value at a path, NULL included."""
    sparse, _ = part.pack.known
    try:
        presence = sparse.presence()
    except CorruptError:
        presence = None
    if presence is None or path[0] in sparse.constants or len(part.blocks) < sparse.blocks:
        raise _Unknown
    count = presence.fields.get(path)
    if count is None and not presence.complete:
        raise _Unknown
    return 0 if count is None else count.rows


def _zones(part: PackfileScan, path: tuple[str, ...]) -> Iterator[Zone]:
    """Yield the zones of the blocks of a packfile, each of which has bounds."""
    sparse, statistics = part.pack.known
    zones = None if statistics is None else statistics.zone(path)
    if zones is None or path[0] in sparse.constants:
        raise _Unknown
    for number in part.blocks:
        zone = zones[number]
        if zone is None or zone.has_nan:
            raise _Unknown
        yield zone


def _cell(value: Any, letter: str) -> object:  # noqa: ANN401 - of any type
    """Return what a lane has of a total."""
    is_time = isinstance(value, Moment)
    if letter == "t":
        return NULL if value is None else TIME if is_time else NUMBER
    if value is None or is_time is not (letter == "u"):
        return None
    if letter == "n":
        return float(value)
    if isinstance(value, float):
        return int(value) if value.is_integer() and abs(value) <= _WHOLE_LIMIT else None
    return int(value)
