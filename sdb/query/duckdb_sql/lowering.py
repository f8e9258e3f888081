"""Expressions as values."""

from __future__ import annotations

from functools import partial

from sdb.errors import QueryError
from sdb.instants import SECOND_US
from sdb.query.analyze.refusals import rejected
from sdb.query.analyze.regexes import similar
from sdb.query.analyze.static_types import TIMES_MOVE
from sdb.query.analyze.types import ANY, BOOL, LIST, MISSING, NULL, NUMBER, STRING, TIME
from sdb.query.duckdb_sql.functions import (
    conditional,
    geo,
    jsontexts,
    lists,
    numbers,
    strings,
    texts,
    times,
)
from sdb.query.duckdb_sql.functions.arguments import Arguments
from sdb.query.duckdb_sql.functions.conditional import choice
from sdb.query.duckdb_sql.functions.lists import joined, of_elements
from sdb.query.duckdb_sql.subqueries import (
    contains,
    contains_original,
    contains_original_row,
    contains_row,
    exists,
    quantified,
    scalar,
    settled,
)
from sdb.query.duckdb_sql.values import arithmetic, equality, operators, quoting, standard
from sdb.query.duckdb_sql.values.casts import cast
from sdb.query.duckdb_sql.values.constructors import MadeList, MadeStruct
from sdb.query.duckdb_sql.values.lanes import Constant, Keyed, Nothing, Typed, Value
from sdb.query.duckdb_sql.values.numeric import decimal_arithmetic
from sdb.query.syntax import ast
from sdb.query.syntax.operators import NULL_SAFE, operands

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, ClassVar

    from sdb.query.duckdb_sql.functions.arguments import Function
    from sdb.query.duckdb_sql.scope import Scope, SqlContext


def translate(node: ast.Expr, scope: Scope, context: SqlContext) -> Value:
    """Return the value of an expression."""
    return _Translator(scope, context).value(node)


def condition(node: ast.Expr, scope: Scope, context: SqlContext) -> str:
    """Return SQL of a condition of which only TRUE counts: MISSING may as well be FALSE."""
    return _Translator(scope, context).condition(node)


def logical(op: str, values: list[Value], *, original: bool) -> Value:
    """Return the value of a chain of ANDs or ORs."""
    sql = f" {op} ".join(map((operators if original else standard).truth, values))
    undecided = MISSING if original else ~BOOL
    absent = MISSING if any(value.mask & undecided for value in values) else 0
    return Typed(BOOL, f"({sql})", absent=absent)


def _flattened(node: ast.Call) -> tuple[ast.Expr, ...]:
    """Return the arguments of COALESCE, with those of another one in its place."""
    args: list[ast.Expr] = []
    for arg in node.args:
        if isinstance(arg, ast.Call) and arg.name == "COALESCE":
            args += _flattened(arg)
        else:
            args.append(arg)
    return tuple(args)


def combine(op: str, left: Value, right: Value, *, original: bool) -> Value:
    """Return the value of an infix operator."""
    if op in NULL_SAFE:
        sql = equality.same(left, right)
        return Typed(BOOL, f"(NOT {sql})" if op == "IS DISTINCT FROM" else sql, absent=0)
    if op in {"=", "<>"}:
        sql = equality.equal(left, right, nulls=original)
        nulls = MISSING if original else NULL | MISSING
        absent = MISSING if (left.mask | right.mask) & nulls else 0
        return Typed(BOOL, sql if op == "=" else f"(NOT {sql})", absent=absent)
    if op in {"<", "<=", ">", ">="}:
        return Typed(BOOL, operators.ordered(op, left, right, nulls=original))
    if op == "||":
        return operators.joined(left, right) if original else joined(left, right)
    if (exact := decimal_arithmetic(op, left, right)) is not None:
        return exact
    is_number = op in {"+", "-", "*", "/", "%"}
    make = partial(arithmetic.arithmetic, cuts=original) if is_number else arithmetic.bitwise
    return make(op, left, right)


