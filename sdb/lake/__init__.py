"""Rows in Parquet files, and versions of these: common to tables of Delta and Iceberg.

Which files make up a version, metadata say: the rooms `sdb.delta` and `sdb.iceberg` read and write
them.

================  =============================================================
``names``         names such as ``delta:PATH@3`` and ``delta+s3://bucket/t``
``access``        the files of a table, opened within bounds
``columns``       columns of a table that is read, and where data files have them
``partitions``    values of the columns that a table is partitioned by
``model``         files, versions and changes of a table that is read
``rows``          rows of a data file, as record batches
``rowtests``      tests of rows by partitions, statistics and values
``columntypes``   types of the columns of files that are written
``footer``        what the footer of a file that was written says of its values
``mirrorlog``     the protocol of the log of a mirror
================  =============================================================
"""
