"""Calls of ClickHouse, Athena, Spark and BigQuery that are another expression here."""

from __future__ import annotations

import re
from json import dumps

from sdb.query.syntax import ast
from sdb.query.syntax.othernames import CASTS, STARTS, STRIDES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import TypeAlias

    from sdb.query.syntax.ast import Expr, Span

    Args: TypeAlias = tuple[Expr, ...]
    Rewrite: TypeAlias = Callable[[Args, Span], Expr | None]

_UNIX_EPOCH = ast.Literal(ast.Instant(0))
_MYSQL = {"%i": "%M", "%s": "%S", "%T": "%H:%M:%S", "%M": "%B", "%W": "%A", "%e": "%-d"}
_MYSQL |= {"%h": "%I", "%k": "%-H", "%l": "%-I", "%c": "%-m", "%v": "%V", "%r": "%I:%M:%S %p"}
_JAVA = {"yyyy": "%Y", "YYYY": "%Y", "uuuu": "%Y", "y": "%Y", "yy": "%y", "MMMM": "%B"}
_JAVA |= {"MMM": "%b", "MM": "%m", "M": "%-m", "dd": "%d", "d": "%-d", "DDD": "%j", "D": "%-j"}
_JAVA |= {"HH": "%H", "H": "%-H", "hh": "%I", "h": "%-I", "mm": "%M", "m": "%-M", "ss": "%S"}
_JAVA |= {"s": "%-S", "SSS": "%g", "SSSSSS": "%f", "a": "%p", "EEEE": "%A", "E": "%a", "EEE": "%a"}
_JAVA |= {"ww": "%V", "w": "%-V"}


def form(text: str) -> str | None:
    """Return a form of times of MySQL and Athena, or of Java, as that of STRFTIME.

    >>> form("%Y-%m-%d %H:%i:%s"), form("yyyy-MM-dd'T'HH:mm"), form("qqq")
    ('%Y-%m-%d %H:%M:%S', '%Y-%m-%dT%H:%M', None)
    """
    if "%" in text:
        return re.sub("%.", lambda code: _MYSQL.get(code[0], code[0]), text)
    pieces = []
    for piece in re.finditer(r"'(?P<quoted>[^']*)'|(?P<run>([A-Za-z])\3*)|[^A-Za-z']", text):
        if piece["run"] is None:
            pieces.append(piece[0] if piece["quoted"] is None else piece["quoted"] or "'")
        elif piece["run"] in _JAVA:
            pieces.append(_JAVA[piece["run"]])
        else:
            return None
    return "".join(pieces)


def _call(name: str, *args: Expr, span: Span) -> ast.Call:
    return ast.Call(name, args, span=span)


def _literal(value: ast.Constant, span: Span) -> ast.Literal:
    return ast.Literal(value, span=span)


def _constant(expr: Expr) -> str | None:
    is_text = isinstance(expr, ast.Literal) and isinstance(expr.value, str)
    return str(expr.value) if is_text and isinstance(expr, ast.Literal) else None


def _of_form(name: str) -> Rewrite:
    """Return what calls a function whose second argument is a form of others."""

    def rewrite(args: Args, span: Span) -> Expr | None:
        if len(args) != 2:  # noqa: PLR2004 - those two
            return None
        if "%" in (_constant(args[0]) or ""):  # as BigQuery has it
            args = (args[1], args[0])
            return ast.Call(name, args, span=span)
        made = form(_constant(args[1]) or "")
        return _call(name, args[0], _literal(made, span), span=span) if made else None

    return rewrite


def _json(name: str, *, typed: bool = False, to: str | None = None) -> Rewrite:
    """Return what takes names of members one by one, as in ``JSONExtractString(j, 'a', 'b')``.

    * ``typed``: Whether the last argument is a type.
    """

    def rewrite(args: Args, span: Span) -> Expr | None:
        base, *steps = args[: len(args) - typed] or (None,)
        if base is None or not steps:
            return None
        path = "$"
        for step in steps:
            match step:
                case ast.Literal(str() as text):
                    path += f".{dumps(text, ensure_ascii=False)}"
                case ast.Literal(int() as number) if number > 0:
                    path += f"[{number - 1}]"
                case _:
                    return None
        value = _call(name, base, _literal(path, span), span=span)
        return value if to is None else ast.Cast(value, to, reads_texts=True, span=span)

    return rewrite


def _multi_if(args: Args, span: Span) -> Expr | None:
    if len(args) % 2 == 0 or not args[1:]:
        return None
    return ast.Case(None, tuple(zip(args[:-1:2], args[1:-1:2], strict=True)), args[-1], span=span)


def _decode(args: Args, span: Span) -> Expr | None:
    subject, *rest = args or (None,)
    if subject is None or not rest[1:]:
        return None
    otherwise = rest.pop() if len(rest) % 2 else ast.Literal(None, span=span)
    return ast.Case(subject, tuple(zip(rest[::2], rest[1::2], strict=True)), otherwise, span=span)


