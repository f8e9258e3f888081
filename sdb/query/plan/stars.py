"""Stars, `a.*`, `COLUMNS('re')` and NATURAL JOIN: the names that they stand for."""

from __future__ import annotations

import re

from sdb import notes
from sdb.errors import QueryError
from sdb.query.analyze.dialects import SNELLER, is_standard
from sdb.query.analyze.refusals import refuse
from sdb.query.catalog.dataset import last_name, table_name
from sdb.query.syntax import ast, visitor
from sdb.query.syntax.clauses import grouping
from sdb.query.syntax.clauses.joins import HIDDEN
from sdb.query.syntax.clauses.listtables import is_hidden, labels
from sdb.query.syntax.clauses.stars import any_in
from sdb.query.syntax.outputnames import naming_sides, output_names
from sdb.query.syntax.printer import set_table
from sdb.records import replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from sdb.query.catalog.dataset import TableName

    TopFields = Callable[[tuple[TableName, ...]], Sequence[str] | None]


def _has_excluded(statement: ast.Statement) -> bool:
    """Return whether there is such a star, such a join, or a number of a column of a star."""
    return any(
        _has_compared_star(node, statement.dialect)
        or (isinstance(node, ast.Select) and (_is_listed(node) or any_in(node.items)))
        or (isinstance(node, ast.Source) and node.natural)
        or isinstance(node, ast.PivotTable)
        for node in visitor.nodes(statement)
    )


def expanded(statement: ast.Statement, fields: TopFields) -> ast.Statement:
    """Write out the stars that leave something out; a statement without them stays as it is.

    * ``fields``: Gives the names of the fields of tables, whose rows follow each other; None when
      they are not all known.

    Raises `QueryError` if the fields are not known, no field has such a name, or no field is left.
    """
    if not _has_excluded(statement):
        return statement
    withs = dict(statement.with_)
    for name in statement.recursive:
        # Its rows have the columns of the first ones.
        first = set_table(withs[name])
        withs[name] = withs[name] if first is None else first.left
    stars = _Stars(withs, fields, statement.dialect)
    try:
        return visitor.rewrite(stars.ordered(statement), stars.change)
    except QueryError as error:
        raise error.inside(statement.text) from None


def warn_hidden(statement: ast.Statement, fields: TopFields) -> None:
    """Warn of columns of one name of which `*` shows the last one only.

    * ``fields``: As for :func:`expanded`.
    """
    select = statement.select
    sources = [source for source in select.sources if source.join not in HIDDEN]
    if not select.star or len(sources) < 2:  # noqa: PLR2004 - those of one are of different names
        return
    stars = _Stars(dict(statement.with_), fields, statement.dialect)
    seen: dict[str, str] = {}
    hidden: list[str] = []
    for source in sources:
        label = _label(source)
        names = [label or ""] if _is_unfolded(source, sources) else stars.known(source)
        if names is None or label is None:
            return
        hidden += [
            f"{seen[name]}.{name}" for name in names if name in seen and name not in source.using
        ]
        seen |= dict.fromkeys(names, label)
    if hidden:
        notes.warn(
            f"* leaves out {', '.join(hidden)}, of which another table has a column of that name;"
            f" {hidden[0].partition('.')[0]}.* shows them"
        )


def _is_listed(select: ast.Select) -> bool:
    """Return whether the columns of a plain star have to be known."""
    return bool(select.excluded) or (select.star and grouping.numbers_in(select))


def _is_unfolded(source: ast.Source, sources: Sequence[ast.Source]) -> bool:
    """Return whether a source is a list in the rows of another one."""
    if not isinstance(source.table, ast.PathTable):
        return False
    root = visitor.root_name(source.table.expr)
    return root is not None and any(root.name == other.alias for other in sources)


def _listed(names: Mapping[str, ast.Expr]) -> str:
    return ", ".join(list(names)[:20])


def _label(source: ast.Source) -> str | None:
    """Return the name of a source, which may be that of its table."""
    if source.alias is None and isinstance(source.table, ast.PathTable):
        return last_name(source.table.expr)
    return source.alias


