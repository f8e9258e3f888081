"""INTERVAL: spans of time that are added to times, or taken from them."""

from __future__ import annotations

import re

from sdb.query.syntax import ast

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sdb.query.syntax.expressions import ExpressionParser
    from sdb.query.syntax.lexer import Token

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

OPERATORS = frozenset({"+", "-", "*", "/"})
"""Operators that intervals have their own meaning for."""

_PIECE = r"(?i)([+-]?[0-9]{1,18})\s+([a-z]+)\s*"  # compiled where a query first needs it
_MOST = 1 << 62


def unit(word: str) -> str | None:
    """Return the part of a time that a word stands for, which may be a plural."""
    name = word.upper().removesuffix("S")
    return name if name in UNITS_US or name in MONTHS else None


def read(text: str, span: ast.Span) -> ast.Interval | None:
    """Read the text of an interval.

    * ``text``: As in ``1 day 12 hours``.

    >>> read("1 year -1 day", (0, 0))
    Interval(months=12, us=-86400000000)
    """
    months = us = at = 0
    text = text.strip()
    while at < len(text):
        piece = re.compile(_PIECE).match(text, at)
        name = unit(piece[2]) if piece else None
        if piece is None or name is None:
            return None
        months += int(piece[1]) * MONTHS.get(name, 0)
        us += int(piece[1]) * UNITS_US.get(name, 0)
        at = piece.end()
    fits = text and abs(us) <= _MOST and abs(months) <= _MOST
    return ast.Interval(months, us, span=span) if fits else None


def parse(parser: ExpressionParser, word: Token) -> ast.Expr:
    """Parse the quantities behind INTERVAL, with their units or the unit behind them."""
    if parser.at("("):
        return _counted(parser, word)
    start = word.start
    token = parser.advance()
    text = str(token.value)
    if parser.at("ID") and text.strip("+- ").isdecimal():
        text += f" {parser.advance().value}"
    interval = read(text, (start, parser.last.stop))
    if interval is None:
        hint = "as in INTERVAL '1 day 12 hours', or INTERVAL 7 DAY"
        raise parser.fault(f"'{text}' is no interval", token.start, hint=hint)
    return interval


def _counted(parser: ExpressionParser, word: Token) -> ast.Expr:
    """Parse ``INTERVAL (n) DAY``: a multiple of the unit."""
    parser.advance()
    count = parser.expression()
    parser.expect(")")
    named = read(f"1 {parser.token.value}", (word.start, parser.token.stop))
    if not parser.at("ID") or named is None:
        hint = "as in INTERVAL (n) DAY, or n * INTERVAL '1 day'"
        raise parser.fault("a unit is expected behind INTERVAL (...)", parser.token, hint=hint)
    parser.advance()
    product = combined("*", count, named)
    return product or ast.Binary("*", count, named, span=(word.start, parser.last.stop))


def combined(op: str, left: ast.Expr, right: ast.Expr) -> ast.Expr | None:
    """Return what an operator makes of an interval; None where that is nothing of its own.

    Sums and multiples of intervals are intervals, a time and an interval are a time.

    * ``op``: ``+``, ``-``, ``*`` or ``/``.
    """
    span = (left.span[0], right.span[1])
    if isinstance(left, ast.Interval) and isinstance(right, ast.Interval) and op in {"+", "-"}:
        sign = -1 if op == "-" else 1
        return _interval(left.months + sign * right.months, left.us + sign * right.us, span)
    if op in {"*", "/"}:
        if op == "*" and isinstance(right, ast.Interval):
            left, right = right, left
        if isinstance(left, ast.Interval) and isinstance(right, ast.Literal):
            return _multiple(op, left, right.value, span)
        return None
    return shifted(op, left, right)


def negative(interval: ast.Interval, span: ast.Span) -> ast.Interval:
    """Return an interval that goes back."""
    return ast.Interval(-interval.months, -interval.us, span=span)


def _interval(months: int, us: int, span: ast.Span) -> ast.Interval | None:
    fits = abs(us) <= _MOST and abs(months) <= _MOST
    return ast.Interval(months, us, span=span) if fits else None


