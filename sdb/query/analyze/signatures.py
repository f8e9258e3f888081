"""Signatures of functions: the types that they take and give."""

from __future__ import annotations

from sdb.query.analyze import regexes
from sdb.query.analyze.refusals import ill_typed, refuse
from sdb.query.analyze.types import (
    ANY,
    BOOL,
    INTEGER,
    LIST,
    LOGICAL,
    MISSING,
    NULL,
    NUMBER,
    NUMERIC,
    ORDERED,
    STRING,
    STRUCT,
    TIME,
    are_integers,
    is_null,
    loose,
)
from sdb.query.syntax import ast, hints, othernames, printer
from sdb.query.syntax.lexer import AGGREGATES as AGGREGATE_NAMES
from sdb.query.syntax.literals import words
from sdb.records import record

TITLES = {
    STRING: "not compatible with type string",
    NUMERIC: "not compatible with type uint|int|float",
    INTEGER: "not compatible with type uint|int",
    TIME: "not compatible with type timestamp",
    LIST: "not a list",
    STRING | LIST: "not a text or a list",
    LIST | STRUCT: "not a structure or list",
}


_WORDS = {
    TIME | NUMERIC: "time",
    NUMERIC: "number",
    INTEGER: "integer",
    STRING: "text",
    BOOL: "condition",
    TIME: "time",
    LIST: "list",
    LIST | STRUCT: "list or structure",
    STRING | LIST: "text or list",
}
_SHOWN = 4
"""How many arguments are shown at most."""


@record
class Signature:
    """Types that a function takes and gives."""

    args: tuple[int, ...]  # ints of the arguments; the last one repeats when `most` is greater
    # How many arguments it takes
    least: int
    most: int
    gives: int  # what comes out, besides MISSING
    keeps_integers: bool = False  # whether a static integer comes out of static integers
    # Wording of its errors: ``plain``, ``counted`` (spelled-out numbers and positions) or ``named``
    style: str = "plain"


def written(node: ast.Call, signature: Signature) -> str:
    """Show how a function is called.

    >>> from sdb.query.syntax.ast import Call
    >>> written(Call("SUBSTRING", ()), FUNCTIONS["SUBSTRING"])
    'SUBSTRING(text, number[, number])'
    """
    names = [_WORDS.get(kind, "value") for kind in signature.args]
    names += names[-1:] * (min(signature.most, _SHOWN) - len(names))
    first = ["part"] if node.part is not None else []
    needed = ", ".join([*first, *names[: signature.least]])
    more = "".join(f"[, {name}" for name in names[signature.least :])
    dots = ", ..." if signature.most > _SHOWN else ""
    return f"{node.name}({needed}{more}{dots}{']' * more.count('[')})"


def _fixed(gives: int, *args: int, style: str = "plain") -> Signature:
    return Signature(args, len(args), len(args), gives, style=style)


_N, _I, _S, _B, _T, _L = (
    NUMERIC,
    INTEGER,
    STRING,
    BOOL,
    TIME,
    LIST,
)
_ANY = ANY | INTEGER
_MANY = 1 << 20

