"""Counts of groups that metadata tells: by fields that are the same in all rows of a packfile."""

from __future__ import annotations

from collections import Counter

from sdb import ion
from sdb.query.exec.execution import Execution

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from sdb.query.catalog.dataset import ValuePath
    from sdb.query.catalog.tablescan import PackfileScan
    from sdb.query.plan.operations import HashAggregate

_LETTERS = frozenset("nxsu")


def counted_groups(groups: HashAggregate) -> Execution | None:
    """Count the rows of groups without reading any."""
    scan = groups.scan
    paths = [groups.lanes[lane][1] for lane, grain in groups.keys if grain is None]
    is_count = all(call == ("rows", None, None) for call in groups.calls)
    is_plain = scan.predicate is None and not scan.explode and len(paths) == len(groups.keys)
    if not (is_count and is_plain and paths) or not _LETTERS.issuperset(
        letter for _, letter in groups.outputs
    ):
        return None
    counts: Counter[tuple[Any, ...]] = Counter()
    for part in getattr(scan.dataset, "read", ()):
        key, rows = tuple(_constant(part, path) for path in paths), part.rows
        if rows is None or None in key:
            return None
        counts[key] += rows
    if any(len(set(map(type, column))) > 1 for column in zip(*counts, strict=True)):
        return None
    counted = [(*key, *[count] * len(groups.calls)) for key, count in counts.items() if count]
    for number, descending, _ in reversed(groups.sort):
        counted.sort(key=lambda row: row[number], reverse=descending)
    rows = [[_cell(row[number], letter) for number, letter in groups.outputs] for row in counted]
    return told(groups, rows)


def told(groups: HashAggregate, rows: Sequence[Sequence[object]]) -> Execution:
    """Answer a statement with rows that metadata tells, of which it may want only some."""
    from sdb.query.exec.knownrows import lanes_of

    stop = None if groups.limit is None else groups.offset + groups.limit
    return Execution(groups.columns, lanes_of(rows[groups.offset : stop], groups.columns))


def _constant(part: PackfileScan, path: ValuePath) -> Any:  # noqa: ANN401 - text, int or time
    """Return what is at a path in all rows; None: that is not known, or of another type."""
    constants = part.pack.trailer.sparse.constants
    value = constants.get(str(path[0])) if len(path) == 1 else None
    if type(value) in {str, int}:
        return value
    us = ion.instant_to_us(value)
    return None if us is None else Moment(us)


class Moment(int):
    """Microseconds since 1970, which are no number."""


def _cell(value: object, letter: str) -> object:
    """Return what a lane has of a value."""
    kind = {str: "s", Moment: "u"}.get(type(value), "x")
    return value if letter == kind else None
