"""Constants: their texts in a query, read and written."""

from __future__ import annotations

import math
import re

from sdb import _core, instants
from sdb.query.syntax.ast import Constant, Instant

INT64_MIN = -(1 << 63)
INT64_MAX = (1 << 63) - 1
UINT64_MAX = (1 << 64) - 1
WEEKDAYS = ("SUNDAY", "MONDAY", "TUESDAY", "WEDNESDAY", "THURSDAY", "FRIDAY", "SATURDAY")

# Compiled where a query first needs them: together they would be 1 ms of each query's start.
_RADIX = r"(-?)0(?:[xX]([0-9a-fA-F_]+)|[bB]([01_]+)|[oO]([0-7_]+)|([0-7_]+))"
_INTEGER = r"-?[0-9][0-9_]*"
_DECIMAL = r"-?(?:[0-9][0-9_]*\.?[0-9_]*|\.[0-9][0-9_]*)(?:[eE][+-]?[0-9]+)?"
_ESCAPE = r"(?s)\\(?:u([0-9a-fA-F]{4})|(.))"
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
_CONTROLS = {
    "a": "a bell",
    "b": "a backspace",
    "f": "a form feed",
    "n": "a line break",
    "r": "a carriage return",
    "t": "a tab",
    "v": "a vertical tab",
}
_PATH = r"%?(?:[A-Za-z]:|\\|%[A-Za-z]+%|\.{1,2})\\"
_SHOWN = 60
_NAMED = {"\a": "\\a", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\v": "\\v"}
NUMBER_TEXT = r"(?a)\s*[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?\s*"
"""A text that says a number, for casts of texts; the engine has the same in its own words."""
BOOLEANS = frozenset({"true", "false", "t", "f", "yes", "no", "y", "n", "1", "0"})
"""Texts that say a boolean, in lower case."""


class EscapeError(ValueError):
    """A backslash that stands for nothing."""

    def __init__(self, message: str, index: int) -> None:
        super().__init__(message)
        self.index = index


def words(text: str) -> frozenset[str]:
    """Return the words of a text as a set."""
    return frozenset(text.split())


def number(text: str) -> int | float:
    """Read a number.

    * ``text``: As in ``12``, ``1_000``, ``0x1F``, ``0b101``, ``0o17``, ``017``, ``.5`` or ``1e3``.

    Returns: An integer whose magnitude 64 bits hold, or a finite float.
    Raises `OverflowError` if the number is beyond the range of floats and `ValueError` if the text
    is no number.
    """
    value: int | float
    if radix := re.fullmatch(_RADIX, text):
        sign, *bodies = radix.groups()
        base, digits = next(
            (base, body) for base, body in zip((16, 2, 8, 8), bodies, strict=True) if body
        )
        value = int(sign + digits.strip("_"), base)
    elif re.fullmatch(_INTEGER, text) and len(text) < 25:  # noqa: PLR2004 - longer ones are floats
        value = int(text.replace("_", ""))
    elif re.fullmatch(_DECIMAL, text):
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

    * ``text``: Without the quotes, as in ``a\tb``.

    Raises `EscapeError` for half of a surrogate pair, as in ``\ud83d``.
    """
    if "\\" not in text:
        return text
    plain = re.sub(_ESCAPE, _meaning, text)
    try:
        return plain.encode("utf-16", "surrogatepass").decode("utf-16")
    except UnicodeDecodeError:
        index = next(sequence.start() for sequence in re.finditer(_ESCAPE, text) if sequence[1])
        raise EscapeError("half of a surrogate pair is no character", index) from None


def _meaning(sequence: re.Match[str]) -> str:
    code, char = sequence.groups()
    if code:
        return chr(int(code, 16))
    # A backslash before another character is itself, as in standard SQL: '\\d+' is an expression.
    return _SIMPLE.get(char, f"\\{char}")


def escape_warning(text: str) -> str | None:
    r"""Return a warning about escapes that were probably meant as backslashes.

    * ``text``: Without the quotes, as in ``C:\temp``.

    >>> escape_warning(r"one\nline"), escape_warning(r"\d+\.\d+")
    (None, None)
    >>> escape_warning(r"C:\temp")
    "'C:\\temp' has a tab where it says \\t: r'C:\\temp' keeps its backslashes"
    """
    codes = [escape[2] for escape in re.finditer(_ESCAPE, text) if escape[2]]
    controls = [code for code in codes if code in _CONTROLS]
    if not controls:
        return None
    # A path, a word boundary of a regular expression, or backslashes of which others are kept.
    is_path = re.match(_PATH, text) is not None
    if not (is_path or "b" in controls or any(code not in _SIMPLE for code in codes)):
        return None
    code = "b" if "b" in controls and not is_path else controls[0]
    shown = text if len(text) <= _SHOWN else text[:_SHOWN] + "..."
    return (
        f"'{shown}' has {_CONTROLS[code]} where it says \\{code}: r'{shown}' keeps its backslashes"
    )


def timestamp(text: str) -> Instant | None:
    """Read a date with a time of day, the way the packer does (docs/times.md).

    * ``text``: In a form that can be read in one way only; UTC without an offset.
    """
    us = _core.time_of_text(text)
    return None if us is None else Instant(us)


def moment(text: str) -> Instant | None:
    """Read a time that a user writes.

    * ``text``: As `timestamp` reads it, or a date alone (its midnight).

    Returns: The time, in UTC where there is no offset; ``None`` when the text is no time.

    >>> moment("1970-01-02") == timestamp("1970-01-02T00:00:00Z"), moment("1970-13-01")
    (True, None)
    """
    us = _core.time_of_date_or_time(text)
    return None if us is None else Instant(us)


def escape(text: str, quote: str) -> str:
    """Write the inside of a quoted text, in ASCII."""
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
    """Write a constant the way a query would have it."""
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
