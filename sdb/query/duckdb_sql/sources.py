"""FROM: tables, sub-queries, unnested lists, UNPIVOT and joins."""

from __future__ import annotations

from sdb.query.analyze.refusals import refuse, rejected
from sdb.query.analyze.types import ANY, LIST, MISSING, NULL, NUMBER, STRING, TIME
from sdb.query.catalog.dataset import MixedSchemasError, last_name, table_name
from sdb.query.catalog.pseudo import Certain
from sdb.query.duckdb_sql import joins
from sdb.query.duckdb_sql.functions.growth import looked
from sdb.query.duckdb_sql.lowering import condition, translate
from sdb.query.duckdb_sql.scope import (
    Binding,
    FromItem,
    Level,
    Names,
    Outputs,
    Reference,
    ScanRows,
    Scope,
)
from sdb.query.duckdb_sql.sets import combined, united
from sdb.query.duckdb_sql.values import quoting
from sdb.query.duckdb_sql.values.case_values import passed
from sdb.query.duckdb_sql.values.constructors import FieldValue, whole_row
from sdb.query.duckdb_sql.values.lanes import Constant, Keyed, Typed, Value
from sdb.query.duckdb_sql.values.operators import int64
from sdb.query.plan.pushdown import narrowed
from sdb.query.plan.rewrite import about, conjunction, conjuncts, is_strict
from sdb.query.plan.scans import ScanNode
from sdb.query.syntax import ast, printer
from sdb.query.syntax.clauses.joins import HIDDEN, OUTER
from sdb.query.syntax.clauses.listtables import is_hidden
from sdb.query.syntax.visitor import nodes, root_name
from sdb.records import replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sdb.query.catalog.dataset import TableName
    from sdb.query.duckdb_sql.scope import Query, SqlContext

_JOINS = {"FIRST": "CROSS JOIN", "CROSS": "CROSS JOIN", "INNER": "JOIN"} | {
    kind: f"{kind} JOIN" for kind in ("LEFT", "RIGHT", "FULL", "SEMI", "ANTI", "ASOF", "ASOF LEFT")
}


