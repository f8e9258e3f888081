"""Cuts the text of a query into tokens (section "Words" of docs/sql.md)."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING, TypeAlias

from sdb.errors import QueryError
from sdb.instants import to_us
from sdb.query.ast import Instant

if TYPE_CHECKING:
    from sdb.query.ast import Span

_AGGREGATES = """
COUNT SUM MIN MAX AVG EARLIEST LATEST VARIANCE VARIANCE_POP STDDEV STDDEV_POP BIT_AND BIT_OR BIT_XOR
BOOL_AND BOOL_OR EVERY APPROX_COUNT_DISTINCT APPROX_MEDIAN APPROX_PERCENTILE ROW_NUMBER RANK
DENSE_RANK SNELLER_DATASHAPE
"""
_OTHERS = """
ALL AND AS ASC AT BETWEEN BOTH BY CASE CAST COALESCE CONCAT CROSS DATE_ADD DATE_BIN DATE_DIFF
DATE_TRUNC DESC DISTINCT ELSE END ESCAPE EXISTS EXPLAIN EXTRACT FALSE FILTER FIRST FROM GROUP HAVING
ILIKE IN INNER INTO IS JOIN LAST LEADING LEFT LIKE LIMIT MISSING NOT NULL NULLIF NULLS OFFSET ON OR
ORDER OVER PARTITION RIGHT SELECT SIMILAR THEN TO TRAILING TRIM TRUE UNION UNPIVOT UTCNOW VALUE WHEN
WHERE WITH
"""
AGGREGATES = frozenset(_AGGREGATES.split())
KEYWORDS = AGGREGATES | frozenset(_OTHERS.split())

Value: TypeAlias = str | int | float | Instant


@dataclass(frozen=True, slots=True)
class Token:
    """A word of a query.

    Attributes
    ----------
    kind : str
        ``ID``, ``NUMBER``, ``STRING``, ``TIMESTAMP``, ``PARAM``, or the keyword or operator itself;
        ``$end`` after the last one.
    value : str, int, float or Instant
        The name, the constant, or the text of an operator.
    span : (int, int)
        Where it stands in the text, in bytes.
    quoted : bool
        Whether it is a name in double quotes.
    tight : bool
        Whether no space is between it and the token after it.
    """

    kind: str
    value: Value
    span: Span
    quoted: bool = False
    tight: bool = False

    @property
    def text(self) -> str:
        """The word as messages show it."""
        if self.kind in _SHOWN:
            return _SHOWN[self.kind]
        return self.kind if self.kind[0].isalpha() or self.kind == "$end" else f"'{self.kind}'"


_SHOWN = {
    "=": "EQ", "<>": "NE", "<": "LT", "<=": "LE", ">": "GT", ">=": "GE", "TIMESTAMP": "ION",
}  # fmt: skip

_TOKEN = re.compile(
    r"""
    (?P<space>[ \t\n\r\f\v]+ | --[^\n]* | \#[^\n]*)
  | (?P<comment>/\*)
  | (?P<number>0[xX][0-9a-fA-F_]+ | 0[bB][01_]+ | 0[oO][0-7_]+
      | (?:[0-9][0-9_]*(?:\.[0-9_]*)? | \.[0-9][0-9_]*)(?:[eE][+-]?[0-9]+)?)(?P<tail>[\w@]*)
  | (?P<word>(?!\d)[\w@][\w@]*)
  | (?P<param>\$(?!\d)\w+)
  | (?P<string>'(?:[^'\\]|\\.)*')
  | (?P<name>"(?:[^"\\]|\\.)*")
  | (?P<time>`[^`]*`)
  | (?P<op>>>>|<<|>>|<=|>=|<>|!=|~~\*|~~|~\*|\|\||\+\+|[-+*/%(),.\[\]{}:=<>!~&|^;])
    """,
    re.VERBOSE | re.DOTALL,
)
_COMMENT_MARK = re.compile(r"/\*|\*/")
_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|.)", re.DOTALL)
_PLAIN_ESCAPES = {
    "a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v",
    "\\": "\\", "'": "'", '"': '"', "/": "/",
}  # fmt: skip
_SURROGATES = re.compile("[\ud800-\udbff][\udc00-\udfff]|[\ud800-\udfff]")
# Before one of these a keyword is one; elsewhere it is a name, so that `value.x` is a path.
_AFTER_KEYWORD = re.compile(r"$|[\s(),=<>!~\]};'\"`#*/+|&^%:-]")
_TIME = re.compile(
    r"\s*(\d{4})-(\d\d)-(\d\d)[Tt ](\d\d):(\d\d):(\d\d)(?:\.(\d{1,9}))?\s*"
    r"(?:[Zz]|([+-])(\d\d):(\d\d))?\s*"
)
_MAX_INT = (1 << 63) - 1
_LONGEST_INT = 30
_LEAP_SECOND = 60


