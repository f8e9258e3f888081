r"""Patterns of inputs, with captures, and templates that insert what was captured.

===============  ==============================================================
``*``            any number of characters but ``/``
``{name}``       one or more characters but ``/``, captured
``?``            one character but ``/``
``[abc] [^a-z]`` one character
``\c``            the character c
===============  ==============================================================
"""

from __future__ import annotations

from sdb.errors import UsageError
from sdb.records import record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

MAX_CAPTURES = 8
_NAME_LETTERS = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_")
_STAR = "*"


@record
class CharacterClass:
    """One character of some, or of all but some."""

    ranges: tuple[tuple[str, str], ...]  # first and last character of each range
    is_negated: bool  # whether these are the ones that do not match

    def matches(self, char: str) -> bool:
        """Return whether it is a character of the class."""
        return any(lo <= char <= hi for lo, hi in self.ranges) != self.is_negated


@record
class PatternPart:
    """A wildcard, and what follows it up to the next."""

    wildcard: str  # ``*``, the name of a capture in braces, or empty: none
    text: str  # what follows, as it was written

    @property
    def capture(self) -> str:
        """The name of the capture; empty: none."""
        return self.wildcard[1:-1] if self.wildcard.startswith("{") else ""

    def elements(self) -> list[str | CharacterClass | None]:
        """Return what follows the wildcard: characters, classes, and None for any character.

        Raises `UsageError` if a class is malformed.
        """
        elements: list[str | CharacterClass | None] = []
        at = 0
        while at < len(self.text):
            char = self.text[at]
            if char == "[":
                character_class, at = _read_class(self.text, at + 1)
                elements.append(character_class)
                continue
            at += 2 if char == "\\" else 1
            elements.append(None if char == "?" else self.text[at - 1])
        return elements


@record
class InputPattern:
    """A pattern that is matched with the full URI of an input."""

    text: str  # the pattern as it was written
    parts: tuple[PatternPart, ...]  # what it consists of

    @classmethod
    def parse(cls, text: str) -> InputPattern:
        """Read a pattern.

        Returns: The pattern. Classes and names of captures are only looked at where they are
        needed, as the original does; :meth:`flaws` looks at everything.
        Raises `UsageError` for wildcards side by side, one of which is a capture; an invalid name,
        a brace or a backslash at the end.
        """
        parts: list[PatternPart] = []
        wildcard, start, at = "", 0, 0
        while at < len(text):
            char = text[at]
            if char == "\\":
                if at + 1 == len(text):
                    raise _bad(text, "a backslash at its end")
                at += 2
            elif char == "[":
                at = _class_end(text, at)
            elif char in "*{":
                before, is_next = wildcard, at == start
                parts.append(PatternPart(before, text[start:at]))
                wildcard, at = _read_wildcard(text, at)
                if before and is_next:
                    if before + wildcard != _STAR * 2:
                        raise _bad(text, "two wildcards in a row, of which one is a capture")
                    parts.pop()  # ** is the same as *
                start = at
            else:
                at += 1
        parts.append(PatternPart(wildcard, text[start:]))
        return cls(text, tuple([part for part in parts if part.wildcard or part.text]))

    @property
    def captures(self) -> tuple[str, ...]:
        """Names of the captures, in their order."""
        return tuple([part.capture for part in self.parts if part.capture])

    def flaws(self) -> list[str]:
        """Report all that is wrong with the pattern and that matching might find later."""
        flaws = []
        captures = self.captures
        if len(captures) > MAX_CAPTURES:
            flaws.append(f"{len(captures)} captures, the limit is {MAX_CAPTURES}")
        twice = sorted({name for name in captures if captures.count(name) > 1})
        flaws += [f"the capture {{{name}}} occurs twice" for name in twice]
        for part in self.parts:
            try:
                part.elements()
            except UsageError as error:
                flaws.append(error.message)
        return flaws

    def match(self, path: str) -> dict[str, str] | None:
        """Match a path. Raises `UsageError` if the pattern is malformed where matching came to."""
        if not path:
            plain = all(part.wildcard == _STAR and not part.text for part in self.parts)
            return {} if plain else None
        captured: dict[str, str] = {}
        at = 0
        for number, part in enumerate(self.parts):
            if part.capture and (part.capture in captured or len(captured) == MAX_CAPTURES):
                raise _bad(self.text, "; ".join(self.flaws()))
            is_last = number + 1 == len(self.parts)
            span = _leftmost(part, path, at, is_last=is_last)
            if span is None:
                return None
            start, stop = span
            if part.capture:
                captured[part.capture] = path[at:start]
            at = stop
        return captured if at == len(path) else None

    def glob(self) -> str:
        """Return the pattern with ``*`` in place of captures."""
        return "".join((_STAR if part.wildcard else "") + part.text for part in self.parts)


