"""Types of values as bits of a mask: the encoding that all of `sdb.query` shares.

The bits of values are those of TYPE_BIT. A mask says which types an expression, a path or a column
may have; several are no error, for rows have no schema.
"""

from __future__ import annotations

NULL, BOOL, NUMBER, TIME, STRING, LIST, STRUCT = 1, 2, 4, 8, 16, 32, 64
MISSING = 0x80
ANY = 0xFF
INTEGER = 0x100
"""Numbers that are known to be integers before any row is seen, and are computed in 64 bits; NUMBER
stands for all others. Masks of expressions that are checked have it, masks of rows never."""
ROW = 0x200
"""A whole row, as `SELECT *` gives it; only columns of an output are that."""

NUMERIC = INTEGER | NUMBER
LOGICAL = BOOL | NULL | MISSING
ORDERED = BOOL | NUMBER | TIME | STRING

LETTERS = {BOOL: "b", NUMBER: "n", TIME: "u", STRING: "s"}
"""The lane of each type that has one of its own."""
HOLDS = {
    "t": ANY,
    "n": NUMBER,
    "x": NUMBER,
    "i": NUMBER,
    "s": STRING,
    "b": BOOL,
    "u": TIME,
    "k": ANY & ~MISSING,
    "v": ANY & ~MISSING,
    "j": ANY & ~MISSING,
    "z": LIST | STRUCT,
    "l": LIST,
    "e": LIST,
}
"""Types of the values that each lane tells."""
NAMES = {
    NULL: "NULL",
    BOOL: "BOOLEAN",
    NUMBER: "NUMBER",
    TIME: "TIMESTAMP",
    STRING: "STRING",
    LIST: "LIST",
    STRUCT: "STRUCTURE",
    MISSING: "MISSING",
}
"""Names of types in plans."""


def are_integers(mask: int) -> bool:
    """Return whether numbers, if any, are known to be integers.

    >>> are_integers(INTEGER | MISSING), are_integers(INTEGER | NUMBER), are_integers(STRING)
    (True, False, False)
    """
    return mask & NUMERIC == INTEGER


def is_null(mask: int) -> bool:
    """Return whether there is a NULL, and never a value.

    >>> is_null(NULL), is_null(NULL | MISSING), is_null(MISSING), is_null(NULL | NUMBER)
    (True, True, False, False)
    """
    return bool(mask & NULL) and not mask & ~(NULL | MISSING)


def has_flags(mask: int) -> bool:
    """Return whether booleans are known to be among the values, which sums count as 1 and 0.

    >>> has_flags(BOOL | NUMBER), has_flags(NUMBER), has_flags(ANY)
    (True, False, False)
    """
    return bool(mask & BOOL) and mask & ANY != ANY


def loose(mask: int) -> int:
    """Count integers as numbers, for comparing types.

    >>> loose(INTEGER | MISSING) == NUMBER | MISSING
    True
    """
    return mask & ~INTEGER | NUMBER if mask & INTEGER else mask


def values_of(mask: int) -> int:
    """Return the types of values, without NULL and MISSING.

    >>> values_of(INTEGER | NULL) == NUMBER
    True
    """
    return loose(mask) & ANY & ~(NULL | MISSING)