def _values(node: ast.Node) -> list[ast.Subquery]:
    """Return the sub-queries right below a node of which one column is compared with a value."""
    match node:
        case ast.In() | ast.Quantified():
            parts: tuple[object, ...] = (node.operand, node.items)
        case ast.Binary():
            parts = (node.left, node.right)
        case _:
            parts = ()
    return [part for part in parts if isinstance(part, ast.Subquery)]


def _has_compared_star(node: ast.Node, dialect: str) -> bool:
    """Return whether `*` in a sub-query that is compared stands for its columns."""
    return any(part.select.star and is_standard(part.select, dialect) for part in _values(node))


class _Stars:
    """Writes stars out."""

    def __init__(
        self, withs: Mapping[str, ast.Select], fields: TopFields, dialect: str = SNELLER
    ) -> None:
        self._withs = withs
        self._fields = fields
        self._dialect = dialect

    def ordered(self, statement: ast.Statement) -> ast.Statement:
        """Return a statement whose rows of a UNION are sorted by columns of the first SELECT."""
        if not statement.unions or not grouping.numbers_in(statement.unions[-1][1]):
            return statement
        *others, (every, last) = statement.unions
        columns = [ast.Name(name) for name in self._outputs(statement.select)]
        return replace(statement, unions=(*others, (every, grouping.counted(last, columns))))

    def change(self, node: ast.Node) -> ast.Node:
        """Return what stands for a node."""
        if _has_compared_star(node, self._dialect):
            return visitor.rewrite(node, stop=self._compared)
        return self._written_out(node)

    def _written_out(self, node: ast.Node) -> ast.Node:
        """Return a select without a star that has to be written out, or PIVOT as a query."""
        if isinstance(node, ast.PivotTable):
            return self._grouped(node)
        if not isinstance(node, ast.Select):
            return node
        if any(source.natural for source in node.sources):
            node = self._joined(node)
        if any_in(node.items):
            items = [new for item in node.items for new in self._expanded(item, node)]
            node = replace(node, items=tuple(items))
            return grouping.counted(node, [item.expr for item in items])
        if not _is_listed(node):
            return node
        columns = self._columns(node)
        if not node.excluded:
            return grouping.counted(node, list(columns.values()))
        for name in node.excluded:
            if name not in columns:
                known = _listed(columns)
                refuse(f'there is no column "{name}" to exclude', node, f"the columns are {known}")
        # Without aliases, which might hide the name of a source.
        items = [
            ast.Item(expr, span=node.span)
            for name, expr in columns.items()
            if name not in node.excluded
        ]
        if not items:
            refuse("EXCLUDE leaves no column", node)
        node = replace(node, items=tuple(items), star=False, excluded=())
        return grouping.counted(node, [item.expr for item in items])

    def _compared(self, node: ast.Node) -> ast.Node | None:
        """Return a sub-query that names the columns of its star."""
        if not isinstance(node, ast.Subquery):
            return None
        select = node.select
        if not select.star:
            return node
        items = [ast.Item(expr, span=select.span) for expr in self._columns(select).values()]
        return replace(node, select=replace(select, items=tuple(items), star=False))

    def _grouped(self, pivot: ast.PivotTable) -> ast.QueryTable:
        """Return PIVOT with its keys: the columns that it does not name."""
        everything = ast.Select((), star=True, sources=(pivot.source,), span=pivot.span)
        from sdb.query.syntax.clauses import pivots

        return pivots.grouped(pivot, pivots.keys(pivot, self._columns(everything)))

    def _joined(self, select: ast.Select) -> ast.Select:
        """Return a select whose joins say the fields that both sides have."""
        sources: tuple[ast.Source, ...] = ()
        for source in select.sources:
            if not source.natural:
                sources += (source,)
                continue
            left = self._columns(replace(select, sources=sources))
            right = self._of_source(source, set(), "NATURAL JOIN")
            common = tuple(name for name in right if name in left)
            if not common:
                hint = f"they have {_listed(left)}, and {_listed(right)}"
                refuse("NATURAL JOIN: both sides have no field in common", source, hint)
            sources += (replace(source, natural=False, using=common),)
        return replace(select, sources=sources)

    def _expanded(self, item: ast.Item, select: ast.Select) -> list[ast.Item]:
        """Return the items that an item stands for."""
        if isinstance(item.expr, ast.Star):
            columns = self._columns(select, item.expr.table)
            if item.expr.table is not None and not columns:
                name = item.expr.table
                hint = f"of a field, name what is in it, as in {name}.id"
                refuse(f'no table of FROM is named "{name}"', item.expr, hint)
            items = changed(item.expr, columns)
            if not items and not any(is_hidden(source.table) for source in select.sources):
                refuse("EXCLUDE leaves no column", item.expr)
            return items
        pattern = visitor.call_in(item.expr, "COLUMNS")
        if pattern is None:
            return [item]
        return matching(item, pattern, self._columns(select))

    def _columns(self, select: ast.Select, only: str | None = None) -> dict[str, ast.Expr]:
        """Return what a star stands for; of columns of one name the last one counts.

        * ``only``: The name of the source that is meant; all without it.
        """
        columns: dict[str, ast.Expr] = {}
        seen: set[str] = set()
        for source in select.sources:
            if source.join in HIDDEN or (only is not None and only != _label(source)):
                seen |= {source.alias} if source.alias else set()
                continue
            for name, expr in self._of_source(source, seen).items():
                columns.pop(name, None)
                columns[name] = expr
            for name in source.using:
                columns[name] = ast.Name(name, span=source.span)
            seen |= {source.alias} if source.alias else set()
        return columns

    def _of_source(
        self, source: ast.Source, seen: set[str], what: str = "EXCLUDE"
    ) -> dict[str, ast.Expr]:
        table, alias = source.table, source.alias
        if isinstance(table, ast.ListTable):
            words = [] if is_hidden(table) else labels(table)
            return {word: ast.Name(word, span=source.span) for word in words}
        if isinstance(table, ast.UnpivotTable):
            words = [label for label in (table.key, table.value) if label is not None]
            return {word: ast.Name(word, span=source.span) for word in words}
        root = visitor.root_name(table.expr) if isinstance(table, ast.PathTable) else None
        if isinstance(table, ast.PathTable) and root is not None and root.name in seen:
            name = alias or last_name(table.expr)
            return {name: ast.Name(name, span=source.span)}
        names = self._names(table)
        if names is None:
            why = "the packfile does not tell its fields"
            hint = "name the fields that you want"
            if what != "EXCLUDE":
                refuse(f"{what} is not possible here: {why}", source, "write USING (a, b)")
            refuse(f"the columns of * are not known here: {why}", source, hint)
        base = None if alias is None else ast.Name(alias, span=source.span)
        return {
            name: ast.Name(name, span=source.span)
            if base is None
            else ast.Dot(base, name, span=source.span)
            for name in names
        }

    def known(self, source: ast.Source) -> Sequence[str] | None:
        """Return the columns of a table or query; None where they are not all known."""
        table = source.table
        if isinstance(table, ast.ListTable | ast.UnpivotTable | ast.PivotTable):
            return None
        return self._names(table)

    def _names(self, table: ast.Table) -> Sequence[str] | None:
        if isinstance(table, ast.SetTable):
            keeps = is_standard(table.left, self._dialect)
            sides = naming_sides(table, is_standard=keeps)
            return list(dict.fromkeys([name for side in sides for name in self._outputs(side)]))
        if isinstance(table, ast.PivotTable):
            table = self._grouped(table)
        if isinstance(table, ast.QueryTable):
            return self._outputs(table.select)
        if isinstance(table, ast.PathTable) and isinstance(table.expr, ast.Name):
            query = self._withs.get(table.expr.name)
            if query is not None:
                return self._outputs(query)
        parts = table.tables if isinstance(table, ast.ConcatTable) else (table,)
        names = [None if isinstance(part, ast.QueryTable) else table_name(part) for part in parts]
        known = tuple(name for name in names if name is not None)
        return self._fields(known) if len(known) == len(names) else None

    def _outputs(self, select: ast.Select) -> list[str]:
        if any_in(select.items):
            new = self.change(select)
            return self._outputs(new) if isinstance(new, ast.Select) else []
        if select.star:
            return [name for name in self._columns(select) if name not in select.excluded]
        return list(dict.fromkeys(output_names(select)))


