"""The parser: the text of a query to its syntax tree.

The grammar is written down in docs/sql.md. Beyond it, queries may start with FROM, and a file may
be named in quotes where a table is due.
"""

from __future__ import annotations

from sdb.errors import QueryError
from sdb.query.syntax import ast, places, printer, versions
from sdb.query.syntax.cursor import checked_tree
from sdb.query.syntax.expressions import ExpressionParser
from sdb.query.syntax.literals import INT64_MAX

TABLE_FUNCTIONS = frozenset({"READ_FILE", "TABLE_GLOB", "TABLE_PATTERN"})
_EXPLAINS = {"text": "text", "list": "list", "gv": "gv", "graphviz": "gv"}
_PATH_MARKS = frozenset("./*?[")
WRITES = ("INSERT", "UPDATE", "DELETE", "MERGE", "TRUNCATE", "CREATE", "DROP", "UNDROP", "VACUUM")
_OTHER_JOINS = frozenset({"FULL", "NATURAL", "SEMI", "ANTI", "ASOF"})


def parse(text: str) -> ast.Statement:
    """Parse a query.

    ORDER BY, LIMIT and OFFSET behind a UNION stand in its last SELECT, and are meant for the rows
    of all of them; the others have none.

    Parameters
    ----------
    text : str
        The query, at most `lexer.MAX_BYTES` long.

    Returns
    -------
    ast.Statement
        Its tree, which `check.check` has not seen yet.

    Raises
    ------
    QueryError
        The text is no query; the error knows where and why.

    Examples
    --------
    >>> parse("SELECT 1 AS x").select.items[0].alias
    'x'
    """
    parser = Parser(text)
    return checked_tree(parser, parser.statement)


