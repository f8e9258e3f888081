"""Functions of time."""

from __future__ import annotations

from sdb.instants import FIRST_US, LAST_US
from sdb.query.analyze.refusals import rejected
from sdb.query.analyze.types import MISSING, NUMBER, TIME
from sdb.query.duckdb_sql.functions.strings import position
from sdb.query.duckdb_sql.values import quoting
from sdb.query.duckdb_sql.values.lanes import Constant, Typed, Value
from sdb.query.duckdb_sql.values.operators import instant, int64, number
from sdb.query.syntax.calls import stride_us
from sdb.query.syntax.intervals import MONTHS, UNITS_US

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sdb.query.duckdb_sql.functions.arguments import Arguments, Function


_MOST_MONTHS = 120_000
"""More than this lead out of the years 1 to 9999 from anywhere in them."""


def _counted(sql: str, *operands: Value) -> Typed:
    """Return a static integer made of timestamps."""
    certain = all(operand.mask == TIME for operand in operands)
    return Typed(NUMBER, sql, absent=0 if certain else MISSING, integer=True)


def _date_trunc(call: Arguments) -> Value:
    (arg,) = call.values
    time = arg.lane("u")
    if call.node.part == "WEEK":
        days = f"((date_part('dow', {time}) + {7 - (call.node.weekday or 0)}) % 7)::INTEGER"
        return instant(f"(date_trunc('day', {time}) - to_days({days}))::TIMESTAMP", arg)
    return instant(f"date_trunc('{str(call.node.part).lower()}', {time})::TIMESTAMP", arg)


def _date_add(call: Arguments) -> Value:
    count, time = position(call.values[0]), call.values[1].lane("u")
    part = str(call.node.part)
    span = call.values[1]
    if isinstance(span, Typed) and span.kind == NUMBER and part in UNITS_US:
        # A name of the select list may stand for the seconds between two times.
        return number(f"({span.lane('n')} + ({count}) * {UNITS_US[part]} / 1e6)", *call.values)
    if part in MONTHS:
        start = f"date_trunc('month', {time})"
        months = f"CASE WHEN {count} BETWEEN {-_MOST_MONTHS} AND {_MOST_MONTHS} THEN {count} END"
        moved = f"to_months((({months}) * {MONTHS[part]})::INTEGER)"
        return _within(f"epoch_us({start} + {moved} + ({time} - {start}))")
    return _within(f"(epoch_us({time}) + ({count})::HUGEINT * {UNITS_US[part]})")


def _within(us: str) -> Typed:
    """Return the instant at some microseconds, MISSING outside of the years 1 to 9999."""
    known = f"CASE WHEN {us} BETWEEN {FIRST_US} AND {LAST_US} THEN {us}::BIGINT END"
    return Typed(TIME, f"make_timestamp({known})")


def from_seconds(seconds: Value) -> Typed:
    """Return the instant some seconds after 1970, MISSING outside of the years 1 to 9999."""
    number = f"CASE WHEN isfinite({seconds.lane('n')}) THEN {seconds.lane('n')} END"
    return _within(f"CASE WHEN abs({number}) < 1e12 THEN round({number} * 1e6)::BIGINT END")


def _date_diff(call: Arguments) -> Value:
    start, end = (arg.lane("u") for arg in call.values)
    part = str(call.node.part)
    if part in UNITS_US:
        return _counted(
            f"((epoch_us({end}) - epoch_us({start})) // {UNITS_US[part]})", *call.values
        )
    forward, backward = _months(start, end), _months(end, start)
    months = f"CASE WHEN {start} <= {end} THEN {forward} ELSE -({backward}) END"
    return _counted(f"(({months}) // {MONTHS[part]})", *call.values)


def _months(start: str, end: str) -> str:
    """Return SQL of the complete months from one time to a later one.

    Days that a month lacks flow over into the next one: a month after January 31 is in March.
    """

    def within(time: str) -> str:
        return f"(epoch_us({time}) - epoch_us(date_trunc('month', {time})))"

    def month(time: str) -> str:
        return f"(date_part('year', {time}) * 12 + date_part('month', {time}))::BIGINT"

    before = f"(epoch_us({end}) - epoch_us(date_trunc('month', {end}) - to_months(1)))"
    short = f"({within(start)} > {within(end)})::BIGINT"
    over = f"({within(start)} > {before})::BIGINT"
    return f"({month(end)} - {month(start)} - {short} - {over})"


def _extract(call: Arguments) -> Value:
    return _counted(
        f"date_part('{str(call.node.part).lower()}', {call.values[0].lane('u')})::BIGINT",
        *call.values,
    )


def _epoch_of(call: Arguments) -> Value:
    """Return the seconds since 1970 of a time; a difference of times is seconds already."""
    (arg,) = call.values
    seconds = f"(epoch_us({arg.lane('u')}) / 1e6::DOUBLE)"
    if not arg.mask & TIME:
        return number(arg.lane("n"), arg)
    if arg.mask & NUMBER:
        return number(f"coalesce({seconds}, {arg.lane('n')})", arg, wants=TIME | NUMBER)
    return number(seconds, arg, wants=TIME)


def _epoch(time: str) -> str:
    return f"(epoch_us(date_trunc('second', {time})) // 1000000)"


def _unix_epoch(call: Arguments) -> Value:
    return _counted(_epoch(call.values[0].lane("u")), *call.values)


def _unix_micro(call: Arguments) -> Value:
    return _counted(f"epoch_us({call.values[0].lane('u')})", *call.values)


def _time_bucket(call: Arguments) -> Value:
    epoch, seconds = _epoch(call.values[0].lane("u")), int64(call.values[1])
    return Typed(NUMBER, f"({epoch} - {epoch} % nullif({seconds}, 0))", integer=True)


def _date_bin(call: Arguments) -> Value:
    time, origin = (arg.lane("u") for arg in call.values)
    stride = stride_us(str(call.node.part))
    past = f"(epoch_us({time}) - epoch_us({origin}))"
    remainder = f"((({past} % {stride}) + {stride}::HUGEINT) % {stride})::BIGINT"
    return instant(f"make_timestamp(epoch_us({time}) - {remainder})", *call.values)


def _timezone(call: Arguments) -> Value:
    """Return what clocks of a zone show at a time, as a time."""
    zone, time = call.values
    name = zone.value if isinstance(zone, Constant) else None
    if not isinstance(name, str) or not _is_zone(name):
        hint = "as in t AT TIME ZONE 'Europe/Berlin'"
        fault = f"there is no time zone '{name}'" if name else "a time zone is a constant text"
        raise rejected(fault, call.node, hint)
    return instant(f"timezone({quoting.string(name)}, {time.lane('u')} AT TIME ZONE 'UTC')", time)


def _is_zone(name: str) -> bool:
    from zoneinfo import ZoneInfo

    try:
        ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        return False
    return True


FUNCTIONS: dict[str, Function] = {
    "TIMEZONE": _timezone,
    "DATE_TRUNC": _date_trunc,
    "DATE_ADD": _date_add,
    "DATE_DIFF": _date_diff,
    "DATE_BIN": _date_bin,
    "EXTRACT": _extract,
    "EPOCH": _epoch_of,
    "TO_UNIX_EPOCH": _unix_epoch,
    "TO_UNIX_MICRO": _unix_micro,
    "TIME_BUCKET": _time_bucket,
}
