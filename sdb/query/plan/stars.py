"""`SELECT * EXCLUDE (a, b)`: the select list that it stands for."""

from __future__ import annotations

from sdb.errors import QueryError
from sdb.query.analyze.binder import output_names
from sdb.query.analyze.refusals import refuse
from sdb.query.plan.tables import last_name, table_name
from sdb.query.syntax import ast, visitor
from sdb.records import replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from sdb.query.plan.dataset import TableName

    TopFields = Callable[[tuple[TableName, ...]], Sequence[str] | None]


def has_excluded(statement: ast.Statement) -> bool:
    """Tell whether there is such a star.

    Parameters
    ----------
    statement : Statement
        What the parser made of the query.

    Returns
    -------
    bool
        Whether a star leaves something out.
    """
    found = visitor.nodes(statement)
    return any(isinstance(node, ast.Select) and bool(node.excluded) for node in found)


def expanded(statement: ast.Statement, fields: TopFields) -> ast.Statement:
    """Write out the stars that leave something out.

    Parameters
    ----------
    statement : Statement
        What the parser made of the query.
    fields : callable
        Gives the names of the fields of tables, whose rows follow each other; None when they are
        not all known.

    Returns
    -------
    Statement
        The same, with items in their place.

    Raises
    ------
    QueryError
        The fields are not known, there is none of such a name, or none is left.
    """
    stars = _Stars(dict(statement.with_), fields)
    try:
        return visitor.rewrite(statement, stars.change)
    except QueryError as error:
        raise error.inside(statement.text) from None


class _Stars:
    def __init__(self, withs: Mapping[str, ast.Select], fields: TopFields) -> None:
        self._withs = withs
        self._fields = fields

    def change(self, node: ast.Node) -> ast.Node:
        """Give what stands for a node."""
        if not isinstance(node, ast.Select) or not node.excluded:
            return node
        columns = self._columns(node)
        for name in node.excluded:
            if name not in columns:
                known = ", ".join(list(columns)[:20])
                refuse(f'there is no column "{name}" to exclude', node, f"the columns are {known}")
        # Without aliases, which might hide the name of a source.
        items = [
            ast.Item(expr, span=node.span)
            for name, expr in columns.items()
            if name not in node.excluded
        ]
        if not items:
            refuse("EXCLUDE leaves no column", node)
        return replace(node, items=tuple(items), star=False, excluded=())

    def _columns(self, select: ast.Select) -> dict[str, ast.Expr]:
        """Give what a star stands for; of columns of one name the last one counts."""
        found: dict[str, ast.Expr] = {}
        seen: set[str] = set()
        for source in select.sources:
            for name, expr in self._of_source(source, seen).items():
                found.pop(name, None)
                found[name] = expr
            seen |= {source.alias} if source.alias else set()
        return found

    def _of_source(self, source: ast.Source, seen: set[str]) -> dict[str, ast.Expr]:
        table, alias = source.table, source.alias
        if isinstance(table, ast.UnpivotTable):
            labels = [label for label in (table.key, table.value) if label is not None]
            return {label: ast.Name(label, span=source.span) for label in labels}
        root = visitor.root_name(table.expr) if isinstance(table, ast.PathTable) else None
        if isinstance(table, ast.PathTable) and root is not None and root.name in seen:
            name = alias or last_name(table.expr)
            return {name: ast.Name(name, span=source.span)}
        names = self._names(table)
        if names is None:
            why = "the packfile does not tell its fields"
            refuse(f"EXCLUDE is not possible here: {why}", source, "name the fields that you want")
        base = None if alias is None else ast.Name(alias, span=source.span)
        return {
            name: ast.Name(name, span=source.span)
            if base is None
            else ast.Dot(base, name, span=source.span)
            for name in names
        }

    def _names(self, table: ast.Table) -> Sequence[str] | None:
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
        if select.star:
            return [name for name in self._columns(select) if name not in select.excluded]
        return list(dict.fromkeys(output_names(select)))
