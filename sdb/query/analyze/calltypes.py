"""Types of calls of functions; refuses those that could never give a value."""

from __future__ import annotations

from sdb.query.analyze import regexes
from sdb.query.analyze.refusals import ill_typed, refuse
from sdb.query.analyze.signatures import FUNCTIONS, TITLES, Signature, written
from sdb.query.analyze.types import (
    INTEGER,
    LIST,
    MISSING,
    NULL,
    NUMBER,
    NUMERIC,
    ORDERED,
    STRING,
    are_integers,
    is_null,
    loose,
)
from sdb.query.syntax import ast, hints, othernames, printer
from sdb.query.syntax.lexer import AGGREGATES as AGGREGATE_NAMES

_COUNTS = ("no", "one", "two", "three", "four")
_POSITIONS = ("first", "second", "third", "fourth")


def signature_of(node: ast.Call) -> Signature:
    """Return the signature of the function that is called.

    Raises
    ------
    QueryError
        There is no such function, or it does not take that number of arguments.
    """
    signature = FUNCTIONS.get(node.name)
    if signature is None:
        if node.name in {"TABLE_GLOB", "TABLE_PATTERN"}:
            refuse(f'cannot use "{printer.text(node)}" in non-table position', node)
        hint = hints.function(node.name, [*FUNCTIONS, *AGGREGATE_NAMES, *othernames.NAMES])
        refuse(f'unrecognized builtin "{node.name}"', node, hint)
    if not signature.least <= len(node.args) <= signature.most:
        refuse(_miscounted(node, signature), node, f"it is written {written(node, signature)}")
    return signature


def call_type(node: ast.Call, signature: Signature, kinds: list[int]) -> int:
    """Return the types that a call may give.

    Raises
    ------
    QueryError
        An argument is of another type than the function takes.
    """
    if node.name in {"COALESCE", "NULLIF"}:
        return _choice(node, kinds)
    if node.name in {"LEAST", "GREATEST"} and not all(map(are_integers, kinds)):
        return _extreme(node, [kind for kind in kinds if not is_null(kind)])
    wanted = [signature.args[min(i, len(signature.args) - 1)] for i in range(len(kinds))]
    for position, (kind, want) in enumerate(zip(kinds, wanted, strict=True)):
        if not kind & (want | NUMBER if want == INTEGER else want) and not is_null(kind):
            ill_typed(node, _mistyped(node, signature, position))
    if node.name == "CONTAINS" and not kinds[0] & LIST and not kinds[1] & (STRING | NULL):
        ill_typed(node, "not a string")
    if any(map(is_null, kinds)) and all(not want & NULL for want in wanted):
        return NULL | MISSING
    if node.name == "IS_SUBNET_OF":
        _check_subnet(node)
    if wrong := regexes.call_fault(node):
        refuse(wrong, node)
    gives = signature.gives
    if signature.keeps_integers and all(are_integers(kind) for kind in kinds):
        gives = INTEGER
    sure = node.name in {"TYPE_BIT", "PI", "UTCNOW"}
    return gives if sure else gives | MISSING


def _choice(node: ast.Call, kinds: list[int]) -> int:
    """Return the kinds of COALESCE and NULLIF."""
    if node.name == "NULLIF":
        return kinds[0] | NULL
    out = 0
    for kind in kinds:
        out |= kind
    last = kinds[-1] & (NULL | MISSING)
    return (out & ~(NULL | MISSING)) | (NULL if last else 0)


def _extreme(node: ast.Call, kinds: list[int]) -> int:
    """Return the kinds of LEAST and GREATEST: those that all arguments may have."""
    common = ORDERED
    for kind in kinds:
        common &= loose(kind)
    if not common:
        ill_typed(node, TITLES[NUMERIC], "the arguments are all numbers, texts, times or booleans")
    return common | MISSING


def _miscounted(node: ast.Call, signature: Signature) -> str:
    count, least, most = len(node.args), signature.least, signature.most
    name = node.name
    if name in {"LEAST", "GREATEST", "COALESCE"}:
        return f"compiling {name}: expects at least one argument"
    if name == "LOG":
        return "compiling LOG: expects either 1 or 2 arguments"
    need = f"{least} or {most}" if least != most else str(least)
    match signature.style:
        case "counted":
            noun = "argument" if least == 1 else "arguments"
            tail = f"{name} expects {_COUNTS[least]} {noun}, but found {count}"
        case "named":
            tail = f"{name} expects {need} arguments, but found {count}"
        case _:
            tail = f"got {count} args; need {need}"
    return f"{printer.quoted(node)} {tail}"


def _mistyped(node: ast.Call, signature: Signature, position: int) -> str:
    wanted = signature.args[min(position, len(signature.args) - 1)]
    if node.name == "SIZE":
        return "SIZE expects a structure or list argument"
    match signature.style:
        case "counted":
            return f"{_POSITIONS[position]} argument to {node.name} must be a list"
        case "named":
            return "not a string" if wanted == STRING else "not a number"
    if node.name == "DATE_ADD" and position == 0:
        wanted = INTEGER
    return TITLES.get(wanted, "not of a type that it takes")


def _check_subnet(node: ast.Call) -> None:
    """Look at the constant bounds of a range of addresses."""
    for bound in node.args[:-1]:
        if not isinstance(bound, ast.Literal) or not isinstance(bound.value, str):
            continue
        import ipaddress

        try:
            if len(node.args) == 2 and "/" in bound.value:  # noqa: PLR2004 - a network
                ipaddress.IPv4Network(bound.value, strict=False)
            else:
                ipaddress.IPv4Address(bound.value)
        except ValueError:
            fault = f"invalid CIDR address: {bound.value}" if len(node.args) == 2 else ""  # noqa: PLR2004
            ill_typed(node, fault or "not an IP address")