# Columns of a star: left out, replaced or renamed, or those whose names match.

_SHOWN = 20


def changed(star: ast.Star, columns: Mapping[str, ast.Expr]) -> list[ast.Item]:
    """Return the items of a star.

    Raises `QueryError` if there is no such column, or a name would stand for two.
    """
    replaced, renamed = dict(star.replaced), dict(star.renamed)
    for word, names in (
        ("exclude", star.excluded),
        ("replace", tuple(replaced)),
        ("rename", tuple(renamed)),
    ):
        for name in names:
            _check(name, columns, word, star)
    for new in renamed.values():
        if new in columns:
            refuse(f'RENAME: there is a column "{new}" already', star, "choose another name")
    _check_replaced(star, replaced)
    if len(star.named) > len(columns):
        refuse(f"the table has {len(columns)} columns, {len(star.named)} have a name", star)
    renamed |= dict(zip(columns, star.named, strict=False))
    if twice := set(star.named) & set(list(columns)[len(star.named) :]):
        refuse(f"two columns are named {min(twice)}", star, "name all columns, or other ones")
    items = []
    for name, expr in columns.items():
        if name in star.excluded:
            continue
        # Without an alias where it can be, for it might hide the name of a source.
        alias = renamed.get(name, name if name in replaced else None)
        items.append(ast.Item(replaced.get(name, expr), alias, span=star.span))
    return items


