"""Parses expressions (section "Expressions" of docs/sql.md)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sdb.query import ast
from sdb.query.calls import Calls
from sdb.query.lexer import AGGREGATES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sdb.query.ast import Expr
    from sdb.query.lexer import Token, Value

# How tight operators bind; those of a level associate to the left.
_OR, _AND, _NOT, _BETWEEN, _COMPARE, _MATCH, _BITS = 1, 2, 3, 4, 5, 6, 7
_LEVELS = {
    "OR": _OR, "AND": _AND, "BETWEEN": _BETWEEN,
    "=": _COMPARE, "<>": _COMPARE, "<": _COMPARE, "<=": _COMPARE, ">": _COMPARE, ">=": _COMPARE,
    "LIKE": _MATCH, "~~": _MATCH, "ILIKE": _MATCH, "~~*": _MATCH, "SIMILAR": _MATCH,
    "~": _MATCH, "~*": _MATCH, "IN": _MATCH, "IS": _MATCH, "NOT": _MATCH,
    "|": _BITS, "^": 8, "&": 9, "<<": 10, ">>": 10, ">>>": 10,
    "+": 11, "-": 11, "*": 12, "/": 12, "%": 12, "||": 13, "CONCAT": 13,
}  # fmt: skip
_MATCHES = {
    "LIKE": "LIKE", "~~": "LIKE", "ILIKE": "ILIKE", "~~*": "ILIKE", "~": "~", "~*": "~*",
}  # fmt: skip
_WORDS = {"TRUE": True, "FALSE": False, "NULL": None}
_FIRST_BEYOND = 1 << 63


class Expressions(Calls):
    """The part of the parser that knows expressions."""

    def expr(self, level: int = _OR) -> Expr:
        """Parse an expression of operators that bind at least as tight as a level."""
        with self.nested():
            start = self.peek().span[0]
            left = self._prefix()
            while (found := self._level()) >= level:
                left = self._infix(left, found, start)
            return left

    def _level(self) -> int:
        """Give the level of the operator that comes next; 0 when none does."""
        token = self.peek()
        if token.kind != "NOT":
            return _LEVELS.get(token.kind, 0)
        following = self.peek(1).kind
        if following in _MATCHES or following in {"SIMILAR", "IN"}:
            return _MATCH
        return _BETWEEN if following == "BETWEEN" else 0

    def _prefix(self) -> Expr:
        token = self.peek()
        if token.kind in {"NOT", "!", "~"}:
            self.take()
            op = "~" if token.kind == "~" else "NOT"
            return ast.Unary(op, self.expr(_NOT), span=self.since(token))
        if token.kind not in {"-", "+"}:
            return self._primary()
        self.take()
        number = self.peek()
        if token.kind == "-" and number.kind == "NUMBER" and token.tight:
            self.take()
            return ast.Literal(_negative(number.value), span=self.since(token))
        with self.nested():
            operand = self._prefix()
        return operand if token.kind == "+" else ast.Unary("-", operand, span=self.since(token))

    def _infix(self, left: Expr, level: int, start: int) -> Expr:
        if level in {_OR, _AND}:
            return self._chain(left, level, start)
        negated = level in {_BETWEEN, _MATCH} and self.accept("NOT")
        token = self.take()
        made: Expr
        if level == _BETWEEN:
            low = self.expr(_BITS)
            self.expect("AND")
            made = ast.Between(left, low, self.expr(_BITS), span=self.span(start))
        elif token.kind == "IN":
            made = self._in(left, start)
        elif token.kind == "IS":
            return self._is(left, start)
        elif level == _MATCH:
            return self._match(left, token.kind, start, negated=negated)
        else:
            op = "||" if token.kind == "CONCAT" else token.kind
            right = self.expr(level + 1)
            return ast.Binary(op, left, right, span=self.span(start))
        return ast.Unary("NOT", made, span=self.span(start)) if negated else made

    def _chain(self, left: Expr, level: int, start: int) -> Expr:
        """Parse the rest of a chain of AND or OR, as a tree that is no deeper than it has to be."""
        op = self.peek().kind
        parts = [left]
        while self.accept(op):
            parts.append(self.expr(level + 1))
        return self._balanced(op, parts, start)

    def _balanced(self, op: str, parts: Sequence[Expr], start: int) -> Expr:
        if len(parts) == 1:
            return parts[0]
        middle = len(parts) // 2 + len(parts) % 2
        left = self._balanced(op, parts[:middle], start)
        right = self._balanced(op, parts[middle:], parts[middle].span[0])
        return ast.Binary(op, left, right, span=(start, right.span[1]))

    def _in(self, operand: Expr, start: int) -> Expr:
        self.expect("(")
        items: tuple[Expr, ...] | ast.Subquery
        if self.peek().kind in {"SELECT", "FROM"}:
            begin = self.peek()
            items = ast.Subquery(self.select(), span=self.since(begin))
        else:
            items = self.exprs()
        self.expect(")")
        return ast.In(operand, items, span=self.span(start))

    def _is(self, operand: Expr, start: int) -> Expr:
        negated = self.accept("NOT")
        what = self.expect("NULL", "MISSING", "TRUE", "FALSE", told=False).kind
        return ast.Is(operand, what, negated, span=self.span(start))

    def _match(self, operand: Expr, kind: str, start: int, *, negated: bool) -> Expr:
        if kind == "SIMILAR":
            self.expect("TO")
        op = _MATCHES.get(kind, "SIMILAR TO")
        pattern = str(self.expect("STRING").value)
        escape = None
        if op in {"LIKE", "ILIKE"} and self.accept("ESCAPE"):
            token = self.expect("STRING")
            escape = str(token.value)
            if len(escape) != 1:
                raise self.wrong(token.span[0], "ESCAPE takes one character")
        return ast.Match(op, operand, pattern, escape, negated, span=self.span(start))

    def _primary(self) -> Expr:
        token = self.peek()
        constant = _constant(token)
        if constant is not None:
            self.take()
            return constant
        if token.kind == "(":
            return self._parenthesised()
        if token.kind in {"[", "{"}:
            return self.path(self._list() if token.kind == "[" else self._struct())
        if token.kind == "ID" and self.peek(1).kind != "(":
            self.take()
            return self.path(ast.Name(str(token.value), span=token.span))
        return self._special()

    def _special(self) -> Expr:
        token = self.peek()
        if token.kind == "EXISTS":
            self.take()
            self.expect("(")
            select = self.select()
            self.expect(")")
            return ast.Exists(select, span=self.since(token))
        if token.kind == "CASE":
            return self._case()
        if token.kind in AGGREGATES:
            return self.aggregate()
        return self.call()

    def _parenthesised(self) -> Expr:
        start = self.take()
        if self.peek().kind in {"SELECT", "FROM"}:
            select = self.select()
            self.expect(")")
            return ast.Subquery(select, span=self.since(start))
        inner = self.expr()
        self.expect(")")
        return inner

    def _list(self) -> Expr:
        start = self.take()
        items: list[Expr] = []
        if not self.accept("]"):
            items.append(self.expr())
            while self.expect(",", "]").kind == ",":
                items.append(self.expr())
        return ast.MakeList(tuple(items), span=self.since(start))

    def _struct(self) -> Expr:
        start = self.take()
        members: list[tuple[str, Expr]] = []
        if not self.accept("}"):
            members.append(self._member())
            while self.expect(",", "}").kind == ",":
                members.append(self._member())
        return ast.MakeStruct(tuple(members), span=self.since(start))

    def _member(self) -> tuple[str, Expr]:
        name = str(self.expect("STRING").value)
        self.expect(":")
        return name, self.expr()

    def _case(self) -> Expr:
        start = self.take()
        operand = None
        if self.peek().kind not in {"WHEN", "END"}:
            operand = self.expr()
        limbs = []
        self.expect("WHEN")
        while True:
            condition = self.expr()
            self.expect("THEN")
            limbs.append((condition, self.expr()))
            if not self.accept("WHEN"):
                break
        otherwise = self.expr() if self.accept("ELSE") else None
        self.expect("END")
        return ast.Case(operand, tuple(limbs), otherwise, span=self.since(start))


def _constant(token: Token) -> Expr | None:
    if token.kind in {"NUMBER", "STRING", "TIMESTAMP"}:
        is_beyond = isinstance(token.value, int) and token.value >= _FIRST_BEYOND
        return ast.Literal(float(_FIRST_BEYOND) if is_beyond else token.value, span=token.span)
    if token.kind in _WORDS:
        return ast.Literal(_WORDS[token.kind], span=token.span)
    if token.kind == "PARAM":
        return ast.Param(str(token.value), span=token.span)
    return ast.Missing(span=token.span) if token.kind == "MISSING" else None


def _negative(value: Value) -> int | float:
    """Give a number with the sign that stands before its digits: 2^63 is an integer only so."""
    return -value if isinstance(value, int | float) else 0
