"""The parser of tables that are made of values: UNNEST, GENERATE_SERIES, RANGE and VALUES."""

from __future__ import annotations

from sdb.query.syntax import ast
from sdb.records import replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sdb.query.syntax.tableparser import TableParser

NAMES = ("UNNEST", "GENERATE_SERIES", "RANGE")
_MOST_LISTS = 100
_ARGUMENTS = {"UNNEST": (1, _MOST_LISTS), "GENERATE_SERIES": (2, 3), "RANGE": (1, 3)}
_HOW = {
    "UNNEST": "it is written UNNEST(list) [WITH ORDINALITY] AS name(element, number)",
    "GENERATE_SERIES": "it is written GENERATE_SERIES(first, last[, step])",
    "RANGE": "it is written RANGE([first, ]end[, step])",
}
_VALUES = "values"
HIDDEN = "unnest "
"""How names of elements begin that `*` leaves out, for UNNEST in the select list."""


def call(parser: TableParser) -> ast.ListTable:
    """Parse a call and the names behind it."""
    token = parser.advance()
    name = str(token.value).upper()
    parser.expect("(")
    args = () if parser.at(")") else parser.expressions()
    parser.expect(")", saying=(",", ")"))
    least, most = _ARGUMENTS[name]
    if not least <= len(args) <= most:
        raise parser.fault(f"{name} got {len(args)} arguments", token, hint=_HOW[name])
    has_ordinal = False
    if parser.at("WITH"):
        parser.advance()
        if not parser.at_word("ORDINALITY"):
            raise parser.unexpected("ORDINALITY")
        parser.advance()
        has_ordinal = True
    label, columns = _names(parser)
    count = (len(args) if name == "UNNEST" else 1) + has_ordinal
    if len(columns) > count:
        hint = "WITH ORDINALITY adds the number of the element" if not has_ordinal else None
        raise parser.fault(f"{name} has {count} column{'s' * (count > 1)}", hint=hint)
    value = columns[0] if columns else label or name.lower()
    usual = [value, *[f"{value}_{at}" for at in range(2, count - has_ordinal + 1)]]
    usual += ["ordinality"] * has_ordinal
    names = [*columns, *usual[len(columns) :]]
    if len(set(names)) < len(names):
        raise parser.fault(f"two columns are named {next(n for n in names if names.count(n) > 1)}")
    ordinal = names.pop() if has_ordinal else None
    span = (token.start, parser.last.stop)
    label = (label or value) if columns or has_ordinal or names[1:] else None
    return series(ast.ListTable(name, args, value, ordinal, tuple(names[1:]), label, span=span))


def series(table: ast.ListTable) -> ast.ListTable:
    """Return a table of elements, which is one of a series where UNNEST is of nothing else."""
    match table.args:
        case (ast.Call(name="GENERATE_SERIES" | "RANGE" as name, args=args),) if not table.more:
            least, most = _ARGUMENTS[name]
            return replace(table, name=name, args=args) if least <= len(args) <= most else table
    return table


def is_hidden(table: ast.Table) -> bool:
    """Return whether a table is one that UNNEST in the select list made."""
    return isinstance(table, ast.ListTable) and table.value.startswith(HIDDEN)


def labels(table: ast.ListTable) -> list[str]:
    """Return the names of elements, and of their number."""
    own = [table.value, *table.more]
    return own if table.ordinal is None else [*own, table.ordinal]


def _names(parser: TableParser) -> tuple[str | None, list[str]]:
    """Parse ``AS name(column, ...)``, if it comes."""
    if not (parser.accept("AS") or parser.at("ID")):
        return None, []
    label = parser.name()
    columns: list[str] = []
    if parser.accept("("):
        columns.append(parser.name())
        while parser.accept(","):
            columns.append(parser.name())
        parser.expect(")", saying=(",", ")"))
    return label, columns


def values(parser: TableParser) -> ast.Select:
    """Parse ``VALUES (a, b), ...``: a query whose columns are column1, column2 and so on."""
    start = parser.advance().start
    rows = [_row(parser)]
    while parser.accept(","):
        row = _row(parser)
        if len(row) != len(rows[0]):
            raise parser.fault(f"a row has {len(row)} values, the first one {len(rows[0])}")
        rows.append(row)
    span = (start, parser.last.stop)
    names = [f"column{number}" for number in range(1, len(rows[0]) + 1)]
    structs = tuple(
        [ast.MakeStruct(tuple(zip(names, row, strict=True)), span=span) for row in rows]
    )
    table = ast.ListTable("UNNEST", (ast.MakeList(structs, span=span),), _VALUES, span=span)
    base = ast.Name(_VALUES, span=span)
    items = [ast.Item(ast.Dot(base, name, span=span), name, span=span) for name in names]
    return ast.Select(tuple(items), sources=(ast.Source(table, None, span=span),), span=span)


def _row(parser: TableParser) -> tuple[ast.Expr, ...]:
    parser.expect("(")
    row = parser.expressions()
    parser.expect(")", saying=(",", ")"))
    return row


def is_values(table: ast.QueryTable) -> bool:
    """Return whether a table is VALUES."""
    match table.select.sources:
        case (ast.Source(ast.ListTable(value="values")),):
            return True
    return False


def named(parser: TableParser, table: ast.QueryTable) -> tuple[ast.QueryTable, str | None]:
    """Parse the names behind VALUES and return the table with them."""
    label, columns = _names(parser)
    items = table.select.items
    if len(columns) > len(items):
        raise parser.fault(f"VALUES has {len(items)} columns, {len(columns)} have a name")
    renamed = [replace(item, alias=name) for item, name in zip(items, columns, strict=False)]
    select = replace(table.select, items=(*renamed, *items[len(columns) :]))
    return replace(table, select=select), label
