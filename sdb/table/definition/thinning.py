"""Thinning: of old versions only some are kept, fewer the older they are.

``1h:all,1d:1m,7d:1h`` keeps all versions for an hour, one for each minute for a day, and one for
each hour for a week.
"""

from __future__ import annotations

from itertools import pairwise

from sdb import durations
from sdb.errors import InputError, UsageError
from sdb.records import record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from typing import Self

    from sdb.table.format.history import PastVersion

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

        Raises
        ------
        InputError
            They are malformed, do not grow, or an interval is no multiple of the one before.
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

        Examples
        --------
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
