"""Views of a query, written out: where one is named stands its text as a sub-query.

The tables of the text become calls of `TABLE_THROUGH`, which no query can write: they are never a
list of a row or the name of a WITH query of the query around them, know the view for errors, and
may be read by all who may read the view.
"""

from __future__ import annotations

from functools import lru_cache

from sdb import instants, notes
from sdb.errors import QueryError, UnsupportedError
from sdb.query.analyze.dialects import STANDARD, marked
from sdb.query.catalog.dataset import last_name, table_name
from sdb.query.catalog.locations import database_and_table, version_in_quotes
from sdb.query.catalog.pseudo import may_name_pseudo
from sdb.query.syntax import ast, versions, visitor
from sdb.query.syntax.clauses import withqueries
from sdb.query.syntax.cursor import MAX_HEIGHT
from sdb.query.syntax.parser import parse
from sdb.query.syntax.printer import table as table_text
from sdb.records import record, replace
from sdb.table.format.versionref import VersionReference, parse_reference, parse_time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeAlias, TypeVar

    _AnyNode = TypeVar("_AnyNode", bound=ast.Node)

    from sdb.query.catalog.dataset import TableName
    from sdb.query.catalog.viewperiod import ViewPeriod
    from sdb.table.catalog.views import View
    from sdb.table.format.view import ViewVersion

    Look: TypeAlias = "Callable[[TableName, tuple[str, str], bool], View | None]"
    """Finds the view that a name means, if it is not that of a table: by how it is named, by
    database and view, and by whether a view names it."""

MOST_LEVELS = 16
"""Views may read each other so deep."""
MOST_VIEWS = 256
"""Most views that a query reads, with those that views read."""
_ALL_TABLES = ("sdb", "tables")
_NOTHING: frozenset[str] = frozenset()


@record
class UsedView:
    """A view that a query reads."""

    view: View
    version: ViewVersion  # the version whose text it reads


def through(name: TableName, names: tuple[str, str], view: str, moment_us: int | None) -> ast.Table:
    """Return the table that a view names, as one that is read through the view.

    * ``names``: Its database and name.
    * ``moment_us``: The moment as of which it is read if its name has no version.
    """
    at, span = version_of(name), name.span
    if at is None and moment_us is not None:
        at = "TIMESTAMP", moment_us
    path = ast.Dot(ast.Name(names[0], span=span), names[1], span=span)
    args: list[ast.Expr] = [path, ast.Literal(view, span=span)]
    if at is not None:
        kind, value = at
        is_instant = kind == "TIMESTAMP" and isinstance(value, int)
        literal = ast.Instant(value) if is_instant else value  # type: ignore[arg-type]
        args += [ast.Literal(kind, span=span), ast.Literal(literal, span=span)]
    return ast.CallTable(versions.THROUGH, tuple(args), span=span)


def version_of(name: TableName) -> tuple[str, str | int] | None:
    """Return the version that a name asks for."""
    return name.at or (("ANY", text) if (text := version_in_quotes(name)) else None)


@lru_cache(64)
def _parsed(text: str, dialect: str) -> ast.Statement:
    """Parse the text of a view; the query is the only table of the statement."""
    return marked(parse(in_parentheses(text)), dialect or STANDARD)


def in_parentheses(text: str) -> str:
    """Return a statement with the text of a view as a sub-query; the text may end in a comment."""
    return f"SELECT * FROM (\n{text}\n)"  # noqa: S608 - it is SQL


