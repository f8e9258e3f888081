"""One SELECT."""

from __future__ import annotations

from sdb.query.duckdb_sql import aggregates
from sdb.query.duckdb_sql.context import Outline, Query
from sdb.query.duckdb_sql.headings import automatic
from sdb.query.duckdb_sql.lanes import Constant, Keyed, Nothing, Null, Typed, Value, passed
from sdb.query.duckdb_sql.levels import Level, Reference
from sdb.query.duckdb_sql.lowering import condition, translate
from sdb.query.duckdb_sql.operators import sort_keys
from sdb.query.duckdb_sql.pushdown import pushed
from sdb.query.duckdb_sql.scope import Outputs, Scope, rejected
from sdb.query.duckdb_sql.sources import From
from sdb.query.plan.dataset import MISSING
from sdb.query.plan.rewrite import Aliases, walk
from sdb.query.plan.rewrite import aggregates as aggregates_in
from sdb.query.syntax import ast

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from sdb.query.duckdb_sql.context import SqlContext


_TRUTHS = {"true", "false"}
_SHAPE = ast.Aggregate("SNELLER_DATASHAPE", (), star=True)


def select(node: ast.Select, parent: Scope | None, context: SqlContext) -> Query:
    """Translate a SELECT; its SQL joins the common table expressions unless it is correlated."""
    return _Select(node, parent, context).query()


