"""Calls about times in the order of other dialects: DATEADD, DATEDIFF, TIMESTAMP_TRUNC and so on.

Snowflake and SQL Server write the part first, as here; BigQuery and Spark write it last, or an
interval in the place of a number and a part.
"""

from __future__ import annotations

import re

from sdb.query.syntax import ast, intervals
from sdb.query.syntax.literals import WEEKDAYS, words

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sdb.query.syntax.expressions import ExpressionParser
    from sdb.query.syntax.lexer import Token

PARTS = words("MICROSECOND MILLISECOND SECOND MINUTE HOUR DAY WEEK MONTH QUARTER YEAR")
NAMES = words(
    "DATEADD DATEDIFF DATE_SUB DATETIME_ADD DATETIME_DIFF DATETIME_SUB DATETIME_TRUNC"
    " TIMESTAMP_ADD TIMESTAMP_DIFF TIMESTAMP_SUB TIMESTAMP_TRUNC"
)
"""Functions whose calls this module parses, beside those of which `is_other` is true."""

_MONDAY = WEEKDAYS.index("MONDAY")
_BEHIND = rf"\s*,\s*(?:INTERVAL\b|(?:{'|'.join(sorted(PARTS))})S?\s*[()])"
_AT_END = rf"[^()]*,\s*(?:{'|'.join(sorted(PARTS))})S?\s*\)"
_HOW = {
    "ADD": "as in DATE_ADD(DAY, 1, time) or DATE_ADD(time, INTERVAL '1 day')",
    "DIFF": "as in DATE_DIFF(DAY, from, to) or DATE_DIFF(to, from, DAY)",
    "TRUNC": "as in DATE_TRUNC(DAY, time) or DATE_TRUNC(time, DAY)",
}


def part_of(text: str) -> str | None:
    """Return the part of a time that a word means, which may be a plural.

    >>> part_of("days"), part_of("Week"), part_of("fortnight")
    ('DAY', 'WEEK', None)
    """
    word = text.upper()
    singular = word.removesuffix("S")
    return word if word in PARTS else singular if singular in PARTS else None


def is_other(parser: ExpressionParser) -> bool:
    """Return whether a time comes first in a call whose parenthesis has been read, not a part."""
    token = parser.token
    if parser.at("ID", "STRING") and part_of(str(token.value)) and parser.ahead() in {",", "("}:
        return False
    if not parser.at("ID") or parser.ahead() != ",":
        return not parser.at("STRING")
    # A word that is no part: it is a field where a part or an interval comes later.
    rest = parser.lexer.text.encode()[token.stop :].decode()
    return bool(re.match(f"(?i){_BEHIND}|{_AT_END}", rest))


def call(parser: ExpressionParser, token: Token) -> ast.Expr:
    """Parse the arguments of a call, whose parenthesis has been read."""
    name = str(token.value).upper()
    kind = name.removeprefix("DATETIME").removeprefix("DATE").removeprefix("TIMESTAMP").strip("_")
    if kind == "TRUNC":
        return _truncated(parser, token)
    if kind == "DIFF":
        return _difference(parser, token, counts_passed=name == "TIMESTAMP_DIFF")
    return _moved(parser, token, kind)


def _fault_unless(parser: ExpressionParser, *, holds: bool, kind: str) -> None:
    if not holds:
        raise parser.fault("a part of a time is expected", hint=_HOW[kind])


def _part(parser: ExpressionParser) -> str | None:
    """Parse a part of a time, if it comes."""
    token = parser.token
    part = part_of(str(token.value)) if parser.at("ID", "STRING") else None
    if part is None or parser.ahead() not in {",", ")", "("}:
        return None
    parser.advance()
    return part


def _truncated(parser: ExpressionParser, token: Token) -> ast.Expr:
    part = _part(parser)
    if part is not None:
        parser.expect(",")
    time = parser.expression()
    if part is None:
        parser.expect(",")
        part = _part(parser)
    _fault_unless(parser, holds=part is not None, kind="TRUNC")
    weekday = None
    if part == "WEEK" and parser.accept("("):
        day = parser.name().upper()
        if day not in WEEKDAYS:
            raise parser.fault(f"{day} is no day of the week", parser.last)
        weekday = WEEKDAYS.index(day)
        parser.expect(")")
    parser.expect(")")
    return ast.Call("DATE_TRUNC", (time,), part, weekday, span=(token.start, parser.last.stop))


def _difference(parser: ExpressionParser, token: Token, *, counts_passed: bool) -> ast.Expr:
    """Parse a difference: how many units begin between two times, or how many have passed."""
    part = _part(parser)
    if part is not None:
        parser.expect(",")
    first = parser.expression()
    parser.expect(",")
    second = parser.expression()
    if part is None:
        # The later one stands first.
        first, second = second, first
        part = _last_part(parser)
    parser.expect(")")
    span = (token.start, parser.last.stop)
    if counts_passed:
        return ast.Call("DATE_DIFF", (first, second), part, span=span)
    return between(part, first, second, span)


def _last_part(parser: ExpressionParser) -> str:
    """Parse the part behind both times; without it days are meant."""
    if not parser.accept(","):
        return "DAY"
    part = _part(parser)
    _fault_unless(parser, holds=part is not None, kind="DIFF")
    return str(part)


def between(part: str, first: ast.Expr, second: ast.Expr, span: ast.Span) -> ast.Expr:
    """Return how many units begin between two times; weeks begin on Monday."""
    day = _MONDAY if part == "WEEK" else None
    starts = [
        ast.Call("DATE_TRUNC", (time,), part, day, span=time.span) for time in (first, second)
    ]
    return ast.Call("DATE_DIFF", tuple(starts), part, span=span)


def _moved(parser: ExpressionParser, token: Token, kind: str) -> ast.Expr:
    """Parse a time that is moved: by a number and a part, or by an interval."""
    part = _part(parser)
    span = (token.start, token.stop)
    if part is None:
        time = parser.expression()
        parser.expect(",")
        by = parser.expression()
        _fault_unless(parser, holds=not parser.at(","), kind="ADD")
        parser.expect(")")
        span = (token.start, parser.last.stop)
        moved = intervals.shifted("-" if kind == "SUB" else "+", time, by)
        if moved is None:
            raise parser.fault("an interval is expected behind the time", hint=_HOW["ADD"])
        return moved
    parser.expect(",")
    count = parser.expression()
    parser.expect(",")
    time = parser.expression()
    parser.expect(")")
    span = (token.start, parser.last.stop)
    if kind == "SUB":
        # DuckDB's DATE_SUB('day', from, to): how many have passed.
        return ast.Call("DATE_DIFF", (count, time), part, span=span)
    return ast.Call("DATE_ADD", (count, time), part, span=span)


def in_zone(parser: ExpressionParser, time: ast.Expr, start: int) -> ast.Expr:
    """Parse ``AT TIME ZONE 'Europe/Berlin'`` behind a time that starts at a place."""
    parser.advance()
    parser.advance()
    if not parser.at_word("ZONE"):
        raise parser.unexpected("ZONE")
    parser.advance()
    zone = parser.expect("STRING")
    name = ast.Literal(zone.value, span=(zone.start, zone.stop))
    return ast.Call("TIMEZONE", (name, time), span=(start, zone.stop))
