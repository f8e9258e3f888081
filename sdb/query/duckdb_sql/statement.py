"""A whole statement: its SQL, what it reads, and what its columns mean."""

from __future__ import annotations

import re
from collections import Counter

from sdb.query.analyze.binder import UNION
from sdb.query.analyze.refusals import rejected
from sdb.query.analyze.types import LIST, STRUCT
from sdb.query.duckdb_sql.functions.growth import growth_of
from sdb.query.duckdb_sql.scope import Level, Query, SqlContext
from sdb.query.duckdb_sql.select import select
from sdb.query.duckdb_sql.sets import beside, united
from sdb.query.duckdb_sql.values.lanes import Keyed
from sdb.query.plan.scans import Column, Shape
from sdb.query.syntax import ast
from sdb.query.syntax.printer import set_table
from sdb.query.syntax.visitor import nodes
from sdb.records import record, replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from sdb.query.catalog.dataset import Dataset, OpenDataset, ValuePath
    from sdb.query.duckdb_sql.scope import FromItem, Scope
    from sdb.query.duckdb_sql.values.lanes import Value
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


# WITH RECURSIVE: a query that reads the rows that it has made.


class PutAside:
    """Rows of a scan, kept for each step."""

    def __init__(self, name: str, scan: str) -> None:
        self.name = name
        self._scan = scan

    def text(self) -> str:
        """Write it out."""
        return f"SELECT * FROM {self._scan}"


class Recursion:
    """The rows of a recursive query."""

    def __init__(self, name: str, *, every: bool) -> None:
        self.name = name
        self.every = every
        self.first = ""  # SQL of the rows that it begins with
        self.step = ""  # SQL of the next rows
        self.levels: list[FromItem] = []  # what the step is made of
        self.kept: list[tuple[str, str]] = []  # names of scans, and of what they read

    def text(self) -> str:
        """Write it out."""
        inner = [f"{scan} AS (SELECT * FROM {aside})" for scan, aside in self.kept]
        inner += [f"{level.name} AS ({level.text()})" for level in self.levels]
        union = "UNION ALL" if self.every else "UNION"
        return f"({self.first}) {union} (WITH {', '.join(inner)} {self.step})"


def recursive(name: str, node: ast.Select, context: SqlContext) -> Query:
    """Translate an entry of WITH RECURSIVE.

    Raises `QueryError` if its two parts have not equally many columns.
    """
    table = set_table(node)
    assert table is not None  # noqa: S101 - the parser has looked
    rows = Recursion(context.name("n"), every=table.every)
    first = context.plan(table.left, None)
    before = len(context.levels), len(context.scans)
    masks = [value.mask for _, value in first.columns]
    while True:
        columns = _columns(first, rows.name, masks, every=table.every)
        own = Level(context.name("q"), (rows.name,))
        context.levels.append(own)
        context.queries[name] = Query(own, columns, single=False, certain=False, correlated=False)
        step = context.plan(table.right, None)
        if len(step.columns) != len(columns):
            counts = f"{len(columns)} columns, the next ones {len(step.columns)}"
            raise rejected(f"the first rows of {name} have {counts}", table.right)
        pairs = zip(masks, step.columns, strict=True)
        wider = [mask | value.mask for mask, (_, value) in pairs]
        if wider == masks:
            break
        # The values of later steps have more types than those of the first one.
        masks = wider
        del context.levels[before[0] :], context.scans[before[1] :]
    rows.levels = context.levels[before[0] :]
    del context.levels[before[0] :]
    for scan in context.scans[before[1] :]:
        aside = PutAside(context.name("m"), scan.name)
        rows.kept.append((scan.name, aside.name))
        context.levels.append(aside)
    rows.first = _text(first, columns, context)
    rows.step = _text(step, columns, context)
    context.levels.append(rows)
    level = Level(context.name("q"), (rows.name,))
    context.levels.append(level)
    return Query(level, columns, single=False, certain=False, correlated=False)


def _columns(first: Query, table: str, masks: list[int], *, every: bool) -> list[tuple[str, Value]]:
    """Return the columns, as rows of the recursion have them."""
    columns: list[tuple[str, Value]] = []
    for number, ((name, _), mask) in enumerate(zip(first.columns, masks, strict=True)):
        # UNION takes rows for equal whose structures have the same members in another order.
        has_text = every and mask & (LIST | STRUCT)
        text = f"{table}.v{number}" if has_text else None
        columns.append((name, Keyed(f"{table}.k{number}", mask, text)))
    return columns


def _text(query: Query, columns: list[tuple[str, Value]], context: SqlContext) -> str:
    """Return SQL of the rows of a part."""
    part, reference = context.refer(query)
    lanes = []
    outputs = query.through(reference, optional=False)
    for number, ((_, value), (_, column)) in enumerate(zip(outputs, columns, strict=True)):
        lanes.append((value.lane("k"), f"k{number}"))
        if isinstance(column, Keyed) and column.text != column.sql:
            lanes.append((value.lane("v"), f"v{number}"))
    return Level(context.name("q"), (part,)).text(lanes)
