"""Works out the constants that a condition compares with, before anything is read."""

from __future__ import annotations

from datetime import datetime

from sdb.errors import SdbError
from sdb.instants import to_us
from sdb.query.syntax import ast
from sdb.query.syntax.visitor import nodes, rewrite

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from sdb.query.exec.catalog import Catalog

_VARIABLE = (ast.Name, ast.Param, ast.Aggregate, ast.Subquery, ast.Exists)
_COMPARISONS = frozenset({"=", "<>", "<", "<=", ">", ">="})


def folded(condition: ast.Expr, tables: Catalog, now_us: int) -> ast.Expr:
    """Put values in the place of computed constants, as in ``DATE_ADD(DAY, -30, UTCNOW())``.

    The engine works them out, so that they are what they are for the rows that are read.

    Parameters
    ----------
    condition : Expr
        A condition.
    tables : Catalog
        Opens tables, of which there are none in constants.
    now_us : int
        The instant of UTCNOW(), in microseconds since 1970.

    Returns
    -------
    Expr
        The condition, which is left as it is where a constant has no value.
    """
    computed = list(dict.fromkeys(_computed(condition)))
    if not computed:
        return condition
    from sdb.query.exec import engine
    from sdb.query.result.replay import Replay, given, rows

    items = tuple(map(ast.Item, computed))
    names = tuple(f"c{at}" for at in range(len(items)))
    statement = ast.Statement(ast.Select(items, names=names))
    try:
        result = engine.run(statement, datasets=tables, threads=1, now_us=now_us)
        known = result.values
        lanes = Replay(result.reader if known is None else given(known, result.columns))
        (row,) = rows(lanes, result.columns)
        result.reader = None
        result.close()
    except SdbError:
        return condition
    values: dict[ast.Node, ast.Literal] = {}
    for at, expr in enumerate(computed):
        value = row.get(f"c{at}")
        if isinstance(value, datetime):
            value = ast.Instant(to_us(value))
        if isinstance(value, ast.Instant | bool | int | float | str):
            values[expr] = ast.Literal(value, span=expr.span)
    return rewrite(condition, lambda node: values.get(node, node))


def _computed(condition: ast.Node) -> Iterator[ast.Expr]:
    for node in nodes(condition):
        match node:
            case ast.Binary(op, left, right) if op in _COMPARISONS:
                sides: tuple[ast.Expr, ...] = (left, right)
            case ast.Between(_, low, high):
                sides = (low, high)
            case ast.In(_, tuple() as items):
                sides = items
            case _:
                continue
        yield from filter(_is_computed, sides)


def _is_computed(expr: ast.Expr) -> bool:
    """Tell whether this is a constant, but no plain one."""
    match expr:
        case ast.Literal() | ast.Missing() | ast.Unary("-", ast.Literal()):
            return False
        case _:
            return not any(isinstance(node, _VARIABLE) for node in nodes(expr))
