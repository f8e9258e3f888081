"""Retention: how long a table keeps rows, as its definition says."""

from __future__ import annotations

from sdb.errors import InputError
from sdb.records import record
from sdb.table.definition import rawjson
from sdb.table.definition.timespan import CalendarSpan

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Self

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
