"""Columns of the output of a statement, and the lanes that hold them."""

from __future__ import annotations

from sdb.query.analyze.types import (
    HOLDS,
    INTEGER,
    LETTERS,
    LIST,
    MISSING,
    NULL,
    NUMBER,
    ROW,
    STRUCT,
)
from sdb.records import changing_record, field, record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any


_NESTED = LIST | STRUCT


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
    types : int
        Mask of the types that are possible, for all that is known beforehand; ROW for a whole row
        (lane ``v`` or ``j``), whose members stand among those of the output row.
    """

    name: str
    lanes: Mapping[str, int]
    types: int

    @property
    def is_row(self) -> bool:
        """Tell whether it is a whole row."""
        return self.types == ROW


@record
class Shape:
    """Types of the values of an output, as far as they are known before it is computed.

    Attributes
    ----------
    mask : int
        The types it may have, MISSING among them.
    absent : int or None
        When it is of one type (`mask` without that), the meaning of NULL in its lane: MISSING,
        NULL, or 0 when there is none; ``None`` when types are told by other lanes.
    whole : bool
        Whether it is a number whose lane has integers.
    exact : bool
        Whether it is a number with a lane of integers, for where it is whole, beside doubles.
    row : bool
        Whether it is a whole row.
    """

    mask: int
    absent: int | None = None
    whole: bool = False
    exact: bool = False
    row: bool = False

    def letters(self, *, typed: bool) -> str:
        """Give the lanes that together tell a value; without `typed` all but its JSON text."""
        text = "v" if typed else "j"
        if self.row:
            return text
        types = self.mask & ~MISSING
        if self.absent is not None:
            letters = "x" if self.whole else "nx" if self.exact else LETTERS[types & ~self.absent]
            return f"t{letters}" if self.absent == NULL else letters
        if types in LETTERS:
            return "nx" if types == NUMBER else LETTERS[types]
        if not types:
            return "t"
        if not typed or types in {LIST, STRUCT}:
            return text
        return (
            "t"
            + "".join(letter for letter in "nxsbu" if HOLDS[letter] & types)
            + (text if types & _NESTED else "")
        )

    @property
    def types(self) -> int:
        """Give the types of values, as :attr:`Column.types` has them."""
        if self.row:
            return ROW
        return INTEGER if self.whole else self.mask & ~MISSING & ~(self.absent or 0)


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
    seen : callable
        Tells how many rows without a path a scan has met, and of how many; None as long as it has
        not read all that it has to.
    left_out : callable
        Gives lines about rows without a key that were met so far.
    notes : callable
        Gives what whoever reads the rows should know of them, as far as it is known by then.
    remarks : list of str
        What whoever reads the plan should know besides.
    count : callable or None
        Finds out the rows themselves when they are first asked for; `reader` and `values` are
        ``None`` until then.
    """

    columns: tuple[Column, ...]
    reader: Any
    values: tuple[tuple[Any, ...], ...] | None = None
    scans: tuple[Any, ...] = ()
    interrupt: Callable[[], None] = lambda: None
    is_plan: bool = False
    note: str = ""
    seen: Callable[[tuple[str, ...]], tuple[int, int] | None] = lambda _: None
    left_out: Callable[[], list[str]] = list
    notes: Callable[[], list[str]] = list
    remarks: list[str] = field(default_factory=list)
    count: Callable[[], tuple[tuple[Any, ...], ...]] | None = None
    _close: list[Callable[[], None]] = field(default_factory=list)

    @property
    def known(self) -> tuple[tuple[Any, ...], ...] | None:
        """The rows themselves, found out now if need be; None: the reader has them."""
        if self.values is None and self.count is not None:
            self.values = self.count()
        return self.values

    def rows_found(self) -> int:
        """Return the number of rows that scans have counted so far; 0 where none counts them."""
        return sum(scan.watched[0] for scan in self.scans)

    def on_close(self, action: Callable[[], None]) -> None:
        """Have something done at the end."""
        self._close.append(action)

    def close(self) -> None:
        """Release the engine; the reader ends with it."""
        while self._close:
            self._close.pop()()
