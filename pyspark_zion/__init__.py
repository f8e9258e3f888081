"""Where Spark looks for data sources: with this package installed, the format ``zion`` is known."""

from sdb.spark.source import ZionSource as DefaultSource

__all__ = ["DefaultSource"]
