"""Tables of a query: opened, and which of their blocks can have rows that matter.

==============  ================================================================
module          holds
==============  ================================================================
`dataset`       names of tables, the protocol of what is read
`locations`     names of tables to paths and URLs
`catalog`       opens the tables of a query, each packfile once
`namedtables`   tables that names in a query mean
`views`         views, written out
`viewperiod`    times that the rows of views must have
`storedtable`   tables below a root, from the index to the packfiles that matter
`tablefiles`    packfiles that words mean: files, and those of tables
`systemtables`  tables about tables
`cachedinputs`  packfiles of other inputs, in the cache or apart from it
`ondemand`      opens what a query names: packfiles, or other inputs as such
`lakefields`    fields and rows of a Delta or Iceberg table that a query may need
`lakeparts`     parts of its versions that are enough for that
`smallinputs`   many small ones: packed as one
`period`        times that the rows of all tables must have
`reduction`     conditions as far as metadata can answer them
`prefixes`      texts that whatever matches a pattern begins with
`pseudo`        `_file` and `_row`, where no field has the name
`schemarows`    rows under a schema: where columns lie in them
`tablescan`     packfiles and blocks that a table comes to
`blockfronts`   what comes first in a block, of what rows are sorted by
==============  ================================================================
"""
