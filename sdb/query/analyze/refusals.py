"""Errors about a place in a query."""

from __future__ import annotations

from sdb.errors import QueryError
from sdb.query.syntax import printer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn

    from sdb.query.syntax import ast


def rejected(message: str, node: ast.Node | None = None, hint: str | None = None) -> QueryError:
    """Make the error of a query that makes no sense, with the place in its text."""
    start, stop = (None, 0) if node is None or node.span == (0, 0) else node.span
    return QueryError(message, offset=start, length=max(stop - (start or 0), 1), hint=hint)


def refuse(message: str, node: ast.Node, hint: str | None = None) -> NoReturn:
    """Refuse a query because of a node."""
    raise rejected(message, node, hint)


def ill_typed(node: ast.Expr, why: str, hint: str | None = None) -> NoReturn:
    """Refuse an expression that could never give a value."""
    refuse(f"{printer.quoted(node)} is ill-typed: {why}", node, hint)
