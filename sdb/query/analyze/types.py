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

NUMERIC = INTEGER | NUMBER
LOGICAL = BOOL | NULL | MISSING
ORDERED = BOOL | NUMBER | TIME | STRING

NAMES = {
    NULL: "null",
    BOOL: "boolean",
    NUMBER: "number",
    TIME: "timestamp",
    STRING: "string",
    LIST: "list",
    STRUCT: "structure",
}


def are_integers(mask: int) -> bool:
    """Tell whether numbers, if any, are known to be integers.

    Examples
    --------
    >>> are_integers(INTEGER | MISSING), are_integers(INTEGER | NUMBER), are_integers(STRING)
    (True, False, False)
    """
    return mask & NUMERIC == INTEGER


def loose(mask: int) -> int:
    """Count integers as numbers, for comparing types.

    Examples
    --------
    >>> loose(INTEGER | MISSING) == NUMBER | MISSING
    True
    """
    return mask & ~INTEGER | NUMBER if mask & INTEGER else mask
