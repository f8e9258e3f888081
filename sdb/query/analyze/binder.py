"""Names: what they may refer to, and those that a query gives to its results."""

from __future__ import annotations

from sdb.query.analyze.namescope import scope_of
from sdb.query.analyze.refusals import refuse
from sdb.query.syntax import ast, printer, visitor
from sdb.query.syntax.outputnames import output_names
from sdb.records import record, replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sdb.query.analyze.namescope import NameScope

_SHAPE = ast.Aggregate("SNELLER_DATASHAPE", (), star=True)
_MOST_ALIASES = 10_000
"""How many aliases an expression may have, with those in what they stand for."""
_NOTHING = ast.Select((), star=True)
UNION = "\0union"
"""A name of the rows of a UNION, which no query can write."""


def is_grouped(select: ast.Select) -> bool:
    """Return whether rows are made of groups of rows."""
    having = select.having
    if select.group_by is not None or (having is not None and not has_windows(having)):
        return True
    exprs = [item.expr for item in select.items]
    exprs += [*select.distinct_on, *[key.expr for key in select.order_by]]
    exprs += [condition for condition in (having, select.qualify) if condition is not None]
    return any(map(has_aggregates, exprs))


def has_aggregates(node: ast.Node) -> bool:
    """Return whether there is an aggregate, other than a window function, in an expression."""
    return any(call.over is None for call in visitor.aggregates(node))


def has_windows(node: ast.Node) -> bool:
    """Return whether there is a window function in an expression."""
    return any(call.over is not None for call in visitor.aggregates(node))


def columns(select: ast.Select) -> dict[str, ast.Expr]:
    """Return the columns of a bound select by name; of those with one alias the last one counts."""
    by_name: dict[str, ast.Expr] = {}
    for name, item in zip(select.names, select.items, strict=True):
        by_name.pop(name, None)
        by_name[name] = item.expr
    return by_name


def resolve(statement: ast.Statement) -> ast.Statement:
    """Find what all names stand for.

    Returns: The query, with expressions in full: aliases of the select list and of group keys are
    replaced by what they stand for, but for those in sub-queries of theirs, where rows decide
    between fields and aliases. Its selects have the names of their columns.
    Raises `QueryError` if a name stands for no field, alias or group key, or a table stands where a
    value is due.

    >>> from sdb.query.syntax.parser import parse
    >>> bound = resolve(parse("SELECT a + 1 AS b, b * 2 FROM 't.zion' ORDER BY b")).select
    >>> printer.text(bound.items[1].expr), printer.text(bound.order_by[0].expr), bound.names
    ('(a + 1) * 2', 'a + 1', ('b', '_2'))
    """
    withs: frozenset[str] = frozenset()
    reads: list[_Read] = []
    entries = []
    for name, select in statement.with_:
        own = {name} if name in statement.recursive else set()
        entries.append((name, _Binder(select, None, withs | own, reads).select()))
        withs |= {name}
    first = _Binder(statement.select, None, withs, reads).select()
    unions = []
    for all_, select in statement.unions:
        # Behind the last one stand keys of all rows, which have the names of the columns.
        rows = ast.Source(ast.PathTable(ast.Name(UNION)), None)
        keys = tuple(_named_sort(sort, first) for sort in select.order_by)
        order = replace(_NOTHING, sources=(rows,), order_by=keys)
        bound = _Binder(replace(select, order_by=()), None, withs, reads).select()
        order = _Binder(order, None, withs, []).select()
        unions.append((all_, replace(bound, order_by=order.order_by)))
    whole = replace(statement, with_=tuple(entries), select=first, unions=tuple(unions))
    # What is an alias anywhere may stand for a value, but where no alias is known.
    selects = (node for node in visitor.nodes(whole) if isinstance(node, ast.Select))
    aliases = {item.alias for select in selects for item in select.items if item.alias}
    certain = [
        each_read
        for each_read in reads
        if each_read.is_sure or each_read.root.certain or each_read.root.name not in aliases
    ]
    in_order = sorted(certain, key=lambda read: read.root.span)
    return replace(whole, reads=tuple([each_read.read for each_read in in_order]))


