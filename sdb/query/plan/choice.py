"""Choice of native or DuckDB: finds the statements that a scan answers on its own.

The choice is made from the syntax tree alone, before any SQL is written. What is not certain to
mean the same there is left to the engine: this finds statements of a few forms over one scan and
says nothing about the others.
"""

from __future__ import annotations

from sdb.query.analyze.binder import columns, has_windows, is_grouped
from sdb.query.analyze.namescope import SourcePath, SourceRows, scope_of
from sdb.query.analyze.types import (
    BOOL,
    INTEGER,
    LETTERS,
    MISSING,
    NULL,
    NUMBER,
    STRING,
    STRUCT,
    TIME,
    has_flags,
)
from sdb.query.catalog.dataset import MixedSchemasError, table_name
from sdb.query.catalog.pseudo import Certain, is_pseudo
from sdb.query.plan.pushdown import PRESENT, Pusher, Unsuited
from sdb.query.plan.rewrite import about, conjuncts
from sdb.query.plan.scans import (
    Column,
    Constants,
    Count,
    DataShape,
    FieldRef,
    HashAggregate,
    ScanNode,
    Shape,
    Take,
    TopK,
)
from sdb.query.syntax import ast
from sdb.query.syntax.calls import stride_us
from sdb.query.syntax.intervals import MONTHS, UNITS_US
from sdb.query.syntax.literals import INT64_MAX, INT64_MIN
from sdb.records import replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import TypeVar

    from sdb.query.catalog.dataset import OpenDataset, SchemaOf, ValuePath
    from sdb.query.catalog.schemarows import SchemaRows
    from sdb.query.catalog.tablescan import PackfileScan
    from sdb.query.plan.scans import Accumulator, Grain, Lane, Operation, Predicate
    from sdb.table.schema.types import ColumnType

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
_LITERALS = {int: _COUNT, float: Shape(NUMBER, 0), str: Shape(STRING, 0), bool: Shape(BOOL, 0)}
_OF_TIMES = {"MIN": "EARLIEST", "MAX": "LATEST"}
MOST_FIRST = 10_000
"""With more of the first rows in an order there is little to be gained."""
_THURSDAY = 4
"""The day of the week of 1970-01-01, where Sunday is 0."""


def choose(
    statement: ast.Statement,
    datasets: OpenDataset,
    *,
    typed: bool = True,
    schema_of: SchemaOf = lambda _: None,
) -> Operation | None:
    """Choose the operation of a scan that answers a statement.

    * ``datasets``: Opens the table, if there is such an operation.
    * ``typed``: Whether values of unknown type are wanted with their types; as JSON text otherwise.
    * ``schema_of``: Returns the schema of tables.

    Returns: What to ask of the scan; ``None`` when the engine has to run the statement.
    Raises `QueryError` if a table function has wrong arguments.
    """
    try:
        return _chosen(statement, datasets, schema_of, typed=typed)
    except (Unsuited, MixedSchemasError):
        return None


def _chosen(
    statement: ast.Statement, datasets: OpenDataset, schema_of: SchemaOf, *, typed: bool
) -> Operation:
    node = statement.select if statement.select.original else _distinct(statement.select)
    if statement.with_ or statement.unions or node.distinct or not node.sources:
        raise Unsuited
    rows = _Rows(node, datasets, schema_of)
    is_group = is_grouped(node)
    is_other = node.grouping_sets or node.fill is not None or node.ties
    if is_other or node.having is not None or (is_group and node.star) or has_windows(node):
        raise Unsuited
    rows.filter(node.where)
    if not is_group:
        return _constants(node, rows) or _of_rows(node, rows, typed=typed)
    if _only_shape(node, rows):
        (name,) = columns(node)
        outputs, places = _columns([(name, Shape(STRUCT, row=not name), None)], typed=typed)
        return DataShape(rows.scan, outputs, tuple(letter for _, letter in places))
    if node.group_by is None and not rows.scan.explode and _only_counts(node):
        counts = tuple(Column(name, {"x": at}, INTEGER) for at, name in enumerate(columns(node)))
        return Count(rows.scan, counts)
    return _Grouping(node, rows).operation(typed=typed)


def _distinct(node: ast.Select) -> ast.Select:
    """Return DISTINCT of items as groups of them."""
    if not node.distinct or node.distinct_on or node.star or is_grouped(node):
        return node
    return replace(node, distinct=False, group_by=node.items)