class ViewExpansion:
    """Writes the views of a query out.

    * ``root``: Folder or URL that relative paths start at; the current folder when empty.
    * ``at``: The version of tables and views of which the query does not name one.
    * ``times``: Chooses the rows of views that the query names, by time; None: all of them.
    """

    def __init__(self, look: Look, root: str, at: str, times: ViewPeriod | None = None) -> None:
        self.used: list[UsedView] = []
        self._look = look
        self.root = root
        self._at, self._times = at, times
        self.entries: list[tuple[str, ast.Select]] = []
        self._recursive: list[str] = []
        self.dialect = STANDARD

    def statement(self, statement: ast.Statement) -> ast.Statement:
        """Return a statement whose views are written out; the same where it names none.

        Raises `QueryError` if views read each other in a circle, or too deep, or there are too
        many; `NotFoundError` if there is no such version of a view; `CorruptError` if a view is
        damaged.
        """
        self.dialect = statement.dialect or STANDARD
        return self._whole(statement, _Level(self, (), None))

    def of_text(self, statement: ast.Statement, view: str) -> ast.Statement:
        """Return a statement as one that is the text of a view; see :meth:`statement`.

        Raises `UnsupportedError` if it reads something else than tables and views.
        """
        withs = frozenset(name for name, _ in statement.with_)
        return self._whole(statement, _Level(self, (view,), None, withs=withs))

    def _whole(self, statement: ast.Statement, level: _Level) -> ast.Statement:
        try:
            written = level.whole(statement)
        except QueryError as error:
            raise error.inside(statement.text) from None
        entries = (*self.entries, *written.with_)
        recursive = (*self._recursive, *written.recursive)
        written = replace(written, with_=entries, recursive=recursive)
        if visitor.too_deep(written, MAX_HEIGHT):
            raise QueryError("views nested too deeply", query=statement.text)
        return written

    def query(
        self, name: TableName, names: tuple[str, str], chain: tuple[str, ...], moment_us: int | None
    ) -> ast.Select | None:
        """Return the query that the name of a view stands for; None: it is not one.

        * ``chain``: The views around it, the outermost first.
        * ``moment_us``: The moment as of which these read; None: no view around it has a version.
        """
        view = self._look(name, names, bool(chain))
        if view is None:
            return None
        around = (*chain, view.name)
        if view.name in chain:
            way = " -> ".join(around[chain.index(view.name) :])
            raise refused(f"views read each other in a circle: {way}", name)
        if len(around) > MOST_LEVELS:
            raise refused(f"views read views, more than {MOST_LEVELS} deep: {view.name}", name)
        if len(self.used) == MOST_VIEWS:
            raise refused(f"the query reads more than {MOST_VIEWS} views", name)
        version, moment_us = self._version(view, name, moment_us)
        self.used.append(UsedView(view, version))
        entries, select = self._own_names(
            _parsed(version.text, version.dialect), f"{view.name} {len(self.used)}"
        )
        withs = frozenset(entry for entry, _ in entries)
        level = _Level(self, around, moment_us, name.span, withs)
        for entry, entry_select in entries:
            self.entries.append((entry, level.select(entry_select, _NOTHING, is_free=True)))
        written = level.select(select, _NOTHING, is_free=True)
        if self._times is None or chain:
            return written
        return merged(self._times.chosen(written, view.name), self.dialect)

    def _version(
        self, view: View, name: TableName, moment_us: int | None
    ) -> tuple[ViewVersion, int | None]:
        """Return the version of a view that is meant, and the moment as of which it reads."""
        if (at := version_of(name)) is not None:
            kind, value = at
            if kind in {"TAG", "BRANCH"}:
                hint = "name the branch or tag behind the tables that it reads"
                raise refused(f"{view.name} is a view: it has no {kind.lower()}", name, hint)
            if kind == "TIMESTAMP":
                us = value if isinstance(value, int) else parse_time(value)
                return view.at(_at_us(us))
            return view.at(value)
        if moment_us is not None:
            return view.at(_at_us(moment_us))
        if self._at and parse_reference(self._at).kind == "time":
            return view.at(self._at)[0], None  # its tables are read as of then anyway
        return view.newest, None

    def _own_names(
        self, query: ast.Statement, mark: str
    ) -> tuple[list[tuple[str, ast.Select]], ast.Select]:
        """Return the WITH queries of a view and its query, under names that nobody else has."""
        (source,) = query.select.sources
        assert isinstance(source.table, ast.QueryTable)  # noqa: S101 - it was put in parentheses
        select, entries = source.table.select, list(query.with_)
        for number, (old, _) in enumerate(query.with_):
            new = f"{mark} {old}"
            select = withqueries.with_name(select, old, new)
            entries[number:] = [
                (new if name == old else name, withqueries.with_name(entry, old, new))
                for name, entry in entries[number:]
            ]
            self._recursive += [new] * (old in query.recursive)
        return entries, select


def _used_name(table: ast.Table, select: ast.Select) -> str | None:
    """Return the name of a view where it stands in front of columns, as an alias of it does."""
    name = last_name(table.expr) if isinstance(table, ast.PathTable) else ""
    paths = (node for node in visitor.nodes(select) if isinstance(node, ast.Dot))
    roots = (root.name for path in paths if (root := visitor.root_name(path.base)) is not None)
    return name if name in roots else None


