"""Comparisons that are never TRUE for a reason that users can mend."""

from __future__ import annotations

from sdb.packfile.predicate import Both, Compare, Either
from sdb.query.analyze.types import MISSING, NULL, TIME

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from sdb.packfile.predicate import Predicate
    from sdb.query.plan.tablescan import PackfileScan


def mismatches(test: Predicate, parts: Sequence[PackfileScan]) -> list[str]:
    """Tell of numbers that are compared with paths that hold nothing but timestamps.

    Parameters
    ----------
    test : Predicate
        What the condition of a query comes to.
    parts : sequence of PackfileScan
        The packfiles.

    Returns
    -------
    list of str
        A line for each such comparison.
    """
    return [
        f"warning: {'.'.join(one.path)} has timestamps and no number in any row: compare"
        f" TO_UNIX_EPOCH({'.'.join(one.path)}) {one.op} {one.value}"
        for one in _comparisons(test)
        if type(one.value) in {int, float} and _are_times(one, parts)
    ]


def _comparisons(test: Predicate) -> Iterator[Compare]:
    if isinstance(test, Compare):
        yield test
    elif isinstance(test, Both | Either):
        for part in test.parts:
            yield from _comparisons(part)


def _are_times(test: Compare, parts: Sequence[PackfileScan]) -> bool:
    types = 0
    for part in parts:
        more = part.types(test.path)
        if more is None:
            return False
        types |= more
    return types & ~(NULL | MISSING) == TIME
