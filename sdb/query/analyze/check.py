"""Static checks of a whole query: what can be refused before a file is opened.

`static_type` and `fold` are those of `static_types` and `folding`, here for the callers that need
them all.
"""

from __future__ import annotations

import math
import time

from sdb import instants
from sdb.errors import QueryError
from sdb.query.analyze import binder
from sdb.query.analyze.dialects import SNELLER, is_standard
from sdb.query.analyze.folding import fold
from sdb.query.analyze.refusals import refuse
from sdb.query.analyze.signatures import FUNCTIONS
from sdb.query.analyze.static_types import refuse_joined, static_type
from sdb.query.analyze.types import BOOL, MISSING, NULL, NUMERIC, TIME
from sdb.query.syntax import ast, literals, printer, versions, visitor
from sdb.query.syntax.clauses.windows import FUNCTIONS as OVER_ROWS
from sdb.query.syntax.clauses.windows import RANKS, VALUES
from sdb.query.syntax.operators import MIRRORED
from sdb.records import replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import TypeVar

    _T = TypeVar("_T", bound=ast.Node)
    T = TypeVar("T", bound=ast.Node)

__all__ = ["check", "fold", "static_type"]


def check(statement: ast.Statement, now_us: int | None = None) -> ast.Statement:
    """Refuse a query that could never give what it asks for.

    * ``statement``: The query, without parameters (`params.bind` puts their values in).
    * ``now_us``: What UTCNOW() stands for, in microseconds since 1970; the present by default.

    Raises `QueryError` if an expression is ill-typed, a clause or an aggregate stands where it may
    not, or a name stands for nothing. The error knows the place in the text.

    >>> from sdb.query.syntax.parser import parse
    >>> check(parse("SELECT age / 0 FROM 'people.zion'"))
    Traceback (most recent call last):
        ...
    sdb.errors.QueryError: "age / 0" is ill-typed: division by zero
    """
    try:
        _statement(statement)
        for select in _selects(statement):
            _clauses(select)
        now = time.time_ns() // 1000 if now_us is None else now_us
        statement = timed(statement, now)
        _types(statement)
        if statement.dialect != SNELLER:
            _conditions(statement)
        folded = timed(fold(statement, ast.Instant(now)), now)
        _types(folded)
        for select in _selects(folded):
            _aggregates(select)
        return with_originals(binder.resolve(folded))
    except QueryError as error:
        raise error.inside(statement.text) from None
    except RecursionError:
        raise QueryError("planning query: nested too deeply", query=statement.text) from None


def _types(statement: ast.Statement) -> None:
    """Refuse expressions that could never give a value: the first, with a word about others."""
    errors: list[QueryError] = []
    for select in _selects(statement):
        keeps = is_standard(select, statement.dialect)
        for expr in _expressions(select):
            try:
                static_type(expr)
                if not keeps:
                    _texts_joined(expr)
            except QueryError as error:
                errors.append(error)
    if len(errors) > 1:
        first = errors[0]
        others = f"{first.message} and {len(errors) - 1} other errors"
        raise QueryError(others, offset=first.offset, length=first.length, hint=first.hint)
    if errors:
        raise errors[0]


def _texts_joined(expr: ast.Expr) -> None:
    """Refuse ``||`` of anything but texts."""
    for node in visitor.nodes(expr, into_selects=False):
        if isinstance(node, ast.Binary) and node.op == "||":
            refuse_joined(node)


def _conditions(statement: ast.Statement) -> None:
    """Refuse what stands as a condition and is no truth in any row."""
    for select in _selects(statement):
        for word, expr in visitor.conditions(select):
            kind = static_type(expr) & ~(NULL | MISSING)
            if kind and not kind & BOOL:
                text = printer.text(expr)
                hint = f"compare it, as in {text} <> 0" if kind & NUMERIC else None
                refuse(f"{word} takes a condition, not {text}", expr, hint)