@record
class _Read:
    """A field that may be read."""

    root: ast.Name  # the name that the path to it begins with
    read: ast.FieldRead  # the field
    is_sure: bool  # whether the name can be no alias: in the WHERE of a query that none is around


def _written(expr: ast.Expr, select: ast.Select) -> ast.Expr:
    """Return a group key as it is written in the select list, if that is where it stands."""
    return select.items[expr.number - 1].expr if isinstance(expr, ast.Position) else expr


def _named_sort(sort: ast.Sort, first: ast.Select) -> ast.Sort:
    """Return a sort key behind a UNION: by a number it means a name of the first SELECT."""
    if not isinstance(sort.expr, ast.Position):
        return sort
    if sort.expr.number > len(first.names):
        refuse(f"there is no item {sort.expr.number} in the first SELECT", sort.expr)
    return replace(sort, expr=ast.Name(first.names[sort.expr.number - 1], span=sort.expr.span))


def _first(table: ast.Table) -> ast.Select:
    """Return the first SELECT of bound queries in parentheses, or that set operators join."""
    while isinstance(table, ast.SetTable | ast.QueryTable):
        select = table.left if isinstance(table, ast.SetTable) else table.select
        if select.items or not select.sources:
            return select
        table = select.sources[0].table
    return _NOTHING


