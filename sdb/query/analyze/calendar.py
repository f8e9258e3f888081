"""The time functions of literals, in the years 1 to 9999."""

from __future__ import annotations

from datetime import MAXYEAR, MINYEAR, UTC, datetime, timedelta

from sdb import instants
from sdb.query.syntax.ast import Call, Constant, Instant
from sdb.query.syntax.calls import stride_us
from sdb.query.syntax.intervals import MONTHS, UNITS_US

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

_DAYS_OF_WEEK = 7


def call(node: Call, values: Sequence[Constant]) -> int | Instant | None:
    """Evaluate a time function.

    Returns: The value; ``None`` when it is no such function, or not one of such arguments.
    Raises `OverflowError` if the result, or an argument, is outside of the years 1 to 9999.
    """
    part = node.part or ""
    value: int | Instant | None = None
    match node.name, *values:
        case "DATE_ADD", int() | float() as count, Instant(us) if not isinstance(count, bool):
            value = Instant(add(part, int(count), us))
        case "DATE_DIFF", Instant(start), Instant(stop):
            value = difference(part, start, stop)
        case "DATE_TRUNC", Instant(us):
            value = Instant(truncate(part, us, node.weekday or 0))
        case "DATE_BIN", Instant(us), Instant(origin):
            value = Instant(us - (us - origin) % stride_us(part))
        case "EXTRACT", Instant(us):
            value = extract(part, us)
        case "TO_UNIX_EPOCH", Instant(us):
            value = us // instants.SECOND_US
        case "TO_UNIX_MICRO", Instant(us):
            value = us
        case "TIME_BUCKET", Instant(us), int() as width if type(width) is int and width > 0:
            value = _bucket(us // instants.SECOND_US, width)
    return value


def _bucket(seconds: int, width: int) -> int:
    """Cut seconds to a multiple, toward 1970."""
    cut = abs(seconds) // width * width
    return cut if seconds >= 0 else -cut


def add(part: str, count: int, us: int) -> int:
    """Return the instant some units later; days beyond the end of a month run into the next."""
    if part in UNITS_US:
        out = us + count * UNITS_US[part]
    else:
        moment = instants.from_us(us)
        months = moment.year * 12 + moment.month - 1 + count * MONTHS[part]
        first = datetime(*_year_month(months), 1, tzinfo=UTC)
        into = moment - moment.replace(day=1, hour=0, minute=0, second=0, microsecond=0)
        out = instants.to_us(first + into)
    if not instants.FIRST_US <= out <= instants.LAST_US:
        raise OverflowError
    return out


def _year_month(months: int) -> tuple[int, int]:
    """Split months since the year 0."""
    year, month = divmod(months, 12)
    if not MINYEAR <= year <= MAXYEAR:
        raise OverflowError
    return year, month + 1


def difference(part: str, start: int, stop: int) -> int:
    """Count the complete units from one instant to another, toward zero."""
    if start > stop:
        return -difference(part, stop, start)
    if part in UNITS_US:
        return (stop - start) // UNITS_US[part]
    start_time, stop_time = instants.from_us(start), instants.from_us(stop)
    months = (stop_time.year - start_time.year) * 12 + stop_time.month - start_time.month
    while months > 0 and add("MONTH", months, start) > stop:
        months -= 1
    return months // MONTHS[part]


def truncate(part: str, us: int, weekday: int) -> int:
    """Return the start of the unit that an instant falls into; 0 is Sunday."""
    if part == "WEEK":
        day = us - us % UNITS_US["DAY"]
        return day - (_weekday(us) - weekday) % _DAYS_OF_WEEK * UNITS_US["DAY"]
    if part in UNITS_US:
        return us - us % UNITS_US[part]
    moment = instants.from_us(us)
    month = moment.month - (moment.month - 1) % MONTHS[part]
    return instants.to_us(datetime(moment.year, month, 1, tzinfo=UTC))


def _weekday(us: int) -> int:
    """Return the day of the week; 1970 began on a Thursday."""
    return (us // UNITS_US["DAY"] + 4) % _DAYS_OF_WEEK


def extract(part: str, us: int) -> int | None:
    """Return a field of an instant; those below seconds include them."""
    moment = instants.from_us(us)
    of_minute = us % UNITS_US["MINUTE"]
    match part:
        case "MICROSECOND":
            return of_minute
        case "MILLISECOND":
            return of_minute // UNITS_US["MILLISECOND"]
        case "QUARTER":
            return (moment.month + 2) // 3
        case "DOW":
            return _weekday(us)
        case "DOY":
            return (moment - moment.replace(month=1, day=1)) // timedelta(days=1) + 1
    return moment.isocalendar().week if part == "WEEK" else int(getattr(moment, part.lower()))
