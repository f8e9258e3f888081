"""Values that an expression has no result for, by trailers."""

from __future__ import annotations

from functools import reduce
from operator import or_

from sdb.query.analyze.signatures import FUNCTIONS
from sdb.query.analyze.static_types import static_type
from sdb.query.analyze.types import ANY, BOOL, LIST, NULL, NUMBER, STRING, TIME, loose, values_of
from sdb.query.catalog.tablescan import PackfileScan, types_in
from sdb.query.plan.hints.storedpaths import path_of, stored_path, table_packs
from sdb.query.plan.hints.type_mismatch import told
from sdb.query.syntax import ast, printer, visitor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import TypeGuard

    from sdb.packfile.read.reader import Packfile
    from sdb.query.plan.hints.storedpaths import Packs

    Whole = Callable[[Sequence[Packfile]], Sequence[Packfile]]

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
    **dict.fromkeys(["MIN", "MAX"], NUMBER | TIME | STRING | BOOL),
    **dict.fromkeys(["EARLIEST", "LATEST"], TIME),
    **dict.fromkeys(["BOOL_AND", "BOOL_OR"], BOOL),
}
_OPERATORS = {**dict.fromkeys("+-*/%|&^", NUMBER), "||": STRING}
_COMPARISONS = frozenset({"=", "<", "<=", ">", ">="})
_OF_ANY_TYPE = frozenset({"COALESCE", "NULLIF", "LEAST", "GREATEST"})
_HOW = "pack it with --time-field PATH:FORM (docs/times.md)"
_MOST = 8
"""How many lines are enough."""


def losses(
    statement: ast.Statement, packs: Packs, whole: Whole = lambda opened: opened
) -> list[str]:
    """Warn about casts that values of their fields do not survive, and of operands of no use.

    * ``packs``: Gives the packfiles of a table, which are open.
    * ``whole``: Gives packfiles with the types of their fields, which an index may not have.

    Returns: A line for each cast and type, and for each expression that no row has a value for.
    """
    lines: dict[str, None] = {}
    withs = {name for name, _ in statement.with_}
    for select in (node for node in visitor.nodes(statement) if isinstance(node, ast.Select)):
        opened = table_packs(select, packs, withs)
        if opened and _is_of_interest(select):
            losses_of = _Losses(select, whole(opened), opened)
            lines |= dict.fromkeys(losses_of.lines())
            if not select.original:
                lines |= dict.fromkeys(losses_of.conditions())
    return list(lines)[:_MOST]


def _is_of_interest(select: ast.Select) -> bool:
    """Check whether types matter to any expression of a select."""
    nodes = list(visitor.nodes(select, into_selects=False))
    if any(
        isinstance(node, ast.Cast) or _compared(node)[1] or any(_operands(node)) for node in nodes
    ):
        return True
    if any(map(_is_logic, nodes)):
        return True
    return any(any(True for _ in _leaves(test)) for _, test in visitor.conditions(select))


def _compared(node: ast.Node) -> tuple[ast.Expr | None, tuple[ast.Expr, ...]]:
    """Return what a comparison compares, and with what; nothing for other expressions."""
    match node:
        case ast.Binary(op, left, right) if op in _COMPARISONS:
            return left, (right,)
        case ast.Between(operand, low, high):
            return operand, (low, high)
        case ast.In(operand, tuple() as items):
            return operand, items
    return None, ()