def _statement(statement: ast.Statement) -> None:
    seen: set[str] = set()
    for name, select in statement.with_:
        if name in seen:
            refuse(f'WITH query name "{name}" specified more than once', select)
        seen.add(name)
    if statement.into is not None:
        path = printer.text(statement.into)
        refuse(f'planning query: unsupported INTO: "{path}"', statement.into)
    for node in visitor.nodes(statement):
        if isinstance(node, ast.Select) and node.excluded:
            refuse("EXCLUDE takes the fields of tables, which are not known here", node)
        if isinstance(node, ast.Source) and node.natural:
            refuse("NATURAL JOIN takes tables whose fields are known", node, "write USING (a, b)")
        if isinstance(node, ast.PivotTable):
            hint = "name them: PIVOT (... GROUP BY a, b)"
            refuse("PIVOT groups by the other fields of a table, which are not known", node, hint)
        if isinstance(node, ast.Param):
            refuse(f"planning query: no value for the parameter ${node.name}", node)


def _selects(statement: ast.Statement) -> Iterator[ast.Select]:
    """Return all selects, those inside of others after them."""
    return (node for node in visitor.nodes(statement) if isinstance(node, ast.Select))


def _clauses(select: ast.Select) -> None:
    if select.star:
        for wrong, why in (
            (not select.sources, "without FROM"),
            (select.group_by is not None, "with GROUP BY"),
        ):
            if wrong:
                refuse(f"'*' {why} is not allowed", select)
    for word, value in ("LIMIT", select.limit), ("OFFSET", select.offset):
        if value is not None and value < 0:
            refuse(f"negative {word} {value} is not supported", select)
    for source in select.sources:
        for node in visitor.nodes(source, into_selects=False):
            if isinstance(node, ast.CallTable | ast.UnpivotTable):
                _table(node)


def _table(table: ast.CallTable | ast.UnpivotTable) -> None:
    if isinstance(table, ast.UnpivotTable):
        if table.value is not None and table.value == table.key:
            refuse(
                "planning query: the AS and AT UNPIVOT labels must not be the same"
                f" '{table.value}'",
                table,
            )
        return
    if table.name in {versions.AT, versions.OF, versions.THROUGH}:
        return
    reads = table.name in {"READ_FILE", "READ_FILE_WITH"}
    name = "read_file" if reads else table.name
    is_odd = len(table.args) % 2 == 1  # a path, and pairs of a name and a value
    if not table.args or not (is_odd if reads else len(table.args) == 1):
        refuse(f"planning query: {name}() should have 1 argument", table)
    for arg in table.args:
        if reads:
            if not (isinstance(arg, ast.Literal) and isinstance(arg.value, str)):
                refuse(f"planning query: {name}() should have a string argument", table)
        elif not isinstance(arg, ast.Name | ast.Dot):
            refuse(f"planning query: {name}() should have a path argument", table)


def _expressions(select: ast.Select) -> Iterator[ast.Expr]:
    """Yield the expressions of a select, without those of selects inside of it."""
    yield from (item.expr for item in select.items)
    yield from select.distinct_on
    yield from (source.on for source in select.sources if source.on is not None)
    for source in select.sources:
        if isinstance(source.table, ast.ListTable):
            # A step may be an interval of any length.
            yield from (arg for arg in source.table.args if not isinstance(arg, ast.Interval))
    if select.where is not None:
        yield select.where
    yield from (item.expr for item in select.group_by or ())
    if select.having is not None:
        yield select.having
    if select.qualify is not None:
        yield select.qualify
    yield from (key.expr for key in select.order_by)


