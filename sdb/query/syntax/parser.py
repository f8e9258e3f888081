"""The parser: the text of a query to its syntax tree.

The grammar is written down in docs/sql.md. Beyond it, queries may start with FROM, and a file may
be named in quotes where a table is due.
"""

from __future__ import annotations

from sdb.query.syntax import ast
from sdb.query.syntax.clauses import grouping, listtables, setqueries, stars, windows, withqueries
from sdb.query.syntax.cursor import Cursor, checked_tree
from sdb.query.syntax.literals import INT64_MAX
from sdb.query.syntax.tableparser import TableParser
from sdb.records import replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sdb.query.syntax.lexer import Token

_EXPLAINS = {"text": "text", "list": "list", "gv": "gv", "graphviz": "gv"}
WRITES = (
    "INSERT",
    "UPDATE",
    "DELETE",
    "MERGE",
    "TRUNCATE",
    "CREATE",
    "DROP",
    "UNDROP",
    "VACUUM",
    "ALTER",
    "COMMENT",
)


def parse(text: str) -> ast.Statement:
    """Parse a query.

    ORDER BY, LIMIT and OFFSET behind a UNION stand in its last SELECT, and are meant for the rows
    of all of them; the others have none.
    Raises `QueryError` if the text is no query; the error knows where and why.

    >>> parse("SELECT 1 AS x").select.items[0].alias
    'x'
    """
    parser = Parser(text)
    return checked_tree(parser, parser.statement)