def merged(select: ast.Select, dialect: str) -> ast.Select:
    """Return a select that reads the table of a view itself, if the view is rows of one table.

    The rows of `SELECT * FROM t WHERE ...` are those of the table that its condition chooses: the
    scan knows both conditions then, and answers without DuckDB what it can. Of a view in another
    dialect its condition stays by itself.
    """
    if len(select.sources) != 1 or select.sample is not None:  # a sample is of the view's rows
        return select
    (outer,) = select.sources
    if not isinstance(outer.table, ast.QueryTable) or outer.table.lateral:
        return select
    inner = outer.table.select
    if len(inner.sources) != 1 or inner != ast.Select(
        (), star=True, sources=inner.sources, where=inner.where, dialect=inner.dialect
    ):
        return select
    (source,) = inner.sources
    is_through = isinstance(source.table, ast.CallTable) and source.table.name == versions.THROUGH
    if is_through and may_name_pseudo(select):
        notes.warn("views have no _file and _row, but fields of these names alone")
    elif is_through and _is_of_rows(inner.where, {outer.alias, source.alias}):
        return _of_table(select, source, inner, dialect)
    return select


def _of_table(
    select: ast.Select, source: ast.Source, inner: ast.Select, dialect: str
) -> ast.Select:
    """Return a select from a view as one from the table that the view takes rows of.

    * ``inner``: That of the view, and `source` its one.
    """
    (outer,) = select.sources
    own = inner.where if outer.alias is None else _of_alias(inner.where, outer.alias)
    if own is not None and inner.dialect != (select.dialect or dialect):
        return select
    conditions = [each for each in (own, select.where) if each is not None]
    where = conditions[0] if conditions else None
    for condition in conditions[1:]:
        where = ast.Binary("AND", where, condition, span=condition.span)  # type: ignore[arg-type]
    whole = replace(source, alias=outer.alias, keys=outer.keys)
    return replace(select, sources=(whole,), where=where)


def _of_alias(condition: ast.Expr | None, alias: str) -> ast.Expr | None:
    """Return a condition for rows with an alias: where there is one, paths begin with it."""

    def begun(node: ast.Node) -> ast.Node:
        if isinstance(node, ast.Dot | ast.Index) and isinstance(node.base, ast.Name):
            name = node.base
            whole = ast.Dot(ast.Name(alias, span=name.span), name.name, span=name.span)
            return replace(node, base=whole)
        return node

    return None if condition is None else visitor.rewrite(condition, begun)


def _is_of_rows(condition: ast.Expr | None, aliases: set[str | None]) -> bool:
    """Return whether a condition means the same under any alias of its table: no path has one."""
    if condition is None:
        return True
    nodes = list(visitor.nodes(condition))
    names = {node.name for node in nodes if isinstance(node, ast.Name)}
    return names.isdisjoint(aliases) and not any(isinstance(node, ast.Select) for node in nodes)


def _at_us(us: int) -> VersionReference:
    """Return the reference to what was there at an instant."""
    return VersionReference("time", us, text=instants.text(us))


def refused(message: str, name: TableName, hint: str | None = None) -> QueryError:
    """Make the error for a view that cannot be read, with its place in the query."""
    start, stop = name.span
    return QueryError(message, offset=start, length=stop - start, hint=hint)


