"""WITH RECURSIVE: a query that reads the rows that it has made.

Values travel as their keys and typed texts, so that each step may make values of any type. What the
step reads besides is put aside before, and read once.
"""

from __future__ import annotations

from sdb.query.analyze.refusals import rejected
from sdb.query.analyze.types import LIST, STRUCT
from sdb.query.duckdb_sql.context import Query
from sdb.query.duckdb_sql.levels import Level
from sdb.query.duckdb_sql.values.lanes import Keyed
from sdb.query.syntax.printer import set_table

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sdb.query.duckdb_sql.context import SqlContext
    from sdb.query.duckdb_sql.levels import FromItem
    from sdb.query.duckdb_sql.values.lanes import Value
    from sdb.query.syntax import ast


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

    Raises
    ------
    QueryError
        Its two parts have not equally many columns.
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
