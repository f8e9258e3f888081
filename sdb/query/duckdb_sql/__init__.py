"""SQL text for DuckDB, over typed lanes of scans.

=================  ================================================================
module             holds
=================  ================================================================
`values`           values of any type as SQL: typed lanes, and what is made of them
`functions`        functions of the dialect, and what takes arguments as they do
`levels`           nested SELECTs whose columns are asked for one by one
`scope`            names in SQL
`context`          state of the translation of a statement
`subqueries`       sub-queries as values
`unions`           rows of several queries
`lowering`         expressions to values
`list_aggregates`  aggregates that put values together
`chosen_aggregates`  aggregates that choose a value of any type
`aggregates`       aggregates
`windows`          window functions and their frames
`elements`         UNNEST, GENERATE_SERIES and RANGE in FROM
`sources`          FROM
`groups`           groups of several sets of keys, and those that FILL adds
`recursion`        WITH RECURSIVE
`samples`          TABLESAMPLE
`select`           one SELECT
`statement`        a whole statement
`joins`            USING, and the nearest row of ASOF JOIN
`sets`             UNION, INTERSECT and EXCEPT
=================  ================================================================
"""
