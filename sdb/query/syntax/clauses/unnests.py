"""UNNEST in the select list: a row for each element, as if it stood in FROM.

The elements get a name that no text can have as a bare word, so that they hide no field.
"""

from __future__ import annotations

from sdb.query.syntax import ast, visitor
from sdb.query.syntax.clauses import listtables
from sdb.records import replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn

    from sdb.query.syntax.parser import Parser

_HOW = "unfold it in FROM: FROM t, UNNEST(t.list) AS e"
_AROUND = "unfold it in a query around: SELECT UNNEST(q.list) FROM (SELECT ...) AS q"


def put_in_from(parser: Parser, select: ast.Select) -> ast.Select:
    """Return a SELECT whose lists to unfold are sources.

    Raises `QueryError` if UNNEST stands where it makes no sense.
    """
    places: list[ast.Node | None] = [select.where, select.having, select.qualify]
    places += [source.on for source in select.sources]
    for clause in places:
        if clause is not None and (call := visitor.call_in(clause, "UNNEST")):
            _fault(parser, "UNNEST makes rows: no condition takes it", call, _HOW)
    lists = _Lists(parser, {item.alias for item in select.items if item.alias})
    items = tuple([lists.item(item) for item in select.items])
    new = replace(
        select,
        items=items,
        distinct_on=tuple(map(lists.expr, select.distinct_on)),
        group_by=None if select.group_by is None else tuple(map(lists.item, select.group_by)),
        order_by=tuple([replace(s, expr=lists.expr(s.expr)) for s in select.order_by]),
    )
    if not lists.levels:
        return select
    _check_groups(parser, new, lists)
    sources = [*select.sources]
    for level in lists.levels:
        name, *more = level.values()
        label = name if more else None
        table = ast.ListTable("UNNEST", tuple(level), name, None, tuple(more), label)
        table = replace(table, span=select.span)
        table = listtables.series(table)
        join = "CROSS" if sources else "FIRST"
        sources.append(ast.Source(table, None, join, span=select.span))
    return replace(new, sources=tuple(sources))


class _Lists:
    """Lists to unfold: those of one level side by side, and elements of theirs behind them."""

    def __init__(self, parser: Parser, aliases: set[str]) -> None:
        self.parser = parser
        self.aliases = aliases
        self.levels: list[dict[ast.Expr, str]] = []
        self.names: dict[str, int] = {}

    def item(self, item: ast.Item) -> ast.Item:
        """Return an item without UNNEST; one that is nothing else has a name."""
        expr = self.expr(item.expr)
        is_list = isinstance(expr, ast.Name) and expr.name in self.names
        if item.alias is not None or not is_list or expr is item.expr:
            return replace(item, expr=expr)
        taken = sum(alias.startswith("unnest") for alias in self.aliases)
        alias = f"unnest_{taken + 1}" if taken else "unnest"
        self.aliases.add(alias)
        return replace(item, expr=expr, alias=alias)

    def expr(self, expr: ast.Expr) -> ast.Expr:
        """Return an expression in which names stand for elements."""
        if visitor.call_in(expr, "UNNEST") is None:
            return expr
        return visitor.rewrite(expr, self._element, stop=self._stop)

    def _stop(self, node: ast.Node) -> ast.Node | None:
        if isinstance(node, ast.Aggregate) and (call := visitor.call_in(node, "UNNEST")):
            _fault(self.parser, "UNNEST makes rows: no aggregate takes it", call, _AROUND)
        return node if isinstance(node, ast.Select) else None

    def _element(self, node: ast.Node) -> ast.Node:
        if not isinstance(node, ast.Call) or node.name != "UNNEST":
            return node
        if len(node.args) != 1:
            _fault(self.parser, f"UNNEST got {len(node.args)} arguments", node, "it takes a list")
        (arg,) = node.args
        if aggregate := next(visitor.aggregates(arg), None):
            _fault(self.parser, "UNNEST takes no aggregate", aggregate, _AROUND)
        root = visitor.root_name(arg)
        if root is not None and root.name in self.aliases and root == arg:
            what = f"UNNEST takes a field, not {root.name}, which is a name of the select list"
            _fault(self.parser, what, root, _AROUND)
        inner = [n.name for n in visitor.nodes(arg) if isinstance(n, ast.Name)]
        depth = max([self.names[name] + 1 for name in inner if name in self.names], default=0)
        while len(self.levels) <= depth:
            self.levels.append({})
        level = self.levels[depth]
        if arg not in level:
            level[arg] = f"{listtables.HIDDEN}{len(self.names) + 1}"
            self.names[level[arg]] = depth
        return ast.Name(level[arg], span=node.span)


def _check_groups(parser: Parser, select: ast.Select, lists: _Lists) -> None:
    """Refuse elements of groups and beside windows, which come after these elsewhere."""
    exprs = [*[item.expr for item in select.items], *[sort.expr for sort in select.order_by]]
    calls = [call for expr in exprs for call in visitor.aggregates(expr)]
    for call in calls:
        if call.over is not None:
            _fault(parser, "UNNEST does not go with window functions", call, _AROUND)
    if select.group_by is None and not calls:
        return
    keys = {item.expr for item in select.group_by or ()}
    for number, item in enumerate(select.items, 1):
        named = {ast.Name(item.alias)} if item.alias else set()
        if keys & {item.expr, ast.Position(number), *named}:
            continue
        for node in visitor.nodes(item.expr, into_selects=False):
            if isinstance(node, ast.Name) and node.name in lists.names and node not in keys:
                _fault(parser, "UNNEST in a grouped query has to be a key", node, _AROUND)


def _fault(parser: Parser, message: str, node: ast.Node, hint: str) -> NoReturn:
    start, stop = node.span
    raise parser.lexer.fault(message, start, max(stop - start, 1), hint=hint)
