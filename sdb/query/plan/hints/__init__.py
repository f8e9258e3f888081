"""Hints to users: what a query leaves out, and what never is TRUE.

===============  ========================================================
module           holds
===============  ========================================================
`dropped_rows`   rows without a key of GROUP BY, ORDER BY or DISTINCT
`negations`      rows that `<>`, NOT IN and the like leave out
`type_mismatch`  comparisons with values of a type that a field never has
`habits`         functions that mean something else in other databases
`failed_casts`   values that an expression makes MISSING
===============  ========================================================
"""
