"""Suggestions for errors about queries: names and clauses that were probably meant."""

from __future__ import annotations

from sdb.query.syntax import othernames

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from sdb.query.syntax.lexer import Token

CLAUSES = "clauses come in this order: FROM, WHERE, GROUP BY, HAVING, ORDER BY, LIMIT, OFFSET"
_CLAUSES = frozenset({"FROM", "WHERE", "GROUP", "HAVING", "ORDER", "LIMIT", "OFFSET"})
_SHOWN = 12


def function(name: str, known: Iterable[str]) -> str | None:
    """Suggest a function.

    * ``name``: The one that does not exist, in upper case.

    >>> function("SUBSTR", ["SUBSTRING"]), function("UPER", ["LOWER", "UPPER"])
    ('did you mean SUBSTRING?', 'did you mean UPPER?')
    """
    return _meant(othernames.INSTEAD.get(name) or near(name, known))


def nearest(name: str, known: Iterable[str]) -> str | None:
    """Suggest a column that is there: one that differs little, or all of a few.

    >>> nearest("usr", ["user", "n"]), nearest("x", ["user", "n"]), nearest("x", [])
    ('did you mean user?', 'the columns are n, user', None)
    """
    names = sorted(set(known))
    if meant := _meant(near(name, names)):
        return meant
    if len(names) == 1:
        return f"the only column is {names[0]}"
    return f"the columns are {', '.join(names)}" if 0 < len(names) <= _SHOWN else None


def statement(word: str, known: Iterable[str]) -> str | None:
    """Suggest the first word of a statement."""
    return _meant(near(word, known))


def cast(known: Iterable[str]) -> str:
    """Say which types there are for CAST."""
    return f"the types are {', '.join(known)}"


def token(
    last: Token, wrong: Token, keywords: Iterable[str], text: str
) -> tuple[str | None, Token]:
    """Suggest what should stand where a token does not fit, and tell which one is wrong."""
    if wrong.kind == ":":
        return "CAST(value AS type) converts", wrong
    if wrong.kind in _CLAUSES and last.kind == ",":
        return "nothing stands behind the last comma", wrong
    if wrong.kind in _CLAUSES:
        return CLAUSES, wrong
    if wrong.kind == "NUMBER" and last.kind == "ID" and str(last.value).upper() == "TOP":
        return f"LIMIT {wrong.value} at the end of the query takes the first rows", last
    if wrong.kind == "ID" or last.kind == "ID":
        words = list(keywords)
        data = text.encode("utf-8", "replace")
        for name_token in (last, wrong):
            word = data[name_token.start : name_token.stop].decode("utf-8", "replace").upper()
            similar = near(word, words) if name_token.kind == "ID" else None
            if similar and similar != word:
                return f"did you mean {similar} instead of {word}?", name_token
    return None, wrong


def _meant(name: str | None) -> str | None:
    return f"did you mean {name}?" if name else None


def near(word: str, known: Iterable[str]) -> str | None:
    """Return the name that differs least from a word, if it does not differ much."""
    from difflib import get_close_matches

    return next(iter(get_close_matches(word, sorted(known), n=1, cutoff=0.7)), None)
