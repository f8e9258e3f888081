"""Packfiles of a table: opened from descriptors, packed, merged and rewritten.

===============  =======================================================
``lazy``         packfiles that are opened when a block is read
``checked``      packfiles whose blocks are compared with their digests
``knownfields``  which fields no row of a table has
``identities``   rows that are known again in other packfiles
``schemas``      a schema that fits all rows, and rows that depart from one
``conformance``  whether all rows of a packfile conform
``pack``         rows to packfiles of a table
``store``        packfiles, packed or made of others, stored under their content id
``rules``        rows that depart from a schema, and what becomes of them
``checkedrows``  new packfiles without these
``rowscan``      values of rows with their numbers
``ageunits``     units of time by which packfiles are kept apart
``merge``        one packfile with the rows of several
``rewrite``      packfiles in which rows change
===============  =======================================================
"""
