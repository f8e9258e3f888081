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
from sdb.records import record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from sdb.table.schema.types import ColumnType

_NESTED = LIST | STRUCT


@record
class Column:
    """A member of each output row."""

    name: str  # its name; names may repeat, then the last one counts
    # For each lane (by its letter) the number of the column of the result that holds it. Without
    # lane ``t`` the value is whichever lane is not null, and MISSING when all are.
    lanes: Mapping[str, int]
    # Mask of the types that are possible, for all that is known beforehand; ROW for a whole row
    # (lane ``v`` or ``j``), whose members stand among those of the output row
    types: int
    declared: ColumnType | None = None  # the type that a schema says it has

    @property
    def is_row(self) -> bool:
        """Return whether it is a whole row."""
        return self.types == ROW


@record
class Shape:
    """Types of the values of an output, as far as they are known before it is computed."""

    mask: int  # the types it may have, MISSING among them
    # When it is of one type (`mask` without that), the meaning of NULL in its lane: MISSING, NULL,
    # or 0 when it cannot be NULL; ``None`` when other lanes have the types
    absent: int | None = None
    whole: bool = False  # whether it is a number whose lane has integers
    # Whether it is a number with a lane of integers, for where it is whole, beside doubles
    exact: bool = False
    row: bool = False  # whether it is a whole row

    def letters(self, *, typed: bool) -> str:
        """Return the lanes that together tell a value; without `typed` all but its JSON text."""
        text = "v" if typed else "j"
        if self.row:
            return text
        types = self.mask & ~MISSING
        if self.absent is not None and types & ~self.absent:
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
        """Return the types of values, as :attr:`Column.types` has them."""
        if self.row:
            return ROW
        return INTEGER if self.whole else self.mask & ~MISSING & ~(self.absent or 0)
