"""Values that an expression makes MISSING, and tests for NULL that no row passes, by trailers."""

from __future__ import annotations

from functools import reduce
from operator import or_

from sdb.query.analyze.signatures import FUNCTIONS
from sdb.query.analyze.types import BOOL, NULL, NUMBER, STRING, TIME, loose
from sdb.query.plan.leftout import counted, only_table, path_of
from sdb.query.plan.mismatches import kinds, told
from sdb.query.plan.tablescan import PackfileScan
from sdb.query.syntax import ast, printer, visitor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from sdb.query.plan.leftout import Packs

_CASTS = {
    "INTEGER": NUMBER | BOOL,
    "FLOAT": NUMBER | BOOL,
    "BOOLEAN": NUMBER | BOOL,
    "STRING": STRING | NUMBER,
    "TIMESTAMP": TIME,
}
_FIRST = {BOOL: "BOOLEAN", TIME: "TIMESTAMP"}
_ONE = {BOOL: "a boolean", NUMBER: "a number", TIME: "a time", STRING: "a string"}
_AGGREGATES = {
    **dict.fromkeys(["SUM", "AVG", "VARIANCE", "VARIANCE_POP", "STDDEV", "STDDEV_POP"], NUMBER),
    **dict.fromkeys(["APPROX_MEDIAN", "APPROX_PERCENTILE", "MEDIAN", "QUANTILE"], NUMBER),
    **dict.fromkeys(["QUANTILE_DISC", "BIT_AND", "BIT_OR", "BIT_XOR"], NUMBER),
    **dict.fromkeys(["MIN", "MAX"], NUMBER | TIME),
    **dict.fromkeys(["EARLIEST", "LATEST"], TIME),
    **dict.fromkeys(["BOOL_AND", "BOOL_OR"], BOOL),
}
_OPERATORS = {**dict.fromkeys("+-*/%|&^", NUMBER), "||": STRING}
_MOST = 8
"""So many lines are enough."""


def losses(statement: ast.Statement, packs: Packs) -> list[str]:
    """Tell of casts that values of their fields do not survive, and of operands of no use.

    Parameters
    ----------
    statement : Statement
        The query, with its names bound.
    packs : callable
        Gives the packfiles of a table, which are open.

    Returns
    -------
    list of str
        A line for each cast and type, for each expression that no row has a value for, and for each
        test for NULL of what is MISSING instead.
    """
    opened = only_table(statement, packs)
    if not opened:
        return []
    scans = [PackfileScan(pack, ()) for pack in opened]

    def types(operand: ast.Expr) -> int | None:
        """Give the types of a path in all rows; None when they are not known."""
        path = path_of(operand, statement.select)
        known = [] if path is None else [scan.types(path) for scan in scans]
        return None if None in known else reduce(or_, (one for one in known if one is not None), 0)

    lines: dict[str, None] = {}
    nodes = list(visitor.nodes(statement.select, into_selects=False))
    negated = {id(test): test.operand for test in _negated(nodes)}
    for node in nodes:
        null = negated.get(id(node)) or _tested_for_null(node)
        path = None if null is None else path_of(null, statement.select)
        if null is not None and path is not None:
            lacking = counted(opened, path)
            held = types(null) or 0
            if id(node) in negated and lacking is not None and lacking[0]:
                lines[_kept(printer.text(null), *lacking)] = None
            elif kinds(held) and not held & NULL and lacking is not None and lacking[0]:
                lines[_missing(printer.text(null), *lacking)] = None
        if isinstance(node, ast.Cast):
            lines |= dict.fromkeys(_of_cast(node, types(node.operand) or 0))
        for operand, wanted in _operands(node):
            held = kinds(types(operand) or 0)
            if held and not held & loose(wanted):
                lines[_useless(node, operand, held, wanted)] = None
    return list(lines)[:_MOST]


def _negated(nodes: Sequence[ast.Node]) -> Iterator[ast.Is]:
    """Find tests for NULL that are negated from outside, of what is not tested for MISSING too."""
    tested = {one.operand for one in nodes if isinstance(one, ast.Is) and one.what == "MISSING"}
    for node in nodes:
        match node:
            case ast.Unary("NOT", ast.Is(operand, "NULL", negated=False) as test):
                if operand not in tested:
                    yield test


def _tested_for_null(node: ast.Node) -> ast.Expr | None:
    """Give what NULL is looked for in."""
    match node:
        case ast.Is(operand, "NULL", negated=False):
            return operand
        case ast.Binary("=", operand, ast.Literal(None)):
            return operand
        case ast.Binary("=", ast.Literal(None), operand):
            return operand
    return None


def _missing(text: str, lacking: int, rows: int) -> str:
    return (
        f"warning: {text} is NULL in no row, and MISSING in {lacking:,} of {rows:,}; "
        f"did you mean {text} IS MISSING?"
    )


def _kept(text: str, lacking: int, rows: int) -> str:
    return (
        f"warning: NOT ({text} IS NULL) is TRUE where {text} is MISSING, "
        f"in {lacking:,} of {rows:,} rows; {text} IS NOT NULL leaves them out"
    )


def _of_cast(cast: ast.Cast, held: int) -> Iterator[str]:
    text = printer.text(cast.operand)
    for kind in _ONE if cast.type in _CASTS else ():
        if held & kind & ~_CASTS[cast.type]:
            hint = ""
            if cast.type == "STRING":
                hint = f" (CAST(CAST({text} AS {_FIRST[kind]}) AS STRING) is its text)"
            yield f"note: CAST({text} AS {cast.type}) is MISSING where {text} is {_ONE[kind]}{hint}"


def _operands(node: ast.Node) -> Iterator[tuple[ast.Expr, int]]:
    """Give what an expression works on, and the types that it takes."""
    match node:
        case ast.Match():
            yield node.operand, STRING
        case ast.Binary(op) if op in _OPERATORS:
            yield node.left, _OPERATORS[op]
            yield node.right, _OPERATORS[op]
        case ast.Aggregate() if node.name in _AGGREGATES and node.args:
            yield node.args[0], _AGGREGATES[node.name]
        case ast.Call() if node.name in FUNCTIONS and node.name not in {"COALESCE", "NULLIF"}:
            wanted = FUNCTIONS[node.name].args
            for number, arg in enumerate(node.args if wanted else ()):
                yield arg, wanted[min(number, len(wanted) - 1)]


def _useless(node: ast.Node, operand: ast.Expr, held: int, wanted: int) -> str:
    is_null = isinstance(node, ast.Aggregate)
    text = printer.text(node)  # type: ignore[arg-type]  # what has operands is an expression
    what = "NULL" if is_null else "MISSING in every row"
    return f"warning: {text} is {what}: {told(printer.text(operand), held, loose(wanted) & ~NULL)}"
