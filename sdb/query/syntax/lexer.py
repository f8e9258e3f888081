"""Text to tokens.

The rules are those of docs/sql.md: keywords are ordinary names in some places, a minus sign may
belong to a number, comments nest. The text is read as UTF-8, so that all positions are in bytes.
"""

from __future__ import annotations

import re

from sdb import notes
from sdb.errors import QueryError
from sdb.query.syntax import literals
from sdb.records import record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from sdb.query.syntax.ast import Constant

MAX_BYTES = 1 << 20
"""Longest query, in bytes; lists of a hundred thousand constants fit."""

AGGREGATES = literals.words(
    "APPROX_COUNT_DISTINCT APPROX_MEDIAN APPROX_PERCENTILE ARRAY_AGG AVG BIT_AND BIT_OR BIT_XOR"
    " BOOL_AND BOOL_OR COUNT DENSE_RANK EARLIEST EVERY LATEST MAX MEDIAN MIN MODE QUANTILE"
    " QUANTILE_CONT QUANTILE_DISC RANK ROW_NUMBER SNELLER_DATASHAPE STDDEV STDDEV_POP STRING_AGG"
    " SUM VARIANCE VARIANCE_POP"
    " ANY_VALUE APPROX_TOP_K ARG_MAX ARG_MIN COUNT_IF CORR COVAR_POP COVAR_SAMP GEOMEAN"
    " GROUPING HISTOGRAM"
    " KURTOSIS MAX_BY MIN_BY PERCENTILE_CONT PERCENTILE_DISC PRODUCT REGR_INTERCEPT REGR_R2"
    " REGR_SLOPE SKEWNESS STDDEV_SAMP VARIANCE_SAMP VAR_POP VAR_SAMP"
    " CUME_DIST FIRST_VALUE LAG LAST_VALUE LEAD NTH_VALUE NTILE PERCENT_RANK"
    " APPROX_QUANTILE ARBITRARY COUNTIF GROUP_CONCAT LISTAGG LOGICAL_AND LOGICAL_OR PERCENTILE"
)
_CALLS = literals.words(
    "CAST TRY_CAST COALESCE DATE_ADD DATE_BIN DATE_DIFF DATE_TRUNC EXTRACT NULLIF TRIM UTCNOW"
)
KEYWORDS = (
    literals.words(
        "ALL AND AS ASC AT BETWEEN BOTH BY CASE CONCAT CROSS DESC DISTINCT ELSE END ESCAPE EXISTS"
        " EXPLAIN FALSE FILTER FIRST FROM GROUP HAVING ILIKE IN INNER INTO IS JOIN LAST LEADING"
        " LEFT LIKE LIMIT MISSING NOT NULL NULLS OFFSET ON OR ORDER OVER PARTITION RIGHT SELECT"
        " SIMILAR THEN TO TRAILING TRUE UNION UNPIVOT WHEN WHERE WITH"
    )
    | _CALLS
    | AGGREGATES
)
_CONSTANTS = frozenset({"NULL", "MISSING", "TRUE", "FALSE"})
# Sides of joins, and functions where a parenthesis follows.
_SIDES = frozenset({"LEFT", "RIGHT"})
_OPERAND_ENDS = frozenset(
    {"ID", "NUMBER", "STRING", "TIMESTAMP", "PARAM", ")", "]", "}", "END", *_CONSTANTS}
)
_OPERATORS = {
    b"=": "EQ",
    b"==": "EQ",
    b"<>": "NE",
    b"!=": "NE",
    b"<": "LT",
    b"<=": "LE",
    b">": "GT",
    b">=": "GE",
    b"!": "NOT",
    b"~~": "LIKE",
    b"~~*": "ILIKE",
}

_SHOWN = 80

