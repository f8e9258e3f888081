"""Spark: packing in bulk, and packfiles as a data source. Only this package knows pyspark.

=====================  =======================================================
``session``            sessions, with Java and with this Python in the workers
``environment``        the environment of executors, in one file
``plan``               tasks: inputs, or pieces of them
``attempt``            an attempt of a task, on an executor
``job``                jobs that pack
``bulk``               packing on Spark
``bulksync``           syncs on Spark
``bulkcompact``        compactions on Spark
``source``             the data source `zion`
``settings``           options of the data source
``listing``            packfiles of a data source
``namedtable``         the table of a data source, as it was when it was loaded
``tablelisting``       packfiles of that table
``hinted``             errors with their hints
``schema``             types of packfiles to a schema
``filters``            filters that Spark pushes, reduced to predicates
``partitions``         blocks put together to partitions
``placement``          workers of blocks, by rendezvous hashing
``datasource_reader``  the reader: from filters and packfiles to partitions
``scan``               blocks to Arrow batches, on an executor
``cache``              blocks on the disk of an executor
``planned``            what a query is going to read
``rowranges``          rows of packfiles that grow
``stream``             structured streaming
``versionstream``      structured streaming of a table, by its versions
``streamoffset``       how far such a stream has read
``versionchain``       what came in between two versions
``rowpacking``         rows of a task, packed as options say
``datasource_writer``  the writer: tasks pack, and the job publishes
``tablewriter``        the writer of tables: tasks pack, and the job commits
=====================  =======================================================
"""

from __future__ import annotations

from sdb.spark.session import start

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["register", "start"]


def register(spark: SparkSession, *, pushdown: bool = False) -> None:
    """Make ``zion`` a format of a session, where Spark does not find it by itself.

    Parameters
    ----------
    spark : SparkSession
        The session.
    pushdown : bool
        Whether to turn on ``spark.sql.python.filterPushdown.enabled`` in it, which the option of
        the same name needs; see "Times and filters" in docs/spark.md for what is wrong with it in
        Spark.

    Examples
    --------
    >>> from sdb.spark import register
    >>> register(spark)                                              # doctest: +SKIP
    >>> spark.read.format("zion").load("events/*.zion").count()      # doctest: +SKIP
    """
    from sdb.spark.source import PUSHDOWN, ZionSource

    if pushdown:
        spark.conf.set(PUSHDOWN, value=True)
    spark.dataSource.register(ZionSource)
