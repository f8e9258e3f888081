"""Regular expressions: the faults that can be seen without the engine that runs them."""

from __future__ import annotations

import re

_LOOK_AROUND = ("(?=", "(?!", "(?<=", "(?<!", "(?>")
_ESCAPES = r"(?s)\\(?:[1-7][0-7]|[0afnrtvdDsSwWbBAzCpPQEx]|[^A-Za-z0-9\x80-\U0010ffff])"


def fault(pattern: str, *, is_similar: bool = False) -> str | None:
    """Look for a group or a set that is not closed, and for what RE2 does not have.

    Parameters
    ----------
    pattern : str
        A regular expression, or the pattern of SIMILAR TO.
    is_similar : bool
        Whether it is the latter, where any character may be escaped.

    Returns
    -------
    str or None
        What is wrong; the engine may still refuse what passes.

    Examples
    --------
    >>> fault("(a|b"), fault("a(?=b)"), fault("(a|[)])+")
    ('missing closing ): `(a|b`', 'invalid or unsupported Perl syntax: `(?=`', None)
    """
    depth = at = 0
    while at < len(pattern):
        word = pattern[at]
        if found := _fault_at(pattern, at, is_similar=is_similar):
            return found
        if word == "\\":
            at = _escape_end(pattern, at)
        elif word == "[":
            end = _set_end(pattern, at)
            if end is None:
                return f"missing closing ]: `{pattern[at:]}`"
            at = end
        else:
            depth += (word == "(") - (word == ")")
            if depth < 0:
                return f"unexpected ): `{pattern}`"
        at += 1
    return f"missing closing ): `{pattern}`" if depth else None


def _fault_at(pattern: str, at: int, *, is_similar: bool) -> str | None:
    """Look at one character that is not in a set."""
    word = pattern[at]
    if word == "\\" and at + 1 == len(pattern):
        return "trailing backslash at end of expression: ``"
    if word == "\\" and not (is_similar or re.compile(_ESCAPES).match(pattern, at)):
        return f"invalid escape sequence: `{pattern[at : at + 2]}`"
    if look := next((mark for mark in _LOOK_AROUND if pattern.startswith(mark, at)), None):
        return f"invalid or unsupported Perl syntax: `{look}`"
    before = pattern[at - 1] if at else "|"
    if word in "*+?" and before in "(|" and before + word != "(?":
        return f"missing argument to repetition operator: `{word}`"
    return None


def _escape_end(pattern: str, start: int) -> int:
    """Find the last character of an escape, or of a quotation that starts there."""
    if not pattern.startswith("\\Q", start):
        return start + 1
    end = pattern.find("\\E", start)
    return len(pattern) if end < 0 else end + 1


def _set_end(pattern: str, start: int) -> int | None:
    """Find the bracket that closes a set; one right after the opening stands for itself."""
    at = start + 1 + pattern.startswith("^", start + 1)
    at += pattern.startswith("]", at)
    while at < len(pattern) and pattern[at] != "]":
        named = pattern.find(":]", at) if pattern.startswith("[:", at) else -1
        at = named + 1 if named > 0 else at
        at += 2 if pattern[at] == "\\" else 1
    return at if at < len(pattern) else None
