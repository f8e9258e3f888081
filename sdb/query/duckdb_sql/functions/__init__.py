"""Functions of the dialect as SQL.

=============  =========================================
module         holds
=============  =========================================
`arguments`    arguments of a function
`growth`       lengths of texts before they are made
`conditional`  CASE, COALESCE, NULLIF
`numbers`      functions of numbers
`strings`      functions of strings
`texts`        padding, formats, hashes, encodings, URLs
`times`        functions of time
`jsontexts`    JSON in texts, and values as JSON
`lists`        functions of lists and structures
`geo`          functions of places
=============  =========================================
"""
