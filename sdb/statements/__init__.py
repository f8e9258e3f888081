"""Statements that change tables: which rows they mean, and the version that comes of them.

============== =====================================================================
`execute`      `sdb.execute`: statements, one after the other or as one transaction
`transacting`  transactions in Python, in a ``with`` block
`transaction`  statements of one transaction, also when others commit meanwhile
`apply`        statements at work on the packfiles of a table
`merging`      MERGE at work
`viewchanges`  statements on views
`altering`     ALTER TABLE: changes of a schema
`schemasetting`  schemas as a whole
`vacuuming`    VACUUM: expiry, then collection
`effects`      numbers of rows, packfiles and blocks that change
`purge`        rows leave all versions, branches and tags, and the disk
`erasure`      a purge, step by step
`purgescan`    rows in every packfile below a table, whatever leads to it
`purged`       what a purge came to
`insertion`    rows of VALUES and queries, as they are packed
`matching`     rows that a condition is TRUE for, and the values that they get
`targettable` tables of a transaction: what makes sense there, and what other writers do meanwhile
============== =====================================================================

Queries find the rows, with all that they know of times, types and blocks; packfiles are rewritten
block by block (:mod:`sdb.packfile.rewrite.rewrite`); and the commit is that of all others
(:mod:`sdb.table.commit.commit`).
"""
