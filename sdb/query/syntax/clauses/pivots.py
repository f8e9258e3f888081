"""PIVOT and UNPIVOT behind a table, as in standard SQL: rows to columns, and columns to rows."""

from __future__ import annotations

from sdb.errors import QueryError
from sdb.query.syntax import ast, literals, operators, visitor
from sdb.query.syntax.clauses import listtables
from sdb.records import replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sdb.query.syntax.tableparser import TableParser

_HOW = "it is written FROM t PIVOT (SUM(x) FOR key IN ('a', 'b') GROUP BY field)"
_HOW_UNPIVOT = "it is written FROM t UNPIVOT (value FOR name IN (a, b))"
_MEMBER = f"{listtables.HIDDEN}column"
_MOST_COLUMNS = 10_000


def behind(parser: TableParser, table: ast.Table, alias: str | None) -> ast.Table:
    """Parse PIVOT or UNPIVOT, and return the table that it makes.

    * ``alias``: The name of the table inside.
    """
    start = parser.advance()
    source = ast.Source(table, alias, span=table.span)
    if start.kind == "UNPIVOT":
        return _unpivot(parser, source, start.start)
    parser.expect("(")
    aggregates = [_aggregate(parser)]
    while parser.accept(","):
        aggregates.append(_aggregate(parser))
    if not parser.at_word("FOR"):
        raise parser.unexpected(",", "FOR")
    parser.advance()
    column = parser.expression(operators.BIT_OR)
    parser.expect("IN")
    values = _values(parser)
    groups: tuple[ast.Item, ...] | None = None
    if parser.accept("GROUP"):
        parser.expect("BY")
        groups = tuple([ast.Item(expr, span=expr.span) for expr in parser.expressions()])
    parser.expect(")")
    if len(values) * len(aggregates) > _MOST_COLUMNS:
        raise parser.fault(f"PIVOT makes at most {_MOST_COLUMNS:,} columns", start)
    span = (start.start, parser.last.stop)
    pivot = ast.PivotTable(source, tuple(aggregates), column, values, span=span)
    return pivot if groups is None else grouped(pivot, groups)


def _aggregate(parser: TableParser) -> ast.Item:
    start = parser.token
    expr = parser.expression()
    alias = None
    if parser.accept("AS") or (parser.at("ID") and not parser.at_word("FOR")):
        alias = parser.name()
    if not isinstance(expr, ast.Aggregate) or expr.over is not None:
        raise parser.fault("PIVOT takes aggregates", start, hint=_HOW)
    return ast.Item(expr, alias, span=expr.span)


def _values(parser: TableParser) -> tuple[ast.Item, ...]:
    opening = parser.expect("(")
    values = [_value(parser)]
    while parser.accept(","):
        values.append(_value(parser))
    parser.expect(")", saying=(",", ")"))
    names = [value.alias for value in values]
    if len(set(names)) < len(names):
        raise parser.fault("PIVOT: two values have the same name", opening)
    return tuple(values)


def _value(parser: TableParser) -> ast.Item:
    """Parse a value of IN and its name, which is its text."""
    start = parser.token
    if parser.at("SELECT", "WITH"):
        raise parser.fault("PIVOT takes values that are written out", start, hint=_HOW)
    expr = parser.expression()
    constant = expr.operand if isinstance(expr, ast.Unary) and expr.op == "-" else expr
    if not isinstance(constant, ast.Literal):
        raise parser.fault("PIVOT takes constants behind IN", start, hint=_HOW)
    alias = parser.alias()
    return ast.Item(expr, alias or _text(expr), span=expr.span)


def _text(expr: ast.Expr) -> str:
    if isinstance(expr, ast.Unary):
        return f"-{_text(expr.operand)}"
    assert isinstance(expr, ast.Literal)  # noqa: S101 - as it was parsed
    value = expr.value
    return value if isinstance(value, str) else literals.constant(value).strip("`").lower()