def fail(query: str, offset: int, what: str, length: int = 2) -> QueryError:
    """Make the error of a text that is not in the language.

    Parameters
    ----------
    query : str
        The text.
    offset : int
        Where it goes wrong, in bytes.
    what : str
        What is wrong.
    length : int
        How many bytes to underline.

    Returns
    -------
    QueryError
        To be raised.
    """
    error = QueryError(what, query=query, offset=offset, length=length)
    message = f"parsing query: at {error.line}:{error.column}: {what}"
    return QueryError(message, query=query, offset=offset, length=length)


def tokens(query: str) -> list[Token]:
    """Cut a query into tokens.

    Parameters
    ----------
    query : str
        The text.

    Returns
    -------
    list of Token
        The last one is ``$end``.

    Raises
    ------
    QueryError
        Something that is no token.
    """
    return _Lexer(query).run()


class _Lexer:
    def __init__(self, query: str) -> None:
        self._query = query
        self._found: list[Token] = []
        self._chars = 0
        self._bytes = 0

    def _offset(self, at: int) -> int:
        """Give the place of a character in bytes; places only go up."""
        self._bytes += len(self._query[self._chars : at].encode(errors="surrogatepass"))
        self._chars = at
        return self._bytes

    def run(self) -> list[Token]:
        at = 0
        while at < len(self._query):
            found = _TOKEN.match(self._query, at)
            if found is None:
                raise self._strange(at)
            if found.lastgroup == "comment":
                at = self._skip_comment(at)
                continue
            if found.lastgroup != "space":
                self._found.append(self._token(found))
            at = found.end()
        end = self._offset(at)
        return [*self._found, Token("$end", "", (end, end))]

    def _strange(self, at: int) -> QueryError:
        unit = self._query[at]
        offset = self._offset(at)
        if unit in "'\"":
            return fail(self._query, offset, f"unterminated {unit}", 1)
        if unit == "`":
            rest = len(self._query[at:].encode(errors="surrogatepass"))
            return fail(self._query, offset, "unterminated ion datum literal, missing '`'", rest)
        return fail(self._query, offset, f"unexpected character '{unit}'", 1)

    def _skip_comment(self, at: int) -> int:
        depth = 0
        end = at
        while mark := _COMMENT_MARK.search(self._query, end):
            depth += 1 if mark[0] == "/*" else -1
            end = mark.end()
            if not depth:
                return end
        raise fail(self._query, self._offset(at), "unterminated comment")

    def _token(self, found: re.Match[str]) -> Token:
        text = found[0]
        start = self._offset(found.start())
        span = (start, start + len(text.encode(errors="surrogatepass")))
        following = self._query[found.end() : found.end() + 1]
        tight = bool(following) and not following.isspace()
        if found.lastgroup == "word":
            return self._word(found, span, tight=tight)
        kind, value = self._valued(found, span)
        return Token(kind, value, span, quoted=found.lastgroup == "name", tight=tight)

    def _valued(self, found: re.Match[str], span: Span) -> tuple[str, Value]:
        text = found[0]
        match found.lastgroup:
            case "op":
                if self._query.startswith("*/", found.start()):
                    what = 'unexpected "/" or end of multi-line comment'
                    raise fail(self._query, span[0], what, 1)
                return ("<>", "<>") if text == "!=" else (text, text)
            case "string":
                return "STRING", self._unescape(text[1:-1], span)
            case "name":
                return "ID", self._unescape(text[1:-1], span)
            case "time":
                return "TIMESTAMP", self._time(text, span)
            case "param":
                return "PARAM", text[1:]
            case _:
                return "NUMBER", self._number(found, span)

    def _word(self, found: re.Match[str], span: Span, *, tight: bool) -> Token:
        word = found[0]
        upper = word.upper()
        before = self._found[-1].kind if self._found else ""
        is_keyword = (
            upper in KEYWORDS
            and before not in {".", "AS"}
            and _AFTER_KEYWORD.match(self._query, found.end())
        )
        return Token(upper if is_keyword else "ID", word, span, tight=tight)

    def _unescape(self, text: str, span: Span) -> str:
        def plain(escape: re.Match[str]) -> str:
            code = escape[1]
            if len(code) > 1:
                return chr(int(code[1:], 16))
            if code not in _PLAIN_ESCAPES:
                what = f"unexpected backslash escape of {code!r} ({ord(code):#x})"
                raise fail(self._query, span[0], what, span[1] - span[0])
            return _PLAIN_ESCAPES[code]

        def joined(pair: re.Match[str]) -> str:
            if len(pair[0]) == 1:
                return "\N{REPLACEMENT CHARACTER}"
            high, low = map(ord, pair[0])
            return chr(0x10000 + (high - 0xD800) * 0x400 + (low - 0xDC00))

        return _SURROGATES.sub(joined, _ESCAPE.sub(plain, text) if "\\" in text else text)

    def _number(self, found: re.Match[str], span: Span) -> int | float:
        text = found["number"].replace("_", "")
        try:
            if found["tail"]:
                raise ValueError  # noqa: TRY301 - one message for all bad numbers
            value = _number(text)
        except ValueError:
            what = f'"{found[0]}" is not a number'
            raise fail(self._query, span[0], what, span[1] - span[0]) from None
        if math.isinf(value):
            what = f'"{found[0]}" is beyond the range of numbers'
            raise fail(self._query, span[0], what, span[1] - span[0])
        return value

    def _time(self, text: str, span: Span) -> Instant:
        us = parse_time(text[1:-1])
        if us is None:
            what = f"couldn't parse ion literal {text}"
            raise fail(self._query, span[0], what, span[1] - span[0])
        return Instant(us)


