"""Expressions as values."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sdb.query import ast
from sdb.query.plan import BOOL, MISSING, STRING
from sdb.query.translate import operators
from sdb.query.translate.conditional import cast, choice
from sdb.query.translate.functions import FUNCTIONS
from sdb.query.translate.lanes import MadeList, MadeStruct, Nothing, Typed, Value
from sdb.query.translate.patterns import matches
from sdb.query.translate.scope import rejected
from sdb.query.translate.subqueries import contains, exists, scalar

if TYPE_CHECKING:
    from collections.abc import Callable

    from sdb.query.translate.context import Context
    from sdb.query.translate.scope import Scope


def translate(node: ast.Expr, scope: Scope, context: Context) -> Value:
    """Give the value of an expression."""
    if node in scope.known:
        return scope.known[node]
    return _BY_TYPE[type(node)](node, scope, context)


def condition(node: ast.Expr, scope: Scope, context: Context) -> str:
    """SQL of a condition of which only TRUE counts: MISSING may as well be FALSE."""
    if isinstance(node, ast.Binary) and node.op in {"AND", "OR"}:
        left, right = condition(node.left, scope, context), condition(node.right, scope, context)
        return f"({left} {node.op} {right})"
    value = translate(node, scope, context)
    return value.lane("b")


def _literal(node: ast.Literal, scope: Scope, context: Context) -> Value:
    return operators.literal(node)


def _missing(node: ast.Missing, scope: Scope, context: Context) -> Value:
    return Nothing()


def _name(node: ast.Name, scope: Scope, context: Context) -> Value:
    return scope.path(node)


def _dot(node: ast.Dot, scope: Scope, context: Context) -> Value:
    if scope.qualifies(node.base):
        value = scope.field(node)
        if value is not None:
            return value
    return translate(node.base, scope, context).step(node.name)


def _index(node: ast.Index, scope: Scope, context: Context) -> Value:
    return translate(node.base, scope, context).step(node.index)


def _unary(node: ast.Unary, scope: Scope, context: Context) -> Value:
    value = translate(node.operand, scope, context)
    if node.op == "NOT":
        return operators.boolean(f"(NOT {value.lane('b')})", value, wants=BOOL)
    if node.op == "-":
        return operators.negative(value)
    return operators.whole(f"(~{operators.int64(value)})", value)


def _binary(node: ast.Binary, scope: Scope, context: Context) -> Value:
    left = translate(node.left, scope, context)
    right = translate(node.right, scope, context)
    return combine(node.op, left, right)


def combine(op: str, left: Value, right: Value) -> Value:
    """Value of an infix operator."""
    if op in {"AND", "OR"}:
        sql = f"({operators.truth(left)} {op} {operators.truth(right)})"
        present = not (left.mask | right.mask) & MISSING
        return Typed(BOOL, sql, absent=0 if present else MISSING)
    if op in {"=", "<>"}:
        sql = operators.equal(left, right) if op == "=" else operators.unequal(left, right)
        present = not (left.mask | right.mask) & MISSING
        return Typed(BOOL, sql, absent=0 if present else MISSING)
    if op in {"<", "<=", ">", ">="}:
        return operators.boolean(operators.ordered(op, left, right))
    if op == "||":
        return operators.string(f"({left.lane('s')} || {right.lane('s')})", left, right)
    if op in {"+", "-", "*", "/", "%"}:
        return operators.arithmetic(op, left, right)
    return operators.bitwise(op, left, right)


def _between(node: ast.Between, scope: Scope, context: Context) -> Value:
    value = translate(node.operand, scope, context)
    low = combine(">=", value, translate(node.low, scope, context))
    high = combine("<=", value, translate(node.high, scope, context))
    return combine("AND", low, high)


def _in(node: ast.In, scope: Scope, context: Context) -> Value:
    value = translate(node.operand, scope, context)
    if isinstance(node.items, ast.Subquery):
        return Typed(BOOL, contains(node.items.select, value, scope, context))
    items = [translate(item, scope, context) for item in node.items]
    return Typed(BOOL, operators.among(value, items), absent=value.mask & MISSING)


def _is(node: ast.Is, scope: Scope, context: Context) -> Value:
    value = translate(node.operand, scope, context)
    return Typed(BOOL, operators.is_test(value, node.what, negated=node.negated), absent=0)


def _match(node: ast.Match, scope: Scope, context: Context) -> Value:
    value = translate(node.operand, scope, context)
    sql = matches(node, value.lane("s"))
    return operators.boolean(f"(NOT {sql})" if node.negated else sql, value, wants=STRING)


def _call(node: ast.Call, scope: Scope, context: Context) -> Value:
    function = FUNCTIONS.get(node.name)
    if function is None:
        raise rejected(f"unrecognized builtin {node.name!r}", node)
    return function(node, [translate(arg, scope, context) for arg in node.args], context)


def _cast(node: ast.Cast, scope: Scope, context: Context) -> Value:
    return cast(translate(node.operand, scope, context), node.type)


def _case(node: ast.Case, scope: Scope, context: Context) -> Value:
    operand = None if node.operand is None else translate(node.operand, scope, context)
    limbs: list[tuple[str, Value]] = []
    for when, then in node.limbs:
        if operand is None:
            test = condition(when, scope, context)
        else:
            test = operators.equal(operand, translate(when, scope, context))
        limbs.append((test, translate(then, scope, context)))
    otherwise = Nothing() if node.otherwise is None else translate(node.otherwise, scope, context)
    return choice(limbs, otherwise)


def _make_list(node: ast.MakeList, scope: Scope, context: Context) -> Value:
    return MadeList([translate(item, scope, context) for item in node.items])


def _make_struct(node: ast.MakeStruct, scope: Scope, context: Context) -> Value:
    return MadeStruct([(name, translate(item, scope, context)) for name, item in node.members])


def _aggregate(node: ast.Aggregate, scope: Scope, context: Context) -> Value:
    if scope.aggregate is None:
        raise rejected("aggregate functions are not allowed here", node)
    return scope.aggregate(node)


def _subquery(node: ast.Subquery, scope: Scope, context: Context) -> Value:
    return scalar(node.select, scope, context)


def _exists(node: ast.Exists, scope: Scope, context: Context) -> Value:
    return Typed(BOOL, exists(node.select, scope, context), absent=0)


def _param(node: ast.Param, scope: Scope, context: Context) -> Value:
    raise rejected(f"parameter ${node.name} has no value", node)


_BY_TYPE: dict[type, Callable[..., Value]] = {
    ast.Literal: _literal,
    ast.Missing: _missing,
    ast.Param: _param,
    ast.Name: _name,
    ast.Dot: _dot,
    ast.Index: _index,
    ast.Unary: _unary,
    ast.Binary: _binary,
    ast.Between: _between,
    ast.In: _in,
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
