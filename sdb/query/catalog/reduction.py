"""Reduce conditions of SQL to predicates, which blocks are chosen by.

NOT goes down to the tests of paths, each of which turns into its opposite: a comparison with
MISSING is neither true nor false, and so is its opposite. The blocks of a condition can not be
complemented instead, since a block may hold rows of both kinds.

What is left is asked of the sparse index of each file, see :mod:`sdb.packfile.prune.prune`.
"""

from __future__ import annotations

import math

from sdb import instants
from sdb.packfile.prune.ngrams import wanted
from sdb.packfile.prune.predicate import (
    ANY_TYPE,
    LIST_TYPE,
    NULL_TYPE,
    TEXT_TYPES,
    AddressRange,
    Anywhere,
    Both,
    Compare,
    Either,
    Nowhere,
    OneOf,
    TextPrefix,
    TextWords,
    TypeTest,
)
from sdb.query.analyze.regexes import similar
from sdb.query.catalog.prefixes import (
    address_prefixes,
    ascii_parts,
    cased,
    like_literal,
    like_texts,
    prefixes,
)
from sdb.query.catalog.pseudo import is_pseudo
from sdb.query.syntax import ast
from sdb.query.syntax.operators import MIRRORED, OPPOSITE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from sdb.packfile.prune.predicate import Predicate
    from sdb.packfile.trailer.fieldcounts import FieldPath

MOST_COMPARISONS = 20_000
"""A condition with more of them is not worth looking at."""

_SECOND_US = instants.SECOND_US
_HOLDS = {"CONTAINS": "holds", "ENDS_WITH": "ends with"}


def reduce(condition: ast.Expr | None) -> Predicate:
    """Reduce a condition to what an index can answer.

    * ``condition``: The condition, with constants folded; its paths start at the row.

    Returns: Something that is TRUE for a row whenever the condition is.
    """
    if condition is None:
        return Anywhere()
    test = _reduce(condition, negated=False)
    return Anywhere() if _size(test) > MOST_COMPARISONS else test


def _reduce(expr: ast.Expr, *, negated: bool) -> Predicate:  # noqa: PLR0911 - a table
    match expr:
        case ast.Binary("AND" | "OR" as op):
            parts = tuple(_reduce(part, negated=negated) for part in _chain(expr, op))
            return Both(parts) if (op == "AND") is not negated else Either(parts)
        case ast.Unary("NOT", operand):
            return _reduce(operand, negated=not negated)
        case ast.Literal(bool() as value):
            return Nowhere() if value is negated else Anywhere()
        case ast.Missing():
            return Nowhere()
        case ast.Name() | ast.Dot() | ast.Index():
            # A condition by itself: under AND and OR whatever is there and not TRUE is FALSE.
            return _compared(expr, "<>" if negated else "=", expr, ast.Literal(True))  # noqa: FBT003
        case ast.Is():
            return _is(expr, negated=negated)
        case ast.Among(path, values) if not negated:
            return _among(path, values)
        case ast.Match():
            return _match(expr, negated=expr.negated is not negated)
        case ast.Call():
            return _call(expr, negated=negated)
        case _:
            return _comparison(expr, negated=negated)


def _among(path: ast.Expr, values: tuple[ast.Literal, ...]) -> Predicate:
    """Reduce a test for one of many values."""
    steps = field_path(path)
    if steps is None:
        return Anywhere()
    return OneOf(steps, tuple([literal.value for literal in values])) if values else Nowhere()


def _comparison(expr: ast.Expr, *, negated: bool) -> Predicate:
    """Reduce a comparison, or what stands for several."""
    match expr:
        case ast.Binary(op, left, right) if op in OPPOSITE:
            return _compared(expr, OPPOSITE[op] if negated else op, left, right)
        case ast.Between(operand, low, high):
            ends = ("<", ">") if negated else (">=", "<=")
            parts = tuple(
                _compared(expr, op, operand, end) for op, end in zip(ends, (low, high), strict=True)
            )
            return Either(parts) if negated else Both(parts)
        case ast.In(operand, tuple() as items):
            op = "<>" if negated else "="
            parts = tuple(_compared(expr, op, operand, item) for item in items)
            return Both(parts) if negated else Either(parts)
        case _:
            return Anywhere(expr.span)


