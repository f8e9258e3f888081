"""Parses calls of functions and aggregates, those with a syntax of their own included."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from sdb.query import ast
from sdb.query.cursor import Cursor

if TYPE_CHECKING:
    from sdb.query.ast import Expr
    from sdb.query.lexer import Token

_PARTS = {
    "MICROSECOND": "MICROSECOND", "MICROSECONDS": "MICROSECOND", "MILLISECOND": "MILLISECOND",
    "MILLISECONDS": "MILLISECOND", "SECOND": "SECOND", "MINUTE": "MINUTE", "HOUR": "HOUR",
    "DAY": "DAY", "WEEK": "WEEK", "MONTH": "MONTH", "QUARTER": "QUARTER", "YEAR": "YEAR",
}  # fmt: skip
_EXTRACTED = {key: part for key, part in _PARTS.items() if part != "WEEK"} | {
    "DOW": "DOW",
    "DOY": "DOY",
}
_WEEKDAYS = {
    "SUNDAY": 0, "MONDAY": 1, "TUESDAY": 2, "WEDNESDAY": 3, "THURSDAY": 4, "FRIDAY": 5,
    "SATURDAY": 6,
}  # fmt: skip
_UNITS = re.compile(r"(microsecond|millisecond|second|minute|hour|day)s?", re.IGNORECASE)
_TYPE_NAMES = "INTEGER FLOAT BOOLEAN STRING TIMESTAMP LIST STRUCT NULL MISSING DECIMAL SYMBOL"
_TYPES = frozenset(_TYPE_NAMES.split())
_DIRECTIONS = {"LEADING": "LTRIM", "TRAILING": "RTRIM", "BOTH": "TRIM"}
_ROW_FUNCTIONS = frozenset({"ROW_NUMBER", "RANK", "DENSE_RANK"})
_STARRED = frozenset({"COUNT", "SNELLER_DATASHAPE"})
_PRECISIONS = range(4, 17)


class Calls(Cursor):
    """The part of the parser that knows calls."""

    def call(self) -> Expr:
        """Parse the call of a function."""
        start = self.peek()
        match start.kind:
            case "DATE_ADD" | "DATE_DIFF" | "DATE_TRUNC":
                return self._timed(start)
            case "DATE_BIN":
                return self._binned(start)
            case "EXTRACT":
                return self._extract(start)
            case "TRIM":
                return self._trim(start)
            case "CAST":
                return self._cast(start)
            case "COALESCE" | "NULLIF" | "UTCNOW" | "ID":
                self.take()
                self.expect("(")
                args = () if self.peek().kind == ")" else self.exprs()
                self.expect(")")
                return ast.Call(str(start.value).upper(), args, span=self.since(start))
            case _:
                raise self.unexpected()

    def _word(self) -> str:
        """Take a word, keyword or not."""
        token = self.take()
        if not (token.kind == "ID" or token.kind.isidentifier()):
            self.back()
            raise self.unexpected()
        return str(token.value)

    def _timed(self, start: Token) -> Expr:
        name = self.take().kind
        self.expect("(")
        word = self._word()
        part = _PARTS.get(word.upper())
        shown = f'"{word}"'
        weekday = None
        if name == "DATE_TRUNC" and part == "WEEK" and self.accept("("):
            day = self._word()
            self.expect(")")
            shown = f'"WEEK"("{day}")'
            weekday = _WEEKDAYS.get(day.upper())
            part = None if weekday is None else part
        self.expect(",")
        args = self.exprs()
        self.expect(")")
        if part is None:
            raise self.wrong(self.before(), f"bad {name} part {shown}")
        return ast.Call(name, args, part, weekday, span=self.since(start))

    def _binned(self, start: Token) -> Expr:
        self.take()
        self.expect("(")
        stride = str(self.expect("STRING").value)
        self.expect(",")
        args = self.exprs()
        self.expect(")")
        problem = _stride_problem(stride)
        if problem is not None:
            what = f'bad DATE_BIN interval: "invalid interval \\"{stride}\\"{problem}"'
            raise self.wrong(self.before(), what)
        return ast.Call("DATE_BIN", args, stride, span=self.since(start))

    def _extract(self, start: Token) -> Expr:
        self.take()
        self.expect("(")
        word = self._word()
        self.expect("FROM")
        args = (self.expr(),)
        self.expect(")")
        part = _EXTRACTED.get(word.upper())
        if part is None:
            raise self.wrong(self.before(), f'bad EXTRACT part "{word}"')
        return ast.Call("EXTRACT", args, part, span=self.since(start))

    def _trim(self, start: Token) -> Expr:
        self.take()
        self.expect("(")
        direction = self.take().kind if self.peek().kind in _DIRECTIONS else None
        args: tuple[Expr, ...] = (self.expr(),)
        if self.accept("FROM"):
            args = (self.expr(), *args)
        elif direction is None and self.accept(","):
            args = (*args, self.expr())
        self.expect(")")
        return ast.Call(_DIRECTIONS.get(direction or "", "TRIM"), args, span=self.since(start))

    def _cast(self, start: Token) -> Expr:
        self.take()
        self.expect("(")
        operand = self.expr()
        self.expect("AS", told=False)
        name = self._word()
        self.expect(")")
        if name.upper() not in _TYPES:
            raise self.wrong(self.before(), f'bad CAST type "{name}"')
        return ast.Cast(operand, name.upper(), span=self.since(start))

    def aggregate(self) -> Expr:
        """Parse the call of an aggregate, with its FILTER and OVER."""
        start = self.take()
        name = start.kind
        self.expect("(")
        distinct = self.accept("DISTINCT")
        star = self.accept("*")
        args = () if star or self.peek().kind == ")" else self.exprs()
        self.expect(")")
        self._check_arguments(name, args, star=star)
        where = None
        if self.accept("FILTER"):
            self.expect("(")
            self.expect("WHERE")
            where = self.expr()
            self.expect(")")
        over = self._over() if self.accept("OVER") else None
        name = "BOOL_AND" if name == "EVERY" else name
        return ast.Aggregate(name, args, star, distinct, where, over, span=self.since(start))

    def _check_arguments(self, name: str, args: tuple[Expr, ...], *, star: bool) -> None:
        if problem := _argument_problem(name, args, star=star):
            raise self.wrong(self.peek().span[1], f"{name}: {problem}")

    def _over(self) -> ast.Over:
        start = self.expect("(")
        partition: tuple[Expr, ...] = ()
        order: tuple[ast.Sort, ...] = ()
        if self.accept("PARTITION"):
            self.expect("BY")
            partition = self.exprs()
        if self.accept("ORDER"):
            self.expect("BY")
            order = self.sorts()
        self.expect(")")
        return ast.Over(partition, order, span=self.since(start))

    def exprs(self) -> tuple[Expr, ...]:
        """Parse expressions with commas between them."""
        found = [self.expr()]
        while self.accept(","):
            found.append(self.expr())
        return tuple(found)

    def sorts(self) -> tuple[ast.Sort, ...]:
        """Parse sort keys with commas between them."""
        found = [self._sort()]
        while self.accept(","):
            found.append(self._sort())
        return tuple(found)

    def _sort(self) -> ast.Sort:
        start = self.peek()
        expr = self.expr()
        descending = self.accept("DESC")
        if not descending:
            self.accept("ASC")
        last = self.accept("NULLS") and self.expect("FIRST", "LAST").kind == "LAST"
        return ast.Sort(expr, descending, last, span=self.since(start))


def _stride_problem(stride: str) -> str | None:
    words = stride.split()
    if not words:
        return ": interval cannot be empty"
    if len(words) % 2:
        return ""
    for quantity, unit in zip(words[::2], words[1::2], strict=True):
        if not quantity.isascii() or not quantity.isdigit():
            return f': \\"{quantity}\\" is not a valid quantity'
        if not _UNITS.fullmatch(unit):
            return f': \\"{unit}\\" is not a valid interval part'
    return None


def _argument_problem(name: str, args: tuple[Expr, ...], *, star: bool) -> str | None:
    problem = None
    if star:
        problem = None if name in _STARRED else "does not accept '*'"
    elif name == "SNELLER_DATASHAPE":
        problem = "accepts only *"
    elif name == "APPROX_COUNT_DISTINCT" and args:
        problem = _precision_problem(args[1:])
    elif name == "APPROX_PERCENTILE" and args:
        problem = _percentile_problem(args[1:])
    elif not args and name not in _ROW_FUNCTIONS:
        problem = "needs an argument"
    elif len(args) > (name not in _ROW_FUNCTIONS):
        problem = "does not accept arguments"
    return problem


def _precision_problem(args: tuple[Expr, ...]) -> str | None:
    match args:
        case ():
            return None
        case (ast.Literal(value=int(value)),) if not isinstance(value, bool):
            return None if value in _PRECISIONS else "precision has to be in range [4, 16]"
        case _:
            return "precision has to be a constant integer"


def _percentile_problem(args: tuple[Expr, ...]) -> str | None:
    match args:
        case (ast.Literal(value=(int() | float()) as value),) if not isinstance(value, bool):
            if 0 <= value <= 1:
                return None
            return f"percentile p={value:g} has to be in range [0.0, 1.0]"
        case _:
            return "percentile has to be a constant number"