def _check(name: str, columns: Mapping[str, ast.Expr], word: str, node: ast.Node) -> None:
    if name not in columns:
        known = ", ".join(list(columns)[:_SHOWN])
        refuse(f'there is no column "{name}" to {word}', node, f"the columns are {known}")


def _check_replaced(star: ast.Star, replaced: Mapping[str, ast.Expr]) -> None:
    """Refuse what is made of another column that is replaced: it might mean the old or the new."""
    for name, expr in replaced.items():
        for node in visitor.nodes(expr):
            if isinstance(node, ast.Name) and node.name in replaced and node.name != name:
                hint = "replace one of them in a sub-query"
                refuse(f"REPLACE: {name} is made of {node.name}, which is replaced", star, hint)


def matching(item: ast.Item, call: ast.Call, columns: Mapping[str, ast.Expr]) -> list[ast.Item]:
    """Return an item for each column whose name matches.

    Raises `QueryError` if no name matches, or that is no regular expression.
    """
    match call.args:
        case (ast.Literal(value=str() as text),):
            pass
        case _:
            refuse("COLUMNS takes a regular expression, as in COLUMNS('^user_')", call)
    try:
        wanted = re.compile(text)
    except re.error as error:
        refuse(f"COLUMNS: {error} in '{text}'", call)
    names = [name for name in columns if wanted.search(name)]
    if not names:
        known = ", ".join(list(columns)[:_SHOWN])
        refuse(f"no column matches '{text}'", call, f"the columns are {known}")
    if item.alias is not None and len(names) > 1:
        refuse(f"COLUMNS('{text}') has {len(names)} columns, and one name", call)
    items = []
    for name in names:
        column = columns[name]

        def put(node: ast.Node, column: ast.Expr = column) -> ast.Node:
            return column if node == call else node

        # A column as it is has its name already.
        alias = item.alias or (None if item.expr == call else name)
        items.append(replace(item, expr=visitor.rewrite(item.expr, put), alias=alias))
    return items
