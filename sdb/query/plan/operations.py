"""Operations of the logical plan that a scan carries out on its own, without a SQL engine."""

from __future__ import annotations

from sdb.records import record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, TypeAlias

    from sdb.query.plan.columns import Column
    from sdb.query.plan.scans import Lane, ScanNode

Grain: TypeAlias = tuple[str, int, int]
"""Unit that times are rounded down to: ``("us", every, from)`` or ``("months", every, 0)``."""
Accumulator: TypeAlias = "tuple[str, int | None, Any]"
"""Function, lane and predicate of FILTER."""


@record
class Count:
    """The number of the rows of a scan.

    Attributes
    ----------
    scan : ScanNode
        What is read.
    columns : tuple of Column
        The columns of the result, all of which are that number.
    """

    scan: ScanNode
    columns: tuple[Column, ...]


@record
class DataShape:
    """The types of the values at each path of the rows of a scan.

    Attributes
    ----------
    scan : ScanNode
        What is read.
    columns : tuple of Column
        What the columns of the result mean.
    letters : tuple of str
        The columns of the result.
    """

    scan: ScanNode
    columns: tuple[Column, ...]
    letters: tuple[str, ...]


@record
class Take:
    """Rows of a scan as they are.

    Attributes
    ----------
    scan : ScanNode
        What is read.
    columns : tuple of Column
        What the columns of the result mean.
    lanes : tuple of lanes
        The columns of the result.
    limit : int or None
        Number of rows that are enough.
    """

    scan: ScanNode
    columns: tuple[Column, ...]
    lanes: tuple[Lane, ...]
    limit: int | None


@record
class HashAggregate:
    """Rows of a scan summed up.

    Attributes
    ----------
    scan : ScanNode
        What is read.
    columns : tuple of Column
        What the columns of the result mean.
    lanes : tuple of lanes
        What keys and calls are about.
    keys : tuple of (int, grain or None)
        Lanes that the rows of a group have in common, and what times are rounded down to.
    calls : tuple of (str, int or None, predicate or None)
        What is found out, of which lane, and of which rows.
    outputs : tuple of (int, str)
        The columns of the result: places among keys and calls, and letters.
    sort : tuple of (int, bool, bool)
        Places of what the groups are sorted by, whether greater values come first, and whether
        NULL comes last.
    limit : int or None
        Number of groups that are wanted.
    offset : int
        Number of groups before these.
    """

    scan: ScanNode
    columns: tuple[Column, ...]
    lanes: tuple[Lane, ...]
    keys: tuple[tuple[int, Grain | None], ...]
    calls: tuple[Accumulator, ...]
    outputs: tuple[tuple[int, str], ...]
    sort: tuple[tuple[int, bool, bool], ...]
    limit: int | None
    offset: int


@record
class TopK:
    """The first rows of a scan in some order.

    Attributes
    ----------
    scan : ScanNode
        What is read.
    columns : tuple of Column
        What the columns of the result mean.
    keys : tuple of lanes
        What rows are sorted by; rows without one of them are left out.
    sort : tuple of (int, bool, bool)
        For each key its place, whether greater values come first, and whether NULL comes last.
    lanes : tuple of lanes
        The columns of the result.
    limit : int
        Number of rows that are wanted.
    offset : int
        Number of rows before these.
    """

    scan: ScanNode
    columns: tuple[Column, ...]
    keys: tuple[Lane, ...]
    sort: tuple[tuple[int, bool, bool], ...]
    lanes: tuple[Lane, ...]
    limit: int
    offset: int


Operation: TypeAlias = Count | DataShape | Take | HashAggregate | TopK