def _number(text: str) -> int | float:
    if text[:2].lower() in {"0x", "0b", "0o"}:
        value = int(text, 0)
    elif text.isdigit():
        if len(text) > _LONGEST_INT:
            return float(text)
        value = int(text, 8 if text[0] == "0" else 10)
    else:
        return float(text)
    # The one beyond is kept for the parser, which knows of a sign.
    return value if value <= _MAX_INT + 1 else float(value)


def parse_time(text: str) -> int | None:
    """Read a timestamp as strings of rows are read.

    Parameters
    ----------
    text : str
        ``2021-03-04T05:06:07.5Z`` and the like; UTC without a zone, digits beyond microseconds are
        cut.

    Returns
    -------
    int or None
        Microseconds since 1970; None when the text is no timestamp.
    """
    found = _TIME.fullmatch(text)
    if found is None:
        return None
    *civil, fraction, sign, hours, minutes = found.groups()
    year, month, day, hour, minute, second = map(int, civil)
    offset = (int(hours) * 60 + int(minutes)) if sign else 0
    try:
        zone = timezone(timedelta(minutes=-offset if sign == "-" else offset))
        moment = datetime(year, month, day, hour, minute, min(second, 59), tzinfo=zone)
        if second > _LEAP_SECOND:
            raise ValueError  # noqa: TRY301 - no such time either
    except ValueError:
        return None
    micros = int((fraction or "").ljust(6, "0")[:6])
    return to_us(moment) + (second - min(second, 59)) * 1_000_000 + micros
