"""Texts and numbers by which JSON and CSV mean values of a column that they have no type for.

``"2026-11-01"`` is a date, ``"12.50"`` a decimal, and 12345 the text of a column of strings.
"""

from __future__ import annotations

import re

from sdb import instants, ion
from sdb.table.schema.columns import DAY_US, fits_decimal, instant_us
from sdb.table.schema.types import (
    DATE,
    STRING,
    TIMESTAMP,
    DecimalType,
    ListType,
    MapType,
    StructType,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from sdb.table.schema.types import ColumnType

_DECIMAL = re.compile(r"[+-]?[0-9]+(?:\.[0-9]+)?")
_INSTANT = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}(?:[T ][0-9]{2}:.*)?", re.DOTALL)


_TEXTS = 1 << 7 | 1 << 8
_NO_TEXTS = 1 << 1 | 1 << 2 | 1 << 3 | 1 << 4 | 1 << 6


def sources_of(kind: ColumnType) -> int:
    """Return the types of values that may mean one of a type without parts, as bits of masks."""
    if kind == STRING:
        return _NO_TEXTS
    return _TEXTS if kind in {DATE, TIMESTAMP} or isinstance(kind, DecimalType) else 0


def takes_ordinary(kind: ColumnType) -> bool:
    """Return whether values of a type, or of its parts, may come as others."""
    if isinstance(kind, StructType):
        return any(takes_ordinary(column.type) for column in kind.columns)
    if isinstance(kind, ListType):
        return takes_ordinary(kind.item)
    return takes_ordinary(kind.value) if isinstance(kind, MapType) else bool(sources_of(kind))


def meant(kind: ColumnType, value: Any) -> object | None:  # noqa: ANN401 - of any type
    """Return the value of a type that one of another type means; None: it means none.

    Examples
    --------
    >>> from sdb.table.schema.types import DATE, STRING, DecimalType
    >>> meant(STRING, 12345), meant(DecimalType(5, 2), "12.50"), meant(DATE, "2026-13-01")
    ('12345', 12.5, None)
    """
    if kind == STRING:
        return _text(value)
    if not isinstance(value, str):
        return None
    if isinstance(kind, DecimalType):
        return _number(kind, value)
    us = instant_us(value) if _INSTANT.fullmatch(value) else None
    if kind not in {DATE, TIMESTAMP} or us is None or (kind == DATE and us % DAY_US):
        return None
    return ion.instant_from_us(us)


def _text(value: Any) -> str | None:  # noqa: ANN401 - of any type
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        return repr(value)
    us = ion.instant_to_us(value)
    return None if us is None else instants.text(us)


def _number(kind: DecimalType, text: str) -> int | float | None:
    """Return the number that shows the digits of a text; None: none does, or they are too many."""
    from decimal import Decimal

    if _DECIMAL.fullmatch(text) is None:
        return None
    exact = Decimal(text)
    is_whole = exact == exact.to_integral_value() and -(1 << 63) <= exact < 1 << 64
    number = int(exact) if is_whole else float(exact)
    return number if Decimal(repr(number)) == exact and fits_decimal(kind, number) else None
