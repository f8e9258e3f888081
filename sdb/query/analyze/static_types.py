"""Static types: what can be said of an expression before any row is seen.

An expression that could never give a value is refused; docs/sql.md has the rules.
"""

from __future__ import annotations

import re

from sdb.query.analyze import regexes
from sdb.query.analyze.refusals import ill_typed, refuse
from sdb.query.analyze.signatures import AGGREGATES, CASTS, TEXTS, TITLES, call_type, signature_of
from sdb.query.analyze.types import (
    ANY,
    BOOL,
    INTEGER,
    LIST,
    LOGICAL,
    MISSING,
    NULL,
    NUMBER,
    NUMERIC,
    ORDERED,
    STRING,
    STRUCT,
    TIME,
    are_integers,
    is_null,
    loose,
)
from sdb.query.syntax import ast, printer
from sdb.query.syntax.literals import BOOLEANS, INT64_MAX, INT64_MIN, NUMBER_TEXT, moment
from sdb.query.syntax.operators import NULL_SAFE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

_BITS = frozenset({"|", "^", "&", "<<", ">>", ">>>"})
_EMPTY = NULL | MISSING
_ARITHMETIC = frozenset({"+", "-", "*", "/", "%"})
TIMES_MOVE = "times move by intervals: t + INTERVAL '90 seconds', or DATE_ADD(SECOND, n, t)"
"""How a time is moved."""


def static_type(node: ast.Expr) -> int:
    """Return the types that an expression may have.

    Names are taken for fields, which may hold anything; the binder knows better where they stand
    for other expressions.

    Returns: Mask of all types that are possible, with MISSING among them where there may be no
    value; see :mod:`sdb.query.analyze.types`.
    Raises `QueryError` if the expression, or one in it, could never give a value, calls a function
    that does not exist, or calls one with the wrong number of arguments.

    >>> from sdb.query.syntax.parser import parse
    >>> static_type(parse("SELECT CHAR_LENGTH(name) / 2").select.items[0].expr) == INTEGER | MISSING
    True
    """
    return _RULES[type(node)](node)


def _literal(node: ast.Literal) -> int:  # noqa: PLR0911 - a table
    match node.value:
        case None:
            return NULL
        case bool():
            return BOOL
        case int() as value if INT64_MIN <= value <= INT64_MAX:
            return INTEGER
        case int() | float():
            return NUMBER
        case ast.TimeText():
            return STRING | TIME
        case str():
            return STRING
    return TIME


def _anything(node: ast.Expr) -> int:  # noqa: ARG001 - one of the rules
    return ANY


def _interval(node: ast.Interval) -> int:
    """Return the type of a span of time that stands alone: it is its seconds."""
    if node.months:
        how = "as in created_at > NOW() - INTERVAL '7 days'"
        refuse("months and years have no fixed length: add them to a time", node, how)
    return NUMBER


def _star(node: ast.Star) -> int:
    refuse("* takes the fields of tables, which are not known here", node)


def _dot(node: ast.Dot) -> int:
    if not isinstance(node.base, ast.MakeStruct):
        if not static_type(node.base) & STRUCT:
            ill_typed(node.base, "cannot use '.' operator on non-struct type")
        return ANY
    kinds = [(key, static_type(value)) for key, value in node.base.members]
    member = next((kind for key, kind in kinds if key == node.name), None)
    if member is None:
        ill_typed(node.base, f'struct does not have field "{node.name}"')
    return member


def _index(node: ast.Index) -> int:
    if node.index < 0:
        ill_typed(node, "cannot perform negative index operation")
    if not isinstance(node.base, ast.MakeList):
        if not static_type(node.base) & LIST:
            ill_typed(node.base, "cannot index into non-list type")
        return ANY
    kinds = [static_type(item) for item in node.base.items]
    if node.index >= len(kinds):
        ill_typed(node, f"cannot index a list of length {len(kinds)} at offset {node.index}")
    return kinds[node.index]


def _operand(node: ast.Expr) -> int:
    """Return the kinds of what an operator or a function works on: of a query, one column."""
    if isinstance(node, ast.Subquery) and len(node.select.items) > 1:
        refuse(
            f"planning query: sub-query should have 1 column; have {len(node.select.items)}", node
        )
    return static_type(node)


def _unary(node: ast.Unary) -> int:
    kind = _operand(node.operand)
    if node.op == "NOT":
        if not kind & LOGICAL:
            ill_typed(node, "can't compute NOT of non-logical expression")
        return BOOL | MISSING
    if is_null(kind):
        return _EMPTY
    if not kind & NUMERIC:
        ill_typed(node, "argument is not numeric")
    if node.op == "~":
        return INTEGER | _gaps(kind)
    return (kind & NUMERIC) | _gaps(kind)


def _gaps(*kinds: int, wanted: int = NUMERIC) -> int:
    """Return MISSING, unless operands can only be what is wanted."""
    return MISSING if any(kind & ~wanted for kind in kinds) else 0


