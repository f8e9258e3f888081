"""Statements that the scan answers on its own, without a SQL engine.

What is not certain to mean the same there is left to the engine: this finds statements of a few
forms and says nothing about the others.
"""

from __future__ import annotations

from sdb.query.duckdb_sql.functions_time import MONTHS, UNITS_US, stride_us
from sdb.query.duckdb_sql.lanes import Constant
from sdb.query.duckdb_sql.lowering import translate
from sdb.query.duckdb_sql.pushdown import Pusher, Unsuited
from sdb.query.duckdb_sql.scans import FieldValue
from sdb.query.syntax import ast
from sdb.records import record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any, TypeAlias

    from sdb.query.duckdb_sql.context import Outline, Query, SqlContext
    from sdb.query.duckdb_sql.lanes import Value
    from sdb.query.duckdb_sql.scans import Predicate, ScanNode
    from sdb.query.plan.dataset import Path
    from sdb.query.plan.output import Column

_FUNCTIONS = {
    "SUM": "sum",
    "AVG": "average",
    "MIN": "least",
    "MAX": "greatest",
    "EARLIEST": "earliest",
    "LATEST": "latest",
}
MOST_FIRST = 10_000
"""With more of the first rows in an order there is little to be gained."""
_THURSDAY = 4
"""The day of the week of 1970-01-01, where Sunday is 0."""

Lane = tuple[int, "Path", str]
"""Level, path and letter."""
Grain = tuple[str, int, int]
"""What times are rounded down to: ``("us", every, from)`` or ``("months", every, 0)``."""
Call: TypeAlias = "tuple[str, int | None, Any]"
"""Function, lane and predicate of FILTER."""


@record
class Take:
    """Rows of a scan as they are.

    Attributes
    ----------
    scan : ScanNode
        What is read.
    lanes : tuple of lanes
        The columns of the result.
    limit : int or None
        Number of rows that are enough.
    """

    scan: ScanNode
    lanes: tuple[Lane, ...]
    limit: int | None


@record
class HashAggregate:
    """Rows of a scan summed up.

    Attributes
    ----------
    scan : ScanNode
        What is read.
    lanes : tuple of lanes
        What keys and calls are about.
    keys : tuple of (int, grain or None)
        Lanes that the rows of a group have in common, and what times are rounded down to.
    calls : tuple of (str, int or None, predicate or None)
        What is found out, of which lane, and of which rows.
    columns : tuple of (int, str)
        The columns of the result: places among keys and calls, and letters.
    sort : tuple of (int, bool, bool)
        Places of what the groups are sorted by, whether greater values come first, and whether
        NULL comes last.
    limit : int or None
        Number of groups that are wanted.
    offset : int
        Number of groups before these.
    """

    scan: ScanNode
    lanes: tuple[Lane, ...]
    keys: tuple[tuple[int, Grain | None], ...]
    calls: tuple[Call, ...]
    columns: tuple[tuple[int, str], ...]
    sort: tuple[tuple[int, bool, bool], ...]
    limit: int | None
    offset: int


@record
class TopK:
    """The first rows of a scan in some order.

    Attributes
    ----------
    scan : ScanNode
        What is read.
    keys : tuple of lanes
        What rows are sorted by; rows without one of them are left out.
    sort : tuple of (int, bool, bool)
        For each key its place, whether greater values come first, and whether NULL comes last.
    lanes : tuple of lanes
        The columns of the result.
    limit : int
        Number of rows that are wanted.
    offset : int
        Number of rows before these.
    """

    scan: ScanNode
    keys: tuple[Lane, ...]
    sort: tuple[tuple[int, bool, bool], ...]
    lanes: tuple[Lane, ...]
    limit: int
    offset: int


Native = Take | HashAggregate | TopK


class _Unsuited(Exception):  # noqa: N818
    """A statement that the engine has to run."""


def native(query: Query, columns: Sequence[Column], context: SqlContext) -> Native | None:
    """Find out whether the scan answers a statement on its own.

    Parameters
    ----------
    query : Query
        Its only SELECT.
    columns : sequence of Column
        Its output, as the engine would make it; the columns of the result are the same.
    context : SqlContext
        Its scans.

    Returns
    -------
    Take, HashAggregate, TopK or None
        What to ask of the scan; ``None`` when the engine has to run the statement.
    """
    outline = query.outline
    if outline is None or context.scans != [outline.scan]:
        return None
    lanes = {
        place: (number, letter)
        for number, column in enumerate(columns)
        for letter, place in column.lanes.items()
    }
    if sorted(lanes) != list(range(len(lanes))):
        return None
    ordered = [lanes[place] for place in range(len(lanes))]
    try:
        if outline.groups is None:
            values = [(query.columns[at][1], letter) for at, letter in ordered]
            return _rows(outline, values, context)
        grouping = _Grouping(outline, context)
        return grouping.native([(outline.items[at], letter) for at, letter in ordered])
    except _Unsuited:
        return None


