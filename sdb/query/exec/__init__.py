"""Scans and DuckDB at work.

=============  ================================================
module         holds
=============  ================================================
`catalog`      opens the tables of a query
`described`    answers DESCRIBE and SUMMARIZE
`engine`       runs a statement
`namedtables`  tables that names in a query mean
`indexed`      counts groups that metadata tells
`joinkeys`     keys of small sides of joins, for large ones
`toldtotals`   totals of all rows that metadata tells
`ondemand`     opens what a query names: packfiles, and other inputs by way of a cache
`native`       runs what a scan answers alone
`storedtable`  tables below a root, from the index to the packfiles that matter
`together`     tables that are opened together, so that they are of one moment
`systemtables`  tables about tables
`topk`         runs ORDER BY with LIMIT on a scan
`udfs`         functions that DuckDB lacks
`watching`     rows without a key, counted while they are read
=============  ================================================
"""
