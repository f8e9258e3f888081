"""The parser of ``*`` and ``a.*`` with what leaves out, replaces or renames columns."""

from __future__ import annotations

from sdb.query.syntax import ast, visitor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from sdb.query.syntax.parser import Parser


def any_in(items: Iterable[ast.Item]) -> bool:
    """Return whether an item stands for several, so that those behind it have no numbers."""
    return any(
        isinstance(node, ast.Star) or (isinstance(node, ast.Call) and node.name == "COLUMNS")
        for item in items
        for node in visitor.nodes(item.expr, into_selects=False)
    )


def of_table(parser: Parser) -> ast.Star | None:
    """Parse ``a.*``, if a star follows the name and dot that come."""
    if not parser.is_star_behind_dot():
        return None
    name = parser.advance()
    parser.advance()
    parser.advance()
    return star(parser, str(name.value), name.start)


def star(parser: Parser, table: str | None, start: int) -> ast.Star:
    """Parse what follows a star, which has been read."""
    excluded = parser.excluded()
    replaced: list[tuple[str, ast.Expr]] = []
    renamed: list[tuple[str, str]] = []
    if parser.at_word("REPLACE"):
        parser.advance()
        has_several = parser.accept("(")
        replaced.append(_replaced(parser))
        while has_several and parser.accept(","):
            replaced.append(_replaced(parser))
        if has_several:
            parser.expect(")", saying=(",", ")"))
    if parser.at_word("RENAME"):
        parser.advance()
        has_several = parser.accept("(")
        renamed.append(_renamed(parser))
        while has_several and parser.accept(","):
            renamed.append(_renamed(parser))
        if has_several:
            parser.expect(")", saying=(",", ")"))
    span = (start, parser.last.stop)
    return ast.Star(table, excluded, tuple(replaced), tuple(renamed), span=span)


def _replaced(parser: Parser) -> tuple[str, ast.Expr]:
    value = parser.expression()
    parser.expect("AS")
    return parser.name(), value


def _renamed(parser: Parser) -> tuple[str, str]:
    name = parser.name()
    parser.expect("AS")
    return name, parser.name()
