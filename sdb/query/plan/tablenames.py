"""Names of tables in front of fields: `t.id` where `t` has no alias, and `u.x` of UNNEST AS u(x).

The original takes `t.id` for the field `id` of a field `t`. It is that wherever a row may have a
field `t`, and a field of the table where packfiles prove that none has.
"""

from __future__ import annotations

from sdb.query.catalog.dataset import last_name, table_name
from sdb.query.syntax import ast, versions, visitor
from sdb.query.syntax.clauses.stars import any_in
from sdb.records import replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from sdb.query.plan.stars import TopFields


def named(statement: ast.Statement, fields: TopFields) -> ast.Statement:
    """Return a statement whose tables have aliases where their own names stand in front of fields.

    * ``fields``: Returns the names of the fields of tables, or None when they are not all known.

    Raises `SdbError` if a table cannot be opened.
    """
    selects = [node for node in visitor.nodes(statement) if isinstance(node, ast.Select)]
    hidden = {name for name, _ in statement.with_}
    hidden |= {source.alias for select in selects for source in select.sources if source.alias}
    if not any(_labels(select, hidden) or _list_names(select) for select in selects):
        return statement

    def change(node: ast.Node) -> ast.Node:
        if not isinstance(node, ast.Select):
            return node
        return _behind_tables(_without_lists(node), hidden, fields)

    return visitor.rewrite(statement, change)


def _labels(select: ast.Select, hidden: set[str]) -> dict[str, ast.Source]:
    """Return the tables without an alias by their own names, those that several have left out."""
    labels = [(_label(source, hidden), source) for source in select.sources]
    names = [name for name, _ in labels]
    return {name: source for name, source in labels if name and names.count(name) == 1}


def _label(source: ast.Source, hidden: set[str]) -> str | None:
    if source.alias is not None:
        return None
    table = source.table
    is_version = isinstance(table, ast.CallTable) and table.name == versions.AT
    path = table.args[0] if is_version else getattr(table, "expr", None)  # type: ignore[union-attr]
    root = None if path is None else visitor.root_name(path)
    if path is None or root is None or root.name in hidden:
        return None
    name = last_name(path)
    return None if name in hidden else name


def _is_query(table: ast.Table, hidden: set[str]) -> bool:
    """Return whether a table is the rows of a query of WITH, or of something with an alias."""
    root = visitor.root_name(table.expr) if isinstance(table, ast.PathTable) else None
    return root is not None and root.name in hidden


def _behind_tables(select: ast.Select, hidden: set[str], fields: TopFields) -> ast.Select:
    """Return a select in which names of tables that stand in front of fields are aliases."""
    labels = _labels(select, hidden)
    roots = _roots(select, frozenset(labels)) if labels else set()
    roots -= {item.alias for item in select.items}
    # Columns of a star are those of one table each, whatever others have such names.
    is_star = len(select.sources) > 1 and bool(labels)
    is_star = is_star and (any_in(select.items) or bool(select.excluded))
    if not roots and not is_star:
        return select
    bare = [source for source in select.sources if source.alias is None]
    read = [source.table for source in bare if not _is_query(source.table, hidden)]
    tables = [name for name in map(table_name, read) if name is not None]
    known = fields(tuple(tables))
    is_alone = len(select.sources) == 1
    if (known is None and is_alone) or not roots.isdisjoint(known or ()):
        return select
    if is_alone and not _roots(select, frozenset(roots), only_inside=True):
        return _stripped(select, roots)
    sources = [
        replace(source, alias=name)
        if (name := next((n for n, s in labels.items() if s is source), None))
        else source
        for source in select.sources
    ]
    return replace(select, sources=tuple(sources))


def _roots(select: ast.Select, names: frozenset[str], *, only_inside: bool = False) -> set[str]:
    """Return those of some names that begin a path, here or in sub-queries without such a table."""
    return {
        root
        for node in visitor.children(select)
        for root in _roots_below(node, names, is_inside=False, only_inside=only_inside)
    }


def _roots_below(
    node: ast.Node, names: frozenset[str], *, is_inside: bool, only_inside: bool
) -> Iterator[str]:
    if isinstance(node, ast.Select):
        own = {source.alias or _label(source, set()) for source in node.sources}
        names -= own
        is_inside = True
    if isinstance(node, ast.Dot | ast.Index):
        root = visitor.root_name(node)
        if root is not None and root.name in names and (is_inside or not only_inside):
            yield root.name
        if root is not None:
            return
    if isinstance(node, ast.PathTable):
        return
    for child in visitor.children(node):
        yield from _roots_below(child, names, is_inside=is_inside, only_inside=only_inside)


def _stripped(select: ast.Select, names: set[str]) -> ast.Select:
    """Return a select without the name of its only table in front of fields."""

    def stop(node: ast.Node) -> ast.Node | None:
        if isinstance(node, ast.PathTable) or (isinstance(node, ast.Select) and node is not select):
            return node
        if (
            isinstance(node, ast.Dot)
            and isinstance(node.base, ast.Name)
            and node.base.name in names
        ):
            return ast.Name(node.name, span=node.span)
        return None

    return visitor.rewrite(select, stop=stop)


def _list_names(select: ast.Select) -> dict[str, set[str]]:
    """Return the columns of lists in FROM by the names of these: of UNNEST AS u(x), x by u."""
    return {
        source.table.label: {source.table.value, *source.table.more, source.table.ordinal or ""}
        for source in select.sources
        if isinstance(source.table, ast.ListTable) and source.table.label
    }


def _without_lists(select: ast.Select) -> ast.Select:
    """Return a select that names columns of lists without the name of the list."""
    lists = _list_names(select)
    if not lists:
        return select

    def stop(node: ast.Node) -> ast.Node | None:
        if isinstance(node, ast.Dot) and isinstance(node.base, ast.Name):
            columns = lists.get(node.base.name, set())
            return ast.Name(node.name, span=node.span) if node.name in columns else None
        return None

    return visitor.rewrite(select, stop=stop)
