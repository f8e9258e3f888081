"""SQL over packfiles, from the text of a query to its rows.

A room imports only from rooms before it in this table; a contract of import-linter holds it.

=================  ==========================================================
module             holds
=================  ==========================================================
`syntax`           text to syntax tree, and back
`analyze`          parameters, names, types and constants
`plan`             tables, scans, predicates, pruning, native or DuckDB
`duckdb_sql`       SQL text for DuckDB
`exec`             scans and DuckDB at work
`result`           rows in the forms that users ask for
`api`              `sdb.sql`
`writes`           `sdb.execute`: statements that change tables
`selected`         rows for which a condition is true
`unpacking`        `sdb.unpack`: such rows, or all, in a file
`tableinspection`  system tables of a table
`storedview`       tables in Python, as they are or were
`connected`        `sdb.connect`: the tables below a root
`registered`       `sdb.register`: packfiles as tables of a DuckDB connection
=================  ==========================================================
"""
