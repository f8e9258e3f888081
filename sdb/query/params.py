"""Puts values that come beside a query into it."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from sdb.errors import QueryError
from sdb.instants import to_us
from sdb.query.ast import Instant, Literal, Node, Param, Statement
from sdb.query.walk import rewrite, walk

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sdb.query.ast import Constant

_INTS = range(-(1 << 63), 1 << 63)


def bind(statement: Statement, params: Mapping[str, object]) -> Statement:
    """Put values in the places of ``$name``; no text is pasted.

    Parameters
    ----------
    statement : Statement
        What the parser made of the query.
    params : mapping
        A value for each name: None, bool, int (64 bits), float, str, or an aware datetime.

    Returns
    -------
    Statement
        The query without parameters.

    Raises
    ------
    QueryError
        A name without a value, a value without a use, or one of another type.

    Examples
    --------
    >>> from sdb.query.parser import parse
    >>> bind(parse("SELECT $n AS n"), {"n": 5}).select.items[0].expr.value
    5
    """
    used = {node.name: node for node in walk(statement) if isinstance(node, Param)}
    for name, node in used.items():
        if name not in params:
            start, stop = node.span
            raise QueryError(
                f"${name} has no value",
                query=statement.text,
                offset=start,
                length=stop - start,
                hint=f"--param {name}=VALUE",
            )
    unused = sorted(set(params) - set(used))
    if unused:
        raise QueryError(f"the query has no ${unused[0]}", query=statement.text)
    values = {name: _constant(name, params[name]) for name in used}

    def change(node: Node) -> Node:
        return Literal(values[node.name], span=node.span) if isinstance(node, Param) else node

    return rewrite(statement, change)


def _constant(name: str, value: object) -> Constant:
    if isinstance(value, datetime):
        return Instant(to_us(value))
    if isinstance(value, int) and not isinstance(value, bool) and value not in _INTS:
        raise QueryError(f"${name} is beyond 64 bits: {value}")
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise QueryError(f"${name} has a value of type {type(value).__name__}, which queries lack")