class Parser(TableParser):
    """Statements and selects."""

    def statement(self) -> ast.Statement:
        """Parse the whole text."""
        mode = leading(self)
        return replace(self._statement(), dialect=mode) if mode else self._statement()

    def _asks_for_names(self) -> bool:
        """Return whether a question for tables or fields begins."""
        if self.at("DESC") or self.at_word("DESCRIBE", "SUMMARIZE"):
            return self.ahead() != "$end"
        return self.at_word("SHOW")

    def _statement(self) -> ast.Statement:
        if self._asks_for_names():
            from sdb.query.syntax.clauses import shows

            return shows.question(self)
        if self.at_word(*WRITES):
            error = self.unexpected("SELECT")
            error.hint = "queries only read: sdb exec, or sdb.execute, changes tables"
            raise error
        if self.at_word("PIVOT") and self.ahead() != "$end":
            hint = "as in SELECT * FROM t PIVOT (COUNT(*) FOR key IN ('a', 'b') GROUP BY field)"
            raise self.fault("PIVOT stands behind a table", self.token, hint=hint)
        explain, kind = self._explain()
        statement = self.query(kind)
        if not self.at("$end"):
            raise self.unexpected()
        if explain and kind is None:
            raise self.fault(f'"{explain}" is a wrong explain type', self.token)
        return statement

    def query(self, explain: str | None = None) -> ast.Statement:
        """Parse a query: WITH, one SELECT or more, and nothing behind them."""
        self.entries = []
        values = withqueries.enter_all(self)
        into: list[ast.Expr] = []
        compound = withqueries.put_values_in(setqueries.compound(self, into), values)
        select, unions = setqueries.chain(compound)
        with_, self.entries = tuple(self.entries), None
        return ast.Statement(
            select,
            with_,
            unions,
            explain,
            into[0] if into else None,
            self.lexer.text,
            recursive=tuple(self.recursive),
            span=(0, self.token.stop),
        )

    def _explain(self) -> tuple[str | None, str | None]:
        """Parse EXPLAIN: what was asked for, and the form that it means."""
        if not self.accept("EXPLAIN"):
            return None, None
        word = self.name() if self.accept("AS") else "text"
        return word, _EXPLAINS.get(word.lower())

    def subquery(self, left: ast.Select | None = None) -> ast.Select:
        """Parse a query inside of another one: one SELECT, or several that set operators join.

        * ``left``: The first of them, if it was parsed already.
        """
        if left is None and self.at("WITH"):
            return withqueries.inner(self)
        return setqueries.compound(self, left=left)

    def select(self, into: list[ast.Expr] | None = None) -> ast.Select:
        """Parse a SELECT, which may start with its FROM.

        * ``into``: Where the path of INTO goes; without it there may be none.
        """
        if self.at_word("VALUES") and self.ahead() == "(":
            return listtables.values(self)
        self.enter()
        start = self.token.start
        sources = self.sources() if self.at("FROM") else ()
        if not sources or self.at("SELECT"):
            self.expect("SELECT")
            distinct, keys = self._distinct()
            items, excluded = self._select_list()
            numbered = () if stars.any_in(items) else items
            keys = tuple([grouping.of_item(self, key, numbered) for key in keys])
        else:
            distinct, keys, items, excluded, numbered = False, (), (), (), ()
        if into is not None and self.accept("INTO"):
            into.append(self._path())
        if self.at("FROM") and not sources:
            sources = self.sources()
        sources = self._sampled(sources)
        where = self.expression() if self.accept("WHERE") else None
        group_by, sets, fill = grouping.keys(self, numbered)
        having = self.expression() if self.accept("HAVING") else None
        named = windows.named(self)
        qualify = windows.qualify(self)
        named += windows.named(self)
        sources = self._sampled(sources)
        order_by = self.sort_keys(numbered)
        by: list[setqueries.LimitBy] = []
        limit, offset, ties = self.cut(has_order=bool(order_by), by=by)
        self.leave()
        whole = ast.Select(
            items=items,
            star=not items,
            distinct=distinct,
            distinct_on=keys,
            sources=sources,
            where=where,
            group_by=group_by,
            grouping_sets=sets,
            fill=fill,
            having=having,
            order_by=order_by,
            limit=limit,
            offset=offset,
            ties=ties,
            excluded=excluded,
            qualify=qualify,
            span=(start, self.last.stop),
        )
        whole = setqueries.put_by(self, whole, by)
        if self.has_unnest:
            from sdb.query.syntax.clauses import unnests

            whole = unnests.put_in_from(self, whole)
        return windows.put_in(self, whole, named)

    def _sampled(self, sources: tuple[ast.Source, ...]) -> tuple[ast.Source, ...]:
        """Parse USING SAMPLE, if it comes, and return what FROM is then."""
        if not self.at_word("USING") or not self.at_sample():
            return sources
        from sdb.query.syntax.clauses import samples

        return samples.using(self, sources)

    def _distinct(self) -> tuple[bool, tuple[ast.Expr, ...]]:
        if not self.accept("DISTINCT"):
            self.accept("ALL")
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
        while True:
            if token := self.accept("*"):
                star = stars.star(self, None, token.start)
                items.append(ast.Item(star, span=star.span))
            else:
                items.append(self._item())
            # Others take a comma behind the last item, too.
            if not self.accept(",") or self.at("FROM"):
                break
        match items:
            case [ast.Item(ast.Star(replaced=(), renamed=(), table=None) as star)]:
                return (), star.excluded
        return tuple(items), ()

    def excluded(self) -> tuple[str, ...]:
        """Parse EXCLUDE, or EXCEPT as others call it."""
        if not self.at_word("EXCLUDE", "EXCEPT") or self.ahead() in {"SELECT", "FROM", "ALL"}:
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
        if self.at("ID") and self.ahead() == "." and (star := stars.of_table(self)):
            return ast.Item(star, span=star.span)
        expr = self.expression()
        alias = self.alias()
        return ast.Item(expr, alias, span=self.since(expr))

    def group_key(self, items: tuple[ast.Item, ...]) -> ast.Item:
        """Parse a key of GROUP BY."""
        expr = self.expression()
        is_filled = self.at_word("FILL") and self.ahead() == "("
        alias = None if is_filled else self.alias()
        return grouping.of_group(self, ast.Item(expr, alias, span=self.since(expr)), items)

    def sort_keys(self, items: tuple[ast.Item, ...] | None = None) -> tuple[ast.Sort, ...]:
        """Parse ORDER BY, if it comes; numbers are those of items, where there are any."""
        if not self.accept("ORDER"):
            return ()
        self.expect("BY")
        if items is not None and (token := self.accept("ALL")):
            span = (token.start, token.stop)
            return grouping.all_sorts(items, self._sort(ast.Position(grouping.ALL, span=span)))
        keys = [self._sort(self.expression())]
        while self.accept(","):
            keys.append(self._sort(self.expression()))
        return tuple(
            keys if items is None else [grouping.of_sort(self, key, items) for key in keys]
        )

    def _sort(self, expr: ast.Expr) -> ast.Sort:
        if self.at_word("COLLATE"):
            expr = grouping.collated(self, expr)
        order = self.accept("ASC", "DESC")
        side = ""
        if self.accept("NULLS"):
            if not self.at("FIRST", "LAST"):
                raise self.unexpected("FIRST", "LAST")
            side = self.advance().kind
        descending = order is not None and order.kind == "DESC"
        return ast.Sort(expr, descending, side == "LAST", side == "FIRST", span=self.since(expr))

    def cut(
        self, *, has_order: bool, by: list[setqueries.LimitBy] | None = None
    ) -> tuple[int | None, int | None, bool]:
        """Parse LIMIT and OFFSET, in any order, or OFFSET and FETCH FIRST.

        * ``by``: Where a limit of the rows of each key goes, which may stand before it.
        """
        limit = self._limit() if self.accept("LIMIT") else None
        if by is not None and limit is not None and self.accept("BY"):
            by.append(setqueries.LimitBy(limit, self.expressions()))
            limit = self._limit() if self.accept("LIMIT") else None
        offset = None
        if self.accept("OFFSET"):
            offset = self.count()
            if self.at_word("ROW", "ROWS"):
                self.advance()
            limit = self._limit() if limit is None and self.accept("LIMIT") else limit
        if limit is not None or not self.at_word("FETCH"):
            return limit, offset, False
        self.advance()
        if not self.accept("FIRST"):
            self._word("NEXT", "FIRST")
        limit = self.count() if self.at("NUMBER", "PARAM") else 1
        self._word("ROW", "ROWS")
        if not self.accept("WITH"):
            self._word("ONLY", "WITH TIES")
            return limit, offset, False
        self._word("TIES")
        if not has_order:
            hint = "rows are ties where their keys of ORDER BY are the same"
            raise self.fault("WITH TIES needs ORDER BY", self.last, hint=hint)
        return limit, offset, True

    def _word(self, *words: str) -> None:
        """Step over one of some words, which are names elsewhere."""
        if not self.at_word(*words):
            raise self.unexpected(*words)
        self.advance()

    def _limit(self) -> int | None:
        """Parse what follows LIMIT; ALL and NULL mean none."""
        return None if self.accept("ALL", "NULL") else self.count()

    def count(self) -> int:
        """Parse a number of rows; a parameter or a query stands there for a while."""
        if self.accept("("):
            if setqueries.begins(self):
                return self._subquery(self.last.start)  # type: ignore[return-value]
            count = self.count()
            self.expect(")")
            return count
        if token := self.accept("PARAM"):
            return ast.Param(str(token.value), span=(token.start, token.stop))  # type: ignore[return-value]
        value = self.expect("NUMBER").value
        if not isinstance(value, int) or value > INT64_MAX:
            raise self.fault(f"{value!r} is not a number of rows", self.last)
        return value

    def _path(self) -> ast.Expr:
        expr: ast.Expr = ast.Name(str(self.expect("ID").value), span=(0, 0))
        return self._steps(expr)


