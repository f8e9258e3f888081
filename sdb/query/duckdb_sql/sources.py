"""FROM: tables, sub-queries, unnested lists, UNPIVOT and joins."""

from __future__ import annotations

from sdb.query.analyze.refusals import rejected
from sdb.query.analyze.types import ANY, MISSING, STRING
from sdb.query.duckdb_sql import quoting
from sdb.query.duckdb_sql.composed import passed
from sdb.query.duckdb_sql.fields import FieldValue
from sdb.query.duckdb_sql.lanes import Keyed, Typed, Value
from sdb.query.duckdb_sql.levels import FromItem, Level, Reference
from sdb.query.duckdb_sql.lowering import condition, translate
from sdb.query.duckdb_sql.made import whole_row
from sdb.query.duckdb_sql.scope import Binding, Names, Outputs, ScanRows, Scope
from sdb.query.duckdb_sql.unions import united
from sdb.query.plan.inward import narrowed
from sdb.query.plan.rewrite import about, conjunction, conjuncts
from sdb.query.plan.scans import ScanNode
from sdb.query.plan.tables import last_name, table_name
from sdb.query.syntax import ast
from sdb.query.syntax.visitor import nodes, root_name
from sdb.records import replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sdb.query.duckdb_sql.context import Query, SqlContext
    from sdb.query.plan.dataset import TableName


