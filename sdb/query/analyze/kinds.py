"""Kinds of values, and which of them functions take and give."""

from __future__ import annotations

from enum import Flag, auto

from sdb.query.syntax.literals import words
from sdb.records import record


class Kind(Flag):
    """What an expression may turn out to be: one kind, or any of several.

    `INTEGER` alone stands for numbers that are known to be integers before any row is seen, and
    are computed in 64 bits; `NUMBER` for all others, computed in double precision.

    Examples
    --------
    >>> Kind.NUMBER in Kind.ANY, Kind.ANY.numeric, Kind.TEXT.numeric
    (True, True, False)
    """

    MISSING = auto()
    NULL = auto()
    BOOLEAN = auto()
    INTEGER = auto()
    NUMBER = auto()
    TIME = auto()
    TEXT = auto()
    LIST = auto()
    STRUCT = auto()
    ANY = MISSING | NULL | BOOLEAN | NUMBER | TIME | TEXT | LIST | STRUCT

    @property
    def numeric(self) -> bool:
        """Whether it may be a number."""
        return bool(self & (Kind.INTEGER | Kind.NUMBER))

    @property
    def static_integer(self) -> bool:
        """Whether its numbers, if any, are known to be integers."""
        return Kind.INTEGER in self and Kind.NUMBER not in self

    @property
    def only(self) -> Kind:
        """The kinds of values in it: itself without MISSING."""
        return self & ~Kind.MISSING

    @property
    def loose(self) -> Kind:
        """Itself with integers counted as numbers, for comparing kinds."""
        if Kind.INTEGER in self:
            return (self & ~Kind.INTEGER) | Kind.NUMBER
        return self


NUMERIC = Kind.INTEGER | Kind.NUMBER
LOGICAL = Kind.BOOLEAN | Kind.NULL | Kind.MISSING
ORDERED = Kind.BOOLEAN | Kind.NUMBER | Kind.TIME | Kind.TEXT

TITLES = {
    Kind.TEXT: "not compatible with type string",
    NUMERIC: "not compatible with type uint|int|float",
    Kind.INTEGER: "not compatible with type uint|int",
    Kind.TIME: "not compatible with type timestamp",
    Kind.LIST: "not a list",
    Kind.LIST | Kind.STRUCT: "not a structure or list",
}


@record
class Signature:
    """Types that a function takes and gives.

    Attributes
    ----------
    args : tuple of Kind
        Kinds of the arguments; the last one repeats when `most` is greater.
    least, most : int
        How many arguments it takes.
    gives : Kind
        What comes out, besides MISSING.
    keeps_integers : bool
        Whether a static integer comes out of static integers.
    style : str
        Wording of its errors: ``plain``, ``counted`` (spelled-out numbers and positions) or
        ``named``.
    """

    args: tuple[Kind, ...]
    least: int
    most: int
    gives: Kind
    keeps_integers: bool = False
    style: str = "plain"


def _fixed(gives: Kind, *args: Kind, style: str = "plain") -> Signature:
    return Signature(args, len(args), len(args), gives, style=style)


_N, _I, _S, _B, _T, _L = (
    NUMERIC,
    Kind.INTEGER,
    Kind.TEXT,
    Kind.BOOLEAN,
    Kind.TIME,
    Kind.LIST,
)
_ANY = Kind.ANY | Kind.INTEGER
_MANY = 1 << 20

