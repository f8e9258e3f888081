"""The parser of calls: functions with a grammar of their own, and aggregates."""

from __future__ import annotations

import re

from sdb.errors import QueryError
from sdb.query.syntax import ast, familiar, hints, precedence
from sdb.query.syntax.literals import WEEKDAYS, words

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import TypeAlias

    from sdb.query.syntax.expressions import ExpressionParser
    from sdb.query.syntax.lexer import Token

    Special: TypeAlias = Callable[[ExpressionParser, Token], ast.Expr]

CASTS = words("INTEGER FLOAT BOOLEAN STRING TIMESTAMP LIST STRUCT NULL MISSING")
PARTS = words("MICROSECOND MILLISECOND SECOND MINUTE HOUR DAY WEEK MONTH QUARTER YEAR")
_PLURALS = {"MICROSECONDS": "MICROSECOND", "MILLISECONDS": "MILLISECOND"}
_EXTRACTS = PARTS - {"WEEK"} | {"DOW", "DOY"}
_NORMAL_FORM = re.compile(r"DATE_(ADD|DIFF|TRUNC|EXTRACT)_([A-Z]+)")
_PRECISION = range(4, 17)
_STAR = "'*'"
_COLLECTING = frozenset({"ARRAY_AGG", "STRING_AGG"})
_PERCENTILES = frozenset({"APPROX_PERCENTILE", "QUANTILE", "QUANTILE_DISC"})
_SAME = {"EVERY": "BOOL_AND", "QUANTILE_CONT": "QUANTILE"}
_STRIDES_US = {
    "microsecond": 1,
    "millisecond": 1_000,
    "second": 1_000_000,
    "minute": 60_000_000,
    "hour": 3_600_000_000,
    "day": 86_400_000_000,
}


def stride_us(text: str) -> int:
    """Read the stride of DATE_BIN.

    Parameters
    ----------
    text : str
        As in ``1 day 12 hours``.

    Returns
    -------
    int
        Microseconds.

    Raises
    ------
    ValueError
        The text is no stride of fixed length.

    Examples
    --------
    >>> stride_us("1 minute 30 seconds")
    90000000
    """
    pieces = text.split()
    if not pieces:
        raise ValueError("interval cannot be empty")
    total = 0
    for quantity, unit in zip(pieces[::2], pieces[1::2], strict=False):
        if not re.fullmatch(r"-?[0-9]{1,18}", quantity):
            raise ValueError(f'"{quantity}" is not a valid quantity')
        scale = _STRIDES_US.get(unit.lower().removesuffix("s"))
        if scale is None:
            raise ValueError(f'"{unit}" is not a valid interval part')
        total += int(quantity) * scale
    if len(pieces) % 2:
        raise ValueError
    if not 0 < total <= 1 << 62:
        raise ValueError("the interval must be positive and of at most 146,000 years")
    return total


def plain(parser: ExpressionParser, token: Token) -> ast.Expr:
    """Parse an ordinary call, the name of which has been read."""
    parser.expect("(")
    args = () if parser.at(")") else parser.expressions()
    parser.expect(")", saying=())
    name = str(token.value).upper()
    span = (token.start, parser.last.stop)
    if found := _NORMAL_FORM.fullmatch(name):
        part = found[2]
        if part in (_EXTRACTS if found[1] == "EXTRACT" else PARTS):
            function = "EXTRACT" if found[1] == "EXTRACT" else f"DATE_{found[1]}"
            return ast.Call(function, args, part, span=span)
    if name == "DATE_PART" and (part := _text(args)) in _EXTRACTS:
        return ast.Call("EXTRACT", args[1:], part, span=span)
    return familiar.call(name, args, span)


def _text(args: tuple[ast.Expr, ...]) -> str | None:
    """Give the first of several arguments in upper case, if it is a text."""
    found = args[0].value if args and isinstance(args[0], ast.Literal) else None
    return found.upper() if isinstance(found, str) else None


def _keyword_call(parser: ExpressionParser, token: Token) -> ast.Expr:
    """Parse COALESCE, NULLIF, UTCNOW: keywords, but ordinary calls."""
    return plain(parser, token)


def _concat(parser: ExpressionParser, token: Token) -> ast.Expr:
    parser.expect("(", saying=())
    args = parser.expressions()
    parser.expect(")", saying=())
    whole = precedence.balanced(
        "||", [part for arg in args for part in precedence.operands(arg, "||")]
    )
    return (
        whole if len(args) > 1 else ast.Call("CONCAT", args, span=(token.start, parser.last.stop))
    )


def _part(parser: ExpressionParser, *, quoted: bool = False) -> str:
    """Parse a part of a time; as text, as others write it, where it means the same there."""
    token = parser.accept("STRING") if quoted else None
    name = str((token or parser.expect("ID")).value).upper()
    if token and name == "WEEK":
        weeks = "DATE_TRUNC(WEEK(MONDAY), t) or DATE_TRUNC(WEEK(SUNDAY), t)"
        raise parser.fault("weeks begin on different days elsewhere", hint=f"write {weeks}")
    return _PLURALS.get(name, name)


