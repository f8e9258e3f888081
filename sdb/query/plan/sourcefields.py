"""Names that the sources of FROM have: fields of tables, columns of queries, values with names."""

from __future__ import annotations

from sdb.query.analyze.dialects import is_standard
from sdb.query.catalog.dataset import last_name, table_name
from sdb.query.syntax import ast
from sdb.query.syntax.clauses.joins import HIDDEN
from sdb.query.syntax.clauses.listtables import labels
from sdb.query.syntax.outputnames import naming_sides, output_names
from sdb.query.syntax.visitor import root_name
from sdb.records import changing_record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeAlias

    from sdb.query.catalog.dataset import TableName

    HasField: TypeAlias = Callable[[tuple[TableName, ...], str], bool]


@changing_record
class Holder:
    """A source, as names see it."""

    source: ast.Source
    label: str | None  # its name, which stands in front of its fields
    words: frozenset[str]  # names of its values
    has: Callable[[str], bool]  # whether it has a field
    is_table: bool = False
    is_open: bool = False  # whether its rows may have any field
    lent_label: str | None = None  # the name that it gets, since it has none
    title: str = ""  # what people call it


class SourceFields:
    """Looks names up, each once."""

    def __init__(self, statement: ast.Statement, has: HasField) -> None:
        self._dialect = statement.dialect
        self._queries = dict(statement.with_)
        self._recursive = frozenset(statement.recursive)
        self._has = has
        self._known: dict[tuple[tuple[TableName, ...], str], bool] = {}

    def holder(self, source: ast.Source, *, is_list: bool) -> Holder:
        """Return a source as names see it.

        * ``is_list``: Whether it is a list in the rows of another one.
        """
        table, alias = source.table, source.alias
        words = self._words(source, is_list=is_list)
        if words is not None:
            return Holder(source, None, words, lambda _: False)
        is_query = self._is_query(table)
        label, title = alias, alias or ""
        if isinstance(table, ast.PathTable):
            title = alias or last_name(table.expr)
            label = title if is_query else alias

        def has(name: str) -> bool:
            return self.has(table, name)

        is_open = not is_query or self._is_open(table)
        return Holder(source, label, frozenset(), has, not is_query, is_open, title=title)

    def _words(self, source: ast.Source, *, is_list: bool) -> frozenset[str] | None:
        """Return the names of values; None for rows with fields."""
        table = source.table
        if isinstance(table, ast.ListTable):
            return frozenset(labels(table))
        if isinstance(table, ast.UnpivotTable):
            return frozenset([word for word in (table.value, table.key) if word])
        if isinstance(table, ast.PathTable) and is_list:
            return frozenset([source.alias or last_name(table.expr)])
        return None

    def _named(self, table: ast.Table) -> ast.Select | None:
        """Return the query of WITH that a table is."""
        if isinstance(table, ast.PathTable) and isinstance(table.expr, ast.Name):
            return self._queries.get(table.expr.name)
        return None

    def _is_query(self, table: ast.Table) -> bool:
        if isinstance(table, ast.ConcatTable):
            return any(map(self._is_query, table.tables))
        is_query = isinstance(table, ast.QueryTable | ast.SetTable)
        return is_query or self._named(table) is not None

    def _is_open(self, table: ast.Table) -> bool:
        """Return whether a query gives rows as they are."""
        if isinstance(table, ast.ConcatTable):
            return any(map(self._is_open, table.tables))
        if isinstance(table, ast.SetTable):
            return self._is_open(ast.QueryTable(table.left))
        select = table.select if isinstance(table, ast.QueryTable) else self._named(table)
        if select is None:
            return not isinstance(table, ast.ListTable | ast.UnpivotTable)
        if self._recurses(table):
            return False
        return select.star and any(self._is_open(source.table) for source in select.sources)

    def _recurses(self, table: ast.Table) -> bool:
        """Return whether a table is a query of WITH that reads its own rows."""
        name = getattr(table.expr, "name", "") if isinstance(table, ast.PathTable) else ""
        return name in self._recursive

    def has(self, table: ast.Table, name: str) -> bool:
        """Return whether rows of a table may have a field of a name."""
        if isinstance(table, ast.ConcatTable):
            return any(self.has(part, name) for part in table.tables)
        if isinstance(table, ast.SetTable):
            keeps = is_standard(table.left, self._dialect)
            sides = naming_sides(table, is_standard=keeps)
            return any(self._gives(side, name) for side in sides)
        if isinstance(table, ast.QueryTable):
            return self._gives(table.select, name)
        query = self._named(table)
        if query is not None:
            # Rows of a recursion have the columns of the first ones.
            first = query.sources[0].table if self._recurses(table) else None
            return self._gives(first.left if isinstance(first, ast.SetTable) else query, name)
        known = table_name(table)
        return known is not None and self._of_table((known,), name)

    def _of_table(self, tables: tuple[TableName, ...], name: str) -> bool:
        if (tables, name) not in self._known:
            self._known[tables, name] = self._has(tables, name)
        return self._known[tables, name]

    def _gives(self, select: ast.Select, name: str) -> bool:
        """Return whether rows of a query may have a column of a name."""
        if not select.star:
            return name in output_names(select)
        seen: set[str] = set()
        for source in select.sources:
            root = root_name(source.table.expr) if isinstance(source.table, ast.PathTable) else None
            words = self._words(source, is_list=root is not None and root.name in seen)
            seen |= {source.alias or "", *(words or ())}
            if source.join in HIDDEN:
                continue
            if name in words if words is not None else self.has(source.table, name):
                return name not in select.excluded
        return False
