"""Prune a packfile to the blocks that can hold a row for which a condition is TRUE.

Asked are the constants of the file, the types that occur at a path, and the time indexes. See
docs/sql.md, "What is read".
"""

from __future__ import annotations

import math
import operator
from itertools import chain

from sdb import ion
from sdb.packfile.predicate import Anywhere, Both, Compare, Either, Instant, Nowhere
from sdb.packfile.timeindex import UNBOUNDED
from sdb.records import record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any, TypeAlias

    from sdb.packfile.predicate import Constant, Predicate
    from sdb.packfile.sparseindex import SparseIndex
    from sdb.packfile.timeindex import TimeIndex

Intervals: TypeAlias = tuple[tuple[int, int], ...]
"""Half-open ranges of block numbers: ascending, neither empty nor touching one another."""

# Ion types by the kind of constant; what has no kind of its own reads as text.
_BOOLS, _NUMBERS, _TIMES = 1 << 1, 0b111 << 2, 1 << 6
_TEXTS = 0xFFFF & ~(1 | _BOOLS | _NUMBERS | _TIMES | 1 << 11 | 1 << 13)
_OPERATORS = {
    "=": operator.eq,
    "<>": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


@record
class Reason:
    """The answer of a file to one comparison.

    Attributes
    ----------
    condition : Predicate
        The comparison, or the part of the condition of which nothing is known.
    source : str
        Where the answer is from: ``time index``, ``constant``, ``types``, ``nothing``.
    intervals : Intervals
        The blocks that can hold rows for which it is TRUE.
    """

    condition: Compare | Anywhere
    source: str
    intervals: Intervals


def blocks(test: Predicate, sparse: SparseIndex) -> Intervals:
    """Give the blocks of a file that have to be read.

    Parameters
    ----------
    test : Predicate
        What the condition was reduced to.
    sparse : SparseIndex
        What is known of the file.

    Returns
    -------
    Intervals
        They contain each block with a row for which the condition is TRUE.
    """
    match test:
        case Anywhere():
            return union([(0, sparse.blocks)])
        case Nowhere():
            return ()
        case Compare():
            return _compared(test, sparse)[1]
        case Either():
            return union(chain.from_iterable(blocks(part, sparse) for part in test.parts))
        case Both():
            left = union([(0, sparse.blocks)])
            for part in test.parts:
                left = _common(left, blocks(part, sparse)) if left else ()
            return left


def reasons(test: Predicate, sparse: SparseIndex) -> list[Reason]:
    """Tell how the answer of :func:`blocks` comes about.

    Parameters
    ----------
    test : Predicate
        What the condition was reduced to.
    sparse : SparseIndex
        What is known of the file.

    Returns
    -------
    list of Reason
        One for each comparison and each part of which nothing is known.
    """
    match test:
        case Both() | Either():
            return list(chain.from_iterable(reasons(part, sparse) for part in test.parts))
        case Compare():
            return [Reason(test, *_compared(test, sparse))]
        case Anywhere(span) if span is not None:
            return [Reason(test, "nothing", blocks(test, sparse))]
        case _:
            return []


def _compared(test: Compare, sparse: SparseIndex) -> tuple[str, Intervals]:
    """Tell what a file knows of a comparison, and the blocks where it can be TRUE."""
    everything = union([(0, sparse.blocks)])
    if len(test.path) == 1 and test.path[0] in sparse.constants:
        possible = _holds(sparse.constants[test.path[0]], test.op, test.value)
        return "constant", everything if possible else ()
    if not _type_occurs(test, sparse):
        return "types", ()
    index = sparse.indices.get(test.path)
    if not isinstance(test.value, Instant) or index is None or index.is_empty:
        return "nothing", everything
    start, stop = _within(index, test.op, test.value.us)
    return "time index", union([(start, min(stop, sparse.blocks))])


def _within(index: TimeIndex, op: str, us: int) -> tuple[int, int]:
    """Give the blocks that can hold a time that compares so."""
    match op:
        case "<":
            return 0, index.end(us - 1)
        case "<=":
            return 0, index.end(us)
        case ">":
            return index.start(us + 1), UNBOUNDED
        case ">=":
            return index.start(us), UNBOUNDED
        case "=":
            return index.start(us), index.end(us)
        case _:
            return 0, UNBOUNDED


def _type_occurs(test: Compare, sparse: SparseIndex) -> bool:
    """Tell whether the file can have a value at the path that the constant compares with."""
    summary = sparse.summary
    if summary is None or test.value is None:
        return True
    mask = summary.types.get(test.path, 0 if summary.complete else None)
    if mask is None:
        return True
    if test.op == "<>":
        return mask != 0
    match test.value:
        case bool():
            wanted = _BOOLS
        case int() | float():
            wanted = _NUMBERS
        case str():
            wanted = _TEXTS
        case _:
            wanted = _TIMES
    return bool(mask & wanted)


def _holds(stored: object, op: str, value: Constant) -> bool:
    """Compare a constant of a file the way the dialect does; TRUE when that is not known here."""
    left, right = _comparable(stored), _comparable(value)
    if left is None or right is None:
        return True
    if left[0] != right[0]:
        return op == "<>"
    return bool(_OPERATORS[op](left[1], right[1]))


def _comparable(value: object) -> tuple[str, Any] | None:
    """Give the kind of a value, and what orders values of that kind."""
    match value:
        case bool():
            return "boolean", value
        case int():
            return "number", value
        case float() if not math.isnan(value):
            return "number", value
        case str():
            return "string", value.encode("utf-8", "surrogatepass")
        case Instant(us):
            return "time", us
        case _:
            moment = ion.instant_to_us(value)
            return None if moment is None else ("time", moment)


def union(ranges: Iterable[tuple[int, int]]) -> Intervals:
    """Sort ranges, drop empty ones and join those that touch.

    Parameters
    ----------
    ranges : iterable of (int, int)
        Half-open ranges, in any order.

    Returns
    -------
    Intervals
        The same blocks.
    """
    joined: list[tuple[int, int]] = []
    for start, stop in sorted(ranges):
        if start >= stop:
            continue
        if joined and start <= joined[-1][1]:
            joined[-1] = joined[-1][0], max(stop, joined[-1][1])
        else:
            joined.append((start, stop))
    return tuple(joined)


def _common(left: Intervals, right: Intervals) -> Intervals:
    common = []
    at = 0
    for start, stop in left:
        while at < len(right) and right[at][1] <= start:
            at += 1
        for low, high in right[at:]:
            if low >= stop:
                break
            common.append((max(start, low), min(stop, high)))
    return union(common)
