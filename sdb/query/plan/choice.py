"""Choice of native or DuckDB: finds the statements that a scan answers on its own.

The choice is made from the syntax tree alone, before any SQL is written. What is not certain to
mean the same there is left to the engine: this finds statements of a few forms over one scan and
says nothing about the others.
"""

from __future__ import annotations

from sdb.query.analyze.binder import columns, has_windows, is_grouped
from sdb.query.analyze.namescope import scope_of
from sdb.query.analyze.types import INTEGER, LETTERS, MISSING, NULL, NUMBER, STRUCT, TIME
from sdb.query.plan.columns import Column, Shape
from sdb.query.plan.operations import Count, DataShape, HashAggregate, Take, TopK
from sdb.query.plan.pseudo import is_pseudo
from sdb.query.plan.pushdown import Pusher, Unsuited
from sdb.query.plan.rewrite import about, conjuncts
from sdb.query.plan.scans import FieldRef, ScanNode
from sdb.query.plan.tables import table_name
from sdb.query.syntax import ast
from sdb.query.syntax.calls import stride_us
from sdb.query.syntax.intervals import MONTHS, UNITS_US

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import TypeVar

    from sdb.query.analyze.namescope import SourcePath
    from sdb.query.plan.dataset import OpenDataset, ValuePath
    from sdb.query.plan.operations import Accumulator, Grain, Operation
    from sdb.query.plan.scans import Lane, Predicate

    K = TypeVar("K")

_DOUBLE = Shape(NUMBER | NULL, NULL)
_NUMBER = Shape(NUMBER | NULL, NULL, exact=True)
_TIME = Shape(TIME | NULL, NULL)
_COUNT = Shape(NUMBER, 0, whole=True)
_ACCUMULATORS = {
    "SUM": ("sum", _NUMBER),
    "AVG": ("average", _DOUBLE),
    "MIN": ("least", _NUMBER),
    "MAX": ("greatest", _NUMBER),
    "EARLIEST": ("earliest", _TIME),
    "LATEST": ("latest", _TIME),
}
_OF_TIMES = {"MIN": "EARLIEST", "MAX": "LATEST"}
MOST_FIRST = 10_000
"""With more of the first rows in an order there is little to be gained."""
_THURSDAY = 4
"""The day of the week of 1970-01-01, where Sunday is 0."""


def choose(
    statement: ast.Statement, datasets: OpenDataset, *, typed: bool = True
) -> Operation | None:
    """Choose the operation of a scan that answers a statement.

    Parameters
    ----------
    statement : Statement
        The statement, checked.
    datasets : callable
        Opens the table, if there is such an operation.
    typed : bool
        Whether values of unknown type are wanted with their types; as JSON text otherwise.

    Returns
    -------
    Operation or None
        What to ask of the scan; ``None`` when the engine has to run the statement.

    Raises
    ------
    QueryError
        A table function has wrong arguments.
    """
    try:
        return _chosen(statement, datasets, typed=typed)
    except Unsuited:
        return None


def _chosen(statement: ast.Statement, datasets: OpenDataset, *, typed: bool) -> Operation:
    node = statement.select
    if statement.with_ or statement.unions or node.distinct or not node.sources:
        raise Unsuited
    rows = _Rows(node, datasets)
    is_group = is_grouped(node)
    if node.having is not None or (is_group and node.star) or has_windows(node):
        raise Unsuited
    rows.filter(node.where)
    if not is_group:
        return _of_rows(node, rows, typed=typed)
    if _only_shape(node, rows):
        (name,) = columns(node)
        outputs, places = _columns([(name, Shape(STRUCT, row=not name), None)], typed=typed)
        return DataShape(rows.scan, outputs, tuple(letter for _, letter in places))
    if node.group_by is None and not rows.scan.explode and _only_counts(node):
        counts = tuple(Column(name, {"x": at}, INTEGER) for at, name in enumerate(columns(node)))
        return Count(rows.scan, counts)
    return _Grouping(node, rows).operation(typed=typed)


def _only_shape(node: ast.Select, rows: _Rows) -> bool:
    """Tell whether the shape of whole rows is all that is wanted."""
    shape = ast.Aggregate("SNELLER_DATASHAPE", (), star=True)
    return (
        [item.expr for item in node.items] == [shape]
        and not rows.is_unpivot
        and len(node.sources) == 1
        and node.group_by is None
        and not (node.order_by or node.limit is not None or node.offset)
    )


def _only_counts(node: ast.Select) -> bool:
    count = ast.Aggregate("COUNT", (), star=True)
    return all(item.expr == count for item in node.items) and not (
        node.order_by or node.limit is not None or node.offset
    )


