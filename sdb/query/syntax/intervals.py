"""INTERVAL: spans of time that are added to times, or taken from them."""

from __future__ import annotations

import re

from sdb.query.syntax import ast

UNITS_US = {
    "WEEK": 604_800_000_000,
    "DAY": 86_400_000_000,
    "HOUR": 3_600_000_000,
    "MINUTE": 60_000_000,
    "SECOND": 1_000_000,
    "MILLISECOND": 1_000,
    "MICROSECOND": 1,
}
MONTHS = {"YEAR": 12, "QUARTER": 3, "MONTH": 1}

_PIECE = re.compile(r"([+-]?[0-9]{1,18})\s+([a-z]+)\s*", re.IGNORECASE)
_MOST = 1 << 62


def unit(word: str) -> str | None:
    """Give the part of a time that a word stands for, which may be a plural."""
    name = word.upper().removesuffix("S")
    return name if name in UNITS_US or name in MONTHS else None


def read(text: str, span: ast.Span) -> ast.Interval | None:
    """Read the text of an interval.

    Parameters
    ----------
    text : str
        As in ``1 day 12 hours``.
    span : (int, int)
        Where it stands.

    Returns
    -------
    ast.Interval or None
        Nothing where it is none.

    Examples
    --------
    >>> read("1 year -1 day", (0, 0))
    Interval(months=12, us=-86400000000)
    """
    months = us = at = 0
    text = text.strip()
    while at < len(text):
        piece = _PIECE.match(text, at)
        name = unit(piece[2]) if piece else None
        if piece is None or name is None:
            return None
        months += int(piece[1]) * MONTHS.get(name, 0)
        us += int(piece[1]) * UNITS_US.get(name, 0)
        at = piece.end()
    fits = text and abs(us) <= _MOST and abs(months) <= _MOST
    return ast.Interval(months, us, span=span) if fits else None


def shifted(op: str, left: ast.Expr, right: ast.Expr) -> ast.Expr | None:
    """Give a time and an interval as DATE_ADD: first the months, then what is of fixed length.

    Parameters
    ----------
    op : str
        ``+`` or ``-``.
    left, right : Expr
        The operands; one is an interval.

    Returns
    -------
    Expr or None
        Nothing where an interval may not stand.
    """
    time, by = (left, right) if isinstance(right, ast.Interval) else (right, left)
    if not isinstance(by, ast.Interval) or isinstance(time, ast.Interval):
        return None
    if op == "-" and by is left:
        return None
    sign = -1 if op == "-" else 1
    span = (left.span[0], right.span[1])
    for total, units in ((by.months, MONTHS), (by.us, UNITS_US)):
        if total or (units is UNITS_US and time in (left, right)):
            part, size = next((name, size) for name, size in units.items() if total % size == 0)
            count = ast.Literal(sign * (total // size), span=by.span)
            time = ast.Call("DATE_ADD", (count, time), part, span=span)
    return time
