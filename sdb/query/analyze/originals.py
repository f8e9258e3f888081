"""The dialect `sneller` as marks on the tree: what is planned and run goes by them.

Each select in that dialect, and each operator in it, is marked as one of the original's, once names
are bound.
What a mark means is in docs/sneller-dialect.md, and beside the field `original` of the node.
"""

from __future__ import annotations

from sdb.query.analyze.dialects import SNELLER, is_standard
from sdb.query.syntax import ast, visitor
from sdb.records import replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypeVar

    _T = TypeVar("_T", bound=ast.Node)

_OPERATORS = (
    ast.Unary,
    ast.Binary,
    ast.Between,
    ast.In,
    ast.Quantified,
    ast.Is,
    ast.Match,
    ast.Call,
    ast.Cast,
    ast.Case,
    ast.Aggregate,
    ast.Sort,
    ast.Select,
)


def with_originals(statement: ast.Statement) -> ast.Statement:
    """Mark the operators of those selects that are in the dialect of the original."""
    around = statement.dialect
    selects = [node for node in visitor.nodes(statement) if isinstance(node, ast.Select)]
    if all(is_standard(select, around) for select in selects):
        return statement
    return _inside(statement, around)


def _inside(root: _T, dialect: str) -> _T:
    """Mark what stands in a node; selects below it may have a dialect of their own."""

    def stop(node: ast.Node) -> ast.Node | None:
        is_other = isinstance(node, ast.Select) and node is not root
        return _inside(node, node.dialect or dialect) if is_other else None  # type: ignore[attr-defined]  # it is a select

    return visitor.rewrite(root, _marked if dialect == SNELLER else None, stop=stop)


def _marked(node: ast.Node) -> ast.Node:
    return replace(node, original=True) if isinstance(node, _OPERATORS) else node