FUNCTIONS: dict[str, Signature] = {
    **dict.fromkeys(
        words(
            "ROUND_EVEN TRUNC FLOOR CEIL CEILING SQRT CBRT EXP EXP2 EXP10 EXPM1 LN LN1P LOG2"
            " LOG10 SIN COS TAN ASIN ACOS ATAN DEGREES RADIANS"
        ),
        _fixed(NUMBER, _N),
    ),
    "ROUND": Signature((_N, _N), 1, 2, NUMBER),
    **dict.fromkeys(["ABS", "SIGN"], Signature((_N,), 1, 1, NUMBER, keeps_integers=True)),
    "PMOD": Signature((_N,), 2, 2, NUMBER, keeps_integers=True),
    **dict.fromkeys(["LEAST", "GREATEST"], Signature((_N,), 1, _MANY, NUMBER, keeps_integers=True)),
    **dict.fromkeys(["POW", "POWER", "HYPOT", "ATAN2"], _fixed(NUMBER, _N, _N)),
    "LOG": Signature((_N,), 1, 2, NUMBER),
    "PI": _fixed(NUMBER),
    "WIDTH_BUCKET": _fixed(NUMBER, _N, _N, _N, _N),
    "BIT_COUNT": _fixed(_I, _N),
    **dict.fromkeys(["UPPER", "LOWER"], _fixed(_S, _S)),
    **dict.fromkeys(words("CHAR_LENGTH CHARACTER_LENGTH OCTET_LENGTH"), _fixed(_I, _S)),
    "LENGTH": _fixed(_I, STRING | LIST),
    "SUBSTRING": Signature((_S, _N), 2, 3, _S, style="named"),
    **dict.fromkeys(["TRIM", "LTRIM", "RTRIM"], Signature((_S,), 1, 2, _S)),
    "SPLIT_PART": _fixed(_S, _S, _S, _N, style="named"),
    "CONCAT": Signature((_ANY,), 1, _MANY, _S),
    "REPLACE": _fixed(_S, _S, _S, _S, style="named"),
    **dict.fromkeys(words("STARTS_WITH ENDS_WITH"), _fixed(_B, _S, _S, style="named")),
    "CONTAINS": _fixed(_B, STRING | LIST, _ANY, style="named"),
    **dict.fromkeys(words("LIKE_PATTERN ILIKE_PATTERN"), Signature((_S, _S, _S), 2, 3, _B)),
    "REGEXP_LIKE": _fixed(_B, _S, _S, style="named"),
    "REGEXP_EXTRACT": Signature((_S, _S, _N), 2, 3, _S, style="named"),
    "REGEXP_REPLACE": Signature((_S,), 3, 4, _S, style="named"),
    **dict.fromkeys(["STRPOS", "LEVENSHTEIN"], _fixed(_I, _S, _S)),
    "JARO_WINKLER_SIMILARITY": _fixed(NUMBER, _S, _S),
    **dict.fromkeys(["LEFT", "RIGHT", "REPEAT"], _fixed(_S, _S, _N)),
    **dict.fromkeys(["LPAD", "RPAD"], Signature((_S, _N, _S), 2, 3, _S)),
    "TRANSLATE": _fixed(_S, _S, _S, _S),
    "CHR": _fixed(_S, _N),
    "ASCII": _fixed(_I, _S),
    **dict.fromkeys(
        words(
            "REVERSE INITCAP STRIP_ACCENTS MD5 SHA1 SHA256 HEX UNHEX TO_BASE64 FROM_BASE64"
            " URL_ENCODE URL_DECODE"
        ),
        _fixed(_S, _S),
    ),
    "PARSE_URL": Signature((_S,), 2, 3, _S),
    "CONCAT_WS": Signature((_S, _ANY), 2, _MANY, _S),
    **dict.fromkeys(["FORMAT", "PRINTF"], Signature((_S, _ANY), 1, _MANY, _S)),
    **dict.fromkeys(["TO_CHAR", "STRFTIME"], _fixed(_S, _T, _S)),
    "STRPTIME": _fixed(_T, _S, _S),
    "TIMEZONE": _fixed(_T, _S, _T),
    **dict.fromkeys(["STRING_SPLIT", "REGEXP_EXTRACT_ALL"], _fixed(_L, _S, _S)),
    "ARRAY_TO_STRING": _fixed(_S, _L, _S),
    "TO_TIMESTAMP": Signature((_N | _S, _S), 1, 2, _T),
    "PARSE_JSON": _fixed(ANY, _S),
    "TO_JSON": _fixed(_S, _ANY),
    "JSON_EXTRACT": _fixed(ANY, STRING | LIST | STRUCT, _S),
    **dict.fromkeys(["JSON_EXTRACT_STRING", "JSON_VALUE"], _fixed(_S, STRING | LIST | STRUCT, _S)),
    "IS_SUBNET_OF": Signature((_S,), 2, 3, _B, style="named"),
    **dict.fromkeys(
        words("EQUALS_FUZZY EQUALS_FUZZY_UNICODE CONTAINS_FUZZY CONTAINS_FUZZY_UNICODE"),
        _fixed(_B, _S, _S, _N, style="named"),
    ),
    "DATE_ADD": _fixed(_T, _N, _T),
    "DATE_DIFF": _fixed(_I, _T, _T),
    "DATE_TRUNC": _fixed(_T, _T),
    "DATE_BIN": _fixed(_T, _T, _T),
    "EXTRACT": _fixed(_I, _T),
    "EPOCH": _fixed(NUMBER, _T | _N),
    "NUMBER": _fixed(NUMBER, _N | _S | _B),
    "DECIMAL": Signature((_N | _S | _B, _N, _N), 1, 3, NUMBER),
    **dict.fromkeys(["TO_UNIX_EPOCH", "TO_UNIX_MICRO"], _fixed(_I, _T)),
    "TIME_BUCKET": _fixed(_I, _T, _N),
    "UTCNOW": _fixed(_T),
    "SIZE": _fixed(_I, LIST | STRUCT, style="counted"),
    "ARRAY_SIZE": _fixed(_I, _L, style="counted"),
    "ARRAY_CONTAINS": _fixed(_B, _L, _ANY, style="counted"),
    "ARRAY_POSITION": _fixed(_I, _L, _ANY, style="counted"),
    "ARRAY_SUM": _fixed(NUMBER, _L, style="counted"),
    **dict.fromkeys(words("ARRAY_DISTINCT ARRAY_SORT ARRAY_REVERSE FLATTEN"), _fixed(_L, _L)),
    **dict.fromkeys(["ARRAY_MAX", "ARRAY_MIN"], _fixed(ANY & ~MISSING, _L)),
    "ARRAY_CONCAT": Signature((_L,), 2, _MANY, _L),
    "ARRAY_INTERSECT": _fixed(_L, _L, _L),
    "ARRAYS_OVERLAP": _fixed(_B, _L, _L),
    "ARRAY_SLICE": _fixed(_L, _L, _N, _N),
    "ELEMENT_AT": _fixed(ANY, _L, _N),
    "STRUCT_KEYS": _fixed(_L, STRUCT),
    **dict.fromkeys(["LIST_TRANSFORM", "LIST_FILTER"], _fixed(_L, _L, _ANY)),
    **dict.fromkeys(["ANY_MATCH", "ALL_MATCH", "NONE_MATCH"], _fixed(_B, _L, LOGICAL)),
    "LIST_COUNT": _fixed(_I, _L, LOGICAL),
    **dict.fromkeys(
        words("INNER_PRODUCT L1_DISTANCE L2_DISTANCE COSINE_DISTANCE"),
        _fixed(NUMBER, _L, _L, style="counted"),
    ),
    "GEO_DISTANCE": _fixed(NUMBER, _N, _N, _N, _N),
    "GEO_HASH": _fixed(_S, _N, _N, _N),
    **dict.fromkeys(["GEO_TILE_X", "GEO_TILE_Y"], _fixed(_I, _N, _N)),
    "GEO_TILE_ES": _fixed(_S, _N, _N, _N),
    "COALESCE": Signature((_ANY,), 1, _MANY, _ANY),
    "NULLIF": _fixed(_ANY, _ANY, _ANY),
    "TYPE_BIT": _fixed(_I, _ANY),
}
"""The functions of the dialect; the part of a time is no argument."""

