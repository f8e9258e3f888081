"""The parser of FROM: tables by name, files, queries, what is unfolded, and joins."""

from __future__ import annotations

from sdb.errors import QueryError
from sdb.query.syntax import ast, printer, versions
from sdb.query.syntax.clauses import (
    joins,
    listtables,
    setqueries,
    standardtables,
    windows,
    withqueries,
)
from sdb.query.syntax.expressions import ExpressionParser

TABLE_FUNCTIONS = frozenset({"READ_FILE", "TABLE_GLOB", "TABLE_PATTERN"})
_PATH_MARKS = frozenset("./*?[")


class TableParser(ExpressionParser):
    """Tables, beside expressions; the parser of whole queries adds the rest."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.with_names: set[str] = set()
        # The entries of WITH so far; None outside of a query, as in the condition of DELETE
        self.entries: list[tuple[str, ast.Select]] | None = None
        self.recursive: list[str] = []  # those of them that read their own rows
        self.recursing: frozenset[str] = frozenset()  # names of such queries around the present one

    def alias(self) -> str | None:
        """Parse the name behind a value or table, if it comes."""
        if self.accept("AS"):
            return self.name()
        is_fetch = self.at_word("FETCH") and self.ahead() in {"FIRST", "ID"}
        begins = is_fetch or setqueries.coming(self) or windows.begins_clause(self)
        begins = begins or self._at_pivot() or self.at_sample()
        return self.name() if self.at("ID") and not begins else None

    def _at_pivot(self) -> bool:
        """Return whether PIVOT or UNPIVOT comes, and no name."""
        if self.at("UNPIVOT"):
            return self.ahead() in {"(", "ID"}
        return self.at_word("PIVOT") and self.ahead() == "("

    def at_sample(self) -> bool:
        """Return whether TABLESAMPLE or USING SAMPLE comes, and no name."""
        if self.at_word("USING"):
            return self.ahead() == "ID"
        return self.at_word("TABLESAMPLE") and self.ahead() in {"NUMBER", "(", "ID"}

    def sources(self) -> tuple[ast.Source, ...]:
        """Parse FROM."""
        self.advance()
        sources = [self.source("FIRST")]
        while True:
            if self.accept(","):
                sources.append(self.source("CROSS"))
            elif self.accept("CROSS"):
                self.expect("JOIN")
                sources.append(self.source("CROSS"))
            elif joins.coming(self):
                sources.append(joins.join(self))
            else:
                return tuple(sources)

    def source(self, join: str) -> ast.Source:
        """Parse a table of FROM and its alias."""
        start = self.token.start
        if self.at_word("LATERAL") and self.has_ahead(*listtables.NAMES):
            self.advance()
        if self.at("ID") and self.ahead() == "(" and self.at_word(*listtables.NAMES):
            listed = listtables.call(self)
            return ast.Source(listed, None, join, span=(start, self.last.stop))
        if self.at("UNPIVOT"):
            table: ast.Table = self._unpivot()
            return ast.Source(table, None, join, span=(start, self.last.stop))
        is_name = self.at("ID")
        table = self.tables()
        own = str(self.last.value) if is_name and isinstance(table, ast.QueryTable) else None
        if isinstance(table, ast.QueryTable) and listtables.is_values(table):
            table, name = listtables.named(self, table)
            return ast.Source(table, name, join, span=(start, self.last.stop))
        alias = None if joins.ends(self) else self.alias()
        if alias and self.at("("):
            table = withqueries.behind(self, table)
        while self._at_pivot() or (self.at_sample() and not self.at_word("USING")):
            from sdb.query.syntax.clauses import pivots, samples

            is_sample = not self._at_pivot()
            table = (samples if is_sample else pivots).behind(self, table, alias)
            label = None if joins.ends(self) else self.alias()
            alias = label or (alias if is_sample else None)
        return ast.Source(table, alias or own, join, span=(start, self.last.stop))

    def _unpivot(self) -> ast.UnpivotTable:
        start = self.advance().start
        table = self.tables()
        if not self.at("AS", "AT"):
            raise self.unexpected("AS", "AT")
        labels: dict[str, str] = {}
        for _ in range(2):
            if self.at("AS", "AT") and self.token.kind not in labels:
                kind = self.advance().kind
                labels[kind] = self.name()
        value, key = labels.get("AS"), labels.get("AT")
        return ast.UnpivotTable(table, value, key, span=(start, self.last.stop))

    def tables(self) -> ast.Table:
        """Parse a table, or several whose rows follow each other."""
        start = self.token.start
        tables = [self._table()]
        while self.accept("++"):
            tables.append(self._table())
        if len(tables) == 1:
            return tables[0]
        return ast.ConcatTable(tuple(tables), span=(start, self.last.stop))

    def _table(self) -> ast.Table:
        token = self.token
        is_lateral = self.at_word("LATERAL") and self.ahead() == "("
        if is_lateral:
            self.advance()
        if self.accept("("):
            select = self.subquery()
            self.expect(")")
            return ast.QueryTable(select, is_lateral, span=(token.start, self.last.stop))
        self.lexer.at_table = True
        if token.kind == "STRING" or self._is_file():
            self.advance()
            span = (token.start, token.stop)
            file = ast.CallTable("READ_FILE", (ast.Literal(token.value, span=span),), span=span)
            return self._of_version(file)
        if self.at_word("READ_FILE") and self.ahead() == "(":
            return self._read_file()
        if not self.at("ID", "[", "{"):
            raise self.unexpected("TABLE")
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

    def _read_file(self) -> ast.CallTable:
        """Parse ``read_file('a.log', format => 'combined')``."""
        start = self.advance().start
        self.expect("(")
        self.lexer.at_table = False
        args: list[ast.Expr] = []
        options: list[ast.Expr] = []
        while not self.at(")"):
            if args or options:
                self.expect(",")
            token = self.token
            if token.kind == "ID" and self.ahead() == "EQ":
                self.advance()
                self.expect("EQ", saying=("=>",))
                self.expect("GT", saying=("=>",))
                name = ast.Literal(str(token.value).lower(), span=(token.start, token.stop))
                options += [name, self.expression()]
            else:
                args.append(self.expression())
        self.expect(")")
        span = (start, self.last.stop)
        if not options:
            return ast.CallTable("READ_FILE", tuple(args), span=span)
        return ast.CallTable("READ_FILE_WITH", (*args, *options), span=span)

    def _of_version(self, table: ast.PathTable | ast.CallTable) -> ast.Table:
        self.lexer.at_table = False
        if isinstance(table, ast.PathTable) and standardtables.coming(self, table.expr):
            return standardtables.table(table.expr)
        return versions.behind(self, table)

    def refuse_version(self, name: ast.Name) -> None:
        """Refuse a version of a name that is not that of a table."""
        if name.name in self.with_names:
            raise self.fault(f"{name.name} is a query of WITH: it has no versions", name.span[0])
        hint = f"name the database too, as in db.{name.name}"
        raise self.fault(f"{name.name} has no versions", name.span[0], hint=hint)

    def _is_file(self) -> bool:
        """Return whether a quoted name is that of a file: it looks like one and nothing else is."""
        token = self.token
        return (
            token.quoted
            and not _PATH_MARKS.isdisjoint(str(token.value))
            and token.value not in self.with_names
            and self.ahead() not in {".", "["}
        )
