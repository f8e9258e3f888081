"""FILL: the times between which there are buckets, where since or until say them."""

from __future__ import annotations

from sdb.query.syntax import ast, visitor
from sdb.records import replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence


def between(
    statement: ast.Statement,
    start_us: int | None,
    stop_us: int | None,
    field: str | Sequence[str] | None,
) -> ast.Statement:
    """Return a statement whose FILLs begin and end with times, where rows have them in a field."""
    path = tuple(field.split(".")) if isinstance(field, str) else tuple(field or ())

    def change(node: ast.Node) -> ast.Node:
        if not isinstance(node, ast.Fill):
            return node
        return replace(node, start_us=start_us, stop_us=stop_us, path=path)

    return visitor.rewrite(statement, change)
