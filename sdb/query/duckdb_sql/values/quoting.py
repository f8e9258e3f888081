"""Constants as SQL text. Whatever a user wrote reaches DuckDB only through here."""

from __future__ import annotations

import math
from json import dumps

from sdb.query.syntax import ast

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sdb.query.syntax.ast import Constant

INT64_MIN, INT64_MAX = -(2**63), 2**63 - 1
WIDE = "DECIMAL(20, 0)"
"""A type that all whole numbers fit, which are at most 2**64 away from 0."""


def string(text: str) -> str:
    """Quote a string.

    A NUL would end the text of the statement, so it is written as a function call.
    """
    parts = ["'" + part.replace("'", "''") + "'" for part in text.split("\0")]
    return parts[0] if len(parts) == 1 else "(" + " || chr(0) || ".join(parts) + ")"


def json(text: str) -> str:
    """Write a string as JSON text, as rows show it."""
    return dumps(text, ensure_ascii=False)


def integer(value: int) -> str:
    """Write an integer, of 64 bits if it fits."""
    if not INT64_MIN <= value <= INT64_MAX:
        return f"({value})::{WIDE}"
    # Bare numbers are INTEGERs to DuckDB, which overflow at 32 bits; `-` binds less than `::`.
    return f"({value})::BIGINT" if value < 0 else f"{value}::BIGINT"


def double(value: float) -> str:
    """Write a double, exactly."""
    if math.isnan(value) or math.isinf(value):
        return f"'{value}'::DOUBLE"
    # In quotes, since DuckDB takes a bare 1.5 for a DECIMAL.
    return f"'{value!r}'::DOUBLE"


def timestamp(us: int) -> str:
    """Write an instant, given in microseconds since 1970."""
    return f"make_timestamp({integer(us)})"


def constant(value: Constant) -> str:
    """Write any constant but NULL, which has no one type."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return integer(value)
    if isinstance(value, float):
        return double(value)
    if isinstance(value, ast.Instant):
        return timestamp(value.us)
    if value is None:
        raise TypeError("NULL is no constant of one type")
    return string(value)