def _aggregates(select: ast.Select) -> None:
    """Check where aggregates stand, how they are called, and sub-queries as members of IN."""
    places: tuple[tuple[str, Iterable[ast.Expr | None]], ...] = (
        ("WHERE", [select.where]),
        ("GROUP BY", [item.expr for item in select.group_by or ()]),
        ("ON", [source.on for source in select.sources]),
    )
    for clause, exprs in places:
        for expr in exprs:
            if expr is not None and (aggregate := next(visitor.aggregates(expr), None)):
                refuse(
                    f"planning query: aggregate functions are not allowed in {clause}",
                    aggregate,
                )
    check_qualify(select)
    for expr in _expressions(select):
        for node in visitor.nodes(expr, into_selects=False):
            if isinstance(node, ast.Aggregate):
                _aggregate(node)
            elif isinstance(node, ast.In) and isinstance(node.items, ast.Subquery):
                _member_query(node.operand, node.items)
            elif isinstance(node, ast.Quantified) and isinstance(node.items, ast.Subquery):
                _member_query(node.operand, node.items, "ALL" if node.every else "ANY")


def _member_query(operand: ast.Expr, query: ast.Subquery, word: str = "IN") -> None:
    columns = len(query.select.items)
    wanted = len(operand.values) if isinstance(operand, ast.Row) else 1
    if columns not in {0, wanted}:
        noun = "column" if wanted == 1 else "columns"
        refuse(
            f"planning query: {word} sub-query should have {wanted} {noun}; have {columns}", query
        )


def _aggregate(node: ast.Aggregate) -> None:
    title = printer.quoted(node)
    check_windows(node)
    if node.name not in OVER_ROWS and not node.args and not node.star:
        refuse(f"{title} aggregate needs an argument", node)
    for part in (*node.args, *[key.expr for key in node.order], node.where):
        inner = None if part is None else next(visitor.aggregates(part), None)
        # A window function over a grouped query sees the groups.
        if inner is not None and (node.over is None or inner.over is not None):
            refuse(f"planning query: cannot handle nested aggregate {printer.text(inner)}", inner)


# The dialect `sneller` as marks on the tree: what is planned and run goes by them.

_OPERATORS = (
    ast.Unary,
    ast.Binary,
    ast.Between,
    ast.In,
    ast.Quantified,
    ast.Is,
    ast.Match,
    ast.Call,
    ast.Cast,
    ast.Case,
    ast.Aggregate,
    ast.Sort,
    ast.Select,
)


def with_originals(statement: ast.Statement) -> ast.Statement:
    """Mark the operators of those selects that are in the dialect of the original."""
    around = statement.dialect
    selects = [node for node in visitor.nodes(statement) if isinstance(node, ast.Select)]
    if all(is_standard(select, around) for select in selects):
        return statement
    return _inside(statement, around)


def _inside(root: _T, dialect: str) -> _T:
    """Mark what stands in a node; selects below it may have their own dialect."""

    def stop(node: ast.Node) -> ast.Node | None:
        is_other = isinstance(node, ast.Select) and node is not root
        return _inside(node, node.dialect or dialect) if is_other else None  # type: ignore[attr-defined]  # it is a select

    return visitor.rewrite(root, _marked if dialect == SNELLER else None, stop=stop)


def _marked(node: ast.Node) -> ast.Node:
    return replace(node, original=True) if isinstance(node, _OPERATORS) else node


# Texts that are compared with times.

_TIMES = frozenset(
    {name for name, known in FUNCTIONS.items() if TIME in known.args and known.least == known.most}
)
"""Functions of times."""


def timed(node: T, now_us: int | None = None) -> T:
    """Compare texts as times as well, where they have the form of one.

    * ``node``: An expression, or any other tree, up to a whole statement.
    * ``now_us``: The present that ``CAST('30m' AS TIMESTAMP)`` counts from; that of the system if
      not given.

    Returns: The same with :class:`~sdb.query.syntax.ast.TimeText` in the place of such texts, and
    with a timestamp in that of ``CAST('...' AS TIMESTAMP)``.

    >>> from sdb.query.syntax.parser import parse
    >>> timed(parse("SELECT t > '1970-01-02'")).select.items[0].expr.right.value.us
    86400000000
    """
    return visitor.rewrite(node, lambda part: _changed(part, now_us))