class From:
    """FROM in the making.

    * ``scans``: The scans in it whose rows it keeps one for one.
    """

    def __init__(self, select: ast.Select, scope: Scope, context: SqlContext) -> None:
        self.select = select
        self.scope = scope
        self.context = context
        self.parts: list[str | FromItem] = []
        self.is_single = False  # whether it is a query of at most one row
        self.scans: list[ScanNode] = []
        self.lacking: set[str] = set()  # names of sources that rows may be without
        self.outer = any(source.join in OUTER for source in select.sources)
        ordered = self._in_order(select.sources)
        for number, source in enumerate(ordered):
            later = {other.join for other in ordered[number + 1 :]}
            behind = source.join in {"LEFT", "FULL", "ASOF LEFT"}
            self._add(source, optional=behind or not later.isdisjoint({"RIGHT", "FULL"}))

    @staticmethod
    def _in_order(sources: tuple[ast.Source, ...]) -> list[ast.Source]:
        """Turn a RIGHT JOIN of two sources around."""
        if len(sources) != 2 or sources[1].join != "RIGHT":  # noqa: PLR2004
            return list(sources)
        left, right = sources
        return [
            replace(right, join="FIRST", on=None, using=()),
            replace(left, join="LEFT", on=right.on, using=right.using),
        ]

    def _add(self, source: ast.Source, *, optional: bool) -> None:
        self.adding = source
        self.is_optional = optional
        if isinstance(source.table, ast.UnpivotTable):
            part, binding = self._unpivot(source.table)
        elif isinstance(source.table, ast.ListTable):
            part, binding = elements(source.table, self.scope, self.context, optional=optional)
        elif isinstance(source.table, ast.PathTable) and self._is_list(source.table):
            part, binding = self._unnest(source.table, source)
        else:
            part, binding = self._table(source, optional=optional)
        lefts = list(self.scope.sources)
        self.scope.sources.append(binding)
        if optional:
            names = binding.values if isinstance(binding, Names) else ()
            self.lacking |= {*names, *filter(None, [binding.alias])}
        if part is None:
            return
        if self.parts:
            self.parts.append(f" {_JOINS.get(source.join, source.join)} ")
        self.parts.append(part)
        self._join(source, lefts, binding)

    def _join(self, source: ast.Source, lefts: list[Binding], binding: Binding) -> None:
        """Write the condition of a join, and merge the fields that USING names."""
        pairs = joins.pairs(source, lefts, binding)
        if source.join.startswith("ASOF"):
            self.parts.append(f" ON {joins.nearest(source, pairs, self.scope, self.context)}")
        elif pairs:
            self.parts.append(f" ON {joins.equal(pairs, self.context)}")
        elif source.on is not None:
            self.parts.append(f" ON {condition(source.on, self.scope, self.context)}")
        if source.join in HIDDEN:
            self.scope.sources.remove(binding)
        elif pairs:
            self.scope.sources.insert(0, joins.merged(source.join, pairs, self.context))

    def _refuse_optional(self, what: str) -> None:
        """Refuse elements in front of a join that brings rows without them."""
        if self.is_optional:
            hint = "unfold it in a sub-query: FROM (SELECT ...) AS a FULL JOIN b"
            refuse(
                f"RIGHT and FULL JOIN take tables and sub-queries, not {what}", self.adding, hint
            )

    def _is_list(self, table: ast.PathTable) -> bool:
        """Return whether a path starts at something that is in scope, and so is to be unnested."""
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
        base = value.stored
        if isinstance(base, FieldValue) and base.scan in self.scans and plain:
            level = base.scan.unfold(base.level, base.path, "list")
            return None, Names({name: _element(value, FieldValue(base.scan, level, ()))})
        alias = self.context.name("u")
        if source.join not in {"LEFT", "ASOF LEFT"}:
            self._refuse_optional("a list")
        part = f"LATERAL (SELECT unnest({value.lane('e')}) AS k) AS {alias}"
        # The elements of such a list have the names of their columns already.
        return part, Names({name: Keyed(f"{alias}.k", ANY & ~MISSING)})

    def _unpivot(self, table: ast.UnpivotTable) -> tuple[str | FromItem | None, Binding]:
        source = self._opened(table.table, None)
        if isinstance(source, ScanNode) and source.under is not None:
            source = united([source], self.context)
        if isinstance(source, ScanNode):
            level = source.unfold(0, (), "struct")
            self.scans.append(source)
            name = Typed(STRING, source.lane(level, (), "name"), absent=0)
            self._refuse_optional("UNPIVOT")
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
            if opened.under is not None:
                from sdb.query.duckdb_sql.values.schemavalues import SchemaValue

                row = SchemaValue(row, opened.under.row, opened.under, ())
            if not optional and source.join not in joins.APART:
                self.scans.append(opened)
                return opened.name, ScanRows(source.alias, opened, row)
            level = Level(self.context.name("q"), (opened.name,))
            reference = Reference(level, level.name)
            row = passed(reference, row, optional=optional)
            return level, ScanRows(source.alias, opened, row, reference, optional=optional)
        part, reference = self.context.refer(opened)
        if not _is_lateral(source.table):
            self.scope.correlated |= opened.correlated
        columns = opened.through(reference, optional=optional)
        if self.context.growth.has_copies and len(self.select.sources) > 1:
            columns = [(name, looked(value)) for name, value in columns]
        self.is_single = opened.single and len(self.select.sources) == 1
        alias = source.alias
        if alias is None and isinstance(source.table, ast.PathTable):
            alias = last_name(source.table.expr)
        return part, Outputs(alias, columns)

    def _opened(self, table: ast.Table, alias: str | None) -> ScanNode | Query:
        if isinstance(table, ast.QueryTable):
            around = self.scope if table.lateral else self.scope.parent
            return self.context.plan(self._narrowed(table.select, alias), around)
        if isinstance(table, ast.SetTable):
            left = self.context.plan(table.left, self.scope.parent)
            right = self.context.plan(table.right, self.scope.parent)
            return combined(table, left, right, self.context)
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
        return self._read(tables, alias)

    def _read(self, tables: tuple[TableName, ...], alias: str | None) -> ScanNode | Query:
        """Read tables, those of several schemas one after the other."""
        try:
            return self._by_columns(self._scan(tables, alias))
        except MixedSchemasError:
            if len(tables) == 1:
                raise
        parts = [self._by_columns(self._scan((name,), alias)) for name in tables]
        return united(parts, self.context)

    def _by_columns(self, scan: ScanNode) -> ScanNode | Query:
        """Read packfiles apart that have values of some columns of a schema, and not of others."""
        if scan.under is None or not scan.under.is_partial:
            return scan
        self.context.drop(scan)
        datasets = scan.dataset.by_columns()  # type: ignore[attr-defined]  # it has a schema
        return united([self.context.reading(scan, each) for each in datasets], self.context)

    def _scan(self, tables: tuple[TableName, ...], alias: str | None) -> ScanNode:
        """Read tables, but for blocks where the condition is never TRUE."""
        (source, *others) = self.select.sources
        is_alone = all(is_hidden(other.table) for other in others)
        alone = is_alone and not isinstance(source.table, ast.UnpivotTable)
        is_first = source.alias == alias
        lists = tuple(others) if is_first else ()
        where = about(self._own_where(), alias, alone=alone, others=lists)
        if self.adding.join in joins.APART:
            where = None
        elif self.is_optional:
            # Rows that a join lacks are NULL: only what fails for NULL may leave blocks out.
            where = conjunction([part for part in conjuncts(where) if is_strict(part)])
        keys = [
            key for source in self.select.sources if source.alias == alias for key in source.keys
        ]
        scan = self.context.scan(tables, _also(where, keys))
        if where is None or alias is not None or self.scope.parent is None:
            return scan
        # Names of fields that the rows do not have are those of a query around this one.
        own = [part for part in conjuncts(where) if self._is_own(part, scan)]
        if len(own) == len(conjuncts(where)):
            return scan
        self.context.drop(scan)
        return self.context.scan(tables, _also(conjunction(own), keys))

    def _own_where(self) -> ast.Expr | None:
        """Return the condition without what is asked of elements that the select list unfolds."""
        hidden = {name for s in self.select.sources if is_hidden(s.table) for name in _names(s)}
        if not hidden:
            return self.select.where
        parts = conjuncts(self.select.where)
        return conjunction([p for p in parts if hidden.isdisjoint(_names(p))])

    def _is_own(self, part: ast.Expr, scan: ScanNode) -> bool:
        """Return whether a condition is about rows of a scan, and nothing around the query."""
        env = self.scope.parent
        part_nodes = nodes(part, into_selects=False)
        names = [node for node in part_nodes if isinstance(node, ast.Name)]
        return all(env is None or not env.lends(name) or scan.has(name.name) for name in names)

    def _narrowed(self, inner: ast.Select, alias: str | None) -> ast.Select:
        """Move conditions into a sub-query, where names cannot mean anything else."""
        (source, *others) = self.select.sources
        unfolded = isinstance(source.table, ast.UnpivotTable)
        is_other = inner.original != self.context.original  # conditions mean something else
        if others or unfolded or is_other or self.scope.parent is not None:
            return inner
        return narrowed(inner, self.select.where, alias)

    def _names_query(self, table: ast.ConcatTable) -> bool:
        return any(
            isinstance(part, ast.PathTable)
            and isinstance(part.expr, ast.Name)
            and part.expr.name in self.context.queries
            for part in table.tables
        )