def _element(args: Args, span: Span) -> Expr | None:
    match args:
        case (base, ast.Literal(str() as name)):
            return ast.Dot(base, name, span=span)
        case (ast.Name() | ast.Dot() | ast.Index() as base, ast.Literal(int() as at)) if at > 0:
            return ast.Index(base, at - 1, span=span)
    return None


def _moved(part: str, sign: int) -> Rewrite:
    def rewrite(args: Args, span: Span) -> Expr | None:
        if len(args) != 2:  # noqa: PLR2004 - a time and a number
            return None
        count = args[1] if sign > 0 else ast.Unary("-", args[1], span=span)
        return ast.Call("DATE_ADD", (count, args[0]), part, span=span)

    return rewrite


def _start(part: str) -> Rewrite:
    def rewrite(args: Args, span: Span) -> Expr | None:
        weekday = 1 if part == "WEEK" else None
        return ast.Call("DATE_TRUNC", args[:1], part, weekday, span=span) if args else None

    return rewrite


def _bin(minutes: int) -> Rewrite:
    def rewrite(args: Args, span: Span) -> Expr | None:
        stride = f"{minutes} minutes"
        return ast.Call("DATE_BIN", (*args[:1], _UNIX_EPOCH), stride, span=span) if args else None

    return rewrite


def _interval_start(args: Args, span: Span) -> Expr | None:
    match args:
        case (time, ast.Interval(0, us)) if us > 0 and us % 1_000_000 == 0:
            stride = f"{us // 1_000_000} seconds"
            return ast.Call("DATE_BIN", (time, _UNIX_EPOCH), stride, span=span)
    return None


def _cast(to: str) -> Rewrite:
    def rewrite(args: Args, span: Span) -> Expr | None:
        if not args:
            return None
        if to == "TIMESTAMP" and isinstance(args[0], ast.Literal) and type(args[0].value) is int:
            return _call("TO_TIMESTAMP", args[0], span=span)
        return ast.Cast(args[0], to, reads_texts=True, span=span)

    return rewrite


def _same(args: Args, span: Span) -> Expr | None:  # noqa: ARG001 - one of the rewrites
    return args[0] if len(args) == 1 else None


def _year_month(*, with_day: bool) -> Rewrite:
    def rewrite(args: Args, span: Span) -> Expr | None:
        if not args:
            return None
        number: Expr = ast.Call("EXTRACT", args[:1], "YEAR", span=span)
        for part in ("MONTH", "DAY")[: 1 + with_day]:
            hundreds = ast.Binary("*", number, _literal(100, span), span=span)
            field = ast.Call("EXTRACT", args[:1], part, span=span)
            number = ast.Binary("+", hundreds, field, span=span)
        return number

    return rewrite


def _of(count: int, make: Callable[[Args, Span], Expr]) -> Rewrite:
    """Return a rewrite of calls with that number of arguments."""
    return lambda args, span: make(args, span) if len(args) == count else None


def _lowered(name: str) -> Rewrite:
    def make(args: Args, span: Span) -> Expr:
        return _call(name, *[_call("LOWER", arg, span=span) for arg in args], span=span)

    return _of(2, make)


def _with_part(part: str) -> Rewrite:
    return _of(1, lambda args, span: _call("PARSE_URL", args[0], _literal(part, span), span=span))


def _calls(name: str, *order: int) -> Rewrite:
    """Return what calls a function with arguments in another order."""
    return _of(len(order), lambda args, span: _call(name, *[args[at] for at in order], span=span))


def _slice(args: Args, span: Span) -> Expr | None:
    """Return SLICE, whose third argument is a length."""
    if len(args) != 3:  # noqa: PLR2004 - a list, where and how many
        return None
    last = ast.Binary("+", args[1], ast.Binary("-", args[2], _literal(1, span)), span=span)
    return _call("ARRAY_SLICE", *args[:2], last, span=span)


def _day(args: Args, span: Span) -> Expr:
    time = ast.Cast(args[0], "TIMESTAMP", reads_texts=True, span=span)
    return ast.Call("DATE_TRUNC", (time,), "DAY", span=span)


def _today(args: Args, span: Span) -> Expr | None:
    today = ast.Call("DATE_TRUNC", (_call("UTCNOW", span=span),), "DAY", span=span)
    return None if args else ast.Call("DATE_ADD", (_literal(-1, span), today), "DAY", span=span)


def _is_null(*, negated: bool) -> Rewrite:
    return _of(1, lambda args, span: ast.Is(args[0], "NULL", negated, span=span))


def _empty(op: str) -> Rewrite:
    return _of(1, lambda args, span: ast.Binary(op, args[0], _literal("", span), span=span))


def _as_printf(args: Args, span: Span) -> Expr | None:
    """FORMAT of Athena and Spark, whose placeholders are those of PRINTF."""
    form = args[0].value if len(args) > 1 and isinstance(args[0], ast.Literal) else None
    is_printf = isinstance(form, str) and "%" in form and "{" not in form
    return _call("PRINTF", *args, span=span) if is_printf else None