_EMPTY = NULL | MISSING
_LOGICAL = {"AND", "OR"}
_PASSED = (ast.Name, ast.Dot, ast.Index, ast.Missing, ast.Literal)
"""What gives values as rows have them, MISSING among them."""


def _check_times(left: Value, right: Value) -> None:
    """Refuse a sum of a time and a number, which no row has a value for."""
    if {left.mask & ~_EMPTY, right.mask & ~_EMPTY} == {TIME, NUMBER}:
        raise rejected("a number is added to a time, or taken from it", hint=TIMES_MOVE)


def _combined(op: str, left: Value, right: Value, *, original: bool) -> Value:
    if op in {"+", "-"} and not original:
        _check_times(left, right)
    return combine(op, left, right, original=original)


class _Translator:
    def __init__(self, scope: Scope, context: SqlContext) -> None:
        self.scope = scope
        self.context = context

    def value(self, node: ast.Expr) -> Value:
        """Return the value of an expression."""
        if self._is_known(node):
            return self.scope.known[node]
        value = self._BY_TYPE[type(node)](self, node)
        is_passed = self.context.original or isinstance(node, _PASSED)
        return value if is_passed else standard.computed(value)

    def _is_known(self, node: ast.Expr) -> bool:
        # To look up a node takes as long as it is large, and mostly nothing is known.
        return bool(self.scope.known) and node in self.scope.known

    def operand(self, node: ast.Expr) -> Value:
        """Return the value of what an operator works on: a sub-query must be one scalar."""
        if isinstance(node, ast.Subquery):
            return scalar(node.select, self.scope, self.context, is_single=True)
        return self.value(node)

    def values(self, nodes: tuple[ast.Expr, ...]) -> list[Value]:
        """Return the values of expressions."""
        return [self.value(node) for node in nodes]

    def condition(self, node: ast.Expr) -> str:
        """Return SQL of a condition."""
        if isinstance(node, ast.Binary) and node.op in _LOGICAL:
            parts = [self.condition(part) for part in operands(node, node.op)]
            return f"({f' {node.op} '.join(parts)})"
        if isinstance(node, ast.Binary) and node.op == "=" and not self._is_known(node):
            left, right = self.operand(node.left), self.operand(node.right)
            return equality.equal(left, right, nulls=node.original, holds=True)
        if isinstance(node, ast.In) and isinstance(node.operand, ast.Row):
            return self._of_row(node, holds=True)
        return self.value(node).lane("b")

    def _of_row(self, node: ast.In, *, holds: bool = False) -> str:
        """Return SQL of ``(a, b) IN (SELECT ...)``."""
        assert isinstance(node.operand, ast.Row)  # noqa: S101
        assert isinstance(node.items, ast.Subquery)  # noqa: S101 - others are written out
        values = [self.operand(value) for value in node.operand.values]
        if node.original:
            return settled(
                contains_original_row(node.items.select, values, self.scope, self.context), values
            )
        return contains_row(node.items.select, values, self.scope, self.context, holds=holds)

    def _literal(self, node: ast.Literal) -> Value:
        return operators.literal(node)

    def _interval(self, node: ast.Interval) -> Value:
        seconds, rest = divmod(node.us, SECOND_US)
        return Constant(node.us / SECOND_US if rest else seconds)

    def _missing(self, _: ast.Missing) -> Value:
        return Nothing()

    def _name(self, node: ast.Name) -> Value:
        return self.scope.path(node)

    def _dot(self, node: ast.Dot) -> Value:
        if self.scope.qualifies(node.base):
            value = self.scope.field(node)
            if value is not None:
                return value
        base = self.value(node.base)
        try:
            return base.step(node.name)
        except QueryError as error:  # a schema that has no such column
            raise rejected(error.message, node, error.hint) from None

    def _index(self, node: ast.Index) -> Value:
        return self.value(node.base).step(node.index)

    def _unary(self, node: ast.Unary) -> Value:
        value = self.operand(node.operand)
        if node.op == "NOT":
            return operators.boolean(f"(NOT {value.lane('b')})", value, wants=BOOL)
        if node.op == "-":
            return arithmetic.negative(value)
        return operators.whole(f"(~{operators.int64(value)})", value)

    def _binary(self, node: ast.Binary) -> Value:
        # From left to right and without recursion, for chains may be long.
        chain = [node]
        while isinstance(node.left, ast.Binary) and not self._is_known(node.left):
            node = node.left
            chain.append(node)
        value = self.operand(node.left)
        while chain:
            op, original = chain[-1].op, chain[-1].original
            rest = [self.operand(chain.pop().right)]
            while op in _LOGICAL and chain and chain[-1].op == op:
                rest.append(self.operand(chain.pop().right))
            value = (
                logical(op, [value, *rest], original=original)
                if op in _LOGICAL
                else _combined(op, value, *rest, original=original)
            )
        return value

    def _between(self, node: ast.Between) -> Value:
        value = self.operand(node.operand)
        sides = [
            combine(op, value, self.operand(end), original=node.original)
            for op, end in ((">=", node.low), ("<=", node.high))
        ]
        return logical("AND", sides, original=node.original)

    def _quantified(self, node: ast.Quantified) -> Value:
        def compared(item: Value) -> str:
            return combine(node.op, value, item, original=node.original).lane("b")

        value = self.operand(node.operand)
        sql = quantified(node, compared, self.scope, self.context)
        return Typed(BOOL, settled(sql, [value]) if node.original else sql)

    def _in(self, node: ast.In) -> Value:
        if isinstance(node.operand, ast.Row):
            return Typed(BOOL, self._of_row(node))
        value = self.operand(node.operand)
        if isinstance(node.items, ast.Subquery):
            made = contains_original if node.original else contains
            sql = made(node.items.select, value, self.scope, self.context)
        else:
            sql = equality.among(value, self.values(node.items), nulls=node.original)
        return Typed(BOOL, sql, absent=value.mask & MISSING if node.original else MISSING)

    def _is(self, node: ast.Is) -> Value:
        item = node.operand
        # A path into JSON is one: what is not there is MISSING, as it is behind dots.
        is_path = isinstance(item, ast.Call) and item.name == "JSON_EXTRACT"
        if node.what == "MISSING" and is_path and not self._is_known(item):
            value = self._BY_TYPE[type(item)](self, item)
        else:
            value = self.value(item)
        if node.what == "NULL" and not node.original:
            test = standard.null(value)
            return Typed(BOOL, f"(NOT {test})" if node.negated else test, absent=0)
        sql = operators.is_test(value, node.what, negated=node.negated)
        return Typed(BOOL, sql, absent=0)

    def _match(self, node: ast.Match) -> Value:
        value = self.value(node.operand)
        sql = matches(node, value.lane("s"))
        return operators.boolean(f"(NOT {sql})" if node.negated else sql, value, wants=STRING)

    def _call(self, node: ast.Call) -> Value:
        if node.args and isinstance(node.args[-1], ast.Lambda):
            return self._of_elements(node)
        args = _flattened(node) if node.name == "COALESCE" else node.args
        return FUNCTIONS[node.name](Arguments(node, self.values(args), self.context.growth))

    def _of_elements(self, node: ast.Call) -> Value:
        """Return the value of a function that calls another one with each element of a list."""
        value, function = self.value(node.args[0]), node.args[-1]
        assert isinstance(function, ast.Lambda)  # noqa: S101 - it was looked at
        if not value.mask & LIST:
            return Nothing()
        variable, element = self.context.name("x"), ast.Element(function.name)
        before = dict(self.scope.known)
        self.scope.known[element] = Keyed(variable, ANY & ~MISSING)
        try:
            body = self.value(function.body)
        finally:
            self.scope.known.clear()
            self.scope.known.update(before)
        return of_elements(node.name, value.lane("e"), variable, body)

    def _cast(self, node: ast.Cast) -> Value:
        return cast(
            self.value(node.operand),
            node.type,
            reads_texts=node.reads_texts,
            original=node.original,
        )

    def _case(self, node: ast.Case) -> Value:
        operand = None if node.operand is None else self.value(node.operand)
        limbs: list[tuple[str, Value]] = []
        for when, then in node.limbs:
            if operand is None:
                test = self.condition(when)
            else:
                test = equality.equal(operand, self.value(when), nulls=node.original)
            limbs.append((test, self.value(then)))
        otherwise = Nothing() if node.otherwise is None else self.value(node.otherwise)
        return choice(limbs, otherwise)

    def _make_list(self, node: ast.MakeList) -> Value:
        return MadeList([self.context.filled(value) for value in self.values(node.items)])

    def _make_struct(self, node: ast.MakeStruct) -> Value:
        return MadeStruct(
            [(name, self.context.filled(self.value(item))) for name, item in node.members]
        )

    def _aggregate(self, node: ast.Aggregate) -> Value:
        if self.scope.aggregate is None:
            raise rejected(f"cannot handle nested aggregate {node.name}", node)
        return self.scope.aggregate(node)

    def _subquery(self, node: ast.Subquery) -> Value:
        select = node.select
        is_single = not self.context.original and len(select.items) == 1
        return scalar(select, self.scope, self.context, is_single=is_single)

    def _exists(self, node: ast.Exists) -> Value:
        return Typed(BOOL, exists(node.select, self.scope, self.context), absent=0)

    _BY_TYPE: ClassVar[dict[type, Callable[[_Translator, Any], Value]]] = {
        ast.Literal: _literal,
        ast.Interval: _interval,
        ast.Missing: _missing,
        ast.Name: _name,
        ast.Dot: _dot,
        ast.Index: _index,
        ast.Unary: _unary,
        ast.Binary: _binary,
        ast.Between: _between,
        ast.In: _in,
        ast.Quantified: _quantified,
        ast.Is: _is,
        ast.Match: _match,
        ast.Call: _call,
        ast.Cast: _cast,
        ast.Case: _case,
        ast.MakeList: _make_list,
        ast.MakeStruct: _make_struct,
        ast.Aggregate: _aggregate,
        ast.Subquery: _subquery,
        ast.Exists: _exists,
    }


