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
    """The number of the rows of a scan."""

    scan: ScanNode  # what is read
    columns: tuple[Column, ...]  # the columns of the result, all of which are that number


@record
class DataShape:
    """The types of the values at each path of the rows of a scan."""

    scan: ScanNode  # what is read
    columns: tuple[Column, ...]  # what the columns of the result mean
    letters: tuple[str, ...]  # the columns of the result


@record
class Take:
    """Rows of a scan as they are."""

    scan: ScanNode  # what is read
    columns: tuple[Column, ...]  # what the columns of the result mean
    lanes: tuple[Lane, ...]  # the columns of the result
    limit: int | None  # number of rows that are enough


@record
class HashAggregate:
    """Rows of a scan summed up."""

    scan: ScanNode  # what is read
    columns: tuple[Column, ...]  # what the columns of the result mean
    lanes: tuple[Lane, ...]  # what keys and calls are about
    # Lanes that the rows of a group have in common, and what times are rounded down to
    keys: tuple[tuple[int, Grain | None], ...]
    calls: tuple[Accumulator, ...]  # what is found out, of which lane, and of which rows
    # The columns of the result: places among keys and calls, and letters
    outputs: tuple[tuple[int, str], ...]
    # Places of what the groups are sorted by, whether greater values come first, and whether NULL
    # comes last
    sort: tuple[tuple[int, bool, bool], ...]
    limit: int | None  # number of groups that are wanted
    offset: int  # number of groups before these
    keeps: bool = False  # whether rows without a key are in the group of NULL


@record
class TopK:
    """The first rows of a scan in some order."""

    scan: ScanNode  # what is read
    columns: tuple[Column, ...]  # what the columns of the result mean
    keys: tuple[Lane, ...]  # what rows are sorted by; rows without one of them are left out
    # For each key its place, whether greater values come first, and whether NULL comes last
    sort: tuple[tuple[int, bool, bool], ...]
    lanes: tuple[Lane, ...]  # the columns of the result
    limit: int  # number of rows that are wanted
    offset: int  # number of rows before these
    # Whether rows without the key follow all others; where there are too few of these, the engine
    # has to answer
    keeps: bool = False


Operation: TypeAlias = Count | DataShape | Take | HashAggregate | TopK
