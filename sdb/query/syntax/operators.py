"""Operators: how tightly they bind, and what comparisons turn into; docs/sql.md has the table."""

from __future__ import annotations

from sdb.query.syntax import ast

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

# Levels of precedence, from 1, the loosest.
OR, AND, NOT, BETWEEN, COMPARISON, MATCH, BIT_OR, BIT_XOR, BIT_AND, SHIFT, SUM, PRODUCT = range(
    1, 13
)
CONCAT, NEGATION, DATUM = 13, 14, 15

MIRRORED = {"=": "=", "<>": "<>", "<": ">", ">": "<", "<=": ">=", ">=": "<="}
"""For each comparison the one that means the same with both sides swapped."""

NULL_SAFE = ("IS DISTINCT FROM", "IS NOT DISTINCT FROM")
"""Comparisons to which NULL is a value, and MISSING the same one."""

OPPOSITE = {"=": "<>", "<>": "=", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}
"""For each comparison the one that is TRUE where it is FALSE; both are MISSING in the same rows."""

LEVELS = {
    "OR": OR,
    "AND": AND,
    **dict.fromkeys(MIRRORED, COMPARISON),
    **dict.fromkeys(NULL_SAFE, MATCH),
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

CALLS = {"//": PRODUCT, "**": CONCAT}
"""Level of each infix operator that the parser makes a call of a function of."""

PREFIX_LEVELS = {"NOT": NOT, "~": NOT, "-": NEGATION}
"""Level of each prefix operator of `ast.Unary`."""


def operands(expr: ast.Expr, op: str) -> list[ast.Expr]:
    """Return the operands of a chain of an associative operator.

    Returns: From left to right; the expression itself when it is no such chain.
    """
    if isinstance(expr, ast.Binary) and expr.op == op:
        return operands(expr.left, op) + operands(expr.right, op)
    return [expr]


def balanced(op: str, parts: Sequence[ast.Expr]) -> ast.Expr:
    """Combine expressions by an associative operator, as flat as it goes.

    Returns: A tree whose depth is the logarithm of the number of operands.
    """
    if len(parts) == 1:
        return parts[0]
    middle = (len(parts) + 1) // 2
    left = balanced(op, parts[:middle])
    right = balanced(op, parts[middle:])
    return ast.Binary(op, left, right, span=(left.span[0], right.span[1]))
