"""Spellings of other dialects, where there is no doubt what they mean here."""

from __future__ import annotations

from sdb.query.syntax import ast
from sdb.query.syntax.clauses import foreigncalls
from sdb.query.syntax.othernames import FIELDS, NAMES, TYPES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import TypeAlias

    from sdb.query.syntax.ast import Expr, Span

    Rewrite: TypeAlias = Callable[[tuple[Expr, ...], Span], Expr | None]


def type_name(name: str) -> str:
    """Return the type of CAST that a word means; the word itself when it is of no other dialect.

    >>> type_name("varchar"), type_name("integer"), type_name("blob")
    ('STRING', 'INTEGER', 'BLOB')
    """
    return TYPES.get(name.upper(), name.upper())


def call(name: str, args: tuple[Expr, ...], span: Span) -> Expr:
    """Return what a call means.

    Returns: A call of a function of this dialect, or an expression that gives the same; the call as
    it is when nothing is known of such a function.

    >>> call("LEN", (ast.Name("a"),), (0, 6)).name
    'LENGTH'
    """
    name = NAMES.get(name, name)
    rewrite = _REWRITES.get(name) or foreigncalls.REWRITES.get(name)
    rewritten = None if rewrite is None else rewrite(args, span)
    return ast.Call(name, args, span=span) if rewritten is None else rewritten


def _if(args: tuple[Expr, ...], span: Span) -> Expr | None:
    if len(args) != 3:  # noqa: PLR2004 - a condition and two values
        return None
    return ast.Case(None, ((args[0], args[1]),), args[2], span=span)


def _remainder(args: tuple[Expr, ...], span: Span) -> Expr | None:
    return ast.Binary("%", *args, span=span) if len(args) == 2 else None  # noqa: PLR2004


def extract(args: tuple[Expr, ...], part: str | None, span: Span) -> Expr | None:
    """Return EXTRACT of a part that others know as what it means, nothing for our own parts."""
    if part == "ISODOW":
        # Monday is 1, Sunday 7.
        day: Expr = ast.Call("EXTRACT", args, "DOW", span=span)
        for op, by in (("+", 6), ("%", 7), ("+", 1)):
            day = ast.Binary(op, day, ast.Literal(by, span=span), span=span)
        return day
    return ast.Call("EPOCH", args, span=span) if part == "EPOCH" else None


def present(word: str, span: Span) -> Expr | None:
    """Return what a word without parentheses stands for: the present, or the day that it is in."""
    now = ast.Call("UTCNOW", (), span=span)
    match word:
        case "CURRENT_TIMESTAMP" | "LOCALTIMESTAMP":
            return now
        case "CURRENT_DATE":
            return ast.Call("DATE_TRUNC", (now,), "DAY", span=span)
    return None


def operator(op: str, left: Expr, right: Expr, span: Span) -> Expr:
    """Return ``a // b`` or ``a ** b``."""
    if op == "**":
        return ast.Call("POWER", (left, right), span=span)
    return ast.Call("TRUNC", (ast.Binary("/", left, right, span=span),), span=span)


def _day(args: tuple[Expr, ...], span: Span) -> Expr | None:
    return day(args[0], span) if len(args) == 1 else None


def day(value: Expr, span: Span) -> Expr:
    """Return the midnight before a time, or before that which a text says."""
    time = ast.Cast(value, "TIMESTAMP", reads_texts=True, span=value.span)
    return ast.Call("DATE_TRUNC", (time,), "DAY", span=span)


def _age(args: tuple[Expr, ...], span: Span) -> Expr | None:
    if len(args) == 1:
        args = (ast.Call("DATE_TRUNC", (ast.Call("UTCNOW", (), span=span),), "DAY"), *args)
    return ast.Binary("-", *args, span=span) if len(args) == 2 else None  # noqa: PLR2004


def _field_of_time(part: str) -> Rewrite:
    def rewrite(args: tuple[Expr, ...], span: Span) -> Expr | None:
        return extract(args, part, span) or ast.Call("EXTRACT", args, part, span=span)

    return rewrite


def _swapped(name: str) -> Rewrite:
    """Return what calls a function with its first two arguments the other way round."""

    def rewrite(args: tuple[Expr, ...], span: Span) -> Expr | None:
        if len(args) != 2:  # noqa: PLR2004 - the two
            return None
        return ast.Call(name, (args[1], args[0]), span=span)

    return rewrite


def _with(name: str, *more: ast.Constant) -> Rewrite:
    """Return what calls a function of one argument with constants behind it."""

    def rewrite(args: tuple[Expr, ...], span: Span) -> Expr | None:
        if len(args) != 1:
            return None
        rest = [ast.Literal(value, span=span) for value in more]
        return ast.Call(name, (*args, *rest), span=span)

    return rewrite


def _divided(by: float) -> Rewrite:
    """Return what reads a number as seconds since 1970, or parts of them."""

    def rewrite(args: tuple[Expr, ...], span: Span) -> Expr | None:
        if len(args) != 1:
            return None
        seconds = ast.Binary("/", args[0], ast.Literal(by, span=span), span=span)
        return ast.Call("TO_TIMESTAMP", (seconds,), span=span)

    return rewrite


def _millis(args: tuple[Expr, ...], span: Span) -> Expr | None:
    """Return the milliseconds since 1970 of a time, or the time that a constant number says."""
    match args:
        case (ast.Literal(value=int() | float()),):
            return _divided(1000.0)(args, span)
        case (time,):
            micros = ast.Call("TO_UNIX_MICRO", (time,), span=span)
            return ast.Binary("/", micros, ast.Literal(1000, span=span), span=span)
    return None


