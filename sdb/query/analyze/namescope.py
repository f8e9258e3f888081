"""Names that the sources of a select bring, and the rows that they lead to."""

from __future__ import annotations

from sdb.query.analyze.refusals import refuse
from sdb.query.syntax import ast, printer, visitor
from sdb.query.syntax.clauses.listtables import is_hidden, labels
from sdb.records import record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping


@record
class SourceRows:
    """The rows of a source."""

    number: int  # the number of the source in its select
    # The tables that have the rows; none where they are made of others
    tables: tuple[ast.Table, ...] = ()
    elements: SourcePath | None = None  # the list that they are the elements of


@record
class SourcePath:
    """The way from the rows of a source to a value: names of fields, and numbers of elements."""

    rows: SourceRows
    steps: tuple[str | int, ...] = ()

    def read(self) -> ast.FieldRead | None:
        """Return the field that this is of tables; None for others, as a value of UNPIVOT."""
        if self.rows.tables:
            return ast.FieldRead(self.rows.tables, self.steps)
        outer = None if self.rows.elements is None else self.rows.elements.read()
        if outer is None:
            return None
        return ast.FieldRead(outer.tables, (*outer.steps, None, *self.steps))


@record
class NameScope:
    """The names that expressions of a select may use."""

    # Aliases of sources, labels of UNPIVOT, and what else stands for a value; None where it is not
    # known which
    names: Mapping[str, SourcePath | None]
    raw: frozenset[str]  # those of `names` that stand for whole tables
    queries: frozenset[str]  # names of sub-queries, behind which (``q.x``) stand columns
    needless: str | None  # the one of these that may be left out
    fields: bool  # whether a bare name may be a field
    outer: NameScope | None  # the names of the select around it
    rows: tuple[SourceRows | None, ...] = ()  # those of each source; None where they are not known
    bare: SourceRows | None = None  # those whose fields bare names are
    unsure: bool = False  # whether it depends on the rows which ones these are

    def place(self, path: ast.Expr) -> SourcePath | None:
        """Return place that a path leads to; None where that is not certain, or it is no path."""
        if isinstance(path, ast.Dot | ast.Index):
            base = self.place(path.base)
            step = path.name if isinstance(path, ast.Dot) else path.index
            return None if base is None else SourcePath(base.rows, (*base.steps, step))
        if not isinstance(path, ast.Name):
            return None
        if path.name in self.names:
            return self.names[path.name]
        if self.bare is not None:
            return SourcePath(self.bare, (path.name,))
        return None if self.unsure or self.outer is None else self.outer.place(path)

    def lenders(self, name: str) -> tuple[ast.Table, ...] | None:
        """Return the tables further out whose field a bare name is where no row here has it.

        ``None`` where it may be something else there.
        """
        tables: tuple[ast.Table, ...] = ()
        scope = self.outer
        while scope is not None:
            is_known = scope.bare is not None and bool(scope.bare.tables)
            if name in scope.names or scope.unsure or (scope.fields and not is_known):
                return None
            tables += () if scope.bare is None else scope.bare.tables
            scope = scope.outer
        return tables

    def knows(self, name: str) -> bool:
        """Return whether a name may stand for something."""
        own = self.fields or name in self.names
        return own or (self.outer is not None and self.outer.knows(name))

    @property
    def has_tables(self) -> bool:
        """Return whether a table with an alias is here or further out."""
        return bool(self.raw) or (self.outer is not None and self.outer.has_tables)

    def is_raw(self, name: str) -> bool:
        """Return whether a name stands for a whole table."""
        if name in self.names:
            return name in self.raw
        return not self.fields and self.outer is not None and self.outer.is_raw(name)

    @property
    def empty(self) -> bool:
        """Return whether there is no source at all."""
        return not self.fields and not self.names and self.outer is None

    def check(self, path: ast.Expr, root: str) -> None:
        """Refuse a path whose first name cannot stand for anything."""
        if self.knows(root):
            if isinstance(path, ast.Name) and self.is_raw(root):
                refuse("planning query: cannot reference raw table", path)
            return
        if self.has_tables and (isinstance(path, ast.Name) or len(self.rows) > 1):
            # Rows decide whose field it is. In front of a path behind the only table it is an alias
            # that there is not.
            return
        if self.empty:
            text = printer.text(path)
            fault = f"planning query: path {text} references an unbound variable"
            refuse(fault, path, "the query has no FROM")
        aliases = sorted(self.names)
        hint = f"it is one of {', '.join(aliases)}" if aliases else None
        if aliases and isinstance(path, ast.Name):
            hint = f"fields stand behind an alias: {aliases[0]}.{root}"
        refuse(f'planning query: reference to undefined variable "{root}"', path, hint)


