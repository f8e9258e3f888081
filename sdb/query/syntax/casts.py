"""The parser of types: what CAST, TRY_CAST and `::` make of a value."""

from __future__ import annotations

from sdb.query.syntax import aliases, ast, hints, intervals
from sdb.query.syntax.clauses import lambdas
from sdb.query.syntax.literals import words

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sdb.query.syntax.expressions import ExpressionParser

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
