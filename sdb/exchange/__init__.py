"""Tables in the formats of others: mirrors that are kept up, version by version.

================  ===========================================================================
``columntypes``   types of columns that hold the rows of many packfiles
``parquetfile``   a packfile as a Parquet file, with its statistics
``deltaschema``   columns and statistics as the Delta protocol writes them
``deltalog``      the log of a Delta table: read, and continued by conditional puts
``mirrorlog``     the protocol of the log of a mirror
``iceberglog``    an Iceberg table in the part of that log
``pending``       the versions of a table that a mirror does not have yet
``schemacolumns`` the columns that a version with a schema has in a mirror
``mirrorfiles``   names of the files of a mirror, and the packfiles that they are made of
``mirrorplan``    the commits of a mirror: versions, and packfiles that come and go
``mirrorcommit``  the actions of a commit
``mirror``        a mirror of a table
``checkpoints``   checkpoints of the log, by `deltalake`
``dataset``       a version as a plain folder of Parquet files
``exports``       exports by the name of a format, for Python
``policies``      mirrors that definitions declare: kept up, and how far behind
``follow``        a mirror that is brought up to date again and again
================  ===========================================================================
"""