def _strftime(args: tuple[Expr, ...], span: Span) -> Expr | None:
    """Return STRFTIME with the form in front, as others have it, the other way round."""
    match args:
        case (ast.Literal(value=str() as form), _) if "%" in form:
            return ast.Call("STRFTIME", (args[1], args[0]), span=span)
    return None


def _to_date(args: tuple[Expr, ...], span: Span) -> Expr | None:
    if len(args) == 1:
        return day(args[0], span)
    return ast.Call("DATE_TRUNC", (ast.Call("TO_TIMESTAMP", args, span=span),), "DAY", span=span)


def _last_day(args: tuple[Expr, ...], span: Span) -> Expr | None:
    if len(args) != 1:
        return None
    first = ast.Call("DATE_TRUNC", args, "MONTH", span=span)
    later = ast.Call("DATE_ADD", (ast.Literal(1, span=span), first), "MONTH", span=span)
    return ast.Call("DATE_ADD", (ast.Literal(-1, span=span), later), "DAY", span=span)


def _choice(args: tuple[Expr, ...], span: Span) -> Expr | None:
    """Return NVL2: the second argument where the first has a value, else the third."""
    if len(args) != 3:  # noqa: PLR2004 - those
        return None
    return ast.Case(None, ((ast.Is(args[0], "NULL", negated=True, span=span), args[1]),), args[2])


def _quotient(args: tuple[Expr, ...], span: Span) -> Expr | None:
    return ast.Binary("/", *args, span=span) if len(args) == 2 else None  # noqa: PLR2004


def _whole_quotient(args: tuple[Expr, ...], span: Span) -> Expr | None:
    return operator("//", *args, span) if len(args) == 2 else None  # noqa: PLR2004


def _difference(args: tuple[Expr, ...], span: Span) -> Expr | None:
    return ast.Binary("^", *args, span=span) if len(args) == 2 else None  # noqa: PLR2004


def _array_size(args: tuple[Expr, ...], span: Span) -> Expr | None:
    """Return the length of a list; of its first dimension, as PostgreSQL counts them."""
    match args:
        case (values, ast.Literal(value=1)):
            return ast.Call("ARRAY_SIZE", (values,), span=span)
    return None


def _json_size(args: tuple[Expr, ...], span: Span) -> Expr | None:
    path = args[1:] or (ast.Literal("$", span=span),)
    values = ast.Call("JSON_EXTRACT", (*args[:1], *path), span=span)
    return ast.Call("ARRAY_SIZE", (values,), span=span)


def _member(args: tuple[Expr, ...], span: Span) -> Expr | None:
    match args:
        case (base, ast.Literal(value=str() as name)):
            return ast.Dot(base, name, span=span)
    return None


def _listed(args: tuple[Expr, ...], span: Span) -> Expr | None:
    return ast.MakeList(args, span=span)


_TYPE_NAMES = {
    1: "null",
    2: "boolean",
    4: "number",
    8: "timestamp",
    16: "string",
    32: "list",
    64: "struct",
}


def _type(args: tuple[Expr, ...], span: Span) -> Expr | None:
    """Return the name of the type of a value in its row."""
    if len(args) != 1:
        return None
    bit = ast.Call("TYPE_BIT", args, span=span)
    limbs = [
        (ast.Literal(value, span=span), ast.Literal(name, span=span))
        for value, name in _TYPE_NAMES.items()
    ]
    return ast.Case(bit, tuple(limbs), ast.Literal("missing", span=span), span=span)


_REWRITES: Mapping[str, Rewrite] = {
    "AGE": _age,
    "ARRAY_SIZE": _array_size,
    "CHARINDEX": _swapped("STRPOS"),
    "DATE": _day,
    "DAYNAME": _with("STRFTIME", "%A"),
    "DIV": _whole_quotient,
    "EPOCH_MS": _millis,
    "FORMAT_DATE": _swapped("STRFTIME"),
    "FORMAT_TIMESTAMP": _swapped("STRFTIME"),
    "IF": _if,
    "IIF": _if,
    "ISNULL": lambda args, span: (
        ast.Call("COALESCE", args, span=span)
        if args[1:]
        else ast.Is(args[0], "NULL", negated=False, span=span)
        if args
        else None
    ),
    "JSONB_ARRAY_LENGTH": _json_size,
    "JSON_ARRAY_LENGTH": _json_size,
    "LAST_DAY": _last_day,
    "LIST_VALUE": _listed,
    "LOCATE": _swapped("STRPOS"),
    "MOD": _remainder,
    "MONTHNAME": _with("STRFTIME", "%B"),
    "FROMUNIXTIMESTAMP64MICRO": _divided(1e6),
    "FROMUNIXTIMESTAMP64MILLI": _divided(1e3),
    "NULLIFZERO": _with("NULLIF", 0),
    "NVL2": _choice,
    "PARSE_DATE": _swapped("STRPTIME"),
    "PARSE_TIMESTAMP": _swapped("STRPTIME"),
    "SAFE_DIVIDE": _quotient,
    "STRFTIME": _strftime,
    "STRUCT_EXTRACT": _member,
    "TIMESTAMP_MICROS": _divided(1e6),
    "TIMESTAMP_MILLIS": _divided(1e3),
    "TODAY": lambda args, span: None if args else present("CURRENT_DATE", span),
    "TO_DATE": _to_date,
    "TYPEOF": _type,
    "UNIX_MILLIS": _millis,
    "XOR": _difference,
    "ZEROIFNULL": _with("COALESCE", 0),
    **{name: _field_of_time(part) for name, part in FIELDS.items()},
}
