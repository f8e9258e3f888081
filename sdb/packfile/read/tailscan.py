"""Last rows of a selection, block by block from the end on."""

from __future__ import annotations

from collections import deque

from sdb import bounds
from sdb.records import replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import TypeVar

    from sdb.packfile.prune.selection import Selection

    Row = TypeVar("Row")


def last(
    selection: Selection, rows: int, of_block: Callable[[Selection], Iterable[Row]]
) -> list[Row]:
    """Return the last rows of a selection; no block before them is asked for.

    * ``of_block``: Gives the rows of a selection of one block.
    """
    bounds.ROWS.check(rows)
    tail: list[Row] = []
    for number in reversed(selection.blocks):
        if len(tail) == rows:
            break
        alone = replace(selection, blocks=(number,))
        tail[:0] = deque(of_block(alone), maxlen=rows - len(tail))
    return tail
