"""The parser of statements that change tables: the grammar is in docs/sql.md, "Writing"."""

from __future__ import annotations

from sdb.query.syntax import ast, hints, versions, visitor, writes
from sdb.query.syntax.cursor import checked_tree
from sdb.query.syntax.parser import WRITES, Parser
from sdb.records import replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from sdb.query.syntax.writes import FieldPath

CONTROLS = {
    "BEGIN": "BEGIN",
    "START": "BEGIN",
    "COMMIT": "COMMIT",
    "END": "COMMIT",
    "ROLLBACK": "ROLLBACK",
    "ABORT": "ROLLBACK",
}
_FIRST = frozenset(WRITES) | CONTROLS.keys()


def is_write(text: str) -> bool:
    """Return whether a statement begins like one that changes a table.

    >>> is_write("insert INTO t ..."), is_write("EXPLAIN DELETE FROM t"), is_write("SELECT 1")
    (True, True, False)
    """
    words = text.replace(";", " ").split(None, 2)
    at = 1 if len(words) > 1 and words[0].upper() == "EXPLAIN" else 0
    return bool(words) and words[at].upper() in _FIRST


def parse_write(text: str, database: str = "") -> writes.WriteStatement:
    """Parse a statement that changes a table.

    * ``database``: That of tables without one; empty: all of them need one.

    Raises `QueryError` if it is no statement; the error knows where and why.

    >>> parse_write("DELETE FROM web.gha WHERE id = 5").write.table.name
    'web.gha'
    """
    parser = WriteParser(text)
    parser.database = database
    return checked_tree(parser, parser.write_statement)