def _constants(node: ast.Select, rows: _Rows) -> Constants | None:
    """Return what makes rows of constants alone; None: something of the rows is wanted."""
    exprs = columns(node)
    values = [expr.value for expr in exprs.values() if isinstance(expr, ast.Literal)]
    is_other = node.where or node.order_by or node.offset or node.sample or rows.scan.explode
    if is_other or not 0 < len(values) == len(exprs) or not 0 < (node.limit or 0) <= MOST_FIRST:
        return None
    outputs = [
        (name, _literal(value), at)
        for at, (name, value) in enumerate(zip(exprs, values, strict=True))
    ]
    made, _ = _columns(outputs, typed=True)
    return Constants(rows.scan, made, tuple(values), node.limit or 0)


def _literal(value: ast.Constant) -> Shape:
    """Return the type of a constant that is as an engine has it."""
    shape = _LITERALS.get(type(value))
    if shape is None or (type(value) is int and not INT64_MIN <= value <= INT64_MAX):
        raise Unsuited
    return shape


def _only_shape(node: ast.Select, rows: _Rows) -> bool:
    """Return whether the shape of whole rows is all that is wanted."""
    shape = ast.Aggregate("SNELLER_DATASHAPE", (), star=True)
    return (
        [item.expr for item in node.items] == [shape]
        and not rows.is_unpivot
        and not rows.has_schema
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

    def __init__(self, node: ast.Select, datasets: OpenDataset, schema_of: SchemaOf) -> None:
        self.original = node.original
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
        # The schema is in the index, so that nothing is opened for it.
        self.has_schema = schema_of(tuple(tables)) is not None
        if self.is_unpivot and self.has_schema:
            raise Unsuited
        # To what depth the rows of each source are unfolded, and their types under a schema.
        self.levels = [self.scan.unfold(0, (), "struct") if self.is_unpivot else 0]
        self.types: list[ColumnType | None] = [None]
        for source, rows in zip(others, self.scope.rows[1:], strict=True):
            elements = None if rows is None or rows.elements is None else self._at(rows.elements)
            if elements is None or source.join != "CROSS":
                raise Unsuited
            self.levels.append(self.scan.unfold(elements.level, elements.path, "list"))
            self.types.append(self._element_type(rows))

    @property
    def under(self) -> SchemaRows | None:
        """The schema of the rows; None: they have none."""
        return self.scan.under if self.has_schema else None

    def _element_type(self, rows: SourceRows | None) -> ColumnType | None:
        """Return the type of the elements of a list under a schema."""
        under = self.under
        if under is None or rows is None or rows.elements is None:
            return None
        list_type = self.types[rows.elements.rows.number]
        element = under.place((*rows.elements.steps, 0), list_type)
        return None if element is None else element.type

    def filter(self, where: ast.Expr | None) -> None:
        """Push all of a condition into the scan."""
        parts = [self.pushed(part) for part in conjuncts(where)]
        if parts:
            self.scan.predicate = parts[0] if len(parts) == 1 else ("and", parts)

    def pushed(self, part: ast.Expr) -> Predicate:
        return Pusher([self.scan], self.resolve).push(part)[1]

    def resolve(self, expr: ast.Expr) -> FieldRef | None:
        """Return the place that a path leads to; ``None`` when it has none."""
        source_path = self.scope.place(expr)
        return None if source_path is None else self._at(source_path)

    def _at(self, source_path: SourcePath) -> FieldRef | None:
        level = self.levels[source_path.rows.number]
        if not level and not (source_path.steps and isinstance(source_path.steps[0], str)):
            return None
        if not level and is_pseudo(source_path.steps):
            # The engine finds out whether a field has the name.
            raise Unsuited
        under = self.under
        if under is None:
            return FieldRef(self.scan, level, source_path.steps)
        column = under.place(source_path.steps, self.types[source_path.rows.number])
        if column is None or not under.shows_all(column.type, None if level else column.path):
            # The engine knows defaults and structs with other names, and which names do not count.
            raise Unsuited
        return FieldRef(self.scan, level, column.path, column.type)

    def origin(self, expr: ast.Expr) -> FieldRef | None:
        """Return the place of a pseudo-column that no field can hide; None for other columns."""
        match self.scope.place(expr):
            case SourcePath(SourceRows(number=0), (Certain(),) as steps):
                return FieldRef(self.scan, 0, steps)
            case _:
                return None

    def field(self, expr: ast.Expr) -> FieldRef:
        """Return the place that a path leads to."""
        field = self.resolve(expr)
        if field is None:
            raise Unsuited
        return field

    def may_lack(self, field: FieldRef) -> bool:
        """Return whether rows without a key may have to stay."""
        return not (self.original or is_always_there(field))

    def outputs(self) -> list[tuple[str, FieldRef]]:
        """Return what ``*`` stands for: names and places, the empty name for a whole row."""
        outputs = [] if self.is_unpivot else self._row()
        for name, source_path in self.scope.names.items():
            if source_path is None:
                raise Unsuited
            element = self._at(source_path) if self.levels[source_path.rows.number] else None
            if element is not None:
                outputs.append((name, element))
        return outputs

    def _row(self) -> list[tuple[str, FieldRef]]:
        """Return a whole row, or its columns."""
        under = self.under
        if under is None:
            return [("", FieldRef(self.scan, 0, ()))]
        places = [(name, SourcePath(SourceRows(0), (name,))) for name in under.names]
        fields = [(name, self._at(path)) for name, path in places]
        return [(name, field) for name, field in fields if field is not None]

    @staticmethod
    def shape(field: FieldRef) -> Shape:
        """Return the types at a place."""
        if (kind := field.origin) is not None:
            return Shape(kind[1], 0, whole=kind[1] == NUMBER)
        return Shape(field.types)


def _columns(
    outputs: list[tuple[str, Shape, K]],
    *,
    typed: bool,
    declared: Callable[[K], ColumnType | None] = lambda _: None,
) -> tuple[tuple[Column, ...], list[tuple[K, str]]]:
    """Return the columns of the output, and what each column of the result is made of.

    * ``declared``: Returns the type that a schema says something has.
    """
    places: dict[tuple[K, str], int] = {}
    columns = []
    for name, shape, key in outputs:
        lanes = {
            letter: places.setdefault((key, letter), len(places))
            for letter in shape.letters(typed=typed)
        }
        columns.append(Column(name, lanes, shape.types, declared(key)))
    return tuple(columns), list(places)


def _of_rows(node: ast.Select, rows: _Rows, *, typed: bool) -> Take | TopK:
    if node.star:
        named = rows.outputs()
    else:
        named = [
            (name, rows.origin(expr) or rows.field(expr)) for name, expr in columns(node).items()
        ]
    scan, limit, offset = rows.scan, node.limit, node.offset or 0
    is_cut = limit is not None or offset > 0
    if node.order_by:
        has_origins = any(column.origin is not None for _, column in named)
        if limit is None or limit + offset > MOST_FIRST or scan.explode or has_origins:
            raise Unsuited
        keys: dict[Lane, int] = {}
        sort = []
        for sort_key in node.order_by:
            # Any letter: the lane only says where values are.
            column = rows.field(sort_key.expr)
            # The scan puts rows without a key behind all others, and that by a single key only.
            if rows.may_lack(column) and (len(node.order_by) > 1 or sort_key.nulls_first):
                raise Unsuited
            key = (column.level, column.path, "t")
            at = keys.setdefault(key, len(keys))
            sort.append((at, sort_key.descending, not sort_key.is_null_first))
    elif is_cut and (scan.explode or offset or len(node.sources) > 1):
        raise Unsuited
    outputs, places = _columns(
        [
            (name, rows.shape(column) if name else Shape(STRUCT, row=True), column)
            for name, column in named
        ],
        typed=typed,
        declared=lambda column: column.declared,
    )
    lanes = tuple([column.lane(letter) for column, letter in places])
    if node.order_by and limit is not None:
        keeps = rows.may_lack(rows.field(node.order_by[0].expr))
        return TopK(scan, outputs, tuple(keys), tuple(sort), lanes, limit, offset, keeps)
    return Take(scan, outputs, lanes, limit)


class _Grouping:
    """Groups in the making."""

    def __init__(self, node: ast.Select, rows: _Rows) -> None:
        self.node = node
        self.rows = rows
        self.lanes: dict[Lane, int] = {}
        self.calls: list[Accumulator] = []
        self.shapes: list[Callable[[], Shape]] = []
        self.declared: dict[int, ColumnType | None] = {}
        groups = [item.expr for item in node.group_by or ()]
        self.keys = [self._key(expr) for expr in groups]
        self.numbers = {expr: number for number, expr in enumerate(groups)}

    def operation(self, *, typed: bool) -> HashAggregate:
        """Return the operation."""
        numbered = [(name, self._number(expr)) for name, expr in columns(self.node).items()]
        sort = tuple(
            (self._number(sort.expr), sort.descending, not sort.is_null_first)
            for sort in self.node.order_by
        )
        shapes = [shape() for shape in self.shapes]
        wanted = [(name, shapes[number], number) for name, number in numbered]
        outputs, places = _columns(wanted, typed=typed, declared=self.declared.get)
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
            not self.rows.original,
        )

    def _number(self, expr: ast.Expr) -> int:
        """Return the place of a key or call among keys and calls."""
        if expr not in self.numbers:
            self.calls.append(self._call(expr))
            self.numbers[expr] = len(self.keys) + len(self.calls) - 1
        return self.numbers[expr]

    def _lane(self, expr: ast.Expr) -> int:
        # Any letter: the lane only says where values are.
        field = self.rows.field(expr)
        return self.lanes.setdefault((field.level, field.path, "t"), len(self.lanes))

    def _key(self, expr: ast.Expr) -> tuple[int, Grain | None]:
        if not isinstance(expr, ast.Call):
            field = self.rows.field(expr)
            self.declared[len(self.shapes)] = field.declared
            if self.rows.original:
                self.shapes.append(lambda: _group_shape(self.rows.shape(field).mask))
                return self._lane(expr), None
            if not field.types & ~MISSING:
                raise Unsuited
            absent = self._absent(field)
            self.shapes.append(lambda: _key_shape(self.rows.shape(field).mask, absent))
            return self._lane(expr), None
        absent = 0
        if expr.name in {"DATE_TRUNC", "DATE_BIN"} and not self.rows.original:
            field = self.rows.field(expr.args[0])
            if field.types & ~(TIME | NULL | MISSING):
                # The engine knows which texts are times, and counts those that are none.
                raise Unsuited
            absent = self._absent(field)
        self.shapes.append(lambda: Shape(TIME | absent, absent))
        if expr.name == "DATE_TRUNC":
            return self._lane(expr.args[0]), _grain(expr)
        if expr.name == "DATE_BIN":
            origin = expr.args[1]
            if not isinstance(origin, ast.Literal) or not isinstance(origin.value, ast.Instant):
                raise Unsuited
            return self._lane(expr.args[0]), ("us", stride_us(str(expr.part)), origin.value.us)
        raise Unsuited

    def _absent(self, field: FieldRef) -> int:
        """Return NULL if some rows may lack a key: they are in the group of that."""
        return NULL if field.types & NULL or self.rows.may_lack(field) else 0

    def _call(self, expr: ast.Expr) -> Accumulator:
        if isinstance(expr, ast.Literal):
            shape = _literal(expr.value)
            self.shapes.append(lambda: shape)
            return "constant", None, expr.value
        if not isinstance(expr, ast.Aggregate) or expr.over is not None or len(expr.args) > 1:
            raise Unsuited
        name, shape = _ACCUMULATORS.get(expr.name, ("", _COUNT))
        if expr.name == "COUNT":
            name = "distinct" if expr.distinct else "present" if expr.args else "rows"
        elif expr.distinct or not expr.args:
            raise Unsuited
        if not name:
            raise Unsuited
        # In sums TRUE counts as 1 to the engine; to the scan it is no number.
        is_sum = name in {"sum", "average"} and not expr.original
        if is_sum and has_flags(self.rows.field(expr.args[0]).types):
            raise Unsuited
        if expr.name in _OF_TIMES and (
            types := self.rows.field(expr.args[0]).types & (NUMBER | TIME | STRING | BOOL)
        ) not in {0, NUMBER}:
            # Of several types the numbers count first, which takes all of them.
            if types != TIME:
                raise Unsuited
            name, shape = _ACCUMULATORS[_OF_TIMES[expr.name]]
        self.shapes.append(lambda: shape)
        lane = self._lane(expr.args[0]) if expr.args else None
        return name, lane, self._which(expr)

    def _which(self, expr: ast.Aggregate) -> Predicate | None:
        """Return what rows have to be for an aggregate to count them."""
        where = None if expr.where is None else self._filter(expr.where)
        if expr.original or expr.name != "COUNT" or not expr.args:
            return where
        field = self.rows.field(expr.args[0])
        if not field.types & NULL:
            return where
        if field.level or not field.path:
            raise Unsuited
        present: Predicate = ("is", list(field.path), PRESENT)
        return present if where is None else ("and", [where, present])

    def _filter(self, where: ast.Expr) -> Predicate:
        predicate = self.rows.pushed(where)
        for path in _paths(predicate):
            self.lanes.setdefault((0, path, "t"), len(self.lanes))
        return predicate


def _key_shape(mask: int, absent: int) -> Shape:
    """Return the types of a key of groups.

    * ``absent``: NULL if it may be that.
    """
    types = mask & ~(MISSING | NULL)
    is_plain = types in LETTERS and types != NUMBER
    return Shape(types | absent, absent) if is_plain else Shape(types | absent)


def _group_shape(mask: int) -> Shape:
    """Return the types of a key of groups of the original: rows without it are in none."""
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
    match predicate:
        case ("and" | "or", parts):
            for part in parts:
                yield from _paths(part)
        case ("not", part):
            yield from _paths(part)
        case (_, path, *_):
            yield tuple(path)


# Paths that all rows have, as metadata proves it.


def is_always_there(field: FieldRef) -> bool:
    """Return whether it is certain that each row of a scan has a value at a path."""
    path = tuple([step for step in field.path if isinstance(step, str)])
    if field.level or not path or len(path) < len(field.path):
        return False
    parts: Sequence[PackfileScan] | None = getattr(field.scan.dataset, "read", None)
    return parts is not None and all(path in part.full_paths() for part in parts)
