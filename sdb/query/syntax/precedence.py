"""Precedence of operators, from 1, the loosest; docs/sql.md has the table."""

from __future__ import annotations

from sdb.query.syntax import ast

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

OR, AND, NOT, BETWEEN, COMPARISON, MATCH, BIT_OR, BIT_XOR, BIT_AND, SHIFT, SUM, PRODUCT = range(
    1, 13
)
CONCAT, NEGATION, DATUM = 13, 14, 15

LEVELS = {
    "OR": OR,
    "AND": AND,
    "=": COMPARISON,
    "<>": COMPARISON,
    "<": COMPARISON,
    "<=": COMPARISON,
    ">": COMPARISON,
    ">=": COMPARISON,
    "|": BIT_OR,
    "^": BIT_XOR,
    "&": BIT_AND,
    "<<": SHIFT,
    ">>": SHIFT,
    ">>>": SHIFT,
    "+": SUM,
    "-": SUM,
    "*": PRODUCT,
    "/": PRODUCT,
    "%": PRODUCT,
    "||": CONCAT,
}
"""Level of each infix operator of `ast.Binary`."""

ASSOCIATIVE = frozenset({"OR", "AND", "||"})
"""Operators whose chains the parser keeps as balanced trees, however they were parenthesised."""

PREFIX_LEVELS = {"NOT": NOT, "~": NOT, "-": NEGATION}
"""Level of each prefix operator of `ast.Unary`."""


def operands(expr: ast.Expr, op: str) -> list[ast.Expr]:
    """Give the operands of a chain of an associative operator.

    Parameters
    ----------
    expr : ast.Expr
        The chain.
    op : str
        The operator.

    Returns
    -------
    list of ast.Expr
        From left to right; the expression itself when it is no such chain.
    """
    if isinstance(expr, ast.Binary) and expr.op == op:
        return operands(expr.left, op) + operands(expr.right, op)
    return [expr]


def balanced(op: str, parts: Sequence[ast.Expr]) -> ast.Expr:
    """Combine expressions by an associative operator, as flat as it goes.

    Parameters
    ----------
    op : str
        The operator.
    parts : sequence of ast.Expr
        One or more.

    Returns
    -------
    ast.Expr
        A tree whose depth is the logarithm of the number of operands.
    """
    if len(parts) == 1:
        return parts[0]
    middle = (len(parts) + 1) // 2
    left = balanced(op, parts[:middle])
    right = balanced(op, parts[middle:])
    return ast.Binary(op, left, right, span=(left.span[0], right.span[1]))