class Parser(ExpressionParser):
    """Statements, selects and tables.

    Parameters
    ----------
    text : str
        The query.
    """

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self._with: set[str] = set()

    def statement(self) -> ast.Statement:
        """Parse the whole text."""
        if self._at_word("DESCRIBE", "SUMMARIZE") and self.ahead() != "$end":
            return self._describe()
        if self._at_word(*WRITES):
            error = self.unexpected("SELECT")
            error.hint = "queries only read: sdb exec, or sdb.execute, changes tables"
            raise error
        explain, kind = self._explain()
        found = self.query(kind)
        if not self.at("$end"):
            raise self.unexpected()
        if explain and kind is None:
            raise self.fault(f'"{explain}" is a wrong explain type', self.token)
        return found

    def query(self, explain: str | None = None) -> ast.Statement:
        """Parse a query: WITH, one SELECT or more, and nothing behind them."""
        with_ = self._with_entries()
        into: list[ast.Expr] = []
        selects = [self.select(into)]
        alls: list[bool] = []
        while self.accept("UNION"):
            if selects[-1].order_by or selects[-1].limit is not None:
                raise self.fault("ORDER BY and LIMIT go behind the last SELECT of a UNION")
            alls.append(bool(self.accept("ALL")))
            selects.append(self.select())
        return ast.Statement(
            selects[0],
            with_,
            tuple(zip(alls, selects[1:], strict=True)),
            explain,
            into[0] if into else None,
            self.lexer.text,
            span=(0, self.token.stop),
        )

    def _at_word(self, *words: str) -> bool:
        """Tell whether one of some words comes that are none of the language elsewhere."""
        token = self.token
        return self.at("ID") and not token.quoted and str(token.value).upper() in words

    def _describe(self) -> ast.Statement:
        word = self.advance()
        table = self._tables()
        if not self.at("$end"):
            raise self.unexpected()
        span = (word.start, self.last.stop)
        rows = ast.Select((), star=True, sources=(ast.Source(table, None, span=span),), span=span)
        is_summary = str(word.value).upper() == "SUMMARIZE"
        return ast.Statement(
            rows, text=self.lexer.text, described=table, is_summary=is_summary, span=span
        )

    def _explain(self) -> tuple[str | None, str | None]:
        """Parse EXPLAIN: what was asked for, and the form that it means."""
        if not self.accept("EXPLAIN"):
            return None, None
        word = self.name() if self.accept("AS") else "text"
        return word, _EXPLAINS.get(word.lower())

    def _with_entries(self) -> tuple[tuple[str, ast.Select], ...]:
        entries: list[tuple[str, ast.Select]] = []
        if self.accept("WITH"):
            entries.append(self._with_entry())
            while self.accept(","):
                entries.append(self._with_entry())
        return tuple(entries)

    def _with_entry(self) -> tuple[str, ast.Select]:
        name = self.name()
        self.expect("AS")
        self.expect("(")
        select = self.select()
        self.expect(")")
        self._with.add(name)
        return name, select

    def select(self, into: list[ast.Expr] | None = None) -> ast.Select:
        """Parse a SELECT, which may start with its FROM.

        Parameters
        ----------
        into : list of ast.Expr, optional
            Where the path of INTO goes; without it there may be none.

        Returns
        -------
        ast.Select
            The tree.
        """
        self.enter()
        start = self.token.start
        sources = self._sources() if self.at("FROM") else ()
        if not sources or self.at("SELECT"):
            self.expect("SELECT")
            distinct, keys = self._distinct()
            items, excluded = self._select_list()
        else:
            distinct, keys, items, excluded = False, (), (), ()
        if into is not None and self.accept("INTO"):
            into.append(self._path())
        if self.at("FROM") and not sources:
            sources = self._sources()
        where = self.expression() if self.accept("WHERE") else None
        group_by = self._group_by(items)
        having = self.expression() if self.accept("HAVING") else None
        order_by = self.sort_keys(items)
        limit = self._count() if self.accept("LIMIT") else None
        offset = self._count() if self.accept("OFFSET") else None
        self.leave()
        return ast.Select(
            items=items,
            star=not items,
            distinct=distinct,
            distinct_on=keys,
            sources=sources,
            where=where,
            group_by=group_by,
            having=having,
            order_by=order_by,
            limit=limit,
            offset=offset,
            excluded=excluded,
            span=(start, self.last.stop),
        )

    def _distinct(self) -> tuple[bool, tuple[ast.Expr, ...]]:
        if not self.accept("DISTINCT"):
            return False, ()
        if not self.accept("ON"):
            return True, ()
        self.expect("(")
        keys = self.expressions()
        self.expect(")", saying=(",", ")"))
        return True, keys

    def _select_list(self) -> tuple[tuple[ast.Item, ...], tuple[str, ...]]:
        """Parse the items; none stands for the star, which may leave out some names."""
        items: list[ast.Item] = []
        excluded: tuple[str, ...] = ()
        star = None
        while True:
            if self.at("*"):
                star = self.advance()
                excluded = self._excluded()
            else:
                items.append(self._item())
            if star and (items or self.at(",")):
                raise QueryError(
                    "'*' cannot be mixed with other values",
                    query=self.lexer.text,
                    offset=star.start,
                    length=1,
                )
            if not self.accept(","):
                return tuple(items), excluded

    def _excluded(self) -> tuple[str, ...]:
        """Parse EXCLUDE, or EXCEPT as others call it."""
        if not self._at_word("EXCLUDE", "EXCEPT"):
            return ()
        self.advance()
        if not self.accept("("):
            return (self.name(),)
        names = [self.name()]
        while self.accept(","):
            names.append(self.name())
        self.expect(")", saying=(",", ")"))
        return tuple(names)

    def _item(self) -> ast.Item:
        expr = self.expression()
        alias = self._alias()
        return ast.Item(expr, alias, span=self.since(expr))

    def _alias(self) -> str | None:
        return self.name() if self.accept("AS") or self.at("ID") else None

    def _group_by(self, items: tuple[ast.Item, ...]) -> tuple[ast.Item, ...] | None:
        if not self.accept("GROUP"):
            return None
        self.expect("BY")
        if items and (every := self.accept("ALL")):
            return places.all_keys(items, (every.start, every.stop))
        keys = [self._item()]
        while self.accept(","):
            keys.append(self._item())
        return tuple([places.of_group(self, key, items) for key in keys])

    def sort_keys(self, items: tuple[ast.Item, ...] | None = None) -> tuple[ast.Sort, ...]:
        """Parse ORDER BY, if it comes; numbers are those of items, where there are any."""
        if not self.accept("ORDER"):
            return ()
        self.expect("BY")
        if items and self.at("ALL"):
            token = self.advance()
            span = (token.start, token.stop)
            return places.all_sorts(items, self._sort(ast.Missing(span=span)))
        keys = [self._sort(self.expression())]
        while self.accept(","):
            keys.append(self._sort(self.expression()))
        return tuple(keys if items is None else [places.of_sort(self, key, items) for key in keys])

    def _sort(self, expr: ast.Expr) -> ast.Sort:
        order = self.accept("ASC", "DESC")
        last = False
        if self.accept("NULLS"):
            if not self.at("FIRST", "LAST"):
                raise self.unexpected("FIRST", "LAST")
            last = self.advance().kind == "LAST"
        descending = order is not None and order.kind == "DESC"
        return ast.Sort(expr, descending, last, span=self.since(expr))

    def _count(self) -> int:
        value = self.expect("NUMBER").value
        if not isinstance(value, int) or value > INT64_MAX:
            raise self.fault(f"{value!r} is not a number of rows", self.last)
        return value

    def _sources(self) -> tuple[ast.Source, ...]:
        """Parse FROM."""
        self.advance()
        sources = [self._source("FIRST")]
        while True:
            if self.accept(","):
                sources.append(self._source("CROSS"))
            elif self.accept("CROSS"):
                self.expect("JOIN")
                sources.append(self._source("CROSS"))
            elif self.at("INNER", "LEFT", "RIGHT", "JOIN"):
                sources.append(self._join())
            else:
                return tuple(sources)

    def _join(self) -> ast.Source:
        kind = self.advance().kind
        if kind != "JOIN":
            if kind != "INNER" and self.at("ID") and str(self.token.value).upper() == "OUTER":
                self.advance()
            self.expect("JOIN")
        source = self._source("INNER" if kind == "JOIN" else kind)
        self.expect("ON")
        on = self.expression()
        return ast.Source(source.table, source.alias, source.join, on, span=self.since(source))

    def _source(self, join: str) -> ast.Source:
        start = self.token.start
        if self.at("UNPIVOT"):
            table: ast.Table = self._unpivot()
            return ast.Source(table, None, join, span=(start, self.last.stop))
        table = self._tables()
        plain = self.at("ID")
        alias = self._alias()
        if plain and alias is not None and self.at("JOIN") and alias.upper() in _OTHER_JOINS:
            joins = "joins are [INNER], LEFT and RIGHT JOIN ... ON, and CROSS JOIN"
            raise self.fault(f"{alias.upper()} JOIN is not supported", hint=joins)
        return ast.Source(table, alias, join, span=(start, self.last.stop))

    def _unpivot(self) -> ast.UnpivotTable:
        start = self.advance().start
        table = self._tables()
        if not self.at("AS", "AT"):
            raise self.unexpected("AS", "AT")
        labels: dict[str, str] = {}
        for _ in range(2):
            if self.at("AS", "AT") and self.token.kind not in labels:
                kind = self.advance().kind
                labels[kind] = self.name()
        value, key = labels.get("AS"), labels.get("AT")
        return ast.UnpivotTable(table, value, key, span=(start, self.last.stop))

    def _tables(self) -> ast.Table:
        start = self.token.start
        tables = [self._table()]
        while self.accept("++"):
            tables.append(self._table())
        if len(tables) == 1:
            return tables[0]
        return ast.ConcatTable(tuple(tables), span=(start, self.last.stop))

    def _table(self) -> ast.Table:
        token = self.token
        if self.accept("("):
            select = self.select()
            self.expect(")")
            return ast.QueryTable(select, span=(token.start, self.last.stop))
        self.lexer.at_table = True
        if token.kind == "STRING" or self._is_file():
            self.advance()
            span = (token.start, token.stop)
            file = ast.CallTable("READ_FILE", (ast.Literal(token.value, span=span),), span=span)
            return self._of_version(file)
        if not self.at("ID", "[", "{"):
            raise self.unexpected()
        expr = self._steps(self._datum())
        if isinstance(expr, ast.Name | ast.Dot | ast.Index):
            return self._of_version(ast.PathTable(expr, span=expr.span))
        self.lexer.at_table = False
        if isinstance(expr, ast.Call) and expr.name in TABLE_FUNCTIONS:
            return ast.CallTable(expr.name, expr.args, span=expr.span)
        raise QueryError(
            f"cannot use {printer.text(expr)} in table position",
            query=self.lexer.text,
            offset=expr.span[0],
            length=expr.span[1] - expr.span[0],
        )

    def _of_version(self, table: ast.PathTable | ast.CallTable) -> ast.Table:
        self.lexer.at_table = False
        return versions.behind(self, table)

    def refuse_version(self, name: ast.Name) -> None:
        """Refuse a version of a name that is not that of a table."""
        if name.name in self._with:
            raise self.fault(f"{name.name} is a query of WITH: it has no versions", name.span[0])
        hint = f"name the database too, as in db.{name.name}"
        raise self.fault(f"{name.name} has no versions", name.span[0], hint=hint)

    def _is_file(self) -> bool:
        """Tell whether a quoted name is that of a file: it looks like one and nothing else is."""
        token = self.token
        return (
            token.quoted
            and not _PATH_MARKS.isdisjoint(str(token.value))
            and token.value not in self._with
            and self.ahead() not in {".", "["}
        )

    def _path(self) -> ast.Expr:
        expr: ast.Expr = ast.Name(str(self.expect("ID").value), span=(0, 0))
        return self._steps(expr)