class _Binder:
    """Binds one select."""

    def __init__(
        self,
        node: ast.Select,
        outer: NameScope | None,
        withs: frozenset[str],
        reads: list[_Read],
    ) -> None:
        self.node = node
        self.outer = outer
        self.withs = withs
        self.reads = reads
        self.sources = scope_of(node, outer, withs)
        self.scope = self.sources
        self.is_sure = False
        self.before = _NOTHING  # the sources before the one that is bound
        self.aliases: dict[str, ast.Expr] = {}
        self.keys: list[tuple[ast.Expr, ast.Expr]] = []
        self.sizes: dict[str, int] = {}
        self.size = 0

    def select(self) -> ast.Select:
        """Return the select, bound."""
        node = self.node
        sources = self._tables()
        if not node.items and any(isinstance(s.expr, ast.Position) for s in node.order_by):
            first = _first(sources[0].table)
            node = replace(node, order_by=tuple(_named_sort(s, first) for s in node.order_by))
        self.is_sure = self.outer is None
        where = self._maybe(node.where)
        self.is_sure = False
        sources = tuple(replace(source, on=self._maybe(source.on)) for source in sources)
        written = node.group_by or ()
        named = {item: self._expr(item.expr) for item in written if item.alias is not None}
        for item, expr in named.items():
            self._name(item.alias, expr)
        items = tuple(map(self._item, node.items))
        names = tuple(output_names(node))
        for name, item in zip(names, items, strict=True):
            # The name of a column stands for it where it could mean nothing else.
            if not self.sources.fields and name not in self.scope.names:
                self._name(name, item.expr)
        full = {old.expr: new.expr for old, new in zip(node.items, items, strict=True)}

        def key(expr: ast.Expr) -> ast.Expr:
            if isinstance(expr, ast.Position):
                return items[expr.number - 1].expr
            # An item in full is that item, whatever its alias hides in it.
            return full[expr] if expr in full else self._expr(expr)

        groups = [(item.expr, named[item] if item in named else key(item.expr)) for item in written]
        self.keys += [(_written(expr, node), meaning) for expr, meaning in groups]
        shaped = tuple(
            "" if item.expr == _SHAPE and not item.alias else name
            for name, item in zip(names, items, strict=True)
        )
        bound = replace(
            node,
            items=items,
            names=shaped,
            sources=sources,
            where=where,
            having=self._maybe(node.having),
            qualify=self._maybe(node.qualify),
            order_by=tuple(
                replace(sort, expr=self._sorted(sort.expr, items)) for sort in node.order_by
            ),
            distinct_on=tuple(map(key, node.distinct_on)),
        )
        if node.group_by is not None:
            bound = replace(bound, group_by=tuple(ast.Item(e, span=e.span) for _, e in groups))
        if is_grouped(bound):
            self._check_groups(bound)
        if bound.distinct and not bound.distinct_on:
            check_order(bound)
        return bound

    def _tables(self) -> tuple[ast.Source, ...]:
        """Bind the sub-queries of FROM, from left to right."""
        sources: tuple[ast.Source, ...] = ()
        for source in self.node.sources:
            self.before = replace(_NOTHING, sources=sources)
            table = visitor.rewrite(source.table, stop=self._table)
            sources += (replace(source, table=table),)
        return sources

    def _table(self, node: ast.Node) -> ast.Node | None:
        """Bind a sub-query that makes a table."""
        if isinstance(node, ast.SetTable):
            left, right = (
                _Binder(part, self.outer, self.withs, self.reads).select()
                for part in (node.left, node.right)
            )
            return replace(node, left=left, right=right)
        around = self.outer
        if isinstance(node, ast.Select) or (isinstance(node, ast.QueryTable) and node.lateral):
            around = scope_of(self.before, self.outer, self.withs)
        if isinstance(node, ast.Select):
            # One of a value: an argument of UNNEST, or a value of VALUES.
            return _Binder(node, around, self.withs, self.reads).select()
        if not isinstance(node, ast.QueryTable):
            return None
        inner = _Binder(node.select, around, self.withs, self.reads)
        return replace(node, select=inner.select())

    def _item(self, item: ast.Item) -> ast.Item:
        expr = self._expr(item.expr)
        if item.alias:
            self._name(item.alias, expr)
        return replace(item, expr=expr)

    def _name(self, alias: str | None, expr: ast.Expr) -> None:
        """Make an alias stand for an expression from here on."""
        if alias is None:
            return
        names, raw = {**self.scope.names, alias: None}, self.scope.raw - {alias}
        self.scope = replace(self.scope, names=names, raw=raw)
        self.aliases.pop(alias, None)
        if expr != ast.Name(alias):
            self.aliases[alias] = expr
            self.sizes[alias] = self.size

    def _sorted(self, expr: ast.Expr, items: tuple[ast.Item, ...]) -> ast.Expr:
        """Return a key of ORDER BY in full."""
        return items[expr.number - 1].expr if isinstance(expr, ast.Position) else self._expr(expr)

    def _maybe(self, expr: ast.Expr | None) -> ast.Expr | None:
        return None if expr is None else self._expr(expr)

    def _expr(self, expr: ast.Expr) -> ast.Expr:
        """Return an expression in full."""
        self.size = 1
        return visitor.rewrite(expr, stop=self._meant)

    def _meant(self, part: ast.Node) -> ast.Node | None:
        """Return what stands for a part of an expression as a whole, if it does."""
        for key, meaning in self.keys:
            if key == part:
                return meaning
        match part:
            case ast.Select():
                return _Binder(part, self.scope, self.withs, self.reads).select()
            case ast.Aggregate(over=None):
                return self._aggregate(part)
            case ast.Dot() | ast.Index():
                return self._path(part)
            case ast.Name():
                return self._alias(part)
        return None

    def _path(self, part: ast.Dot | ast.Index) -> ast.Expr | None:
        root = visitor.root_name(part)
        own = self.sources
        if root is None or root.name == own.needless:
            if isinstance(part, ast.Dot) and part.base == root:
                return ast.Name(part.name, span=part.span)
            return None
        if root.name not in own.raw | own.queries:
            if root.name in self.aliases and not root.certain:
                full = visitor.rewrite(part, stop=self._aliased)
                self._note(full)
                return full
            self.scope.check(part, root.name)
        self._note(part)
        return part

    def _behind_alias(self, name: ast.Name) -> ast.Expr:
        """Return a bare name as a field of the only table, if that has an alias."""
        is_alone = len(self.node.sources) == 1 and self.outer is None
        if not is_alone or not self.sources.raw or self.scope.knows(name.name):
            return name
        (alias,) = self.sources.raw
        return ast.Dot(ast.Name(alias, span=name.span), name.name, span=name.span)

    def _aliased(self, part: ast.Node) -> ast.Expr | None:
        return self._alias(part) if isinstance(part, ast.Name) else None

    def _note(self, path: ast.Expr) -> None:
        """Note the field that a path in full reads, if that is certain."""
        root, source_path = visitor.root_name(path), self.sources.place(path)
        read = None if source_path is None else source_path.read()
        if root is None or read is None or not read.steps:
            return
        lenders = () if root.name in self.sources.names else self.sources.lenders(root.name)
        if lenders is not None:
            full = replace(read, tables=tuple(dict.fromkeys((*read.tables, *lenders))))
            self.reads.append(_Read(root, full, self.is_sure))

    def _alias(self, name: ast.Name) -> ast.Expr:
        meaning = None if name.certain else self.aliases.get(name.name)
        if meaning is None:
            full = self._behind_alias(name)
            if full is name:
                self.scope.check(name, name.name)
            self._note(full)
            return full
        self.size += self.sizes[name.name]
        if self.size > _MOST_ALIASES:
            refuse("the query is too complex", name, "compute parts of it in sub-queries")
        return meaning

    def _aggregate(self, part: ast.Aggregate) -> ast.Aggregate | None:
        """Bind an aggregate, in which aliases of other aggregates do not count."""
        every = self.aliases
        fields = {name: expr for name, expr in every.items() if not has_aggregates(expr)}
        if len(fields) == len(every):
            return None
        self.aliases = fields
        try:
            return visitor.rewrite(part, stop=self._meant)
        finally:
            self.aliases = every

    def _check_groups(self, bound: ast.Select) -> None:
        """Refuse what is neither a key nor inside of an aggregate."""
        keys = {item.expr for item in bound.group_by or ()}
        exprs = [item.expr for item in bound.items] + [sort.expr for sort in bound.order_by]
        exprs += [test for test in (bound.having, bound.qualify) if test is not None]
        for expr in exprs:
            if unbound := self._unbound(expr, keys):
                path = printer.text(unbound)
                hint = "put it into GROUP BY, or into an aggregate"
                refuse(f"planning query: path {path} references an unbound variable", unbound, hint)

    def _unbound(self, node: ast.Node, keys: set[ast.Expr]) -> ast.Expr | None:
        """Find a path that is neither a key nor inside of an aggregate."""
        if node in keys or isinstance(node, ast.Select):
            return None
        if isinstance(node, ast.Aggregate) and node.over is None:
            return None
        if isinstance(node, ast.Name):
            scope = self.sources
            return node if scope.fields or node.name in scope.names else None
        for child in visitor.children(node):
            if unbound := self._unbound(child, keys):
                return node if isinstance(node, ast.Dot | ast.Index) else unbound
        return None


# Checks what rows of DISTINCT are sorted by: one row stands for several.

_HINT = (
    "one row stands for several, and each of them may have another value: "
    "sort by items, or take DISTINCT ON (keys), the first row of each key in the order"
)


def check_order(select: ast.Select) -> None:
    """Check that DISTINCT is sorted by its items, or by what is made of them.

    Raises `QueryError` if a key of ORDER BY is about something else.
    """
    if select.star:
        return  # its rows are whole, and whatever is made of a row is the same in equal ones
    items = {item.expr for item in select.items}
    for sort in select.order_by:
        if beside := _beside(sort.expr, items):
            text = printer.text(beside)
            refuse(
                f"planning query: DISTINCT cannot be sorted by {text}, which is no item",
                beside,
                _HINT,
            )


def _beside(node: ast.Node, items: set[ast.Expr]) -> ast.Expr | None:
    """Find what is neither an item nor made of items and constants."""
    if node in items:
        return None
    if isinstance(node, ast.Dot | ast.Index):
        return node if _beside(node.base, items) else None
    if isinstance(node, ast.Name | ast.Aggregate | ast.Subquery | ast.Exists):
        return node
    for child in visitor.children(node):
        if beside := _beside(child, items):
            return beside
    return None
