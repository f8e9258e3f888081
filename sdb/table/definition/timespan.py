"""Spans of time by the calendar: years, months and days, as retention counts them."""

from __future__ import annotations

from sdb import instants
from sdb.errors import InputError
from sdb.records import record
from sdb.table.definition import rawjson

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Self

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

        Parameters
        ----------
        text : str
            Years, months and days in this order, each of them optional.

        Returns
        -------
        CalendarSpan
            The span.

        Raises
        ------
        InputError
            It is not a span, or is empty.

        Examples
        --------
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

        Parameters
        ----------
        now_us : int
            Microseconds since 1970.

        Returns
        -------
        int
            Microseconds since 1970. A day that the month does not have counts on into the next:
            one month before March 31 is March 2 or 3. A year before 0 becomes 0.
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

        Raises
        ------
        InputError
            A member has a value that it cannot have.
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
