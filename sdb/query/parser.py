"""Parses queries: a parser of recursive descent for the dialect of docs/sql.md."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sdb.errors import QueryError
from sdb.query import ast
from sdb.query.expressions import Expressions
from sdb.query.walk import depth

if TYPE_CHECKING:
    from sdb.query.ast import Expr

MAX_DEPTH = 250
_JOINS = frozenset({"JOIN", "INNER", "LEFT", "RIGHT", "CROSS", ","})
_EXPLAINS = {"text": "text", "list": "list", "gv": "gv", "graphviz": "gv"}


def parse(query: str) -> ast.Statement:
    """Parse a query.

    Parameters
    ----------
    query : str
        One statement; a semicolon may end it.

    Returns
    -------
    Statement
        Its syntax tree.

    Raises
    ------
    QueryError
        The text is not in the language, or nested deeper than is good for anything.

    Examples
    --------
    >>> parse("SELECT 1 + 1 AS two").select.items[0].alias
    'two'
    """
    statement = _Parser(query).statement()
    if depth(statement) > MAX_DEPTH:
        message = f"parsing query: more than {MAX_DEPTH} operators in a row"
        raise QueryError(message, query=query, hint="parentheses make a flatter tree of it")
    return statement


class _Parser(Expressions):
    def statement(self) -> ast.Statement:
        start = self.peek()
        explain = self._explain()
        with_ = self._with()
        select, into = self._select(may_have_into=True)
        unions = []
        while self.accept("UNION"):
            keeps_all = self.accept("ALL")
            unions.append((keeps_all, self.select()))
        self._end()
        span = self.since(start)
        return ast.Statement(select, with_, tuple(unions), explain, into, self.query, span=span)

    def _end(self) -> None:
        end = self.peek()
        if self.accept(";") and self.peek().kind != "$end":
            raise self.wrong(end.span[0], "unexpected character ';'", 1)
        if self.peek().kind != "$end":
            raise self.unexpected()

    def _explain(self) -> str | None:
        if not self.accept("EXPLAIN"):
            return None
        if not self.accept("AS"):
            return "text"
        name = str(self.expect("ID").value)
        if name.lower() not in _EXPLAINS:
            raise self.wrong(self.peek().span[1], f'"{name}" is a wrong explain type')
        return _EXPLAINS[name.lower()]

    def _with(self) -> tuple[tuple[str, ast.Select], ...]:
        if not self.accept("WITH"):
            return ()
        found = []
        while True:
            name = str(self.expect("ID").value)
            self.expect("AS")
            self.expect("(")
            found.append((name, self.select()))
            self.expect(")")
            if not self.accept(","):
                return tuple(found)

    def select(self) -> ast.Select:
        with self.nested():
            return self._select()[0]

    def _select(self, *, may_have_into: bool = False) -> tuple[ast.Select, Expr | None]:
        start = self.peek()
        sources: tuple[ast.Source, ...] = ()
        if self.accept("FROM"):
            sources = self._sources()
            if self.peek().kind != "SELECT":
                return self._clauses(
                    ast.Select((), star=True, sources=sources), start.span[0]
                ), None
        self.expect("SELECT")
        distinct = self.accept("DISTINCT")
        distinct_on: tuple[Expr, ...] = ()
        if distinct and self.accept("ON"):
            self.expect("(")
            distinct_on = self.exprs()
            self.expect(")")
        star = self.accept("*")
        items = () if star else self._items()
        into = self._into() if may_have_into and self.accept("INTO") else None
        if not sources and self.accept("FROM"):
            sources = self._sources()
        made = ast.Select(items, star, distinct, distinct_on, sources)
        return self._clauses(made, start.span[0]), into

    def _into(self) -> Expr:
        name = self.expect("ID")
        return self.path(ast.Name(str(name.value), span=name.span))

    def _clauses(self, head: ast.Select, start: int) -> ast.Select:
        where = self.expr() if self.accept("WHERE") else None
        group_by = None
        if self.accept("GROUP"):
            self.expect("BY")
            group_by = self._items()
        having = self.expr() if self.accept("HAVING") else None
        order_by: tuple[ast.Sort, ...] = ()
        if self.accept("ORDER"):
            self.expect("BY")
            order_by = self.sorts()
        limit = self._count() if self.accept("LIMIT") else None
        offset = self._count() if self.accept("OFFSET") else None
        return ast.Select(
            items=head.items,
            star=head.star,
            distinct=head.distinct,
            distinct_on=head.distinct_on,
            sources=head.sources,
            where=where,
            group_by=group_by,
            having=having,
            order_by=order_by,
            limit=limit,
            offset=offset,
            span=self.span(start),
        )

    def _count(self) -> int:
        negative = self.accept("-")
        token = self.expect("NUMBER")
        if not isinstance(token.value, int):
            raise self.wrong(token.span[1], f"{token.value} is not an integer")
        return -token.value if negative else token.value

    def _items(self) -> tuple[ast.Item, ...]:
        found = [self._item()]
        while self.accept(","):
            found.append(self._item())
        return tuple(found)

    def _item(self) -> ast.Item:
        start = self.peek()
        expr = self.expr()
        return ast.Item(expr, self._alias(), span=self.since(start))

    def _alias(self) -> str | None:
        if self.accept("AS"):
            return str(self.expect("ID").value)
        return str(self.take().value) if self.peek().kind == "ID" else None

    def _sources(self) -> tuple[ast.Source, ...]:
        found = [self._source("FIRST")]
        while self.peek().kind in _JOINS:
            found.append(self._joined())
        return tuple(found)

    def _joined(self) -> ast.Source:
        kind = self.take().kind
        if kind == ",":
            return self._source("CROSS")
        if kind != "JOIN":
            self.expect("JOIN")
        join = "INNER" if kind == "JOIN" else kind
        source = self._source(join)
        if join == "CROSS":
            return source
        self.expect("ON")
        on = self.expr()
        span = self.since(source)
        return ast.Source(source.table, source.alias, join, on, span=span)

    def _source(self, join: str) -> ast.Source:
        start = self.peek()
        if self.accept("UNPIVOT"):
            table = self._tables()
            value, key = self._unpivoted()
            span = self.since(start)
            return ast.Source(ast.UnpivotTable(table, value, key, span=span), None, join, span=span)
        table = self._tables()
        return ast.Source(table, self._alias(), join, span=self.since(start))

    def _unpivoted(self) -> tuple[str | None, str | None]:
        names: dict[str, str] = {}
        first = self.expect("AS", "AT").kind
        names[first] = str(self.expect("ID").value)
        second = "AT" if first == "AS" else "AS"
        if self.accept(second):
            names[second] = str(self.expect("ID").value)
        return names.get("AS"), names.get("AT")

    def _tables(self) -> ast.Table:
        start = self.peek()
        tables = [self._table()]
        while self.accept("++"):
            tables.append(self._table())
        if len(tables) == 1:
            return tables[0]
        return ast.ConcatTable(tuple(tables), span=self.since(start))

    def _table(self) -> ast.Table:
        start = self.peek()
        if self.accept("("):
            select = self.select()
            self.expect(")")
            return ast.QueryTable(select, span=self.since(start))
        if start.kind == "STRING" or (start.quoted and _is_file(str(start.value))):
            self.take()
            name = ast.Literal(str(start.value), span=start.span)
            return ast.CallTable("READ_FILE", (name,), span=start.span)
        if start.kind != "ID":
            raise self.unexpected()
        self.take()
        if self.accept("("):
            args = () if self.peek().kind == ")" else self.exprs()
            self.expect(")")
            return ast.CallTable(str(start.value).upper(), args, span=self.since(start))
        expr = self.path(ast.Name(str(start.value), span=start.span))
        return ast.PathTable(expr, span=self.since(start))


def _is_file(name: str) -> bool:
    """Tell whether a quoted table is rather a file than a name of the query."""
    return name.endswith(".zion") or "/" in name
