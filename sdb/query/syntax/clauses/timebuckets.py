"""TIME_BUCKET: of the original, ``TIME_BUCKET(time, seconds)``, and with the width in front."""

from __future__ import annotations

from sdb.query.syntax import ast, intervals

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sdb.query.syntax.expressions import ExpressionParser
    from sdb.query.syntax.lexer import Token

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
