"""A whole statement: its SQL, what it reads, and what its columns mean."""

from __future__ import annotations

import re
from collections import Counter

from sdb.query.analyze.binder import UNION
from sdb.query.duckdb_sql.context import Query, SqlContext
from sdb.query.duckdb_sql.functions.growth import growth_of
from sdb.query.duckdb_sql.levels import Level
from sdb.query.duckdb_sql.recursion import PutAside, recursive
from sdb.query.duckdb_sql.select import select
from sdb.query.duckdb_sql.sets import beside
from sdb.query.duckdb_sql.unions import united
from sdb.query.plan.columns import Column, Shape
from sdb.query.syntax import ast
from sdb.query.syntax.visitor import nodes
from sdb.records import record, replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from sdb.query.catalog.dataset import Dataset, OpenDataset, ValuePath
    from sdb.query.duckdb_sql.scope import Scope
    from sdb.query.plan.scans import ScanNode

_NATIVE = re.compile(r"\bsdb_\w+")


@record
class Translation:
    """A statement ready to run."""

    sql: str  # DuckDB's SQL over the scans
    scans: tuple[ScanNode, ...]  # what to register, each under its name
    natives: frozenset[str]  # functions to register
    columns: tuple[Column, ...]  # what the columns of the result mean


def translate(
    statement: ast.Statement,
    *,
    datasets: OpenDataset,
    holds: Callable[[Dataset, ValuePath], bool],
    typed: bool = True,
) -> Translation:
    """Translate a statement.

    * ``statement``: What the parser made of the query, parameters bound.
    * ``holds``: Tells whether any row of a data set has a value at a path.
    * ``typed``: Whether values of unknown type are wanted with their types; as JSON text otherwise.
    """

    def plan(node: ast.Select, scope: Scope | None) -> Query:
        return select(node, scope, context)

    context = SqlContext(datasets, holds, plan, original=statement.select.original)
    context.growth = growth_of(statement)
    uses = Counter(
        node.expr.name
        for node in nodes(statement)
        if isinstance(node, ast.PathTable) and isinstance(node.expr, ast.Name)
    )
    for name, node in statement.with_:
        if name in statement.recursive:
            context.queries[name] = recursive(name, node, context)
        else:
            context.queries[name] = node if uses[name] == 1 else plan(node, None)
    query = plan(statement.select, None)
    if statement.unions:
        query = _united(statement, query, context)
    columns, final = _output(query, context, typed=typed)
    # What a level asks of those below it is known once its own text is settled: last first.
    texts = [
        f"{level.name} AS {'MATERIALIZED ' * isinstance(level, PutAside)}({level.text()})"
        for level in context.levels
        if level is not final
    ]
    word = "WITH RECURSIVE" if statement.recursive else "WITH"
    sql = (f"{word} {', '.join(texts)} " if texts else "") + final.text()
    return Translation(sql, tuple(context.scans), frozenset(_NATIVE.findall(sql)), columns)


def _united(statement: ast.Statement, query: Query, context: SqlContext) -> Query:
    """Join the selects of UNION; what orders and limits the last one is meant for all of them."""
    for all_, node in statement.unions:
        plain = replace(node, order_by=(), limit=None, offset=None, ties=False)
        other = context.plan(plain, None)
        other = beside(query, other, node, context)
        query = united([query, other], context, distinct=not all_)
    last = statement.unions[-1][1]
    if not last.order_by and last.limit is None and last.offset is None:
        return query
    context.queries[UNION] = query
    source = ast.Source(ast.PathTable(ast.Name(UNION)), None)
    outer = ast.Select((), star=True, sources=(source,))
    outer = replace(
        outer,
        order_by=last.order_by,
        limit=last.limit,
        offset=last.offset,
        ties=last.ties,
        original=last.original,
    )
    return context.plan(outer, None)


def _output(query: Query, context: SqlContext, *, typed: bool) -> tuple[tuple[Column, ...], Level]:
    """Ask for the lanes of the output."""
    level = query.level
    if level.prefix:
        part, reference = context.refer(query)
        level = Level(context.name("q"), (part,))
        columns = query.through(reference, optional=False)
    else:
        columns = query.columns
    numbers: dict[str, int] = {}
    output = []
    for name, value in columns:
        lanes = {}
        shape = value.shape if name else Shape(value.mask, row=True)
        for letter in shape.letters(typed=typed):
            column = level.column(value.lane(letter))
            lanes[letter] = numbers.setdefault(column, int(column[1:]))
        output.append(Column(name, lanes, shape.types, value.declared))
    return tuple(output), level
