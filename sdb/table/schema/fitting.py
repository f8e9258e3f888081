"""Columns of Arrow in the types of a schema; what does not fit is null, and counted.

Rust makes columns of stored rows for a *draft* of the types: dates are instants there, decimals the
JSON text of each number, so that nothing is rounded. They are finished here.
"""

from __future__ import annotations

from sdb.records import replace
from sdb.table.schema.arrowtypes import arrow_field
from sdb.table.schema.columns import DAY_US, fits_decimal
from sdb.table.schema.types import (
    BINARY,
    DATE,
    STRING,
    TIMESTAMP,
    DecimalType,
    ListType,
    StructType,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    import pyarrow as pa

    from sdb.table.schema.types import ColumnType


_SHORT_DIGITS = 15  # doubles keep as many
_EXACT_POWER = 22  # doubles hold powers of ten up to this one
_WHOLE_DIGITS = 20  # of the largest whole numbers of rows


def draft_field(name: str, kind: ColumnType, *, has_texts: bool = False) -> pa.Field:
    """Return the field that Rust makes for a column of a type.

    * ``has_texts``: Whether bytes are texts in base64, as queries return them.
    """
    import pyarrow as pa

    if kind == DATE:
        return arrow_field(name, TIMESTAMP)
    if kind == BINARY and has_texts:
        return arrow_field(name, STRING)
    if isinstance(kind, DecimalType):
        return pa.field(name, pa.utf8(), metadata={"sdb.encoding": "json"})
    if isinstance(kind, ListType):
        return pa.field(name, pa.list_(draft_field("item", kind.item, has_texts=has_texts)))
    if isinstance(kind, StructType):
        inner = [
            draft_field(column.name, column.type, has_texts=has_texts) for column in kind.columns
        ]
        return pa.field(name, pa.struct(inner))
    return arrow_field(name, kind)


def as_texts(kind: ColumnType) -> ColumnType:
    """Return a type whose bytes are texts, as queries return them."""
    if kind == BINARY:
        return STRING
    if isinstance(kind, ListType):
        return ListType(as_texts(kind.item))
    if isinstance(kind, StructType):
        columns = [
            replace(column, path=(column.name,), type=as_texts(column.type), default=None, since=0)
            for column in kind.columns
        ]
        return StructType(tuple(columns))
    return kind


def finished(array: pa.Array, kind: ColumnType) -> pa.Array:
    """Return a column of a draft in its type; what does not fit is null."""
    import pyarrow as pa
    import pyarrow.compute as pc

    wanted = arrow_field("", kind)
    if array.type == wanted.type:
        return array
    if kind == DATE:
        us = array.cast(pa.int64())
        days = pc.floor(pc.divide(us.cast(pa.float64()), float(DAY_US))).cast(pa.int32())
        is_day = pc.equal(pc.multiply(days.cast(pa.int64()), DAY_US), us)
        return pc.if_else(is_day, days, None).cast(pa.int32()).cast(pa.date32())
    if isinstance(kind, DecimalType):
        return pa.array([_decimal(text, kind) for text in array.to_pylist()], wanted.type)
    if kind == BINARY:
        return pa.array([bytes_of(text) for text in array.to_pylist()], pa.binary())
    if isinstance(kind, StructType):
        arrays = [finished(array.field(at), column.type) for at, column in enumerate(kind.columns)]
        return pa.StructArray.from_arrays(
            arrays, fields=list(wanted.type), mask=array.is_null() if array.null_count else None
        )
    assert isinstance(kind, ListType)  # noqa: S101 - no other type has a draft
    flat = finished(array.values, kind.item)
    mask = array.is_null() if array.null_count else None
    return pa.ListArray.from_arrays(array.offsets, flat, type=wanted.type, mask=mask)


def of_lanes(kind: ColumnType, lanes: dict[str, pa.Array], count: int) -> pa.Array:
    """Return a column of decimals, bytes or dates; what does not fit is null.

    * ``lanes``: Those of queries by their letters: `x` whole numbers, `n` doubles, `s` texts, `u`
      times.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    of = arrow_field("", kind).type
    if isinstance(kind, DecimalType):
        numbers = _of_doubles(lanes["n"], kind) if "n" in lanes else pa.nulls(count, of)
        if "x" not in lanes:
            return numbers
        return pc.if_else(pc.is_valid(lanes["x"]), _of_whole(lanes["x"], kind), numbers)
    letter, draft = ("u", TIMESTAMP) if kind == DATE else ("s", STRING)
    if letter not in lanes:
        return pa.nulls(count, of)
    return finished(lanes[letter].cast(arrow_field("", draft).type), kind)


def _of_whole(numbers: pa.Array, kind: DecimalType) -> pa.Array:
    """Return whole numbers, at most 2^64 away from 0, as decimals."""
    from decimal import Decimal

    import pyarrow as pa
    import pyarrow.compute as pc

    numbers = numbers.cast(pa.decimal128(38, 0))
    digits = kind.precision - kind.scale
    if digits < _WHOLE_DIGITS:
        limit = pa.scalar(Decimal(10**digits), numbers.type)
        numbers = pc.if_else(pc.less(pc.abs(numbers), limit), numbers, None)
    return numbers.cast(pa.decimal128(kind.precision, kind.scale))


def _of_doubles(numbers: pa.Array, kind: DecimalType) -> pa.Array:
    """Return doubles as decimals of their shortest digits.

    Of at most 15 digits only these give the double, so that they are what is nearest to it; Python
    knows the digits of others.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    wanted, unit = pa.decimal128(kind.precision, kind.scale), 10.0**kind.scale
    numbers = numbers.cast(pa.float64())
    units = pc.round(pc.multiply(numbers, unit))
    limit = 10.0 ** min(kind.precision, _SHORT_DIGITS) if kind.scale <= _EXACT_POWER else 0.0
    is_short = pc.fill_null(pc.less(pc.abs(units), limit), fill_value=False)
    is_exact = pc.and_(is_short, pc.equal(pc.divide(units, unit), numbers))
    units = pc.if_else(is_exact, units, None).cast(pa.int64())
    array = units.cast(pa.decimal128(19, 0)).view(wanted)
    others = pc.and_(pc.invert(is_short), pc.is_valid(numbers))
    if (limit and kind.precision <= _SHORT_DIGITS) or not pc.any(others).as_py():
        return array
    values = map(_normal, numbers.filter(others).to_pylist())
    decimals = [_decimal_of(value, kind) for value in values]
    return pc.replace_with_mask(array, others, pa.array(decimals, wanted))


def _normal(number: float) -> float:
    """Return a number as rows hold it: whole ones up to 2^64 are integers."""
    return int(number) if abs(number) <= 1 << 64 and number.is_integer() else number


def _decimal(text: str | None, kind: DecimalType) -> Any:  # noqa: ANN401 - a decimal
    import json

    value: Any = None if text is None else json.loads(text)
    return _decimal_of(value, kind) if type(value) in {int, float} else None


def _decimal_of(number: float, kind: DecimalType) -> Any:  # noqa: ANN401 - a decimal
    from decimal import Decimal

    return Decimal(repr(number)) if fits_decimal(kind, number) else None


def bytes_of(text: str | None) -> bytes | None:
    """Return the bytes of a text in base64; None for other texts."""
    import binascii

    try:
        return None if text is None else binascii.a2b_base64(text, strict_mode=True)
    except ValueError:
        return None
