"""Fields and rows of a Delta or Iceberg table that a query may need.

This is seen before names have their meaning: whatever may be a field of the table counts as one.
"""

from __future__ import annotations

from sdb.lake.columns import STRUCT
from sdb.lake.names import lake_name
from sdb.lake.rowtests import RowTest, TestedConstant
from sdb.query.catalog.dataset import last_name, table_name
from sdb.query.catalog.locations import candidates
from sdb.query.catalog.pseudo import names_origins
from sdb.query.catalog.reduction import field_path
from sdb.query.syntax import ast, literals, visitor
from sdb.query.syntax.operators import MIRRORED
from sdb.records import record, replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import TypeAlias

    from sdb.lake.columns import LakeColumn, LakeColumns
    from sdb.packfile.trailer.trailer import Trailer

    Path: TypeAlias = tuple[str, ...]

_NULL_BIT = 1
_MOST_VALUES = 16
_OF_ANY_TYPE = ("decimal", "variant")
"""Types of columns whose values are of several types in rows."""


@record
class LakeFields:
    """The needs of a query for rows of a table, by the names in its text."""

    is_whole: bool  # whether it needs all fields
    paths: frozenset[Path]  # from wherever they start; none goes into a list
    labels: frozenset[str]  # names of the table in it, in lower case
    others: frozenset[str]  # names of other tables and of columns of queries
    tests: tuple[RowTest, ...]  # what its condition asks of rows, by paths as they are written

    def chosen(self, columns: LakeColumns) -> ChosenFields | None:
        """Return the same by the columns of the table; None: some names may be something else."""
        known = {column.name: column for column in columns.columns}
        chosen: set[Path] = set()
        for path in self.paths:
            first, is_label = path[0], path[0].lower() in self.labels
            if is_label and (len(path) == 1 or first in known):
                return None
            if not (first in known or first in self.others or (is_label and path[1] in known)):
                return None
            chosen |= {path[at:] for at, name in enumerate(path) if name in known}
        shown = {(name,) for name in known} if self.is_whole else set()
        named = {(path[0], *_in_structs(known[path[0]], path[1:])) for path in chosen}
        tests = [test if test.path[0] in known else _below_label(test) for test in self.tests]
        has_types = not any(_is_of_any_type(known[path[0]], path[1:]) for path in named)
        paths = None if self.is_whole else frozenset(chosen)
        return ChosenFields(
            paths, frozenset(named), frozenset(shown), tuple(tests) if has_types else ()
        )


@record
class ChosenFields:
    """Fields of a table, and tests of rows: their paths start at the row."""

    paths: frozenset[Path] | None  # fields that are read; None: all
    named: frozenset[Path]  # fields of which the types matter, up to lists and maps
    shown: frozenset[Path]  # fields of which it matters whether there are any
    tests: tuple[RowTest, ...]

    def are_known_from(self, trailer: Trailer) -> bool:
        """Return whether a packfile of the fields, and some of the rows, tells of them as all do.

        The values of a column have one type: where one of them is there, others add none. Where
        all are missing the whole tells what may have been meant.
        """
        summary = trailer.sparse.summary
        if summary is None or not summary.complete:
            return False
        nothing = _NULL_BIT if self.tests else 0
        types = summary.types
        return all(types.get(path, 0) & ~nothing for path in self.named) and all(
            path in types for path in self.shown
        )


def _below_label(test: RowTest) -> RowTest:
    return replace(test, path=test.path[1:])


def _in_structs(column: LakeColumn, names: Path) -> Path:
    """Return the first names of a path in a column, as far as it leads through structs."""
    kind = column.type
    for number, name in enumerate(names):
        if kind.name != STRUCT:
            return names[:number]
        part = next((part for part in kind.parts if part.name == name), None)
        if part is None:
            break
        kind = part.type
    return names


def _is_of_any_type(column: LakeColumn, names: Path) -> bool:
    """Return whether values at a path in a column may have several types in rows."""
    kind = column.type
    for name in names:
        kind = next((part.type for part in kind.parts if part.name == name), kind)
    return kind.name.startswith(_OF_ANY_TYPE)


