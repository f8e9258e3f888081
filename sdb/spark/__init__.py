"""Spark: packing in bulk, and packfiles as a data source. Only this package knows pyspark."""