class _Losses:
    """Finds what one select over packfiles loses."""

    def __init__(
        self, select: ast.Select, opened: Sequence[Packfile], named: Sequence[Packfile]
    ) -> None:
        self._select = select
        self._named = named
        self._scans = [PackfileScan(pack, ()) for pack in opened]
        self._tested = set(visitor.nodes(select.where) if select.where is not None else ())

    def types(self, operand: ast.Expr) -> int:
        """Return the types of a value that is not MISSING or NULL; 0 when they are not known."""
        if isinstance(operand, ast.Aggregate) and operand.name in {"MIN", "MAX"} and operand.args:
            held = self.types(operand.args[0])
            # One type is never compared with another: that of the first of these.
            return held & NUMBER or held & TIME or held & STRING or held & BOOL
        if isinstance(operand, ast.Aggregate) and operand.name in {"EARLIEST", "LATEST"}:
            return TIME
        return values_of(self.of_path(operand))

    def of_path(self, operand: ast.Expr) -> int:
        """Return the types of a path in all rows; 0 when they are not known."""
        path = path_of(operand, self._select)
        path = None if path is None else stored_path(self._named, path)
        types = None if path is None else types_in(self._scans, path)
        return 0 if types is None else types

    def lines(self) -> Iterator[str]:
        """Yield a line for each loss."""
        absent = "MISSING" if self._select.original else "NULL"
        for node in visitor.nodes(self._select, into_selects=False):
            if isinstance(node, ast.Cast) and not node.reads_texts:
                yield from _of_cast(node, self.of_path(node.operand), absent)
            yield from self._of_comparison(node)
            for operand, wanted in _operands(node):
                held = self.types(operand)
                is_sum = isinstance(node, ast.Aggregate) and node.name in {"SUM", "AVG"}
                flags = BOOL if is_sum and not self._select.original else 0
                if held and not held & (loose(wanted) | flags) and not self._is_span(node):
                    yield _useless(
                        node, told(printer.text(operand), held, loose(wanted) & ~NULL), absent
                    )

    def _of_comparison(self, node: ast.Node) -> Iterator[str]:
        """Yield a line for a comparison of types that have no value in common.

        Conditions have separate lines about constants.
        """
        first, others = _compared(node)
        if first is None or not others:
            return
        is_constant = not any(self.of_path(other) for other in others)
        if node in self._tested and (is_constant or not self.of_path(first)):
            return
        text = printer.text(node)  # type: ignore[arg-type]  # what is compared is an expression
        turned = [(others[0], (first,))] if len(others) == 1 else []
        for side, against in [(first, others), *turned]:
            name, kinds = printer.text(side), [self._of_any(other) for other in against]
            held, wanted = self.types(side), reduce(or_, kinds)
            if wanted == TIME and held & (STRING | TIME) == STRING | TIME:
                how = f"{name}::TIMESTAMP reads those that say a time"
                yield f"warning: {text} is NULL where {name} is a text: {how}"
            is_sure = held and all(kinds) and not held & wanted
            if is_sure and (TIME in {held, wanted} or not self._select.original):
                how = f"; {_HOW}" if wanted == TIME else ""
                yield f"warning: {text} is TRUE in no row: {told(name, held, wanted)}{how}"
                return

    def _of_any(self, operand: ast.Expr) -> int:
        """Return the types that a field or another expression has; 0: they are not known."""
        known = self.types(operand) or values_of(static_type(operand))
        return 0 if known == values_of(ANY) else known

    def conditions(self) -> Iterator[str]:
        """Yield a line for each path that stands as a condition where rows have another type."""
        parts = visitor.nodes(self._select, into_selects=False)
        logic = [("", part) for part in parts if _is_logic(part) and part not in self._tested]
        for word, condition in [*visitor.conditions(self._select), *logic]:
            for path, negated in _leaves(condition):
                held = values_of(self.of_path(path))
                # Where it never is one, comparisons of different types tell of those in WHERE.
                is_told = word == "WHERE" and not negated and not held & BOOL
                if held & ~BOOL and not is_told:
                    text = printer.text(path)
                    rest = "" if held & BOOL else f": {told(text, held, BOOL)}"
                    where = " in some rows" if held & BOOL else ""
                    yield f"warning: {text} is no condition{where}, and NULL as one{rest}"

    def _is_span(self, node: ast.Node) -> bool:
        """Check whether this may be the time between two times."""
        if not isinstance(node, ast.Binary) or node.op != "-":
            return False
        sides = (node.left, node.right)
        return all((self.types(side) or static_type(side)) & TIME for side in sides)


def _is_logic(node: ast.Node) -> TypeGuard[ast.Unary | ast.Binary]:
    """Return whether an expression is made of conditions."""
    return isinstance(node, ast.Unary | ast.Binary) and node.op in {"AND", "OR", "NOT"}


def _leaves(condition: ast.Expr, *, negated: bool = False) -> Iterator[tuple[ast.Expr, bool]]:
    """Yield the paths that AND, OR and NOT join, and whether they are negated."""
    match condition:
        case ast.Binary("AND" | "OR", left, right):
            for side in (left, right):
                yield from _leaves(side, negated=negated)
        case ast.Unary("NOT", operand):
            yield from _leaves(operand, negated=True)
        case ast.Name() | ast.Dot() | ast.Index():
            yield condition, negated


def _of_cast(cast: ast.Cast, held: int, absent: str) -> Iterator[str]:
    text = printer.text(cast.operand)
    for kind in _ONE if cast.type in _CASTS else ():
        if held & kind & ~_CASTS[cast.type]:
            hint = ""
            if kind == STRING:
                hint = f" ({text}::{cast.type} reads it)"
            elif cast.type == "STRING":
                hint = f" (CAST(CAST({text} AS {_FIRST[kind]}) AS STRING) is its text)"
            what = f"{absent} where {text} is {_ONE[kind]}"
            yield f"note: CAST({text} AS {cast.type}) is {what}{hint}"


def _operands(node: ast.Node) -> Iterator[tuple[ast.Expr, int]]:
    """Yield what an expression works on, and the types that it takes."""
    match node:
        case ast.Match():
            yield node.operand, STRING
        case ast.Unary(op, operand) if op != "NOT":
            yield operand, NUMBER
        case ast.Binary("||") if not node.original:
            return  # joins values of any type
        case ast.Binary(op) if op in _OPERATORS:
            yield node.left, _OPERATORS[op]
            yield node.right, _OPERATORS[op]
        case ast.Aggregate() if node.name in _AGGREGATES and node.args:
            yield node.args[0], _AGGREGATES[node.name]
        case ast.Call("CONTAINS", (whole, part)):
            yield whole, STRING | LIST if static_type(part) & STRING else LIST
        case ast.Call() if node.name in FUNCTIONS and node.name not in _OF_ANY_TYPE:
            wanted = FUNCTIONS[node.name].args
            for number, arg in enumerate(node.args if wanted else ()):
                yield arg, wanted[min(number, len(wanted) - 1)]


def _useless(node: ast.Node, why: str, absent: str) -> str:
    text = printer.text(node)  # type: ignore[arg-type]  # what has operands is an expression
    what = "NULL" if isinstance(node, ast.Aggregate) else f"{absent} in every row"
    return f"warning: {text} is {what}: {why}"
