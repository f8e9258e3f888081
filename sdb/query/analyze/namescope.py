"""Names that the sources of a select bring."""

from __future__ import annotations

from sdb.query.analyze.refusals import refuse
from sdb.query.syntax import ast, printer, visitor
from sdb.records import record


@record
class NameScope:
    """The names that expressions of a select may use.

    Attributes
    ----------
    names : frozenset of str
        Aliases of sources, labels of UNPIVOT, and what else stands for a value.
    raw : frozenset of str
        Those of `names` that stand for whole tables.
    queries : frozenset of str
        Names of sub-queries, behind which (``q.x``) stand columns.
    needless : str or None
        The one of these that may be left out.
    fields : bool
        Whether a bare name may be a field.
    outer : NameScope or None
        The names of the select around it.
    """

    names: frozenset[str]
    raw: frozenset[str]
    queries: frozenset[str]
    needless: str | None
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

    def check(self, path: ast.Expr, root: str) -> None:
        """Refuse a path whose first name cannot stand for anything."""
        if self.knows(root):
            if isinstance(path, ast.Name) and self.is_raw(root):
                refuse("planning query: cannot reference raw table", path)
            return
        if self.empty:
            text = printer.text(path)
            refuse(f"planning query: path {text} references an unbound variable", path)
        aliases = sorted(self.names)
        hint = f"it is one of {', '.join(aliases)}" if aliases else None
        if aliases and isinstance(path, ast.Name):
            hint = f"fields stand behind an alias: {aliases[0]}.{root}"
        refuse(f'planning query: reference to undefined variable "{root}"', path, hint)


def scope_of(select: ast.Select, outer: NameScope | None, withs: frozenset[str]) -> NameScope:
    """Give the names that the sources of a select bring.

    Parameters
    ----------
    select : ast.Select
        The select.
    outer : NameScope or None
        The names of the select around it.
    withs : frozenset of str
        Names of WITH that it may use.
    """
    names: set[str] = set()
    raw: set[str] = set()
    queries: set[str] = set()
    fields = False
    for source in select.sources:
        table, alias = source.table, source.alias
        root = visitor.root_name(table.expr) if isinstance(table, ast.PathTable) else None
        head = None if root is None else root.name
        is_query = _is_query(table, withs)
        if isinstance(table, ast.UnpivotTable):
            names |= {label for label in (table.value, table.key) if label is not None}
        elif is_query:
            queries |= {alias or head or ""}
        elif alias is not None and not (
            head in names or (head is not None and (fields or _is_alias(head, outer)))
        ):
            raw.add(alias)
        if alias is not None:
            names.add(alias)
        fields = fields or alias is None or is_query
    alone = len(select.sources) == 1 and queries
    needless = next(iter(queries)) if alone else None
    return NameScope(frozenset(names), frozenset(raw), frozenset(queries), needless, fields, outer)


def _is_query(table: ast.Table, withs: frozenset[str]) -> bool:
    """Tell whether the rows of a table are those of a query."""
    if isinstance(table, ast.ConcatTable):
        return any(_is_query(part, withs) for part in table.tables)
    if isinstance(table, ast.PathTable):
        return isinstance(table.expr, ast.Name) and table.expr.name in withs
    return isinstance(table, ast.QueryTable)


def _is_alias(name: str, scope: NameScope | None) -> bool:
    """Tell whether a name stands for a source of a select further out."""
    while scope is not None:
        if name in scope.names:
            return True
        scope = scope.outer
    return False
