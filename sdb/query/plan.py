"""What the parts of a query hand to one another: sources going in, a result coming out."""

from __future__ import annotations

from sdb.records import changing_record, field, record
from sdb.typed import Protocol

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any, TypeAlias

    from sdb.query import ast

Path: TypeAlias = tuple[str | int, ...]
"""Way from a row to a value: field names and 0-based list indexes; empty for the row itself."""

MISSING, NULL, BOOL, NUMBER, TIME, STRING, LIST, STRUCT = 0x80, 1, 2, 4, 8, 16, 32, 64
"""Types as bits of a mask; but for MISSING, the values of TYPE_BIT."""

ANY = 0xFF


@record
class TableName:
    """A table as a query names it.

    Attributes
    ----------
    kind : str
        ``file`` (read_file), ``path`` (a table path), ``glob`` or ``pattern`` (TABLE_GLOB,
        TABLE_PATTERN).
    parts : tuple of str
        The one argument of read_file, or the parts of the path.
    span : (int, int)
        Where it stands in the query.
    """

    kind: str
    parts: tuple[str, ...]
    span: ast.Span


class Dataset(Protocol):
    """Rows to read: packfiles, and of each the blocks that may hold rows of interest."""

    @property
    def sources(self) -> Sequence[Any]:
        """First argument of `_core.LaneScan`."""

    @property
    def is_remote(self) -> bool:
        """Whether blocks come whole, over a network, however little of them is needed."""

    def types(self, path: Path) -> int | None:
        """Mask of the types that occur under a path (with MISSING), ``None`` when not known."""

    def row_count(self) -> int | None:
        """Rows in all the blocks, from metadata; ``None`` when not known."""

    def bounds(self, path: Path, *, latest: bool, beside: int) -> list[list[int | None]]:
        """For each source and each of its blocks a time that no other under a path is in front of.

        Times are in microseconds since 1970. `latest` asks for a time that none is after, and not
        before. ``None`` stands for blocks of which this is not known, or where values may be of
        other types than timestamps and those of the mask `beside`.
        """

    def visited(self, blocks: Sequence[tuple[int, int]]) -> None:
        """Take note of the blocks that were read after all: numbers of sources, and in them."""


OpenDataset: TypeAlias = "Callable[[tuple[TableName, ...], ast.Expr | None], Dataset]"
"""Finds the rows of tables; the condition, whose paths (Name, Dot, Index) start at the row, may
serve to leave out blocks where it is never TRUE."""


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
class Result:
    """What a statement returns.

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
    note : str
        How it is that not all blocks that could matter will be read; empty when they will.
    """

    columns: tuple[Column, ...]
    reader: Any
    values: tuple[tuple[Any, ...], ...] | None = None
    scans: tuple[Any, ...] = ()
    interrupt: Callable[[], None] = lambda: None
    note: str = ""
    _close: list[Callable[[], None]] = field(default_factory=list)

    def on_close(self, action: Callable[[], None]) -> None:
        """Have something done at the end."""
        self._close.append(action)

    def close(self) -> None:
        """Release the engine; the reader ends with it."""
        while self._close:
            self._close.pop()()
