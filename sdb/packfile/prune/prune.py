"""Prune a packfile to the blocks that can hold a row for which a condition is TRUE.

Asked are the constants of the file, the types that occur at a path and the time indexes, and then
what the file knows of each block, its zone maps and filters, see :mod:`sdb.packfile.prune.rules`.
See docs/sql.md, "What is read".
"""

from __future__ import annotations

import math
import operator
from itertools import chain

from sdb import ion
from sdb.errors import CorruptError
from sdb.packfile.prune import rules
from sdb.packfile.prune.predicate import (
    ANY_TYPE,
    BOOL_TYPE,
    LIST_TYPE,
    NULL_TYPE,
    NUMBER_TYPES,
    TIME_TYPE,
    AddressRange,
    Anywhere,
    Both,
    Compare,
    Either,
    Instant,
    Nowhere,
    OneOf,
    TextPrefix,
    TextWords,
    TypeTest,
)
from sdb.packfile.trailer.timeindex import UNBOUNDED
from sdb.records import record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from typing import Any, TypeAlias

    from sdb.packfile.prune.predicate import Constant, PathTest, Predicate
    from sdb.packfile.trailer.blockstats import BlockStatistics
    from sdb.packfile.trailer.fieldcounts import FieldPath
    from sdb.packfile.trailer.sparseindex import Path, SparseIndex
    from sdb.packfile.trailer.timeindex import TimeIndex

Intervals: TypeAlias = tuple[tuple[int, int], ...]
"""Half-open ranges of block numbers: ascending, neither empty nor touching one another."""

# What has no kind of its own reads as text.
_TEXTS = ANY_TYPE & ~(NULL_TYPE | BOOL_TYPE | NUMBER_TYPES | TIME_TYPE | LIST_TYPE | 1 << 13)
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
    """The answer of a file to one test."""

    # The test, or the part of the condition of which nothing is known.
    condition: PathTest | Anywhere
    # Where the answer is from: ``time index``, ``constant``, ``types``, ``zone map``, ``filter``,
    # ``nothing``.
    source: str
    intervals: Intervals  # the blocks that can hold rows for which it is TRUE


def blocks(
    test: Predicate, sparse: SparseIndex, statistics: BlockStatistics | None = None
) -> Intervals:
    """Return the blocks of a file that have to be read.

    Returns: They contain each block with a row for which the condition is TRUE.
    """

    def compared(test_: PathTest) -> Intervals:
        return [left for _, left in _answers(test_, sparse, statistics)][-1]

    return possible(test, sparse.blocks, compared)


def possible(test: Predicate, count: int, compared: Callable[[PathTest], Intervals]) -> Intervals:
    """Return those of some things in a row that a condition may be TRUE for.

    * ``count``: How many things there are: blocks of a file, or files of a list.
    * ``compared``: Gives those that one test may be TRUE for.
    """
    match test:
        case Anywhere():
            return ((0, count),) if count else ()
        case Nowhere():
            return ()
        case Either():
            return union(
                chain.from_iterable(possible(inner, count, compared) for inner in test.parts)
            )
        case Both():
            left = union([(0, count)])
            for part in test.parts:
                left = common(left, possible(part, count, compared)) if left else ()
            return left
        case _:
            return compared(test)


def asks_statistics(test: Predicate, sparse: SparseIndex) -> bool:
    """Return whether statistics of blocks may leave out more than what is known of the whole file.

    Returns: False for conditions that most blocks have a row for anyway, and for times of paths
    that have an index, unless rows are sorted by them.
    """
    match test:
        case Both(parts):
            # A comparison implies that there is a value: Spark pushes both conditions.
            compared = {part.path for part in parts if isinstance(part, Compare)}
            return any(
                asks_statistics(part, sparse)
                for part in parts
                if not isinstance(part, TypeTest) or part.path not in compared
            )
        case Either(parts):
            return bool(parts) and all(asks_statistics(part, sparse) for part in parts)
        case Anywhere() | Nowhere() | Compare(op="<>"):
            return False
        case Compare() | OneOf() if _is_of_times(test):
            plain = _plain(test.path)
            # Where rows are sorted by times and something else, blocks are in no order of time.
            return plain not in sparse.indices or plain in sparse.clustered
        case TypeTest(path, or_missing=True):
            return None not in path
        case _:
            return True


def reasons(
    test: Predicate, sparse: SparseIndex, statistics: BlockStatistics | None = None
) -> list[Reason]:
    """Report how the answer of :func:`blocks` comes about.

    Returns: One for each part of which nothing is known, and one for each test, or several, each of
    which leaves out more than the one before it.
    """
    match test:
        case Both() | Either():
            parts = (reasons(part, sparse, statistics) for part in test.parts)
            return list(chain.from_iterable(parts))
        case Anywhere(span) if span is not None:
            return [Reason(test, "nothing", blocks(test, sparse))]
        case Anywhere() | Nowhere():
            return []
        case _:
            answers = [Reason(test, *answer) for answer in _answers(test, sparse, statistics)]
            return [reason for reason in answers if reason.source != "nothing"] or answers


def _answers(
    test: PathTest, sparse: SparseIndex, statistics: BlockStatistics | None
) -> Iterator[tuple[str, Intervals]]:
    """Yield what the file, then each of its statistics, leaves of the blocks."""
    source, left, types = "nothing", union([(0, sparse.blocks)]), ANY_TYPE
    # The file has no metadata of what is inside of a value.
    if not (isinstance(test, TextWords) and test.is_deep):
        if isinstance(test, OneOf):
            source, left = _by_values(test, sparse)
        else:
            source, left = _by_file(test, sparse)
        types = _types_at(test.path, sparse)
    yield source, left
    if statistics is None or not left or source == "constant":
        return
    rows = () if sparse.summary is None else sparse.summary.rows
    for source, may_hold in _rules(test, statistics, types, rows):
        left_now = union(
            (number, number + 1)
            for number in chain.from_iterable(range(start, stop) for start, stop in left)
            if may_hold(number)
        )
        if left_now != left:
            left = left_now
            yield source, left


