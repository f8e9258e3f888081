"""Rows that are known without a scan, as Arrow data."""

from __future__ import annotations

from sdb import _core

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from sdb.query.plan.scans import Column


def lanes_of(values: Sequence[Sequence[object]], columns: Sequence[Column]) -> _core.ArrowTable:
    """Make the lanes of rows that are known.

    Not by pyarrow, whose start takes longer than most queries that need no scan.
    """
    letters = {at: letter for column in columns for letter, at in column.lanes.items()}
    return _core.known_rows([(letters[at], [row[at] for row in values]) for at in sorted(letters)])