def _finish(
    parser: ExpressionParser, token: Token, args: tuple[ast.Expr, ...], part: str
) -> ast.Call:
    """Close the parentheses of a call with a part of a time, and check the part."""
    parser.expect(")", saying=())
    allowed = _EXTRACTS if token.kind == "EXTRACT" else PARTS
    if part not in allowed:
        raise parser.fault(
            f'bad {token.kind} part "{part}"', hint=f"the parts are {', '.join(sorted(allowed))}"
        )
    return ast.Call(token.kind, args, part, span=(token.start, parser.last.stop))


def _date_add(parser: ExpressionParser, token: Token) -> ast.Expr:
    parser.expect("(")
    part = _part(parser, quoted=token.kind == "DATE_ADD")
    parser.expect(",")
    first = parser.expression()
    parser.expect(",", saying=())
    return _finish(parser, token, (first, parser.expression()), part)


def _extract(parser: ExpressionParser, token: Token) -> ast.Expr:
    parser.expect("(")
    part = _part(parser)
    parser.expect("FROM")
    return _finish(parser, token, (parser.expression(),), part)


def _date_trunc(parser: ExpressionParser, token: Token) -> ast.Expr:
    parser.expect("(")
    part = _part(parser, quoted=True)
    day = None
    if parser.accept("("):
        day = parser.name().upper()
        parser.expect(")")
    parser.expect(",")
    arg = parser.expression()
    if day is None:
        return _finish(parser, token, (arg,), part)
    parser.expect(")", saying=())
    if part != "WEEK" or day not in WEEKDAYS:
        raise parser.fault(f'bad DATE_TRUNC part "{part}"("{day}")')
    span = (token.start, parser.last.stop)
    return ast.Call("DATE_TRUNC", (arg,), part, WEEKDAYS.index(day), span=span)


def _date_bin(parser: ExpressionParser, token: Token) -> ast.Expr:
    parser.expect("(")
    if parser.at("ID") and str(parser.token.value).upper() == "INTERVAL":
        parser.advance()
    stride = str(parser.expect("STRING").value)
    parser.expect(",")
    first = parser.expression()
    second: ast.Expr = ast.Literal(ast.Instant(0), span=(token.start, token.stop))
    if not parser.at(")"):
        parser.expect(",", saying=())
        second = parser.expression()
    parser.expect(")", saying=())
    try:
        stride_us(stride)
    except ValueError as error:
        detail = f": {error}" if str(error) else ""
        quoted = f'invalid interval "{stride}"{detail}'.replace("\\", "\\\\").replace('"', '\\"')
        raise parser.fault(f'bad DATE_BIN interval: "{quoted}"') from None
    return ast.Call("DATE_BIN", (first, second), stride, span=(token.start, parser.last.stop))


def _trim(parser: ExpressionParser, token: Token) -> ast.Expr:
    parser.expect("(")
    side = parser.accept("LEADING", "TRAILING", "BOTH")
    args: tuple[ast.Expr, ...] = (parser.expression(),)
    if parser.accept("FROM"):
        args = (parser.expression(), *args)
    elif parser.accept(","):
        args = (*args, parser.expression())
    parser.expect(")", saying=())
    name = {"LEADING": "LTRIM", "TRAILING": "RTRIM"}.get(side.kind if side else "", "TRIM")
    return ast.Call(name, args, span=(token.start, parser.last.stop))


def _cast(parser: ExpressionParser, token: Token) -> ast.Expr:
    parser.expect("(")
    operand = parser.expression()
    parser.expect("AS", saying=())
    name = parser.name()
    place = parser.last
    parser.expect(")")
    return cast(parser, operand, name, token.start, place)


def cast(
    parser: ExpressionParser, operand: ast.Expr, name: str, start: int, place: Token | None = None
) -> ast.Cast:
    """Give the cast of an operand to a type, the name of which has been read."""
    kind = familiar.type_name(name)
    if kind not in CASTS:
        raise parser.fault(f'bad CAST type "{name}"', place, hint=hints.cast(sorted(CASTS)))
    return ast.Cast(operand, kind, span=(start, parser.last.stop))


def _case(parser: ExpressionParser, token: Token) -> ast.Expr:
    operand = None if parser.at("WHEN", "END", "ELSE") else parser.expression()
    limbs: list[tuple[ast.Expr, ast.Expr]] = []
    while parser.at("WHEN") or not limbs:
        parser.expect("WHEN")
        condition = parser.expression()
        parser.expect("THEN", saying=())
        limbs.append((condition, parser.expression()))
    otherwise = parser.expression() if parser.accept("ELSE") else None
    parser.expect("END", saying=())
    return ast.Case(operand, tuple(limbs), otherwise, span=(token.start, parser.last.stop))


def _exists(parser: ExpressionParser, token: Token) -> ast.Expr:
    parser.expect("(")
    select = parser.select()
    parser.expect(")")
    return ast.Exists(select, span=(token.start, parser.last.stop))