def scope_of(select: ast.Select, outer: NameScope | None, withs: frozenset[str]) -> NameScope:
    """Return the names that the sources of a select bring."""
    names: dict[str, SourcePath | None] = {}
    raw: set[str] = set()
    queries: set[str] = set()
    source_rows: list[SourceRows | None] = []
    fields = unsure = False
    for number, source in enumerate(select.sources):
        table, alias = source.table, source.alias
        rows = _rows(number, table, names, frozenset(raw | queries), outer, withs)
        source_rows.append(rows)
        unsure = unsure or ((alias is None or rows is None) and not is_hidden(table))
        root = visitor.root_name(table.expr) if isinstance(table, ast.PathTable) else None
        head = None if root is None else root.name
        is_query = _is_query(table, withs)
        if isinstance(table, ast.ListTable):
            names.update(dict.fromkeys(labels(table)))
            continue
        if isinstance(table, ast.UnpivotTable):
            names.update(_unpivoted(number, table))
        elif is_query:
            queries |= {alias or head or ""}
        elif alias is not None and not (
            head is not None and (fields or _is_list(table, names, frozenset(raw | queries), outer))
        ):
            raw.add(alias)
        label = alias
        if alias is None and rows is not None and rows.elements is not None:
            steps = rows.elements.steps
            label = str(steps[-1]) if steps else head
        if label is not None:
            path = None if rows is None else SourcePath(rows)
            names[label] = None if label in names else path
        fields = fields or alias is None or is_query
    names = {**{name: None for source in select.sources for name in source.using}, **names}
    alone = len(select.sources) == 1 and queries
    needless = next(iter(queries)) if alone else None
    shown = [source.alias for source in select.sources if not is_hidden(source.table)]
    bare = source_rows[0] if shown == [None] else None
    if bare is not None and bare.elements is not None:
        bare = None
    return NameScope(
        names,
        frozenset(raw),
        frozenset(queries),
        needless,
        fields,
        outer,
        tuple(source_rows),
        bare,
        unsure and bare is None,
    )


def _unpivoted(number: int, table: ast.UnpivotTable) -> dict[str, SourcePath | None]:
    """Return the names of a value and of its key."""
    names: dict[str, SourcePath | None] = {}
    if table.value is not None:
        names[table.value] = SourcePath(SourceRows(number))
    if table.key is not None:
        names[table.key] = None
    return names


def _rows(
    number: int,
    table: ast.Table,
    names: Mapping[str, SourcePath | None],
    whole: frozenset[str],
    outer: NameScope | None,
    withs: frozenset[str],
) -> SourceRows | None:
    """Return the rows of a source; None where they are those of a query, or not known.

    * ``whole``: Those of `names` that stand for tables or queries.
    """
    if isinstance(table, ast.ConcatTable):
        parts = [_rows(number, part, names, whole, outer, withs) for part in table.tables]
        if any(part is None or part.elements for part in parts):
            return None
        return SourceRows(number, tuple([table for part in parts if part for table in part.tables]))
    if isinstance(table, ast.PathTable):
        root = visitor.root_name(table.expr)
        if root is None:
            return None
        if _is_list(table, names, whole, outer):
            nothing: frozenset[str] = frozenset()
            scope = NameScope(names, nothing, nothing, None, fields=False, outer=outer)
            path = scope.place(table.expr)
            return None if path is None else SourceRows(number, elements=path)
        return SourceRows(number, (table,)) if root.name not in withs else None
    return SourceRows(number, (table,)) if isinstance(table, ast.CallTable) else None


def _is_query(table: ast.Table, withs: frozenset[str]) -> bool:
    """Return whether the rows of a table are those of a query."""
    if isinstance(table, ast.ConcatTable):
        return any(_is_query(part, withs) for part in table.tables)
    if isinstance(table, ast.PathTable):
        return isinstance(table.expr, ast.Name) and table.expr.name in withs
    return isinstance(table, ast.QueryTable | ast.SetTable)


def _is_list(
    table: ast.Table,
    names: Mapping[str, SourcePath | None],
    whole: frozenset[str],
    outer: NameScope | None,
) -> bool:
    """Return whether a table is a list in the rows of a source before it, or further out.

    A name by itself that such a source has is that of a table, as in `FROM t JOIN t AS other`.
    """
    root = visitor.root_name(table.expr) if isinstance(table, ast.PathTable) else None
    if root is None or not isinstance(table, ast.PathTable):
        return False
    while True:
        if root.name in names:
            return table.expr != root or root.name not in whole
        if outer is None:
            return False
        names, whole, outer = outer.names, outer.raw | outer.queries, outer.outer
