"""Rows of a table with a schema: where a column lies in them, and which packfiles have it."""

from __future__ import annotations

from functools import cached_property

from sdb.errors import QueryError
from sdb.query.analyze.folding import fold
from sdb.query.syntax import ast, visitor
from sdb.query.syntax.operators import balanced, operands
from sdb.records import record, replace
from sdb.table.schema import eras
from sdb.table.schema.columns import instant_us, shown, walk
from sdb.table.schema.names import meant, named
from sdb.table.schema.types import DATE, TIMESTAMP, ListType, MapType, StructType, columns_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from sdb.packfile.read.reader import Packfile
    from sdb.packfile.trailer.fieldcounts import FieldPath
    from sdb.query.catalog.dataset import ValuePath
    from sdb.table.schema.columns import TableSchema
    from sdb.table.schema.types import ColumnType, TableColumn

_FALSE = ast.Literal(value=False)


@record
class ColumnPlace:
    """A value of rows under a schema: where it is stored, and its type."""

    path: ValuePath  # the way from the stored row on, or from the element of a list
    type: ColumnType


class SchemaRows:
    """Rows of packfiles under a schema.

    * ``present``: The eras of the packfiles.
    """

    def __init__(self, schema: TableSchema, present: Iterable[int]) -> None:
        self.schema = schema
        self.row = StructType(schema.columns)
        self._present = frozenset(present)
        self._presence: dict[int, bool | None] = {}
        # Returns the paths of all fields of the rows; None: they are not known
        self.find_fields: Callable[[], frozenset[FieldPath] | None] = lambda: None

    @cached_property
    def is_plain(self) -> bool:
        """True if all columns are the fields of their names."""
        return is_plain(self.schema)

    @cached_property
    def fields(self) -> frozenset[FieldPath] | None:
        """The paths of all fields of the rows; None: they are not known."""
        return self.find_fields()

    @property
    def names(self) -> list[str]:
        """The names of the columns."""
        return [column.name for column in self.schema.columns]

    def has(self, name: str) -> bool:
        """Return whether a column has the name."""
        return named(self.schema.columns, name) is not None

    def presence(self, column: TableColumn) -> bool | None:
        """Return whether packfiles have values of a column; None: some have, and others not."""
        if not column.since:
            return True
        if column.id not in self._presence:
            have = {eras.has_rows(self.schema, column, era) for era in self._present}
            self._presence[column.id] = None if len(have) > 1 else have != {False}
        return self._presence[column.id]

    @property
    def is_partial(self) -> bool:
        """True if some packfiles have values of a column, and others not."""
        return any(self.presence(column) is None for _, _, column in walk(self.schema.columns))

    def of_eras(self, present: Iterable[int]) -> SchemaRows:
        """Return the same of fewer packfiles."""
        rows = SchemaRows(self.schema, present)
        rows.find_fields = lambda: self.fields
        return rows

    def hidden(self, era: int) -> frozenset[int]:
        """Return the ids of the columns of which packfiles of an era have no value."""
        return frozenset(
            column.id
            for _, _, column in walk(self.schema.columns)
            if not eras.has_rows(self.schema, column, era)
        )

    def column(self, of: StructType, name: str) -> TableColumn:
        """Return the column of a name. Raises `QueryError` if the schema has no such column."""
        column = named(of.columns, name)
        if column is None:
            raise QueryError(
                f"the schema has no column {shown((name,))}", hint=meant(of.columns, name)
            )
        return column

    def place(self, steps: ValuePath, within: ColumnType | None = None) -> ColumnPlace | None:
        """Return where a value is stored; None: it is not a stored value alone, or no column.

        * ``steps``: Names of columns, and numbers of elements.
        * ``within``: The type of what they start at; the row if not given.
        """
        kind: ColumnType = self.row if within is None else within
        path: ValuePath = ()
        for step in steps:
            if isinstance(kind, StructType):
                column = named(kind.columns, step) if isinstance(step, str) else None
                if column is None or column.default is not None or not self.presence(column):
                    return None
                path, kind = (*path, *column.path), column.type
            else:
                path, kind = (*path, step), inside(kind, step)
        return ColumnPlace(path, kind)

    def stored(self, steps: ValuePath) -> ValuePath | None:
        """Return the path of a value in the stored rows; None: it has none of its own."""
        column = self.place(steps)
        return None if column is None else column.path

    def default_at(self, steps: ValuePath) -> ast.Literal | None:
        """Return what a column of rows shows of those without the field; None: nothing."""
        column = named(self.schema.columns, str(steps[0])) if steps else None
        return None if column is None or len(steps) > 1 else default_of(column)

    def shows_all(self, kind: ColumnType, path: ValuePath | None) -> bool:
        """Return whether a stored value is one of its type as it is: no field has another name.

        * ``path``: Where it is stored, from the row on; None: it is not known.
        """
        if not is_nested(kind):
            return True
        if path is None or not self._has_own_names(kind) or self.fields is None:
            return False
        return _has_all(kind, _tree(self.fields, path))

    def _has_own_names(self, kind: ColumnType) -> bool:
        """Return whether all columns in a type lie where their names say."""
        return all(
            column.path == (column.name,)
            and column.default is None
            and self.presence(column)
            and self._has_own_names(column.type)
            for column in columns_of(kind)
        )

    def condition(self, where: ast.Expr | None) -> ast.Expr | None:
        """Return a condition on stored rows that is TRUE whenever that on columns is.

        * ``where``: The condition, with constants folded; its paths start at the row.
        """
        written = () if where is None else operands(where, "AND")
        parts = [part for part in map(self._stored_part, written) if part is not None]
        return balanced("AND", parts) if parts else None

    def _stored_part(self, part: ast.Expr) -> ast.Expr | None:
        """Return a condition on stored rows; None: all rows may satisfy it."""
        if isinstance(part, ast.Binary) and part.op == "OR":
            sides = [self._stored_part(side) for side in (part.left, part.right)]
            return None if None in sides else ast.Binary("OR", *sides)  # type: ignore[arg-type]
        names = _StoredNames(self)
        moved = visitor.rewrite(part, stop=names.stored)
        if names.has_failed or len(names.defaults) > 1:
            return None
        if names.defaults and not self._fails(part, names.defaults.pop()):
            return None
        return moved

    def _fails(self, part: ast.Expr, default: ast.Literal) -> bool:
        """Return whether a condition on one column is not TRUE of its default."""

        def put(node: ast.Node) -> ast.Node | None:
            return default if isinstance(node, ast.Name | ast.Dot | ast.Index) else None

        if any(isinstance(node, ast.Among | ast.Subquery) for node in visitor.nodes(part)):
            return False
        folded = fold(visitor.rewrite(part, stop=put))
        return folded in (_FALSE, ast.Literal(None), ast.Missing())


