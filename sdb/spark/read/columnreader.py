"""The reader of tables whose schema says more than which fields of rows are columns.

Columns that were renamed, that have a default, or that were dropped and added again are found by a
query, on each executor for its splits of the table; its rows get the types of Spark as others do.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from pyspark.sql.datasource import DataSourceReader, InputPartition
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    DateType,
    DecimalType,
    DoubleType,
    LongType,
    StringType,
    StructField,
    StructType,
    TimestampType,
    VariantType,
)

from sdb.errors import UnsupportedError
from sdb.spark.session.hinted import hinted
from sdb.table.schema import types
from sdb.table.schema.names import absent, named

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import pyarrow as pa
    from pyspark.sql.types import DataType

    from sdb.packfile.trailer.sparseindex import Path as FieldNames
    from sdb.query.rows.splits import Split
    from sdb.spark.options.namedtable import LoadedTable
    from sdb.spark.options.settings import ReadOptions
    from sdb.table.schema.columns import TableSchema
    from sdb.table.schema.types import TableColumn


def spark_schema(schema: TableSchema, fields: Sequence[FieldNames] | None) -> StructType:
    """Return the columns of a table with a schema.

    * ``fields``: The columns that are wanted; all if not given.

    Raises `UsageError` if there is no such column.
    """
    columns: Sequence[TableColumn] = schema.columns
    if fields is not None:
        chosen = []
        for path in fields:
            column = named(schema.columns, path[0])
            if column is None:
                raise absent(schema.columns, path[:1])
            chosen.append(column)
        columns = list(dict.fromkeys(chosen))
    return StructType([StructField(column.name, _spark_type(column.type)) for column in columns])


def _spark_type(kind: types.ColumnType) -> DataType:
    if isinstance(kind, types.StructType):
        fields = [StructField(column.name, _spark_type(column.type)) for column in kind.columns]
        return StructType(fields)
    if isinstance(kind, types.ListType):
        return ArrayType(_spark_type(kind.item))
    if isinstance(kind, types.DecimalType):
        return DecimalType(kind.precision, kind.scale)
    scalars: dict[types.ColumnType, DataType] = {
        types.BOOLEAN: BooleanType(),
        types.INTEGER: LongType(),
        types.DOUBLE: DoubleType(),
        types.STRING: StringType(),
        types.BINARY: BinaryType(),
        types.TIMESTAMP: TimestampType(),
        types.DATE: DateType(),
    }
    return scalars.get(kind, VariantType())


@dataclass(frozen=True)
class SplitPartition(InputPartition):
    """A split that one task reads."""

    split: Split


class ColumnReader(DataSourceReader):
    """Reads a table by the columns of its schema."""

    def __init__(self, schema: StructType, options: ReadOptions, loaded: LoadedTable) -> None:
        if options.since is not None or options.until is not None:
            raise UnsupportedError(
                "since and until do not go with columns that were renamed or have a default",
                hint="filter the rows: df.where(...)",
            )
        if any(isinstance(field.dataType, BinaryType) for field in schema.fields):
            raise UnsupportedError(
                "columns of bytes do not go with columns that were renamed or have a default",
                hint="leave them out with the option fields",
            )
        self._schema = schema
        self._options = options
        self._loaded = loaded

    @hinted
    def partitions(self) -> Sequence[InputPartition]:
        """Split the table."""
        from sdb.query.rows.splits import table_splits

        splits = table_splits(self._loaded.handle(), size=self._options.partition_bytes)
        splits.release()
        return [SplitPartition(split) for split in splits]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Read the rows of a partition."""
        if not isinstance(partition, SplitPartition):
            return
        from sdb.packfile.read.arrow import Scan
        from sdb.packfile.read.reader import open_packfile
        from sdb.packfile.write.pack import pack

        wanted = to_arrow_schema(self._schema, timezone="UTC")
        with TemporaryDirectory() as folder:
            path = Path(folder) / "rows.zion"
            fields = [field.name for field in self._schema.fields]
            with partition.split._read(fields) as result:  # noqa: SLF001 - as its other readers
                pack([result._as_input()], path, level=1)  # noqa: SLF001
            with open_packfile(path) as packfile:
                scan = Scan([(packfile, packfile.select())])
                yield from scan.fitted(list(wanted), lenient=self._options.lenient).batches()