class From:
    """FROM in the making.

    Attributes
    ----------
    parts : list of str or Level
        Its SQL.
    scans : list of ScanNode
        The scans in it whose rows it keeps one for one.
    """

    def __init__(self, select: ast.Select, scope: Scope, context: SqlContext) -> None:
        self.select = select
        self.scope = scope
        self.context = context
        self.parts: list[str | FromItem] = []
        self.scans: list[ScanNode] = []
        self.outer = any(source.join in {"LEFT", "RIGHT"} for source in select.sources)
        for source in self._in_order(select.sources):
            self._add(source)

    @staticmethod
    def _in_order(sources: tuple[ast.Source, ...]) -> list[ast.Source]:
        """Turn a RIGHT JOIN of two sources around."""
        if not any(source.join == "RIGHT" for source in sources):
            return list(sources)
        if len(sources) > 2:  # noqa: PLR2004
            raise rejected("RIGHT JOIN takes two sources", sources[0])
        left, right = sources
        return [
            replace(right, join="FIRST", on=None),
            replace(left, join="LEFT", on=right.on),
        ]

    def _add(self, source: ast.Source) -> None:
        optional = source.join == "LEFT"
        if isinstance(source.table, ast.UnpivotTable):
            part, binding = self._unpivot(source.table)
        elif isinstance(source.table, ast.PathTable) and self._is_list(source.table):
            part, binding = self._unnest(source.table, source)
        else:
            part, binding = self._table(source, optional=optional)
        self.scope.sources.append(binding)
        if part is None:
            return
        if self.parts:
            joins = {"FIRST": " CROSS JOIN ", "CROSS": " CROSS JOIN ", "LEFT": " LEFT JOIN "}
            self.parts.append(joins.get(source.join, " JOIN "))
        self.parts.append(part)
        if source.on is not None:
            self.parts.append(f" ON {condition(source.on, self.scope, self.context)}")

    def _is_list(self, table: ast.PathTable) -> bool:
        """Tell whether a path starts at something that is in scope, and so is to be unnested."""
        root = root_name(table.expr)
        if root is None:
            return False
        if root == table.expr and root.name in self.context.queries:
            return False
        scope: Scope | None = self.scope
        while scope is not None:
            for source in scope.sources:
                if source.alias == root.name and root != table.expr:
                    return True
                if isinstance(source, Names) and root.name in source.values:
                    return True
            scope = scope.parent
        return False

    def _unnest(
        self, table: ast.PathTable, source: ast.Source
    ) -> tuple[str | FromItem | None, Binding]:
        name = source.alias or last_name(table.expr)
        value = translate(table.expr, self.scope, self.context)
        plain = source.on is None and not self.outer
        if isinstance(value, FieldValue) and value.scan in self.scans and plain:
            level = value.scan.unfold(value.level, value.path, "list")
            return None, Names({name: FieldValue(value.scan, level, ())})
        alias = self.context.name("u")
        part = f"LATERAL (SELECT unnest({value.lane('e')}) AS k) AS {alias}"
        return part, Names({name: Keyed(f"{alias}.k", ANY & ~MISSING)})

    def _unpivot(self, table: ast.UnpivotTable) -> tuple[str | FromItem | None, Binding]:
        source = self._opened(table.table, None)
        if isinstance(source, ScanNode):
            level = source.unfold(0, (), "struct")
            self.scans.append(source)
            name = Typed(STRING, source.lane(level, (), "name"), absent=0)
            return source.name, self._pivoted(table, FieldValue(source, level, ()), name)
        part, reference = self.context.refer(source)
        alias = self.context.name("u")
        members = _members(source.through(reference, optional=False))
        lateral = f"(SELECT unnest({members}, recursive := true)) AS {alias}(n, k)"
        unfolded = f"LATERAL (SELECT n, k FROM {lateral} WHERE k IS NOT NULL) AS {alias}"
        value = Keyed(f"{alias}.k", ANY & ~MISSING)
        binding = self._pivoted(table, value, Typed(STRING, f"{alias}.n", absent=0))
        if self.parts:
            self.parts.append(" CROSS JOIN ")
        self.parts.append(part)
        return unfolded, binding

    @staticmethod
    def _pivoted(table: ast.UnpivotTable, value: Value, name: Value) -> Names:
        values: dict[str, Value] = {}
        if table.key is not None:
            values[table.key] = name
        if table.value is not None:
            values[table.value] = value
        return Names(values)

    def _table(self, source: ast.Source, *, optional: bool) -> tuple[str | FromItem, Binding]:
        opened = self._opened(source.table, source.alias)
        if isinstance(opened, ScanNode):
            row: Value = FieldValue(opened, 0, ())
            if not optional:
                self.scans.append(opened)
                return opened.name, ScanRows(source.alias, opened, row)
            level = Level(self.context.name("q"), (opened.name,))
            reference = Reference(level, level.name)
            row = passed(reference, row, optional=True)
            return level, ScanRows(source.alias, opened, row, reference)
        part, reference = self.context.refer(opened)
        columns = opened.through(reference, optional=optional)
        alias = source.alias
        if alias is None and isinstance(source.table, ast.PathTable):
            alias = last_name(source.table.expr)
        return part, Outputs(alias, columns)

    def _opened(self, table: ast.Table, alias: str | None) -> ScanNode | Query:
        if isinstance(table, ast.QueryTable):
            return self.context.plan(self._narrowed(table.select, alias), self.scope.parent)
        if isinstance(table, ast.PathTable) and isinstance(table.expr, ast.Name):
            query = self.context.queries.get(table.expr.name)
            if isinstance(query, ast.Select):
                return self.context.plan(self._narrowed(query, alias), None)
            if query is not None:
                return query
        if isinstance(table, ast.ConcatTable):
            names = [table_name(part) for part in table.tables]
            if not all(names) or self._names_query(table):
                parts = [self._opened(part, alias) for part in table.tables]
                return united(parts, self.context)
            tables = tuple(name for name in names if name is not None)
        else:
            name = table_name(table)
            if name is None:
                raise rejected("this is no table", table)
            tables = (name,)
        return self._scan(tables, alias)

    def _scan(self, tables: tuple[TableName, ...], alias: str | None) -> ScanNode:
        """Read tables, but for blocks where the condition is never TRUE."""
        (source, *others) = self.select.sources
        alone = not others and not isinstance(source.table, ast.UnpivotTable)
        is_first = source.alias == alias
        lists = tuple(others) if is_first else ()
        where = about(self.select.where, alias, alone=alone, others=lists)
        keys = [key for one in self.select.sources if one.alias == alias for key in one.keys]
        scan = self.context.scan(tables, _also(where, keys))
        if where is None or alias is not None or self.scope.parent is None:
            return scan
        # Names of fields that the rows do not have are those of a query around this one.
        own = [part for part in conjuncts(where) if self._is_own(part, scan)]
        if len(own) == len(conjuncts(where)):
            return scan
        self.context.drop(scan)
        return self.context.scan(tables, _also(conjunction(own), keys))

    def _is_own(self, part: ast.Expr, scan: ScanNode) -> bool:
        """Tell whether a condition is about rows of a scan, and nothing around the query."""
        around = self.scope.parent
        found = nodes(part, into_selects=False)
        names = [node for node in found if isinstance(node, ast.Name)]
        return all(
            around is None or not around.lends(name) or scan.holds((name.name,)) for name in names
        )

    def _narrowed(self, inner: ast.Select, alias: str | None) -> ast.Select:
        """Move conditions into a sub-query, where names cannot mean anything else."""
        (source, *others) = self.select.sources
        unfolded = isinstance(source.table, ast.UnpivotTable)
        if others or unfolded or self.scope.parent is not None:
            return inner
        return narrowed(inner, self.select.where, alias)

    def _names_query(self, table: ast.ConcatTable) -> bool:
        return any(
            isinstance(part, ast.PathTable)
            and isinstance(part.expr, ast.Name)
            and part.expr.name in self.context.queries
            for part in table.tables
        )


def _also(where: ast.Expr | None, keys: list[ast.Among]) -> ast.Expr | None:
    """Add keys of other sources to a condition that blocks are chosen by."""
    return conjunction([*conjuncts(where), *keys]) if keys else where


def _members(columns: list[tuple[str, Value]]) -> str:
    """Give SQL of a list of (name, key) of the members of a row."""
    if "" in [name for name, _ in columns]:
        return f"sdb_key_members({whole_row(columns).lane('k')})"
    members = [
        f"{{'n': {quoting.string(name)}, 'k': {value.lane('k')}}}" for name, value in columns
    ]
    return f"[{', '.join(members)}]"
