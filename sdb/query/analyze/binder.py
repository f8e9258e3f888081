"""Names: what they may refer to, and those that a query gives to its results."""

from __future__ import annotations

from sdb.query.analyze.refusals import refuse
from sdb.query.syntax import ast, printer, visitor
from sdb.records import changing_record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

_AGGREGATE_NAMES = {
    "APPROX_COUNT_DISTINCT": "count",
    "AVG": "avg",
    "COUNT": "count",
    "EARLIEST": "min",
    "LATEST": "max",
    "MAX": "max",
    "MIN": "min",
    "SUM": "sum",
}


def output_names(select: ast.Select) -> list[str]:
    """Name the columns of a select.

    Parameters
    ----------
    select : ast.Select
        The select; not ``SELECT *``, whose columns are those of the rows.

    Returns
    -------
    list of str
        For each item its alias, or a name made of the expression where there is none or an empty
        one. An alias may repeat: the last item of that name counts. The structure that
        SNELLER_DATASHAPE gives stands for the whole row when it is the only item.

    Examples
    --------
    >>> from sdb.query.syntax.parser import parse
    >>> output_names(parse("SELECT user.city, tags[0], n + 1, COUNT(*), COUNT(*)").select)
    ['city', 'tags_0', '_3', 'count', 'count_5']
    """
    names: list[str] = []
    for position, item in enumerate(select.items, 1):
        name = item.alias
        if not name:
            name = _automatic(item.expr)
            if not name or name in names:
                name = f"{name}_{position}"
        names.append(name)
    return names


def _automatic(expr: ast.Expr) -> str:
    match expr:
        case ast.Name() | ast.Dot():
            return expr.name
        case ast.Index():
            return f"{_automatic(expr.base)}_{expr.index}"
        case ast.Aggregate():
            return _AGGREGATE_NAMES.get(expr.name, "")
    return ""


@changing_record
class NameScope:
    """The names that expressions of a select may use.

    Attributes
    ----------
    names : set of str
        Aliases of sources, labels of UNPIVOT, and what else stands for a value.
    raw : set of str
        Those of `names` that stand for whole tables.
    loose : set of str
        Aliases of sub-queries, which may be left out.
    fields : bool
        Whether a bare name may be a field.
    outer : NameScope or None
        The names of the select around it.
    """

    names: set[str]
    raw: set[str]
    loose: set[str]
    fields: bool
    outer: NameScope | None

    def knows(self, name: str) -> bool:
        """Tell whether a name may stand for something."""
        own = self.fields or name in self.names
        return own or (self.outer is not None and self.outer.knows(name))

    def is_raw(self, name: str) -> bool:
        """Tell whether a name stands for a whole table."""
        if name in self.names:
            return name in self.raw
        return not self.fields and self.outer is not None and self.outer.is_raw(name)

    @property
    def empty(self) -> bool:
        """Tell whether there is no source at all."""
        return not self.fields and not self.names and self.outer is None

    def copy(self) -> NameScope:
        """Give a scope of the same names, to which others may be added."""
        return NameScope(set(self.names), set(self.raw), self.loose, self.fields, self.outer)

    def add(self, alias: str | None) -> None:
        """Let an alias, if there is one, stand for a value."""
        if alias is not None:
            self.names.add(alias)
            self.raw.discard(alias)


def resolve(statement: ast.Statement) -> None:
    """Refuse names that cannot stand for anything.

    Parameters
    ----------
    statement : ast.Statement
        The query.

    Raises
    ------
    QueryError
        A name stands for no field, alias or group key; or a table stands where a value is due.
    """
    withs: set[str] = set()
    for name, select in statement.with_:
        _select(select, None, frozenset(withs))
        withs.add(name)
    for select in (statement.select, *[other for _, other in statement.unions]):
        _select(select, None, frozenset(withs))


def _select(select: ast.Select, outer: NameScope | None, withs: frozenset[str]) -> None:
    scope = _scope(select, outer, withs)
    for source in select.sources:
        for query in _queries(source.table):
            _select(query, outer, withs)
    _fields(select.where, scope, withs)
    for source in select.sources:
        _fields(source.on, scope, withs)
    group = select.group_by or ()
    inner = scope.copy()
    for item in group:
        inner.add(item.alias)
    for item in select.items:
        _fields(item.expr, inner, withs)
        inner.add(item.alias)
    for expr in (
        *[item.expr for item in group],
        *select.distinct_on,
        select.having,
        *[key.expr for key in select.order_by],
    ):
        _fields(expr, inner, withs)
    if _is_grouped(select):
        _grouped(select, scope)


