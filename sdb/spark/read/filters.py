"""Reduce the filters that Spark pushes to predicates.

Blocks are left out only for comparisons that mean the same here and there: those of columns whose
type holds the values of the file unchanged. Spark still applies all filters to the rows.
"""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta

from pyspark.sql import datasource as api
from pyspark.sql.types import (
    BooleanType,
    ByteType,
    DataType,
    DoubleType,
    IntegerType,
    LongType,
    ShortType,
    StringType,
    StructType,
    TimestampNTZType,
    TimestampType,
)

from sdb.packfile.prune.predicate import (
    ANY_TYPE,
    NULL_TYPE,
    Anywhere,
    Both,
    Compare,
    Either,
    Instant,
    TextPrefix,
    TextWords,
    TypeTest,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from sdb.packfile.prune.predicate import Constant, Predicate

# Every integer below has a double of its own, so that comparing one is comparing the other.
_EXACT = 1 << 53
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_OPERATORS: dict[type[api.Filter], str] = {
    api.EqualTo: "=",
    api.EqualNullSafe: "=",
    api.LessThan: "<",
    api.LessThanOrEqual: "<=",
    api.GreaterThan: ">",
    api.GreaterThanOrEqual: ">=",
}
_INTEGERS = (ByteType, ShortType, IntegerType, LongType)
_SIMPLE = (*_INTEGERS, BooleanType, DoubleType, StringType, TimestampType, TimestampNTZType)


def test_of(filters: Iterable[api.Filter], schema: StructType) -> Predicate:
    """Reduce filters to what an index can answer.

    Returns: Something that is TRUE for a row whenever the filters are.
    """
    return Both(tuple(_test(item, schema) for item in filters))


def _test(item: api.Filter, schema: StructType) -> Predicate:
    match item:
        case api.In(path, values):
            return Either(tuple(_compare(path, "=", value, schema) for value in values))
        case api.IsNotNull(path):
            return _present(path, schema)
        case api.StringStartsWith(path, str() as text) if text:
            is_text = _column(path, schema) == StringType()
            words = f"begins with '{text}'"
            return TextPrefix(tuple(path), (text,), words) if is_text else Anywhere()
        case api.StringContains(path, str() as text) | api.StringEndsWith(path, str() as text) if (
            text
        ):
            is_text = _column(path, schema) == StringType()
            return TextWords(tuple(path), (text,)) if is_text else Anywhere()
    op = _OPERATORS.get(type(item))
    return _compare(item.attribute, op, item.value, schema) if op else Anywhere()  # type: ignore[attr-defined]


def _present(path: tuple[str, ...], schema: StructType) -> Predicate:
    """Ask for any value but NULL, where a column has nothing else for rows without one."""
    if not isinstance(_column(path, schema), _SIMPLE):
        return Anywhere()
    return TypeTest(tuple(path), ANY_TYPE & ~NULL_TYPE, or_missing=False, words="IS NOT NULL")


def _compare(path: tuple[str, ...], op: str, value: object, schema: StructType) -> Predicate:
    kind = _column(path, schema)
    constant = None if kind is None else _constant(value, kind)
    return Anywhere() if constant is None else Compare(tuple(path), op, constant)


def _column(path: tuple[str, ...], schema: StructType) -> DataType | None:
    kind: DataType = schema
    for name in path:
        if not isinstance(kind, StructType) or name not in kind.names:
            return None
        kind = kind[name].dataType
    return kind


def _constant(value: Any, kind: DataType) -> Constant:  # noqa: ANN401, PLR0911 - a table
    """Return the constant to compare with; None when the index has nothing to say of it."""
    match value:
        case bool():
            return value if isinstance(kind, BooleanType) else None
        case int() if isinstance(kind, _INTEGERS) or (
            isinstance(kind, DoubleType) and abs(value) < _EXACT
        ):
            return value
        case float() if isinstance(kind, DoubleType) and abs(value) < _EXACT:
            return None if math.isnan(value) else value
        case str():
            return value if isinstance(kind, StringType) and kind == StringType() else None
        case datetime(tzinfo=None) if isinstance(kind, TimestampNTZType):
            return Instant((value.replace(tzinfo=UTC) - _EPOCH) // _MICROSECOND)
        case datetime() if isinstance(kind, TimestampType) and value.tzinfo is not None:
            return Instant((value - _EPOCH) // _MICROSECOND)
        case _:
            return None