# The functions of the dialect, by name.

FUNCTIONS: dict[str, Function] = {
    **numbers.FUNCTIONS,
    **strings.FUNCTIONS,
    **texts.FUNCTIONS,
    **times.FUNCTIONS,
    **lists.FUNCTIONS,
    **geo.FUNCTIONS,
    **jsontexts.FUNCTIONS,
    "COALESCE": conditional.coalesce,
    "NULLIF": conditional.nullif,
}


# Pattern matches.


def matches(node: ast.Match, text: str) -> str:
    """Return SQL of a match over SQL of a string; NULL for NULL."""
    pattern = quoting.string(node.pattern)
    if node.op == "LIKE":
        return _like(node, text, pattern)
    if node.op == "ILIKE":
        folded = f"sdb_ilike({text}, {pattern}, {quoting.string(node.escape or '')})"
        if not node.pattern.isascii():
            return folded
        # DuckDB folds only some letters beyond ASCII, and some of these match ASCII letters.
        simple = _like(node, text, pattern)
        return f"CASE WHEN strlen({text}) <> length({text}) THEN {folded} ELSE {simple} END"
    if node.op == "SIMILAR TO":
        return f"regexp_full_match({text}, {quoting.string(similar(node.pattern))})"
    return f"regexp_matches({text}, {pattern}{', ' + repr('i') if node.op == '~*' else ''})"


def _like(node: ast.Match, text: str, pattern: str) -> str:
    escape = ""
    if node.escape is not None or "\\" in node.pattern:
        escape = f" ESCAPE {quoting.string(node.escape or '')}"
    return f"({text} {node.op} {pattern}{escape})"
