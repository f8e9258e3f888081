"""Rows of any shape for terminals, a line for each member."""

from __future__ import annotations

from sdb.view.grid import cell, printable, text_width

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any

_GAP = "  "
_RULE = 24


def vertical(rows: Iterable[dict[str, Any]], *, rule: str = "─") -> Iterator[str]:
    """Draw rows below each other, each member on a separate line.

    * ``rows``: The rows. Numbers are :class:`str` of a subclass; what a row lacks is left out.

    Yields: The lines of a row, each with its end, and in the end how many rows there were.
    """
    number = 0
    for row in rows:
        number += 1
        head = f"row {number:,} "
        names = {name: printable(name, longest=None) for name in row}
        widest = max(map(text_width, names.values()), default=0)
        lines = [head + rule * max(_RULE - len(head), 1)]
        for name, shown in names.items():
            space = " " * (widest - text_width(shown))
            lines.append(f"{shown}{space}{_GAP}{cell(row, name, longest=None)}".rstrip())
        yield "".join(f"{line}\n" for line in lines)
    yield f"({number:,} row{'' if number == 1 else 's'})\n"
