"""Calls and indexes of others with a grammar of their own."""

from __future__ import annotations

from sdb.query.syntax import aliases, ast
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