class _Level:
    """Writes the views out that one text names: that of the query, or that of a view."""

    def __init__(
        self,
        expansion: ViewExpansion,
        chain: tuple[str, ...],
        moment_us: int | None,
        span: ast.Span | None = None,
        withs: frozenset[str] = _NOTHING,
    ) -> None:
        self._expansion = expansion
        self._chain = chain
        self._moment_us = moment_us
        self._withs = withs  # names of the WITH queries of a view
        self._span = span  # where the view stands in the query; None: this is the query itself

    def whole(self, statement: ast.Statement) -> ast.Statement:
        """Return a statement whose views are written out."""

        def written(select: ast.Select) -> ast.Select:
            return self.select(select, _NOTHING, is_free=True)

        with_ = tuple([(name, written(entry)) for name, entry in statement.with_])
        unions = tuple([(every, written(part)) for every, part in statement.unions])
        return replace(statement, select=written(statement.select), with_=with_, unions=unions)

    def select(self, select: ast.Select, outer: frozenset[str], *, is_free: bool) -> ast.Select:
        """Return a select whose views are written out.

        * ``outer``: Names of sources around it: a path that begins with one of them is a list.
        * ``is_free``: Whether it sees no rows of a query around it.
        """
        names = outer
        sources: list[ast.Source] = []
        for source in select.sources:
            table = self._table(source.table, names, outer, is_free=is_free)
            if source.alias is None and table is not source.table:
                source = replace(source, alias=_used_name(source.table, select))  # noqa: PLW2901
            sources.append(replace(source, table=table))
            names |= {source.alias} if source.alias is not None else _NOTHING
        bare = replace(select, sources=())
        done = visitor.rewrite(
            bare,
            self._moved,
            stop=lambda node: None if node is bare else self._inner(node, names),
        )
        joined = [
            replace(source, on=None if source.on is None else self._rewritten(source.on, names))
            for source in sources
        ]
        return merged(
            replace(done, sources=tuple([self._moved(source) for source in joined])),
            self._expansion.dialect,
        )

    def _table(
        self, table: ast.Table, names: frozenset[str], outer: frozenset[str], *, is_free: bool
    ) -> ast.Table:
        """Return what stands for a table of FROM.

        * ``names``: Names that a path in FROM may begin with for a list: those of `outer`, and of
          the sources before it.
        """

        def part(table: ast.Table) -> ast.Table:
            return self._table(table, names, outer, is_free=is_free)

        match table:
            case ast.PathTable() | ast.CallTable():
                return self._named(table, names, is_free=is_free)
            case ast.QueryTable(select=select, lateral=lateral):
                around, is_apart = (names, False) if lateral else (outer, is_free)
                new: ast.Table = replace(
                    table, select=self.select(select, around, is_free=is_apart)
                )
            case ast.SetTable(left=left, right=right):
                left, right = (self.select(side, outer, is_free=is_free) for side in (left, right))
                new = replace(table, left=left, right=right)
            case ast.ConcatTable(tables=tables):
                new = replace(table, tables=tuple(map(part, tables)))
            case ast.UnpivotTable(table=below):
                new = replace(table, table=part(below))
            case ast.PivotTable(source=source):
                new = replace(table, source=replace(source, table=part(source.table)))
            case _:
                return self._rewritten(table, names)
        return self._moved(new)

    def _named(
        self, table: ast.PathTable | ast.CallTable, names: frozenset[str], *, is_free: bool
    ) -> ast.Table:
        """Return what stands for a table by name: a list, a WITH query, a table or a view."""
        is_plain = isinstance(table, ast.PathTable)
        root = visitor.root_name(table.expr) if isinstance(table, ast.PathTable) else None
        if is_plain and (root is None or root.name in names or root.name in self._withs):
            return self._rewritten(table, names)
        name = table_name(table)
        pair = None if name is None else database_and_table(name, self._expansion.root)
        if name is None or pair is None or (self._chain and name.parts == _ALL_TABLES):
            if self._chain:
                raise self._not_a_table(name, table)
            return table
        if self._span is not None:
            name = replace(name, span=self._span)
        select = self._expansion.query(name, pair, self._chain, self._moment_us)
        if select is not None and is_free:
            return ast.QueryTable(select, span=name.span)
        if select is not None:  # as a WITH query it sees nothing of the rows around it
            entry = f"{pair[0]}.{pair[1]} {len(self._expansion.entries)}"
            self._expansion.entries.append((entry, select))
            return ast.PathTable(ast.Name(entry, span=name.span), span=name.span)
        if self._chain:
            return through(name, pair, self._chain[-1], self._moment_us)
        return table

    def _not_a_table(
        self, name: TableName | None, table: ast.Table
    ) -> UnsupportedError | QueryError:
        """Make the error for what no view reads: files, patterns, tables about tables."""
        view, text = self._chain[-1], table_text(table)
        if name is not None and name.kind == "path" and len(name.parts) == 1:
            database = view.partition(".")[0]
            hint = f"did you mean {database}.{text}?"
            return QueryError(f"the view {view}: {text} has no database", hint=hint)
        message = f"the view {view} cannot read {text}: a view reads tables and views, as db.table"
        return UnsupportedError(message)

    def _inner(self, node: ast.Node, names: frozenset[str]) -> ast.Node | None:
        """Return what stands for a sub-query in an expression; None: it is another node."""
        if not isinstance(node, ast.Select):
            return None
        return self.select(node, names, is_free=False)

    def _rewritten(self, node: _AnyNode, names: frozenset[str]) -> _AnyNode:
        return visitor.rewrite(node, self._moved, stop=lambda part: self._inner(part, names))

    def _moved(self, node: _AnyNode) -> _AnyNode:
        """Return a node whose place is that of the view in the query."""
        return node if self._span is None else replace(node, span=self._span)
