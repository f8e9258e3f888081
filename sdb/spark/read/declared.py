"""Columns of frames, which packfiles keep, so that they come back as they were written."""

from __future__ import annotations

from pyspark.errors import PySparkException
from pyspark.sql.types import (
    ArrayType,
    AtomicType,
    BinaryType,
    BooleanType,
    DateType,
    DayTimeIntervalType,
    DecimalType,
    IntegralType,
    MapType,
    NullType,
    NumericType,
    StringType,
    StructField,
    StructType,
    TimestampNTZType,
    TimestampType,
    VariantType,
    _parse_datatype_json_value,
)

from sdb.packfile.trailer import declared
from sdb.packfile.trailer.sparseindex import join_types

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from pyspark.sql.types import DataType

    from sdb.packfile.read.reader import Packfile
    from sdb.packfile.trailer.declared import Columns, ColumnType
    from sdb.packfile.trailer.sparseindex import Path

# Ion types, as bits; nulls have no say.
_BOOLS, _INTEGERS, _FLOATS, _TIMES = 1 << 1, 0b11 << 2, 1 << 4, 1 << 6
_TEXTS, _BYTES, _LISTS, _STRUCTS = 0b11 << 7, 0b11 << 9, 1 << 11, 1 << 13
_NUMBERS = _INTEGERS | _FLOATS
_ANY = ~0
# What values of a type are stored as, the first that fits.
_STORED: tuple[tuple[type[DataType], int], ...] = (
    (NullType, 0),
    (BooleanType, _BOOLS),
    (IntegralType, _INTEGERS | _FLOATS),
    (DecimalType, _NUMBERS | _TEXTS),
    (NumericType, _NUMBERS),
    (StringType, _TEXTS),
    (BinaryType, _TEXTS | _BYTES),
    (DateType, _TIMES),
    (TimestampType, _TIMES),
    (TimestampNTZType, _TIMES),
    (DayTimeIntervalType, _NUMBERS),
    (ArrayType, _LISTS),
    (MapType, _STRUCTS),
    (StructType, _STRUCTS),
    (VariantType, _ANY),
)


def columns_of(schema: StructType) -> Columns:
    """Return the columns of a frame, for the trailer; none if there are too many."""
    columns = tuple((field.name, _stored(field.dataType)) for field in schema.fields)
    return declared.read(declared.encode(columns))


def _stored(kind: DataType) -> ColumnType:
    if isinstance(kind, StructType):
        return ("struct", *((field.name, _stored(field.dataType)) for field in kind.fields))
    if isinstance(kind, ArrayType):
        return ("array", _stored(kind.elementType))
    if isinstance(kind, MapType):
        return ("map", _stored(kind.keyType), _stored(kind.valueType))
    return "string" if isinstance(kind, StringType) else str(kind.jsonValue())


def as_declared(inferred: StructType, packs: Sequence[Packfile]) -> StructType:
    """Return the schema with the columns that all packfiles declare alike.

    * ``inferred``: The columns that the types of values give.

    Returns: The declared columns in their order, then the others. A column has its inferred type
    where packfiles differ, where values are of other types than the declared one, and where rows do
    not become columns of that type.
    """
    groups: dict[Columns, list[Packfile]] = {}
    for pack in packs:
        groups.setdefault(pack.trailer.sparse.columns, []).append(pack)
    if not any(groups):
        return inferred
    kinds: dict[str, DataType | None] = {}
    for columns, group in groups.items():
        types, _ = join_types(
            (summary.types, summary.complete)
            for pack in group
            if (summary := pack.trailer.sparse.summary) is not None
        )
        here = {name: _kind(stored, (name,), types) for name, stored in columns}
        here |= {path[0]: None for path in types if len(path) == 1 and path[0] not in here}
        for name, kind in here.items():
            kinds[name] = kind if kinds.get(name, kind) == kind else None
    ordered = dict.fromkeys([name for columns in groups for name, _ in columns] + inferred.names)
    usual = {field.name: field.dataType for field in inferred.fields}
    return StructType(
        [StructField(name, kinds.get(name) or usual.get(name, StringType())) for name in ordered]
    )


def _kind(stored: ColumnType, path: Path, types: Mapping[Path, int]) -> DataType | None:
    """Return the type of Spark; None: unknown, or values at the path have other types."""
    from sdb.spark.read.scan import is_possible

    try:
        kind = _spark_type(stored)
    except (PySparkException, ValueError, KeyError, TypeError):
        return None
    return kind if _fits(kind, path, types) and is_possible(kind) else None


def _spark_type(stored: Any) -> DataType:  # noqa: ANN401 - nested tuples
    if isinstance(stored, str):
        kind = _parse_datatype_json_value(stored)
        if not isinstance(kind, AtomicType | NullType | VariantType):
            raise ValueError(stored)  # noqa: TRY004 - data, and no argument
        return kind
    word, *parts = stored
    if word == "struct":
        return StructType([StructField(name, _spark_type(part)) for name, part in parts])
    if word == "map":
        return MapType(_spark_type(parts[0]), _spark_type(parts[1]))
    return ArrayType(_spark_type(parts[0]))


def _fits(kind: DataType, path: Path, types: Mapping[Path, int]) -> bool:
    """Return whether no value is known to be of another type."""
    possible = next((mask for of, mask in _STORED if isinstance(kind, of)), _ANY)
    if types.get(path, 0) & ~1 & ~possible:
        return False
    if not isinstance(kind, StructType):
        return True
    return all(_fits(field.dataType, (*path, field.name), types) for field in kind.fields)
