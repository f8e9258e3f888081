"""Rows of packfiles by their numbers, and whether two rows are the same."""

from __future__ import annotations

from itertools import accumulate, islice

from sdb import ion
from sdb.packfile.rewrite.rewrite import rows_of_blocks
from sdb.records import replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    import numpy as np
    from numpy.typing import NDArray

    from sdb.packfile.read.reader import Packfile


def canonical(row: dict[str, Any] | None) -> bytes:
    """Return bytes that two rows have in common if they have the same fields of the same types.

    Returns: None at all for no row.
    """
    return b"" if row is None else ion.dumps(ordered(row))


def ordered(value: object) -> object:
    """Put the fields of structures in one order: that of a row depends on those beside it."""
    if isinstance(value, dict):
        return {name: ordered(value[name]) for name in sorted(value)}
    return list(map(ordered, value)) if isinstance(value, list) else value


def rows_at(pack: Packfile, numbers: NDArray[np.int64]) -> Iterator[dict[str, Any]]:
    """Yield rows of a packfile by their numbers, which are ascending; other blocks are not read."""
    firsts = [0, *accumulate(rows_of_blocks(pack))]
    selection = pack.select()
    for block in range(len(pack.blocks)):
        start, stop = numbers.searchsorted([firsts[block], firsts[block + 1]])
        if start == stop:
            continue
        rows = pack.selected_rows(replace(selection, blocks=(block,)))
        at = firsts[block]
        for number in numbers[start:stop].tolist():
            yield next(islice(rows, number - at, None))
            at = number + 1