def _names(node: ast.Node) -> set[str]:
    """Return the names in a tree, with that of the elements of a list."""
    named = {part.name for part in nodes(node) if isinstance(part, ast.Name)}
    if isinstance(node, ast.Source) and isinstance(node.table, ast.ListTable):
        named = {node.table.value, *node.table.more}
    return named


def _is_lateral(table: ast.Table) -> bool:
    return isinstance(table, ast.QueryTable) and table.lateral


def _also(where: ast.Expr | None, keys: list[ast.Among]) -> ast.Expr | None:
    """Add keys of other sources to a condition that blocks are chosen by."""
    return conjunction([*conjuncts(where), *keys]) if keys else where


def _members(columns: list[tuple[str, Value]]) -> str:
    """Return SQL of a list of (name, key) of the members of a row."""
    if "" in [name for name, _ in columns]:
        return f"sdb_key_members({whole_row(columns).lane('k')})"
    members = [
        f"{{'n': {quoting.string(name)}, 'k': {value.lane('k')}}}"
        for name, value in columns
        if not isinstance(name, Certain)
    ]
    return f"[{', '.join(members)}]"


def _element(listed: Value, element: FieldValue) -> Value:
    """Return the element of a list, of which a schema may say more."""
    if isinstance(listed, FieldValue):
        return element
    from sdb.query.duckdb_sql.values.schemavalues import SchemaValue, under

    assert isinstance(listed, SchemaValue)  # noqa: S101 - no other value is stored elsewhere
    return under(element, listed.item, listed.rows, None)