class _Rows:
    """Rows of one scan, unfolded or not, and the places of what is in them."""

    def __init__(self, node: ast.Select, datasets: OpenDataset) -> None:
        first, *others = node.sources
        self.is_unpivot = isinstance(first.table, ast.UnpivotTable)
        table = first.table.table if isinstance(first.table, ast.UnpivotTable) else first.table
        parts = table.tables if isinstance(table, ast.ConcatTable) else (table,)
        tables = [name for name in map(table_name, parts) if name is not None]
        if len(tables) < len(parts) or (others and self.is_unpivot):
            raise Unsuited
        alone = not others and not self.is_unpivot
        alias = None if self.is_unpivot else first.alias
        where = about(node.where, alias, alone=alone, others=node.sources[1:])
        self.scan = ScanNode("s1", tuple(tables), where, datasets)
        self.scope = scope_of(node, None, frozenset())
        # To what depth the rows of each source are unfolded.
        self.levels = [self.scan.unfold(0, (), "struct") if self.is_unpivot else 0]
        for source, rows in zip(others, self.scope.rows[1:], strict=True):
            place = None if rows is None or rows.elements is None else self._at(rows.elements)
            if place is None or source.join != "CROSS":
                raise Unsuited
            self.levels.append(self.scan.unfold(place.level, place.path, "list"))

    def filter(self, where: ast.Expr | None) -> None:
        """Let the scan decide all of a condition."""
        parts = [self._pushed(part) for part in conjuncts(where)]
        if parts:
            self.scan.predicate = parts[0] if len(parts) == 1 else ("and", parts)

    def _pushed(self, part: ast.Expr) -> Predicate:
        return Pusher([self.scan], self.resolve).push(part)[1]

    def resolve(self, expr: ast.Expr) -> FieldRef | None:
        """Give the place that a path leads to; ``None`` when it has none."""
        place = self.scope.place(expr)
        return None if place is None else self._at(place)

    def _at(self, place: SourcePath) -> FieldRef | None:
        level = self.levels[place.rows.number]
        if not level and not (place.steps and isinstance(place.steps[0], str)):
            return None
        if not level and is_pseudo(place.steps):
            # The engine finds out whether a field has the name.
            raise Unsuited
        return FieldRef(self.scan, level, place.steps)

    def field(self, expr: ast.Expr) -> FieldRef:
        """Give the place that a path leads to."""
        found = self.resolve(expr)
        if found is None:
            raise Unsuited
        return found

    def outputs(self) -> list[tuple[str, FieldRef]]:
        """Give what ``*`` stands for: names and places, the empty name for a whole row."""
        found = [] if self.is_unpivot else [("", FieldRef(self.scan, 0, ()))]
        for name, place in self.scope.names.items():
            if place is None:
                raise Unsuited
            if level := self.levels[place.rows.number]:
                found.append((name, FieldRef(self.scan, level, ())))
        return found

    @staticmethod
    def shape(place: FieldRef) -> Shape:
        """Give the types at a place."""
        return Shape(place.types)


def _columns(
    outputs: list[tuple[str, Shape, K]], *, typed: bool
) -> tuple[tuple[Column, ...], list[tuple[K, str]]]:
    """Give the columns of the output, and what each column of the result is made of."""
    places: dict[tuple[K, str], int] = {}
    columns = []
    for name, shape, key in outputs:
        lanes = {
            letter: places.setdefault((key, letter), len(places))
            for letter in shape.letters(typed=typed)
        }
        columns.append(Column(name, lanes, shape.types))
    return tuple(columns), list(places)


def _of_rows(node: ast.Select, rows: _Rows, *, typed: bool) -> Take | TopK:
    if node.star:
        found = rows.outputs()
    else:
        found = [(name, rows.field(expr)) for name, expr in columns(node).items()]
    scan, limit, offset = rows.scan, node.limit, node.offset or 0
    is_cut = limit is not None or offset > 0
    if node.order_by:
        if limit is None or limit + offset > MOST_FIRST or scan.explode:
            raise Unsuited
        keys: dict[Lane, int] = {}
        sort = []
        for one in node.order_by:
            # Any letter: the lane only says where values are.
            place = rows.field(one.expr)
            key = (place.level, place.path, "t")
            sort.append((keys.setdefault(key, len(keys)), one.descending, one.nulls_last))
    elif is_cut and (scan.explode or offset or len(node.sources) > 1):
        raise Unsuited
    outputs, places = _columns(
        [(name, Shape(rows.shape(place).mask, row=not name), place) for name, place in found],
        typed=typed,
    )
    lanes = tuple((place.level, place.path, letter) for place, letter in places)
    if node.order_by and limit is not None:
        return TopK(scan, outputs, tuple(keys), tuple(sort), lanes, limit, offset)
    return Take(scan, outputs, lanes, limit)