class _StoredNames:
    """Replaces the columns of a condition by the fields that have their values."""

    def __init__(self, rows: SchemaRows) -> None:
        self._rows = rows
        self.has_failed = False  # whether a column has no field of its own
        self.defaults: set[ast.Literal] = set()  # what columns show of rows without the field

    def stored(self, node: ast.Node) -> ast.Node | None:
        """Return what stands for a node as a whole, if it does."""
        if isinstance(node, ast.Subquery | ast.Exists | ast.Aggregate):
            self.has_failed = True
            return node
        if isinstance(node, ast.Among):  # of whose path no visitor knows
            path = self._rows.stored(steps_of(node.path) or ())
            self.has_failed |= not path
            return replace(node, path=expression_of(path, node.path)) if path else node
        steps = steps_of(node) if isinstance(node, ast.Name | ast.Dot | ast.Index) else None
        return None if steps is None else self._field(steps, node)

    def _field(self, steps: ValuePath, node: ast.Node) -> ast.Node:
        default = self._rows.default_at(steps)
        column = named(self._rows.schema.columns, str(steps[0]))
        if default is not None and column is not None:
            self.defaults.add(default)
            return expression_of(column.path, node)
        path = self._rows.stored(steps)
        self.has_failed |= not path
        return expression_of(path, node) if path else node


class NamedPacks(list["Packfile"]):
    """Packfiles of which queries name columns: fields of rows have other names."""

    def __init__(self, packs: Iterable[Packfile], rows: SchemaRows) -> None:
        super().__init__(packs)
        self.rows = rows


def is_plain(schema: TableSchema) -> bool:
    """Return whether all columns are the fields of their names, in all packfiles."""
    return all(
        names == path and column.default is None and not (column.since or column.aliases)
        for names, path, column in walk(schema.columns)
    )


def is_nested(kind: ColumnType) -> bool:
    """Return whether values of a type have columns inside."""
    if isinstance(kind, ListType):
        return is_nested(kind.item)
    if isinstance(kind, MapType):
        return is_nested(kind.value)
    return isinstance(kind, StructType)


def inside(kind: ColumnType, step: str | int) -> ColumnType:
    """Return the type of an element of a list, or of a value of a map; else any."""
    from sdb.table.schema.types import VARIANT

    if isinstance(kind, ListType) and isinstance(step, int):
        return kind.item
    if isinstance(kind, MapType) and isinstance(step, str):
        return kind.value
    return VARIANT


def default_of(column: TableColumn) -> ast.Literal | None:
    """Return what a column shows of rows without its field; None: nothing."""
    default = column.default
    if default is None:
        return None
    if column.type in {TIMESTAMP, DATE} and isinstance(default, str):
        us = instant_us(default)
        return None if us is None else ast.Literal(ast.Instant(us))
    return ast.Literal(default)


def steps_of(path: ast.Node) -> ValuePath | None:
    """Return the steps of a path; None for other expressions."""
    if isinstance(path, ast.Name):
        return (path.name,)
    if isinstance(path, ast.Dot | ast.Index):
        base = steps_of(path.base)
        step = path.name if isinstance(path, ast.Dot) else path.index
        return None if base is None else (*base, step)
    return None


def expression_of(path: ValuePath, node: ast.Node) -> ast.Expr:
    """Return the expression of a path from the row on, in the place of another."""
    expr: ast.Expr = ast.Name(str(path[0]), span=node.span)
    for step in path[1:]:
        if isinstance(step, int):
            expr = ast.Index(expr, step, span=node.span)
        else:
            expr = ast.Dot(expr, step, span=node.span)
    return expr


def _tree(fields: Iterable[FieldPath], path: ValuePath) -> Mapping[str | None, object]:
    """Return the fields below a path as a tree."""
    tree: dict[str | None, object] = {}
    for field in fields:
        if field[: len(path)] == path:
            branch = tree
            for step in field[len(path) :]:
                branch = branch.setdefault(step, {})  # type: ignore[assignment]
    return tree


def _has_all(kind: ColumnType, tree: Mapping[str | None, object]) -> bool:
    """Return whether a type has a column for each field of a tree."""
    names = {name: branch for name, branch in tree.items() if name is not None}
    items = tree.get(None, {})
    if isinstance(kind, ListType):
        return _has_all(kind.item, items)  # type: ignore[arg-type]
    if isinstance(kind, MapType):
        return all(_has_all(kind.value, branch) for branch in names.values())  # type: ignore[arg-type]
    if not isinstance(kind, StructType):
        return True
    for name, branch in names.items():
        column = named(kind.columns, name)
        if column is None or column.name != name:
            return False
        if not _has_all(column.type, branch):  # type: ignore[arg-type]
            return False
    return True
