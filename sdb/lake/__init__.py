"""Tables of other systems: which files they consist of, version by version.

Both kinds keep rows in Parquet files, and say in metadata which of these make up a version. A
Delta table has a log, of which this package reads the commits and checkpoints by itself; the
metadata of an Iceberg table is read with pyiceberg.

=====================  =========================================================
``names``              names such as ``delta:PATH@3`` and ``delta+s3://bucket/t``
``access``             the files of a table, opened within bounds
``deletionvectors``    positions of deleted rows, as Delta stores them
``columns``            columns of a table, and where data files have them
``model``              files, versions and changes of a table
``deltaschema``        columns and partition values of Delta
``deltaactions``       actions of commits and checkpoints
``deltalog``           the log of a Delta table
``icebergio``          the files of an Iceberg table, for pyiceberg
``icebergtable``       an Iceberg table
``opening``            either kind, opened by its name
``rows``               rows of a data file, as record batches
=====================  =========================================================
"""
