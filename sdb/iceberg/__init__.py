"""Tables of Iceberg, read and written with `pyiceberg`.

================  =============================================================
``storedfiles``   metadata files, for pyiceberg: from our stores, within bounds
``columns``       columns of a table that is read, and values of partitions
``table``         a table that is read: its snapshots, with their files
``log``           a mirror in a catalog: a snapshot a version
================  =============================================================
"""
