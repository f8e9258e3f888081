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
    from typing import Any

    from pyspark.sql import SparkSession

    from sdb.store.base import Location

__all__ = ["register", "start"]


def register(spark: SparkSession, root: Location | None = None) -> list[str]:
    """Make ``zion`` a format of a session, where Spark does not find it by itself.

    Spark finds no source in Python for writing in other threads than the first. Call this in each
    of them that writes.

    * ``root``: A root, whose tables and views become views of the session: ``web_gha`` is the table
      ``web.gha``, in the version of now.

    Returns: The names of these views.

    Examples
    --------
    >>> from sdb.spark import register
    >>> register(spark)                                              # doctest: +SKIP
    >>> spark.read.format("zion").load("events/*.zion").count()      # doctest: +SKIP
    >>> register(spark, "s3://bucket")                               # doctest: +SKIP
    ['web_gha']
    """
    from sdb.spark.source import ZionSource

    spark.dataSource.register(ZionSource)
    java: Any = getattr(spark, "_jsparkSession", None)  # a session of Spark Connect has none
    if java is not None:
        spark._jvm.SparkSession.setActiveSession(java)  # type: ignore[union-attr]  # noqa: SLF001
    if root is None:
        return []
    from sdb.spark.session.views import register_tables

    return register_tables(spark, root)
