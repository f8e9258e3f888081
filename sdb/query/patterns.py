"""Regular expressions: the faults that can be seen without the engine that runs them."""

from __future__ import annotations

_LOOK_AROUND = ("(?=", "(?!", "(?<=", "(?<!", "(?>")


def fault(pattern: str) -> str | None:
    """Look for a group or a set that is not closed, and for what RE2 does not have.

    Parameters
    ----------
    pattern : str
        A regular expression, or the pattern of SIMILAR TO.

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
        char = pattern[at]
        if char == "\\":
            if at + 1 == len(pattern):
                return "trailing backslash at end of expression: ``"
            if pattern[at + 1] == "Q":
                end = pattern.find("\\E", at)
                at = len(pattern) if end < 0 else end
            at += 2
            continue
        if char == "[":
            end = _set_end(pattern, at)
            if end is None:
                return f"missing closing ]: `{pattern[at:]}`"
            at = end
        elif char == "(":
            if word := next((mark for mark in _LOOK_AROUND if pattern.startswith(mark, at)), None):
                return f"invalid or unsupported Perl syntax: `{word}`"
            depth += 1
        elif char == ")":
            depth -= 1
            if depth < 0:
                return f"unexpected ): `{pattern}`"
        at += 1
    return f"missing closing ): `{pattern}`" if depth else None


def _set_end(pattern: str, start: int) -> int | None:
    """Find the bracket that closes a set; one right after the opening stands for itself."""
    at = start + 1 + pattern.startswith("^", start + 1)
    at += pattern.startswith("]", at)
    while at < len(pattern) and pattern[at] != "]":
        if pattern.startswith("[:", at) and (end := pattern.find(":]", at)) > 0:
            at = end + 1
        at += 2 if pattern[at] == "\\" else 1
    return at if at < len(pattern) else None