class WriteParser(Parser):
    """Statements that change tables."""

    WHAT = "statement"
    database = ""

    def write_statement(self) -> writes.WriteStatement:
        """Parse the whole text."""
        is_explained = bool(self.accept("EXPLAIN"))
        start = self.token.start
        write = self._write()
        if not self.at("$end"):
            raise self.unexpected()
        if is_explained and isinstance(write, writes.Control):
            raise self.fault(f"{write.word} has nothing to explain", start)
        return writes.WriteStatement(
            write, is_explained, self.lexer.text, span=(0, self.token.stop)
        )

    def _write(self) -> writes.Write | writes.Control:
        token = self.token
        word = str(token.value).upper() if token.kind in {"ID", "END"} and not token.quoted else ""
        if word in CONTROLS:
            self.advance()
            if not self.skip_word("TRANSACTION"):
                self.skip_word("WORK")
            return writes.Control(CONTROLS[word], span=(token.start, self.last.stop))
        parsers: dict[str, Callable[[int], writes.Write]] = {
            "INSERT": self._insert,
            "UPDATE": self._update,
            "DELETE": self._delete,
            "MERGE": self._merge,
            "TRUNCATE": self._truncate,
            "CREATE": self._create,
            "DROP": self._drop,
            "UNDROP": self._undrop,
            "VACUUM": self._vacuum,
            "ALTER": self._alter,
            "COMMENT": self._comment,
        }
        if word not in parsers:
            if self.at("SELECT", "WITH", "FROM"):
                hint = "sdb query, or sdb.sql, reads"
                raise self.fault("a statement that changes a table was expected", token, hint=hint)
            if near := hints.statement(word, parsers):
                raise self.fault(f"{word} is no statement", token, hint=near)
            raise self.unexpected(*parsers)
        self.advance()
        return parsers[word](token.start)

    def skip_word(self, word: str) -> bool:
        """Step over a word that is a keyword only here, if it comes."""
        if not self.at_word(word):
            return False
        self.advance()
        return True

    def expect_word(self, *words: str) -> str:
        """Step over one of some words that are keywords only here, or refuse the statement."""
        if not self.at_word(*words):
            raise self.unexpected(*words)
        return str(self.advance().value).upper()

    def _written(self) -> writes.WrittenTable:
        """Parse the name of a table."""
        start = self.token.start
        self.lexer.at_table = True
        if not self.at("ID"):
            error = self.unexpected("TABLE")
            error.hint = error.hint or "DB.TABLE is one"
            raise error
        database = self.name()
        if self.accept("."):
            table = self.name()
        else:
            name = database
            database, dot, table = name.partition(".")
            if not dot:
                if not self.database:
                    raise self.fault(f"{name!r} is no table", self.last, hint="DB.TABLE is one")
                database, table = self.database, name
        branch = ""
        token, last = self.token, self.last
        if not last.quoted:
            table, _, branch = table.partition("@")
        if self.at("ID") and token.start == last.stop and str(token.value).startswith("@"):
            branch = str(self.advance().value)[1:]
        self.lexer.at_table = False
        branch = versions.unquoted(branch)
        if branch[:1].isdigit() or branch.startswith("-"):
            hint = "a branch is: db.t@branch"
            raise self.fault(f"the version {branch} is not written", self.last, hint=hint)
        if branch == "main":
            branch = ""
        return writes.WrittenTable(database, table, branch, span=(start, self.last.stop))

    def _own_alias(self) -> str | None:
        if self.accept("AS"):
            return self.name()
        return self.name() if self.at("ID") and not self.at_word("SET", "USING") else None

    def written_field(self) -> FieldPath:
        """Parse the path of a field that is written."""
        start = self.token
        steps: list[str] = []
        node = self._steps(ast.Name(self.name()))
        while isinstance(node, ast.Dot):
            steps.append(node.name)
            node = node.base
        if not isinstance(node, ast.Name):
            raise self.fault("an element of a list cannot be set alone", start)
        return (node.name, *reversed(steps))

    def _fields(self) -> tuple[FieldPath, ...] | None:
        """Parse the paths in parentheses behind a table, if they come, and no query."""
        if not self.at("(") or self.ahead() in {"SELECT", "WITH", "FROM", "("}:
            return None
        self.advance()
        fields = [self.written_field()]
        while self.accept(","):
            fields.append(self.written_field())
        self.expect(")", saying=(",", ")"))
        self._check_apart(fields)
        return tuple(fields)

    def _check_apart(self, paths: list[FieldPath]) -> None:
        """Refuse paths of which one leads through another."""
        seen: set[FieldPath] = set()
        for path in sorted(paths, key=len):
            if any(path[:length] in seen for length in range(1, len(path) + 1)):
                raise self.fault(f"{'.'.join(path)} is set twice", self.last)
            seen.add(path)

    def _insert(self, start: int) -> writes.InsertValues | writes.InsertQuery:
        self.expect("INTO")
        table = self._written()
        paths = self._fields()
        if not self.at_word("VALUES"):
            query = self._source_query()
            return writes.InsertQuery(table, paths, query, span=(start, self.last.stop))
        self.advance()
        rows = [self._row(paths)]
        while self.accept(","):
            rows.append(self._row(paths))
        return writes.InsertValues(table, paths, tuple(rows), span=(start, self.last.stop))

    def _source_query(self) -> ast.Statement:
        if not self.at("SELECT", "WITH", "FROM", "("):
            raise self.unexpected("VALUES", "SELECT")
        query = self.query()
        if query.into is not None:
            raise self.fault("INTO in a query whose rows are inserted")
        return query

    def _row(self, paths: tuple[FieldPath, ...] | None) -> tuple[ast.Expr, ...]:
        """Parse the values of a row: without paths a struct, or those of all columns."""
        opening = self.token
        self.expect("(")
        values = self.expressions()
        self.expect(")", saying=(",", ")"))
        wanted = len(values) if paths is None else len(paths)
        if len(values) != wanted:
            message = f"{len(values)} values, where {wanted} {'was' if wanted == 1 else 'were'}"
            raise self.fault(f"{message} expected", opening)
        return values

    def _delete(self, start: int) -> writes.Delete:
        is_whole = bool(self.accept("FROM"))
        table = self._written()
        alias = self._own_alias()
        where = self.expression() if self.accept("WHERE") else None
        if where is None and not is_whole:
            hint = "DELETE FROM t, or TRUNCATE t, deletes all rows"
            raise self.fault("WHERE is expected", hint=hint)
        return writes.Delete(table, alias, where, span=(start, self.last.stop))

    def _truncate(self, start: int) -> writes.Truncate:
        self.skip_word("TABLE")
        return writes.Truncate(self._written(), span=(start, self.last.stop))

    def _drop(self, start: int) -> writes.DropTable | writes.DropView:
        is_bare = not self.at_word("TABLE", "VIEW") or self.ahead() == "."
        is_view = not is_bare and self.expect_word("TABLE", "VIEW") == "VIEW"
        is_lenient = self.skip_word("IF")
        if is_lenient:
            self.expect("EXISTS")
        kind = writes.DropView if is_view else writes.DropTable
        return kind(self._written(), is_lenient, span=(start, self.last.stop))

    def _undrop(self, start: int) -> writes.UndropTable | writes.UndropView:
        is_view = self.expect_word("TABLE", "VIEW") == "VIEW"
        kind = writes.UndropView if is_view else writes.UndropTable
        return kind(self._written(), span=(start, self.last.stop))

    def _vacuum(self, start: int) -> writes.Vacuum:
        is_whole = self.at_word("DATABASE", "SCHEMA") and self.ahead() == "ID"
        table = self._database() if is_whole else self._written()
        is_dry = self.skip_word("DRY")
        if is_dry:
            self.expect_word("RUN")
        return writes.Vacuum(table, is_dry, span=(start, self.last.stop))

    def _database(self) -> writes.WrittenTable:
        """Parse the word for a database and its name: a table of no name stands for it."""
        start = self.advance().start
        return writes.WrittenTable(self.name(), "", span=(start, self.last.stop))

    def _alter(self, start: int) -> writes.AlterTable:
        from sdb.query.syntax.clauses.columnactions import column_action

        self.expect_word("TABLE")
        is_lenient = self.skip_word("IF")
        if is_lenient:
            self.expect("EXISTS")
        table = self._written()
        actions = [column_action(self)]
        while self.accept(","):
            actions.append(column_action(self))
        span = (start, self.last.stop)
        return writes.AlterTable(table, tuple(actions), is_lenient, span=span)

    def _comment(self, start: int) -> writes.AlterTable | writes.DescribedTable:
        """Parse ``COMMENT ON TABLE db.table IS text``, and the same for a column."""
        self.expect("ON")
        if self.at_word("VIEW"):
            hint = "COMMENT ON TABLE and COMMENT ON COLUMN describe tables"
            raise self.fault("a view has no description", hint=hint)
        word = self.expect_word("TABLE", "COLUMN")
        table = self._written()
        if word == "TABLE":
            text = self._description()
            return writes.DescribedTable(table, text, span=(start, self.last.stop))
        begin = self.token.start
        self.expect(".")
        path = self.written_field()
        text = self._description()
        described = writes.DescribedColumn(path, text, span=(begin, self.last.stop))
        return writes.AlterTable(table, (described,), span=(start, self.last.stop))

    def _description(self) -> str:
        self.expect("IS")
        return "" if self.accept("NULL") else str(self.expect("STRING").value)

    def _create(self, start: int) -> writes.CreateTable | writes.CreateView | writes.CreateDatabase:
        if self.at_word("DATABASE", "SCHEMA"):
            self.advance()
            if self.skip_word("IF"):
                self.expect("NOT")
                self.expect("EXISTS")
            table = writes.WrittenTable(self.name(), "", span=(start, self.last.stop))
            return writes.CreateDatabase(table, span=table.span)
        or_replace = bool(self.accept("OR"))
        if or_replace:
            self.expect_word("REPLACE")
        words = ("VIEW",) if or_replace else ("TABLE", "VIEW")
        is_view = self.expect_word(*words) == "VIEW"
        is_lenient = self.skip_word("IF")
        if is_lenient:
            self.expect("NOT")
            self.expect("EXISTS")
        if is_lenient and or_replace:
            raise self.fault("OR REPLACE does not go with IF NOT EXISTS", start)
        table = self._written()
        if is_view:
            return self._create_view(table, start, or_replace=or_replace, is_lenient=is_lenient)
        columns = self._columns()
        query = self._query_behind_as() if self.accept("AS") else None
        if query is not None and columns:
            hint = "CAST(x AS type) AS name in the query makes the columns"
            raise self.fault("columns do not go with AS and a query", start, hint=hint)
        return writes.CreateTable(table, is_lenient, query, columns, span=(start, self.last.stop))

    def _columns(self) -> tuple[writes.AddedColumn, ...]:
        """Parse the columns in parentheses behind the name of a table that is made."""
        from sdb.query.syntax.clauses.columnactions import defined_column

        if not self.accept("("):
            return ()
        columns = [defined_column(self)]
        while self.accept(","):
            columns.append(defined_column(self))
        self.expect(")", saying=(",", ")"))
        return tuple(columns)

    def _create_view(
        self, table: writes.WrittenTable, start: int, *, or_replace: bool, is_lenient: bool
    ) -> writes.CreateView:
        if self.at("("):
            raise self.fault("a view has no list of columns", hint="name them: SELECT a AS b")
        self.expect("AS")
        begin = self.token.start
        query = self._query_behind_as()
        text = self.lexer.text.encode()[begin : self.last.stop].decode()
        for node in visitor.nodes(query):
            if isinstance(node, ast.Param):
                hint = "write the value, or a condition behind the view where it is read"
                raise self.fault("a view has no parameters", node.span[0], hint=hint)
        span = (start, self.last.stop)
        return writes.CreateView(table, or_replace, is_lenient, query, text, span=span)

    def _query_behind_as(self) -> ast.Statement:
        """Parse a query; behind AS any word is a name elsewhere."""
        token = self.token
        if self.at_word("SELECT", "WITH", "FROM"):
            self.token = replace(token, kind=str(token.value).upper())
        return self._source_query()

    def _assignments(self) -> tuple[writes.Assignment, ...]:
        assignments = [self._assignment()]
        while self.accept(","):
            assignments.append(self._assignment())
        self._check_apart([assignment.path for assignment in assignments])
        return tuple(assignments)

    def _assignment(self) -> writes.Assignment:
        start = self.token.start
        path = self.written_field()
        self.expect("EQ")
        return writes.Assignment(path, self.expression(), span=(start, self.last.stop))

    def _update(self, start: int) -> writes.Update:
        table = self._written()
        alias = self._own_alias()
        self.expect_word("SET")
        assignments = self._assignments()
        where = self.expression() if self.accept("WHERE") else None
        return writes.Update(table, alias, assignments, where, span=(start, self.last.stop))

    def _merge(self, start: int) -> writes.Merge:
        self.expect("INTO")
        table = self._written()
        alias = self._own_alias()
        self.expect_word("USING")
        source = self.tables()
        source_alias = self._own_alias()
        self.expect("ON")
        on = self.expression()
        matched: list[writes.WhenMatched] = []
        others: list[writes.WhenNotMatched] = []
        while self.at("WHEN"):
            begin = self.advance().start
            is_missing = bool(self.accept("NOT"))
            self.expect_word("MATCHED")
            condition = self.expression() if self.accept("AND") else None
            self.expect("THEN")
            if is_missing:
                others.append(self._when_missing(condition, begin))
            else:
                matched.append(self._when_matched(condition, begin))
        if not matched and not others:
            raise self.unexpected("WHEN")
        return writes.Merge(
            table,
            alias,
            source,
            source_alias,
            on,
            tuple(matched),
            tuple(others),
            span=(start, self.last.stop),
        )

    def _when_matched(self, condition: ast.Expr | None, start: int) -> writes.WhenMatched:
        assignments: tuple[writes.Assignment, ...] = ()
        is_whole = False
        if self.expect_word("UPDATE", "DELETE") == "UPDATE":
            self.expect_word("SET")
            is_whole = bool(self.accept("*"))
            assignments = () if is_whole else self._assignments()
        span = (start, self.last.stop)
        return writes.WhenMatched(condition, assignments, is_whole, span=span)

    def _when_missing(self, condition: ast.Expr | None, start: int) -> writes.WhenNotMatched:
        self.expect_word("INSERT")
        if self.accept("*"):
            return writes.WhenNotMatched(condition, None, (), span=(start, self.last.stop))
        paths = self._fields()
        values: tuple[ast.Expr, ...] = ()
        if self.skip_word("VALUES"):
            values = self._row(paths)
        elif paths is not None:
            raise self.unexpected("VALUES")
        return writes.WhenNotMatched(condition, paths, values, span=(start, self.last.stop))