# UNNEST, GENERATE_SERIES and RANGE in FROM: a row for each element.


def elements(
    table: ast.ListTable, scope: Scope, context: SqlContext, *, optional: bool
) -> tuple[str, Names]:
    """Return what stands in FROM, and its names.

    * ``optional``: Whether a join may lack the elements.
    """
    alias = context.name("u")
    absent = MISSING if optional else 0
    if table.name == "UNNEST":
        gaps = MISSING if table.more else absent
        value: Value = Keyed(f"{alias}.k", ANY & ~MISSING | gaps)
        listed = _list(table.args[0], scope, context)
    else:
        listed, kind = _series(table, scope, context)
        value = Typed(kind, f"{alias}.k", absent=absent, integer=kind == NUMBER)
        if table.ordinal is None and _is_constant(table):
            # A function of tables yields numbers one by one, where a list would hold all of them,
            # and no interrupt would stop it from being made.
            source = f"(SELECT {table.name.lower()} AS k FROM {listed}) AS {alias}"
            return source, Names({table.value: value}, is_first=True)
    columns = f"unnest({listed}) AS k"
    values = {table.value: value}
    for number, (name, arg) in enumerate(zip(table.more, table.args[1:], strict=False)):
        # Side by side: where one list is shorter, its elements are MISSING.
        columns += f", unnest({_list(arg, scope, context)}) AS m{number}"
        values[name] = Keyed(f"{alias}.m{number}", ANY)
    if table.ordinal is not None:
        longest = listed
        if table.more:
            lengths = [f"len({_list(arg, scope, context)})" for arg in table.args]
            longest = f"range(greatest({', '.join(lengths)}))"
        columns += f", generate_subscripts({longest}, 1) AS o"
        values[table.ordinal] = Typed(NUMBER, f"{alias}.o::BIGINT", absent=absent, integer=True)
    lateral = "LATERAL " if scope.sources else ""
    return f"{lateral}(SELECT {columns}) AS {alias}", Names(values, is_first=True)


def _is_constant(table: ast.ListTable) -> bool:
    """Return whether a series is of numbers that the query writes."""
    values = [arg.value if isinstance(arg, ast.Literal) else None for arg in table.args]
    return all(type(value) is int for value in values)


def _list(arg: ast.Expr, scope: Scope, context: SqlContext) -> str:
    """Return SQL of the keys of the elements of a list."""
    items = translate(arg, scope, context)
    if not items.mask & ~(MISSING | NULL):
        return "[]::VARCHAR[]"  # perhaps of rows that are not read, since WHERE is never TRUE
    if not items.mask & LIST:
        raise rejected(f"{printer.text(arg)} is no list", arg)
    return items.lane("e")


def _series(table: ast.ListTable, scope: Scope, context: SqlContext) -> tuple[str, int]:
    """Return SQL of the list of a series, and the type of its elements."""
    bounds, step = table.args[:2], table.args[2] if len(table.args) > 2 else None  # noqa: PLR2004
    values = [translate(bound, scope, context) for bound in bounds]
    function = table.name.lower()
    if isinstance(step, ast.Interval):
        if not (step.months or step.us):
            raise rejected("the step of a series has to go somewhere", step)
        _check(table, bounds, values, TIME, "times")
        by = f"to_months({step.months}) + to_microseconds({step.us})"
        return f"{function}({values[0].lane('u')}, {values[1].lane('u')}, {by})", TIME
    if step is not None:
        values.append(translate(step, scope, context))
    hint = "of times it has an interval, as in INTERVAL '1 day'"
    _check(table, table.args, values, NUMBER, "whole numbers", hint)
    if step is not None and isinstance(values[2], Constant) and values[2].value == 0:
        raise rejected("the step of a series has to go somewhere", step)
    return f"{function}({', '.join([int64(value) for value in values])})", NUMBER


def _check(
    table: ast.ListTable,
    args: tuple[ast.Expr, ...],
    values: list[Value],
    kind: int,
    words: str,
    hint: str | None = None,
) -> None:
    """Refuse arguments that can never be of a type."""
    for arg, value in zip(args, values, strict=True):
        is_part = isinstance(value, Constant) and isinstance(value.value, float)
        if not value.mask & kind or is_part:
            raise rejected(f"{table.name} takes {words}, not {printer.text(arg)}", arg, hint)
