"""Times that the rows of all tables of a query must have."""

from __future__ import annotations

from sdb import instants
from sdb.errors import SdbError, UsageError
from sdb.packfile.prune.predicate import between
from sdb.packfile.prune.selection import time_path
from sdb.records import record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from sdb.packfile.prune.predicate import Both
    from sdb.packfile.read.reader import Packfile
    from sdb.packfile.trailer import sparseindex
    from sdb.query.plan.scans import Predicate


@record
class Period:
    """A range of times, and where rows have them.

    Attributes
    ----------
    start_us, stop_us : int or None
        ``start_us <= t < stop_us``, in microseconds since 1970; None leaves that side open.
    field : str or sequence of str, or None
        Path of the time; None: the obvious one of each table.
    """

    start_us: int | None
    stop_us: int | None
    field: str | Sequence[str] | None = None

    def path(self, packs: Sequence[Packfile]) -> sparseindex.Path | None:
        """Give the path of the time in the rows of a table; None: it has no rows.

        Raises
        ------
        UsageError
            None is obvious, or packfiles differ in it.
        """
        found: dict[sparseindex.Path, str] = {}
        for pack in packs:
            if pack.blocks:
                try:
                    found.setdefault(time_path(pack.trailer, self.field), pack.path)
                except SdbError as error:
                    raise error.within(pack.path, path=pack.path) from None
        if len(found) > 1:
            (one, first), (other, second), *_ = found.items()
            raise UsageError(
                f"the time is {'.'.join(one)} in {first} and {'.'.join(other)} in {second}",
                hint="name one with --time-field",
            )
        return next(iter(found), None)

    def test(self, path: sparseindex.Path) -> Both:
        """Give what metadata is asked."""
        return between(path, self.start_us, self.stop_us)

    def predicate(self, path: sparseindex.Path) -> Predicate:
        """Give what scans decide row by row."""
        sides = ((">=", self.start_us), ("<", self.stop_us))
        return ("and", [("cmp", list(path), op, ("u", us)) for op, us in sides if us is not None])


def period(
    since: str | datetime | None,
    until: str | datetime | None,
    field: str | Sequence[str] | None,
) -> Period | None:
    """Give the times that are asked for; None: all.

    Parameters
    ----------
    since, until : str or datetime, optional
        First time, and the time that is no longer included; see :func:`sdb.instants.parse`.
    field : str or sequence of str, optional
        Path of the time.

    Raises
    ------
    UsageError
        One is no time, or there is a path and no time.
    """
    if since is None and until is None:
        if field is not None:
            raise UsageError("a time field is of use only with since or until")
        return None
    start_us, stop_us = (None if at is None else instants.parse(at) for at in (since, until))
    return Period(start_us, stop_us, field)