class _Grouping:
    """Groups in the making."""

    def __init__(self, node: ast.Select, rows: _Rows) -> None:
        self.node = node
        self.rows = rows
        self.lanes: dict[Lane, int] = {}
        self.calls: list[Accumulator] = []
        self.shapes: list[Callable[[], Shape]] = []
        groups = [item.expr for item in node.group_by or ()]
        self.keys = [self._key(expr) for expr in groups]
        self.numbers = {expr: number for number, expr in enumerate(groups)}

    def operation(self, *, typed: bool) -> HashAggregate:
        """Give the operation."""
        found = [(name, self._number(expr)) for name, expr in columns(self.node).items()]
        sort = tuple(
            (self._number(sort.expr), sort.descending, sort.nulls_last)
            for sort in self.node.order_by
        )
        shapes = [shape() for shape in self.shapes]
        wanted = [(name, shapes[number], number) for name, number in found]
        outputs, places = _columns(wanted, typed=typed)
        return HashAggregate(
            self.rows.scan,
            outputs,
            tuple(self.lanes),
            tuple(self.keys),
            tuple(self.calls),
            tuple(places),
            sort,
            self.node.limit,
            self.node.offset or 0,
        )

    def _number(self, expr: ast.Expr) -> int:
        """Give the place of a key or call among keys and calls."""
        if expr not in self.numbers:
            self.calls.append(self._call(expr))
            self.numbers[expr] = len(self.keys) + len(self.calls) - 1
        return self.numbers[expr]

    def _lane(self, expr: ast.Expr) -> int:
        # Any letter: the lane only says where values are.
        place = self.rows.field(expr)
        return self.lanes.setdefault((place.level, place.path, "t"), len(self.lanes))

    def _key(self, expr: ast.Expr) -> tuple[int, Grain | None]:
        if not isinstance(expr, ast.Call):
            place = self.rows.field(expr)
            self.shapes.append(lambda: _key_shape(self.rows.shape(place).mask))
            return self._lane(expr), None
        self.shapes.append(lambda: Shape(TIME, 0))
        if expr.name == "DATE_TRUNC":
            return self._lane(expr.args[0]), _grain(expr)
        if expr.name == "DATE_BIN":
            origin = expr.args[1]
            if not isinstance(origin, ast.Literal) or not isinstance(origin.value, ast.Instant):
                raise Unsuited
            return self._lane(expr.args[0]), ("us", stride_us(str(expr.part)), origin.value.us)
        raise Unsuited

    def _call(self, expr: ast.Expr) -> Accumulator:
        if not isinstance(expr, ast.Aggregate) or expr.over is not None or len(expr.args) > 1:
            raise Unsuited
        name, shape = _ACCUMULATORS.get(expr.name, ("", _COUNT))
        if expr.name == "COUNT":
            name = "distinct" if expr.distinct else "present" if expr.args else "rows"
        elif expr.distinct or not expr.args:
            raise Unsuited
        if not name:
            raise Unsuited
        if expr.name in _OF_TIMES and (types := self.rows.field(expr.args[0]).types) & TIME:
            # Of numbers and times the numbers count, which takes both.
            if types & NUMBER:
                raise Unsuited
            name, shape = _ACCUMULATORS[_OF_TIMES[expr.name]]
        self.shapes.append(lambda: shape)
        lane = self._lane(expr.args[0]) if expr.args else None
        return name, lane, None if expr.where is None else self._filter(expr.where)

    def _filter(self, where: ast.Expr) -> Predicate:
        predicate = Pusher([self.rows.scan], self.rows.resolve).push(where)[1]
        for path in _paths(predicate):
            self.lanes.setdefault((0, path, "t"), len(self.lanes))
        return predicate


def _key_shape(mask: int) -> Shape:
    """Give the types of a key of groups: rows without it are in none."""
    types = mask & ~MISSING
    return Shape(types, 0) if types in LETTERS and types != NUMBER else Shape(types or MISSING)


def _grain(expr: ast.Call) -> Grain:
    if expr.part == "WEEK":
        return "us", UNITS_US["WEEK"], ((expr.weekday or 0) - _THURSDAY) * UNITS_US["DAY"]
    if expr.part in MONTHS:
        return "months", MONTHS[expr.part], 0
    if expr.part in UNITS_US:
        return "us", UNITS_US[expr.part], 0
    raise Unsuited


def _paths(predicate: Predicate) -> Iterator[ValuePath]:
    """Find the paths of a predicate."""
    op, first = predicate[:2]
    if op in {"and", "or"}:
        for part in first:
            yield from _paths(part)
    elif op == "not":
        yield from _paths(first)
    else:
        yield tuple(first)
