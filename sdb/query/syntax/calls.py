"""The parser of calls: functions with their own grammar."""

from __future__ import annotations

import re

from sdb.errors import QueryError
from sdb.query.syntax import aggregatecalls, aliases, ast, hints, intervals, operators
from sdb.query.syntax.clauses import lambdas, othercalls, setqueries, timecalls
from sdb.query.syntax.clauses.timecalls import PARTS
from sdb.query.syntax.literals import WEEKDAYS, words
from sdb.records import replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import TypeAlias

    from sdb.query.syntax.expressions import ExpressionParser
    from sdb.query.syntax.lexer import Token

    Special: TypeAlias = Callable[[ExpressionParser, Token], ast.Expr]

_PLURALS = {"MICROSECONDS": "MICROSECOND", "MILLISECONDS": "MILLISECOND"}
_EXTRACTS = PARTS | {"DOW", "DOY", "EPOCH", "ISODOW"}
_MONDAY = WEEKDAYS.index("MONDAY")
_OVERLAY = "it is written OVERLAY(text PLACING new FROM start FOR length)"
_NORMAL_FORM = r"DATE_(ADD|DIFF|TRUNC|EXTRACT)_([A-Z]+)"
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

    * ``text``: As in ``1 day 12 hours``.

    Raises `ValueError` if the text is no stride of fixed length.

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
    name = str(token.value).upper()
    if name in aggregatecalls.FOREIGN or aggregatecalls.is_conditional(name):
        return aggregatecalls.foreign(parser, token)
    parser.expect("(")
    if name in _PARSERS:
        return _PARSERS[name](parser, token)
    if name == "COLUMNS" and parser.accept("*"):
        parser.expect(")")
        span = (token.start, parser.last.stop)
        return ast.Call(name, (ast.Literal("", span=span),), span=span)
    if parser.at("*"):
        from sdb.query.syntax.lexer import AGGREGATES

        hint = hints.function(name, AGGREGATES) or "COUNT(*) takes a star"
        raise parser.fault(f"{name} does not take *", token, hint=hint)
    args = () if parser.at(")") else parser.expressions()
    parser.expect(")")
    name = "UNNEST" if name in {"EXPLODE", "ARRAYJOIN"} else name
    parser.has_unnest = parser.has_unnest or name == "UNNEST"
    span = (token.start, parser.last.stop)
    if normal_form := re.fullmatch(_NORMAL_FORM, name):
        part = normal_form[2]
        if part in (_EXTRACTS if normal_form[1] == "EXTRACT" else PARTS):
            function = "EXTRACT" if normal_form[1] == "EXTRACT" else f"DATE_{normal_form[1]}"
            return aliases.extract(args, part, span) or ast.Call(function, args, part, span=span)
    if name == "DATE_PART" and (part := _text(args)) in _EXTRACTS:
        return aliases.extract(args[1:], part, span) or ast.Call(
            "EXTRACT", args[1:], part, span=span
        )
    return aliases.call(name, args, span)


def _position(parser: ExpressionParser, token: Token) -> ast.Expr:
    """Parse ``POSITION(part IN text)`` or ``POSITION(text, part)``; the parenthesis was read."""
    part = parser.expression(operators.BIT_OR)
    if not parser.at("IN", ","):
        hint = "it is written POSITION(part IN text), or STRPOS(text, part)"
        raise parser.fault("POSITION takes a text and IN", hint=hint)
    has_names = parser.advance().kind == "IN"
    whole = parser.expression()
    if not has_names:
        part, whole = whole, part
    parser.expect(")")
    return ast.Call("STRPOS", (whole, part), span=(token.start, parser.last.stop))


def _substring(parser: ExpressionParser, token: Token) -> ast.Expr:
    """Parse ``SUBSTRING(text FROM start FOR length)`` or with commas; the parenthesis was read."""
    args = () if parser.at(")") else parser.expressions()
    if len(args) == 1 and parser.accept("FROM"):
        args = (*args, parser.expression())
    if parser.at("ID") and str(parser.token.value).upper() == "FOR" and 1 <= len(args) <= 2:  # noqa: PLR2004
        parser.advance()
        start = args[1] if len(args) > 1 else ast.Literal(1, span=args[0].span)
        args = (args[0], start, parser.expression())
    parser.expect(")")
    return aliases.call(str(token.value).upper(), args, (token.start, parser.last.stop))


