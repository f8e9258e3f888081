"""Logical plan of a query: scans, predicates, who runs it. Nothing is read here.

===================  =========================================================================
module               holds
===================  =========================================================================
`scans`              scans, and places in their rows
`rewrite`            conditions in a tree: split, joined
`keyfilters`         joins whose keys may leave out blocks
`pushdown`           conditions that a scan decides
`stars`              `* EXCLUDE`, `a.*` and COLUMNS, written out
`tablenames`         names of tables in front of fields, as `t.id` where `t` has no alias
`resolution`         bare names: which source has each
`sourcefields`       what sources are known to have
`numbertexts`        texts that say numbers, beside fields of numbers
`choice`             native or DuckDB, for a statement
`explain`            the plan that EXPLAIN shows
`hints`              what users should know: rows, values and comparisons that come to nothing
===================  =========================================================================
"""
