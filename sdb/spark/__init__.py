"""Spark: packing in bulk, and packfiles as a data source. Only this package knows pyspark.

===========  =========================================
``session``  sessions, and what runs in them
``options``  options of the data source, and its table
``bulk``     packing, syncing and compacting
``write``    writers of the data source
``read``     its reader
``stream``   structured streaming
``source``   the data source ``zion``
===========  =========================================
"""

from __future__ import annotations

from sdb.spark.session.session import start

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["register", "start"]


def register(spark: SparkSession, *, pushdown: bool = False) -> None:
    """Make ``zion`` a format of a session, where Spark does not find it by itself.

    * ``pushdown``: Whether to turn on ``spark.sql.python.filterPushdown.enabled`` in it, which the
      option of the same name needs; see "Times and filters" in docs/spark.md for what is wrong with
      it in Spark.

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
