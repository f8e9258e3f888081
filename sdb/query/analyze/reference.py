"""The reference of functions: what `sdb functions` prints and docs/functions.md holds.

The words are in `functions.txt`, a line for each function; types come from `signatures`, other
spellings from `syntax`. ``python -m sdb.query.analyze.reference`` prints the page.
"""

from __future__ import annotations

import fnmatch
import re
import sys

from sdb.errors import UsageError
from sdb.query.analyze import types
from sdb.query.analyze.signatures import AGGREGATES, CASTS, FUNCTIONS
from sdb.query.syntax import aggregatecalls, othernames
from sdb.query.syntax.clauses import lambdas
from sdb.query.syntax.literals import words
from sdb.records import record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_NO_VALUE = "NULL where an argument is MISSING, NULL or of another type"
_NO_VALUES = "skips MISSING, NULL and values of other types; NULL where none is left"
_OF_ANY = words(
    "FIRST_VALUE GROUPING LAG LAST_VALUE LEAD NTH_VALUE"
    " ANY_VALUE APPROX_COUNT_DISTINCT APPROX_TOP_K ARG_MAX ARG_MIN ARRAY_AGG COUNT FIRST HISTOGRAM"
    " LAST MODE"
)
# Arguments of aggregates that take neither numbers nor any value.
_TAKES = {
    **dict.fromkeys(["BOOL_AND", "BOOL_OR", "COUNT_IF"], "boolean"),
    **dict.fromkeys(["EARLIEST", "LATEST"], "time"),
    **dict.fromkeys(["MAX", "MIN"], "number, time, text or boolean"),
    "STRING_AGG": "text",
    "SNELLER_DATASHAPE": "rows",
    **dict.fromkeys(
        words("ROW_NUMBER RANK DENSE_RANK PERCENT_RANK CUME_DIST"),
        "",
    ),
    "NTILE": "integer",
}
# Functions that syntax makes of other ones, and the types that these have.
OF_SYNTAX = {
    "AGE": "time, time → number",
    "CHARINDEX": "text, text → integer",
    "DATE": "time or text → time",
    "DATEADD": "number, time → time",
    "DATEDIFF": "time, time → integer",
    "DATE_FORMAT": "time, text → text",
    "DATE_PARSE": "text, text → time",
    "DATE_SUB": "time, interval → time",
    **dict.fromkeys(["DAYNAME", "MONTHNAME"], "time → text"),
    **dict.fromkeys(["DIV", "MOD", "SAFE_DIVIDE", "XOR"], "number, number → number"),
    "EPOCH_MS": "time or number → integer or time",
    **dict.fromkeys(["ISNULL"], "any, any → any"),
    "JSON_OBJECT": "any → structure",
    "JSON_ARRAY_LENGTH": "text or list → integer",
    "LAST_DAY": "time → time",
    "LOCATE": "text, text → integer",
    **dict.fromkeys(["NULLIFZERO", "ZEROIFNULL"], "number → number"),
    "NVL2": "any, any, any → any",
    "OVERLAY": "text, text, number, number → text",
    "STRUCT_EXTRACT": "structure, text → any",
    **dict.fromkeys(["TIMESTAMP_MICROS", "TIMESTAMP_MILLIS"], "number → time"),
    "TODAY": "→ time",
    "TO_DATE": "text, text → time",
    "TYPEOF": "any → text",
    "CASE": "boolean, any → any",
    "IF": "boolean, any, any → any",
    "POSITION": "text, text → integer",
}
_TYPES = {
    types.NULL: "NULL",
    types.BOOL: "boolean",
    types.INTEGER: "integer",
    types.NUMBER: "number",
    types.TIME: "time",
    types.STRING: "text",
    types.LIST: "list",
    types.STRUCT: "structure",
}
_NAME = re.compile(r"CAST\(x AS [A-Z]+\)|[A-Z_0-9]+")

_HEAD = f"""\
# Functions

All functions, casts, aggregates and windows of [SQL](sql.md), as `sdb functions` prints them.
This page is made by `python -m sdb.query.analyze.reference` \
from `sdb/query/analyze/functions.txt`, and every example on it runs.
Those of aggregates and windows read `people.zion` of [the page about queries](sql.md); \
results of windows are in the order of `name`, NULL last.

* A function is {_NO_VALUE}.
* An aggregate {_NO_VALUES}.
* Other rules stand in the column "without a value".
* In [the dialect `sneller`](sneller-dialect.md) functions are MISSING where they are NULL here."""


@record
class FunctionEntry:
    """A function in the reference."""

    name: str  # of a cast with its type, as in ``CAST(x AS STRING)``
    kind: str  # the heading that it stands under
    call: str  # how it is called
    types: str  # of its arguments and its result
    returns: str
    missing: str  # what it does without a value
    example: str
    result: str  # of the example, as JSON
    aliases: tuple[str, ...]


def entries(pattern: str | None = None) -> list[FunctionEntry]:
    """Return the entries of all functions, or of those that a pattern selects.

    * ``pattern``: A part of a name, an alias or a heading, or a shell pattern of a name.

    Raises `UsageError` if there is no such function.

    >>> [entry.name for entry in entries("log*")]
    ['LOG2', 'LOG10', 'LOG', 'BOOL_AND', 'BOOL_OR']
    """
    every = list(_read())
    if pattern is None:
        return every
    selected = [entry for entry in every if _matches(entry, pattern.upper())]
    if not selected:
        names = sorted({name for entry in every for name in (entry.name, *entry.aliases)})
        raise UsageError(f"no function matches {pattern!r}", hint=_meant(pattern, names))
    return selected


