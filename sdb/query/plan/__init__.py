"""Logical plan of a query: tables, predicates, pruning.

=============  =================================================================
module         holds
=============  =================================================================
`dataset`      names of tables, the protocol of what is read
`tables`       names of tables in FROM
`scans`        scans, and places in their rows
`columns`      columns of the output and their lanes
`locations`    names of tables to paths and URLs
`reduction`    conditions as far as metadata can answer them
`keyfilters`   joins whose keys may leave out blocks
`prefixes`     texts that whatever matches a pattern begins with
`lettercase`   tests of LOWER and UPPER as tests of the texts
`tablescan`    packfiles and blocks that a table comes to
`blockfronts`  what comes first in a block, of what rows are sorted by
`pseudo`       `_file` and `_row`, where no field has the name
`period`       times that the rows of all tables must have
`rewrite`      conditions in a tree: split, joined
`inward`       conditions on a sub-query, moved into it
`pushdown`     conditions that a scan decides
`stars`        `* EXCLUDE`, written out
`leftout`      rows without a key, to tell users
`mismatches`   comparisons that are never TRUE, to tell users
`losses`       values that an expression makes MISSING, to tell users
`operations`   what a scan does without an engine: count, take, aggregate, top-k
`choice`       native or DuckDB, for a statement
`explain`      the plan that EXPLAIN shows
=============  =================================================================
"""
