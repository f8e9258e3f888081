"""Functions of texts that Sneller's dialect lacks: padding, formats, hashes, encodings, URLs.

A row whose operands cannot be formatted, decoded or padded gives MISSING; no row makes a query
fail.
"""

from __future__ import annotations

import re

from sdb.query.analyze.refusals import rejected
from sdb.query.analyze.types import LIST, MISSING, NUMBER, STRING, TIME
from sdb.query.duckdb_sql.functions.growth import LONGEST, MOST_BYTES, compared, is_constant
from sdb.query.duckdb_sql.functions.strings import position
from sdb.query.duckdb_sql.values import quoting
from sdb.query.duckdb_sql.values.casts import cast
from sdb.query.duckdb_sql.values.lanes import Constant, Keyed, Typed, Value
from sdb.query.duckdb_sql.values.operators import string

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sdb.query.duckdb_sql.functions.arguments import Arguments, Function

_URL = (
    r"^([A-Za-z][A-Za-z0-9+.-]*)://(?:([^/?#@]*)@)?(\[[^\]]*\]|[^/?#:]*)(?::([0-9]+))?"
    r"([^?#]*)(?:\?([^#]*))?(?:#(.*))?$"
)
_URL_GROUPS = {
    "PROTOCOL": 1,
    "USERINFO": 2,
    "HOST": 3,
    "PORT": 4,
    "PATH": 5,
    "QUERY": 6,
    "FRAGMENT": 7,
    "REF": 7,
}
_TO_CHAR = {
    "YYYY": "%Y",
    "YY": "%y",
    "MM": "%m",
    "MONTH": "%B",
    "MON": "%b",
    "DDD": "%j",
    "DD": "%d",
    "DAY": "%A",
    "DY": "%a",
    "HH24": "%H",
    "HH12": "%I",
    "HH": "%I",
    "MI": "%M",
    "SS": "%S",
    "MS": "%g",
    "US": "%f",
    "AM": "%p",
    "PM": "%p",
    "TZ": "UTC",
}
_BRACES = re.compile(r"\{\{|\{[0-9]*(?::[^}]*?(?P<code>[A-Za-z%])?)?\}")
_PERCENTS = re.compile(r"%%|%[-+ #0-9.]*(?P<code>[A-Za-z])")
_SPECS = {
    "FORMAT": re.compile(r"\{[^{}]*\{?"),
    "PRINTF": re.compile(r"%[-+ #0-9.$]*\*?"),
}
_WIDEST = 10_000
_NUMBERED = re.compile(r"\{[0-9]|%[0-9]+\$")
_INTEGER_CODES = frozenset("dixXob")
_NUMBER_CODES = frozenset("eEfFgGn")
_TO_CHAR_PART = re.compile(
    r'"([^"]*)"|' + "|".join(sorted(_TO_CHAR, key=len, reverse=True)) + r"|([A-Za-z]+)|(.)",
    re.IGNORECASE | re.DOTALL,
)


def _text(template: str) -> Function:
    """Return a function of texts that gives a text."""

    def function(call: Arguments) -> Value:
        return string(template.format(*(arg.lane("s") for arg in call.values)), *call.values)

    return function


def _tried(template: str) -> Function:
    """Return a function of texts that gives MISSING where DuckDB's fails."""

    def function(call: Arguments) -> Value:
        sql = template.format(*(arg.lane("s") for arg in call.values))
        return Typed(STRING, f"TRY({sql})", absent=MISSING)

    return function


def _count(template: str) -> Function:
    """Return a function of texts that gives an integer."""

    def function(call: Arguments) -> Value:
        sql = template.format(*(arg.lane("s") for arg in call.values))
        return Typed(NUMBER, f"({sql})::BIGINT", absent=MISSING, integer=True)

    return function


def _likeness(call: Arguments) -> Value:
    first, second = (arg.lane("s") for arg in call.values)
    sql = compared(first, second, f"jaro_winkler_similarity({first}, {second})")
    return Typed(NUMBER, f"({sql})::DOUBLE", absent=MISSING)