def grouped(pivot: ast.PivotTable, groups: tuple[ast.Item, ...]) -> ast.QueryTable:
    """Return the query that PIVOT is, with the keys that its rows are grouped by."""
    items = list(groups)
    endings = _endings(pivot.aggregates)
    for value in pivot.values:
        test = ast.Binary("=", pivot.column, value.expr, span=value.span)
        for item, ending in zip(pivot.aggregates, endings, strict=True):
            call = item.expr
            assert isinstance(call, ast.Aggregate)  # noqa: S101 - as it was parsed
            where: ast.Expr = test
            if call.where is not None:
                where = ast.Binary("AND", call.where, test, span=test.span)
            label = f"{value.alias}{ending}"
            items.append(ast.Item(replace(call, where=where), label, span=pivot.span))
    names = [item.alias or getattr(item.expr, "name", None) for item in items]
    if twice := next((name for name in names if name and names.count(name) > 1), None):
        start, stop = pivot.span
        message = f"PIVOT: two columns are named {twice}"
        hint = "values and aggregates may have other names: IN ('a' AS first)"
        raise QueryError(message, offset=start, length=stop - start, hint=hint)
    select = ast.Select(
        tuple(items),
        sources=(pivot.source,),
        group_by=tuple([replace(item, alias=None) for item in groups]),
        span=pivot.span,
    )
    return ast.QueryTable(select, span=pivot.span)


def _endings(aggregates: tuple[ast.Item, ...]) -> list[str]:
    """Return what stands behind the name of a value: nothing for one aggregate without a name."""
    if len(aggregates) == 1 and aggregates[0].alias is None:
        return [""]
    endings: list[str] = []
    for number, item in enumerate(aggregates, 1):
        ending = f"_{item.alias or getattr(item.expr, 'name', '').lower()}"
        endings.append(f"{ending}_{number}" if ending in endings else ending)
    return endings


def keys(pivot: ast.PivotTable, columns: dict[str, ast.Expr]) -> tuple[ast.Item, ...]:
    """Return the keys that PIVOT means: all columns that it names nowhere.

    A row that lacks one of them is in the group of NULL.

    * ``columns``: The columns of its table.
    """
    exprs: list[ast.Expr] = [pivot.column, *[item.expr for item in pivot.aggregates]]
    used = set(exprs) | {node for expr in exprs for node in visitor.nodes(expr)}
    return tuple(
        [
            ast.Item(
                ast.Call("COALESCE", (expr, ast.Literal(None)), span=pivot.span),
                name,
                span=pivot.span,
            )
            for name, expr in columns.items()
            if expr not in used and ast.Name(name) not in used
        ]
    )


def _unpivot(parser: TableParser, source: ast.Source, start: int) -> ast.Table:
    """Parse UNPIVOT: all other columns, the name of one of its columns, and its value."""
    with_nulls = parser.at_word("INCLUDE")
    if with_nulls or parser.at_word("EXCLUDE"):
        parser.advance()
        if not parser.accept("NULLS"):
            raise parser.unexpected("NULLS")
    parser.expect("(")
    if parser.at("("):
        raise parser.fault("UNPIVOT makes one column of values", hint=_HOW_UNPIVOT)
    value = parser.name()
    if not parser.at_word("FOR"):
        raise parser.unexpected("FOR")
    parser.advance()
    label = parser.name()
    parser.expect("IN")
    parser.expect("(")
    members = [_column(parser)]
    while parser.accept(","):
        members.append(_column(parser))
    parser.expect(")", saying=(",", ")"))
    parser.expect(")")
    span = (start, parser.last.stop)
    structs = []
    for name, shown in members:
        base: ast.Expr = ast.Name(name, span=span)
        if source.alias is not None:
            base = ast.Dot(ast.Name(source.alias, span=span), name, span=span)
        pair = (("name", ast.Literal(shown, span=span)), ("value", base))
        structs.append(ast.MakeStruct(pair, span=span))
    table = ast.ListTable("UNNEST", (ast.MakeList(tuple(structs), span=span),), _MEMBER, span=span)
    member = ast.Name(_MEMBER, span=span)
    star = ast.Star(excluded=tuple([name for name, _ in members]), span=span)
    member_value = ast.Dot(member, "value", span=span)
    items = (
        ast.Item(star, span=span),
        ast.Item(ast.Dot(member, "name", span=span), label, span=span),
        ast.Item(member_value, value, span=span),
    )
    where = None if with_nulls else ast.Is(member_value, "NULL", negated=True, span=span)
    sources = (source, ast.Source(table, None, "CROSS", span=span))
    select = ast.Select(items, sources=sources, where=where, span=span)
    return ast.QueryTable(select, span=span)


def _column(parser: TableParser) -> tuple[str, str]:
    """Parse a column of IN and what it is called in the column of names."""
    name = parser.name()
    if not parser.accept("AS"):
        return name, name
    if parser.at("STRING"):
        return name, str(parser.advance().value)
    return name, parser.name()