def _multiple(
    op: str, interval: ast.Interval, by: ast.Constant, span: ast.Span
) -> ast.Interval | None:
    """Return a multiple of an interval, or a part of it; months only as long as they are whole."""
    if not isinstance(by, int | float) or isinstance(by, bool) or (op == "/" and not by):
        return None
    months, us = interval.months, interval.us
    if op == "/":
        is_whole = isinstance(by, int) and months % by == 0
        if months and not is_whole:
            return None
        return _interval(months // int(by) if months else 0, round(us / by), span)
    if isinstance(by, float) and (months or not abs(us * by) <= _MOST):
        return None
    return _interval(round(months * by), round(us * by), span)


_SUMS = frozenset({"SUM", "AVG", "MEDIAN", "QUANTILE", "STDDEV", "STDDEV_POP", "STDDEV_SAMP"})


def _is_span(expr: ast.Expr) -> bool:
    """Return whether an expression is a number, or the seconds between two times."""
    is_sum = isinstance(expr, ast.Aggregate) and expr.name in _SUMS
    return is_sum or (isinstance(expr, ast.Binary) and expr.op in OPERATORS)


def _factors(expr: ast.Expr) -> tuple[ast.Interval, ast.Expr | None] | None:
    """Return an interval and what it is multiplied with, if an expression is that."""
    if isinstance(expr, ast.Interval):
        return expr, None
    if not isinstance(expr, ast.Binary) or expr.op not in {"*", "/"}:
        return None
    other, factors = expr.right, _factors(expr.left)
    if factors is None and expr.op == "*":
        other, factors = expr.left, _factors(expr.right)
    if factors is None or (expr.op == "/" and factors[0].months):
        return None
    interval, factor = factors
    if expr.op == "/":
        # A double in front: integers would be divided without their fraction.
        other = ast.Binary("/", ast.Literal(1.0, span=expr.span), other, span=expr.span)
    return interval, other if factor is None else ast.Binary("*", factor, other, span=expr.span)


def shifted(op: str, left: ast.Expr, right: ast.Expr) -> ast.Expr | None:
    """Return a time and an interval as DATE_ADD: first the months, then what is of fixed length.

    * ``op``: ``+`` or ``-``.
    * ``left, right``: The operands; one is an interval, or a multiple of one.
    """
    if (days := _days(op, left, right)) is not None:
        return days
    time, factors = left, _factors(right)
    if factors is None and op == "+":
        time, factors = right, _factors(left)
    if factors is None or _factors(time) is not None or _is_span(time):
        return None
    by, factor = factors
    sign = -1 if op == "-" else 1
    span = (left.span[0], right.span[1])
    if factor is None:
        return _moved(time, by, sign, span)
    if by.months:
        count: ast.Expr = ast.Literal(sign * by.months, span=by.span)
        count = ast.Binary("*", factor, count, span=factor.span)
        time = ast.Call("DATE_ADD", (count, time), "MONTH", span=span)
    if by.us:
        us = ast.Literal(sign * by.us, span=by.span)
        count = ast.Call("ROUND", (ast.Binary("*", factor, us, span=factor.span),), span=span)
        time = ast.Call("DATE_ADD", (count, time), "MICROSECOND", span=span)
    return time


def _days(op: str, date: ast.Expr, by: ast.Expr) -> ast.Expr | None:
    """Return a date that is some days later or earlier, as CURRENT_DATE - 7."""
    match date, by:
        case ast.Call(name="DATE_TRUNC", part="DAY"), ast.Literal(value=int() as count):
            span = (date.span[0], by.span[1])
            count = -count if op == "-" else count
            return ast.Call("DATE_ADD", (ast.Literal(count, span=by.span), date), "DAY", span=span)
    return None


def _moved(time: ast.Expr, by: ast.Interval, sign: int, span: ast.Span) -> ast.Expr:
    original = time
    for total, units in ((by.months, MONTHS), (by.us, UNITS_US)):
        if total or (units is UNITS_US and time is original):
            part, size = next((name, size) for name, size in units.items() if total % size == 0)
            count = ast.Literal(sign * (total // size), span=by.span)
            time = ast.Call("DATE_ADD", (count, time), part, span=span)
    return time