def _scope(select: ast.Select, outer: NameScope | None, withs: frozenset[str]) -> NameScope:
    names: set[str] = set()
    raw: set[str] = set()
    loose: set[str] = set()
    fields = False
    for source in select.sources:
        table, alias = source.table, source.alias
        if isinstance(table, ast.UnpivotTable):
            names |= {label for label in (table.value, table.key) if label is not None}
            fields = True
            continue
        if alias is None:
            fields = True
            continue
        root = visitor.root_name(table.expr) if isinstance(table, ast.PathTable) else None
        head = None if root is None else root.name
        if isinstance(table, ast.QueryTable) or head in withs:
            loose.add(alias)
            fields = True
        elif not (head in names or (head is not None and (fields or _is_alias(head, outer)))):
            raw.add(alias)
        names.add(alias)
    return NameScope(names, raw, loose, fields, outer)


def _is_alias(name: str, scope: NameScope | None) -> bool:
    """Tell whether a name stands for a source of a select further out."""
    while scope is not None:
        if name in scope.names:
            return True
        scope = scope.outer
    return False


def _queries(table: ast.Table) -> Iterator[ast.Select]:
    """Give the sub-queries that make a table."""
    for node in visitor.nodes(table, into_selects=False):
        if isinstance(node, ast.QueryTable):
            yield node.select


def _fields(expr: ast.Expr | None, scope: NameScope, withs: frozenset[str]) -> None:
    """Look at all names in an expression."""
    waiting: list[ast.Node] = [] if expr is None else [expr]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Select):
            _select(node, scope, withs)
            continue
        root = visitor.root_name(node)
        name = "" if root is None else root.name
        if root is None:
            waiting += reversed(list(visitor.children(node)))
        elif not scope.knows(name):
            if scope.empty:
                path = printer.text(node)  # type: ignore[arg-type]  # it is a path
                refuse(f"planning query: path {path} references an unbound variable", node)
            aliases = sorted(scope.names)
            hint = f"it is one of {', '.join(aliases)}" if aliases else None
            if aliases and isinstance(node, ast.Name):
                hint = f"fields stand behind an alias: {aliases[0]}.{name}"
            refuse(f'planning query: reference to undefined variable "{name}"', node, hint)
        elif isinstance(node, ast.Name) and scope.is_raw(name):
            refuse("planning query: cannot reference raw table", node)


def _is_grouped(select: ast.Select) -> bool:
    exprs = [
        *[item.expr for item in select.items],
        *[key.expr for key in select.order_by],
    ]
    if select.group_by is not None or select.having is not None:
        return True
    return any(found.over is None for expr in exprs for found in visitor.aggregates(expr))


class _Keys:
    """Keys and names that a grouped select may use outside of aggregates."""

    def __init__(self, select: ast.Select, scope: NameScope) -> None:
        self._scope = scope
        self.names: set[str] = set()
        self.exprs: set[ast.Expr] = set()
        items = {item.alias: item.expr for item in select.items if item.alias is not None}
        for key in select.group_by or ():
            self.exprs.add(self.plain(key.expr))
            if key.alias is not None:
                self.names.add(key.alias)
            if isinstance(key.expr, ast.Name) and key.expr.name in items:
                self.exprs.add(self.plain(items[key.expr.name]))

    def plain(self, expr: ast.Expr) -> ast.Expr:
        """Leave out the aliases that may be left out."""

        def change(node: ast.Node) -> ast.Node:
            match node:
                case ast.Dot(base=ast.Name(name=head), name=name) if head in self._scope.loose:
                    return ast.Name(name, span=node.span)
            return node

        return visitor.rewrite(expr, change) if self._scope.loose else expr

    def unbound(self, node: ast.Node) -> ast.Expr | None:
        """Find a path that is neither a key nor inside of an aggregate."""
        if node in self.exprs or isinstance(node, ast.Select):
            return None
        if isinstance(node, ast.Aggregate) and node.over is None:
            return None
        if isinstance(node, ast.Name):
            return None if self._is_bound(node.name) else node
        for child in visitor.children(node):
            if found := self.unbound(child):
                return node if isinstance(node, ast.Dot | ast.Index) else found
        return None

    def _is_bound(self, name: str) -> bool:
        scope = self._scope
        return name in self.names or not (scope.fields or name in scope.names)


def _grouped(select: ast.Select, scope: NameScope) -> None:
    keys = _Keys(select, scope)
    for item in select.items:
        _bound(item.expr, keys)
        if item.alias is not None:
            keys.names.add(item.alias)
    for expr in (select.having, *[key.expr for key in select.order_by]):
        _bound(expr, keys)


def _bound(expr: ast.Expr | None, keys: _Keys) -> None:
    found = None if expr is None else keys.unbound(keys.plain(expr))
    if found is not None:
        path = printer.text(found)
        hint = "put it into GROUP BY, or into an aggregate"
        refuse(f"planning query: path {path} references an unbound variable", found, hint)
