"""SQL over packfiles, from the text of a query to its rows.

A room imports only from rooms before it in this table; a contract of import-linter holds it.

=================  ==========================================================
module             holds
=================  ==========================================================
`syntax`           text to syntax tree, and back
`analyze`          parameters, names, types and constants
`catalog`          tables, opened, and their blocks that matter
`plan`             scans, predicates, native or DuckDB
`duckdb_sql`       SQL text for DuckDB
`exec`             scans and DuckDB at work
`result`           rows in the forms that users ask for
`joinkeys`         keys of small sides of joins, for large ones
`pushedfilters`    conditions of polars and Arrow, as predicates
`prepare`          what a query means, before it is run, explained or tagged
`api`              `sdb.sql`
`columnrows`       rows of tables with a schema, in the types of it
`rowset`           rows for polars and DuckDB, which say what they want
`options`          options that methods pass on, for type checkers
`awaited`          calls in threads, for asyncio
`writes`           `sdb.execute`: statements that change tables
`selected`         rows for which a condition is true
`mirrorcolumns`    columns of a packfile of a table with a schema, for mirrors
`unpacking`        `sdb.unpack`: such rows, or all, in a file
`tableinspection`  system tables of a table
`tablerows`        rows of tables in Python
`splits`           rows in pieces, for other processes
`storedquery`      parameters of stored queries
`storedview`       tables in Python, as they are or were
`registered`       `sdb.register`: rows as tables of a DuckDB connection
`connected`        `sdb.connect`: the tables below a root
`remote`           the same for the tables of a server
=================  ==========================================================
"""
