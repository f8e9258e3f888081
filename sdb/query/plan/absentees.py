"""Paths of a query that lead to fields of packfiles, to tell which of them no row has."""

from __future__ import annotations

from sdb.query.plan.tables import table_name
from sdb.query.syntax import ast, visitor
from sdb.records import record, replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from sdb.query.plan.dataset import TableName

    Steps = tuple[str | None, ...]
    Tables = tuple[TableName, ...]


@record
class _Scope:
    """The meaning of first names: tables and the way from their rows; None for what is unknown."""

    names: Mapping[str, tuple[Tables, Steps] | None]
    bare: Tables | None
    """The tables whose fields bare names are; none where they may be something else."""
    outer: _Scope | None

    def find(self, name: str) -> tuple[Tables, Steps] | None:
        if name in self.names:
            return self.names[name]
        if self.bare is not None:
            return self.bare, (name,)
        return None if self.outer is None else self.outer.find(name)


def fields_of(statement: ast.Statement) -> dict[Tables, list[Steps]]:
    """Find the fields that a statement reads of its tables.

    Parameters
    ----------
    statement : Statement
        The query, with its names bound.

    Returns
    -------
    dict
        For tables, whose rows follow each other, the paths from a row; None stands for the elements
        of a list. What may mean something else is left out.
    """
    every = (node for node in visitor.nodes(statement) if isinstance(node, ast.Select))
    aliases = {item.alias for select in every for item in select.items if item.alias}
    walker = _Walker(frozenset(name for name, _ in statement.with_), frozenset(aliases))
    for _, select in statement.with_:
        walker.select(select, None)
    walker.select(statement.select, None)
    for _, select in statement.unions:
        # What stands behind a UNION sorts its columns, which are no fields.
        walker.select(replace(select, order_by=()), None)
    return walker.found


class _Walker:
    def __init__(self, withs: frozenset[str], aliases: frozenset[str]) -> None:
        self._withs = withs
        self._aliases = aliases
        self.found: dict[Tables, list[Steps]] = {}

    def select(self, select: ast.Select, outer: _Scope | None) -> None:
        scope = self._scope(select, outer)
        parts: list[ast.Node] = [*select.items, *select.distinct_on, *select.order_by]
        parts += [source.on for source in select.sources if source.on is not None]
        parts += [part for part in (select.where, select.having) if part is not None]
        parts += select.group_by or ()
        for part in parts:
            self._walk(part, scope)

    def _walk(self, node: ast.Node, scope: _Scope) -> None:
        if isinstance(node, ast.Select):
            self.select(node, scope)
            return
        if isinstance(node, ast.Name | ast.Dot | ast.Index) and visitor.root_name(node):
            self._note(node, scope)
            return
        for child in visitor.children(node):
            self._walk(child, scope)

    def _note(self, path: ast.Expr, scope: _Scope) -> None:
        found = self._place(path, scope)
        if found is not None and found[1]:
            self.found.setdefault(found[0], []).append(found[1])

    def _place(self, path: ast.Expr, scope: _Scope) -> tuple[Tables, Steps] | None:
        root, *steps = _steps(path)
        if root in self._aliases or root is None:
            return None
        found = scope.find(root)
        return None if found is None else (found[0], (*found[1], *steps))

    def _scope(self, select: ast.Select, outer: _Scope | None) -> _Scope:
        names: dict[str, tuple[Tables, Steps] | None] = {}
        bare: list[Tables | None] = []
        for source in select.sources:
            for query in _queries(source.table):
                self.select(query, outer)
            known = self._table(source.table, _Scope(names, None, outer))
            if isinstance(source.table, ast.UnpivotTable):
                names |= dict.fromkeys(
                    label for label in (source.table.value, source.table.key) if label is not None
                )
            if source.alias is not None:
                names[source.alias] = known
            if source.alias is None or known is None:
                bare.append(known[0] if known is not None and not known[1] else None)
        is_sure = len(bare) == 1 and len(select.sources) == 1
        # Without a sure table a bare name may be a field of any.
        fields = bare[0] if is_sure else None
        blocked = None if fields is not None or not bare else _Scope({}, None, None)
        return _Scope(names, fields, blocked or outer)

    def _table(self, table: ast.Table, scope: _Scope) -> tuple[Tables, Steps] | None:
        if isinstance(table, ast.ConcatTable):
            parts = [self._table(part, scope) for part in table.tables]
            if any(part is None or part[1] for part in parts):
                return None
            return tuple(name for part in parts if part for name in part[0]), ()
        if isinstance(table, ast.PathTable):
            root, *steps = _steps(table.expr)
            if root is not None and (root in scope.names or _is_known(scope.outer, root)):
                found = scope.find(root)
                return None if found is None else (found[0], (*found[1], *steps, None))
            if root in self._withs or root is None or scope.outer is not None:
                return None
        elif not isinstance(table, ast.CallTable):
            return None
        name = table_name(table)
        return None if name is None else ((name,), ())


def _is_known(scope: _Scope | None, name: str) -> bool:
    while scope is not None:
        if name in scope.names:
            return True
        scope = scope.outer
    return False


def _queries(table: ast.Table) -> Iterator[ast.Select]:
    if isinstance(table, ast.QueryTable):
        yield table.select
    elif isinstance(table, ast.ConcatTable):
        for part in table.tables:
            yield from _queries(part)
    elif isinstance(table, ast.UnpivotTable):
        yield from _queries(table.table)


def _steps(path: ast.Expr) -> list[str | None]:
    """Give the steps of a path; None for elements, and as the first one for what is no name."""
    steps: list[str | None] = []
    while isinstance(path, ast.Dot | ast.Index):
        steps.append(path.name if isinstance(path, ast.Dot) else None)
        path = path.base
    steps.append(path.name if isinstance(path, ast.Name) else None)
    return steps[::-1]