def _is(expr: ast.Is, *, negated: bool) -> Predicate:
    """Reduce a test that is never MISSING: its opposite is TRUE of all other rows."""
    truth = expr.negated is not negated
    if expr.what in {"TRUE", "FALSE"}:
        if truth:
            return Anywhere(expr.span)
        return _reduce(expr.operand, negated=expr.what == "FALSE")
    path = field_path(expr.operand)
    if path is None:
        return Anywhere(expr.span)
    words = f"IS {'NOT ' if expr.negated else ''}{expr.what}"
    # In standard SQL what is MISSING is NULL as well; in the original's it is no less "not NULL".
    types = 0 if expr.what == "MISSING" else NULL_TYPE
    or_missing = True
    if expr.negated:
        types, or_missing = ANY_TYPE & ~types, False
    if negated:
        # The original has what is MISSING pass NOT (x IS NULL).
        or_missing = not or_missing or (expr.what == "NULL" and not expr.negated)
        types, words = ANY_TYPE & ~types, f"NOT {words}"
    return TypeTest(path, types, or_missing, words)


def _match(expr: ast.Match, *, negated: bool) -> Predicate:
    """Reduce a pattern match, which is TRUE or FALSE for texts alone."""
    path, case = _text_path(expr.operand)
    if path is None:
        return Anywhere(expr.span)
    words = f"{'NOT ' if negated else ''}{expr.op} '{expr.pattern}'"
    words = f"in {case.lower()} case {words}" if case else words
    if negated:
        return _is_text(path, words)
    if expr.op == "LIKE":
        text, is_whole = like_literal(expr.pattern, expr.escape)
        if is_whole:
            return cased(Compare(path, "=", text), case)
    begins_with = prefixes(expr)
    begins = TextPrefix(path, begins_with, words) if begins_with else _is_text(path, words)
    holds = _holds(path, expr, words)
    if isinstance(holds, Anywhere):
        return cased(begins, case)
    return cased(Both((begins, holds)) if begins_with else holds, case)


def _holds(path: FieldPath, match: ast.Match, words: str) -> Predicate:
    """Return what a text that matches holds anywhere."""
    match match.op:
        case "LIKE":
            texts = like_texts(match.pattern, match.escape)
        case "ILIKE":
            # Of other letters there are forms that filters of words do not know.
            parts = like_texts(match.pattern, match.escape)
            texts = [text for part in parts for text in ascii_parts(part)]
        case "~" | "~*":
            return wanted(path, [match.pattern], ignore_case=match.op == "~*", words=words)
        case _:
            return wanted(path, [similar(match.pattern)], words=words)
    return TextWords(path, tuple(filter(None, texts)), words) if any(texts) else Anywhere()


def _call(expr: ast.Call, *, negated: bool) -> Predicate:  # noqa: PLR0911 - a table
    """Reduce a function of a path and constants that is a condition."""
    begins_with: tuple[str, ...]
    held: tuple[str, ...] = ()
    match expr.name, expr.args:
        case "ARRAY_CONTAINS", (operand, item):
            return _contains(expr, operand, item, negated=negated)
        case "STARTS_WITH", (operand, ast.Literal(str() as text)):
            begins_with, words = (str(text),) if text else (), f"begins with '{text}'"
        case "CONTAINS" | "ENDS_WITH" as name, (operand, ast.Literal(str() as text)):
            begins_with, words, held = (), f"{_HOLDS[name]} '{text}'", (str(text),)
        case "REGEXP_LIKE", (operand, ast.Literal(str() as pattern)):
            match = ast.Match("~", operand, str(pattern), None, False, span=expr.span)  # noqa: FBT003
            return _match(match, negated=negated)
        case "IS_SUBNET_OF", (*bounds, operand):
            return _addresses(expr, bounds, operand, negated=negated)
        case _:
            return Anywhere(expr.span)
    path, case = _text_path(operand)
    if path is None:
        return Anywhere(expr.span)
    if negated or not (begins_with or held):
        types = TEXT_TYPES | LIST_TYPE if expr.name == "CONTAINS" else TEXT_TYPES
        return _is_text(path, "is a text", types)
    words = f"in {case.lower()} case {words}" if case else words
    test = TextPrefix(path, begins_with, words) if begins_with else TextWords(path, held, words)
    if expr.name != "CONTAINS" or case:
        return cased(test, case)
    # CONTAINS takes lists as well, and compares their elements as a whole.
    is_list = TypeTest(path, LIST_TYPE, or_missing=False, words="is a list")
    return Either((test, Both((is_list, Compare((*path, None), "=", held[0])))))


def _contains(expr: ast.Call, operand: ast.Expr, item: ast.Expr, *, negated: bool) -> Predicate:
    """Reduce the question whether a list has an element."""
    path, constant = field_path(operand), _constant(item)
    if path is None or constant is None:
        return Anywhere(expr.span)
    if negated:
        return TypeTest(path, LIST_TYPE, or_missing=False, words="is a list")
    return _compared_with((*path, None), "=", constant)


def _is_text(path: FieldPath, words: str, types: int = TEXT_TYPES) -> TypeTest:
    return TypeTest(path, types, or_missing=False, words=words)


