"""Stored queries: whether one can be asked, and the values of its parameters."""

from __future__ import annotations

import json
from datetime import datetime

from sdb import instants
from sdb.errors import UsageError
from sdb.query.analyze import dialects
from sdb.query.syntax import ast, visitor
from sdb.query.syntax.parser import parse
from sdb.records import replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from sdb.table.catalog.storedqueries import QueryParam, StoredQuery

RESERVED = frozenset(
    {"format", "since", "until", "time_field", "at", "now", "timeout", "max_age", "end", "dialect"}
)
"""Members of each request, which no parameter is called by."""
_BOOLEANS = {"true": True, "1": True, "false": False, "0": False}


def checked(query: StoredQuery, dialect: str | None = None) -> StoredQuery:
    """Return a query that is to be stored, with its dialect.

    * ``dialect``: That of the call or command, where it says one.

    Raises `QueryError` if it cannot be parsed; `UsageError` if it is no SELECT, its parameters are
    not those that are declared, or a default is of another type.
    """
    dialects.check(dialect)
    statement = parse(query.text)
    if statement.into is not None:
        raise UsageError("INTO writes a file, which a stored query does not: leave it out")
    used = {node.name for node in visitor.nodes(statement) if isinstance(node, ast.Param)}
    declared = [each.name for each in query.params]
    if len(set(declared)) < len(declared):
        raise UsageError("a parameter is declared twice")
    for name in sorted(used - set(declared)):
        raise UsageError(f"${name} is not declared", hint=f"--param {name}:text")
    for name in sorted(set(declared) - used):
        raise UsageError(f"the query has no ${name}")
    for name in declared:
        if name in RESERVED:
            raise UsageError(f"{name} is a member of each request", hint="use another name")
    for each in query.params:
        if each.default is not None:
            value(each, each.default, 0)
    return replace(query, dialect=dialects.nearest(statement.dialect, dialect))


def values(
    query: StoredQuery, texts: Mapping[str, str], now_us: int
) -> tuple[dict[str, object], bool]:
    """Return the values of the parameters of a request, and whether one counts from the present.

    Raises `UsageError` if one is missing, or of another type, or the query has none of that name.
    """
    if unknown := sorted(texts.keys() - {each.name for each in query.params}):
        expected = ", ".join(each.name for each in query.params) or "no parameter"
        raise UsageError(f"{query.name} has no parameter {unknown[0]!r}", expected=expected)
    bound: dict[str, object] = {}
    counts = False
    for each in query.params:
        text = texts.get(each.name, each.default)
        if text is None:
            raise UsageError(f"the parameter {each.name} is missing", expected=f"{each.type}")
        bound[each.name] = value(each, text, now_us)
        counts = counts or (each.type == "time" and instants.relative(text) is not None)
    return bound, counts


def texts_of(params: Mapping[str, object]) -> dict[str, str]:
    """Return values of parameters as requests write them."""
    texts = {}
    for name, wanted in params.items():
        if isinstance(wanted, str):
            texts[name] = wanted
        elif isinstance(wanted, datetime):
            texts[name] = wanted.isoformat()
        else:
            texts[name] = json.dumps(wanted)
    return texts


def value(param: QueryParam, text: str, now_us: int) -> object:
    """Return the value of a parameter. Raises `UsageError` if the text is of another type."""
    try:
        match param.type:
            case "integer":
                return int(text) if text.lstrip("+-").isdecimal() else _refuse()
            case "number":
                return _number(text)
            case "boolean":
                return _BOOLEANS[text.lower()]
            case "time":
                return ast.Instant(instants.parse(text, now_us))
            case "list":
                listed = json.loads(text)
                return listed if isinstance(listed, list) else _refuse()
            case _:
                return text
    except (ValueError, KeyError, RecursionError):
        raise UsageError(
            f"{param.name}: {text[:80]!r} is no {param.type}", expected=param.type
        ) from None


def _number(text: str) -> int | float:
    number = json.loads(text)
    return number if type(number) in {int, float} and number - number == 0 else _refuse()


def _refuse() -> int:
    raise ValueError
