"""Statements that change tables: which rows they mean, and the version that comes of them.

============== =====================================================================
`execute`      `sdb.execute`: statements, one after the other or as one transaction
`transaction`  the statements of one version, and what happens when others commit
`statements`   what each kind of statement does to the packfiles of a table
`insertion`    rows of VALUES and queries, as what is packed
`matching`     which rows a condition is TRUE for, and the values that they get
`tableview`    the packfiles of a table as a transaction sees them
============== =====================================================================

Queries find the rows, with all that they know of times, types and blocks; packfiles are rewritten
block by block (:mod:`sdb.packfile.rewriting`); and the commit is that of all others
(:mod:`sdb.table.commit`).
"""
