r"""Texts that whatever matches a pattern begins with.

Each function gives texts of which any match begins with one, whatever comes behind; or none, when
it does not know. It stops early rather than late: a shorter text is true of more.

Where upper and lower case are the same, a text is there in all its forms. Only ASCII letters are,
of which few other characters are forms: the Kelvin sign of k, the long s of s, and the i with and
without a dot of i. At any other character that may have forms the text stops.
"""

from __future__ import annotations

import re
from itertools import chain, product

from sdb.packfile.prune.predicate import (
    TEXT_TYPES,
    Both,
    Compare,
    Either,
    TextPrefix,
    TextWords,
    TypeTest,
)
from sdb.records import replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sdb.packfile.prune.predicate import Predicate
    from sdb.query.syntax import ast

_MOST_FORMS = 64
_MORE_FORMS = {"k": "\u212a", "s": "\u017f", "i": "\u0130\u0131"}
# Characters that stand for themselves in RE2, unless a quantifier follows.
_PLAIN = frozenset(" _-/:@,;=<>\"'&%#!~`")
_QUANTIFIERS = frozenset("*?{")
_SIMILAR = frozenset("%_*+?{}()[\\")


def prefixes(match: ast.Match) -> tuple[str, ...]:
    """Return texts that a match of LIKE, ILIKE, SIMILAR TO or a regular expression begins with.

    * ``match``: The pattern; whether it is negated is not looked at.

    Returns: Any match begins with one of them; none when that is not known.
    """
    match match.op:
        case "LIKE" | "ILIKE":
            text = like_literal(match.pattern, match.escape)[0]
        case "SIMILAR TO":
            text = _similar(match.pattern)
        case _:
            text = regex_prefix(match.pattern)
    if match.op in {"ILIKE", "~*"}:
        return forms(text)
    return (text,) if text else ()


def like_literal(pattern: str, escape: str | None) -> tuple[str, bool]:
    """Return the text in front of the first wildcard of LIKE, and whether there is no wildcard.

    >>> like_literal("a%b", None), like_literal("100!%", "!")
    (('a', False), ('100%', True))
    """
    first, *others = like_texts(pattern, escape)
    return first, not others


def like_texts(pattern: str, escape: str | None) -> list[str]:
    """Return the texts in front of, between and behind the wildcards of LIKE.

    >>> like_texts("a%b_%", None)
    ['a', 'b', '', '']
    """
    out: list[list[str]] = [[]]
    characters = iter(pattern)
    for character in characters:
        if character == escape:
            out[-1].append(next(characters, character))
        elif character in "%_":
            out.append([])
        else:
            out[-1].append(character)
    return ["".join(text) for text in out]


def regex_prefix(pattern: str) -> str:
    r"""Return text that a regular expression is tied to at the start of what it is looked for in.

    >>> regex_prefix(r"^GET /api\.v1/x?"), regex_prefix("^a|b"), regex_prefix("abc")
    ('GET /api.v1/', '', '')
    """
    if not pattern.startswith("^") or "|" in pattern:
        return ""
    out: list[str] = []
    at = 1
    while at < len(pattern):
        character = pattern[at]
        if character == "\\" and at + 1 < len(pattern) and _is_mark(pattern[at + 1]):
            at += 1
            character = pattern[at]
        elif not (character.isalnum() or character in _PLAIN):
            break
        out.append(character)
        at += 1
    if at < len(pattern) and pattern[at] in _QUANTIFIERS:
        # What may be there any number of times may be missing.
        out = out[:-1]
    return "".join(out)


def forms(text: str) -> tuple[str, ...]:
    """Return the texts in upper and lower case that one stands for, or the begins of all of them.

    >>> forms("ab"), forms("k1")
    (('ab', 'aB', 'Ab', 'AB'), ('k1', 'K1', '\u212a1'))
    """
    letters: list[str] = []
    count = 1
    for character in text:
        if not character.isascii():
            break
        lower, upper = character.lower(), character.upper()
        letter_forms = character if lower == upper else lower + upper + _MORE_FORMS.get(lower, "")
        count *= len(letter_forms)
        if count > _MOST_FORMS:
            break
        letters.append(letter_forms)
    return tuple(map("".join, product(*letters))) if letters else ()


def address_prefixes(low: int, high: int) -> tuple[str, ...]:
    """Return texts that IPv4 addresses between two begin with; octets may have leading zeros.

    >>> address_prefixes(0xC0A80A00, 0xC0A80AFF)[:3], address_prefixes(0, 0xFFFFFFFF)
    (('192.168.10.', '192.168.010.'), ())
    """
    begins = [""]
    for shift in (24, 16, 8, 0):
        first, last = low >> shift & 0xFF, high >> shift & 0xFF
        dot = "." if shift else ""
        octets = dict.fromkeys(
            f"{octet:0{digits}}{dot}" for octet in range(first, last + 1) for digits in (1, 2, 3)
        )
        if len(begins) * len(octets) > _MOST_FORMS:
            break
        begins = [begin + octet for begin in begins for octet in octets]
        if first != last:
            break
    return tuple(filter(None, begins))


def _similar(pattern: str) -> str:
    """Return the text in front of the first sign of SIMILAR TO."""
    if "|" in pattern:
        return ""
    end = next((at for at, sign in enumerate(pattern) if sign in _SIMILAR), len(pattern))
    may_be_missing = end < len(pattern) and pattern[end] in _QUANTIFIERS
    return pattern[: max(end - 1, 0) if may_be_missing else end]


def _is_mark(character: str) -> bool:
    """Return whether a backslash makes a character stand for itself: no letter and no digit."""
    return character.isascii() and character.isprintable() and not character.isalnum()


# Tests of LOWER(x) and UPPER(x), as tests of x.

I_FORMS = {"LOWER": "\u0130", "UPPER": "\u0131"}
"""The letter beyond ASCII that becomes an i, by function."""

_BEYOND_ASCII = re.compile(r"[^\x00-\x7f]+")


def ascii_parts(text: str) -> list[str]:
    """Return the parts of a text between letters beyond ASCII, of which there are other forms."""
    return [part for part in _BEYOND_ASCII.split(text) if part]


def cased(test: Predicate, name: str) -> Predicate:
    """Turn a test of a text in one case into one of the text.

    * ``test``: A test of the path as if its texts were in upper or lower case.
    * ``name``: ``LOWER`` or ``UPPER``; empty: the test is of the texts as they are.

    Returns: TRUE for each row for which the test is TRUE of the value of the function.
    """
    reduced: Predicate = test
    if not name:
        return test
    match test:
        case Both(parts) | Either(parts):
            reduced = replace(test, parts=tuple([cased(part, name) for part in parts]))
        case Compare(path, "=", str() as text):
            words = f"in {name.lower()} case is '{text}'"
            held = tuple(ascii_parts(text))
            whole = cased(TextPrefix(path, (str(text),) if text else (), words), name)
            reduced = Both((whole, TextWords(path, held, words, i_form=I_FORMS[name])))
        case TextPrefix(path, prefixes, words):
            begins = [forms(prefix) for prefix in prefixes]
            different = tuple(dict.fromkeys(chain.from_iterable(begins)))
            is_known = bool(begins) and all(begins)
            reduced = replace(test, prefixes=different)
            if not is_known:
                reduced = TypeTest(path, TEXT_TYPES, or_missing=False, words=words)
        case TextWords(_, texts):
            held = tuple(chain.from_iterable(map(ascii_parts, texts)))
            reduced = replace(test, texts=held, i_form=I_FORMS[name])
    return reduced
