"""SHOW and DESCRIBE: questions about tables, which other databases answer by these words."""

from __future__ import annotations

from sdb.query.syntax import ast

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sdb.query.syntax.parser import Parser

_HOW = "there are SHOW TABLES, SHOW DATABASES and SHOW COLUMNS FROM table"


def question(parser: Parser) -> ast.Statement:
    """Parse the question: the fields of a table, or a query on the table of tables."""
    word = parser.advance()
    kind = str(word.value).upper()
    if kind != "SHOW":
        return _described(parser, word.start, is_summary=kind == "SUMMARIZE")
    parser.accept("ALL")
    if parser.at_word("COLUMNS", "FIELDS"):
        parser.advance()
        if not parser.accept("FROM", "IN"):
            raise parser.unexpected("FROM")
        return _described(parser, word.start, is_summary=False)
    if parser.at_word("TABLES"):
        parser.advance()
        return _tables(parser, word.start)
    if parser.at_word("DATABASES", "SCHEMAS"):
        parser.advance()
        item = ast.Item(ast.Name("database"))
        return _asked(parser, word.start, (item,), None)
    error = parser.unexpected("TABLES", "COLUMNS")
    error.hint = _HOW
    raise error


def _described(parser: Parser, start: int, *, is_summary: bool) -> ast.Statement:
    table = parser.tables()
    if not parser.at("$end"):
        raise parser.unexpected()
    span = (start, parser.last.stop)
    rows = ast.Select((), star=True, sources=(ast.Source(table, None, span=span),), span=span)
    return ast.Statement(
        rows, text=parser.lexer.text, described=table, is_summary=is_summary, span=span
    )


def _tables(parser: Parser, start: int) -> ast.Statement:
    """Parse what is asked of tables: those of a database, or with such names."""
    tests: list[ast.Expr] = []
    if parser.accept("FROM", "IN"):
        name = ast.Literal(parser.name(), span=(parser.last.start, parser.last.stop))
        tests.append(ast.Binary("=", ast.Name("database"), name, span=name.span))
    if like := parser.accept("LIKE", "ILIKE"):
        pattern = str(parser.expect("STRING").value)
        span = (like.start, parser.last.stop)
        tests.append(
            ast.Match(like.kind, ast.Name("table"), pattern, None, negated=False, span=span)
        )
    where = tests[0] if tests else None
    if len(tests) > 1:
        where = ast.Binary("AND", *tests)
    return _asked(parser, start, (), where)


def _asked(
    parser: Parser, start: int, items: tuple[ast.Item, ...], where: ast.Expr | None
) -> ast.Statement:
    """Return the query on the table of tables."""
    if not parser.at("$end"):
        raise parser.unexpected()
    span = (start, parser.last.stop)
    table = ast.CallTable("TABLE_OF", (ast.Literal("tables", span=span),), span=span)
    select = ast.Select(
        items,
        star=not items,
        distinct=bool(items),
        sources=(ast.Source(table, None, span=span),),
        where=where,
        order_by=tuple([ast.Sort(item.expr) for item in items]),
        span=span,
    )
    return ast.Statement(select, text=parser.lexer.text, span=span)
