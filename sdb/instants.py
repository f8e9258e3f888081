"""Instants: whole microseconds since 1970-01-01T00:00:00Z, and their texts.

The calendar is the proleptic Gregorian one without leap seconds. Years outside of 1 to 9999, which
:class:`datetime.datetime` cannot hold, are fine everywhere in this module except where a
`datetime` comes out.
"""

from __future__ import annotations

from sdb.errors import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from datetime import datetime
    from typing import Any

SECOND_US = 1_000_000
_DAY_SECONDS = 86_400
FIRST_US = -62_135_596_800_000_000
LAST_US = 253_402_300_799_999_999
_EPOCH: Any = None
_MICROSECOND: Any = None
_AGO = r"-?(\d{1,9})([smhdw])"
_UNIT_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": _DAY_SECONDS, "w": 7 * _DAY_SECONDS}
_DAYS_AGO = {"today": 0, "yesterday": 1}
_UNIX = r"@(-?\d{1,12})(?:\.(\d{1,6})\d*)?"


def to_us(moment: datetime) -> int:
    """Return the microseconds of a `datetime` that knows its time zone.

    Raises `UsageError` if the datetime has no time zone.
    """
    if moment.tzinfo is None:
        raise UsageError(f"{moment.isoformat()} has no time zone", expected="an aware datetime")
    if _EPOCH is None:
        _load_datetime()
    return int((moment - _EPOCH) // _MICROSECOND)


def from_us(us: int) -> datetime:
    """Return the `datetime` in UTC of an instant in the years 1 to 9999.

    * ``us``: Microseconds since 1970.

    Raises `OverflowError` if the year is not between 1 and 9999.
    """
    if _EPOCH is None:
        _load_datetime()
    moment: datetime = _EPOCH + us * _MICROSECOND
    return moment


def _load_datetime() -> None:
    """Load `datetime`, which most commands do without."""
    global _EPOCH, _MICROSECOND
    from datetime import UTC, datetime, timedelta

    _EPOCH, _MICROSECOND = datetime(1970, 1, 1, tzinfo=UTC), timedelta(microseconds=1)


def civil(us: int) -> tuple[int, int, int, int, int, int, int]:
    """Split an instant into year, month, day, hour, minute, second and microsecond."""
    seconds, micros = divmod(us, SECOND_US)
    days, of_day = divmod(seconds, _DAY_SECONDS)
    era, of_era = divmod(days + 719_468, 146_097)
    year_of_era = (of_era - of_era // 1460 + of_era // 36_524 - of_era // 146_096) // 365
    of_year = of_era - (365 * year_of_era + year_of_era // 4 - year_of_era // 100)
    shifted = (5 * of_year + 2) // 153
    day = of_year - (153 * shifted + 2) // 5 + 1
    month = shifted + 3 if shifted < 10 else shifted - 9  # noqa: PLR2004 - March comes first
    year = year_of_era + era * 400 + (month <= 2)  # noqa: PLR2004 - January and February
    return year, month, day, of_day // 3600, of_day // 60 % 60, of_day % 60, micros


def text(us: int, *, fraction: bool = True) -> str:
    """Write an instant in RFC 3339 form, UTC.

    * ``us``: Microseconds since 1970.
    * ``fraction``: Whether to write the fraction of the second, when there is one, without trailing
      zeros.

    >>> text(1609556645678900), text(-1, fraction=False)
    ('2021-01-02T03:04:05.6789Z', '1969-12-31T23:59:59Z')
    """
    year, month, day, hour, minute, second, micros = civil(us)
    tail = f".{micros:06}".rstrip("0") if fraction and micros else ""
    return f"{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}{tail}Z"


def finding_text(us: int) -> str:
    """Write an instant the way findings of `validate-file` show it.

    * ``us``: Microseconds since 1970.
    """
    return text(us).replace("T", " ").replace("Z", " +0000 UTC")


def parse(value: str | datetime, now_us: int | None = None) -> int:
    """Read an instant that a user gives, such as the value of ``--since``.

    * ``value``: ``2021-01-02``, ``2021-01-02T03:04:05.678Z``, any other form of docs/times.md or
      of ISO 8601 (UTC when there is no offset), ``@1609459200`` (seconds since 1970, fraction
      allowed), or an aware datetime. Digits beyond microseconds are dropped. ``30m`` or ``-30m``
      is half an hour ago; there are ``s``, ``m``, ``h``, ``d`` and ``w``. ``now`` is what it says;
      ``today`` and ``yesterday`` begin at midnight in UTC.
    * ``now_us``: The present, in microseconds since 1970; that of the system if not given.

    Raises `UsageError` if the value is no instant.

    >>> parse("1970-01-02"), parse("@-1.5"), parse("1970-01-01T02:00+02:00")
    (86400000000, -1500000, 0)
    >>> text(parse("90s", 1609556645000000)), text(parse("yesterday", 1609556645000000))
    ('2021-01-02T03:02:35Z', '2021-01-01T00:00:00Z')
    """
    import re
    from datetime import UTC, datetime

    from sdb import _core

    if isinstance(value, datetime):
        return to_us(value)
    if unix := re.fullmatch(_UNIX, value.strip()):
        whole, digits = unix.groups()
        micros = int((digits or "").ljust(6, "0"))
        return int(whole) * SECOND_US + (-micros if whole.startswith("-") else micros)
    if (counted := relative(value, now_us)) is not None:
        return counted
    if (read := _core.time_of_date_or_time(value)) is not None:
        return read
    try:
        moment = datetime.fromisoformat(value.strip())
    except ValueError:
        raise UsageError(
            f"{value!r} is not a time",
            hint="times look like 2021-01-02, 2021-01-02T03:04:05Z, @1609556645, 30m or yesterday",
        ) from None
    return to_us(moment if moment.tzinfo else moment.replace(tzinfo=UTC))


def relative(text: str, now_us: int | None = None) -> int | None:
    """Read a time that counts from the present.

    * ``text``: As in ``30m``, ``-30m``, ``now``, ``today`` or ``yesterday``; see :func:`parse`.
    * ``now_us``: The present, in microseconds since 1970; that of the system if not given.
    """
    import re
    import time

    text = text.strip().lower()
    if now_us is None:
        now_us = time.time_ns() // 1000
    if text == "now":
        return now_us
    if text in _DAYS_AGO:
        day_us = _DAY_SECONDS * SECOND_US
        return (now_us // day_us - _DAYS_AGO[text]) * day_us
    ago = re.fullmatch(_AGO, text)
    return ago and now_us - int(ago[1]) * _UNIT_SECONDS[ago[2]] * SECOND_US


def fixed(value: str | datetime | None) -> str | datetime | None:
    """Return a time that stays the same however often it is read.

    >>> fixed("1969-12-31T23:59:59.5Z"), fixed("@12"), fixed(None)
    ('@-0.500000', '@12.000000', None)
    """
    if not isinstance(value, str):
        return value
    us = parse(value)
    seconds, micros = divmod(abs(us), SECOND_US)
    return f"@{'-' if us < 0 else ''}{seconds}.{micros:06}"