def _rules(
    test: PathTest, statistics: BlockStatistics, types: int, rows: Sequence[int]
) -> Iterator[tuple[str, rules.BlockRule]]:
    """Return what block statistics say of a test; see :func:`sdb.packfile.prune.rules.rules`."""
    if not isinstance(test, OneOf):
        return rules.rules(test, statistics, types, rows)
    from sdb.packfile.prune.inlist import rules_of_many

    return rules_of_many(test, statistics, types)


def _by_file(test: PathTest, sparse: SparseIndex) -> tuple[str, Intervals]:
    """Return what decides a test for the whole file, and the blocks where it can be TRUE."""
    everything = union([(0, sparse.blocks)])
    name = test.path[0]
    if len(test.path) == 1 and name in sparse.constants:
        if not isinstance(test, Compare):
            return "constant", everything
        possible = _holds(sparse.constants[name], test.op, test.value)
        return "constant", everything if possible else ()
    if not _type_occurs(test, sparse):
        return "types", ()
    if not isinstance(test, Compare) or not isinstance(test.value, Instant):
        return "nothing", everything
    index = sparse.indices.get(_plain(test.path))
    if index is None or index.is_empty:
        return "nothing", everything
    start, stop = _within(index, test.op, test.value.us)
    return "time index", union([(start, min(stop, sparse.blocks))])


def _is_of_times(test: Compare | OneOf) -> bool:
    """Return whether all that a test compares with are times."""
    values = test.values if isinstance(test, OneOf) else (test.value,)
    return all(isinstance(value, Instant) for value in values)


def _by_values(test: OneOf, sparse: SparseIndex) -> tuple[str, Intervals]:
    """Return the same for a list of values: a row may have any of them.

    Only constants and time indexes tell values of one type apart.
    """
    path = test.path
    is_apart = _plain(path) in sparse.indices or (len(path) == 1 and path[0] in sparse.constants)
    kinds: dict[object, Constant] = {
        at if is_apart else -_types_of(value): value for at, value in enumerate(test.values)
    }
    answers = [_by_file(Compare(path, "=", value), sparse) for value in kinds.values()]
    sources = [source for source, ranges in answers if ranges] or [source for source, _ in answers]
    possible_anywhere = union(chain.from_iterable(ranges for _, ranges in answers))
    return sources[0] if sources else "types", possible_anywhere


def _within(index: TimeIndex, op: str, us: int) -> tuple[int, int]:
    """Return the blocks that can hold a time that compares so."""
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


def _type_occurs(test: PathTest, sparse: SparseIndex) -> bool:
    """Return whether the file can have a value at the path that the test is about."""
    mask = _types_at(test.path, sparse)
    match test:
        case TypeTest(_, types, or_missing):
            return or_missing or bool(mask & types)
        case TextPrefix() | AddressRange() | TextWords():
            return bool(mask & _TEXTS)
        case Compare(op="<>"):
            return bool(mask)
        case Compare(value=value):
            return bool(mask & _types_of(value))
        case OneOf():  # each value is asked by itself
            return True


def _types_at(path: FieldPath, sparse: SparseIndex) -> int:
    """Return the Ion types that a file may have at a path: all, when that is not known."""
    summary = sparse.summary
    if summary is None:
        return ANY_TYPE
    if None not in path:
        return summary.types.get(_plain(path), 0 if summary.complete else ANY_TYPE)
    # Only field counts have the types inside of lists.
    try:
        presence = sparse.presence()
    except CorruptError:
        return ANY_TYPE
    if presence is None:
        return ANY_TYPE
    count = presence.fields.get(path)
    return count.types if count is not None else 0 if presence.complete else ANY_TYPE


def _plain(path: FieldPath) -> Path:
    """Return a path as indexes have it, none of which is of what is in lists."""
    return () if None in path else tuple(map(str, path))


def _types_of(value: Constant) -> int:
    """Return the Ion types of the values that compare with a constant."""
    match value:
        case None:
            return NULL_TYPE
        case bool():
            return BOOL_TYPE
        case int() | float():
            return NUMBER_TYPES
        case str():
            return _TEXTS
        case _:
            return TIME_TYPE


def _holds(stored: object, op: str, value: Constant) -> bool:
    """Compare a constant of a file the way the dialect does; TRUE when that is not known here."""
    left, right = _comparable(stored), _comparable(value)
    if left is None or right is None:
        return True
    if left[0] != right[0]:
        return op == "<>"
    return bool(_OPERATORS[op](left[1], right[1]))


def _comparable(value: object) -> tuple[str, Any] | None:
    """Return the kind of a value, and what orders values of that kind."""
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
    """Sort ranges, drop empty ones and join those that touch."""
    joined: list[tuple[int, int]] = []
    for start, stop in sorted(ranges):
        if start >= stop:
            continue
        if joined and start <= joined[-1][1]:
            joined[-1] = joined[-1][0], max(stop, joined[-1][1])
        else:
            joined.append((start, stop))
    return tuple(joined)


def common(left: Intervals, right: Intervals) -> Intervals:
    """Return what is in both of two."""
    both = []
    at = 0
    for start, stop in left:
        while at < len(right) and right[at][1] <= start:
            at += 1
        for low, high in right[at:]:
            if low >= stop:
                break
            both.append((max(start, low), min(stop, high)))
    return union(both)
