"""Values of WITH, as ClickHouse has them: ``WITH expression AS name SELECT ...``.

The name means the expression in the query behind it, but not in queries inside of that.
"""

from __future__ import annotations

import re

from sdb.query.syntax import ast, visitor
from sdb.records import replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import TypeVar

    from sdb.query.syntax.parser import Parser

    T = TypeVar("T", bound=ast.Node)

_COLUMNS = re.compile(
    r"""[\w@$]+ \s* \( [\w\s,"@$]* \) \s* AS \s+ (?:NOT\s+)? (?:MATERIALIZED\s*)? \(""",
    re.IGNORECASE | re.VERBOSE,
)
_QUERY = frozenset({"AS", "ID", "SELECT", "FROM", ",", ")", "$end", ""})
"""What comes behind the name of a query, also by mistake."""


def coming(parser: Parser) -> bool:
    """Return whether a value comes, and no query."""
    if not parser.at("ID"):
        return parser.at("(", "NUMBER", "STRING", "NOT", "CASE", "CAST", "-") or (
            parser.ahead() == "(" and not parser.at("AS")
        )
    if parser.ahead() != "(":
        return parser.ahead() not in _QUERY
    return _COLUMNS.match(parser.lexer.text, parser.token.start) is None


def named(parser: Parser, before: Mapping[str, ast.Expr]) -> tuple[str, ast.Expr]:
    """Parse a value and its name.

    * ``before``: Those before it, which it may name.
    """
    value = _put(parser.expression(), before)
    parser.expect("AS")
    return parser.name(), value


def put_in(select: ast.Select, values: Mapping[str, ast.Expr]) -> ast.Select:
    """Return a query in which the names are the values."""
    if not values:
        return select
    items = tuple(
        [
            replace(item, alias=item.expr.name)
            if isinstance(item.expr, ast.Name) and item.expr.name in values and not item.alias
            else item
            for item in select.items
        ]
    )
    return _put(replace(select, items=items), values)


def _put(whole: T, values: Mapping[str, ast.Expr]) -> T:
    def stop(part: ast.Node) -> ast.Node | None:
        if isinstance(part, ast.Name) and part.name in values:
            return values[part.name]
        is_other = isinstance(part, ast.Select | ast.PathTable | ast.CallTable)
        return part if is_other and part is not whole else None

    return visitor.rewrite(whole, stop=stop)
