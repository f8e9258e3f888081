"""Functions of strings."""

from __future__ import annotations

from sdb.query.analyze.refusals import rejected
from sdb.query.analyze.types import BOOL, LIST, NUMBER, STRING
from sdb.query.duckdb_sql.functions import growth
from sdb.query.duckdb_sql.functions.lists import array_contains
from sdb.query.duckdb_sql.values import quoting
from sdb.query.duckdb_sql.values.lanes import Constant, Typed, Value
from sdb.query.duckdb_sql.values.operators import boolean, string

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sdb.query.duckdb_sql.functions.arguments import Arguments, Function


def _plain(template: str) -> Function:
    def function(call: Arguments) -> Value:
        return string(template.format(*(arg.lane("s") for arg in call.values)), *call.values)

    return function


def _length(template: str) -> Function:
    def function(call: Arguments) -> Value:
        (arg,) = call.values
        absent = boolean("", arg, wants=STRING).absent
        return Typed(NUMBER, template.format(arg.lane("s")), absent=absent, integer=True)

    return function


def _length_or_size(call: Arguments) -> Value:
    """LENGTH: of a text its letters, of a list its elements."""
    (arg,) = call.values
    letters = _length("length({0})")(call)
    if not arg.mask & LIST:
        return letters
    size = f"CASE WHEN {arg.lane('t')} = {LIST} THEN {arg.lane('z')} END"
    return Typed(NUMBER, f"coalesce({letters.lane('x')}, {size})", integer=True)


def position(value: Value) -> str:
    """Return SQL of a number that counts something: truncated."""
    if isinstance(value, Typed) and value.whole:
        return f"TRY_CAST({value.sql} AS BIGINT)" if value.wide else value.sql
    return f"TRY_CAST(trunc({value.lane('n')}) AS BIGINT)"


def _clamped(value: Value, low: int) -> str:
    """Return SQL of a count between a bound and what DuckDB can slice; NULL stays NULL."""
    whole = isinstance(value, Typed) and value.whole
    sql = value.lane("x") if whole else f"trunc({value.lane('n')})"
    bounded = f"least(greatest({sql}, {low}), 2147483647)::BIGINT"
    return f"CASE WHEN {sql} IS NOT NULL THEN {bounded} END" if value.mask & ~NUMBER else bounded


def _substring(call: Arguments) -> Value:
    parts = [call.values[0].lane("s"), _clamped(call.values[1], 1)]
    if len(call.values) > 2:  # noqa: PLR2004
        parts.append(_clamped(call.values[2], 0))
    return Typed(STRING, f"substring({', '.join(parts)})")


def _trim(name: str) -> Function:
    def function(call: Arguments) -> Value:
        lanes = [arg.lane("s") for arg in call.values] + (["' '"] if len(call.values) == 1 else [])
        return string(f"{name}({', '.join(lanes)})", *call.values)

    return function


def _test(template: str) -> Function:
    def function(call: Arguments) -> Value:
        sql = template.format(*(arg.lane("s") for arg in call.values))
        return boolean(sql, *call.values, wants=STRING)

    return function


def _contains(call: Arguments) -> Value:
    """CONTAINS: whether a text has a part; in `standard` also whether a list has an element."""
    whole, part = call.values
    if not whole.mask & LIST or call.node.original:
        return _test("contains({0}, {1})")(call)
    if not whole.mask & STRING:
        return array_contains(call)
    is_text = f"contains({whole.lane('s')}, {part.lane('s')})"
    return Typed(BOOL, f"coalesce({is_text}, {array_contains(call).lane('b')})")


def _like(call: Arguments) -> Value:
    text, pattern = (arg.lane("s") for arg in call.values[:2])
    escape = call.values[2].lane("s") if len(call.values) > 2 else "''"  # noqa: PLR2004
    is_folded = call.node.name == "ILIKE_PATTERN"
    sql = f"({text} LIKE {pattern} ESCAPE {escape})"
    if is_folded:
        sql = f"sdb_ilike({text}, {pattern}, {escape})"
    return boolean(sql, *call.values[:2], wants=STRING)