def _overlay(parser: ExpressionParser, token: Token) -> ast.Expr:
    """Parse ``OVERLAY(text PLACING new FROM n FOR length)``, whose parenthesis has been read."""
    text = parser.expression()
    if not parser.at_word("PLACING"):
        raise parser.fault("PLACING is expected", parser.token, hint=_OVERLAY)
    parser.advance()
    new = parser.expression()
    parser.expect("FROM")
    start = parser.expression()
    length: ast.Expr = ast.Call("CHAR_LENGTH", (new,), span=new.span)
    if parser.at_word("FOR"):
        parser.advance()
        length = parser.expression()
    parser.expect(")")
    span = (token.start, parser.last.stop)
    count = ast.Binary("-", start, ast.Literal(1, span=span), span=span)
    before = ast.Call("LEFT", (text, count), span=span)
    behind = ast.Call("SUBSTRING", (text, ast.Binary("+", start, length, span=span)), span=span)
    return operators.balanced("||", [before, new, behind])


def _safe_cast(parser: ExpressionParser, token: Token) -> ast.Expr:
    """Parse ``SAFE_CAST(x AS type)``, whose parenthesis has been read."""
    return _cast_in(parser, token, reads_texts=True)


def _text(args: tuple[ast.Expr, ...]) -> str | None:
    """Return the first of several arguments in upper case, if it is a text."""
    text = args[0].value if args and isinstance(args[0], ast.Literal) else None
    return text.upper() if isinstance(text, str) else None


def _keyword_call(parser: ExpressionParser, token: Token) -> ast.Expr:
    """Parse COALESCE, NULLIF, UTCNOW: keywords, but ordinary calls."""
    return plain(parser, token)


def _concat(parser: ExpressionParser, token: Token) -> ast.Expr:
    parser.expect("(")
    args = parser.expressions()
    parser.expect(")")
    return ast.Call("CONCAT", args, span=(token.start, parser.last.stop))


def _part(parser: ExpressionParser) -> str:
    """Parse a part of a time; as text, as others write it."""
    token = parser.accept("STRING")
    name = str((token or parser.expect("ID")).value).upper()
    name = name.removesuffix("S") if token and name.removesuffix("S") in PARTS else name
    return _PLURALS.get(name, name)


def _finish(
    parser: ExpressionParser, token: Token, args: tuple[ast.Expr, ...], part: str
) -> ast.Call:
    """Close the parentheses of a call with a part of a time, and check the part."""
    parser.expect(")")
    allowed = _EXTRACTS if token.kind == "EXTRACT" else PARTS
    if part not in allowed:
        raise parser.fault(
            f'bad {token.kind} part "{part}"', hint=f"the parts are {', '.join(sorted(allowed))}"
        )
    return ast.Call(token.kind, args, part, span=(token.start, parser.last.stop))


def _date_add(parser: ExpressionParser, token: Token) -> ast.Expr:
    parser.expect("(")
    if timecalls.is_other(parser):
        return timecalls.call(parser, token)
    counts_boundaries = token.kind == "DATE_DIFF" and parser.at("STRING")
    part = _part(parser)
    parser.expect(",")
    first = parser.expression()
    parser.expect(",")
    call = _finish(parser, token, (first, parser.expression()), part)
    # As elsewhere: how many units begin between the two, not how many have passed.
    first, second = call.args
    return timecalls.between(part, first, second, call.span) if counts_boundaries else call


def _extract(parser: ExpressionParser, token: Token) -> ast.Expr:
    parser.expect("(")
    if parser.ahead() in {",", "."}:  # of ClickHouse, with a regular expression
        args = parser.expressions()
        parser.expect(")")
        return aliases.call("REGEXP_EXTRACT", args, (token.start, parser.last.stop))
    part = _part(parser)
    parser.expect("FROM")
    call = _finish(parser, token, (parser.expression(),), part)
    return aliases.extract(call.args, part, call.span) or call


