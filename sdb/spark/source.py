"""The data source ``zion``."""

from __future__ import annotations

from pyspark.sql.datasource import DataSource

from sdb.spark.datasource_reader import PushedReader, ZionReader
from sdb.spark.datasource_writer import ZionWriter
from sdb.spark.listing import listed, looked_at
from sdb.spark.schema import schema_of
from sdb.spark.settings import read_options
from sdb.spark.stream import ZionStreamReader

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pyspark.sql.types import StructType

PUSHDOWN = "spark.sql.python.filterPushdown.enabled"
"""The setting of Spark without which it tells Python data sources nothing of filters."""


class ZionSource(DataSource):
    """Packfiles as a data source of Spark; see :func:`sdb.spark.register` and docs/spark.md."""

    @classmethod
    def name(cls) -> str:
        """Give the name for `format`."""
        return "zion"

    def schema(self) -> StructType:
        """Find out what columns the packfiles have."""
        options = read_options(self.options)
        packs = looked_at(listed(options.paths))
        return schema_of(packs, options.fields, from_rows=options.from_rows)

    def reader(self, schema: StructType) -> ZionReader:
        """Give the reader of a query."""
        options = read_options(self.options)
        return (PushedReader if options.pushdown else ZionReader)(schema, options)

    def writer(self, schema: StructType, overwrite: bool) -> ZionWriter:  # noqa: ARG002, FBT001 - Spark's
        """Give the writer of a job."""
        return ZionWriter(self.options, overwrite=overwrite)

    def streamReader(self, schema: StructType) -> ZionStreamReader:  # noqa: N802 - Spark's name
        """Give the reader of a stream."""
        return ZionStreamReader(schema, read_options(self.options))