def fields_of(statement: ast.Statement, location: str, root: str) -> LakeFields | None:
    """Return what a statement may need of a table; None: where its rows are, or too much to tell.

    * ``location``: The table, as `candidates` has it.
    """
    if statement.described is not None or names_origins(statement):
        return None
    every = list(visitor.nodes(statement))
    selects = [node for node in every if isinstance(node, ast.Select)]
    sources = [source for select in selects for source in select.sources]
    are_whole = any(isinstance(node, ast.PivotTable | ast.UnpivotTable) for node in every)
    if are_whole or any(source.natural for source in sources):
        return None
    own = {id(source) for source in sources if _is_of(source.table, location, root)}
    labels = {_label(source).lower() for source in sources if id(source) in own}
    paths = {*_paths(statement), *((name,) for source in sources for name in source.using)}
    paths |= {select.fill.path for select in selects if select.fill is not None}
    others = {_label(source) for source in sources if id(source) not in own}
    others |= {name for node in every for name in _made_names(node)}
    others |= {name for name, _ in statement.with_}
    if len(selects) > 1:
        items = [item for select in selects for item in select.items]
        others |= {last_name(item.expr) for item in items}
    is_whole = any(isinstance(node, ast.Aggregate) and _takes_rows(node) for node in every)
    is_whole |= any(
        _has_star(select) and any(id(source) in own for source in select.sources)
        for select in selects
    )
    is_plain = len(selects) == len(sources) == 1
    is_plain &= not any(isinstance(node, ast.Cast) for node in every)
    tests = _tests(statement.select.where) if is_plain else []
    tests = [test for test in tests if test.path[0] not in others]
    return LakeFields(
        is_whole, frozenset(paths - {()}), frozenset(labels), frozenset(others), tuple(tests)
    )


def _is_of(table: ast.Table, location: str, root: str) -> bool:
    """Return whether a table in a query is the one at a location, or has rows of it."""
    if isinstance(table, ast.ConcatTable):
        return any(_is_of(part, location, root) for part in table.tables)
    name = table_name(table)
    if name is None or len(name.parts) != 1 or lake_name(name.parts[0]) is None:
        return False
    return candidates(name, root) == [location]


def _made_names(node: ast.Node) -> list[str]:
    """Return names that a node gives, or that lead to a table."""
    match node:
        case ast.Item(alias=str() as alias):
            return [alias]
        case ast.ListTable():
            return [node.value, *node.more, *filter(None, (node.ordinal, node.label))]
        case ast.PathTable():
            root = visitor.root_name(node.expr)
            return [] if root is None else [root.name]
    return []


def _takes_rows(call: ast.Aggregate) -> bool:
    return call.star and (call.name != "COUNT" or call.distinct)


def _has_star(select: ast.Select) -> bool:
    nodes = visitor.nodes(select, into_selects=False)
    return select.star or any(isinstance(node, ast.Star) for node in nodes)


def _label(source: ast.Source) -> str:
    """Return the name of a source in its query; empty: it has none."""
    is_path = source.alias is None and isinstance(source.table, ast.PathTable)
    return last_name(source.table.expr) if is_path else source.alias or ""  # type: ignore[union-attr]


def _paths(root: ast.Node) -> Iterator[Path]:
    """Yield the paths of all names below a node, up to the first element of a list in each."""
    waiting = [root]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.CallTable) or _is_named_lake(node):
            continue
        path = _path(node)
        if path is not None:
            yield path
        else:
            waiting += visitor.children(node)


def _is_named_lake(node: ast.Node) -> bool:
    name = node.expr if isinstance(node, ast.PathTable) else None
    return isinstance(name, ast.Name) and lake_name(name.name) is not None


def _path(node: ast.Node) -> Path | None:
    """Return the names of a path that is not empty, up to the first element of a list."""
    names: list[str] = []
    while isinstance(node, ast.Dot | ast.Index):
        names = [node.name, *names] if isinstance(node, ast.Dot) else []
        node = node.base
    return (node.name, *names) if isinstance(node, ast.Name) else None


def _tests(where: ast.Expr | None) -> list[RowTest]:
    """Return tests that each row passes for which a condition is TRUE."""
    tests: list[RowTest] = []
    waiting = [where]
    while waiting:
        match waiting.pop():
            case ast.Binary("AND", left, right):
                waiting += [left, right]
            case ast.Binary(op, left, right) if op in MIRRORED and op != "<>":
                tests += _test(left, op, right) or _test(right, MIRRORED[op], left)
            case ast.Between(operand, low, high):
                tests += [*_test(operand, ">=", low), *_test(operand, "<=", high)]
            case ast.In(operand, tuple() as items):
                tests += _test(operand, "=", *items)
    return tests


def _test(operand: ast.Expr, op: str, *others: ast.Expr) -> list[RowTest]:
    path = field_path(operand)
    values = [_constant(other) for other in others]
    if path is None or None in path or None in values or not 0 < len(values) <= _MOST_VALUES:
        return []
    return [RowTest(path, op, tuple(values))]  # type: ignore[arg-type]  # there is no None


def _constant(expr: ast.Expr) -> TestedConstant | None:
    match expr:
        case ast.Literal(ast.Instant(us)):
            return TestedConstant(us=us)
        case ast.Literal(str() as text):
            moment = literals.moment(text)
            return TestedConstant(text=text, us=None if moment is None else moment.us)
        case ast.Literal(int() as number) if type(number) is int:
            return TestedConstant(number=number)
    return None