def _rows(outline: Outline, values: list[tuple[Value, str]], context: SqlContext) -> Take | TopK:
    lanes = tuple((*_place(value, outline), letter) for value, letter in values)
    if outline.order:
        return _first(outline, lanes, context)
    if outline.offset or outline.limit != outline.scan.limit:
        raise _Unsuited
    return Take(outline.scan, lanes, outline.limit)


def _first(outline: Outline, lanes: tuple[Lane, ...], context: SqlContext) -> TopK:
    limit, offset = outline.limit, outline.offset
    if limit is None or limit + offset > MOST_FIRST or outline.scan.explode:
        raise _Unsuited
    keys: dict[Lane, int] = {}
    sort = []
    for one in outline.order:
        # Any letter: the lane only says where values are.
        key = (*_field(one.expr, outline, context), "t")
        sort.append((keys.setdefault(key, len(keys)), one.descending, one.nulls_last))
    return TopK(outline.scan, tuple(keys), tuple(sort), lanes, limit, offset)


def _field(expr: ast.Expr, outline: Outline, context: SqlContext) -> tuple[int, Path]:
    if not isinstance(expr, (ast.Name, ast.Dot, ast.Index)):
        raise _Unsuited
    return _place(translate(expr, outline.scope, context), outline)


def _place(value: Value, outline: Outline) -> tuple[int, Path]:
    if not isinstance(value, FieldValue) or value.scan is not outline.scan:
        raise _Unsuited
    return value.level, value.path


class _Grouping:
    """Groups in the making."""

    def __init__(self, outline: Outline, context: SqlContext) -> None:
        self.outline = outline
        self.context = context
        self.lanes: dict[Lane, int] = {}
        self.calls: list[Call] = []
        self.keys = [self._key(expr) for expr in outline.groups or ()]
        self.numbers = {expr: number for number, expr in enumerate(outline.groups or ())}

    def native(self, ordered: list[tuple[ast.Expr, str]]) -> HashAggregate:
        outline = self.outline
        columns = tuple((self._number(expr), letter) for expr, letter in ordered)
        sort = tuple(
            (self._number(sort.expr), sort.descending, sort.nulls_last) for sort in outline.order
        )
        return HashAggregate(
            outline.scan,
            tuple(self.lanes),
            tuple(self.keys),
            tuple(self.calls),
            columns,
            sort,
            outline.limit,
            outline.offset,
        )

    def _number(self, expr: ast.Expr) -> int:
        """Give the place of a key or call among keys and calls."""
        if expr not in self.numbers:
            self.calls.append(self._call(expr))
            self.numbers[expr] = len(self.keys) + len(self.calls) - 1
        return self.numbers[expr]

    def _lane(self, level: int, path: Path) -> int:
        # Any letter: the lane only says where values are.
        return self.lanes.setdefault((level, path, "t"), len(self.lanes))

    def _found(self, expr: ast.Expr) -> int:
        return self._lane(*_field(expr, self.outline, self.context))

    def _key(self, expr: ast.Expr) -> tuple[int, Grain | None]:
        if not isinstance(expr, ast.Call):
            return self._found(expr), None
        if expr.name == "DATE_TRUNC":
            return self._found(expr.args[0]), _part(expr)
        if expr.name == "DATE_BIN":
            return self._found(expr.args[0]), self._stride(expr)
        raise _Unsuited

    def _stride(self, expr: ast.Call) -> Grain:
        origin = translate(expr.args[1], self.outline.scope, self.context)
        if not isinstance(origin, Constant) or not isinstance(origin.value, ast.Instant):
            raise _Unsuited
        return "us", stride_us(str(expr.part), expr), origin.value.us

    def _call(self, expr: ast.Expr) -> Call:
        if not isinstance(expr, ast.Aggregate) or expr.over is not None or len(expr.args) > 1:
            raise _Unsuited
        name = _FUNCTIONS.get(expr.name)
        if expr.name == "COUNT":
            name = "distinct" if expr.distinct else "present" if expr.args else "rows"
        elif expr.distinct or not expr.args:
            raise _Unsuited
        if name is None:
            raise _Unsuited
        lane = self._found(expr.args[0]) if expr.args else None
        return name, lane, None if expr.where is None else self._filter(expr.where)

    def _filter(self, where: ast.Expr) -> Predicate:
        try:
            scan, predicate = Pusher([self.outline.scan], self.outline.scope, self.context).push(
                where
            )
        except Unsuited:
            raise _Unsuited from None
        assert scan is self.outline.scan  # noqa: S101
        for path in _paths(predicate):
            self._lane(0, path)
        return predicate


def _part(expr: ast.Call) -> Grain:
    if expr.part == "WEEK":
        return "us", UNITS_US["WEEK"], ((expr.weekday or 0) - _THURSDAY) * UNITS_US["DAY"]
    if expr.part in MONTHS:
        return "months", MONTHS[expr.part], 0
    if expr.part in UNITS_US:
        return "us", UNITS_US[expr.part], 0
    raise _Unsuited


def _paths(predicate: Predicate) -> Iterator[Path]:
    """Find the paths of a predicate."""
    op, first = predicate[:2]
    if op in {"and", "or"}:
        for part in first:
            yield from _paths(part)
    elif op == "not":
        yield from _paths(first)
    else:
        yield tuple(first)
