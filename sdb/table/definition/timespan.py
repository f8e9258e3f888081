"""Spans of time by the calendar: years, months and days, as retention counts them."""

from __future__ import annotations

from itertools import pairwise

from sdb import durations, instants
from sdb.errors import InputError, UsageError
from sdb.records import record
from sdb.table.definition import rawjson

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from typing import Self

    from sdb.table.format.history import PastVersion

_SPAN = r"(?:([0-9]{1,3})y)?(?:([0-9]{1,4})m)?(?:([0-9]{1,5})d)?"
_DAY_US = 86_400 * instants.SECOND_US
_MONTHS = 12
_MARCH = 3


@record
class CalendarSpan:
    """A span of time.

    Attributes
    ----------
    years, months, days : int
        Its parts, which are subtracted one after the other.
    """

    years: int = 0
    months: int = 0
    days: int = 0

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read a span, as in ``1y6m15d``.

        * ``text``: Years, months and days in this order, each of them optional.

        Raises `InputError` if it is not a span, or is empty.

        >>> CalendarSpan.parse("0y6m15d")
        CalendarSpan(years=0, months=6, days=15)
        """
        import re

        matched = re.fullmatch(_SPAN, text)
        parts = [int(part or 0) for part in matched.groups()] if matched else []
        if not any(parts):
            raise InputError(f"failed to parse duration {text!r}", expected="1y, 6m15d, 30d, ...")
        return cls(*parts)

    def __str__(self) -> str:
        """Return the span as it is stored: without parts that are zero."""
        parts = ((self.years, "y"), (self.months, "m"), (self.days, "d"))
        return "".join(f"{number}{unit}" for number, unit in parts if number) or "0d"

    def before(self, now_us: int) -> int:
        """Return the instant that is so long before another.

        * ``now_us``: Microseconds since 1970.

        Returns: Microseconds since 1970. A day that the month does not have counts on into the
        next: one month before March 31 is March 2 or 3. A year before 0 becomes 0.
        """
        year, month, day = instants.civil(now_us)[:3]
        months = (year - self.years) * _MONTHS + month - 1 - self.months
        year, month = divmod(months, _MONTHS)
        days = days_from_civil(year, month + 1, day) - self.days
        year, month, day = instants.civil(days * _DAY_US)[:3]
        if year < 0:
            days = days_from_civil(0, month, day)
        return days * _DAY_US + now_us % _DAY_US


def days_from_civil(year: int, month: int, day: int) -> int:
    """Return the days since 1970 of a date; a day beyond the month counts on."""
    year -= month < _MARCH
    era, of_era = divmod(year, 400)
    of_year = (153 * ((month + 9) % 12) + 2) // 5 + day - 1
    return era * 146_097 + of_era * 365 + of_era // 4 - of_era // 100 + of_year - 719_468


# Retention: how long a table keeps rows, as its definition says.

MEMBERS = ("field", "valid_for", "without_time", "rewrite_share")
WITHOUT_TIME = ("keep", "delete")
REWRITE_SHARE = 0.2
_NO_TIME = CalendarSpan()


@record
class Retention:
    """The rows that a table keeps.

    Attributes
    ----------
    field : str
        Path of the times.
    valid_for : CalendarSpan
        How long rows are kept; no time at all: the policy has no effect.
    without_time : str
        ``keep`` or ``delete``: what becomes of rows that have no time there. A member that only
        `sdb` knows.
    rewrite_share : float
        Which share of the rows of a packfile may go before it is rewritten without them. A member
        that only `sdb` knows.
    """

    field: str = ""
    valid_for: CalendarSpan = _NO_TIME
    without_time: str = WITHOUT_TIME[0]
    rewrite_share: float = REWRITE_SHARE

    @classmethod
    def of_members(cls, texts: dict[str, str], share: object, *, may_be_empty: bool) -> Self:
        """Return the policy of what a definition says.

        * ``texts``: The members that are texts, as far as they are there.
        * ``share``: The value of `rewrite_share`; None: not given.
        * ``may_be_empty``: Whether ``0d`` is no time at all.

        Raises `InputError` if a member has a value that it cannot have.
        """
        span = texts.get("valid_for")
        is_empty = span is None or (may_be_empty and span == "0d")
        without_time = texts.get("without_time", WITHOUT_TIME[0])
        if without_time not in WITHOUT_TIME:
            raise InputError(
                f"invalid retention_policy.without_time: {without_time[:40]!r}",
                expected=" or ".join(WITHOUT_TIME),
            )
        if share is None:
            share = REWRITE_SHARE
        if type(share) not in {int, float} or not 0 <= share <= 1:  # type: ignore[operator]  # it is a number
            raise InputError(
                "invalid retention_policy.rewrite_share: expected a number from 0 to 1"
            )
        return cls(
            texts.get("field", ""),
            _NO_TIME if is_empty else CalendarSpan.parse(span or ""),
            without_time,
            float(share),  # type: ignore[arg-type]  # so is this
        )

    def members(self, *, with_ours: bool) -> list[tuple[str, str]]:
        """Return the members as texts of JSON.

        * ``with_ours``: Whether those come with it that only `sdb` knows, if they are not the usual
          ones.
        """
        members = [("field", rawjson.quoted(self.field))] if self.field else []
        members.append(("valid_for", rawjson.quoted(str(self.valid_for))))
        if with_ours and self.without_time != WITHOUT_TIME[0]:
            members.append(("without_time", rawjson.quoted(self.without_time)))
        if with_ours and self.rewrite_share != REWRITE_SHARE:
            members.append(("rewrite_share", f"{self.rewrite_share:g}"))
        return members


# Thinning: of old versions only some are kept, fewer the older they are.

ALL, OFF = "all", "off"
EXPECTED = "steps like 1h:all,1d:1m,7d:1h, or off"
_SECOND_US = 1_000_000
_MOST_SECONDS = 86_400 * 36_525

MOST_MARK_BYTES = 60_000
"""Fingerprints of transactions that one version stands for besides its own: 6,000 of them."""


@record
class ThinningStep:
    """Interval of the versions that are kept up to an age."""

    age: str  # as it was written
    every: str
    age_us: int  # versions that were the newest at some time within it
    every_us: int  # of each such interval the last version is kept; 0: all are


@record
class Thinning:
    """Steps from young to old; the last one goes on for whatever else is kept."""

    steps: tuple[ThinningStep, ...] = ()  # without any nothing is thinned

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read steps, as in ``1h:all,1d:1m,7d:1h``.

        Raises `InputError` if they are malformed, do not grow, or an interval is no multiple of the
        one before.
        """
        if text == OFF:
            return cls()
        steps = tuple(map(_step, text.split(",")))
        for before, after in pairwise(steps):
            if after.age_us <= before.age_us:
                raise _flaw(text, f"{after.age} is not longer than {before.age}")
            if before.every_us and (
                after.every_us <= before.every_us or after.every_us % before.every_us
            ):
                raise _flaw(text, f"{after.every} is no multiple of {before.every}")
            if not before.every_us and not after.every_us:
                raise _flaw(text, f"{before.age}:{ALL} says nothing beside {after.age}:{ALL}")
        return cls(steps)

    def __str__(self) -> str:
        """Return the text that :meth:`parse` reads."""
        return ",".join(f"{step.age}:{step.every}" for step in self.steps) or OFF

    @property
    def longest_us(self) -> int:
        """The age of the last step, up to which versions are kept where nothing else says so."""
        return self.steps[-1].age_us if self.steps else 0

    def every_us(self, age_us: int) -> int:
        """Return of which interval one version is kept at an age; 0: all versions are.

        >>> Thinning.parse("1h:all,1d:1m").every_us(2 * 3600 * 1_000_000)
        60000000
        """
        for step in self.steps:
            if age_us < step.age_us:
                return step.every_us
        return self.steps[-1].every_us if self.steps else 0

    def thinned(
        self, versions: Sequence[PastVersion], now_us: int, lasting: Collection[int]
    ) -> set[int]:
        """Return the numbers of versions that go, since a later one stays in the same interval.

        Intervals of older versions are whole ones of those of younger ones. So the last version of
        each interval stays, however often this is done.

        * ``versions``: All that are kept otherwise, the oldest first. The last one always stays.
        * ``lasting``: Numbers of those that stay whatever their age is.
        """
        gone: set[int] = set()
        next_us, ended_us, mark_bytes = -1, now_us, 0
        for version in reversed(versions):
            every_us = self.every_us(now_us - ended_us)
            is_last = not every_us or next_us // every_us != version.at_us // every_us
            own_bytes = len(version.own_marks)
            if is_last or version.version in lasting or mark_bytes + own_bytes > MOST_MARK_BYTES:
                next_us, mark_bytes = version.at_us, len(version.marks)
            else:
                gone.add(version.version)
                mark_bytes += own_bytes
            ended_us = version.at_us
        return gone


def _step(text: str) -> ThinningStep:
    age, colon, every = (part.strip() for part in text.partition(":"))
    if not colon:
        raise _flaw(text, "a step has an age, a colon, and an interval or all")
    every_us = 0 if every == ALL else _us(every)
    if every != ALL and every_us <= 0:
        raise _flaw(text, "an interval of no time")
    age_us = _us(age)
    if age_us <= every_us:
        raise _flaw(text, f"{age} is not longer than {every}")
    return ThinningStep(age, every, age_us, every_us)


def _us(text: str) -> int:
    try:
        seconds = durations.seconds(text)
    except UsageError as error:
        raise InputError(f"invalid thinning: {error.message}", expected=EXPECTED) from None
    if seconds > _MOST_SECONDS:
        raise InputError(f"invalid thinning: {text[:40]!r} is too long", expected=EXPECTED)
    return int(seconds * _SECOND_US)


def _flaw(text: str, reason: str) -> InputError:
    return InputError(f"invalid thinning {text[:80]!r}: {reason}", expected=EXPECTED)
