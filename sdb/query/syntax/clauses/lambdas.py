"""Functions of an element: ``x -> x + 1``, ``lambda x: x``, ``[x + 1 FOR x IN list IF x > 0]``."""

from __future__ import annotations

from sdb.query.syntax import ast, visitor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sdb.query.syntax.expressions import ExpressionParser
    from sdb.query.syntax.lexer import Token

TRANSFORM, FILTER, ANY, ALL, NONE, COUNT = (
    "LIST_TRANSFORM",
    "LIST_FILTER",
    "ANY_MATCH",
    "ALL_MATCH",
    "NONE_MATCH",
    "LIST_COUNT",
)
NAMES = {
    **{name: name for name in (TRANSFORM, FILTER, ANY, ALL, NONE, COUNT)},
    **dict.fromkeys(["LIST_APPLY", "ARRAY_TRANSFORM", "TRANSFORM", "ARRAYMAP"], TRANSFORM),
    **dict.fromkeys(["ARRAY_FILTER", "FILTER", "ARRAYFILTER"], FILTER),
    **dict.fromkeys(["ARRAYEXISTS", "EXISTS", "LIST_ANY_MATCH"], ANY),
    **dict.fromkeys(["ARRAYALL", "FORALL", "LIST_ALL_MATCH"], ALL),
    "ARRAYCOUNT": COUNT,
}
"""Functions that take one, by their names here and elsewhere."""
_HOW = "as in list_transform(list, x -> x + 1)"


def call(parser: ExpressionParser, token: Token) -> ast.Expr:
    """Parse the arguments of such a function, whose parenthesis has been read."""
    name = NAMES[str(token.value).upper()]
    args = [_argument(parser)]
    while parser.accept(","):
        args.append(_argument(parser))
    parser.expect(")", saying=(",", ")"))
    span = (token.start, parser.last.stop)
    functions = [arg for arg in args if isinstance(arg, ast.Lambda)]
    lists = [arg for arg in args if not isinstance(arg, ast.Lambda)]
    if len(functions) != 1 or len(lists) != 1:
        raise parser.fault(f"{name} takes a list and a function of its elements", token, hint=_HOW)
    return ast.Call(name, (*lists, *functions), span=span)


def is_coming(parser: ExpressionParser) -> bool:
    """Return whether a function of an element comes."""
    if not parser.at("ID"):
        return False
    return parser.ahead() == "->" or (parser.at_word("LAMBDA") and parser.ahead() == "ID")


def _argument(parser: ExpressionParser) -> ast.Expr:
    if not is_coming(parser):
        return parser.expression()
    start = parser.token.start
    if parser.ahead() == "->":
        name = parser.name()
        parser.expect("->")
    else:
        parser.advance()
        name = parser.name()
        parser.expect(":")
    return _function(parser, name, parser.expression(), start)


def _function(parser: ExpressionParser, name: str, body: ast.Expr, start: int) -> ast.Lambda:
    for node in visitor.nodes(body):
        if isinstance(node, ast.Select | ast.Aggregate):
            what = "sub-queries and aggregates cannot stand in a function of an element"
            raise parser.fault(what, start, hint="unfold the list in FROM: FROM t, t.list AS x")

    def local(node: ast.Node) -> ast.Node:
        return ast.Element(name, span=node.span) if node == ast.Name(name) else node

    span = (start, parser.last.stop)
    return ast.Lambda(name, visitor.rewrite(body, local), span=span)


def comprehended(parser: ExpressionParser, body: ast.Expr, start: int) -> ast.Expr:
    """Parse what follows the first value of a list that is made of another one."""
    parser.advance()
    name = parser.name()
    parser.expect("IN")
    values: ast.Expr = parser.expression()
    if parser.at_word("IF"):
        parser.advance()
        test = _function(parser, name, parser.expression(), start)
        values = ast.Call(FILTER, (values, test), span=test.span)
    made = _function(parser, name, body, start)
    return ast.Call(TRANSFORM, (values, made), span=made.span)