def _date_trunc(parser: ExpressionParser, token: Token) -> ast.Expr:
    parser.expect("(")
    if timecalls.is_other(parser):
        return timecalls.call(parser, token)
    is_text = parser.at("STRING")
    part = _part(parser)
    day = None
    if parser.accept("("):
        day = parser.name().upper()
        parser.expect(")")
    parser.expect(",")
    arg = parser.expression()
    if day is None:
        call = _finish(parser, token, (arg,), part)
        # As elsewhere weeks begin on Monday; those of the original, without quotes, on Sunday.
        return replace(call, weekday=_MONDAY) if is_text and part == "WEEK" else call
    parser.expect(")")
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
        parser.expect(",")
        second = parser.expression()
    parser.expect(")")
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
    is_plain = side is not None and bool(parser.accept("FROM"))
    args: tuple[ast.Expr, ...] = (parser.expression(),)
    if not is_plain and parser.accept("FROM"):
        args = (parser.expression(), *args)
    elif parser.accept(","):
        args = (*args, parser.expression())
    parser.expect(")")
    name = {"LEADING": "LTRIM", "TRAILING": "RTRIM"}.get(side.kind if side else "", "TRIM")
    return ast.Call(name, args, span=(token.start, parser.last.stop))


def _cast(parser: ExpressionParser, token: Token) -> ast.Expr:
    parser.expect("(")
    return _cast_in(parser, token, reads_texts=token.kind == "TRY_CAST")


def _cast_in(parser: ExpressionParser, token: Token, *, reads_texts: bool) -> ast.Expr:
    operand = parser.expression()
    parser.expect("AS")
    made = cast(parser, operand, token.start, reads_texts=reads_texts)
    parser.expect(")")
    return replace(made, span=(token.start, parser.last.stop))


def _case(parser: ExpressionParser, token: Token) -> ast.Expr:
    operand = None if parser.at("WHEN", "END", "ELSE") else parser.expression()
    limbs: list[tuple[ast.Expr, ast.Expr]] = []
    while parser.at("WHEN") or not limbs:
        parser.expect("WHEN")
        condition = parser.expression()
        parser.expect("THEN")
        limbs.append((condition, parser.expression()))
    otherwise = parser.expression() if parser.accept("ELSE") else None
    parser.expect("END")
    return ast.Case(operand, tuple(limbs), otherwise, span=(token.start, parser.last.stop))


def _exists(parser: ExpressionParser, token: Token) -> ast.Expr:
    parser.expect("(")
    if not setqueries.begins(parser) and not parser.at("("):
        return lambdas.call(parser, token)
    select = parser.subquery()
    parser.expect(")")
    return ast.Exists(select, span=(token.start, parser.last.stop))


_PARSERS: Mapping[str, Special] = {
    **dict.fromkeys(lambdas.NAMES, lambdas.call),
    **dict.fromkeys(othercalls.OBJECTS, othercalls.structure),
    **dict.fromkeys(["FLOOR", "CEIL", "CEILING"], othercalls.rounded),
    "OVERLAY": _overlay,
    "POSITION": _position,
    "SAFE_CAST": _safe_cast,
    "SUBSTR": _substring,
    "SUBSTRING": _substring,
    "TIME_BUCKET": othercalls.call,
    **dict.fromkeys(timecalls.NAMES, timecalls.call),
}
"""Parsers of calls whose name is no keyword, called when the parenthesis has been read."""

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
    "TRY_CAST": _cast,
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
    "TRY_CAST": "TRY_CAST(value AS type)",
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


# The parser of types: what CAST, TRY_CAST and `::` make of a value.

CASTS = words("INTEGER FLOAT BOOLEAN STRING TIMESTAMP LIST STRUCT NULL MISSING")
_DECIMALS = frozenset({"DECIMAL", "NUMERIC"})
_MOST_DIGITS = 38
_INSTEAD = {"IPADDRESS": "IS_SUBNET_OF('10.0.0.0/8', address) compares addresses"}


