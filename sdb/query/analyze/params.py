"""Values for the parameters of a query."""

from __future__ import annotations

from datetime import datetime

from sdb import instants
from sdb.errors import QueryError, UsageError
from sdb.query.syntax import ast, visitor
from sdb.query.syntax.literals import INT64_MIN, UINT64_MAX

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import TypeVar

    T = TypeVar("T", bound=ast.Node)


def bind(statement: ast.Statement, params: Mapping[str, object]) -> ast.Statement:
    """Put values in the place of parameters.

    The values become constants of the tree; no text is made of them.

    Parameters
    ----------
    statement : ast.Statement
        The query.
    params : mapping
        By name without the dollar sign: strings, numbers, booleans, ``None``, aware datetimes.

    Returns
    -------
    ast.Statement
        The query without parameters.

    Raises
    ------
    QueryError
        A parameter has no value, a value has no parameter, or is of another type.

    Examples
    --------
    >>> from sdb.query.syntax.parser import parse
    >>> bind(parse("SELECT $a + 1"), {"a": 2}).select.items[0].expr.left.value
    2
    """
    wanted = {node.name: node for node in visitor.nodes(statement) if isinstance(node, ast.Param)}
    for name, node in wanted.items():
        if name not in params:
            raise QueryError(
                f"no value for the parameter ${name}",
                query=statement.text,
                offset=node.span[0],
                length=len(name.encode()) + 1,
                hint=f"give it with --param {name}=..., or params={{{name!r}: ...}} in Python",
            )
    if unused := sorted(params.keys() - wanted.keys()):
        raise QueryError(f"the query has no parameter ${unused[0]}", query=statement.text)
    values = {name: _constant(name, params[name]) for name in wanted}

    def change(node: ast.Node) -> ast.Node:
        if isinstance(node, ast.Param):
            return ast.Literal(values[node.name], span=node.span)
        return node

    return visitor.rewrite(statement, change)


def _constant(name: str, value: object) -> ast.Constant:
    match value:
        case None | bool() | float() | ast.Instant():
            return value
        case str() if value.isascii() or _is_unicode(value):
            return value
        case int() if INT64_MIN <= value <= UINT64_MAX:
            return value
        case int():
            raise QueryError(f"parameter ${name}: {value} is beyond 64 bits")
        case datetime():
            try:
                return ast.Instant(instants.to_us(value))
            except UsageError as error:
                raise QueryError(f"parameter ${name}: {error}") from None
    raise QueryError(
        f"parameter ${name}: {type(value).__name__} is no type of a constant",
        hint="strings, numbers, booleans, None and datetimes can be bound",
    )


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
