"""LIKE, ILIKE, SIMILAR TO, ~ and GLOB: a constant pattern, or an expression that makes one."""

from __future__ import annotations

import re

from sdb.query.syntax import ast, operators

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sdb.query.syntax.expressions import ExpressionParser

CALLS = {"LIKE": "LIKE_PATTERN", "ILIKE": "ILIKE_PATTERN"}
"""Functions that stand for an operator whose pattern is no constant."""

_CONCAT = "||"


def pattern(parser: ExpressionParser, left: ast.Expr, op: str, *, negated: bool) -> ast.Expr:
    """Parse what follows the operator and return the match."""
    if parser.at("STRING") and parser.ahead() != _CONCAT:
        token = parser.advance()
        text = str(token.value)
        escape = _escape(parser, op)
        if escape == "\\" and parser.lexer.raw(parser.last) == escape:
            # Who writes ESCAPE '\' means texts of standard SQL, in which '\\' is two of them.
            text = parser.lexer.raw(token)
        return ast.Match(op, left, text, escape, negated, span=parser.since(left))
    if not parser.at("STRING", "PARAM", "ID", "(", "NULL", *_FUNCTIONS):
        raise parser.unexpected("STRING")
    made = parser.expression(operators.BIT_OR)
    test = matched(op, left, made, _escape(parser, op), parser.since(left))
    if test is None:
        hint = "REGEXP_LIKE(text, pattern) takes patterns of rows"
        raise parser.fault(f"{op} takes a constant text", made.span[0], hint=hint)
    return ast.Unary("NOT", test, span=test.span) if negated else test


_FUNCTIONS = ("CONCAT", "CASE", "COALESCE", "CAST", "TRIM")


def _escape(parser: ExpressionParser, op: str) -> str | None:
    if op.endswith("LIKE") and parser.accept("ESCAPE"):
        return str(parser.expect("STRING").value)
    return None


def matched(
    op: str, left: ast.Expr, pattern: ast.Expr, escape: str | None, span: ast.Span
) -> ast.Expr | None:
    """Return the match of a pattern that is an expression; None: it has to be a constant."""
    if op in CALLS:
        args = [left, pattern]
        if escape is not None:
            args.append(ast.Literal(escape, span=span))
        return ast.Call(CALLS[op], tuple(args), span=span)
    if op == "~*":
        flag = ast.Literal("(?i)", span=pattern.span)
        pattern = ast.Binary(_CONCAT, flag, pattern, span=pattern.span)
    return ast.Call("REGEXP_LIKE", (left, pattern), span=span) if op in {"~", "~*"} else None


def constant(node: ast.Call) -> ast.Expr:
    """Return a call of `CALLS` as the match that it is where its pattern is a constant."""
    match node.args:
        case (operand, ast.Literal(str() as text)):
            escape = None
        case (operand, ast.Literal(str() as text), ast.Literal(str() as escape)):
            pass
        case _:
            return node
    op = next(op for op, name in CALLS.items() if name == node.name)
    return ast.Match(op, operand, text, escape, negated=False, span=node.span)


WORDS = ("GLOB", "RLIKE", "REGEXP")
"""Operators whose words are names elsewhere."""


def by_word(parser: ExpressionParser, left: ast.Expr, *, negated: bool) -> ast.Expr:
    """Parse an operator of `WORDS` and its pattern."""
    if str(parser.advance().value).upper() == "GLOB":
        return glob(parser, left, negated=negated)
    text = str(parser.expect("STRING").value)
    return ast.Match("~", left, text, None, negated, span=parser.since(left))


def glob(parser: ExpressionParser, left: ast.Expr, *, negated: bool) -> ast.Match:
    """Parse the pattern of GLOB: of a shell, over the whole text, with regard to case."""
    text = str(parser.expect("STRING").value)
    span = parser.since(left)
    if "[" not in text and "\\" not in text:
        escape = "!" if set(text) & set("%_") else None
        if escape:
            text = re.sub(r"([%_!])", r"!\1", text)
        like = text.replace("*", "%").replace("?", "_")
        return ast.Match("LIKE", left, like, escape, negated, span=span)
    pieces = re.findall(r"\\.|\[[!^]?\]?[^\]]*\]|.", text, re.DOTALL)
    regex = "".join(map(_piece, pieces))
    return ast.Match("~", left, rf"(?s)\A{regex}\z", None, negated, span=span)


def _piece(piece: str) -> str:
    """Return one sign of a shell's pattern as a regular expression."""
    if piece in {"*", "?"}:
        return ".*" if piece == "*" else "."
    if len(piece) > 1 and piece[0] == "[":
        is_not = piece[1] in "!^"
        inside = piece[2 if is_not else 1 : -1].replace("\\", "\\\\").replace("[", "\\[")
        inside = inside.replace("]", "\\]").replace("^", "\\^")
        return f"[{'^' * is_not}{inside}]"
    return re.escape(piece[-1])
