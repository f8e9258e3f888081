"""Constant folding: what literals alone decide, decided before running.

Integers are exact; a result beyond 64 bits is refused.
"""

from __future__ import annotations

import math
import operator
from functools import partial

from sdb.query.analyze import calendar
from sdb.query.analyze.refusals import ill_typed, refuse
from sdb.query.analyze.signatures import CASTS, FUNCTIONS
from sdb.query.analyze.types import NULL
from sdb.query.syntax import ast, operators, visitor
from sdb.query.syntax.clauses import patterns
from sdb.query.syntax.literals import INT64_MAX, INT64_MIN, UINT64_MAX
from sdb.query.syntax.operators import NULL_SAFE
from sdb.records import replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any, TypeVar

    T = TypeVar("T", bound=ast.Node)

_WORD_BITS = 64
_COMPARES: dict[str, Callable[..., bool]] = {
    "=": operator.eq,
    "<>": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def fold(node: T, now: ast.Instant | None = None) -> T:
    """Replace what is constant by its value.

    Folded are arithmetic, bit operators, comparisons and ``||`` of literals, AND, OR and NOT as far
    as constants decide them, paths into constructors (``{'a': 5}.a``), and the time functions
    (DATE_ADD, DATE_DIFF, DATE_TRUNC, DATE_BIN, EXTRACT, TO_UNIX_EPOCH, TO_UNIX_MICRO, TIME_BUCKET)
    of literals between the years 1 and 9999. All else stays as it is; so does an expression that
    `static_type` refuses, and an operation that gives MISSING.

    * ``node``: An expression, or any other tree, up to a whole statement.
    * ``now``: What UTCNOW() stands for; without it, the call stays.

    Raises `QueryError` if an integer result is beyond 64 bits, a constant divides by zero, or a
    path leads out of a constructor.

    >>> from sdb.query.syntax.parser import parse
    >>> fold(parse("SELECT 2 * 3 + a").select.items[0].expr).left.value
    6
    """

    def change(part: ast.Node) -> ast.Node:  # noqa: PLR0911 - a table
        if (empty := null_folded(part)) is not None:
            return empty
        match part:
            case ast.Call(name="UTCNOW", args=()) if now is not None:
                return ast.Literal(now, span=part.span)
            case ast.Unary():
                return _unary(part)
            case ast.Binary():
                return _binary(part)
            case ast.Call():
                return _call(part)
            case ast.Dot(base=ast.MakeStruct()) | ast.Index(base=ast.MakeList()):
                return _step(part)
        return part

    return visitor.rewrite(node, change)


def _number(node: ast.Expr) -> float | None:
    if isinstance(node, ast.Literal) and type(node.value) in {int, float}:
        return node.value  # type: ignore[return-value]  # the test says so
    return None


def _exact(value: float, node: ast.Expr, *operands: float) -> ast.Expr:
    if isinstance(value, int) and not INT64_MIN <= value <= INT64_MAX:
        # With an operand beyond int64 it may be as well, and a double beyond 64 bits.
        if all(INT64_MIN <= operand <= INT64_MAX for operand in operands):
            refuse(f"{value} overflows int64", node)
        if abs(value) > UINT64_MAX:
            value = float(value)
    return ast.Literal(value, span=node.span)


def _unary(node: ast.Unary) -> ast.Expr:
    if node.op == "NOT":
        operand = node.operand
        if isinstance(operand, ast.Literal) and isinstance(operand.value, bool):
            return ast.Literal(not operand.value, span=node.span)
        return node
    value = _number(node.operand)
    if value is None:
        return node
    if node.op == "-":
        return _exact(-value, node, value)
    whole = _whole(value)
    return node if whole is None else ast.Literal(~whole, span=node.span)


def _binary(node: ast.Binary) -> ast.Expr:
    if node.op in {"AND", "OR"}:
        return _logical(node)
    left, right = _number(node.left), _number(node.right)
    if node.op in {"/", "%"} and right == 0:
        ill_typed(node, "division by zero" if node.op == "/" else "modulo by zero")
    if left is not None and right is not None:
        return _of_numbers(node, left, right)
    if isinstance(node.left, ast.Literal) and isinstance(node.right, ast.Literal):
        return _of_constants(node, node.left.value, node.right.value)
    return node


def _of_constants(  # noqa: PLR0911 - a table
    node: ast.Binary, left: ast.Constant, right: ast.Constant
) -> ast.Expr:
    """Fold an operator on strings, timestamps or booleans."""
    compare = _COMPARES.get(node.op)
    match left, right:
        case str(), str() if node.op == "||":
            return ast.Literal(left + right, span=node.span)
        case str(), str() if compare:
            return ast.Literal(compare(left.encode(), right.encode()), span=node.span)
        case ast.Instant(one), ast.TimeText() if compare:
            return ast.Literal(compare(one, right.us), span=node.span)
        case ast.TimeText(), ast.Instant(other) if compare:
            return ast.Literal(compare(left.us, other), span=node.span)
        case ast.Instant(one), ast.Instant(other) if compare:
            return ast.Literal(compare(one, other), span=node.span)
        case bool(), bool() if compare:
            return ast.Literal(compare(left, right), span=node.span)
    return node


def _logical(node: ast.Binary) -> ast.Expr:
    """Fold AND and OR: FALSE decides the one, TRUE the other, whatever else there is."""
    decisive = node.op == "OR"
    parts = operators.operands(node, node.op)
    booleans = [
        part.value
        for part in parts
        if isinstance(part, ast.Literal) and isinstance(part.value, bool)
    ]
    if decisive in booleans:
        return ast.Literal(decisive, span=node.span)
    if len(booleans) == len(parts):
        return ast.Literal(not decisive, span=node.span)
    return node


def _of_numbers(node: ast.Binary, left: float, right: float) -> ast.Expr:
    if node.op in _COMPARES:
        return ast.Literal(_COMPARES[node.op](left, right), span=node.span)
    try:
        value = _ARITHMETIC[node.op](left, right) if node.op in _ARITHMETIC else None
    except (OverflowError, ValueError):
        value = None
    if value is None:
        value = _bits(node.op, left, right)
    return node if value is None else _exact(value, node, left, right)


def _as_written(op: Callable[..., Any], left: float, right: float) -> float:
    """Compute with numbers as they are written: 0.06 + 0.01 is 0.07, as in standard SQL."""
    if isinstance(left, int) and isinstance(right, int):
        return int(op(left, right))
    if not math.isfinite(left) or not math.isfinite(right):
        return float(op(left, right))
    from decimal import Decimal

    return float(op(Decimal(repr(left)), Decimal(repr(right))))


def _divide(left: float, right: float) -> float:
    if isinstance(left, int) and isinstance(right, int) and left % right == 0:
        return left // right
    return left / right


def _modulo(left: float, right: float) -> float:
    """Return the remainder, with the sign of the dividend."""
    if isinstance(left, int) and isinstance(right, int):
        rest = abs(left) % abs(right)
        return rest if left >= 0 else -rest
    return math.fmod(left, right)


_ARITHMETIC: dict[str, Callable[[float, float], float]] = {
    "+": partial(_as_written, operator.add),
    "-": partial(_as_written, operator.sub),
    "*": partial(_as_written, operator.mul),
    "/": _divide,
    "%": _modulo,
}


def _whole(value: float) -> int | None:
    """Cut a number toward zero, unless it is beyond 64 bits; without a sign these are only bits."""
    if isinstance(value, float) and not math.isfinite(value):
        return None
    whole = math.trunc(value)
    if INT64_MAX < whole <= UINT64_MAX:
        return whole - (1 << _WORD_BITS)
    return whole if INT64_MIN <= whole <= INT64_MAX else None


def _bits(op: str, left: float, right: float) -> int | None:
    first, other = _whole(left), _whole(right)
    if first is None or other is None:
        return None
    match op:
        case "|":
            return first | other
        case "^":
            return first ^ other
        case "&":
            return first & other
        case "<<" | ">>" | ">>>":
            return _shift(op, first, other)
    return None


def _shift(op: str, value: int, count: int) -> int | None:
    if count < 0:
        return None
    if op == ">>":
        return value >> min(count, _WORD_BITS)
    unsigned = value % (1 << _WORD_BITS)
    if count >= _WORD_BITS:
        return 0
    shifted = unsigned << count if op == "<<" else unsigned >> count
    shifted %= 1 << _WORD_BITS
    return shifted - (1 << _WORD_BITS) if shifted > INT64_MAX else shifted


def _call(node: ast.Call) -> ast.Expr:
    if node.name in patterns.CALLS.values():
        return patterns.constant(node)
    if node.name == "CONCAT":
        return _concatenated(node)
    values = [arg.value for arg in node.args if isinstance(arg, ast.Literal)]
    if not values or len(values) != len(node.args):
        return node
    try:
        value = calendar.call(node, values)
    except (OverflowError, ValueError):
        return node
    return node if value is None else _value(value, node)


def _concatenated(node: ast.Call) -> ast.Expr:
    """Join constants whose texts are known here: strings, integers, booleans and NULL."""
    texts = []
    for arg in node.args:
        match arg:
            case ast.Literal(None):
                pass
            case ast.Literal(bool() as flag):
                texts.append(str(flag).lower())
            case ast.Literal(str() | int() as value):
                texts.append(str(value))
            case _:
                return node
    return ast.Literal("".join(texts), span=node.span)


def _value(value: int | ast.Instant, node: ast.Expr) -> ast.Expr:
    return _exact(value, node) if isinstance(value, int) else ast.Literal(value, span=node.span)


def _step(node: ast.Dot | ast.Index) -> ast.Expr:
    """Take a field or an element out of a constructor."""
    match node:
        case ast.Dot(base=ast.MakeStruct(members=members), name=name):
            for key, value in members:
                if key == name:
                    return value
            ill_typed(node.base, f'struct does not have field "{name}"')
        case ast.Index(base=ast.MakeList(items=items), index=index) if 0 <= index < len(items):
            return items[index]
    return node


# Operators and functions of a literal NULL: NULL, where they need a value.

_NO_NULLS = frozenset({"AND", "OR", *NULL_SAFE})
"""Operators to which NULL is a value as any."""
_EXTREMES = frozenset({"LEAST", "GREATEST"})


def null_folded(node: ast.Node) -> ast.Expr | None:  # noqa: PLR0911 - a table
    """Return what stands for a node with a NULL among its operands; None: it is as any other."""
    match node:
        case ast.Unary(op, operand) if op != "NOT" and _is_null(operand):
            return operand
        case ast.Binary(op, left, right) if op not in _NO_NULLS and _any([left, right]):
            is_empty = op not in {"=", "<>"} or _never_null(left, right)
            return ast.Literal(None, span=node.span) if is_empty else None
        case ast.Between(operand, low, high) if _any([operand, low, high]):
            return _between(node)
        case ast.In(operand, tuple() as items) if _any([operand, *items]):
            return _in(node, operand, items)
        case ast.Match(operand=operand) if _is_null(operand):
            return operand
        case ast.Cast(operand, kind) if _is_null(operand) and not CASTS[kind][0] & NULL:
            return operand
        case ast.Call(args=args) if _any(args):
            return _null_call(node, args)
        case ast.Case(operand=ast.Node() as operand, limbs=limbs) if _any(w for w, _ in limbs):
            return _case(node, operand)
    return None


def _is_null(node: ast.Node) -> bool:
    return isinstance(node, ast.Literal) and node.value is None


def _any(nodes: Iterable[ast.Expr]) -> bool:
    return any(map(_is_null, nodes))


def _never_null(*nodes: ast.Expr) -> bool:
    """Return whether one of some operands is no NULL in any row."""
    from sdb.query.analyze.static_types import static_type  # which folds

    return any(not static_type(node) & NULL for node in nodes)


def _between(node: ast.Between) -> ast.Expr:
    """Return the two comparisons, of which the other one may still be FALSE."""
    low = ast.Binary(">=", node.operand, node.low, span=node.span)
    high = ast.Binary("<=", node.operand, node.high, span=node.span)
    return ast.Binary("AND", null_folded(low) or low, null_folded(high) or high, span=node.span)


def _in(node: ast.In, operand: ast.Expr, items: tuple[ast.Expr, ...]) -> ast.Expr | None:
    others = tuple([item for item in items if not _is_null(item)])
    never = _never_null(*items) if _is_null(operand) else not others and _never_null(operand)
    return ast.Literal(None, span=node.span) if never else None


def _null_call(node: ast.Call, args: tuple[ast.Expr, ...]) -> ast.Expr | None:
    signature = FUNCTIONS.get(node.name)
    if signature is None:
        return None
    if node.name in _EXTREMES:
        others = tuple([arg for arg in args if not _is_null(arg)])
        return replace(node, args=others) if others else ast.Literal(None, span=node.span)
    last = len(signature.args) - 1
    wanted = [signature.args[min(at, last)] for at in range(len(args))]
    needs = any(_is_null(arg) and not kind & NULL for arg, kind in zip(args, wanted, strict=True))
    return ast.Literal(None, span=node.span) if needs else None


def _case(node: ast.Case, operand: ast.Expr) -> ast.Expr | None:
    """Return CASE without what equals no value."""
    if not _never_null(operand):
        return None
    limbs = tuple([limb for limb in node.limbs if not _is_null(limb[0])])
    if limbs:
        return replace(node, limbs=limbs)
    # With a value of its type a function that takes such values is no error.
    never = (ast.Literal(value=False, span=node.span), node.limbs[0][1])
    return node.otherwise or ast.Case(None, (never,), None, span=node.span)
