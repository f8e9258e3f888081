"""SQL text for DuckDB, over typed lanes of scans.

==================  =====================================================
module              holds
==================  =====================================================
`lanes`             values of any type as SQL: typed lanes
`composed`          values made of others: passed on, chosen
`fields`            values at paths of rows
`numeric`           numbers that are exact where they are whole
`quoting`           constants as SQL text
`levels`            nested SELECTs whose columns are asked for one by one
`scope`             names in SQL
`context`           state of the translation of a statement
`operators`         operators
`patterns`          pattern matches
`conditional`       CASE, COALESCE, NULLIF, CAST
`made`              lists and structures put together
`arguments`         arguments of a function
`functions`         functions by name
`functions_geo`     functions of places
`functions_list`    functions of lists and structures
`functions_number`  functions of numbers
`functions_string`  functions of strings
`functions_time`    functions of time
`subqueries`        sub-queries as values
`unions`            rows of several queries
`lowering`          expressions to values
`collected`         aggregates that put values together
`aggregates`        aggregates and windows
`sources`           FROM
`select`            one SELECT
`statement`         a whole statement
==================  =====================================================
"""
