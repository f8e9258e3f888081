"""Totals that metadata tells: number, least and greatest of what is at a path in all rows.

Zones of blocks have exact bounds of numbers and times; the presence of fields tells in how many
rows a path has a value. With NaN, of blocks of which nothing is known, and with any condition it
takes the rows.
"""

from __future__ import annotations

from collections import Counter

from sdb import ion
from sdb.errors import CorruptError
from sdb.query.analyze.types import NULL, NUMBER, TIME
from sdb.query.exec.execution import Execution, lanes_of
from sdb.query.plan.scans import HashAggregate

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

    from sdb.packfile.trailer.zonemap import Zone
    from sdb.query.catalog.dataset import ValuePath
    from sdb.query.catalog.tablescan import PackfileScan
    from sdb.query.plan.scans import Accumulator, Constants, Lane

_WHOLE_LIMIT = 1 << 64
_BOUNDS = {
    "least": ("numbers", min),
    "greatest": ("numbers", max),
    "earliest": ("times", min),
    "latest": ("times", max),
}


class _Unknown(Exception):  # noqa: N818
    """A total that takes the rows."""


def told_by_metadata(operation: Constants | HashAggregate) -> Execution | None:
    """Answer a statement without reading any row; None: it takes the rows."""
    if isinstance(operation, HashAggregate):
        return _counted_groups(operation) or _totals(operation)
    return _repeated(operation)


def _totals(groups: HashAggregate) -> Execution | None:
    """Find out totals."""
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
    if name == "constant":
        return where
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
    if letter in "bs":
        return value
    if letter == "t":
        return NULL if value is None else TIME if is_time else NUMBER
    if value is None or is_time is not (letter == "u"):
        return None
    if letter == "n":
        return float(value)
    if isinstance(value, float):
        return int(value) if value.is_integer() and abs(value) <= _WHOLE_LIMIT else None
    return int(value)


# Counts of groups that metadata tells: by fields that are the same in all rows of a packfile.

_LETTERS = frozenset("nxsu")


def _counted_groups(groups: HashAggregate) -> Execution | None:
    """Count the rows of groups without reading any."""
    scan = groups.scan
    paths = [groups.lanes[lane][1] for lane, grain in groups.keys if grain is None]
    is_count = all(call == ("rows", None, None) for call in groups.calls)
    is_plain = scan.predicate is None and not scan.explode and len(paths) == len(groups.keys)
    if not (is_count and is_plain and paths) or not _LETTERS.issuperset(
        letter for _, letter in groups.outputs
    ):
        return None
    counts: Counter[tuple[Any, ...]] = Counter()
    for part in getattr(scan.dataset, "read", ()):
        key, rows = tuple(_constant(part, path) for path in paths), part.rows
        if rows is None or None in key:
            return None
        counts[key] += rows
    if any(len(set(map(type, column))) > 1 for column in zip(*counts, strict=True)):
        return None
    counted = [(*key, *[count] * len(groups.calls)) for key, count in counts.items() if count]
    for number, descending, _ in reversed(groups.sort):
        counted.sort(key=lambda row: row[number], reverse=descending)
    rows = [
        [_group_cell(row[number], letter) for number, letter in groups.outputs] for row in counted
    ]
    return told(groups, rows)


def _repeated(constants: Constants) -> Execution | None:
    """Return rows of constants, where metadata tells how many there are."""
    count = constants.scan.dataset.row_count()
    if count is None or constants.scan.predicate is not None:
        return None
    rows = [constants.row] * min(count, constants.limit)
    return Execution(constants.columns, lanes_of(rows, constants.columns))


def told(groups: HashAggregate, rows: Sequence[Sequence[object]]) -> Execution:
    """Answer a statement with rows that metadata tells, of which it may want only some."""
    stop = None if groups.limit is None else groups.offset + groups.limit
    return Execution(groups.columns, lanes_of(rows[groups.offset : stop], groups.columns))


def _constant(part: PackfileScan, path: ValuePath) -> Any:  # noqa: ANN401 - text, int or time
    """Return what is at a path in all rows; None: that is not known, or of another type."""
    constants = part.pack.trailer.sparse.constants
    value = constants.get(str(path[0])) if len(path) == 1 else None
    if type(value) in {str, int}:
        return value
    us = ion.instant_to_us(value)
    return None if us is None else Moment(us)


class Moment(int):
    """Microseconds since 1970, which are no number."""


def _group_cell(value: object, letter: str) -> object:
    """Return what a lane has of a value."""
    kind = {str: "s", Moment: "u"}.get(type(value), "x")
    return value if letter == kind else None
