"""Functions that mean something else here than in other databases: what habit may not expect."""

from __future__ import annotations

from sdb.query.syntax import ast, printer, visitor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

_OF_POPULATION = {"STDDEV": "STDDEV_SAMP", "VARIANCE": "VARIANCE_SAMP"}
_LENGTHS = frozenset({"CHAR_LENGTH", "CHARACTER_LENGTH"})
_MOST = 8
"""So many lines are enough."""


def unexpected(statement: ast.Statement) -> list[str]:
    """Return notes on functions whose meaning is that of the original, and not the usual one."""
    lines = [line for node in visitor.nodes(statement) for line in _of(node)]
    lines += _lists(statement.select)
    return list(dict.fromkeys(lines))[:_MOST]


def _lists(select: ast.Select) -> Iterator[str]:
    """Yield notes on columns that are lists, since their sub-query may have several rows."""
    for name, item in zip(select.names, select.items, strict=False):
        query = item.expr.select if isinstance(item.expr, ast.Subquery) else None
        if query is None or len(query.items) != 1 or query.limit in {0, 1}:
            continue
        if query.sources and (query.group_by is not None or not _is_total(query.items[0].expr)):
            yield f"note: {name} is a list: its sub-query may have several rows; LIMIT 1 takes one"


def _is_total(expr: ast.Expr) -> bool:
    """Return whether an expression of a query without groups makes one row of all."""
    return any(call.over is None for call in visitor.aggregates(expr))


def _of(node: ast.Node) -> Iterator[str]:
    match node:
        case ast.Aggregate(name="STDDEV" | "VARIANCE" as name):
            usual = printer.text(ast.Aggregate(_OF_POPULATION[name], node.args))
            yield f"note: {_plain(node)} is that of all rows; elsewhere it is {usual}"
        case ast.Aggregate(name="AVG", args=(ast.Call(name=name) as length,)) if name in _LENGTHS:
            whole = printer.text(ast.Aggregate("AVG", (ast.Call("LENGTH", length.args),)))
            yield f"note: {_plain(node)} is cut to an integer; {whole} is not"
        case ast.Call(name="SUBSTRING", args=(text, start, *_)) if count := _negative(start):
            end = printer.text(ast.Call("RIGHT", (text, ast.Literal(count))))
            yield f"note: {printer.text(node)} begins at the first character; {end} is the end"


def _plain(node: ast.Aggregate) -> str:
    """Return the text of an aggregate without its window and condition."""
    return printer.text(ast.Aggregate(node.name, node.args, distinct=node.distinct))


def _negative(start: ast.Expr) -> int:
    """Return how far before the beginning a text starts; 0 where it does not."""
    match start:
        case ast.Literal(value=int() as value) if value < 0:
            return -value
        case ast.Unary("-", ast.Literal(value=int() as value)):
            return value
    return 0