CASTS: dict[str, tuple[int, int]] = {
    "INTEGER": (NUMERIC | BOOL, INTEGER),
    "FLOAT": (NUMERIC | BOOL, NUMBER),
    "BOOLEAN": (NUMERIC | BOOL, BOOL),
    "STRING": (STRING | NUMERIC | BOOL | TIME, STRING),
    "TIMESTAMP": (TIME, TIME),
    "LIST": (LIST, LIST),
    "STRUCT": (STRUCT, STRUCT),
    "NULL": (_ANY, NULL),
    "MISSING": (_ANY, MISSING),
}
"""For each type of CAST, the kinds that it takes and the kind that it gives."""

TEXTS: dict[str, int] = {
    **dict.fromkeys(["INTEGER", "FLOAT", "BOOLEAN", "TIMESTAMP"], STRING),
    "STRING": ANY & ~(MISSING | NULL),
}
"""For each type, the kinds that TRY_CAST and ``::`` take in addition."""

AGGREGATES: dict[str, int] = {
    **dict.fromkeys(["EARLIEST", "LATEST"], TIME | NULL),
    **dict.fromkeys(["MIN", "MAX"], NUMBER | TIME | STRING | BOOL | NULL),
    **dict.fromkeys(words("ANY_VALUE ARG_MIN ARG_MAX FIRST LAST"), ANY & ~MISSING),
    **dict.fromkeys(["HISTOGRAM", "APPROX_TOP_K"], LIST | NULL),
    **dict.fromkeys(["COUNT_IF", "GROUPING"], NUMBER),
    **dict.fromkeys(["BOOL_AND", "BOOL_OR"], BOOL | NULL),
    **dict.fromkeys(words("COUNT APPROX_COUNT_DISTINCT ROW_NUMBER RANK DENSE_RANK"), NUMBER),
    **dict.fromkeys(words("NTILE PERCENT_RANK CUME_DIST"), NUMBER),
    **dict.fromkeys(words("LAG LEAD FIRST_VALUE LAST_VALUE NTH_VALUE"), ANY),
    "SNELLER_DATASHAPE": STRUCT,
    "ARRAY_AGG": LIST | NULL,
    "STRING_AGG": STRING | NULL,
    "MODE": ANY & ~MISSING,
}
"""Types that aggregates give, where it is not a number or NULL."""


# Types of calls of functions; refuses those that could never give a value.

_COUNTS = ("no", "one", "two", "three", "four")
_POSITIONS = ("first", "second", "third", "fourth")


def signature_of(node: ast.Call) -> Signature:
    """Return the signature of the function that is called.

    Raises `QueryError` if there is no such function, or it does not take that number of arguments.
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

    Raises `QueryError` if an argument is of another type than the function takes.
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
