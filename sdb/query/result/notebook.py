"""Rows of a result as a table for notebooks."""

from __future__ import annotations

import html
from itertools import islice

from sdb.query.result.lines import Number, parse, text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import Any

_ROWS = 100
_LONGEST = 1000


def page(
    names: Sequence[str] | None,
    pieces: Iterable[bytes],
    count: Callable[[], tuple[int, bool]],
    arrange: Callable[[list[str]], list[str]] = list,
) -> str:
    """Draw the first rows as a table.

    * ``names``: The columns; if not given, all members of these rows, in the order of their
      appearance.
    * ``arrange``: Puts such members in order.
    * ``count``: Gives how many rows were read so far, and whether these are all.
    """
    texts = (line for piece in pieces for line in piece.decode().split("\n")[:-1])
    rows = [parse(line) for line in islice(texts, _ROWS + 1)]
    if names is None:
        names = arrange(list(dict.fromkeys(name for row in rows for name in row)))
    head = "".join(f"<th>{html.escape(name)}</th>" for name in names)
    body = "".join(
        f"<tr>{''.join(_cell(row.get(name)) for name in names)}</tr>" for row in rows[:_ROWS]
    )
    note = f"<caption>{_cut(*count())}</caption>" if len(rows) > _ROWS else ""
    return f"<table>{note}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _cut(read: int, is_all: bool) -> str:  # noqa: FBT001 - as it was counted
    """Say that not all rows are shown, and of how many."""
    return (
        f"the first {_ROWS} of {read:,} rows"
        if is_all
        else (f"the first {_ROWS} rows of {read:,} or more")
    )


def _cell(value: Any) -> str:  # noqa: ANN401 - any JSON
    shown = "" if value is None else value if isinstance(value, str) else text(value)
    shown = shown if len(shown) <= _LONGEST else shown[:_LONGEST] + "…"
    side = "right" if isinstance(value, Number) else "left"
    return f'<td style="text-align:{side}">{html.escape(shown)}</td>'
