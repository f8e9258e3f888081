"""Hints to users: what a query leaves out, and what never is TRUE.

===============  ========================================================
module           holds
===============  ========================================================
`keyless`        that the dialect `sneller` leaves out rows without a key
`type_mismatch`  comparisons with values of a type that a field never has
`failed_casts`   values that an expression has no result for
`storedpaths`    the packfiles that a select is about, and their fields
===============  ========================================================
"""