def _side(name: str) -> Function:
    """Return LEFT or RIGHT: `count` characters, or all but those when the count is negative."""

    def function(call: Arguments) -> Value:
        text, count = call.values
        bounded = f"least(greatest({position(count)}, -{LONGEST}), {LONGEST})"
        return Typed(STRING, f"{name}({text.lane('s')}, {bounded})", absent=MISSING)

    return function


def _bounds(call: Arguments) -> tuple[int, int]:
    """Return how often the text that a call makes counts, and how long it may be.

    DuckDB computes constants before it looks at CASE: what makes them must be bounded, too.
    """
    copies = call.growth.copies if is_constant(call.node) else 1
    return copies, min(LONGEST, MOST_BYTES // copies)


def _pad(name: str) -> Function:
    def function(call: Arguments) -> Value:
        text, length = call.values[0].lane("s"), position(call.values[1])
        fill = call.values[2].lane("s") if len(call.values) > 2 else "' '"  # noqa: PLR2004
        copies, longest = _bounds(call)
        bounded = f"least(greatest({length}, 0), {longest})::INTEGER"
        padded = f"{name}({text}, {bounded}, {fill})"
        # A character has four bytes at most. The text is in it so that each row counts.
        long = f"strlen({text}) + {length} * least(strlen({fill}), 4)"
        room = call.growth.room(long, copies=copies)
        fits = f"{length} BETWEEN 0 AND {LONGEST} AND {fill} <> '' AND {room}"
        return Typed(STRING, f"CASE WHEN {fits} THEN {padded} END", absent=MISSING)

    return function


def _repeat(call: Arguments) -> Value:
    text, count = call.values[0].lane("s"), position(call.values[1])
    length = f"least(greatest({count}, 0), {LONGEST + 1}) * strlen({text})"
    copies, longest = _bounds(call)
    fits = f"{count} <= {LONGEST} AND {call.growth.room(length, copies=copies)}"
    bounded = f"least(greatest({count}, 0), {longest} // greatest(strlen({text}), 1))"
    return Typed(STRING, f"CASE WHEN {fits} THEN repeat({text}, {bounded}) END", absent=MISSING)


def _initcap(call: Arguments) -> Value:
    text = call.values[0].lane("s")
    words = f"regexp_extract_all(lower({text}), '[\\pL\\pN]+|[^\\pL\\pN]+')"
    raised = f"list_transform({words}, lambda word: upper(word[1]) || word[2:])"
    return string(f"array_to_string({raised}, '')", call.values[0])


def _char(call: Arguments) -> Value:
    code = position(call.values[0])
    return Typed(
        STRING, f"CASE WHEN {code} BETWEEN 1 AND 1114111 THEN TRY(chr(({code})::INTEGER)) END"
    )


def _concatenated(call: Arguments) -> Value:
    """Lower CONCAT: the texts of all values; MISSING and NULL have none."""
    texts = [cast(arg, "STRING", reads_texts=True) for arg in call.values]
    parts = [
        f"coalesce({text.lane('s')}, '')" if text.mask & MISSING else text.lane("s")
        for text in texts
    ]
    return Typed(STRING, f"({' || '.join(parts)})", absent=0)


def _joined(call: Arguments) -> Value:
    """Lower CONCAT_WS: values with a separator between them; MISSING and NULL are left out."""
    separator = call.values[0].lane("s")
    parts = ", ".join(cast(arg, "STRING").lane("s") for arg in call.values[1:])
    return string(f"concat_ws({separator}, {parts})", call.values[0])


def _formatted(name: str, placeholder: re.Pattern[str]) -> Function:
    """Return FORMAT or PRINTF; a placeholder for a number takes a number, others any value."""

    def function(call: Arguments) -> Value:
        pattern = _pattern(call, 0)
        _check_widths(call, pattern)
        codes = [
            match["code"] or ""
            for match in placeholder.finditer(pattern)
            if match[0] not in {"{{", "%%"}
        ]
        if len(codes) > len(call.values) - 1 and not _NUMBERED.search(pattern):
            message = (
                f"{call.node.name} has {len(codes)} placeholders and {len(call.values) - 1} values"
            )
            raise rejected(message, call.node)
        lanes: list[str] = []
        for code, arg in zip([*codes, *[""] * len(call.values)], call.values[1:], strict=False):
            if code in _INTEGER_CODES:
                lanes.append(f"({position(arg)})")
            elif code in _NUMBER_CODES:
                lanes.append(arg.lane("n"))
            else:
                lanes.append(cast(arg, "STRING").lane("s"))
        complete = " AND ".join(f"{lane} IS NOT NULL" for lane in lanes) or "TRUE"
        written = f"TRY({name}({', '.join([quoting.string(pattern), *lanes])}))"
        return Typed(STRING, f"CASE WHEN {complete} THEN {written} END", absent=MISSING)

    return function


def _check_widths(call: Arguments, pattern: str) -> None:
    """Refuse a format that makes long texts of short values, or takes widths from values."""
    plain = pattern.replace("{{", "").replace("%%", "")
    specs = _SPECS[call.node.name].findall(plain)
    widths = [int(digits[:9]) for spec in specs for digits in re.findall("[0-9]+", spec)]
    if max(widths, default=0) > _WIDEST:
        raise rejected(f"{call.node.name} takes widths of at most {_WIDEST:,}", call.node)
    if any(spec[1:].endswith(("{", "*")) for spec in specs):
        raise rejected(f"{call.node.name} takes widths that are numbers", call.node)


def _pattern(call: Arguments, index: int) -> str:
    """Return the constant text that an argument must be."""
    value = call.values[index]
    if not isinstance(value, Constant) or not isinstance(value.value, str):
        raise rejected(f"{call.node.name} takes a constant format", call.node)
    return value.value


def strftime_pattern(pattern: str) -> str:
    """Return the format of STRFTIME that means the same as one of TO_CHAR.

    Raises `ValueError` if a word in it is not known.

    >>> strftime_pattern('YYYY-MM-DD"T"HH24:MI')
    '%Y-%m-%dT%H:%M'
    """
    parts: list[str] = []
    for part in _TO_CHAR_PART.finditer(pattern):
        quoted, word, sign = part.groups()
        if word is not None:
            raise ValueError(word)
        if quoted is not None or sign is not None:
            parts.append((quoted or sign or "").replace("%", "%%"))
        else:
            parts.append(_TO_CHAR[part[0].upper()])
    return "".join(parts)


def _translated(call: Arguments) -> str:
    """Return the format of a call of TO_CHAR or TO_TIMESTAMP as SQL."""
    pattern = _pattern(call, 1)
    try:
        return quoting.string(strftime_pattern(pattern))
    except ValueError as error:
        known = ", ".join(_TO_CHAR)
        fault = rejected(f"{call.node.name} does not know '{error}'", call.node)
        fault.hint = f"it knows {known}; put other words into double quotes, or use STRFTIME"
        raise fault from None


def _to_char(call: Arguments) -> Value:
    sql = f"strftime({call.values[0].lane('u')}, {_translated(call)})"
    return string(sql, call.values[0], wants=TIME)


def _strftime(call: Arguments) -> Value:
    pattern = quoting.string(_pattern(call, 1))
    sql = f"TRY(strftime({call.values[0].lane('u')}, {pattern}))"
    return Typed(STRING, sql, absent=MISSING)


def _strptime(call: Arguments) -> Value:
    pattern = quoting.string(_pattern(call, 1))
    return Typed(TIME, f"try_strptime({call.values[0].lane('s')}, {pattern})::TIMESTAMP")


def _to_timestamp(call: Arguments) -> Value:
    if len(call.values) > 1:
        return Typed(
            TIME, f"try_strptime({call.values[0].lane('s')}, {_translated(call)})::TIMESTAMP"
        )
    from sdb.query.duckdb_sql.functions.times import from_seconds

    arg = call.values[0]
    seconds = from_seconds(arg)
    if not arg.mask & STRING:
        return seconds
    said = cast(arg, "TIMESTAMP", reads_texts=True)
    return (
        Typed(TIME, f"coalesce({seconds.lane('u')}, {said.lane('u')})")
        if arg.mask & NUMBER
        else said
    )


def _url_part(call: Arguments) -> Value:
    part = _pattern(call, 1).upper()
    text = call.values[0].lane("s")
    if len(call.values) > 2:  # noqa: PLR2004 - the name of a parameter
        if part != "QUERY":
            raise rejected("PARSE_URL takes a third argument for 'QUERY' only", call.node)
        key = re.escape(_pattern(call, 2))
        expression = quoting.string(f"^[^?#]*\\?(?:[^#]*&)?{key}=([^&#]*)")
        value = f"TRY(url_decode(replace(regexp_extract({text}, {expression}, 1), '+', ' ')))"
        return Typed(STRING, f"CASE WHEN regexp_matches({text}, {expression}) THEN {value} END")
    group = _URL_GROUPS.get(part)
    if group is None:
        fault = rejected(f"PARSE_URL does not know the part '{part}'", call.node)
        fault.hint = f"the parts are {', '.join(_URL_GROUPS)}"
        raise fault
    url_part = f"nullif(regexp_extract({text}, {quoting.string(_URL)}, {group}), '')"
    return Typed(STRING, url_part, absent=MISSING)


def _listed(texts: str) -> Value:
    """Return a list of texts."""
    items = f"list_transform({texts}, lambda item: strlen(item) + 1 || ':s' || item)"
    return Keyed(f"('[' || array_to_string({items}, ''))", LIST | MISSING)


def _string_split(call: Arguments) -> Value:
    text, separator = (arg.lane("s") for arg in call.values)
    return _listed(f"string_split({text}, {separator})")


def _extract_all(call: Arguments) -> Value:
    pattern = quoting.string(_pattern(call, 1))
    return _listed(f"regexp_extract_all({call.values[0].lane('s')}, {pattern})")


def _array_to_string(call: Arguments) -> Value:
    items, separator = call.values[0].lane("e"), call.values[1].lane("s")
    text = cast(Keyed("item"), "STRING", reads_texts=True).lane("s")
    if isinstance(call.values[1], Constant):
        joined = f"array_to_string(list_transform({items}, lambda item: {text}), {separator})"
    else:
        # The engine takes constant separators only.
        held = f"list_filter(list_transform({items}, lambda item: {text}), lambda t: t IS NOT NULL)"
        later = f"CASE WHEN nth > 1 THEN {separator} || t ELSE t END"
        joined = f"array_to_string(list_transform({held}, lambda t, nth: {later}), '')"
    is_there = f"{items} IS NOT NULL AND {separator} IS NOT NULL"
    return Typed(STRING, f"CASE WHEN {is_there} THEN {joined} END", absent=MISSING)


FUNCTIONS: dict[str, Function] = {
    "STRING_SPLIT": _string_split,
    "REGEXP_EXTRACT_ALL": _extract_all,
    "ARRAY_TO_STRING": _array_to_string,
    "STRPOS": _count("instr({0}, {1})"),
    "LEFT": _side("left"),
    "RIGHT": _side("right"),
    "LPAD": _pad("lpad"),
    "RPAD": _pad("rpad"),
    "REPEAT": _repeat,
    "REVERSE": _text("reverse({0})"),
    "INITCAP": _initcap,
    "ASCII": _count("CASE WHEN {0} <> '' THEN unicode({0}) END"),
    "CHR": _char,
    "TRANSLATE": _text("translate({0}, {1}, {2})"),
    "STRIP_ACCENTS": _text("strip_accents({0})"),
    "CONCAT": _concatenated,
    "CONCAT_WS": _joined,
    "FORMAT": _formatted("format", _BRACES),
    "PRINTF": _formatted("printf", _PERCENTS),
    "TO_CHAR": _to_char,
    "STRFTIME": _strftime,
    "STRPTIME": _strptime,
    "TO_TIMESTAMP": _to_timestamp,
    "LEVENSHTEIN": _count("levenshtein({0}, {1})"),
    "JARO_WINKLER_SIMILARITY": _likeness,
    "MD5": _text("md5({0})"),
    "SHA1": _text("sha1({0})"),
    "SHA256": _text("sha256({0})"),
    "HEX": _text("hex({0})"),
    "UNHEX": _tried("decode(unhex({0}))"),
    "TO_BASE64": _text("to_base64(encode({0}))"),
    "FROM_BASE64": _tried("decode(from_base64({0}))"),
    "URL_ENCODE": _text("url_encode({0})"),
    "URL_DECODE": _tried("url_decode({0})"),
    "PARSE_URL": _url_part,
}