def cast(parser: ExpressionParser, operand: ast.Expr, start: int, *, reads_texts: bool) -> ast.Expr:
    """Parse a type and return the cast of an operand to it.

    * ``start``: Where the operand starts in the text.
    * ``reads_texts``: Whether texts of fields are read, too.
    """
    name = parser.name()
    type_token = parser.last
    kind = aliases.type_name(name)
    if name.upper() == "DOUBLE" and str(parser.token.value).upper() == "PRECISION":
        parser.advance()
    if kind in _DECIMALS:
        return _decimal(parser, operand, start)
    if kind == "INTERVAL" and isinstance(operand, ast.Literal):
        return _interval(parser, operand, (start, parser.last.stop))
    if kind in {"ARRAY", "MAP"} and parser.at("(", "LT"):
        return _nested(parser, operand, start, kind)
    if kind in {"JSON", "JSONB"}:
        path = ast.Literal("$", span=operand.span)
        return ast.Call("JSON_EXTRACT", (operand, path), span=(start, parser.last.stop))
    if kind == "DATE":
        return aliases.day(operand, (start, parser.last.stop))
    if kind in {"STRING", "TIMESTAMP"}:
        _skip_length(parser, kind)
    if kind not in CASTS:
        known = [*sorted({*CASTS, "DATE", "DECIMAL", "JSON"}), "ARRAY(type)"]
        hint = _INSTEAD.get(kind) or hints.cast(known)
        raise parser.fault(f'bad CAST type "{name}"', type_token, hint=hint)
    return ast.Cast(operand, kind, reads_texts, span=(start, parser.last.stop))


def _nested(parser: ExpressionParser, operand: ast.Expr, start: int, kind: str) -> ast.Expr:
    """Parse the types in ``ARRAY(type)``, each element's, and in ``MAP(type, type)``."""
    closing = ")" if parser.advance().kind == "(" else "GT"
    if kind == "MAP":
        parser.name()
        parser.expect(",")
        parser.name()
    else:
        element = ast.Element("element", span=operand.span)
        made = cast(parser, element, start, reads_texts=True)
    parser.expect(closing)
    span = (start, parser.last.stop)
    whole = ast.Cast(operand, "STRUCT" if kind == "MAP" else "LIST", reads_texts=True, span=span)
    if kind == "MAP" or isinstance(made, ast.Call):  # of JSON they stay as they are
        return whole
    return ast.Call(lambdas.TRANSFORM, (whole, ast.Lambda("element", made, span=span)), span=span)


def _skip_length(parser: ExpressionParser, kind: str) -> None:
    """Step over ``(n)`` and ``WITH TIME ZONE``: texts are of any length."""
    if parser.accept("("):
        parser.expect("NUMBER")
        parser.expect(")")
    skip_zone(parser, kind)


def skip_zone(parser: ExpressionParser, kind: str) -> None:
    """Step over ``WITH TIME ZONE`` behind TIMESTAMP: times are in UTC."""
    is_zone = parser.at("WITH") or parser.at_word("WITHOUT")
    if kind == "TIMESTAMP" and is_zone and parser.has_ahead("TIME"):
        for _ in range(3):
            parser.advance()


def _interval(parser: ExpressionParser, text: ast.Literal, span: ast.Span) -> ast.Interval:
    """Return the interval that a constant text says."""
    interval = intervals.read(str(text.value), span)
    if interval is None:
        hint = "as in '1 day 12 hours'::INTERVAL"
        raise parser.fault(f"'{text.value}' is no interval", text.span[0], hint=hint)
    return interval


def _decimal(parser: ExpressionParser, operand: ast.Expr, start: int) -> ast.Expr:
    """Parse the digits of DECIMAL(p, s): a number that is rounded to `s` places."""
    args = [operand]
    if parser.accept("("):
        first_token = parser.token
        digits = [parser.expect("NUMBER").value]
        if parser.accept(","):
            digits.append(parser.expect("NUMBER").value)
        parser.expect(")")
        precision, scale = digits if len(digits) > 1 else (*digits, 0)
        if not (
            isinstance(precision, int)
            and isinstance(scale, int)
            and 0 <= scale <= precision <= _MOST_DIGITS
            and precision
        ):
            hint = "as in DECIMAL(10, 2): at most 38 digits, of which 2 stand behind the point"
            raise parser.fault("there is no such DECIMAL", first_token, hint=hint)
        args += [ast.Literal(precision), ast.Literal(scale)]
    return ast.Call("DECIMAL", tuple(args), span=(start, parser.last.stop))
