"""Round times along an axis, and their short labels."""

from __future__ import annotations

from datetime import UTC, datetime

from sdb import instants
from sdb.records import record

_MINUTE = 60
_HOUR = 3600
_DAY = 86_400
_STEPS = (
    *(1, 2, 5, 10, 15, 30),
    *(_MINUTE * n for n in (1, 2, 5, 10, 15, 30)),
    *(_HOUR * n for n in (1, 2, 3, 6, 12)),
    *(_DAY * n for n in (1, 2, 5, 10)),
)
_MONTH = 2_629_746
_MONTH_STEPS = (1, 2, 3, 6, 12, 24, 60, 120, 240, 600, 1200, 2400, 6000, 12_000)
_MONTHS = 12


@record
class Tick:
    """A mark on the axis."""

    us: int  # its time, in microseconds since 1970
    label: str  # what to write there: as short as the distance of the ticks allows


def ticks(first_us: int, last_us: int, most: int) -> list[Tick]:
    """Choose round times between two.

    * ``first_us, last_us``: The ends of the axis, in microseconds since 1970.

    Returns: In order, none when there is no round time; at most about `most`.

    >>> [tick.label for tick in ticks(0, 86_400_000_000, 3)]
    ['1970', '12:00', '01-02']
    """
    seconds = (last_us - first_us) / instants.SECOND_US
    if seconds <= 0 or most < 1:
        return []
    for step in _STEPS:
        if seconds / step <= most:
            return _even(first_us, last_us, step)
    for months in _MONTH_STEPS:
        if seconds / (months * _MONTH) <= most:
            return _calendar(first_us, last_us, months)
    return []


def _even(first_us: int, last_us: int, step: int) -> list[Tick]:
    step_us = step * instants.SECOND_US
    start = -(-first_us // step_us) * step_us
    return [Tick(us, _label(us, step)) for us in range(start, last_us + 1, step_us)]


def _label(us: int, step: int) -> str:
    text = instants.text(us, fraction=False)
    date, _, time = text.removesuffix("Z").rpartition("T")
    if us % (_DAY * instants.SECOND_US):
        return time if step < _MINUTE else time[:5]
    year, month_and_day = date[:-6], date[-5:]
    return year if month_and_day == "01-01" else month_and_day


def _calendar(first_us: int, last_us: int, months: int) -> list[Tick]:
    first_us, last_us = max(first_us, instants.FIRST_US), min(last_us, instants.LAST_US)
    if first_us > last_us:
        return []
    start, stop = instants.from_us(first_us), instants.from_us(last_us)
    ticks = []
    # January of year 1 is month 12, so that whole years are multiples of twelve.
    month = -(-(start.year * _MONTHS + start.month - 1) // months) * months
    while month <= stop.year * _MONTHS + stop.month - 1:
        year, of_year = divmod(month, _MONTHS)
        us = instants.to_us(datetime(year, of_year + 1, 1, tzinfo=UTC))
        if us >= first_us:
            ticks.append(Tick(us, f"{year:04}" if of_year == 0 else f"{year:04}-{of_year + 1:02}"))
        month += months
    return ticks
