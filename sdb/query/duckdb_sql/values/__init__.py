"""Values of any type as SQL.

==============  =================================================
module          holds
==============  =================================================
`quoting`       constants as SQL text
`lanes`         typed lanes: what a value of any type is made of
`equality`      `=`, IN and IS NOT DISTINCT FROM
`numeric`       numbers that are exact where they are whole
`operators`     operators that compare and test as the original does
`arithmetic`    `+ - * / %` and operators of bits
`standard`      the operators of standard SQL, to which MISSING is NULL
`case_values`   values that are one of several: passed on, chosen
`schemavalues`  rows and structs whose columns have other names
`constructors`  lists and structures put together
`casts`         CAST, TRY_CAST, NUMBER and DECIMAL
==============  =================================================
"""
