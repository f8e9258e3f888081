"""UNNEST, GENERATE_SERIES and RANGE in FROM: a row for each element."""

from __future__ import annotations

from sdb.query.analyze.refusals import rejected
from sdb.query.analyze.types import ANY, LIST, MISSING, NULL, NUMBER, TIME
from sdb.query.duckdb_sql.lowering import translate
from sdb.query.duckdb_sql.scope import Names, Scope
from sdb.query.duckdb_sql.values.lanes import Constant, Keyed, Typed
from sdb.query.duckdb_sql.values.operators import int64
from sdb.query.syntax import ast, printer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sdb.query.duckdb_sql.context import SqlContext
    from sdb.query.duckdb_sql.values.lanes import Value


def elements(
    table: ast.ListTable, scope: Scope, context: SqlContext, *, optional: bool
) -> tuple[str, Names]:
    """Return what stands in FROM, and its names.

    * ``optional``: Whether a join may lack the elements.
    """
    alias = context.name("u")
    absent = MISSING if optional else 0
    if table.name == "UNNEST":
        gaps = MISSING if table.more else absent
        value: Value = Keyed(f"{alias}.k", ANY & ~MISSING | gaps)
        listed = _list(table.args[0], scope, context)
    else:
        listed, kind = _series(table, scope, context)
        value = Typed(kind, f"{alias}.k", absent=absent, integer=kind == NUMBER)
        if table.ordinal is None and _is_constant(table):
            # A function of tables yields numbers one by one, where a list would hold all of them,
            # and no interrupt would stop it from being made.
            source = f"(SELECT {table.name.lower()} AS k FROM {listed}) AS {alias}"
            return source, Names({table.value: value}, is_first=True)
    columns = f"unnest({listed}) AS k"
    values = {table.value: value}
    for number, (name, arg) in enumerate(zip(table.more, table.args[1:], strict=False)):
        # Side by side: where one list is shorter, its elements are MISSING.
        columns += f", unnest({_list(arg, scope, context)}) AS m{number}"
        values[name] = Keyed(f"{alias}.m{number}", ANY)
    if table.ordinal is not None:
        longest = listed
        if table.more:
            lengths = [f"len({_list(arg, scope, context)})" for arg in table.args]
            longest = f"range(greatest({', '.join(lengths)}))"
        columns += f", generate_subscripts({longest}, 1) AS o"
        values[table.ordinal] = Typed(NUMBER, f"{alias}.o::BIGINT", absent=absent, integer=True)
    lateral = "LATERAL " if scope.sources else ""
    return f"{lateral}(SELECT {columns}) AS {alias}", Names(values, is_first=True)


def _is_constant(table: ast.ListTable) -> bool:
    """Return whether a series is of numbers that the query writes."""
    values = [arg.value if isinstance(arg, ast.Literal) else None for arg in table.args]
    return all(type(value) is int for value in values)


def _list(arg: ast.Expr, scope: Scope, context: SqlContext) -> str:
    """Return SQL of the keys of the elements of a list."""
    items = translate(arg, scope, context)
    if not items.mask & ~(MISSING | NULL):
        return "[]::VARCHAR[]"  # perhaps of rows that are not read, since WHERE is never TRUE
    if not items.mask & LIST:
        raise rejected(f"{printer.text(arg)} is no list", arg)
    return items.lane("e")


def _series(table: ast.ListTable, scope: Scope, context: SqlContext) -> tuple[str, int]:
    """Return SQL of the list of a series, and the type of its elements."""
    bounds, step = table.args[:2], table.args[2] if len(table.args) > 2 else None  # noqa: PLR2004
    values = [translate(bound, scope, context) for bound in bounds]
    function = table.name.lower()
    if isinstance(step, ast.Interval):
        if not (step.months or step.us):
            raise rejected("the step of a series has to go somewhere", step)
        _check(table, bounds, values, TIME, "times")
        by = f"to_months({step.months}) + to_microseconds({step.us})"
        return f"{function}({values[0].lane('u')}, {values[1].lane('u')}, {by})", TIME
    if step is not None:
        values.append(translate(step, scope, context))
    hint = "of times it has an interval, as in INTERVAL '1 day'"
    _check(table, table.args, values, NUMBER, "whole numbers", hint)
    if step is not None and isinstance(values[2], Constant) and values[2].value == 0:
        raise rejected("the step of a series has to go somewhere", step)
    return f"{function}({', '.join([int64(value) for value in values])})", NUMBER


def _check(
    table: ast.ListTable,
    args: tuple[ast.Expr, ...],
    values: list[Value],
    kind: int,
    words: str,
    hint: str | None = None,
) -> None:
    """Refuse arguments that can never be of a type."""
    for arg, value in zip(args, values, strict=True):
        is_part = isinstance(value, Constant) and isinstance(value.value, float)
        if not value.mask & kind or is_part:
            raise rejected(f"{table.name} takes {words}, not {printer.text(arg)}", arg, hint)