def _changed(node: ast.Node, now_us: int | None) -> ast.Node:  # noqa: PLR0911 - a table
    match node:
        case ast.Binary(op) if op in MIRRORED:
            return replace(node, left=_text(node.left), right=_text(node.right))
        case ast.Between():
            low, high = _text(node.low), _text(node.high)
            return replace(node, operand=_text(node.operand), low=low, high=high)
        case ast.In(items=tuple() as items):
            return replace(node, operand=_text(node.operand), items=tuple(map(_text, items)))
        case ast.Case(operand=ast.Node()):
            limbs = tuple((_text(when), then) for when, then in node.limbs)
            return replace(node, limbs=limbs)
        case ast.Call("NULLIF"):
            return replace(node, args=(node.args[0], *map(_text, node.args[1:])))
        case ast.Call("LEAST" | "GREATEST", args) if not all(map(_is_text, args)):
            return replace(node, args=tuple(map(_text, args)))
        case ast.Call(name, args) if name in _TIMES:
            return replace(node, args=tuple(map(_time, args)))
        case ast.Binary("-"):
            return replace(node, left=_time(node.left), right=_time(node.right))
        case ast.Cast(ast.Literal(str() as text), "TIMESTAMP"):
            moment = literals.moment(text) or _counted(text, now_us)
            return node if moment is None else ast.Literal(moment, span=node.span)
    return node


def _counted(text: str, now_us: int | None) -> ast.Instant | None:
    us = instants.relative(text, now_us)
    return None if us is None else ast.Instant(us)


def _is_text(expr: ast.Expr) -> bool:
    return isinstance(expr, ast.Literal) and isinstance(expr.value, str)


def _text(expr: ast.Expr) -> ast.Expr:
    """Return what gives values that are compared, with texts that are times as well."""
    match expr:
        case ast.Literal(str() as text) if type(text) is str:
            moment = literals.moment(text)
            if moment is not None:
                return ast.Literal(ast.TimeText(text, moment.us), span=expr.span)
        case ast.Call("COALESCE" | "LEAST" | "GREATEST", args):
            return replace(expr, args=tuple(map(_text, args)))
        case ast.Call("NULLIF", (first, other)):
            return replace(expr, args=(_text(first), other))
        case ast.Case():
            limbs = tuple([(when, _text(then)) for when, then in expr.limbs])
            otherwise = None if expr.otherwise is None else _text(expr.otherwise)
            return replace(expr, limbs=limbs, otherwise=otherwise)
    return expr


def _time(expr: ast.Expr) -> ast.Expr:
    """Return what stands where only a time can: a text that is one is a constant time."""
    timed_text = _text(expr)
    match timed_text:
        case ast.Literal(ast.TimeText() as text):
            return ast.Literal(ast.Instant(text.us), span=expr.span)
    return timed_text


# Checks of window functions: their arguments, orders and frames, and QUALIFY.

_COUNTED = frozenset({"LAG", "LEAD"})
_PLAIN = RANKS - {"NTILE"}


def check_qualify(select: ast.Select) -> None:
    """Refuse QUALIFY in a select without window functions.

    Raises `QueryError` if it has no window function.
    """
    condition = select.qualify
    if condition is None:
        return
    exprs = [condition, *[item.expr for item in select.items]]
    if not any(call.over is not None for expr in exprs for call in visitor.aggregates(expr)):
        hint = "WHERE keeps rows, HAVING groups; QUALIFY keeps rows by what OVER (...) gives"
        refuse("QUALIFY needs a window function", condition, hint)


def check_windows(node: ast.Aggregate) -> None:
    """Refuse a window function that makes no sense.

    Raises `QueryError` if it has no window or no order, or arguments, a FILTER or a frame that it
    cannot have.
    """
    if node.name in OVER_ROWS:
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
        hint = "without ORDER BY rows have no order: OVER (ORDER BY x)"
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
