"""Rows of packfiles and tables that no SELECT asks for: Python, polars, other processes, files.

================  ================================================================
`pushedfilters`   conditions of polars and Arrow, as predicates
`columnrows`      rows of tables with a schema, in the types of it
`rowset`          rows for polars and DuckDB, which say what they want
`tablerows`       rows of tables in Python
`selected`        rows for which a condition is true
`mirrorcolumns`   columns of a packfile of a table with a schema, for mirrors
`unpacking`       `sdb.unpack`: such rows, or all, in a file
`splits`          rows in pieces, for other processes
================  ================================================================
"""
