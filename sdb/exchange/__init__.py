"""Tables that other engines read: mirrors that are kept up, version by version, and exports.

================  ===========================================================================
``packcolumns``   the columns that the rows of a packfile have
``parquetfile``   a packfile as a Parquet file
``pending``       the versions of a table that a mirror does not have yet
``schemacolumns`` the columns that a version with a schema has in a mirror
``mirrorfiles``   names of the files of a mirror, and the packfiles that they are made of
``mirrorplan``    the commits of a mirror: versions, and packfiles that come and go
``mirrorrun``     what those share that plan, write and count the files of a mirror
``mirrorcommit``  the actions of a commit
``fieldcommits``  commits of versions in the fields of their rows
``schemacommits`` commits of versions in the columns of their schema
``mirror``        a mirror of a table, brought up to date
``dataset``       a version as a plain folder of Parquet files
``folders``       Parquet files in folders by values, side by side
``exports``       exports by the name of a format, for Python
``policies``      mirrors that definitions declare: kept up, and how far behind
``follow``        a mirror that is brought up to date again and again
================  ===========================================================================
"""