SPECIAL: Mapping[str, Special] = {
    "CASE": _case,
    "CAST": _cast,
    "COALESCE": _keyword_call,
    "CONCAT": _concat,
    "DATE_ADD": _date_add,
    "DATE_BIN": _date_bin,
    "DATE_DIFF": _date_add,
    "DATE_TRUNC": _date_trunc,
    "EXISTS": _exists,
    "EXTRACT": _extract,
    "NULLIF": _keyword_call,
    "TRIM": _trim,
    "UTCNOW": _keyword_call,
}
"""Parsers of what starts with a keyword, called when the keyword has been read."""


_SIGNATURES = {
    "CASE": "CASE WHEN condition THEN value [ELSE value] END",
    "CAST": "CAST(value AS type)",
    "DATE_ADD": "DATE_ADD(part, number, time)",
    "DATE_BIN": "DATE_BIN('interval', time, origin)",
    "DATE_DIFF": "DATE_DIFF(part, time, time)",
    "DATE_TRUNC": "DATE_TRUNC(part, time)",
    "EXTRACT": "EXTRACT(part FROM time)",
    "TRIM": "TRIM([LEADING | TRAILING | BOTH] text [FROM text])",
}


def special(parser: ExpressionParser, token: Token) -> ast.Expr:
    """Parse what starts with one of the keywords of `SPECIAL`, which has been read."""
    try:
        return SPECIAL[token.kind](parser, token)
    except QueryError as error:
        if error.hint is None and token.kind in _SIGNATURES:
            error.hint = f"it is written {_SIGNATURES[token.kind]}"
        raise


def aggregate(parser: ExpressionParser, token: Token) -> ast.Expr:
    """Parse an aggregate or window function, the name of which has been read."""
    parser.expect("(")
    distinct = star = False
    args: tuple[ast.Expr, ...] = ()
    if not parser.at(")"):
        distinct = bool(parser.accept("DISTINCT"))
        star = bool(parser.accept("*"))
        if not star or parser.accept(","):
            args = parser.expressions()
    order = parser.sort_keys() if token.kind in _COLLECTING else ()
    parser.expect(")", saying=())
    end = parser.token.stop
    where = None
    if parser.accept("FILTER"):
        parser.expect("(")
        parser.expect("WHERE")
        where = parser.expression()
        parser.expect(")", saying=())
        end = parser.token.stop
    over = None
    if parser.accept("OVER"):
        over = _over(parser)
        end = parser.last.stop
    name = _SAME.get(token.kind, token.kind)
    span = (token.start, parser.last.stop)
    found = ast.Aggregate(name, args, star, distinct, where, over, order, span=span)
    if fault := _aggregate_fault(found):
        raise parser.fault(f"{name}: {fault}", end)
    return found


def _over(parser: ExpressionParser) -> ast.Over:
    start = parser.expect("(").start
    partition: tuple[ast.Expr, ...] = ()
    if parser.accept("PARTITION"):
        parser.expect("BY")
        partition = parser.expressions()
    order = parser.sort_keys()
    parser.expect(")", saying=())
    return ast.Over(partition, order, span=(start, parser.last.stop))


def _aggregate_fault(found: ast.Aggregate) -> str | None:
    """Say what is wrong with the form of the arguments of an aggregate."""
    match found.name:
        case "SNELLER_DATASHAPE":
            return None if found.star and not found.args else "accepts only *"
        case "COUNT":
            return _count_fault(found)
        case name if name in _COLLECTING:
            return _collecting_fault(found)
    if found.distinct or found.star:
        return f"does not accept {'DISTINCT' if found.distinct else _STAR}"
    return _numbers_fault(found)


def _numbers_fault(found: ast.Aggregate) -> str | None:
    match found.name:
        case "APPROX_COUNT_DISTINCT":
            return _precision_fault(found.args[1:])
        case name if name in _PERCENTILES:
            return _percentile_fault(found.args[1:])
    return "does not accept arguments" if len(found.args) > 1 else None


def _collecting_fault(found: ast.Aggregate) -> str | None:
    if found.star:
        return f"does not accept {_STAR}"
    if found.distinct and found.order:
        return "does not accept DISTINCT and ORDER BY together"
    if found.name == "ARRAY_AGG":
        return "does not accept arguments" if len(found.args) > 1 else None
    match found.args[1:]:
        case () | (ast.Literal(value=str()),):
            return None
    return "takes a constant text to stand between two others"


def _count_fault(found: ast.Aggregate) -> str | None:
    if found.star and found.distinct:
        return "does not accept DISTINCT and '*' together"
    return "does not accept arguments" if len(found.args) + found.star > 1 else None


def _precision_fault(args: tuple[ast.Expr, ...]) -> str | None:
    match args:
        case ():
            return None
        case (ast.Literal(value=value),) if type(value) is int:
            return None if value in _PRECISION else "precision has to be in range [4, 16]"
        case (_,):
            return "precision has to be a constant integer"
    return "accepts at most one additional argument"


def _percentile_fault(args: tuple[ast.Expr, ...]) -> str | None:
    match args:
        case (ast.Literal(value=int() | float() as value),) if not isinstance(value, bool):
            if 0 <= value <= 1:
                return None
            return f"percentile p={value:g} has to be in range [0.0, 1.0]"
    return "needs a percentile, a constant number"
