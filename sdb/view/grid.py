"""Rows of any shape as a table for terminals."""

from __future__ import annotations

import json
import unicodedata

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

_GAP = "  "
_LEAST = 6
_HEAD = 12
"""A column is at least as wide as this much of its name."""
_LONGEST = 1000
_WIDE = {"W", "F"}
_NO_WIDTH = {"Mn", "Me", "Cf"}


def grid(
    names: Sequence[str],
    rows: Sequence[dict[str, Any]],
    *,
    columns: int,
    total: int | None = None,
    ellipsis: str = "…",
) -> str:
    """Draw rows as an aligned table: numbers to the right, everything else to the left.

    * ``rows``: The rows to show. Numbers are :class:`str` of a subclass; what a row lacks stays
      blank.
    * ``columns``: Width to stay within. Long cells are cut, and then the last columns left out.
    * ``total``: How many rows there are, if more than are shown.

    Returns: Lines, each with its end; the last ones say what is not shown.
    """
    cells = [[cell(row, name) for name in names] for row in rows]
    heads = [printable(name) for name in names]
    right = [_is_numeric(rows, name) for name in names]
    natural = [
        max(map(text_width, column), default=0) for column in zip(heads, *cells, strict=True)
    ]
    widths = _fit(natural, list(map(text_width, heads)), columns)
    rule = "─" if ellipsis == "…" else "-"
    out = [_line(heads, widths, right, ellipsis), _GAP.join(rule * width for width in widths)]
    out += [_line(row, widths, right, ellipsis) for row in cells]
    if not names:
        out = []
    if hidden := heads[len(widths) :]:
        listed = ", ".join(hidden[:8]) + (f", {ellipsis}" if len(hidden) > 8 else "")  # noqa: PLR2004
        out.append(f"({_count(len(hidden), 'more column')}: {listed})")
    count = len(rows) if total is None else total
    if count > len(rows):
        out.append(f"({len(rows):,} of {_count(count, 'row')} shown)")
    else:
        out.append(f"({_count(count, 'row')})")
    return "".join(f"{line.rstrip()}\n" for line in out)


def gathered(rows: Sequence[dict[str, Any]]) -> list[str]:
    """Return the names of all members of rows, in the order of their appearance."""
    return list(dict.fromkeys(name for row in rows for name in row))


def _is_numeric(rows: Sequence[dict[str, Any]], name: str) -> bool:
    present = [row[name] for row in rows if row.get(name) is not None]
    return bool(present) and all(_is_number(value) for value in present)


def _is_number(value: object) -> bool:
    return isinstance(value, str) and type(value) is not str


def cell(row: dict[str, Any], name: str, *, longest: int | None = _LONGEST) -> str:
    """Show a member of a row on one line; nothing where the row lacks it."""
    if name not in row:
        return ""
    value = row[name]
    return printable(value if isinstance(value, str) else _json(value), longest=longest)


def _json(value: object) -> str:
    match value:
        case list():
            return f"[{', '.join(map(_json, value))}]"
        case dict():
            pairs = (f"{_quoted(name)}: {_json(inner)}" for name, inner in value.items())
            return f"{{{', '.join(pairs)}}}"
        case str():
            return value if _is_number(value) else _quoted(value)
        case _:
            return _quoted(value)


def _quoted(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def printable(text: str, *, longest: int | None = _LONGEST) -> str:
    """Show line ends and control characters as escapes; only the first characters are shown."""
    text = text[:longest]
    return text if text.isprintable() else "".join(map(_visible, text))


def _visible(char: str) -> str:
    if char.isprintable() or char == "\N{NO-BREAK SPACE}" or unicodedata.category(char) == "Zs":
        return char
    return json.dumps(char)[1:-1]


def text_width(text: str) -> int:
    """Count the columns that a text takes on a terminal."""
    return len(text) if text.isascii() else sum(map(_char_width, text))


def _char_width(char: str) -> int:
    if unicodedata.category(char) in _NO_WIDTH:
        return 0
    return 2 if unicodedata.east_asian_width(char) in _WIDE else 1


def _fit(natural: list[int], heads: list[int], columns: int) -> list[int]:
    """Return widths whose sum fits: the widest give way first, and the last columns go."""
    least = [
        min(width, max(_LEAST, min(head, _HEAD)))
        for width, head in zip(natural, heads, strict=True)
    ]
    shown = len(natural)
    while shown > 1 and _together(least[:shown]) > columns:
        shown -= 1
    widths = [min(width, columns) for width in natural[:shown]]
    while _together(widths) > columns:
        wide = [at for at in range(shown) if widths[at] > least[at]]
        if not wide:
            break
        widths[max(wide, key=widths.__getitem__)] -= 1
    return widths


def _together(widths: list[int]) -> int:
    return sum(widths) + len(_GAP) * max(len(widths) - 1, 0)


def _line(cells: list[str], widths: list[int], right: list[bool], ellipsis: str) -> str:
    parts = []
    for cell, width, number in zip(cells, widths, right, strict=False):
        shown = _clip(cell, width, ellipsis)
        space = " " * (width - text_width(shown))
        parts.append(space + shown if number else shown + space)
    return _GAP.join(parts)


def _clip(text: str, width: int, ellipsis: str) -> str:
    if text_width(text) <= width:
        return text
    left = width - len(ellipsis)
    clipped = []
    for char in text:
        left -= _char_width(char)
        if left < 0:
            break
        clipped.append(char)
    return "".join(clipped) + ellipsis[:width]


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