class _Select:
    def __init__(self, node: ast.Select, parent: Scope | None, context: SqlContext) -> None:
        self.node = node
        self.context = context
        self.rows = Scope(parent)
        self.source = From(node, self.rows, context)
        self.level = Level(context.name("q"), tuple(self.source.parts))
        self.exprs: dict[str, ast.Expr] = {}
        self._name_items()
        exprs = [item.expr for item in self.items]
        exprs += [sort.expr for sort in self.order] + self.keys
        exprs += [self.having] if self.having is not None else []
        counted = self.having is not None and not _has_windows(self.having)
        self.grouped = (
            counted
            or node.group_by is not None
            or any(True for expr in exprs for _ in aggregates_in(expr))
        )
        self.windows = any(map(_has_windows, exprs))

    def _name_items(self) -> None:
        """Put what aliases stand for in their place; earlier items name parts of later ones."""
        node = self.node
        groups = node.group_by or ()
        sources = self.rows.sources
        named = Aliases(
            {item.alias: item.expr for item in groups if item.alias is not None},
            {source.alias for source in sources if source.alias is not None},
            sources[0].alias if len(sources) == 1 and isinstance(sources[0], Outputs) else None,
            [],
        )
        self.items: list[ast.Item] = []
        for item in node.items:
            expr = named.expanded(item.expr)
            self.items.append(ast.Item(expr, item.alias, span=item.span))
            if item.alias and expr != ast.Name(item.alias):
                named.exprs[item.alias] = expr
            elif item.alias:
                named.exprs.pop(item.alias, None)
        pairs = list(zip(node.items, self.items, strict=True))

        def key(expr: ast.Expr) -> ast.Expr:
            # An item in full is that item, whatever its alias hides in it.
            return next((item.expr for old, item in pairs if old.expr == expr), None) or (
                named.expanded(expr)
            )

        self.groups = [item.expr if item.alias is not None else key(item.expr) for item in groups]
        named.keys.extend((item.expr, expr) for item, expr in zip(groups, self.groups, strict=True))
        self.having = None if node.having is None else named.expanded(node.having)
        self.order = [
            ast.Sort(named.expanded(sort.expr), sort.descending, sort.nulls_last)
            for sort in node.order_by
        ]
        self.keys = [key(expr) for expr in node.distinct_on]

    def query(self) -> Query:
        """Translate it."""
        filtered = self._filter()
        plain = filtered and not self.level.conditions
        scope = self._group() if self.grouped else self.rows
        if self.windows:
            self._enable_windows(scope)
        columns = self._columns(scope)
        if self.having is not None:
            kept = condition(self.having, scope, self.context)
            (self._after if _has_windows(self.having) else self.level.conditions).append(kept)
        if self.node.distinct:
            columns = self._distinct(columns, scope)
        else:
            self._sort([(translate(sort.expr, scope, self.context), sort) for sort in self.order])
        self._limit(filtered=filtered)
        correlated = self.rows.correlated
        if not correlated:
            self.context.levels.append(self.level)
        single = self._is_single()
        certain = self._is_certain()
        outline = self._outline(columns) if plain and not correlated else None
        return Query(self.level, columns, single, certain, correlated, outline)

    def _outline(self, columns: list[tuple[str, Value]]) -> Outline | None:
        node, source = self.node, self.source
        one = len(source.scans) == 1 and source.parts == [source.scans[0].name]
        items = [self.exprs[name] for name, _ in columns if name in self.exprs]
        if not one or node.distinct or self.windows or self.having is not None:
            return None
        if self.grouped and len(items) != len(columns):
            return None
        return Outline(
            source.scans[0],
            self.rows,
            tuple(self.groups) if self.grouped else None,
            tuple(items),
            tuple(self.order),
            node.limit,
            node.offset or 0,
        )

    def _filter(self) -> bool:
        """Apply WHERE; whether the scans do all of it."""
        for found in walk(self.node.where) if self.node.where is not None else ():
            if isinstance(found, ast.Aggregate):
                raise rejected("aggregate functions are not allowed in WHERE", found)
        scans = [] if self.source.outer else self.source.scans
        rest = pushed(self.node.where, scans, self.rows, self.context)
        self.level.conditions += [condition(part, self.rows, self.context) for part in rest]
        return not rest

    def _group(self) -> Scope:
        """Make groups; the scope of what may be said about them."""
        inner = self.level
        self.level = Level(self.context.name("q"), (inner,))
        reference = Reference(inner, inner.name)
        scope = Scope(self.rows.parent, self.rows.sources, closed=True)
        keys = []
        for expr in self.groups:
            value = translate(expr, self.rows, self.context)
            if isinstance(value, (Constant, Null)):
                scope.known[expr] = value
                continue
            key = value.key()
            keys.append(key)
            if value.mask & MISSING:
                inner.conditions.append(f"{key} IS NOT NULL")
            scope.known[expr] = _grouped(reference, value, key)
        if keys:
            inner.group = f"GROUP BY {', '.join(keys)}"
        elif self.node.group_by is not None:
            inner.group = "HAVING count(*) > 0"

        def aggregate(node: ast.Aggregate) -> Value:
            value = aggregates.aggregate(node, self.rows, self.context)
            return passed(reference, value)

        scope.aggregate = aggregate
        # Without keys there is one row even when nothing is asked about it.
        if not keys:
            inner.column("count(*)")
        return scope

    def _enable_windows(self, scope: Scope) -> None:
        inner = scope.aggregate

        def aggregate(node: ast.Aggregate) -> Value:
            if node.over is not None:
                return aggregates.window(node, scope, self.context)
            if inner is None:
                raise rejected("aggregate functions are not allowed here", node)
            return inner(node)

        scope.aggregate = aggregate

    def _columns(self, scope: Scope) -> list[tuple[str, Value]]:
        if self.node.star:
            if self.grouped:
                raise rejected("'*' cannot be grouped", self.node)
            return [pair for source in self.rows.sources for pair in source.outputs()]
        columns: list[tuple[str, Value]] = []
        taken: set[str] = set()
        for number, (item, original) in enumerate(zip(self.items, self.node.items, strict=True)):
            value = translate(item.expr, scope, self.context)
            if item.alias:
                columns = [pair for pair in columns if pair[0] != item.alias]
                name = item.alias
            elif original.expr == _SHAPE:
                name = ""
            else:
                name = automatic(original.expr)
                if not name or name in taken:
                    name = f"{name}_{number + 1}"
            taken.add(name)
            columns.append((name, value))
            self.exprs[name] = item.expr
        return columns

    def _sort(self, keys: Iterable[tuple[Value, ast.Sort]]) -> None:
        """Write ORDER BY, and drop rows without a sort key."""
        terms: list[str] = []
        for value, sort in keys:
            terms += sort_keys(value, descending=sort.descending, nulls_last=sort.nulls_last)
            if value.mask & MISSING:
                self._after.append(f"NOT {value.missing()}")
        if terms:
            self.level.order = f"ORDER BY {', '.join(terms)}"

    def _distinct(self, columns: list[tuple[str, Value]], scope: Scope) -> list[tuple[str, Value]]:
        """Keep one row for each combination of the items, or of the keys of DISTINCT ON."""
        values = [value for _, value in columns]
        if self.keys:
            values = [translate(expr, scope, self.context) for expr in self.keys]
        sorts = [(translate(sort.expr, scope, self.context), sort) for sort in self.order]
        inner = self.level
        self._after.extend(f"NOT {value.missing()}" for value in values if value.mask & MISSING)
        # DuckDB ignores DISTINCT ON when one of its keys is a literal.
        keys = {value.key() for value in values if not isinstance(value, (Constant, Null))}
        inner.prefix = f"DISTINCT ON ({', '.join(sorted(keys - _TRUTHS)) or '1::BIGINT'}) "
        self.level = Level(self.context.name("q"), (inner,))
        self.windows = False
        reference = Reference(inner, inner.name)
        self._sort([(passed(reference, value), sort) for value, sort in sorts])
        return [(name, passed(reference, value)) for name, value in columns]

    @property
    def _after(self) -> list[str]:
        """Give where conditions go that come after window functions."""
        return self.level.qualified if self.windows else self.level.conditions

    def _limit(self, *, filtered: bool) -> None:
        node = self.node
        if node.limit is not None:
            self.level.tail = f"LIMIT {node.limit}"
        if node.offset:
            self.level.tail += f" OFFSET {node.offset}"
        plain = filtered and not (self.grouped or self.windows or node.distinct or self.order)
        if plain and node.limit is not None and node.having is None and len(node.sources) == 1:
            for scan in self.source.scans:
                if not scan.explode:
                    scan.limit = node.limit + (node.offset or 0)

    def _is_single(self) -> bool:
        one_group = self.grouped and not self.groups
        return self.node.limit in {0, 1} or one_group or not self.node.sources

    def _is_certain(self) -> bool:
        node = self.node
        plain = not node.having and not node.offset and node.limit != 0
        if node.group_by is None and self.grouped:
            return plain and not node.distinct and not self.order
        return plain and not node.sources and node.where is None


def _has_windows(expr: ast.Expr) -> bool:
    return any(isinstance(node, ast.Aggregate) and node.over is not None for node in walk(expr))


def _grouped(reference: Reference, value: Value, key: str) -> Value:
    """Give value of a group key, seen from above the groups."""
    if value.mask == MISSING:
        return Nothing()
    column = reference.column(key)
    if key == value.lane("k"):
        return Keyed(column, value.mask & ~MISSING)
    if isinstance(value, Typed):
        return value.like(column, 0)
    return Typed(value.only, column, absent=0)
