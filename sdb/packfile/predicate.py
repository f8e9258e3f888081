"""Predicates: what of a condition can be decided from the metadata of a packfile.

Whoever has a condition, be it of SQL, of Spark or ``--since``, reduces it to comparisons of paths
with constants, joined by AND and OR. Whatever cannot be expressed so may be TRUE anywhere. So a
predicate is TRUE for each row for which the condition is, and possibly for others:
:mod:`sdb.packfile.prune` decides blocks with it, never rows.
"""

from __future__ import annotations

from sdb import instants
from sdb.records import record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypeAlias

    from sdb.packfile.sparseindex import Path


@record
class Instant:
    """A timestamp constant.

    Attributes
    ----------
    us : int
        Microseconds since 1970-01-01T00:00:00Z.
    """

    us: int


Constant: TypeAlias = bool | int | float | str | Instant | None


@record
class Anywhere:
    """A part of a condition that may be TRUE in any row.

    Attributes
    ----------
    span : tuple of int, or None
        Where that part stands in the text of the condition, to tell users.
    """

    span: tuple[int, int] | None = None


@record
class Nowhere:
    """A part of a condition that is never TRUE."""


@record
class Compare:
    """A comparison of a path with a constant.

    Attributes
    ----------
    path : tuple of str
        Field names from the row on.
    op : str
        One of ``= <> < <= > >=``.
    value : Constant
        The right side.
    """

    path: Path
    op: str
    value: Constant

    def __str__(self) -> str:
        """Show the comparison as a query would."""
        value = self.value
        if isinstance(value, Instant):
            shown = f"`{instants.text(value.us)}`"
        elif isinstance(value, str):
            shown = f"'{value}'"
        else:
            shown = str(value).upper() if value is None or isinstance(value, bool) else str(value)
        return f"{'.'.join(self.path)} {self.op} {shown}"


@record
class Both:
    """AND of any number of predicates."""

    parts: tuple[Predicate, ...]


@record
class Either:
    """OR of any number of predicates."""

    parts: tuple[Predicate, ...]


Predicate: TypeAlias = Anywhere | Nowhere | Compare | Both | Either


def between(path: Path, start_us: int | None, stop_us: int | None) -> Both:
    """Give the predicate of a range of times.

    Parameters
    ----------
    path : tuple of str
        Where the time of a row is.
    start_us, stop_us : int or None
        ``start_us <= t < stop_us``, in microseconds since 1970; None leaves that side open.

    Returns
    -------
    Both
        TRUE for rows with a time in the range.
    """
    parts = []
    if start_us is not None:
        parts.append(Compare(path, ">=", Instant(start_us)))
    if stop_us is not None:
        parts.append(Compare(path, "<", Instant(stop_us)))
    return Both(tuple(parts))
