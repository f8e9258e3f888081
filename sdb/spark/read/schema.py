"""From the types that occur in packfiles to the schema that Spark works with.

============================================  ===================================================
values at a path (nulls aside)                column
============================================  ===================================================
booleans; text; timestamps; bytes             BOOLEAN; STRING; TIMESTAMP; BINARY
integers; other numbers, or both              BIGINT; DOUBLE
structs                                       STRUCT of the fields that occur
lists                                         ARRAY of STRING or VARIANT; with ``inference`` =
                                              ``rows`` of what the items are
nothing                                       STRING
anything else: values of several kinds,       STRING, the text of the value; with ``variants`` =
structs without fields or with more than      ``variant`` VARIANT
1000
============================================  ===================================================

Columns that packfiles declare come before that, see :mod:`sdb.spark.read.declared`.
"""

from __future__ import annotations

from contextlib import ExitStack

from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    DataType,
    DecimalType,
    DoubleType,
    LongType,
    MapType,
    StringType,
    StructField,
    StructType,
    TimestampType,
    VariantType,
)

from sdb.packfile.read.reader import open_packfile
from sdb.packfile.trailer.sparseindex import join_types
from sdb.spark.read.declared import as_declared

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence
    from typing import Any

    import pyarrow as pa

    from sdb.packfile.read.reader import Packfile
    from sdb.packfile.trailer.sparseindex import Path, Summary
    from sdb.spark.options.settings import ReadOptions

MOST_FIELDS = 1000
"""A struct inside of rows that has more is one value of many names, and becomes a VARIANT."""

# Ion types, as bits; nulls have no say.
_BOOLS, _TIMES, _LISTS, _STRUCTS = 1 << 1, 1 << 6, 1 << 11, 1 << 13
_INTEGERS, _FLOATS, _TEXTS, _BYTES = 0b11 << 2, 1 << 4, 0b11 << 7, 0b11 << 9
_NUMBERS = _INTEGERS | _FLOATS


def schema_of(packs: Sequence[Packfile], options: ReadOptions) -> StructType:
    """Return the schema of the rows of packfiles.

    * ``options``: The columns that are wanted; whether to read all rows, which happens anyway when
      a trailer does not tell all types; and what columns of several kinds become.

    Returns: A column for each field: those that their writer declared in its order, with its types,
    and the others in the order of their names.
    Raises `CorruptError` if rows that had to be read are damaged.
    """
    summaries = [pack.trailer.sparse.summary for pack in packs]
    present = [summary for summary in summaries if summary is not None]
    complete = len(present) == len(packs) and all(summary.complete for summary in present)
    fields = options.fields
    schema = (
        _of_rows(packs, fields) if options.from_rows or not complete else _of_summaries(present)
    )
    if not options.has_variants:
        schema = StructType([_as_text(item) for item in schema])
    if not options.from_rows:
        schema = as_declared(schema, packs)
    return _pruned(as_texts(schema) if options.is_text else schema, fields)


def _as_text(column: StructField) -> StructField:
    """Replace VARIANT by STRING, inside of structs and lists as well."""
    return StructField(column.name, _texts(column.dataType))


def _texts(kind: DataType) -> DataType:
    if isinstance(kind, StructType):
        return StructType([_as_text(field) for field in kind.fields])
    if isinstance(kind, ArrayType):
        return ArrayType(_texts(kind.elementType))
    return StringType() if isinstance(kind, VariantType) else kind


def as_texts(schema: StructType) -> StructType:
    """Replace all types without parts by STRING."""
    return StructType([StructField(field.name, _as_texts(field.dataType)) for field in schema])


def _as_texts(kind: DataType) -> DataType:
    if isinstance(kind, StructType):
        return as_texts(kind)
    if isinstance(kind, ArrayType):
        return ArrayType(_as_texts(kind.elementType))
    if isinstance(kind, MapType):
        return MapType(kind.keyType, _as_texts(kind.valueType))
    return StringType()


def _of_summaries(summaries: Iterable[Summary]) -> StructType:
    types, _ = join_types((summary.types, summary.complete) for summary in summaries)
    children: dict[Path, list[Path]] = {}
    for path in sorted(types):
        children.setdefault(path[:-1], []).append(path)
    return StructType([_field(path, types, children) for path in children.get((), ())])


def _field(
    path: Path, types: Mapping[Path, int], children: Mapping[Path, Sequence[Path]]
) -> StructField:
    return StructField(path[-1], _type(path, types, children))


def _type(
    path: Path, types: Mapping[Path, int], children: Mapping[Path, Sequence[Path]]
) -> DataType:
    mask = types[path] & ~1
    simple = {0: StringType(), _BOOLS: BooleanType(), _TIMES: TimestampType()}
    if mask in simple:
        return simple[mask]
    if mask == _STRUCTS:
        inner = children.get(path, ())
        if 0 < len(inner) <= MOST_FIELDS:
            return StructType([_field(child, types, children) for child in inner])
    kinds: tuple[tuple[int, DataType], ...] = (
        (_INTEGERS, LongType()),
        (_NUMBERS, DoubleType()),
        (_TEXTS, StringType()),
        (_BYTES, BinaryType()),
        (_LISTS, ArrayType(VariantType())),
    )
    fitting = (kind for bits, kind in kinds if not mask & ~bits)
    return next(fitting, VariantType())


def _of_rows(packs: Sequence[Packfile], fields: Sequence[Path] | None) -> StructType:
    from sdb.packfile.read.arrow import Scan

    names = None if fields is None else list(dict.fromkeys(path[0] for path in fields))
    with ExitStack() as stack:
        opened = [stack.enter_context(open_packfile(pack.path)) for pack in packs]
        scan = Scan([(pack, pack.select()) for pack in opened], fields=names)
        columns = [StructField(column.name, _from_arrow(column)) for column in scan.schema]
    return StructType(sorted(columns, key=lambda column: column.name))


def _from_arrow(column: pa.Field) -> DataType:
    """Return the Spark type of a column of :mod:`sdb.packfile.read.arrow`."""
    from pyarrow import types

    kind: Any = column.type
    if (column.metadata or {}).get(b"sdb.encoding") == b"json":
        return VariantType()
    if types.is_struct(kind):
        return StructType([StructField(field.name, _from_arrow(field)) for field in kind])
    if types.is_list(kind):
        return ArrayType(_from_arrow(kind.value_field))
    tests = (
        (types.is_boolean, BooleanType()),
        (types.is_int64, LongType()),
        (types.is_uint64, DecimalType(20, 0)),
        (types.is_decimal, DecimalType(20, 0)),
        (types.is_floating, DoubleType()),
        (types.is_timestamp, TimestampType()),
        (types.is_binary, BinaryType()),
    )
    return next((spark_type for test, spark_type in tests if test(kind)), StringType())


def _pruned(schema: StructType, fields: Collection[Path] | None) -> StructType:
    """Leave the fields that are wanted, in their order; those that do not occur are texts."""
    if fields is None:
        return schema
    chosen: dict[str, list[Path]] = {}
    for path in fields:
        chosen.setdefault(path[0], []).append(path[1:])
    types = {field.name: field.dataType for field in schema.fields}
    columns = []
    for name, inner in chosen.items():
        kind = types.get(name, StringType())
        if isinstance(kind, StructType) and all(inner):
            kind = _pruned(kind, inner)
        columns.append(StructField(name, kind))
    return StructType(columns)
