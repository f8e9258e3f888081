"""Fronts of blocks: from zones, what is first of the values that rows are sorted by.

NULL stands in front of all others unless it is wanted last; then come booleans, numbers, times and
texts, or the other way round; lists and structures stand behind them in any case. NaN is above all
numbers. So the first of a zone is that of the type that comes first.
"""

from __future__ import annotations

from sdb.packfile.prune.predicate import NULL_TYPE
from sdb.query.analyze.types import ANY, NULL

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, TypeAlias

    from sdb.packfile.trailer.zonemap import Zone

Front: TypeAlias = "int | tuple[Any, ...] | None"
"""A time in microseconds, a constant in the form of `_core.LaneScan`, or ``("none",)`` where no row
has a value; None: not known."""

# Null, booleans, numbers, times and texts; lists and structures, which stand behind them.
_KNOWN = 0b1_0101_1111 | 1 << 11 | 1 << 13
_NOTHING = ("none",)
_NAN = ("n", float("nan"))


def front(zone: Zone | None, *, descending: bool, beside: int) -> Front:
    """Return the value that no other of a block is in front of.

    * ``beside``: The types that may stand behind times, see
      :meth:`sdb.query.catalog.dataset.Dataset.bounds`: all, if only times count; with NULL, if that
      is wanted last.
    """
    if zone is None or zone.types & ~_KNOWN:
        return None
    if not zone.types:
        return _NOTHING
    if beside == ANY:
        return zone.times[descending] if zone.times else _NOTHING
    if zone.types & NULL_TYPE and not beside & NULL:
        return ("z",)
    return _first(zone, last=descending)


def _first(zone: Zone, *, last: bool) -> Front:
    """Return least of all values but NULL, or the greatest; None where there are lists alone."""
    times = zone.times[last] if zone.times else None
    fronts = [_boolean(zone, last=last), _number(zone, last=last), times]
    if zone.texts:
        text = zone.texts[last]
        if text is None:
            return None
        fronts.append(("s", text))
    known = [bound for bound in fronts if bound is not None]
    return known[-1 if last else 0] if known else None


def _boolean(zone: Zone, *, last: bool) -> Front:
    if not zone.booleans:
        return None
    return ("b", bool(zone.booleans & 2) if last else not zone.booleans & 1)


def _number(zone: Zone, *, last: bool) -> Front:
    if zone.has_nan and (last or zone.numbers is None):
        return _NAN
    if zone.numbers is None:
        return None
    number = zone.numbers[last]
    return ("n" if isinstance(number, float) else "x", number)