def _addresses(
    expr: ast.Call, bounds: Iterable[ast.Expr], operand: ast.Expr, *, negated: bool
) -> Predicate:
    """Reduce the question whether a text is an address of a network, or one between two."""
    import ipaddress

    path = field_path(operand)
    if path is None:
        return Anywhere(expr.span)
    texts = [str(bound.value) for bound in bounds if isinstance(bound, ast.Literal)]
    try:
        if len(texts) == 1:
            network = ipaddress.IPv4Network(texts[0], strict=False)
            low, high = int(network[0]), int(network[-1])
        else:
            low, high = (int(ipaddress.IPv4Address(text)) for text in texts)
    except ValueError:
        return _is_text(path, "is a text")
    if negated:
        return _is_text(path, "is a text")
    words = "is an address of the network"
    return AddressRange(path, address_prefixes(low, high), low, high, words)


def _chain(expr: ast.Expr, op: str) -> list[ast.Expr]:
    """Return the operands of a run of the same operator, however long it is."""
    parts = []
    left = expr
    while isinstance(left, ast.Binary) and left.op == op:
        parts.append(left.right)
        left = left.left
    return [left, *reversed(parts)]


def _size(test: Predicate) -> int:
    if isinstance(test, Both | Either):
        return sum(map(_size, test.parts))
    return 1


def _compared(expr: ast.Expr, op: str, left: ast.Expr, right: ast.Expr) -> Predicate:
    constant = _constant(right)
    if constant is None:
        op, left, constant = MIRRORED[op], right, _constant(left)
    if constant is None:
        return Anywhere(expr.span)
    if (path := field_path(left)) is not None:
        return _compared_with(path, op, constant)
    match left, constant.value:
        case ast.Call("TO_UNIX_EPOCH" | "TO_UNIX_MICRO" as name, (operand,)), int() | float():
            path = field_path(operand)
            unit_us = _SECOND_US if name == "TO_UNIX_EPOCH" else 1
            if path is not None and not isinstance(constant.value, bool):
                return _epoch(path, op, constant.value, unit_us, expr)
        case ast.Call("UPPER" | "LOWER"), str() as text if op == "=":
            path, case = _text_path(left)
            if path is not None:
                return cased(Compare(path, "=", text), case)
    return Anywhere(expr.span)


def _compared_with(path: FieldPath, op: str, constant: ast.Literal) -> Predicate:
    """Compare a path with a constant, which may be two: a text that has the form of a time."""
    if not isinstance(constant.value, ast.TimeText):
        return Compare(path, op, constant.value)
    parts = tuple(
        Compare(path, op, value) for value in (ast.Instant(constant.value.us), str(constant.value))
    )
    return Both(parts) if op == "<>" else Either(parts)


def _epoch(path: FieldPath, op: str, number: float, unit_us: int, expr: ast.Expr) -> Predicate:
    """Compare the number of whole units since 1970, rounded down, by comparing the time itself."""
    if not math.isfinite(number):
        return Anywhere(expr.span)
    first, last = math.ceil(number), math.floor(number)
    # Units are rounded down: `<= 1` holds up to, and not including, the second unit.
    at = {"<": first, ">=": first, "<=": last + 1, ">": last + 1}
    inner = {"<": "<", ">=": ">=", "<=": "<", ">": ">="}
    if op in at:
        return Compare(path, inner[op], ast.Instant(at[op] * unit_us))
    if op == "<>":
        return Anywhere(expr.span)
    if first != last:
        return Nowhere()
    start, stop = ast.Instant(first * unit_us), ast.Instant((first + 1) * unit_us)
    return Both((Compare(path, ">=", start), Compare(path, "<", stop)))


def _constant(expr: ast.Expr) -> ast.Literal | None:
    match expr:
        case ast.Literal():
            return expr
        case ast.Unary("-", ast.Literal(int() | float() as value)) if type(value) is not bool:
            return ast.Literal(-value)
        case _:
            return None


def _text_path(expr: ast.Expr) -> tuple[FieldPath | None, str]:
    """Return a path, and the function that tells its texts in upper or lower case, if any."""
    match expr:
        case ast.Call("UPPER" | "LOWER" as name, (operand,)):
            return field_path(operand), name
        case _:
            return field_path(expr), ""


def field_path(expr: ast.Expr) -> FieldPath | None:
    """Return the field names of a path; an element of a list is one of all of them.

    * ``expr``: What may be a path from the row on.

    Returns: The names; None: it is no path, or that of a pseudo-column.
    """
    names: list[str | None] = []
    while isinstance(expr, ast.Dot | ast.Index):
        names.append(expr.name if isinstance(expr, ast.Dot) else None)
        expr = expr.base
    if not isinstance(expr, ast.Name):
        return None
    path = (expr.name, *reversed(names))
    # Where no field has the name it is there nevertheless.
    return None if is_pseudo(path) else path
