"""Meaning of a syntax tree, found without opening a file.

===============  ==========================================================
module           holds
===============  ==========================================================
`refusals`       errors about a place in a query
`params`         values in the place of parameters
`types`          types of values as bits of a mask, for all rooms
`signatures`     types that functions take and give
`reference`      what `sdb functions` and docs/functions.md say of each function
`static_types`   types of expressions; refuses what could never give a value
`regexes`        faults of regular expressions
`namescope`      names that the sources of a select bring, and where they lead
`binder`         what names stand for, in their place; names of columns; fields that are read
`calendar`       time functions of constants
`folding`        constants in the place of what they decide
`dialects`       which dialect a statement is in
`check`          all checks of a statement, in order
===============  ==========================================================
"""
