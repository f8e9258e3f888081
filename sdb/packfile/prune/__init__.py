"""Pruning: metadata decides which blocks can hold a matching row.

=================  ========================================================
``predicate``      the part of a condition that metadata can decide
``selection``      the blocks that a reader has to look at
``rules``          rules by which block statistics leave out blocks
``inlist``         the same for IN lists
``ngrams``         n-gram filters: which blocks hold a text
``unknownfields``  fields that no row has, and what may have been meant
``prune``          a packfile, pruned
=================  ========================================================
"""