def _regexp_extract(call: Arguments) -> Value:
    text, pattern = (arg.lane("s") for arg in call.values[:2])
    group = call.values[2].lane("x") if len(call.values) > 2 else "0"  # noqa: PLR2004
    extracted = f"regexp_extract({text}, {pattern}, ({group})::INTEGER)"
    # What is not found is MISSING, like a part that SPLIT_PART does not find.
    return Typed(STRING, f"CASE WHEN regexp_matches({text}, {pattern}) THEN {extracted} END")


def _regexp_replace(call: Arguments) -> Value:
    lanes = [arg.lane("s") for arg in call.values]
    sql = f"regexp_replace({', '.join(lanes)})"
    if call.growth.is_wary:
        sql = growth.regexp_replaced(call.growth, lanes)
    return string(sql, *call.values)


def _replace(call: Arguments) -> Value:
    lanes = [arg.lane("s") for arg in call.values]
    sql = (
        growth.replaced(call.growth, *lanes)
        if call.growth.is_wary
        else f"replace({', '.join(lanes)})"
    )
    return string(sql, *call.values)


def _split_part(call: Arguments) -> Value:
    text, separator, number = call.values
    index = position(number)
    part = f"string_split({text.lane('s')}, {separator.lane('s')})[{index}]"
    return Typed(STRING, f"CASE WHEN {index} >= 1 THEN {part} END")


def _subnet(call: Arguments) -> Value:
    bounds = [arg.value for arg in call.values[:-1] if isinstance(arg, Constant)]
    texts = [bound for bound in bounds if isinstance(bound, str)]
    if len(texts) != len(call.values) - 1:
        raise rejected("IS_SUBNET_OF takes constant bounds", call.node)
    import ipaddress

    try:
        if len(texts) == 1:
            network = ipaddress.IPv4Network(texts[0], strict=False)
            low, high = int(network.network_address), int(network.broadcast_address)
        else:
            low, high = (int(ipaddress.IPv4Address(text)) for text in texts)
    except ValueError as error:
        raise rejected(f"IS_SUBNET_OF: {error}", call.node) from error
    text, range_ = call.values[-1], f"{quoting.integer(low)}, {quoting.integer(high)}"
    return boolean(f"sdb_subnet({text.lane('s')}, {range_})", text, wants=STRING)


def _fuzzy(*, contains: bool, points: bool) -> Function:
    def function(call: Arguments) -> Value:
        text, literal, distance = call.values
        flags = f"{str(contains).lower()}, {str(points).lower()}"
        sql = f"sdb_fuzzy({text.lane('s')}, {literal.lane('s')}, {position(distance)}, {flags})"
        return Typed(BOOL, sql)

    return function


FUNCTIONS: dict[str, Function] = {
    "UPPER": _plain("CASE WHEN strlen({0}) <> length({0}) THEN sdb_upper({0}) ELSE upper({0}) END"),
    "LOWER": _plain("CASE WHEN strlen({0}) <> length({0}) THEN sdb_lower({0}) ELSE lower({0}) END"),
    "CHAR_LENGTH": _length("length({0})"),
    "LENGTH": _length_or_size,
    "CHARACTER_LENGTH": _length("length({0})"),
    "OCTET_LENGTH": _length("strlen({0})"),
    "SUBSTRING": _substring,
    "TRIM": _trim("trim"),
    "LTRIM": _trim("ltrim"),
    "RTRIM": _trim("rtrim"),
    "SPLIT_PART": _split_part,
    "REPLACE": _replace,
    "STARTS_WITH": _test("starts_with({0}, {1})"),
    "ENDS_WITH": _test("suffix({0}, {1})"),
    "CONTAINS": _contains,
    "LIKE_PATTERN": _like,
    "ILIKE_PATTERN": _like,
    "REGEXP_LIKE": _test("regexp_matches({0}, {1})"),
    "REGEXP_EXTRACT": _regexp_extract,
    "REGEXP_REPLACE": _regexp_replace,
    "IS_SUBNET_OF": _subnet,
    "EQUALS_FUZZY": _fuzzy(contains=False, points=False),
    "CONTAINS_FUZZY": _fuzzy(contains=True, points=False),
    "EQUALS_FUZZY_UNICODE": _fuzzy(contains=False, points=True),
    "CONTAINS_FUZZY_UNICODE": _fuzzy(contains=True, points=True),
}
