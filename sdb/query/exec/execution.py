"""A statement that runs: the lanes of its rows, and what ends it."""

from __future__ import annotations

from sdb import _core
from sdb.records import changing_record, field

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from sdb.query.plan.scans import Column


@changing_record
class Execution:
    """A running statement: the lanes of its rows, and what ends it."""

    columns: tuple[Column, ...]  # the members of each row
    reader: Any  # has `__arrow_c_stream__`, which can be called once
    # The rows themselves, one Python value for each column of the result, when the answer is known
    # without running anything; `reader` is ``None`` then
    values: tuple[tuple[Any, ...], ...] | None = None
    # The `_core.LaneScan` objects, whose `stats` tell what has been read
    scans: tuple[Any, ...] = ()
    # Makes the engine stop soon; may be called from any thread
    interrupt: Callable[[], None] = lambda: None
    is_plan: bool = False  # whether the rows are the plan that EXPLAIN asks for, not an answer
    # How it is that not all blocks that could matter will be read; empty when they will
    note: str = ""
    # Returns what readers of the rows should know of them, as far as it is known by then
    notes: Callable[[], list[str]] = list
    dialect: str = "standard"
    # Parts of the statement that are taken for something else than is written, for those who ask
    readings: Sequence[str] = ()
    # Finds out the rows themselves when they are first asked for; `reader` and `values` are
    # ``None`` until then
    count: Callable[[], tuple[tuple[Any, ...], ...]] | None = None
    _close: list[Callable[[], None]] = field(default_factory=list)

    @property
    def known(self) -> tuple[tuple[Any, ...], ...] | None:
        """The rows themselves, found out now if need be; None: the reader has them."""
        if self.values is None and self.count is not None:
            self.values = self.count()
        return self.values

    def say(self, line: str) -> None:
        """Add a line to the notes."""
        notes = self.notes
        self.notes = lambda: [line, *notes()]

    def on_close(self, action: Callable[[], None]) -> None:
        """Have something done at the end."""
        self._close.append(action)

    def close(self) -> None:
        """Release the engine; the reader ends with it."""
        self.reader = (
            None  # a relation keeps the engine, with its threads, for as long as it is there
        )
        while self._close:
            self._close.pop()()


# Rows that are known without a scan, as Arrow data.


def lanes_of(values: Sequence[Sequence[object]], columns: Sequence[Column]) -> _core.ArrowTable:
    """Make the lanes of rows that are known.

    Not by pyarrow, whose start takes longer than most queries that need no scan.
    """
    letters = {at: letter for column in columns for letter, at in column.lanes.items()}
    return _core.known_rows([(letters[at], [row[at] for row in values]) for at in sorted(letters)])
