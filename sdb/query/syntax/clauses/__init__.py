"""Parsers of the clauses of a query that are separate grammars.

===============  ===================================================
module           holds
===============  ===================================================
`columnactions`  actions of ALTER TABLE
`foreigncalls`   calls of ClickHouse, Athena, Spark and BigQuery that are another expression here
`grouping`       GROUP BY, its sets, and FILL
`joins`          joins and their conditions
`lambdas`        functions of an element of a list
`listtables`     UNNEST, GENERATE_SERIES, RANGE and VALUES in FROM
`othercalls`     calls and indexes of others
`patterns`       LIKE, GLOB and their patterns
`pivots`         PIVOT and UNPIVOT behind a table
`quantified`     ANY and ALL, and rows of values
`samples`        TABLESAMPLE and USING SAMPLE
`setqueries`     UNION, INTERSECT and EXCEPT
`shows`          SHOW and DESCRIBE
`standardtables` tables about tables by the names of others
`stars`          stars, and what REPLACE and RENAME change in them
`timecalls`      calls about times in the order of other dialects
`unnests`        UNNEST in the select list
`windows`        windows, their frames and names, and QUALIFY
`withqueries`    WITH, of whole queries and of sub-queries
===============  ===================================================
"""