_PARTS = ("YEAR", "QUARTER", "MONTH", "WEEK", "DAY", "HOUR", "MINUTE", "SECOND")
REWRITES: Mapping[str, Rewrite] = {
    **{f"ADD{part}S": _moved(part, 1) for part in _PARTS},
    **{f"SUBTRACT{part}S": _moved(part, -1) for part in _PARTS},
    **{name: _start(part) for name, part in STARTS.items()},
    **{name: _bin(minutes) for name, minutes in STRIDES.items()},
    **{name: _cast(to) for name, to in CASTS.items()},
    "ARRAYSTRINGCONCAT": lambda args, span: _call(
        "ARRAY_TO_STRING", *args, *([] if args[1:] else [_literal("", span)]), span=span
    ),
    "AT_TIMEZONE": _calls("TIMEZONE", 1, 0),
    "CONTAINS_SUBSTR": _lowered("CONTAINS"),
    "DATE_FORMAT": _of_form("STRFTIME"),
    "DATE_PARSE": _of_form("STRPTIME"),
    "DECODE": _decode,
    "DOMAIN": _with_part("HOST"),
    "ELEMENT_AT": _element,
    "EMPTY": _empty("="),
    "FORMAT_DATETIME": _of_form("STRFTIME"),
    "FORMAT": _as_printf,
    "HAS": _calls("ARRAY_CONTAINS", 0, 1),
    "INTDIV": _of(
        2, lambda args, span: _call("TRUNC", ast.Binary("/", *args, span=span), span=span)
    ),
    "ISNOTNULL": _is_null(negated=True),
    "JSONEXTRACT": _json("JSON_EXTRACT", typed=True),
    "JSONEXTRACTBOOL": _json("JSON_EXTRACT", to="BOOLEAN"),
    "JSONEXTRACTFLOAT": _json("JSON_EXTRACT", to="FLOAT"),
    "JSONEXTRACTINT": _json("JSON_EXTRACT", to="INTEGER"),
    "JSONEXTRACTRAW": _json("JSON_EXTRACT"),
    "JSONEXTRACTSTRING": _json("JSON_EXTRACT_STRING"),
    "JSONEXTRACTUINT": _json("JSON_EXTRACT", to="INTEGER"),
    "JSONHAS": lambda args, span: (
        None
        if (value := _json("JSON_EXTRACT")(args, span)) is None
        else ast.Is(value, "MISSING", negated=True, span=span)
    ),
    "JSON_ARRAY": lambda args, span: ast.MakeList(args, span=span),
    "JSON_BUILD_ARRAY": lambda args, span: ast.MakeList(args, span=span),
    "JSON_EXTRACT_PATH": _json("JSON_EXTRACT"),
    "JSON_EXTRACT_PATH_TEXT": _json("JSON_EXTRACT_STRING"),
    "MODULO": _of(2, lambda args, span: ast.Binary("%", *args, span=span)),
    "MULTIIF": _multi_if,
    "NOTEMPTY": _empty("<>"),
    "PARSE_DATETIME": _of_form("STRPTIME"),
    "PATH": _with_part("PATH"),
    "POSITIONCASEINSENSITIVE": _lowered("STRPOS"),
    "PROTOCOL": _with_part("PROTOCOL"),
    "REGEXP_COUNT": _of(
        2,
        lambda args, span: _call(
            "ARRAY_SIZE", _call("REGEXP_EXTRACT_ALL", *args, span=span), span=span
        ),
    ),
    "REGEXP_REPLACE": _of(
        2, lambda args, span: _call("REGEXP_REPLACE", *args, _literal("", span), span=span)
    ),
    "REPLACEREGEXPALL": _of(
        3, lambda args, span: _call("REGEXP_REPLACE", *args, _literal("g", span), span=span)
    ),
    "REPLACEREGEXPONE": _calls("REGEXP_REPLACE", 0, 1, 2),
    "SLICE": _slice,
    "SPLITBYCHAR": _calls("STRING_SPLIT", 1, 0),
    "SPLITBYSTRING": _calls("STRING_SPLIT", 1, 0),
    "STR_TO_DATE": _of_form("STRPTIME"),
    **dict.fromkeys(["TODATE", "FROM_ISO8601_DATE"], _of(1, _day)),
    "TOSTARTOFINTERVAL": _interval_start,
    "TOSTARTOFWEEK": _of(1, lambda args, span: ast.Call("DATE_TRUNC", args, "WEEK", 0, span=span)),
    "TOYYYYMM": _year_month(with_day=False),
    "TOYYYYMMDD": _year_month(with_day=True),
    "TRY": _same,
    "URL_EXTRACT_FRAGMENT": _with_part("FRAGMENT"),
    "URL_EXTRACT_HOST": _with_part("HOST"),
    "URL_EXTRACT_PARAMETER": _of(
        2,
        lambda args, span: _call("PARSE_URL", args[0], _literal("QUERY", span), args[1], span=span),
    ),
    "URL_EXTRACT_PATH": _with_part("PATH"),
    "URL_EXTRACT_PORT": _with_part("PORT"),
    "URL_EXTRACT_PROTOCOL": _with_part("PROTOCOL"),
    "URL_EXTRACT_QUERY": _with_part("QUERY"),
    "YESTERDAY": _today,
}
