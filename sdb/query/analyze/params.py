"""Values for the parameters of a query."""

from __future__ import annotations

from contextlib import suppress
from datetime import datetime

from sdb import instants
from sdb.errors import QueryError, UsageError
from sdb.query.syntax import ast, visitor
from sdb.query.syntax.clauses.quantified import written_out
from sdb.query.syntax.literals import INT64_MIN, UINT64_MAX
from sdb.records import replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import TypeVar

    T = TypeVar("T", bound=ast.Node)

_KNOWN = (str, int, float, datetime, list, tuple, dict, ast.Instant)
"""Classes of values that need no conversion, and those inside of them are looked at one by one."""


def bind(statement: ast.Statement, params: Mapping[str, object]) -> ast.Statement:
    """Put values in the place of parameters.

    The values become constants of the tree; no text is made of them.

    * ``params``: By name without the dollar sign: strings, numbers, booleans, ``None``, aware
      datetimes, and lists and dicts of them; others, such as UUIDs and scalars of numpy, as rows
      have them; in IN the elements of a list stand for it.

    Raises `QueryError` if a parameter has no value, a value has no parameter, or is of another
    type.

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
    values = {name: _value(name, params[name], node.span) for name, node in wanted.items()}

    return _put(statement, values)


def _put(root: T, values: Mapping[str, ast.Literal | ast.MakeList | ast.MakeStruct]) -> T:
    """Put values in the place of parameters; elements of lists among the members of IN."""

    def change(node: ast.Node) -> ast.Node:
        if isinstance(node, ast.Param):
            return replace(values[node.name], span=node.span)
        if isinstance(node, ast.Select):
            return _counted(node)
        return node

    def spread(node: ast.Node) -> ast.Node | None:
        if not isinstance(node, ast.In | ast.Quantified) or isinstance(node.items, ast.Subquery):
            return None
        items: list[ast.Expr] = []
        for item in node.items:
            value = values[item.name] if isinstance(item, ast.Param) else None
            items += value.items if isinstance(value, ast.MakeList) else [item]
        if isinstance(node, ast.Quantified):
            compared = written_out(replace(node, items=tuple(items)))
            return visitor.rewrite(compared, change, stop=spread)
        if not items:
            return ast.Literal(value=False, span=node.span)
        spread_out = tuple(items)
        if spread_out == node.items:
            return None
        return visitor.rewrite(replace(node, items=spread_out), change, stop=spread)

    return visitor.rewrite(root, change, stop=spread)


def _counted(select: ast.Select) -> ast.Select:
    """Return a select with numbers in LIMIT and OFFSET, where parameters stood."""
    counts: dict[str, object] = {"limit": select.limit, "offset": select.offset}
    bound = {word: node.value for word, node in counts.items() if isinstance(node, ast.Literal)}
    for word, value in bound.items():
        if value is not None and type(value) is not int:
            raise QueryError(f"{word.upper()} takes a whole number, and not {value!r}")
    return replace(select, **bound) if bound else select


def _value(name: str, value: object, span: ast.Span) -> ast.Literal | ast.MakeList | ast.MakeStruct:
    """Return a constant, or a list or structure of constants."""
    if value is not None and not isinstance(value, _KNOWN):
        from sdb.packfile.inputs.rowvalues import converted

        with suppress(TypeError, ValueError):  # what stays as it is has its own error
            value = converted(value, f"${name}")
    if isinstance(value, (list, tuple)):
        return ast.MakeList(tuple([_value(name, item, span) for item in value]), span=span)
    if isinstance(value, dict) and all(isinstance(key, str) for key in value):
        members = tuple([(key, _value(name, item, span)) for key, item in value.items()])
        return ast.MakeStruct(members, span=span)
    return ast.Literal(_constant(name, value), span=span)


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
        hint="strings, numbers, booleans, None, datetimes, lists and dicts can be bound",
    )


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