# A path into JSON, as in x #> '{a,b}', is no comment.
_SPACE = re.compile(rb"[ \t\n\r\f\v]+|--[^\n]*|#(?!>>?[ ]*'\{)[^\n]*")
_COMMENT_MARK = re.compile(rb"/\*|\*/")
_TOKEN = re.compile(
    rb"""(?P<string>[rR]'(?:[^']|'')*'|[eE]?'(?:[^'\\]|\\.|'')*')
    | (?P<word>[A-Za-z_@\x80-\xff][A-Za-z0-9_@\x80-\xff]*)
    | (?P<number>-?0[xX][0-9A-Za-z_]*|-?\.?[0-9](?:[eE][+-]|[0-9A-Za-z_@.\x80-\xff])*)
    | (?P<quoted>"(?:[^"\\]|\\.)*")
    | (?P<time>`[^`]*`)
    | (?P<param>\$[A-Za-z_][A-Za-z0-9_]*)
    | (?P<operator>\*/|\*\*|//|->>|->|\#>>|\#>|>>>|~~\*|~~|~\*|>>|<<|<=|>=|<>|!=|==|\|\||\+\+|::
        |[-+*/%^&|~=<>!()\[\]{},.:])
    """,
    re.VERBOSE | re.DOTALL,
)
# A version behind the name of a table; two dashes begin a comment.
_REFERENCE = re.compile(
    rb"""@(?:'[^'\\]*'|"[^"\\]*"|(?:[A-Za-z0-9_@.:\x80-\xff]|-(?!-)|\+(?=[0-9]))*)"""
)
# The backslash of ESCAPE, as standard SQL writes it.
_BACKSLASH = re.compile(rb"'\\'(?!')")
# What may come after a keyword; before anything else the word is a name.
_KEYWORD_ENDS = re.compile(rb"[ \t\n\r\f\v(),=<>!~;'\"`{]|::|--|\#|/\*|\Z")
_CONSTANT_IS_NAME = re.compile(rb"[.\[]")
_OPENS = re.compile(rb"(?:[ \t\n\r\f\v]|--[^\n]*\n|#[^\n]*\n|/\*.*?\*/)*\(", re.DOTALL)


def _short(text: str) -> str:
    """Cut what a message quotes to a readable length."""
    return text if len(text) <= _SHOWN else text[:_SHOWN] + "..."


@record
class Token:
    """A word, a constant or a sign."""

    # ``ID``, ``NUMBER``, ``STRING``, ``TIMESTAMP``, ``PARAM``, ``$end``, a keyword in upper case,
    # the name of a comparison (``EQ``, ``LT`` ...), or a sign as it is
    kind: str
    value: Constant  # the name or the constant
    # Its place in the text, in bytes
    start: int
    stop: int
    quoted: bool = False  # whether it is a name in quotes


