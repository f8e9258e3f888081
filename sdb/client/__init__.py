"""Connections and tables in Python: those of a root, and beside them those of a server.

===================  ============================================================
`options`            options that methods pass on, for type checkers
`awaited`            calls in threads, for asyncio
`calls`              calls that those of roots and of servers have alike
`tableinspection`    system tables of a table
`table`              a table below a root, as it is or was
`registered`         `sdb.register`: rows as tables of a DuckDB connection
`connection`         `sdb.connect`: the tables below a root
`remote`             tables and connections of a server
===================  ============================================================
"""
