"""TABLESAMPLE behind a table, and USING SAMPLE behind FROM: some of the rows, by chance."""

from __future__ import annotations

from sdb.query.syntax import ast
from sdb.query.syntax.literals import INT64_MAX
from sdb.records import replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sdb.query.syntax.tableparser import TableParser

_METHODS = ("BERNOULLI", "SYSTEM", "RESERVOIR")
_HOW = "as in TABLESAMPLE 10 PERCENT, TABLESAMPLE (1000 ROWS) REPEATABLE (42)"
_ALL = 100


def behind(parser: TableParser, table: ast.Table, alias: str | None) -> ast.Table:
    """Parse TABLESAMPLE, and return the table that it makes.

    * ``alias``: The name of the table, which is that of the sample.
    """
    parser.advance()
    return _sampled(ast.Source(table, alias, span=table.span), _sample(parser))


def using(parser: TableParser, sources: tuple[ast.Source, ...]) -> tuple[ast.Source, ...]:
    """Parse USING SAMPLE, and return what FROM is then."""
    start = parser.advance()
    if not parser.at_word("SAMPLE"):
        raise parser.unexpected("SAMPLE")
    parser.advance()
    sample = _sample(parser)
    if len(sources) != 1:
        hint = "write TABLESAMPLE behind one of them, or sample a query: FROM (SELECT ...) AS q"
        raise parser.fault("USING SAMPLE takes one table", start, hint=hint)
    (source,) = sources
    table = _sampled(source, sample)
    return (replace(source, table=table),)


def _sampled(source: ast.Source, sample: ast.Sample) -> ast.QueryTable:
    select = ast.Select(
        (), star=True, sources=(replace(source, alias=None),), sample=sample, span=source.span
    )
    return ast.QueryTable(select, span=source.span)


def _sample(parser: TableParser) -> ast.Sample:
    start = parser.token.start
    if parser.at_word(*_METHODS):
        parser.advance()
        if not parser.at("("):
            raise parser.unexpected("(")
    is_inside = bool(parser.accept("("))
    token = parser.expect("NUMBER")
    is_rows = parser.at_word("ROWS", "ROW")
    if is_rows or parser.at_word("PERCENT") or parser.at("%"):
        parser.advance()
    elif not is_inside:
        raise parser.fault("a sample has a number of PERCENT or ROWS", hint=_HOW)
    if is_inside:
        parser.expect(")")
    if parser.accept("("):
        if not parser.at_word(*_METHODS):
            raise parser.unexpected(*_METHODS)
        parser.advance()
        parser.expect(")")
    seed = _seed(parser) if parser.at_word("REPEATABLE") else None
    amount = token.value
    if is_rows and not (type(amount) is int and 0 <= amount <= INT64_MAX):
        raise parser.fault(f"{amount!r} is not a number of rows", token, hint=_HOW)
    if not is_rows and not (isinstance(amount, int | float) and 0 <= amount <= _ALL):
        raise parser.fault(f"{amount!r} percent is not between 0 and 100", token, hint=_HOW)
    assert isinstance(amount, int | float)  # noqa: S101 - a number
    return ast.Sample(amount, is_rows, seed, span=(start, parser.last.stop))


def _seed(parser: TableParser) -> int:
    parser.advance()
    parser.expect("(")
    seed = parser.expect("NUMBER").value
    if type(seed) is not int or not 0 <= seed <= INT64_MAX:
        raise parser.fault("REPEATABLE takes a whole number", parser.last, hint=_HOW)
    parser.expect(")")
    return seed
