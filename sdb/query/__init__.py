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
`run`              `sdb.sql`: a query, asked
`rows`             rows of packfiles and tables that no SELECT asks for
=================  ==========================================================
"""