def page() -> str:
    """Return docs/functions.md."""
    every = entries()
    lines = [_HEAD]
    for kind in dict.fromkeys(entry.kind for entry in every):
        section = [entry for entry in every if entry.kind == kind]
        lines += ["", f"## {kind[0].upper()}{kind[1:]}", ""]
        lines += ["| function | types | returns | without a value | example | result |"]
        lines += ["|---|---|---|---|---|---|", *map(_row, section)]
    pairs = sorted((alias, entry) for entry in every for alias in entry.aliases)
    lines += ["", "## Other spellings", "", "| written | means |", "|---|---|"]
    lines += [f"| `{alias}` | {_code(entry.name)} |" for alias, entry in pairs]
    return "\n".join(lines) + "\n"


def _row(entry: FunctionEntry) -> str:
    rule = "" if entry.missing in {_NO_VALUE, _NO_VALUES} else entry.missing
    cells = [
        _code(entry.call),
        entry.types,
        entry.returns.replace("|", "\\|"),
        rule,
        _code(entry.example),
        _code(entry.result),
    ]
    return f"| {' | '.join(cells)} |"


def _code(text: str) -> str:
    """Write a text as code in a cell of Markdown; back-ticks inside need two around."""
    escaped = text.replace("|", "\\|")
    return f"`` {escaped} ``" if "`" in escaped else f"`{escaped}`"


def _read() -> Iterator[FunctionEntry]:
    from importlib.resources import files

    others = _aliases()
    kind = ""
    for line in files(__package__).joinpath("functions.txt").read_text("utf-8").splitlines():
        if line.startswith("# "):
            kind = line.removeprefix("# ")
        elif line:
            call, returns, example, result, *rule = line.split(" | ")
            matched = _NAME.match(call)
            name = matched[0] if matched else call
            default = _NO_VALUES if kind == "aggregates" else _NO_VALUE
            missing = rule[0] if rule else default
            yield FunctionEntry(
                name,
                kind,
                call,
                _types_of(name, kind),
                returns,
                missing,
                example,
                result,
                tuple(sorted(others.get(name, ()))),
            )


def _aliases() -> dict[str, set[str]]:
    """Return the other spellings of each function."""
    pairs = [*othernames.NAMES.items(), *aggregatecalls.SAME_AGGREGATES.items(), ("IIF", "IF")]
    pairs += [(f"{alias}(t)", "EXTRACT") for alias in othernames.FIELDS]
    casts = [*othernames.TYPES.items(), *othernames.CASTS.items()]
    pairs += [(alias, f"CAST(x AS {name})") for alias, name in casts]
    pairs += [item for item in lambdas.NAMES.items() if item[0] != item[1]]
    pairs += [*aggregatecalls.FOREIGN.items()]
    pairs += [(f"{alias}(t)", "DATE_TRUNC") for alias in othernames.STARTS]
    pairs += [(f"{alias}(t)", "DATE_BIN") for alias in othernames.STRIDES]
    pairs += [
        (f"{alias}(q) WITHIN GROUP (ORDER BY x)", n) for alias, n in aggregatecalls.WITHIN.items()
    ]
    out: dict[str, set[str]] = {}
    for alias, name in pairs:
        out.setdefault(name, set()).add(alias)
    return out


def _types_of(name: str, kind: str) -> str:
    """Return the types of a function's arguments and result, in words."""
    if name in OF_SYNTAX:
        return OF_SYNTAX[name]
    if kind == "casts":
        takes, gives = CASTS[name.removeprefix("CAST(x AS ").removesuffix(")")]
        return f"{type_words(takes)} → {'MISSING' if gives == types.MISSING else type_words(gives)}"
    if signature := FUNCTIONS.get(name):
        listed = [type_words(mask) for mask in signature.args]
        if signature.most > len(listed):
            listed += ["..."] if signature.most > 4 else listed[-1:]  # noqa: PLR2004 - no end
        return f"{', '.join(listed)} → {type_words(signature.gives)}".lstrip()
    of_aggregate = _TAKES.get(name, "any" if name in _OF_ANY else "number")
    value = AGGREGATES.get(name, types.NUMBER) & ~types.NULL
    return f"{of_aggregate} → {type_words(value)}".lstrip()


def type_words(mask: int) -> str:
    """Return the types of a mask in words.

    >>> type_words(types.LIST | types.STRUCT), type_words(types.ANY)
    ('list or structure', 'any')
    """
    if mask & types.ANY | types.NULL | types.MISSING == types.ANY:
        return "any"
    names = [word for bit, word in _TYPES.items() if mask & bit]
    if mask & types.NUMERIC == types.NUMERIC:
        names.remove("integer")
    *first, last = names
    return f"{', '.join(first)} or {last}" if first else last


def _matches(entry: FunctionEntry, pattern: str) -> bool:
    names = [entry.name, *entry.aliases]
    if re.search(r"[*?\[]", pattern):
        return any(fnmatch.fnmatchcase(name, pattern) for name in names)
    return any(pattern in name for name in (*names, entry.kind.upper()))


def _meant(pattern: str, names: Iterable[str]) -> str:
    from difflib import get_close_matches

    near = get_close_matches(pattern.upper(), list(names), n=1, cutoff=0.6)
    return f"did you mean {near[0]}?" if near else "sdb functions lists all of them"


if __name__ == "__main__":
    sys.stdout.write(page())