def _binary(node: ast.Binary) -> int:
    kinds = _operand(node.left), _operand(node.right)
    return BOOL if node.op in NULL_SAFE else _infix(node, *kinds)


def _infix(node: ast.Binary, left: int, right: int) -> int:
    if node.op in {"AND", "OR"}:
        for kind, side in (left, "left"), (right, "right"):
            if not kind & LOGICAL:
                ill_typed(node, f"{side}-hand-side not a logical expression")
        return BOOL | _gaps(left, right, wanted=~MISSING)
    if node.op not in {"=", "<>"} and (is_null(left) or is_null(right)):
        return _EMPTY
    if node.op in _ARITHMETIC:
        return _arithmetic(node, left, right)
    if node.op in _BITS:
        if not (left & NUMERIC and right & NUMERIC):
            ill_typed(node, "arguments are not numeric")
        return INTEGER | _gaps(left, right)
    if node.op == "||":
        return _joined(node, left, right)
    return _comparison(node, node.op, left, right)


def _joined(node: ast.Binary, left: int, right: int) -> int:
    """Return the type of ``||``: of lists a list, else a text of any values."""
    are_lists = [bool(kind & LIST) and not kind & ~(LIST | _EMPTY) for kind in (left, right)]
    if all(are_lists):
        return LIST | _gaps(left, right, wanted=LIST)
    if any(are_lists) and not (right if are_lists[0] else left) & LIST:
        ill_typed(node, "a list is joined with another list", "[x] is a list of one value")
    return STRING | (left & right & LIST) | _gaps(left, right, wanted=STRING)


def refuse_joined(node: ast.Binary) -> None:
    """Refuse ``||`` of what can be no text, as the original does."""
    sides = [static_type(side) for side in (node.left, node.right)]
    if not (all(side & STRING for side in sides) or any(map(is_null, sides))):
        ill_typed(node, TITLES[STRING], "CONCAT(a, b) takes values of any type")


def _arithmetic(node: ast.Binary, left: int, right: int) -> int:
    if node.op == "-" and isinstance(node.left, ast.Interval) and right & TIME:
        how = "as in created_at - INTERVAL '1 day'"
        refuse("an INTERVAL is added to a time, or taken from it", node, how)
    is_span = node.op == "-" and bool(left & TIME and right & TIME)
    if not (is_span or (left & NUMERIC and right & NUMERIC)):
        ill_typed(node, "arguments are not numeric", _unlike(node, left, right))
    if is_span:
        return NUMBER | _gaps(left & ~NUMERIC, right & ~NUMERIC, wanted=TIME)
    if node.op in {"/", "%"} and _is_zero(node.right):
        ill_typed(node, "division by zero" if node.op == "/" else "modulo by zero")
    whole = are_integers(left) and are_integers(right)
    gaps = _gaps(left, right)
    if whole and node.op in {"/", "%"} and not isinstance(node.right, ast.Literal):
        gaps = MISSING
    if whole and node.op == "/" and isinstance(node.left, ast.Literal):
        whole = not isinstance(node.right, ast.Literal)
    return (INTEGER if whole else NUMBER) | gaps


def _unlike(node: ast.Binary, left: int, right: int) -> str | None:
    """Return how a number is added to a time, or a number read from a text."""
    if node.op in {"+", "-"} and TIME in {left, right}:
        return TIMES_MOVE
    text = next((side for side in (node.left, node.right) if static_type(side) & STRING), None)
    return None if text is None else f"NUMBER({printer.text(text)}) is the number that a text says"


def _is_zero(node: ast.Expr) -> bool:
    return isinstance(node, ast.Literal) and node.value == 0 and node.value is not False


def _comparison(node: ast.Expr, op: str, left: int, right: int) -> int:
    if is_null(left) or is_null(right):
        return BOOL | _EMPTY
    common = loose(left) & loose(right) & (~MISSING if op in {"=", "<>"} else ORDERED)
    if not common:
        ill_typed(node, "lhs and rhs of comparison are never comparable")
    if op in {"=", "<>"}:
        return BOOL | _gaps(left, right, wanted=~MISSING)
    return BOOL | _gaps(loose(left), loose(right), wanted=common)


def _between(node: ast.Between) -> int:
    operand = _operand(node.operand)
    low = _comparison(node, ">=", operand, _operand(node.low))
    return low | _comparison(node, "<=", operand, _operand(node.high))


def _in(node: ast.In) -> int:
    operand = _operand(node.operand)
    if isinstance(node.items, ast.Subquery):
        return BOOL | MISSING
    kinds = {static_type(item) for item in node.items}
    if not any(is_null(kind) for kind in (operand, *kinds)) and not any(
        loose(operand) & loose(kind) & ~MISSING for kind in kinds
    ):
        ill_typed(node, "lhs and rhs of comparison are never comparable")
    return BOOL | _gaps(operand, wanted=~MISSING)


def _row(node: ast.Row) -> int:
    for value in node.values:
        _operand(value)
    return ANY