class Lexer:
    """Tokens of a query, made one at a time.

    A fault in the text is raised when the parser gets there, so that the first one is reported.

    * ``at_table``: Whether the name of a table comes: a version may stand behind it, as in
      ``db.t@-1``.
    * ``at_setting``: Whether a SET comes, whose semicolon is a token.

    Raises `QueryError` if the text is too long, or is not Unicode.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self.at_table = False
        self.at_setting = False
        try:
            self._data = text.encode()
        except UnicodeEncodeError:
            raise QueryError("parsing query: the text is not valid UTF-8") from None
        if len(self._data) > MAX_BYTES:
            raise QueryError(
                f"parsing query: the text has {len(self._data)} bytes, {MAX_BYTES} are the limit",
                hint="put long lists of constants into a file and join it",
            )

    def has_star(self, at: int) -> bool:
        """Return whether a star stands at a place, in bytes."""
        return self._data.startswith(b"*", at)

    def raw(self, token: Token) -> str:
        """Return the text of a constant as standard SQL reads it: without escapes."""
        text = self._data[token.start : token.stop].decode()
        return text[text.index("'") + 1 : -1].replace("''", "'")

    def shown(self, token: Token) -> str:
        """Return a token as messages name it."""
        if token.kind in KEYWORDS:
            return token.kind
        text = _short(self._data[token.start : token.stop].decode("utf-8", "replace"))
        constants = {"NUMBER": "the number", "STRING": "the text", "TIMESTAMP": "the time"}
        word = constants.get(token.kind)
        return f"{word} {text}" if word else f"'{text}'"

    def fault(
        self,
        message: str,
        offset: int,
        length: int = 2,
        *,
        hint: str | None = None,
        said: int | None = None,
    ) -> QueryError:
        """Make the error for a place, given in bytes; the message may say another one."""
        error = QueryError(message, query=self.text, offset=offset, length=length, hint=hint)
        fault = error if said is None else QueryError(message, query=self.text, offset=said)
        return error.within(f"parsing query: at {fault.line}:{fault.column}")

    def __iter__(self) -> Iterator[Token]:
        """Make the tokens, the last one of kind ``$end``."""
        at = stop = 0
        previous = ""
        while (at := self._skip_space(at)) < len(self._data):
            token = self._token(at, previous)
            if self.at_table and token.kind == "ID" and (previous == "." or at == stop):
                token = self._with_reference(token)
            if token.kind == "$end":
                break
            at = stop = token.stop
            previous = token.kind
            yield token
        end = len(self._data)
        yield Token("$end", None, end, end)

    def _with_reference(self, token: Token) -> Token:
        """Extend a name to the end of the version that is written behind its @."""
        sign = self._data.find(b"@", token.start, token.stop)
        if token.quoted or sign < 0 or (reference := _REFERENCE.match(self._data, sign)) is None:
            return token
        text = self._data[token.start : reference.end()].decode("utf-8", "replace")
        return Token("ID", text, token.start, reference.end())

    def _skip_space(self, at: int) -> int:
        data = self._data
        while True:
            if space := _SPACE.match(data, at):
                at = space.end()
            elif data.startswith(b"/*", at):
                at = self._skip_comment(at)
            else:
                return at

    def _skip_comment(self, start: int) -> int:
        depth = 0
        for mark in _COMMENT_MARK.finditer(self._data, start):
            depth += 1 if mark.group() == b"/*" else -1
            if not depth:
                return mark.end()
        raise self.fault("unterminated comment", start)

    def _token(self, at: int, previous: str) -> Token:
        if previous == "ESCAPE" and _BACKSLASH.match(self._data, at):
            return Token("STRING", "\\", at, at + 3)
        matched = _TOKEN.match(self._data, at)
        if matched is None or not matched.lastgroup:
            return self._odd(at)
        raw, stop = matched.group(), matched.end()
        match matched.lastgroup:
            case "word":
                token = self._word(raw, at, stop, previous)
            case "number":
                token = self._number(raw, at, stop, previous)
            case "string":
                token = self._string(raw, at, stop)
            case "quoted":
                token = Token("ID", self._unescape(raw, at), at, stop, quoted=True)
            case "time":
                token = self._time(raw, at, stop)
            case "param":
                token = Token("PARAM", raw[1:].decode(), at, stop)
            case _:
                token = self._sign(raw, at, stop)
        return token

    def _string(self, raw: bytes, start: int, stop: int) -> Token:
        """Read a text: as it stands with r in front, else with its escapes."""
        if raw[:1] in b"rR":
            return Token("STRING", raw[2:-1].decode().replace("''", "'"), start, stop)
        if raw[:1] in b"eE":
            return Token("STRING", self._unescape(raw[1:], start + 1), start, stop)
        if warning := literals.escape_warning(raw[1:-1].decode()):
            notes.warn(warning)
        return Token("STRING", self._unescape(raw, start), start, stop)

    def _sign(self, raw: bytes, start: int, stop: int) -> Token:
        if raw == b"*/":
            raise self.fault('unexpected "/" or end of multi-line comment', start)
        return Token(_OPERATORS.get(raw) or raw.decode(), raw.decode(), start, stop)

    def _odd(self, at: int) -> Token:
        """Handle what starts no token: a semicolon at the end, or a fault."""
        rest = self._data[at:]
        match rest[:1]:
            case b";" if not rest.replace(b";", b" ").strip():
                return Token("$end", None, at, at)
            case b";" if self._skip_space(at + 1) == len(self._data):
                return Token("$end", None, at, at)
            case b";" if self.at_setting:
                return Token(";", ";", at, at + 1)
            case b"'":
                raise self.fault("unterminated string, missing '", at, len(rest))
            case b'"':
                raise self.fault('unterminated name, missing "', at, len(rest))
            case b"`":
                raise self.fault("unterminated ion datum literal, missing '`'", at, len(rest))
        char = rest.decode()[0]
        if char == ";":
            hint = "sdb exec and sdb shell take several statements"
            raise self.fault("a query ends with its semicolon", at, 1, hint=hint)
        raise self.fault(f"unexpected character '{char}'", at, len(char.encode()))

    def _word(self, raw: bytes, start: int, stop: int, previous: str) -> Token:
        word = raw.decode()
        keyword = word.upper()
        if keyword in KEYWORDS and self._stands_alone(keyword, stop, previous):
            return Token(keyword, word, start, stop)
        for index, char in enumerate(word):
            if not (char.isalnum() or char in "_@"):
                raise self.fault(
                    f"unexpected character {char!r}",
                    start + len(word[:index].encode()),
                    len(char.encode()),
                )
        return Token("ID", word, start, stop)

    def _stands_alone(self, keyword: str, stop: int, previous: str) -> bool:
        if previous in {".", "AS"}:
            return False
        if keyword in _CONSTANTS:
            return not _CONSTANT_IS_NAME.match(self._data, stop)
        if keyword in _SIDES:
            return _OPENS.match(self._data, stop) is None
        if keyword in _CALLS or keyword in AGGREGATES:
            return _OPENS.match(self._data, stop) is not None
        if keyword == "END" and self._data[stop : stop + 1] in {b"]", b"}"}:
            return True
        return _KEYWORD_ENDS.match(self._data, stop) is not None

    def _number(self, raw: bytes, start: int, stop: int, previous: str) -> Token:
        if raw.startswith(b"-") and previous in _OPERAND_ENDS:
            return Token("-", "-", start, start + 1)
        text = raw.decode()
        try:
            value = literals.number(text)
        except OverflowError:
            message = f'text string "{_short(text)}" produces a number out-of-range'
            raise self.fault(message, stop) from None
        except ValueError:
            raise self.fault(f'"{_short(text)}" is not a number', start, len(raw)) from None
        return Token("NUMBER", value, start, stop)

    def _unescape(self, raw: bytes, start: int) -> str:
        text = raw.decode()
        try:
            return literals.unescape(
                text[1:-1].replace("''", "'") if text[0] == "'" else text[1:-1]
            )
        except literals.EscapeError as error:
            at = start + 1 + len(text[1 : 1 + error.index].encode())
            raise self.fault(str(error), at) from None

    def _time(self, raw: bytes, start: int, stop: int) -> Token:
        text = raw.decode()
        instant = literals.moment(text[1:-1])
        if instant is None:
            raise self.fault(f"couldn't parse ion literal {_short(text)}", start, len(raw))
        return Token("TIMESTAMP", instant, start, stop)


# Cuts text into statements at semicolons.

_PIECE = re.compile(
    r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|`[^`]*`|(?:--|\#)[^\n]*|/\*.*?\*/|/\*|;|[^'"`;\-\#/]+|.""",
    re.DOTALL,
)
_OPENING = {"'", '"', "`", "/*"}


def split(text: str) -> tuple[list[str], str]:
    r"""Cut text at semicolons that are not in quotes or comments.

    Returns: What follows on the last one; the text in quotes that are not closed is of it.

    >>> split("SELECT ';' AS a; SELECT 2 -- two; \n")
    (["SELECT ';' AS a"], 'SELECT 2 -- two;')
    """
    statements = []
    start = 0
    for piece in _PIECE.finditer(text):
        if piece.group() in _OPENING:
            break
        if piece.group() == ";":
            statements.append(text[start : piece.start()].strip())
            start = piece.end()
    return [statement for statement in statements if statement], text[start:].strip()


def is_whole(text: str) -> bool:
    r"""Check whether text that is being typed is to be run: it ends with a semicolon or empty line.

    >>> is_whole("SELECT 1;"), is_whole("SELECT 1"), is_whole("SELECT ';"), is_whole("\\d x")
    (True, False, False, True)
    """
    if text.startswith("\\") or not text.strip():
        return True
    statements, rest = split(text)
    return (bool(statements) and not rest) or text.endswith("\n")
