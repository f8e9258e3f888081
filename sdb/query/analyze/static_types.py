"""Static types: what can be said of an expression before any row is seen.

An expression that could never give a value is refused; docs/sql.md has the rules.
"""

from __future__ import annotations

from sdb.query.analyze import regexes
from sdb.query.analyze.calltypes import call_type, signature_of
from sdb.query.analyze.refusals import ill_typed, refuse
from sdb.query.analyze.signatures import AGGREGATES, CASTS, TITLES
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
    loose,
)
from sdb.query.syntax import ast, printer
from sdb.query.syntax.literals import INT64_MAX, INT64_MIN

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

_BITS = frozenset({"|", "^", "&", "<<", ">>", ">>>"})
_ARITHMETIC = frozenset({"+", "-", "*", "/", "%"})


def static_type(node: ast.Expr) -> int:
    """Give the types that an expression may have.

    Names are taken for fields, which may hold anything; the binder knows better where they stand
    for other expressions.

    Parameters
    ----------
    node : ast.Expr
        The expression.

    Returns
    -------
    int
        Mask of all types that are possible, with MISSING among them where there may be no value;
        see :mod:`sdb.query.analyze.types`.

    Raises
    ------
    QueryError
        The expression, or one in it, could never give a value, calls a function that does not
        exist, or calls one with the wrong number of arguments.

    Examples
    --------
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
    how = "as in created_at > NOW() - INTERVAL '7 days'"
    refuse("an INTERVAL is added to a time, or taken from it", node, how)


def _dot(node: ast.Dot) -> int:
    if not isinstance(node.base, ast.MakeStruct):
        if not static_type(node.base) & STRUCT:
            ill_typed(node.base, "cannot use '.' operator on non-struct type")
        return ANY
    kinds = [(key, static_type(value)) for key, value in node.base.members]
    found = next((kind for key, kind in kinds if key == node.name), None)
    if found is None:
        ill_typed(node.base, f'struct does not have field "{node.name}"')
    return found


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
    """Give the kinds of what an operator or a function works on: of a query, one column."""
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
    if not kind & NUMERIC:
        ill_typed(node, "argument is not numeric")
    if node.op == "~":
        return INTEGER | _gaps(kind)
    return (kind & NUMERIC) | _gaps(kind)


def _gaps(*kinds: int, wanted: int = NUMERIC) -> int:
    """Give MISSING, unless operands can only be what is wanted."""
    return MISSING if any(kind & ~wanted for kind in kinds) else 0


def _binary(node: ast.Binary) -> int:
    left, right = _operand(node.left), _operand(node.right)
    if node.op in {"AND", "OR"}:
        for kind, side in (left, "left"), (right, "right"):
            if not kind & LOGICAL:
                ill_typed(node, f"{side}-hand-side not a logical expression")
        return BOOL | _gaps(left, right, wanted=~MISSING)
    if node.op in _ARITHMETIC:
        return _arithmetic(node, left, right)
    if node.op in _BITS:
        if not (left & NUMERIC and right & NUMERIC):
            ill_typed(node, "arguments are not numeric")
        return INTEGER | _gaps(left, right)
    if node.op == "||":
        if not left & STRING or not right & STRING:
            ill_typed(node, TITLES[STRING])
        return STRING | _gaps(left, right, wanted=STRING)
    return _comparison(node, node.op, left, right)


def _arithmetic(node: ast.Binary, left: int, right: int) -> int:
    if not (left & NUMERIC and right & NUMERIC):
        hint = None
        if node.op == "-" and left & TIME and right & TIME:
            first, last = printer.text(node.right), printer.text(node.left)
            hint = f"DATE_DIFF(SECOND, {first}, {last}) is the time between two times"
        ill_typed(node, "arguments are not numeric", hint)
    if node.op in {"/", "%"} and _is_zero(node.right):
        ill_typed(node, "division by zero" if node.op == "/" else "modulo by zero")
    whole = are_integers(left) and are_integers(right)
    gaps = _gaps(left, right)
    if whole and node.op in {"/", "%"} and not isinstance(node.right, ast.Literal):
        gaps = MISSING
    if whole and node.op == "/" and isinstance(node.left, ast.Literal):
        whole = not isinstance(node.right, ast.Literal)
    return (INTEGER if whole else NUMBER) | gaps


def _is_zero(node: ast.Expr) -> bool:
    return isinstance(node, ast.Literal) and node.value == 0 and node.value is not False


def _comparison(node: ast.Expr, op: str, left: int, right: int) -> int:
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
    if not any(loose(operand) & loose(kind) & ~MISSING for kind in kinds):
        ill_typed(node, "lhs and rhs of comparison are never comparable")
    return BOOL | _gaps(operand, wanted=~MISSING)


def _is(node: ast.Is) -> int:
    static_type(node.operand)
    return BOOL


def _match(node: ast.Match) -> int:
    kind = _operand(node.operand)
    if not kind & STRING:
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
    if not kind & takes and node.type not in {"NULL", "MISSING"}:
        ill_typed(node, "unsupported cast will never succeed")
    sure = node.type == "NULL" or not kind & ~takes
    return gives if sure else gives | MISSING


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
    for arg in (*node.args, *groups, *[key.expr for key in sorts]):
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
    ast.MakeList: _list,
    ast.MakeStruct: _struct,
    ast.Aggregate: _aggregate,
    ast.Subquery: _anything,
    ast.Exists: _boolean,
}
