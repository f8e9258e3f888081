"""The data source ``zion``."""

from __future__ import annotations

from pyspark.sql.datasource import DataSource, DataSourceArrowWriter
from pyspark.sql.types import StructType

from sdb.errors import UnsupportedError, UsageError
from sdb.spark.options import catalog
from sdb.spark.options.namedtable import LoadedTable, NamedTable
from sdb.spark.options.names import check_known, check_reading, check_writing
from sdb.spark.options.settings import read_options
from sdb.spark.read import scan
from sdb.spark.read.columnreader import ColumnReader, spark_schema
from sdb.spark.read.computed import ComputedReader, query_rows, view_rows
from sdb.spark.read.declared import columns_of
from sdb.spark.read.listing import listed, looked_at
from sdb.spark.read.reader import ZionReader
from sdb.spark.read.schema import as_texts, schema_of
from sdb.spark.read.tablelisting import described
from sdb.spark.read.wide import say_once
from sdb.spark.session.hinted import hinted
from sdb.spark.stream.stream import ZionStreamReader
from sdb.spark.stream.versionstream import TableStreamReader
from sdb.spark.write.streamwriter import StreamWriter
from sdb.spark.write.tablewriter import TableWriter
from sdb.spark.write.writer import ZionWriter

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, MutableMapping

    from sdb.spark.options.settings import ReadOptions


class ZionSource(DataSource):
    """Packfiles, tables and views as a data source of Spark, see docs/spark.md.

    * ``options``: Texts by name. The index of a table is read now: Spark keeps this, and not what
      is read later, so that all queries on what was loaded once are on the same version.
    """

    @hinted
    def __init__(self, options: MutableMapping[str, str]) -> None:
        self._is_made = catalog.is_made(options)
        if self._is_made:
            options = catalog.of_source(options)
        super().__init__(options)
        check_known(options)
        self._loaded, self._rows = None, query_rows(options)
        named = None if self._rows is not None else NamedTable.of(options)
        if named is not None:
            self._loaded = LoadedTable.of(named)
            if not self._loaded.data:
                self._rows = view_rows(named)

    @classmethod
    def name(cls) -> str:
        """Return the name for `format`."""
        return "zion"

    @hinted
    def schema(self) -> StructType:
        """Find out what columns the packfiles have."""
        options = read_options(self.options)
        schema = self._columns(options)
        if options.fields is None and self._rows is None:
            say_once(schema)
        if options.has_metadata:
            if scan.METADATA.name in schema.names:
                raise UsageError(
                    "metadata: rows have a field _metadata", hint="leave it out: fields"
                )
            schema = StructType([*schema.fields, scan.METADATA])
        return catalog.marked(schema, self.options) if self._is_made else schema

    def _columns(self, options: ReadOptions) -> StructType:
        if self._rows is not None:
            return self._rows.schema(options)
        if self._loaded is None:
            files = options.files
            packs = looked_at(listed(options.paths, files), files.left_out)[
                : None if files.is_merged else 1
            ]
        else:
            handle = self._loaded.handle()
            if handle.schema is not None:
                schema = spark_schema(handle.schema, options.fields)
                return as_texts(schema) if options.is_text else schema
            packs = described(handle)
        return schema_of(packs, options)

    @hinted
    def reader(self, schema: StructType) -> ZionReader | ColumnReader | ComputedReader:
        """Return the reader of a query."""
        known = catalog.kept(schema)
        if known is not None and not {"path", "paths", "root", "query"} & self.options.keys():
            return ZionSource(known).reader(schema)
        check_reading(self.options)
        options = read_options(self.options)
        is_plain = self._rows is None and self._is_plain()
        if (options.has_metadata or options.is_text) and not is_plain:
            raise UnsupportedError(
                "metadata and primitivesAsString are for packfiles and tables, and not for queries,"
                " views, and tables with columns that were renamed or have a default"
            )
        if self._rows is not None:
            return ComputedReader(schema, options, self._rows)
        if self._loaded is not None and not is_plain:
            return ColumnReader(schema, options, self._loaded)
        return ZionReader(schema, options, self._loaded)

    @hinted
    def writer(self, schema: StructType, overwrite: bool) -> DataSourceArrowWriter:  # noqa: FBT001 - Spark's
        """Return the writer of a job."""
        check_writing(self.options)
        return self._writer(schema, self.options, overwrite=overwrite)

    def _writer(
        self, schema: StructType, options: Mapping[str, str], *, overwrite: bool
    ) -> TableWriter | ZionWriter:
        self._check_table()
        columns = columns_of(schema)
        if self._loaded is not None:
            return TableWriter(self._loaded.named, options, columns, overwrite=overwrite)
        return ZionWriter(options, columns, overwrite=overwrite)

    @hinted
    def streamWriter(self, schema: StructType, overwrite: bool) -> StreamWriter:  # noqa: N802, FBT001 - Spark's
        """Return the writer of a stream."""
        check_writing(self.options)
        txn_id = self.options.get("txnId", "")
        options = {name: value for name, value in self.options.items() if name != "txnid"}
        return StreamWriter(self._writer(schema, options, overwrite=overwrite), txn_id)

    @hinted
    def streamReader(self, schema: StructType) -> ZionStreamReader | TableStreamReader:  # noqa: N802 - Spark's name
        """Return the reader of a stream."""
        check_reading(self.options)
        self._check_table()
        options = read_options(self.options)
        if self._loaded is not None and self._loaded.data and not self._is_plain():
            raise UsageError(
                "a stream reads no table with columns that were renamed or have a default",
                hint="read versions of it: spark.read...option('at', '12')",
            )
        if options.table is not None:
            return TableStreamReader(schema, options, options.table)
        return ZionStreamReader(schema, options)

    def _check_table(self) -> None:
        """Require a table: a view can be read, as a whole."""
        if self._rows is not None:
            what = f"{self.options['path']} is a view" if "path" in self.options else "query is set"
            raise UnsupportedError(
                f"{what}: it takes no rows, and no stream follows it",
                hint="name the tables below it",
            )

    def _is_plain(self) -> bool:
        """Return whether all columns are the fields of their names."""
        schema = None if self._loaded is None else self._loaded.handle().schema
        if schema is None:
            return True
        from sdb.query.catalog.schemarows import is_plain

        return is_plain(schema)
