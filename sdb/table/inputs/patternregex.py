"""Patterns of inputs as regular expressions, for the many paths that a sync compares them with."""

from __future__ import annotations

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from sdb.table.inputs.pattern import CharacterClass, InputPattern, PatternPart


def matcher(pattern: InputPattern) -> Callable[[str], dict[str, str] | None]:
    """Return a faster :meth:`sdb.table.inputs.pattern.InputPattern.match` of a pattern.

    Returns: Gives what was captured in a path, by name, or None. Where the pattern is malformed it
    raises what `match` raises.
    """
    if pattern.flaws() or not pattern.parts:
        return pattern.match
    parts, last = pattern.parts[:-1], pattern.parts[-1]
    try:
        # What a part has matched is not given up again for the next one: (?>...).
        compiled = re.compile("".join(f"(?>{_part(part)})" for part in parts) + _part(last) + r"\Z")
    except re.error:  # invalid block range: it ends before it begins: it matches nothing
        return pattern.match
    fullmatch = compiled.match

    def match(path: str) -> dict[str, str] | None:
        if not path:
            return pattern.match(path)
        fitting = fullmatch(path)
        return None if fitting is None else fitting.groupdict()

    return match


def _part(part: PatternPart) -> str:
    wildcard = "[^/]*?" if part.wildcard else ""
    if part.capture:
        wildcard = f"(?P<{part.capture}>[^/]+?)"
    return wildcard + "".join(map(_element, part.elements()))


def _element(element: str | CharacterClass | None) -> str:
    if element is None:
        return "[^/]"
    if isinstance(element, str):
        return re.escape(element)
    ranges = "".join(f"{re.escape(lo)}-{re.escape(hi)}" for lo, hi in element.ranges)
    return f"[{'^' * element.is_negated}{ranges}]"
