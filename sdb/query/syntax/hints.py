"""Suggestions for errors about queries: names and clauses that were probably meant."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from sdb.query.syntax.lexer import Token

CLAUSES = "clauses come in this order: FROM, WHERE, GROUP BY, HAVING, ORDER BY, LIMIT, OFFSET"
_CLAUSES = frozenset({"FROM", "WHERE", "GROUP", "HAVING", "ORDER", "LIMIT", "OFFSET"})
_OF_OTHERS = {
    "AVERAGE": "AVG",
    "CARDINALITY": "SIZE",
    "CURRENT_TIMESTAMP": "UTCNOW",
    "DATEADD": "DATE_ADD",
    "DATEDIFF": "DATE_DIFF",
    "DATE_PART": "EXTRACT(part FROM time)",
    "EPOCH": "TO_UNIX_EPOCH",
    "EPOCH_US": "TO_UNIX_MICRO",
    "INSTR": "LIKE or ~",
    "GROUP_CONCAT": "STRING_AGG",
    "LISTAGG": "STRING_AGG",
    "PERCENTILE": "QUANTILE",
    "REGEXP_MATCHES": "REGEXP_LIKE",
    "STRPOS": "LIKE or ~",
    "SUBSTR": "SUBSTRING",
    "TYPEOF": "TYPE_BIT",
}


def function(name: str, known: Iterable[str]) -> str | None:
    """Suggest a function.

    Parameters
    ----------
    name : str
        The one that does not exist, in upper case.
    known : iterable of str
        Those that do.

    Examples
    --------
    >>> function("SUBSTR", ["SUBSTRING"]), function("UPER", ["LOWER", "UPPER"])
    ('did you mean SUBSTRING?', 'did you mean UPPER?')
    """
    return _meant(_OF_OTHERS.get(name) or _near(name, known))


def statement(word: str, known: Iterable[str]) -> str | None:
    """Suggest the first word of a statement."""
    return _meant(_near(word, known))


def cast(known: Iterable[str]) -> str:
    """Say which types there are for CAST."""
    return f"the types are {', '.join(known)}"


def token(
    last: Token, found: Token, keywords: Iterable[str], text: str
) -> tuple[str | None, Token]:
    """Suggest what should stand where a token does not fit, and tell which one is wrong.

    Parameters
    ----------
    last, found : Token
        The token, and the one before it.
    keywords : iterable of str
        The words that mean something.
    text : str
        The query.
    """
    if found.kind == "EQ" and last.kind == "EQ":
        return "one = compares", found
    if found.kind == ":":
        return "CAST(value AS type) converts", found
    if found.kind in _CLAUSES:
        return CLAUSES, found
    if found.kind == "ID" or last.kind == "ID":
        words = list(keywords)
        data = text.encode("utf-8", "replace")
        for one in (last, found):
            word = data[one.start : one.stop].decode("utf-8", "replace").upper()
            if one.kind == "ID" and (near := _near(word, words)):
                return f"did you mean {near} instead of {word}?", one
    return None, found


def _meant(name: str | None) -> str | None:
    return f"did you mean {name}?" if name else None


def _near(word: str, known: Iterable[str]) -> str | None:
    from difflib import get_close_matches

    return next(iter(get_close_matches(word, sorted(known), n=1, cutoff=0.7)), None)
