"""SQL text for DuckDB, over typed lanes of scans.

=================  ================================================================
module             holds
=================  ================================================================
`values`           values of any type as SQL: typed lanes, and what is made of them
`functions`        functions of the dialect, and what takes arguments as they do
`scope`            names in SQL
`subqueries`       sub-queries as values
`lowering`         expressions to values
`chosen_aggregates`  aggregates that choose a value of any type
`aggregates`       aggregates
`windows`          window functions and their frames
`sources`          FROM
`groups`           groups of several sets of keys, and those that FILL adds
`select`           one SELECT
`statement`        a whole statement
`joins`            USING, and the nearest row of ASOF JOIN
`sets`             UNION, INTERSECT and EXCEPT
=================  ================================================================
"""