FUNCTIONS: dict[str, Signature] = {
    **dict.fromkeys(
        words(
            "ROUND ROUND_EVEN TRUNC FLOOR CEIL CEILING SQRT CBRT EXP EXP2 EXP10 EXPM1 LN LN1P LOG2"
            " LOG10 SIN COS TAN ASIN ACOS ATAN DEGREES RADIANS"
        ),
        _fixed(Kind.NUMBER, _N),
    ),
    **dict.fromkeys(["ABS", "SIGN"], Signature((_N,), 1, 1, Kind.NUMBER, keeps_integers=True)),
    "PMOD": Signature((_N,), 2, 2, Kind.NUMBER, keeps_integers=True),
    **dict.fromkeys(
        ["LEAST", "GREATEST"], Signature((_N,), 1, _MANY, Kind.NUMBER, keeps_integers=True)
    ),
    **dict.fromkeys(["POW", "POWER", "HYPOT", "ATAN2"], _fixed(Kind.NUMBER, _N, _N)),
    "LOG": Signature((_N,), 1, 2, Kind.NUMBER),
    "PI": _fixed(Kind.NUMBER),
    "WIDTH_BUCKET": _fixed(Kind.NUMBER, _N, _N, _N, _N),
    "BIT_COUNT": _fixed(_I, _N),
    **dict.fromkeys(["UPPER", "LOWER"], _fixed(_S, _S)),
    **dict.fromkeys(["CHAR_LENGTH", "CHARACTER_LENGTH", "OCTET_LENGTH"], _fixed(_I, _S)),
    "SUBSTRING": Signature((_S, _N), 2, 3, _S, style="named"),
    **dict.fromkeys(["TRIM", "LTRIM", "RTRIM"], Signature((_S,), 1, 2, _S)),
    "SPLIT_PART": _fixed(_S, _S, _S, _N, style="named"),
    "CONCAT": _fixed(_S, _S),
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
    **dict.fromkeys(["TO_UNIX_EPOCH", "TO_UNIX_MICRO"], _fixed(_I, _T)),
    "TIME_BUCKET": _fixed(_I, _T, _N),
    "UTCNOW": _fixed(_T),
    "SIZE": _fixed(_I, Kind.LIST | Kind.STRUCT, style="counted"),
    "ARRAY_SIZE": _fixed(_I, _L, style="counted"),
    "ARRAY_CONTAINS": _fixed(_B, _L, _ANY, style="counted"),
    "ARRAY_POSITION": _fixed(_I, _L, _ANY, style="counted"),
    "ARRAY_SUM": _fixed(Kind.NUMBER, _L, style="counted"),
    **dict.fromkeys(
        words("INNER_PRODUCT L1_DISTANCE L2_DISTANCE COSINE_DISTANCE"),
        _fixed(Kind.NUMBER, _L, _L, style="counted"),
    ),
    "GEO_DISTANCE": _fixed(Kind.NUMBER, _N, _N, _N, _N),
    "GEO_HASH": _fixed(_S, _N, _N, _N),
    **dict.fromkeys(["GEO_TILE_X", "GEO_TILE_Y"], _fixed(_I, _N, _N)),
    "GEO_TILE_ES": _fixed(_S, _N, _N, _N),
    "COALESCE": Signature((_ANY,), 1, _MANY, _ANY),
    "NULLIF": _fixed(_ANY, _ANY, _ANY),
    "TYPE_BIT": _fixed(_I, _ANY),
}
"""The functions of the dialect; the part of a time is no argument."""

CASTS: dict[str, tuple[Kind, Kind]] = {
    "INTEGER": (NUMERIC | Kind.BOOLEAN, Kind.INTEGER),
    "FLOAT": (NUMERIC | Kind.BOOLEAN, Kind.NUMBER),
    "BOOLEAN": (NUMERIC | Kind.BOOLEAN, Kind.BOOLEAN),
    "STRING": (Kind.TEXT | NUMERIC | Kind.BOOLEAN, Kind.TEXT),
    "TIMESTAMP": (Kind.TIME, Kind.TIME),
    "LIST": (Kind.LIST, Kind.LIST),
    "STRUCT": (Kind.STRUCT, Kind.STRUCT),
    "NULL": (_ANY, Kind.NULL),
    "MISSING": (_ANY, Kind.MISSING),
}
"""For each type of CAST, the kinds that it takes and the kind that it gives."""

AGGREGATES: dict[str, Kind] = {
    **dict.fromkeys(["EARLIEST", "LATEST"], Kind.TIME | Kind.NULL),
    **dict.fromkeys(["BOOL_AND", "BOOL_OR"], Kind.BOOLEAN | Kind.NULL),
    **dict.fromkeys(words("COUNT APPROX_COUNT_DISTINCT ROW_NUMBER RANK DENSE_RANK"), Kind.NUMBER),
    "SNELLER_DATASHAPE": Kind.STRUCT,
}
"""Types that aggregates give, where it is not a number or NULL."""
