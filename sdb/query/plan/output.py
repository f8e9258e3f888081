"""Columns of the output of a statement, and the lanes that hold them."""

from __future__ import annotations

from sdb.records import changing_record, field, record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any


@record
class Column:
    """A member of each output row.

    Attributes
    ----------
    name : str
        Its name; names may repeat, then the last one counts.
    lanes : mapping of str to int
        For each lane (by its letter) the number of the column of the result that holds it. Without
        lane ``t`` the value is whichever lane is not null, and MISSING when all are.
    kind : str
        ``row`` for a whole row (lane ``j``), whose members stand among those of the output row;
        a static type: ``null``, ``boolean``, ``integer``, ``number``, ``timestamp``, ``string``,
        ``list``, ``structure``; ``any`` otherwise.
    """

    name: str
    lanes: Mapping[str, int]
    kind: str


@changing_record
class Execution:
    """A running statement: the lanes of its rows, and what ends it.

    Attributes
    ----------
    columns : tuple of Column
        The members of each row.
    reader : object
        Has `__arrow_c_stream__`, which can be called once.
    values : tuple of tuples, or None
        The rows themselves, one Python value for each column of the result, when the answer is
        known without running anything; `reader` is ``None`` then.
    scans : tuple
        The `_core.LaneScan` objects, whose `stats` tell what has been read.
    interrupt : callable
        Makes the engine stop soon; may be called from any thread.
    is_plan : bool
        Whether the rows are the plan that EXPLAIN asks for, not an answer.
    note : str
        How it is that not all blocks that could matter will be read; empty when they will.
    """

    columns: tuple[Column, ...]
    reader: Any
    values: tuple[tuple[Any, ...], ...] | None = None
    scans: tuple[Any, ...] = ()
    interrupt: Callable[[], None] = lambda: None
    is_plan: bool = False
    note: str = ""
    _close: list[Callable[[], None]] = field(default_factory=list)

    def on_close(self, action: Callable[[], None]) -> None:
        """Have something done at the end."""
        self._close.append(action)

    def close(self) -> None:
        """Release the engine; the reader ends with it."""
        while self._close:
            self._close.pop()()