def expand(template: str, captured: Mapping[str, str]) -> str:
    """Insert captures into a template.

    * ``template``: ``$name`` or ``${name}`` stand for a capture, ``$$`` for a dollar sign.

    Raises `UsageError` for a name that was not captured, or cannot be a name.

    >>> expand("table-$yyyy-${mm}", {"yyyy": "2022", "mm": "10"})
    'table-2022-10'
    """
    expanded = ""
    for text, is_capture in template_parts(template):
        if is_capture and text not in captured:
            raise _bad(template, f"no capture group {text!r} in pattern")
        expanded += captured[text] if is_capture else text
    return expanded


def template_parts(template: str) -> Iterator[tuple[str, bool]]:
    """Yield the parts of a template: texts, and names of captures.

    Yields: The text or the name, and whether it is a name.
    Raises `UsageError` for an invalid name, or a brace that is not closed.
    """
    at = 0
    while at < len(template):
        dollar = template.find("$", at)
        if dollar < 0:
            yield template[at:], False
            return
        yield template[at:dollar], False
        at = dollar + 1
        if template.startswith("$", at):
            yield "$", False
            at += 1
            continue
        is_braced = template.startswith("{", at)
        start = stop = at + is_braced
        while stop < len(template) and template[stop] in _NAME_LETTERS:
            stop += 1
        if start == stop or (is_braced and not template.startswith("}", stop)):
            raise _bad(template, "a $ that no name of a capture follows")
        yield template[start:stop], True
        at = stop + is_braced


def in_listing_order(paths: Iterable[str], seek: str = "") -> list[str]:
    """Sort paths as a table takes them: folder by folder, the names in a folder in ascending order.

    * ``seek``: The path that was seen last; those up to it are left out. It need not exist.

    Returns: The paths. ``a/x`` comes before ``a-b/c``, because ``a`` is less than ``a-b``.
    """
    after = seek.split("/")
    return sorted(
        (path for path in paths if not seek or path.split("/") > after),
        key=lambda path: path.split("/"),
    )


def is_capture_name(name: str) -> bool:
    """Return whether a text can be the name of a capture."""
    return bool(name) and _NAME_LETTERS.issuperset(name)


def _bad(text: str, flaw: str) -> UsageError:
    return UsageError(f"bad pattern {text!r}: {flaw}")


def _read_wildcard(text: str, at: int) -> tuple[str, int]:
    """Read the wildcard at a place, and give where it ends."""
    if text[at] == _STAR:
        return _STAR, at + 1
    end = text.find("}", at)
    if end < 0:
        raise _bad(text, "a brace that is not closed")
    if not is_capture_name(text[at + 1 : end]):
        raise _bad(text, f"{text[at + 1 : end]!r} is no name of a capture")
    return text[at : end + 1], end + 1


def _class_end(text: str, at: int) -> int:
    """Return the end of a class: nothing in it is a wildcard. One that has no end is skipped."""
    try:
        return _read_class(text, at + 1)[1]
    except UsageError:
        return at + 1


def _read_class(text: str, at: int) -> tuple[CharacterClass, int]:
    """Read the class behind a bracket, and give where it ends."""
    is_negated = text.startswith("^", at)
    at += is_negated
    ranges: list[tuple[str, str]] = []
    while not (ranges and text.startswith("]", at)):
        lo, at = _class_char(text, at)
        hi = lo
        if text.startswith("-", at):
            hi, at = _class_char(text, at + 1)
        ranges.append((lo, hi))
    return CharacterClass(tuple(ranges), is_negated), at + 1


def _class_char(text: str, at: int) -> tuple[str, int]:
    if at < len(text) and text[at] == "\\":
        at += 1
    elif at < len(text) and text[at] in "-]":
        raise _bad(text, f"a {text[at]} in a class that stands for nothing")
    if at >= len(text):
        raise _bad(text, "a class that is not closed")
    return text[at], at + 1


def _leftmost(part: PatternPart, path: str, at: int, *, is_last: bool) -> tuple[int, int] | None:
    """Find where a part matches first: start and stop of what follows the wildcard."""
    elements = part.elements()
    start = at
    while start <= len(path):
        stop = _follows(elements, path, start)
        is_empty = part.capture and start == at
        if stop is not None and not is_empty and (not is_last or stop == len(path)):
            return start, stop
        if not part.wildcard or start == len(path) or path[start] == "/":
            return None
        start += 1
    return None


def _follows(elements: list[str | CharacterClass | None], path: str, at: int) -> int | None:
    """Match elements with the text at a place, and give where they end."""
    if at + len(elements) > len(path):
        return None
    for char, element in zip(path[at : at + len(elements)], elements, strict=True):
        if element is None:
            fits = char != "/"
        else:
            fits = char == element if isinstance(element, str) else element.matches(char)
        if not fits:
            return None
    return at + len(elements)
