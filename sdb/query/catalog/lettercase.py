"""Tests of LOWER(x) and UPPER(x), as tests of x.

Both map each letter to one other. ASCII letters come of ASCII letters in any case, and of few
others: k of the Kelvin sign and i of the I with a dot in lower case, S of the long s and I of the
i without a dot in upper case. Letters beyond ASCII may come of others, so that nothing is asked of
them.
"""

from __future__ import annotations

import re
from itertools import chain

from sdb.packfile.prune.predicate import (
    TEXT_TYPES,
    Both,
    Compare,
    Either,
    TextPrefix,
    TextWords,
    TypeTest,
)
from sdb.query.catalog.prefixes import forms
from sdb.records import replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sdb.packfile.prune.predicate import Predicate

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
