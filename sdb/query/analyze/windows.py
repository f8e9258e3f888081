"""Checks of window functions: their arguments, orders and frames, and QUALIFY."""

from __future__ import annotations

import math

from sdb.query.analyze.refusals import refuse
from sdb.query.syntax import ast, printer, visitor
from sdb.query.syntax.clauses.windows import FUNCTIONS, RANKS, VALUES

_COUNTED = frozenset({"LAG", "LEAD"})
_PLAIN = RANKS - {"NTILE"}


def check_qualify(select: ast.Select) -> None:
    """Refuse QUALIFY in a select without window functions.

    Raises
    ------
    QueryError
        It has no window function.
    """
    condition = select.qualify
    if condition is None:
        return
    exprs = [condition, *[item.expr for item in select.items]]
    if not any(call.over is not None for expr in exprs for call in visitor.aggregates(expr)):
        hint = "WHERE keeps rows, HAVING groups; QUALIFY keeps rows by what OVER (...) gives"
        refuse("QUALIFY needs a window function", condition, hint)


def check(node: ast.Aggregate) -> None:
    """Refuse a window function that makes no sense.

    Raises
    ------
    QueryError
        It has no window or no order, or arguments, a FILTER or a frame that it cannot have.
    """
    if node.name in FUNCTIONS:
        _check_function(node)
    if node.over is None:
        return
    for call in visitor.aggregates(node.over):
        if call.over is not None:
            hint = "compute it in a sub-query"
            refuse("a window cannot be made of another window function", call, hint)
    if node.over.frame is not None:
        _check_frame(node.over, node.over.frame)


def _check_function(node: ast.Aggregate) -> None:
    title = printer.quoted(node)
    if node.name in _PLAIN and node.args:
        refuse(f"{title} aggregate does not accept an argument", node)
    if node.where is not None:
        refuse(f"{title} window function does not accept FILTER", node)
    if node.over is None:
        refuse(f"{title} aggregate needs an OVER clause", node)
    # ROW_NUMBER numbers rows as they come, where no order is asked for.
    if not node.over.order and node.name != "ROW_NUMBER":
        hint = "rows have no order of their own: as in OVER (ORDER BY x)"
        refuse(f"{title} window function is meaningless without ORDER BY", node, hint)
    if node.name == "NTILE":
        _check_count(node, node.args[0], 1)
    if node.name in VALUES and len(node.args) > 1:
        _check_count(node, node.args[1], None if node.name in _COUNTED else 1)


def _check_count(node: ast.Aggregate, count: ast.Expr, least: int | None) -> None:
    value = count.value if isinstance(count, ast.Literal) else None
    if type(value) is not int or (least is not None and value < least):
        wanted = "a whole number" if least is None else f"a whole number of at least {least}"
        refuse(f"{printer.quoted(node)} takes {wanted}, a constant", count)


def _check_frame(over: ast.Over, frame: ast.WindowFrame) -> None:
    distances = [end.distance for end in (frame.start, frame.end) if end.distance is not None]
    is_whole = not distances and "CURRENT ROW" not in {frame.start.side, frame.end.side}
    if not over.order and not is_whole and frame.unit != "RANGE":
        hint = "without an order rows have no neighbours"
        refuse(f"a frame of {frame.unit} needs ORDER BY in its window", frame, hint)
    for distance in distances:
        if frame.unit == "RANGE":
            _check_range(over, distance)
        elif not _is_number(distance, whole=True):
            refuse(f"{frame.unit} takes a whole number, not negative, a constant", distance)


def _check_range(over: ast.Over, distance: ast.Expr) -> None:
    if len(over.order) != 1:
        hint = "ROWS and GROUPS take any order"
        refuse("RANGE with a distance needs one key in ORDER BY", distance, hint)
    if isinstance(distance, ast.Interval):
        if min(distance.months, distance.us) < 0:
            refuse("RANGE takes an interval that is not negative", distance)
    elif not _is_number(distance, whole=False):
        hint = "as in RANGE BETWEEN INTERVAL '1 hour' PRECEDING AND CURRENT ROW"
        refuse("RANGE takes a number or an INTERVAL, not negative, a constant", distance, hint)


def _is_number(node: ast.Expr, *, whole: bool) -> bool:
    if not isinstance(node, ast.Literal) or isinstance(node.value, bool):
        return False
    types = int if whole else (int, float)
    return isinstance(node.value, types) and node.value >= 0 and math.isfinite(node.value)