# ``SET dialect = sneller;`` in front of a query, or as a statement of its own.

DIALECTS = ("standard", "sneller")
"""What SQL may mean."""

_HOW = "SET dialect = standard; or SET dialect = sneller;"


def leading(cursor: Cursor) -> str:
    """Parse the settings in front of a query.

    Returns: The dialect; empty without a SET.
    """
    mode = ""
    while _is_setting(cursor.token):
        mode = _setting(cursor)
        if cursor.at("$end"):
            hint = "a SET in front of a query is for that query; in sdb shell and sdb exec it stays"
            raise cursor.fault("SET needs a query behind it", cursor.last, hint=hint)
    return mode


def alone(text: str) -> str | None:
    """Return what a statement that is nothing but a SET says; None: it is something else.

    Raises `QueryError` if it begins like a SET statement, and is malformed.

    >>> alone("SET dialect = sneller"), alone("SELECT 1")
    ('sneller', None)
    """
    cursor = Cursor(text)
    if not _is_setting(cursor.token):
        return None
    mode = _setting(cursor)
    return mode if cursor.at("$end") else None


def _is_setting(token: Token) -> bool:
    return token.kind == "ID" and not token.quoted and str(token.value).upper() == "SET"


def _setting(cursor: Cursor) -> str:
    """Parse one SET, and the semicolon behind it."""
    cursor.lexer.at_setting = True
    cursor.advance()
    name = cursor.token
    if name.kind != "ID":
        raise cursor.unexpected("ID")
    cursor.advance()
    if str(name.value).lower() != "dialect":
        raise cursor.fault(f"there is no setting {name.value}", name, hint=_HOW)
    if not cursor.accept("EQ", "TO"):
        raise cursor.unexpected("EQ")
    value = cursor.token
    mode = str(value.value).lower() if value.kind in {"ID", "STRING"} else ""
    if mode not in DIALECTS:
        raise cursor.fault("dialect is standard or sneller", value, hint=_HOW)
    cursor.advance()
    if not cursor.at("$end"):
        cursor.expect(";")
    cursor.lexer.at_setting = False
    return mode
