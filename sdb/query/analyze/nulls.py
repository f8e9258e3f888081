"""Operators and functions of a literal NULL: NULL, where they need a value."""

from __future__ import annotations

from sdb.query.analyze.signatures import CASTS, FUNCTIONS
from sdb.query.analyze.types import NULL
from sdb.query.syntax import ast
from sdb.query.syntax.operators import NULL_SAFE
from sdb.records import replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

_NO_NULLS = frozenset({"AND", "OR", *NULL_SAFE})
"""Operators to which NULL is a value as any."""
_EXTREMES = frozenset({"LEAST", "GREATEST"})


def folded(node: ast.Node) -> ast.Expr | None:  # noqa: PLR0911 - a table
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
            return _call(node, args)
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
    return ast.Binary("AND", folded(low) or low, folded(high) or high, span=node.span)


def _in(node: ast.In, operand: ast.Expr, items: tuple[ast.Expr, ...]) -> ast.Expr | None:
    others = tuple([item for item in items if not _is_null(item)])
    never = _never_null(*items) if _is_null(operand) else not others and _never_null(operand)
    return ast.Literal(None, span=node.span) if never else None


def _call(node: ast.Call, args: tuple[ast.Expr, ...]) -> ast.Expr | None:
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
