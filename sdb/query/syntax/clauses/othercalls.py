"""Calls and indexes of others with their own grammar."""

from __future__ import annotations

from sdb.query.syntax import aliases, ast, intervals
from sdb.query.syntax.clauses.timecalls import PARTS
from sdb.query.syntax.literals import INT64_MAX, WEEKDAYS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sdb.query.syntax.expressions import ExpressionParser
    from sdb.query.syntax.lexer import Token

OBJECTS = ("JSON_OBJECT", "JSON_BUILD_OBJECT", "NAMED_STRUCT", "OBJECT_CONSTRUCT", "STRUCT_PACK")
_MONDAY = WEEKDAYS.index("MONDAY")


def rounded(parser: ExpressionParser, token: Token) -> ast.Expr:
    """Parse ``FLOOR(x)``, or ``FLOOR(time TO part)``, whose parenthesis has been read."""
    name = str(token.value).upper()
    args = () if parser.at(")") else parser.expressions()
    if len(args) != 1 or not parser.accept("TO"):
        parser.expect(")")
        return aliases.call(name, args, (token.start, parser.last.stop))
    part = parser.name().upper()
    parser.expect(")")
    span = (token.start, parser.last.stop)
    if part not in PARTS:
        raise parser.fault(f"{part} is no part of a time", hint=f"as in {name}(time TO HOUR)")
    weekday = _MONDAY if part == "WEEK" else None
    start = ast.Call("DATE_TRUNC", args, part, weekday, span=span)
    if name == "FLOOR":
        return start
    step = ast.Literal(1, span=span)
    later = ast.Call("DATE_ADD", (step, start), part, span=span)
    test = ast.Binary("=", start, args[0], span=span)
    return ast.Case(None, ((test, start),), later, span=span)


def structure(parser: ExpressionParser, token: Token) -> ast.Expr:
    """Parse ``JSON_OBJECT('a': x)`` and its other forms, whose parenthesis has been read."""
    members: list[tuple[str, ast.Expr]] = []
    while not parser.at(")"):
        if parser.at_word("KEY") and parser.ahead() == "STRING":
            parser.advance()
        key = str((parser.accept("ID") or parser.expect("STRING")).value)
        if parser.at_word("VALUE"):
            parser.advance()
        elif not parser.accept(","):
            parser.expect(":", saying=(",", ":"))
            parser.accept("EQ")  # as in STRUCT_PACK(a := x)
        members.append((key, parser.expression()))
        if not parser.accept(","):
            break
    parser.expect(")", saying=(",", ")"))
    return ast.MakeStruct(tuple(members), span=(token.start, parser.last.stop))


def element(parser: ExpressionParser, base: ast.Expr) -> ast.Expr:
    """Parse the brackets of ``base[x]``: a number of the row, ``OFFSET(0)``, ``ORDINAL(1)``."""
    if not parser.at("OFFSET") and not parser.at_word("SAFE_OFFSET", "ORDINAL", "SAFE_ORDINAL"):
        number = parser.expression()
        parser.expect("]")
        step = ast.Literal(1, span=number.span)
        position = ast.Binary("+", number, step, span=number.span)
        return ast.Call("ELEMENT_AT", (base, position), span=parser.since(base))
    first = int("ORDINAL" in str(parser.advance().value).upper())
    parser.expect("(")
    count = parser.expect("NUMBER").value
    parser.expect(")")
    parser.expect("]")
    if not isinstance(count, int) or not first <= count <= INT64_MAX:
        raise parser.fault(f"cannot use {count!r} as an index", parser.last)
    return ast.Index(base, count - first, span=parser.since(base))


# TIME_BUCKET: of the original, ``TIME_BUCKET(time, seconds)``, and with the width in front.

_ORIGIN = ast.Instant(946_857_600_000_000)  # Monday, 2000-01-03, so that weeks begin on Mondays
_PARTS = {1: "MONTH", 3: "QUARTER", 12: "YEAR"}
_HOW = "it is written TIME_BUCKET(INTERVAL '1 hour', time) or TIME_BUCKET('1 hour', time)"
_MOST_US = 1 << 62
_UNITS = [(unit, size) for unit, size in intervals.UNITS_US.items() if unit != "WEEK"]


def call(parser: ExpressionParser, token: Token) -> ast.Expr:
    """Parse the arguments of TIME_BUCKET, whose parenthesis has been read."""
    start = parser.token.start
    args = () if parser.at(")") else parser.expressions()
    parser.expect(")")
    span = (token.start, parser.last.stop)
    width = args[0] if args else None
    if isinstance(width, ast.Literal) and isinstance(width.value, str):
        text = width.value
        width = intervals.read(text, width.span)
        if width is None:
            raise parser.fault(f"'{text}' is no interval", start, hint=_HOW)
    if not isinstance(width, ast.Interval):
        return ast.Call("TIME_BUCKET", args, span=span)
    _, *times = args
    if not 1 <= len(times) <= 2:  # noqa: PLR2004 - a time and an origin
        raise parser.fault("TIME_BUCKET takes an interval, a time and perhaps an origin", hint=_HOW)
    time, *origins = times
    if width.months and not width.us and not origins and width.months in _PARTS:
        return ast.Call("DATE_TRUNC", (time,), _PARTS[width.months], span=span)
    if width.months:
        hint = "of months there are buckets of 1, 3 and 12"
        raise parser.fault("this interval has no fixed length", start, hint=hint)
    if not 0 < width.us <= _MOST_US:
        raise parser.fault("the interval of TIME_BUCKET has to be positive", start, hint=_HOW)
    origin = origins[0] if origins else ast.Literal(_ORIGIN, span=span)
    unit, size = next((unit, size) for unit, size in _UNITS if width.us % size == 0)
    return ast.Call("DATE_BIN", (time, origin), f"{width.us // size} {unit.lower()}s", span=span)