def _quantified(node: ast.Quantified) -> int:
    _operand(node.operand)
    return BOOL | MISSING


def _is(node: ast.Is) -> int:
    static_type(node.operand)
    return BOOL


def _match(node: ast.Match) -> int:
    kind = _operand(node.operand)
    if not kind & STRING and not is_null(kind):
        ill_typed(node, TITLES[STRING])
    if node.escape is not None:
        _check_escape(node, node.escape)
    if not node.op.endswith("LIKE"):
        is_similar = node.op == "SIMILAR TO"
        if fault := regexes.fault(node.pattern, is_similar=is_similar):
            refuse(f"error parsing regexp: {fault}", node)
    return BOOL | _gaps(kind, wanted=STRING)


def _check_escape(node: ast.Match, escape: str) -> None:
    if len(escape) != 1:
        refuse(f"{printer.quoted(node)} ESCAPE must be a single unicode point", node)
    if escape in "%_":
        refuse(
            f"{printer.quoted(node)} invalid ESCAPE '{escape}'; LIKE meta-values '%' and '_'"
            " are not accepted as ESCAPE",
            node,
        )


def _call(node: ast.Call) -> int:
    signature = signature_of(node)
    return call_type(node, signature, [_operand(arg) for arg in node.args])


def _cast(node: ast.Cast) -> int:
    kind = static_type(node.operand)
    takes, gives = CASTS[node.type]
    if node.reads_texts:
        takes |= TEXTS.get(node.type, 0)
    elif not kind & takes and kind & STRING and node.type in TEXTS:
        _check_constant(node)
        takes |= STRING
    if is_null(kind):
        return gives | _EMPTY
    if not kind & takes and node.type not in {"NULL", "MISSING"}:
        ill_typed(node, "unsupported cast will never succeed")
    sure = node.type == "NULL" or not kind & ~takes
    return gives if sure else gives | MISSING


def _check_constant(node: ast.Cast) -> None:
    """Refuse a constant text that says no value of the type."""
    match node.operand:
        case ast.Literal(value=str() as text):
            if node.type == "TIMESTAMP":
                what, is_good = "time", moment(text) is not None
            elif node.type == "BOOLEAN":
                what, is_good = "boolean", text.strip().lower() in BOOLEANS
            else:
                what, is_good = "number", re.fullmatch(NUMBER_TEXT, text) is not None
            if not is_good:
                hint = f"the text says no {what}; TRY_CAST of it has no value"
                ill_typed(node, "unsupported cast will never succeed", hint)


def _case(node: ast.Case) -> int:
    subject = None if node.operand is None else static_type(node.operand)
    out = MISSING if node.otherwise is None else static_type(node.otherwise)
    for condition, value in node.limbs:
        kind = static_type(condition)
        if subject is not None and node.operand is not None:
            test = ast.Binary("=", node.operand, condition, span=condition.span)
            _comparison(test, "=", subject, kind)
        elif not kind & LOGICAL:
            ill_typed(condition, "not a valid WHEN clause; doesn't evaluate to a boolean")
        out |= static_type(value)
    return out


def _list(node: ast.MakeList) -> int:
    for item in node.items:
        static_type(item)
    return LIST


def _struct(node: ast.MakeStruct) -> int:
    for _, value in node.members:
        static_type(value)
    return STRUCT


def _aggregate(node: ast.Aggregate) -> int:
    sorts = node.order if node.over is None else (*node.order, *node.over.order)
    groups = () if node.over is None else node.over.partition
    frame = None if node.over is None else node.over.frame
    ends = () if frame is None else (frame.start.distance, frame.end.distance)
    distances = [end for end in ends if end is not None and not isinstance(end, ast.Interval)]
    for arg in (*node.args, *groups, *[key.expr for key in sorts], *distances):
        static_type(arg)
    if node.where is not None:
        static_type(node.where)
    return AGGREGATES.get(node.name, NUMBER | NULL)


def _boolean(node: ast.Exists) -> int:  # noqa: ARG001 - one of the rules
    return BOOL


_RULES: dict[type[ast.Node], Callable[..., int]] = {
    ast.Literal: _literal,
    ast.Missing: lambda _: MISSING,
    ast.Param: _anything,
    ast.Position: _anything,
    ast.Interval: _interval,
    ast.Name: _anything,
    ast.Element: _anything,
    ast.Lambda: lambda node: static_type(node.body) | ANY,
    ast.Dot: _dot,
    ast.Index: _index,
    ast.Unary: _unary,
    ast.Binary: _binary,
    ast.Between: _between,
    ast.In: _in,
    ast.Row: _row,
    ast.Quantified: _quantified,
    ast.Is: _is,
    ast.Match: _match,
    ast.Call: _call,
    ast.Cast: _cast,
    ast.Case: _case,
    ast.MakeList: _list,
    ast.MakeStruct: _struct,
    ast.Aggregate: _aggregate,
    ast.Star: _star,
    ast.Subquery: _anything,
    ast.Exists: _boolean,
}
