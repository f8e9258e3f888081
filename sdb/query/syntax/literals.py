"""Constants: their texts in a query, read and written."""

from __future__ import annotations

import math
import re
from datetime import UTC, datetime

from sdb import instants
from sdb.query.syntax.ast import Constant, Instant

INT64_MIN = -(1 << 63)
INT64_MAX = (1 << 63) - 1
UINT64_MAX = (1 << 64) - 1
WEEKDAYS = ("SUNDAY", "MONDAY", "TUESDAY", "WEDNESDAY", "THURSDAY", "FRIDAY", "SATURDAY")

_RADIX = re.compile(r"(-?)0(?:[xX]([0-9a-fA-F_]+)|[bB]([01_]+)|[oO]([0-7_]+)|([0-7_]+))")
_INTEGER = re.compile(r"-?[0-9][0-9_]*")
_DECIMAL = re.compile(r"-?(?:[0-9][0-9_]*\.?[0-9_]*|\.[0-9][0-9_]*)(?:[eE][+-]?[0-9]+)?")
_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|(.))", re.DOTALL)
_SIMPLE = {
    "a": "\a",
    "b": "\b",
    "f": "\f",
    "n": "\n",
    "r": "\r",
    "t": "\t",
    "v": "\v",
    "\\": "\\",
    "'": "'",
    "/": "/",
    '"': '"',
}
_NAMED = {"\a": "\\a", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\v": "\\v"}
_TIME = re.compile(
    r"\s*(\d{4})-(\d\d)-(\d\d)[T ](\d\d):(\d\d):(\d\d)(?:\.(\d{1,9}))?(Z|[+-]\d\d:\d\d)?\s*",
    re.ASCII,
)
_SHORT_TIME = re.compile(r"\s*(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d)(Z|[+-]\d\d:\d\d)?)?\s*", re.ASCII)
_CYCLE_US = 146_097 * 86_400 * instants.SECOND_US
_LEAP_SECOND = 60
_SHIFTED_YEARS = 400  # these are read a cycle of the calendar later: `datetime` has no year 0


class EscapeError(ValueError):
    """A backslash that stands for nothing.

    Attributes
    ----------
    index : int
        Where it stands in the text, in characters.
    """

    def __init__(self, message: str, index: int) -> None:
        super().__init__(message)
        self.index = index


def words(text: str) -> frozenset[str]:
    """Give the words of a text as a set."""
    return frozenset(text.split())


def number(text: str) -> int | float:
    """Read a number.

    Parameters
    ----------
    text : str
        As in ``12``, ``1_000``, ``0x1F``, ``0b101``, ``0o17``, ``017``, ``.5`` or ``1e3``.

    Returns
    -------
    int or float
        An integer whose magnitude 64 bits hold, or a finite float.

    Raises
    ------
    OverflowError
        The number is beyond the range of floats.
    ValueError
        The text is no number.
    """
    value: int | float
    if radix := _RADIX.fullmatch(text):
        sign, *bodies = radix.groups()
        base, digits = next(
            (base, body) for base, body in zip((16, 2, 8, 8), bodies, strict=True) if body
        )
        value = int(sign + digits.strip("_"), base)
    elif _INTEGER.fullmatch(text) and len(text) < 25:  # noqa: PLR2004 - longer ones are floats
        value = int(text.replace("_", ""))
    elif _DECIMAL.fullmatch(text):
        value = float(text.replace("_", ""))
    else:
        raise ValueError(text)
    if isinstance(value, int) and abs(value) > UINT64_MAX:
        value = float(value)
    if math.isinf(value):
        raise OverflowError(text)
    return value


def unescape(text: str) -> str:
    r"""Read the inside of a quoted text.

    Parameters
    ----------
    text : str
        Without the quotes, as in ``a\tb``.

    Returns
    -------
    str
        What it stands for.

    Raises
    ------
    EscapeError
        A backslash stands before something that it does not go with.
    """
    if "\\" not in text:
        return text
    plain = _ESCAPE.sub(_meaning, text)
    try:
        return plain.encode("utf-16", "surrogatepass").decode("utf-16")
    except UnicodeDecodeError:
        index = next(found.start() for found in _ESCAPE.finditer(text) if found[1])
        raise EscapeError("half of a surrogate pair is no character", index) from None


def _meaning(found: re.Match[str]) -> str:
    code, char = found.groups()
    if code:
        return chr(int(code, 16))
    if char not in _SIMPLE:
        raise EscapeError(
            f"unexpected backslash escape of '{char}' (0x{ord(char):x})", found.start()
        )
    return _SIMPLE[char]


def timestamp(text: str) -> Instant | None:
    """Read a date-time of RFC 3339, the way the packer does.

    Parameters
    ----------
    text : str
        With ``T`` or a space, an optional fraction, and ``Z``, an offset or nothing (UTC).

    Returns
    -------
    Instant or None
        Cut to microseconds; ``None`` when the text is none.
    """
    found = _TIME.fullmatch(text)
    if not found:
        return None
    year, month, day, hour, minute, second = [int(group) for group in found.groups()[:6]]
    leap = second == _LEAP_SECOND
    year += 400 if year < _SHIFTED_YEARS else 0
    try:
        moment = datetime(year, month, day, hour, minute, second - leap, tzinfo=UTC)
    except ValueError:
        return None
    us = instants.to_us(moment) + leap * instants.SECOND_US
    us -= _CYCLE_US if found[1] < f"{_SHIFTED_YEARS:04}" else 0
    us += int((found[7] or "")[:6].ljust(6, "0"))
    if found[8] and found[8] != "Z":
        minutes = int(found[8][1:3]) * 60 + int(found[8][4:6])
        us -= (minutes if found[8][0] == "+" else -minutes) * 60 * instants.SECOND_US
    return Instant(us)


def moment(text: str) -> Instant | None:
    """Read a time that a user writes.

    Parameters
    ----------
    text : str
        A date-time as `timestamp` reads it, also without seconds, or a date alone (its midnight).

    Returns
    -------
    Instant or None
        The time, in UTC where there is no offset; ``None`` when the text is none.

    Examples
    --------
    >>> moment("1970-01-02") == timestamp("1970-01-02T00:00:00Z"), moment("1970-13-01")
    (True, None)
    """
    if found := _SHORT_TIME.fullmatch(text):
        day, minute, zone = found.groups()
        text = f"{day}T{minute or '00:00'}:00{zone or 'Z'}"
    return timestamp(text)


def escape(text: str, quote: str) -> str:
    """Write the inside of a quoted text, in ASCII.

    Parameters
    ----------
    text : str
        What to write.
    quote : str
        The quote around it.

    Returns
    -------
    str
        The text that `unescape` reads.
    """
    return "".join(_escaped(char, quote) for char in text)


def _escaped(char: str, quote: str) -> str:
    if char in {"\\", quote, "/"}:
        return "\\" + char
    if char in _NAMED:
        return _NAMED[char]
    if " " <= char <= "~":
        return char
    units = char.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[i : i + 2].hex()}" for i in range(0, len(units), 2))


def constant(value: Constant) -> str:
    """Write a constant the way a query would have it.

    Parameters
    ----------
    value : Constant
        What to write.

    Returns
    -------
    str
        As in ``'a'``, ``TRUE`` or ``1.5``.
    """
    match value:
        case None:
            return "NULL"
        case bool():
            return "TRUE" if value else "FALSE"
        case str():
            return f"'{escape(value, chr(39))}'"
        case Instant():
            return f"`{instants.text(value.us)}`"
        case float() if not math.isfinite(value):
            return "NaN" if math.isnan(value) else "+Inf" if value > 0 else "-Inf"
        case _:
            return repr(value)
